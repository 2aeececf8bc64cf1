"""Files and folders that are either there whole or not there at all."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from polysema.errors import OutputError
from polysema.files.door import Owner, polysema_wrote, writing
from polysema.files.lock import Lock, remove
from polysema.files.signals import uninterrupted

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def atomic_file(path: Path, overwrite: bool = False, owner: Owner = polysema_wrote) -> Iterator[IO[bytes]]:
    """A file to write to that takes its name when the block ends well and vanishes when it does not.

    Args:
        overwrite: whether what is there may be replaced, if it is polysema's own.
        owner: how to tell that it is, see :func:`polysema.files.door.writing`.
    """
    with writing(path, overwrite=overwrite, owner=owner) as lock:
        try:
            with _disk_errors(path), open(lock.part, "xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            with _disk_errors(path):
                os.replace(lock.part, path)
        except BaseException:
            remove(lock.part)
            raise


@contextmanager
def atomic_folder(path: Path, overwrite: bool = False, owner: Owner = polysema_wrote) -> Iterator[Path]:
    """A folder to fill that takes its name when the block ends well and vanishes when it does not.

    Overwriting swaps the two folders in one step where the system can (Linux), and deletes the old one last. Elsewhere
    the old one is moved aside first: a process that is killed then leaves a note, by which the next reader or writer
    puts things right. At every moment one of the two is on disk, whole.
    """
    with writing(path, overwrite=overwrite, owner=owner) as lock:
        try:
            with _disk_errors(path):
                lock.part.mkdir()
                yield lock.part
                with uninterrupted():
                    _swap(lock)
        except BaseException:
            remove(lock.part)
            raise
        remove(lock.part)  # the old one, where the two were swapped
        remove(lock.old)


def _swap(lock: Lock) -> None:
    """Give the new folder its name; the old one is moved aside, and back if that fails."""
    if lock.path.exists() and _exchanged(lock.part, lock.path):
        return
    if lock.path.exists():
        os.replace(lock.path, lock.old)
    try:
        os.replace(lock.part, lock.path)
    except BaseException:
        if lock.old.exists():
            os.replace(lock.old, lock.path)
        raise


def _exchanged(new: Path, old: Path) -> bool:
    """Swap two names in one step; False where the system or the disk cannot, and nothing is changed."""
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    return renameat2 is not None and renameat2(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turns a full disk and its like into one line that names the file."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.ENOSPC:
            why += f" ({shutil.disk_usage(path.parent).free / 1e9:.1f} GB free there)"
        raise OutputError(f"{path}: cannot be written: {why}") from error
