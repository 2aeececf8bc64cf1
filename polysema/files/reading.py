"""Small files that people hand in: whole, of bounded size, as text."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import IO, Any

from polysema.errors import FormatError

MOST = 1 << 28
"""Bytes that a list of words, a configuration or a file of pairs may have."""


UNPACKED = 64
"""How many times its size on disk an archive may hold: numbers and words pack to a tenth at best, bombs to a
thousandth."""

LEAST = 1 << 26
"""Bytes that any archive may hold, however small."""


def unpacked_limit(path: Path) -> int:
    """How many bytes an archive may hold, before it is taken for one that is made to fill the memory."""
    return max(LEAST, UNPACKED * path.stat().st_size)


class Unpacking(io.RawIOBase):
    """What is in an archive, as a file of bytes; an error where that is more than the archive may hold."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        self._left = self._limit = unpacked_limit(path)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as :class:`io.RawIOBase` asks for."""
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise FormatError(f"{self._path}: unpacks to more than {self._limit:,} bytes, too many for its size")
        buffer[: len(data)] = data
        return len(data)


def read_text(path: Path, most: int = MOST) -> str:
    """A file's text.

    A :class:`FormatError` says in one line what is wrong: not there, not a regular file (a pipe without a writer would
    be waited for without end, a device read without end), larger than ``most`` bytes, or not UTF-8.
    """
    try:
        check_regular(path)
        size = path.stat().st_size
        if size > most:
            raise FormatError(f"{path}: {size:,} bytes, where at most {most:,} are expected")
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text at byte {error.start}") from None


def check_regular(path: Path) -> None:
    """Refuse folders, pipes and devices where a file is wanted."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise FormatError(f"{path}: {what}, where a file is wanted")
