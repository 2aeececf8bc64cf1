"""Reading and writing files so that nothing is lost.

A file or folder is written under a temporary name beside its target (``.OUT.polysema-new``) and takes its name in one
step: a process that is killed leaves the old content whole or the new content whole. Before anything is written,
:func:`writing` checks that

- the path is a valid name in a folder that exists;
- it is not an input, does not contain one and does not lie in one;
- what is there may be replaced: ``overwrite`` is set and polysema wrote all of it;
- no other process or thread is writing it (a lock, ``.OUT.polysema-lock``).

Text files, ``config.json`` and archives are read up to a bounded size.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from polysema.errors import FormatError, InputError, OutputError
from polysema.interrupts import Interrupts

Owner = Callable[[Path], None]
"""Raises :class:`FormatError` unless polysema wrote all that is at a path."""

MARKER = ".polysema"  # the file that marks a folder as made by polysema

_BROWSERS = (".DS_Store", "Thumbs.db", "desktop.ini")  # file browsers leave these in every folder
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # constants of Linux


@contextmanager
def atomic_file(path: Path, overwrite: bool = False, owner: Owner | None = None) -> Iterator[IO[bytes]]:
    """A file to write to. It takes its name when the block ends without an error; see :func:`writing`."""
    with _replacing(path, overwrite, owner) as new, open(new, "xb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def atomic_folder(path: Path, overwrite: bool = False, owner: Owner | None = None) -> Iterator[Path]:
    """A folder to fill. It takes its name when the block ends without an error; see :func:`writing`.

    On Linux, old and new are swapped in one step. Elsewhere the old folder is moved aside first; if the process is
    killed just then, :func:`recover` puts the new one in its place.
    """
    with _replacing(path, overwrite, owner) as new:
        new.mkdir()
        yield new


@contextmanager
def _replacing(path: Path, overwrite: bool, owner: Owner | None) -> Iterator[Path]:
    """A temporary name. What the block puts there replaces the path when the block ends without an error."""
    with writing(path, overwrite=overwrite, owner=owner), disk_errors(path):
        new = beside(path, "new")
        try:
            yield new
            if new.is_file() or not path.exists():
                os.replace(new, path)
            elif not _exchanged(new, path):
                os.replace(path, beside(path, "old"))
                os.replace(new, path)
        finally:
            _finish(path)


@contextmanager
def writing(
    path: Path, *, overwrite: bool = False, inputs: Iterable[str | Path] = (), owner: Owner | None = None
) -> Iterator[None]:
    """Check an output and lock it while the block lasts. Nothing is written here.

    Args:
        path: the file or folder to write.
        overwrite: whether an existing file or folder may be replaced. Foreign ones never are.
        inputs: files and folders that are read.
        owner: checks that polysema wrote the existing one; by default, by its marker.
    """
    check_name(path)
    for item in inputs:
        if _overlap(path, Path(item)):
            raise InputError(f"{path} is, contains or lies in the input {item}: choose another name")
    with locked(path):
        if os.path.lexists(path):
            _check_replaced(path, overwrite, owner or _marked)
        yield


def check_output(
    path: Path, *, overwrite: bool = False, inputs: Iterable[str | Path] = (), owner: Owner | None = None
) -> None:
    """Refuse now an output that could not be written later; see :func:`writing`."""
    with writing(path, overwrite=overwrite, inputs=inputs, owner=owner):
        pass


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a path, and remove what a killed process left beside it.

    The thread that holds the lock may take it again; any other thread or process is refused.
    """
    from filelock import FileLock, Timeout  # takes 50 ms to load

    lock = FileLock(beside(path.parent.resolve() / path.name, "lock"), timeout=0, is_singleton=True)
    try:
        lock.acquire()
    except OSError as error:
        if isinstance(error, Timeout) and os.path.exists(lock.lock_file):
            why = "is being written by another process: wait for it, or choose another name"
        else:  # no permission, or a file system such as /proc, where no file can be made
            why = f"cannot be written: {error.strerror or os.strerror(errno.ENOENT)}"
        raise OutputError(f"{path}: {why}") from None
    try:
        if lock.lock_counter == 1:
            _finish(path)
        yield
    finally:
        with Interrupts():  # Python loses a Ctrl-C that comes in a finalizer, such as that of the lock
            if lock.lock_counter == 1:
                with suppress(OSError):  # Windows cannot delete an open file
                    os.unlink(lock.lock_file)
            lock.release()
            del lock


