"""Files of text: found by path, folder, glob or URL, and opened as streams of bytes, unpacked and decoded."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from polysema.errors import CorpusError, MissingExtraError, UnknownChoiceError, needing

Sources = str | Path | Sequence[str | Path] | Iterable[Sequence[str]]

ARCHIVE_PIECE = 1 << 12
"""Bytes of an archive that are unpacked at once: at most 32768 times as many come out (zst), 128 MiB."""

WINDOW = 1 << 29
"""Bytes of unpacked text that an archive may ask to be kept for reference."""

_VERSIONS = ("ETag", "etag", "md5Hash", "checksum", "mtime", "modified", "LastModified", "last_modified", "created")


@dataclass(frozen=True, slots=True)
class Url:
    """A file at a URL, with the methods of a path that readers need."""

    url: str

    def __str__(self) -> str:
        return self.url

    def is_file(self) -> bool:
        """Always true: it was found."""
        return True

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open it for reading."""
        system, path = _file_system(self.url)
        return cast(IO[bytes], system.open(path, mode))

    @property
    def suffix(self) -> str:
        """The end of its name, such as ``.xz``."""
        return PurePosixPath(self.url).suffix

    @property
    def info(self) -> dict[str, Any]:
        """The facts that its file system gives."""
        system, path = _file_system(self.url)
        return dict(system.info(path))


Source = Path | Url
"""A file of text; ``-`` is standard input."""


def find_sources(sources: str | Path | Sequence[str | Path]) -> list[Source]:
    """The files that paths, folders, globs and URLs name, in order; ``-`` is standard input.

    A folder stands for all files below it except hidden ones, sorted by name.
    """
    found: list[Source] = []
    for item in [sources] if isinstance(sources, str | Path) else sources:
        if isinstance(item, str) and re.match(r"[a-z][a-z0-9+.-]*://", item):
            found += _find_urls(item)
        else:
            found += _find_files(item)
    if not found:
        raise CorpusError("no text was given")
    return found


def _find_files(item: str | Path) -> list[Path]:
    path = Path(item)
    if not str(item):
        raise CorpusError("an empty name is no text: name a file, a folder or -")
    if (path / "tokens.npy").is_file() and (path / "config.json").is_file():
        raise CorpusError(f"{path}: an encoded corpus already, not text")
    if str(item) == "-" or path.is_file():
        return [path]
    if path.is_dir():
        files = (file for file in path.rglob("*") if file.is_file())
        found = sorted(file for file in files if not re.search(r"(^|/)\.", file.relative_to(path).as_posix()))
        if not found:
            raise CorpusError(f"{path}: the folder holds no files")
        return found
    if path.exists():
        raise CorpusError(f"{path}: a pipe or a device, not a file: pipe the text in and name - instead")
    found = [file for file in sorted(map(Path, glob.glob(str(item), recursive=True))) if file.is_file()]
    if not found:
        raise CorpusError(f"{item}: no such file or folder")
    return found


def _find_urls(url: str) -> list[Url]:
    """The files that a URL, a folder or a glob names, sorted; hidden files of folders are left out."""
    system, path = _file_system(url)
    try:
        if any(sign in path for sign in "*?["):
            found = [name for name in system.glob(path) if system.isfile(name)]
        elif system.isdir(path):
            found = [name for name in system.find(path) if not re.search(r"(^|/)\.", name[len(path) :])]
        else:
            found = [path] if system.exists(path) else []
    except Exception as error:  # file systems raise errors of any type
        raise CorpusError(f"{url}: cannot be read: {' '.join(str(error).split())}") from None
    if not found:
        raise CorpusError(f"{url}: no such file or folder")
    return [Url(system.unstrip_protocol(name)) for name in sorted(found)]


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError("text at a URL", "ray", "pip install fsspec") from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise CorpusError(f"{url}: cannot be read: {' '.join(str(error).split())}") from None
    return system, str(path)


def size_of(source: Source) -> int:
    """The size of a file in bytes, packed as it is."""
    return int(source.info["size"]) if isinstance(source, Url) else source.stat().st_size


def describe(source: Source) -> dict[str, Any]:
    """The facts that identify a file: its path, its size, and its version or the time of its last change."""
    if isinstance(source, Url):
        info = source.info
        known = {name: str(info[name]) for name in _VERSIONS if info.get(name) is not None}
        return {"path": source.url, "bytes": int(info["size"]), **known}
    status = source.stat()
    times = {"modified": status.st_mtime_ns, "changed": status.st_ctime_ns}  # the second cannot be set back
    return {"path": str(source.resolve()), "bytes": status.st_size, **times}


