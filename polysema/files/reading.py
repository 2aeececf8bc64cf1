"""Small files that people hand in: whole, of bounded size, as text."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from polysema.errors import FormatError

MOST = 1 << 28
"""Bytes that a list of words, a configuration or a file of pairs may have."""


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
        raise FormatError(f"{path}: {error.strerror or error}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text at byte {error.start}") from None


def check_regular(path: Path) -> None:
    """Refuse folders, pipes and devices where a file is wanted."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise FormatError(f"{path}: {what}, where a file is wanted")