def recover(path: Path) -> None:
    """Restore a folder whose writer was killed between two renames. Readers call it before they open the folder."""
    if "\0" not in str(path) and path.name and not os.path.lexists(path) and os.path.lexists(beside(path, "old")):
        with suppress(OutputError), locked(path):  # a live writer does it itself
            pass


def remove(path: Path) -> None:
    """Delete a file or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def save_arrays(path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file with the permissions of the umask. A full disk is an :class:`OSError`."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    path.touch()
    mode = path.stat().st_mode
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path, dict(metadata or {}))
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(*(int(number[1]), os.strerror(int(number[1]))) if number else (str(error),)) from None
    path.chmod(mode)


def holds(format: str, version: int, files: Collection[str]) -> Owner:
    """The proof that polysema wrote a folder: its ``config.json`` has this format, and it holds only ``files``.

    A ``README.md`` must be as polysema wrote it; see :func:`signed`.
    """

    def owner(path: Path) -> None:
        read_config(path, format, version)
        names = sorted(item.name for item in path.iterdir())
        foreign = [name for name in names if name not in files and name not in _BROWSERS]
        if "README.md" in names and "README.md" in files and not _is_signed(path / "README.md"):
            foreign.append("README.md (edited by hand)")
        if foreign:
            more = f" and {len(foreign) - 5} more" if len(foreign) > 5 else ""
            raise FormatError(f"{path}: holds what polysema did not write ({', '.join(foreign[:5])}{more})")

    return owner


def signed(text: str) -> str:
    """A text with its checksum in a last line, a Markdown comment, so that edits can be recognised."""
    return f"{text}<!-- polysema {hashlib.sha256(text.encode()).hexdigest()[:16]} -->\n"


def _is_signed(file: Path) -> bool:
    with suppress(FormatError):
        text = read_text(file)
        return text == signed(text[: text.rfind("<!-- polysema ")])
    return False


def is_marked(folder: Path) -> bool:
    """Whether a folder holds polysema's marker."""
    if not (folder / MARKER).is_file():  # a pipe would be waited for
        return False
    with suppress(OSError), open(folder / MARKER, "rb") as file:
        return file.read(8) == b"polysema"
    return False


def _marked(path: Path) -> None:
    if not is_marked(path if path.is_dir() else path.parent):
        raise FormatError(f"{path}: not written by polysema")


LARGEST_TEXT = 1 << 28  # bytes that a list of words, a configuration or a file of pairs may have

LEAST_UNPACKED = 1 << 26


def read_text(path: Path) -> str:
    """The text of a file. A :class:`FormatError` names a file that is missing, not regular, too large or not UTF-8."""
    size = check_regular(path)
    if size > LARGEST_TEXT:
        raise FormatError(f"{path}: {size:,} bytes, where at most {LARGEST_TEXT:,} are expected")
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text at byte {error.start}") from None


