"""One door for everything that is written: may it be, is it somebody else's, is somebody else at it.

All commands ask here before the work begins, and everything that is written passes here again when it is:

- the name is legal and the place can be written to;
- what is there is replaced only where that was allowed *and* polysema can prove that it wrote it;
- nothing that a command reads is replaced by what it writes;
- a lock is held while it is written, see :mod:`polysema.files.lock`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from polysema.errors import FormatError, InputError
from polysema.files.config import read_config
from polysema.files.lock import Lock, locked

Owner = Callable[[Path], None]
"""Looks at what is there and raises :class:`FormatError` where polysema did not write it."""

MARKER = ".polysema"
"""The file that marks a folder as made by polysema; see :mod:`polysema.files.working`."""


def polysema_wrote(path: Path) -> None:
    """The general proof: a folder with polysema's mark or its ``config.json``, or a file in a folder with the mark."""
    if path.is_dir():
        if not is_marked(path):
            read_config(path, "")
    elif not is_marked(path.parent):
        raise FormatError(f"{path}: not a file that polysema wrote")


def holds(format: str, version: int) -> Owner:
    """The proof that a folder is of one format: its ``config.json``."""

    def owner(path: Path) -> None:
        read_config(path, format, version)

    return owner


def is_marked(folder: Path) -> bool:
    """Whether a folder holds polysema's mark."""
    try:
        with open(folder / MARKER, "rb") as file:
            return file.read(8) == b"polysema"
    except OSError:
        return False


@contextmanager
def writing(
    path: Path, *, overwrite: bool = False, inputs: Iterable[str | Path] = (), owner: Owner = polysema_wrote
) -> Iterator[Lock]:
    """The right to write a path, for as long as the block lasts; refused in one line where there is none.

    Args:
        path: the file or folder to write. Nothing is written to it here.
        overwrite: whether what is there may be replaced. An empty folder may be anyway, if this is set.
        inputs: what is read for it. It is never replaced, whoever wrote it.
        owner: how to tell that what is there is polysema's own.
    """
    _check_place(path)
    with locked(path) as lock:
        _check_replaced(path, overwrite, inputs, owner)
        yield lock


def check_output(
    path: Path, *, overwrite: bool = False, inputs: Iterable[str | Path] = (), owner: Owner = polysema_wrote
) -> None:
    """Refuse now what could not be written later; see :func:`writing`."""
    with writing(path, overwrite=overwrite, inputs=inputs, owner=owner):
        pass


def _check_place(path: Path) -> None:
    if path.name in ("", "..") or "\0" in str(path):
        raise InputError(f"{str(path)!r} names no file or folder of its own, and is not overwritten: choose a name")
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{path.name!r} is no name in UTF-8: choose another") from None
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder: {path.name} cannot be written there")
    if len(os.fsencode(path.name)) > 255:
        raise InputError(f"{path.name[:40]}… is too long for a name: 255 bytes at most")


def _check_replaced(path: Path, overwrite: bool, inputs: Iterable[str | Path], owner: Owner) -> None:
    if not os.path.lexists(path):
        return
    for item in inputs:
        if _same(path, Path(item)):
            raise InputError(f"{path} is what is read, and is not overwritten: choose another name")
    if not overwrite:
        raise InputError(f"{path} exists already: choose another name, or allow overwriting it")
    if path.is_symlink():
        raise InputError(f"{path} is a link, and is not overwritten: choose another name")
    if path.is_dir() and not any(path.iterdir()):
        return
    try:
        owner(path)
    except FormatError as error:
        raise InputError(f"{error}, and is not overwritten: choose another name") from None


def _same(output: Path, given: Path) -> bool:
    """Whether replacing the output would replace an input: the same file, or a folder that holds it."""
    try:
        real, other = output.resolve(), given.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return False
    if real == other or real in other.parents:
        return True
    return given.exists() and os.path.samefile(real, other)
