"""A lock beside everything that is being written, which is also the note of what a killed run left behind.

While ``OUT`` is written there is a file ``.OUT.lock``. It says who writes and under which hidden names. The operating
system drops the lock itself when the process ends, however it ends; the note stays, and whoever takes the lock next
tidies up by it. Nothing is deleted that no note names.

Locks are ``flock`` on Linux and macOS and ``msvcrt.locking`` on Windows. Where there is neither, or the file system has
no locks, the file itself is the lock, and is taken over when the process that it names is gone.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polysema.errors import OutputError
from polysema.files.signals import uninterrupted

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]

_LONGEST = 180  # bytes of a name that fit into a hidden one
_BYTE = 1 << 30  # the byte that is locked on Windows: behind the note, which others may read
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
_HIDDEN = re.compile(r"\..+\.[0-9a-f]{8}\.(part|old)")
_WAIT = 2.0  # seconds that a reader waits for a writer between its two renames

_held: dict[Path, Lock] = {}
_guard = threading.Lock()


@dataclass(slots=True)
class Lock:
    """The right to write one path.

    Attributes:
        path: what is written.
        file: the lock.
        part, old: hidden names beside the path: of what is being written, and of what it replaces.
    """

    path: Path
    file: Path
    part: Path
    old: Path
    thread: int
    process: int
    descriptor: int | None = None
    depth: int = 1


@contextmanager
def locked(path: Path) -> Iterator[Lock]:
    """Hold the lock of a path; what a killed run left there is tidied first.

    The thread that holds it may take it again. Anybody else is refused in one line.
    """
    place = _place(path)
    lock = None
    try:
        with uninterrupted(), _guard:
            lock = _shared_or_taken(path, place)
        yield lock
    finally:
        if lock is not None:
            with uninterrupted(), _guard:
                lock.depth -= 1
                if not lock.depth:
                    del _held[place]
                    _release(lock)


def bring_back(path: Path) -> None:
    """Tidy up after a killed run: what belongs at a path is put back there. Readers call this first.

    A run that is alive and between its two renames is waited for.
    """
    if "\0" in str(path):
        return
    place = _place(path)
    if os.path.lexists(path) and _note(_hidden(place, ".lock")):
        with suppress(OutputError), locked(path):  # of a run that was killed when all was in its place
            return
    deadline = time.monotonic() + _WAIT
    while not os.path.lexists(path) and (note := _note(_hidden(place, ".lock"))):
        try:
            with locked(path):
                return
        except OutputError:
            old = note.get("old")
            if not isinstance(old, str) or not (place.parent / old).exists() or time.monotonic() > deadline:
                return
        time.sleep(0.01)


def remove(path: Path) -> None:
    """Delete a file or a folder; where it is not there, nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------- taking and releasing


def _shared_or_taken(path: Path, place: Path) -> Lock:
    lock = _held.get(place)
    if lock is None:
        lock = _held[place] = _taken(path, place)
    elif lock.thread == threading.get_ident():
        lock.depth += 1
    else:
        raise _busy(path, os.getpid())
    return lock


def _taken(path: Path, place: Path) -> Lock:
    token = secrets.token_hex(4)
    lock = Lock(
        path,
        _hidden(place, ".lock"),
        _hidden(place, f".{token}.part"),
        _hidden(place, f".{token}.old"),
        threading.get_ident(),
        os.getpid(),
    )
    try:
        if lock.file.exists() and lock.file.stat().st_size and not _note(lock.file):
            raise OutputError(f"{path}: cannot be written: {lock.file} is there, which polysema did not write")
        lock.descriptor = _acquired(lock)
        _tidy(place, _note(lock.file))
        _write_note(lock)
    except OSError as error:
        if lock.descriptor is not None:
            _release(lock)
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return lock