class Counter(io.RawIOBase):
    """A file that counts the bytes read from it, up to an optional end."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.read_bytes, self._end = file, 0, sys.maxsize

    def limit(self, begin: int, end: int) -> None:
        """Read only these bytes of the file, from now on."""
        self.file.seek(begin)
        self.read_bytes, self._end = 0, end - begin

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as :class:`io.RawIOBase` requires."""
        view = memoryview(buffer)[: self._end - self.read_bytes]
        count = int(self.file.readinto(view) or 0)  # type: ignore[attr-defined]
        self.read_bytes += count
        return count


@contextmanager
def opened(path: Source, ahead: int = 1 << 20) -> Iterator[tuple[io.BufferedReader, Counter]]:
    """A source as it lies there, buffered, and the counter of the bytes read."""
    if str(path) == "-":
        counter = Counter(sys.stdin.buffer)
        yield io.BufferedReader(counter, ahead), counter
        return
    try:
        file = path.open() if isinstance(path, Url) else cast(IO[bytes], open(path, "rb", buffering=0))  # noqa: SIM115 - closed below
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
    with file:
        counter = Counter(file)
        yield io.BufferedReader(counter, ahead), counter


class DamagedArchiveError(Exception):
    """An archive that cannot be unpacked."""


def unpacked(raw: io.BufferedReader) -> IO[bytes]:
    """The stream itself or, where its first bytes are those of an archive, the unpacked content."""
    start = raw.peek(8)[:8]
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if re.match(rb"BZh[1-9]", start):
        return cast(IO[bytes], bz2.BZ2File(raw))
    if start.startswith(b"\xfd7zXZ\0"):
        new = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=WINDOW + (1 << 20))
        return cast(IO[bytes], _Frames(raw, new, lzma.LZMAError, b"\0"))
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        with needing("reading .zst files", "train"):
            import zstandard
        decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        return cast(IO[bytes], _Frames(raw, decompressor.decompressobj, zstandard.ZstdError))
    if start.startswith(b"PK\x03\x04"):
        raise DamagedArchiveError("zip archives are not read: unpack it, or use gz, bz2, xz or zst")
    return raw


class _Frames:
    """Reads an archive frame by frame; a last frame that is cut off is an error."""

    def __init__(self, raw: IO[bytes], new: Callable[[], Any], error: type[Exception], padding: bytes = b"") -> None:
        self._raw, self._new, self._error, self._padding = raw, new, error, padding
        self._object: Any = None
        self._pending = bytearray()
        self._input = b""

    def read(self, size: int) -> bytes:
        while len(self._pending) < size:
            if not self._input:
                self._input = self._raw.read(ARCHIVE_PIECE)
                if not self._input:
                    if self._object is not None:
                        raise DamagedArchiveError("the last frame is cut off")
                    break
            if self._object is None:
                self._input = self._input.lstrip(self._padding) if self._padding else self._input
                if not self._input:
                    continue
                self._object = self._new()
            try:
                self._pending += self._object.decompress(self._input)
            except self._error as error:
                raise DamagedArchiveError(str(error)) from None
            self._input = b""
            if self._object.eof:
                self._input, self._object = self._object.unused_data, None
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken


class Transcoded:
    """Text of another encoding as UTF-8; counts the characters that could not be decoded."""

    def __init__(self, start: bytes, stream: IO[bytes], encoding: str) -> None:
        try:
            b"text".decode(encoding, "replace")  # refuses codecs that are not encodings of text, such as hex
            self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        except LookupError:
            known = ("utf-8", "latin-1", "utf-16", "any other that Python knows")
            raise UnknownChoiceError("encoding", encoding, known) from None
        self._start, self._stream = start, stream
        self._pending = bytearray()
        self._done = False
        self.replaced = 0

    def read(self, size: int) -> bytes:
        """Read so many bytes of UTF-8, fewer only at the end."""
        while len(self._pending) < size and not self._done:
            raw = self._start or self._stream.read(size)
            self._start = b""
            self._done = not raw
            text = self._decoder.decode(raw, final=self._done)
            self.replaced += text.count("\ufffd")
            self._pending += text.encode()
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken
