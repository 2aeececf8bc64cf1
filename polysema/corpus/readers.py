"""Where text comes from: files, packed or not, folders, globs, URLs, standard input; as blocks of UTF-8 bytes.

A block ends at the end of a line. Only a line longer than ``LONG_LINE`` is cut, between two words of a sentence, so
that memory is bounded; what follows is told that it goes on in the middle of a sentence.
"""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import re
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from polysema.corpus.columns import Columns, recognise_columns
from polysema.errors import CorpusError, MissingExtraError, UnknownChoiceError, check_choice, needing

BLOCK = 1 << 19
"""Bytes that are read at once."""

LONG_LINE = 1 << 19
"""A line that goes on for longer is cut between two words; where four times as much holds no such place, anywhere."""

FORMATS = {
    "auto": "recognised by its content",
    "text": "running text: a sentence or a paragraph a line",
    "vertical": "WaCky files: a token a line with its tag and lemma, <s> marks",
    "conllu": "CoNLL-U",
}
"""What text can look like."""

Sources = str | Path | Sequence[str | Path] | Iterable[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a source.

    Attributes:
        data: UTF-8 bytes.
        goes_on: whether it starts in the middle of a sentence.
        columns: where the tokens stand, for formats of one token a line; None for running text.
        ends_source: whether it is the last of its source.
        read: bytes taken from the file so far, packed as they are.
        replaced: how many characters could not be decoded.
    """

    data: bytes
    goes_on: bool
    columns: Columns | None
    ends_source: bool
    read: int
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a plain file, of whole lines.

    Attributes:
        begin, end: its bytes.
        first: how many of them are read first, so that the blocks that follow are those of the whole file.
        last: whether the file ends with it.
    """

    begin: int
    end: int
    first: int
    last: bool


def spans(source: Source, size: int, encoding: str, block: int, piece: int) -> list[Span] | None:
    """Cut a plain file of so many bytes into parts of about ``piece`` bytes; None where it must be read from its start.

    A reader of the whole file takes ``block`` bytes at a time and keeps what follows the last line end for the next
    block. It is cut where such a block begins with a kept part.
    """
    if encoding not in ("auto", "utf-8"):
        return None
    with _opened(source, 1 << 12) as (raw, _):
        start = raw.peek(8)[:8]
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _unpacked(raw) is not raw:
            return None
    base = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
    marks = [(0, block)]
    with _file(source) as file:
        for edge in range(base + max(1, piece // block) * block, size, max(1, piece // block) * block):
            for tail in (min(block, 1 << 14), block):  # a line end is near, most often
                file.seek(edge - tail)
                ends = file.read(tail).rfind(b"\n") + 1
                if ends:
                    begin = edge - tail + ends
                    marks.append((begin, block + edge - begin))
                    break
    edges = [begin for begin, _ in marks[1:]] + [size]
    return [Span(begin, end, first, end == size) for (begin, first), end in zip(marks, edges, strict=True)]


def find_sources(sources: str | Path | Sequence[str | Path]) -> list[Source]:
    """The files that paths, folders, globs and URLs stand for, in order; ``-`` is standard input.

    A folder stands for all files below it, sorted by name, hidden ones left out.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    found: list[Source] = []
    for item in given:
        if is_url(item):
            found += find_urls(str(item))
            continue
        path = Path(item)
        if not str(item):
            raise CorpusError("an empty name is no text: name a file, a folder or -")
        if any((path / name).is_file() for name in ("tokens.npy", "tokens.i32")) and (path / "config.json").is_file():
            raise CorpusError(f"{path}: an encoded corpus already, not text")
        if str(item) == "-" or path.is_file():
            found.append(path)
        elif path.exists() and not path.is_dir():
            raise CorpusError(f"{path}: a pipe or a device, not a file: pipe the text in and name - instead")
        elif path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path)))
            if not below:
                raise CorpusError(f"{path}: the folder holds no files")
            found += below
        else:
            matches = sorted(Path(p) for p in glob.glob(str(item), recursive=True))
            matches = [p for p in matches if p.is_file()]
            if not matches:
                raise CorpusError(f"{item}: no such file or folder")
            found += matches
    if not found:
        raise CorpusError("no text was given")
    return found


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_blocks(
    path: Source,
    *,
    format: str = "auto",
    encoding: str = "auto",
    columns: Sequence[str] | None = None,
    token: str = "form",
    block: int = BLOCK,
    long_line: int = LONG_LINE,
    span: Span | None = None,
) -> Iterator[Block]:
    """The blocks of one source.

    Args:
        path: a file, or ``-``.
        format: a name in ``FORMATS``.
        encoding: of the text; ``auto`` is UTF-8 (UTF-16 where a byte-order mark says so), and Latin-1 for those blocks
            of a vertical file that are not UTF-8.
        columns: what the columns of a vertical file are, by name; recognised where it is not said.
        token: what to take where the source has it: ``form``, ``lemma`` or ``lemma_pos``.
        span: only this part of it.
    """
    check_choice("corpus format", format, FORMATS)
    name = "standard input" if str(path) == "-" else str(path)
    with _opened(path, 1 << 20 if span is None else 1 << 16) as (raw, counter):
        try:
            stream = _unpacked(raw)
            yield from _blocks(stream, counter, name, format, encoding, columns, token, block, long_line, span)
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, _Damaged) as error:
            raise CorpusError(f"{name}: truncated or damaged archive near byte {counter.read_bytes}: {error}") from None
        except UnicodeError as error:
            raise CorpusError(f"{name}: cannot be read as {encoding}: {error}") from None
        except OSError as error:
            raise CorpusError(
                f"{name}: cannot be read at byte {counter.read_bytes}: {error.strerror or error}"
            ) from None


def _blocks(
    stream: IO[bytes],
    counter: _Counter,
    name: str,
    format: str,
    encoding: str,
    columns: Sequence[str] | None,
    token: str,
    block: int,
    long_line: int,
    span: Span | None,
) -> Iterator[Block]:
    start = _read_whole(stream, 1 << 16)
    mark = next((m for m in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) if start.startswith(m)), None)
    if encoding == "auto" and mark is not None:
        encoding = "utf-16"
    if encoding not in ("auto", "utf-8"):
        stream = cast(IO[bytes], _Transcoded(start, stream, encoding))
        start = _read_whole(stream, 1 << 16)
    if start.startswith(codecs.BOM_UTF8):
        start = start[len(codecs.BOM_UTF8) :]
    if b"\0" in start[:65536]:
        raise CorpusError(f"{name}: a binary file, not text (a zero byte at {start.index(0)})")
    layout = recognise_columns(name, start, format, columns, token)
    fallback = "latin-1" if layout is not None and layout.markup and encoding == "auto" else None
    rest, goes_on, size = b"", False, block
    if span is not None:
        stream = cast(IO[bytes], _Part(counter, span))
        size = span.first
        start = b"" if span.begin else _read_whole(stream, block).removeprefix(codecs.BOM_UTF8)
    while True:
        chunk, start = start[:size], start[size:]
        if len(chunk) < size:
            more = _read_whole(stream, size - len(chunk))
            chunk = chunk + more if chunk else more
        at_end, size = len(chunk) < size, block
        replaced = 0
        if isinstance(stream, _Transcoded):
            replaced, stream.replaced = stream.replaced, 0
        if at_end and span is not None and not span.last:
            if rest or chunk:
                yield Block(_as_utf8(rest + chunk, fallback), goes_on, layout, False, counter.read_bytes, replaced)
            return
        if at_end:
            data = b"".join((rest, chunk, b"\n"))
            yield Block(_as_utf8(data, fallback), goes_on, layout, True, counter.read_bytes, replaced)
            return
        cut = chunk.rfind(b"\n") + 1
        if cut:
            data = b"".join((rest, memoryview(chunk)[:cut]))
            yield Block(_as_utf8(data, fallback), goes_on, layout, False, counter.read_bytes, replaced)
            rest, goes_on = chunk[cut:], False
            continue
        rest += chunk
        if len(rest) >= long_line:
            if layout is not None:
                raise CorpusError(f"{name}: a line of more than {long_line} bytes: this is no file of one token a line")
            cut = _between_words(rest, len(rest) >= 4 * long_line)
            if cut:
                yield Block(rest[:cut], goes_on, layout, False, counter.read_bytes, replaced)
                rest, goes_on = rest[cut:], True


def _read_whole(stream: IO[bytes], size: int) -> bytes:
    """So many bytes, fewer only at the end: pipes and unpackers give what they have."""
    first = stream.read(size)
    if not first or len(first) == size:
        return first or b""
    parts, missing = [first], size - len(first)
    while missing:
        part = stream.read(missing)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _between_words(data: bytes, must: bool) -> int:
    """The last place to cut a long line: at a space with a letter on either side, so that no sentence can end there.

    Where there is none, 0; or, if it must be, the start of the last character.
    """
    end = len(data)
    while (space := data.rfind(b" ", 1, end)) > 0:
        before = data[max(0, space - 4) : space].decode("utf-8", "ignore")[-1:]
        after = data[space + 1 : space + 5].decode("utf-8", "ignore")[:1]
        if before and after and unicodedata.category(before)[0] == unicodedata.category(after)[0] == "L":
            return space
        end = space
    if not must:
        return 0
    cut = len(data) - 1
    while cut > len(data) - 4 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut


def _as_utf8(data: bytes, fallback: str | None) -> bytes:
    """The bytes themselves; decoded with the fallback where there is one and they are not UTF-8."""
    if fallback is not None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode(fallback).encode()
    return data


# ------------------------------------------------------------------------------------------------------- unpacking


class _Damaged(Exception):
    """An archive that cannot be unpacked."""


class _Counter(io.RawIOBase):
    """A file that counts what was read of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.file.readinto(buffer)  # type: ignore[attr-defined]
        self.read_bytes += count or 0
        return int(count or 0)


class _Part:
    """The bytes of a span."""

    def __init__(self, counter: _Counter, span: Span) -> None:
        counter.file.seek(span.begin)
        counter.read_bytes = 0
        self._counter, self._left = counter, span.end - span.begin

    def read(self, size: int) -> bytes:
        data = self._counter.file.read(min(size, self._left))
        self._left -= len(data)
        self._counter.read_bytes += len(data)
        return data


@contextmanager
def _opened(path: Source, ahead: int = 1 << 20) -> Iterator[tuple[io.BufferedReader, _Counter]]:
    if str(path) == "-":
        counter = _Counter(sys.stdin.buffer)
        yield io.BufferedReader(counter, ahead), counter
        return
    with _file(path) as file:
        counter = _Counter(file)
        yield io.BufferedReader(counter, ahead), counter


def _file(path: Source) -> IO[bytes]:
    """The file as it lies there."""
    try:
        return path.open() if isinstance(path, Url) else cast(IO[bytes], open(path, "rb", buffering=0))
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def _unpacked(raw: io.BufferedReader) -> IO[bytes]:
    """The stream itself or, where its first bytes say that it is packed, what is in it."""
    start = raw.peek(8)[:8]
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if re.match(rb"BZh[1-9]", start):
        return cast(IO[bytes], bz2.BZ2File(raw))
    if start.startswith(b"\xfd7zXZ\0"):
        return cast(IO[bytes], _xz(raw))
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return cast(IO[bytes], _zstandard(raw))
    if start.startswith(b"PK\x03\x04"):
        raise _Damaged("zip archives are not read: unpack it, or use gz, bz2, xz or zst")
    return raw


PIECE = 1 << 12
"""Bytes of an archive that are unpacked at once: at most 32768 times as many come out (zst), 128 MiB."""

WINDOW = 1 << 29
"""Bytes of what was unpacked before that an archive may ask to be kept."""


class _Frames:
    """Reads an archive frame by frame, and notices where the last is cut off."""

    def __init__(self, raw: IO[bytes], new: Callable[[], Any], error: type[Exception], padding: bytes = b"") -> None:
        self._raw, self._new, self._error, self._padding = raw, new, error, padding
        self._object: Any = None
        self._pending = bytearray()
        self._input = b""

    def read(self, size: int) -> bytes:
        while len(self._pending) < size:
            if not self._input:
                self._input = self._raw.read(PIECE)
                if not self._input:
                    if self._object is not None:
                        raise _Damaged("the last frame is cut off")
                    break
            if self._object is None:
                self._input = self._input.lstrip(self._padding) if self._padding else self._input
                if not self._input:
                    continue
                self._object = self._new()
            try:
                self._pending += self._object.decompress(self._input)
            except self._error as error:
                raise _Damaged(str(error)) from None
            self._input = b""
            if self._object.eof:
                self._input, self._object = self._object.unused_data, None
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken


def _zstandard(raw: IO[bytes]) -> _Frames:
    with needing("reading .zst files", "train"):
        import zstandard
    return _Frames(raw, zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj, zstandard.ZstdError)


def _xz(raw: IO[bytes]) -> _Frames:
    new = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=WINDOW + (1 << 20))
    return _Frames(raw, new, lzma.LZMAError, b"\0")


class _Transcoded:
    """Text of another encoding as UTF-8; counts what could not be decoded."""

    def __init__(self, start: bytes, stream: IO[bytes], encoding: str) -> None:
        try:
            b"text".decode(encoding, "replace")  # refuses what is no encoding of text, such as hex
            self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        except LookupError:
            known = ("utf-8", "latin-1", "utf-16", "any other that Python knows")
            raise UnknownChoiceError("encoding", encoding, known) from None
        self._start, self._stream = start, stream
        self._pending = bytearray()
        self._done = False
        self.replaced = 0

    def read(self, size: int) -> bytes:
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


_VERSIONS = ("ETag", "etag", "md5Hash", "checksum", "mtime", "modified", "LastModified", "last_modified", "created")


def is_url(item: object) -> bool:
    """Whether it is written as a URL."""
    return isinstance(item, str) and re.match(r"[a-z][a-z0-9+.-]*://", item) is not None


@dataclass(frozen=True, slots=True)
class Url:
    """A file at a URL; it answers what is asked of a path."""

    url: str

    def __str__(self) -> str:
        return self.url

    def is_file(self) -> bool:
        """It was found."""
        return True

    def open(self, mode: str = "rb") -> IO[bytes]:
        """To be read, from any place."""
        system, path = _system(self.url)
        return cast(IO[bytes], system.open(path, mode))

    @property
    def suffix(self) -> str:
        """The end of its name."""
        return PurePosixPath(self.url).suffix

    @property
    def info(self) -> dict[str, Any]:
        """What the file system says of it."""
        system, path = _system(self.url)
        return dict(system.info(path))


Source = Path | Url
"""A file of text; ``-`` is standard input."""


def find_urls(url: str) -> list[Url]:
    """The files that a URL, a folder or a glob stands for, sorted; hidden ones are left out of folders."""
    system, path = _system(url)
    try:
        if any(sign in path for sign in "*?["):
            found = [name for name in system.glob(path) if system.isfile(name)]
        elif system.isdir(path):
            found = [name for name in system.find(path) if not re.search(r"(^|/)\.", name[len(path) :])]
        else:
            found = [path] if system.exists(path) else []
    except Exception as error:  # plugins raise what they like
        raise CorpusError(f"{url}: cannot be read: {' '.join(str(error).split())}") from None
    if not found:
        raise CorpusError(f"{url}: no such file or folder")
    return [Url(system.unstrip_protocol(name)) for name in sorted(found)]


def size_of(source: Source) -> int:
    """Bytes, packed as they are."""
    return int(source.info["size"]) if isinstance(source, Url) else source.stat().st_size


def describe(source: Source) -> dict[str, Any]:
    """What identifies a file: where it is, its size, and when or as what it was last changed."""
    if isinstance(source, Url):
        info = source.info
        known = {name: str(info[name]) for name in _VERSIONS if info.get(name) is not None}
        return {"path": source.url, "bytes": int(info["size"]), **known}
    status = source.stat()
    times = {"modified": status.st_mtime_ns, "changed": status.st_ctime_ns}  # the second cannot be set back
    return {"path": str(source.resolve()), "bytes": status.st_size, **times}


def _system(url: str) -> tuple[Any, str]:
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