def _acquired(lock: Lock) -> int:
    while True:
        descriptor = os.open(lock.file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            if not _system_lock(descriptor):
                break
            if _same(descriptor, lock.file):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise _busy(lock.path, _note(lock.file).get("process")) from None
        os.close(descriptor)  # its last holder has just deleted it: another is there, or none
    os.close(descriptor)
    return _exclusive(lock)


def _system_lock(descriptor: int) -> bool:
    """Take the operating system's lock; False where there is none, BlockingIOError where another holds it."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if msvcrt is not None:
            os.lseek(descriptor, _BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            return True
    except OSError as error:
        if error.errno in _BUSY:
            raise BlockingIOError from None
    return False


def _exclusive(lock: Lock) -> int:
    """The file itself as the lock: it is ours if we made it, or if the process that it names is gone."""
    while True:
        note = _note(lock.file)
        process, here = note.get("process"), note.get("host") == socket.gethostname()
        if note and (not here or _alive(process)):
            raise _busy(lock.path, process)
        _tidy(_place(lock.path), note)
        gone = lock.file.with_name(f"{lock.file.name}.{secrets.token_hex(4)}")
        with suppress(FileNotFoundError):  # another took it over first
            os.rename(lock.file, gone)
            gone.unlink()
        with suppress(FileExistsError):
            return os.open(lock.file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)


def _release(lock: Lock) -> None:
    """Delete the lock, then let go of it: whoever opened it before sees that it is gone, and makes a new one."""
    assert lock.descriptor is not None
    _tidy(_place(lock.path), {"part": lock.part.name, "old": lock.old.name})  # a second Ctrl-C may have left something
    with suppress(OSError):  # Windows deletes no open file
        lock.file.unlink()
    os.close(lock.descriptor)
    if os.name == "nt":
        with suppress(OSError):
            lock.file.unlink()


@atexit.register
def _release_all() -> None:
    """Ctrl-C may come just before a lock is let go."""
    for place in list(_held):
        lock = _held.pop(place)
        if lock.process == os.getpid():  # not a child's that was forked while it was held
            _release(lock)


def _same(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(file))
    except FileNotFoundError:
        return False


def _alive(process: Any) -> bool:
    if not isinstance(process, int) or process <= 0:
        return False
    if os.name == "nt":  # os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _busy(path: Path, process: Any) -> OutputError:
    who = f" (process {process})" if isinstance(process, int) else ""
    return OutputError(f"{path}: is being written by another run{who}: wait for it, or choose another name")


# --------------------------------------------------------------------------------------------------------- the note


def _write_note(lock: Lock) -> None:
    note = {
        "polysema": "being written",
        "process": os.getpid(),
        "host": socket.gethostname(),
        "part": lock.part.name,
        "old": lock.old.name,
    }
    assert lock.descriptor is not None
    os.ftruncate(lock.descriptor, 0)
    os.lseek(lock.descriptor, 0, os.SEEK_SET)
    os.write(lock.descriptor, json.dumps(note).encode())


def _note(file: Path) -> dict[str, Any]:
    """What a lock says; nothing where it is no lock of polysema's."""
    try:
        if not file.is_file() or file.stat().st_size > 4096:
            return {}
        note = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) and "polysema" in note else {}


def _tidy(place: Path, note: dict[str, Any]) -> None:
    """Bring back what a killed run moved aside, and delete what it did not finish.

    The old is moved aside only when the new is whole: where the name is free and the old is there, the new belongs
    there; where the new is gone too, the old does.
    """
    names = [str(note.get(key)) for key in ("part", "old")]
    if not all(_HIDDEN.fullmatch(name) and Path(name).name == name for name in names):
        return
    part, old = (place.parent / name for name in names)
    if not os.path.lexists(place) and os.path.lexists(old):
        os.replace(part if os.path.lexists(part) else old, place)
    remove(part)
    remove(old)


def _place(path: Path) -> Path:
    """The same path for everybody who means it."""
    return Path(os.path.realpath(path.parent)) / path.name


def _hidden(place: Path, suffix: str) -> Path:
    name = place.name
    if len(os.fsencode(name)) > _LONGEST:
        name = name[:40] + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return place.with_name(f".{name}{suffix}")
