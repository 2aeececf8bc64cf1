"""Reading small files: text and ``config.json`` of bounded size, archives that unpack to a bounded size."""

from __future__ import annotations

import io
import json
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
    """The unpacked bytes of an archive; an error where they are more than :func:`unpacked_limit`."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        self._left = self._limit = unpacked_limit(path)

    def readable(self) -> bool:
        """Whether it can be read: always."""
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


def read_config(path: Path, format: str = "", version: int | None = None) -> dict[str, Any]:
    """A folder's ``config.json``, checked to be of a format and of a version that this release knows.

    Args:
        format: such as ``polysema-lexicon``; by default any format of polysema's.
        version: the newest that can be read; by default any.
    """
    file = path / "config.json"
    wanted = format or "folder of polysema's"
    if not path.is_dir():
        what = "a file, where a folder is wanted" if path.exists() else "no such folder"
        raise FormatError(f"{path}: {what}: this is no {wanted}")
    if not file.is_file():
        raise FormatError(f"{path}: a folder without config.json is no {wanted}")
    text = read_text(file)
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{file}: not JSON: {error}") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found != format if format else not str(found).startswith("polysema-"):
        raise FormatError(f"{file}: the format is {found!r}, not {format or 'one of polysema’s'!r}")
    number = config.get("version")
    if version is not None and (not isinstance(number, int) or number > version):
        raise FormatError(f"{file}: version {number!r}, this release reads up to {version}: upgrade polysema")
    if not isinstance(config.get("metadata", {}), dict):
        raise FormatError(f"{file}: damaged: its metadata are no table")
    return dict(config)