def check_regular(path: Path) -> int:
    """The size of a file. Folders, pipes and devices are refused: reading a pipe or a device may never end."""
    try:
        facts = os.stat(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not stat.S_ISREG(facts.st_mode):
        what = "a folder" if stat.S_ISDIR(facts.st_mode) else "a pipe or a device"
        raise FormatError(f"{path}: {what}, where a file is wanted")
    return facts.st_size


def read_config(path: Path, format: str = "", version: int | None = None) -> dict[str, Any]:
    """Read the ``config.json`` of a folder, and check its format and version.

    Args:
        format: such as ``polysema-lexicon``; by default any format of polysema's.
        version: the newest that can be read; by default any.
    """
    file = path / "config.json"
    wanted = format or "folder of polysema's"
    if not file.is_file():
        what = "a folder without config.json" if path.is_dir() else "a file" if path.exists() else "no such folder"
        raise FormatError(f"{path}: {what}, where a {wanted} is expected")
    try:
        config = json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{file}: not JSON: {error}") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found != format if format else not str(found).startswith("polysema-"):
        raise FormatError(f"{file}: the format is {found!r}, not {format or 'one of polysema’s'!r}")
    number = config.get("version")
    if version is not None and (not isinstance(number, int) or number > version):
        raise FormatError(f"{file}: version {number!r}, this release reads up to {version}: upgrade polysema")
    if not isinstance(config.get("metadata", {}), dict):
        raise FormatError(f"{file}: damaged: the metadata is not a table")
    return dict(config)


def unpacked_limit(path: Path) -> int:
    """How many bytes an archive may unpack to: 64 times its size, or 64 MiB. Text packs to a tenth of its size."""
    return max(LEAST_UNPACKED, 64 * path.stat().st_size)


class Unpacking(io.RawIOBase):
    """The unpacked bytes of an archive; more of them than :func:`unpacked_limit` are an error."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        self._left = self._limit = unpacked_limit(path)

    def readable(self) -> bool:  # noqa: D102 - see io.RawIOBase
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: D102
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise FormatError(f"{self._path}: unpacks to more than {self._limit:,} bytes, too many for its size")
        buffer[: len(data)] = data
        return len(data)


def check_name(path: Path) -> None:
    """Refuse a path that names no file or folder of its own, or cannot be written."""
    if path.name in ("", "..") or "\0" in str(path):
        raise InputError(f"{str(path)!r} names no file or folder of its own, and is not overwritten: choose a name")
    try:
        length = len(path.name.encode())
    except UnicodeEncodeError:
        raise InputError(f"{path.name!r} is no name in UTF-8: choose another") from None
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder: {path.name} cannot be written there")
    if length > 255:
        raise InputError(f"{path.name[:40]}… is too long for a name: 255 bytes at most")


def _check_replaced(path: Path, overwrite: bool, owner: Owner) -> None:
    if not overwrite:
        raise InputError(f"{path} exists already: give another name, or overwrite it (--force; overwrite=True)")
    if path.is_symlink():
        raise InputError(f"{path} is a link, and is not overwritten: choose another name")
    if path.is_dir() and not any(path.iterdir()):
        return
    try:
        owner(path)
    except FormatError as error:
        raise InputError(f"{error}, and is not overwritten: choose another name") from None


def _overlap(output: Path, given: Path) -> bool:
    with suppress(OSError, RuntimeError, ValueError):  # links in a circle, or not a path
        one, other = output.resolve(), given.resolve()
        if one == other or one in other.parents or other in one.parents:
            return True
        return one.exists() and other.exists() and os.path.samefile(one, other)
    return False


def beside(path: Path, what: str) -> Path:
    """The hidden name of the new content (``new``), the old content (``old``) or the lock (``lock``) of a path."""
    name = path.name
    if len(os.fsencode(name)) > 180:
        name = name[:40] + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return path.with_name(f".{name}.polysema-{what}")


def is_temporary(name: str) -> bool:
    """Whether it is a name that :func:`beside` gives."""
    return name.startswith(".") and name.rpartition("-")[0].endswith(".polysema")


def _finish(path: Path) -> None:
    """Finish or undo what was begun. The old folder is moved aside only when the new one is whole."""
    new, old = beside(path, "new"), beside(path, "old")
    if os.path.lexists(old) and not os.path.lexists(path):
        os.replace(new if os.path.lexists(new) else old, path)
    remove(new)  # after a swap, the old folder
    remove(old)


def _exchanged(new: Path, old: Path) -> bool:
    """Swap two names in one step; False, with nothing changed, where the system or the disk cannot."""
    if sys.platform != "linux":
        return False
    swap = getattr(ctypes.CDLL(None), "renameat2", None)
    return swap is not None and swap(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into one line that names the file."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.ENOSPC:
            why += f" ({shutil.disk_usage(path.parent).free / 1e9:.1f} GB free there)"
        raise OutputError(f"{path}: cannot be written: {why}") from error
