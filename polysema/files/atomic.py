"""Files and folders that are either there whole or not there at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from polysema.errors import OutputError
from polysema.files.door import Owner, polysema_wrote, writing
from polysema.files.lock import Lock, remove
from polysema.files.signals import uninterrupted


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

    Overwriting moves the old folder aside first and deletes it last: at every moment one of the two is on disk, whole.
    A process that is killed between the two leaves a note, by which the next reader or writer puts things right.
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
        remove(lock.old)


def _swap(lock: Lock) -> None:
    """Give the new folder its name; the old one is moved aside, and back if that fails."""
    if lock.path.exists():
        os.replace(lock.path, lock.old)
    try:
        os.replace(lock.part, lock.path)
    except BaseException:
        if lock.old.exists():
            os.replace(lock.old, lock.path)
        raise


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
