"""Files and folders that are either there whole or not there at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from polysema.errors import InputError


@contextmanager
def atomic_file(path: Path, overwrite: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to that takes its name when the block ends well and vanishes when it does not."""
    temporary = _beside(path, overwrite)
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """A folder to fill that takes its name when the block ends well and vanishes when it does not.

    Overwriting moves the old folder aside first and deletes it last: at every moment one of the two is on disk, whole.
    """
    temporary = _beside(path, overwrite)
    aside = temporary.with_suffix(".old")
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            os.replace(path, aside)
        try:
            os.replace(temporary, path)
        except BaseException:
            if aside.exists():
                os.replace(aside, path)
            raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    if aside.is_dir():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def _beside(path: Path, overwrite: bool) -> Path:
    """A hidden name next to ``path``; an error where nothing can or may be written."""
    if not overwrite and (path.exists() or path.is_symlink()):
        raise InputError(f"{path} exists already: choose another name, or allow overwriting it")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder: {path.name} cannot be written there")
    return path.parent / f".{path.name}.{secrets.token_hex(4)}.part"
