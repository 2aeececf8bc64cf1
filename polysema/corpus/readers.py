"""Text as blocks of UTF-8 bytes: finding files, unpacking, decoding, and the columns of formats with a token a line.

A block ends at the end of a line. Only a line longer than ``long_line`` is cut, between two words of a sentence, so
that memory is bounded; the next block then says that it starts in the middle of a sentence.
"""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import hashlib
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
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from polysema.corpus.normalisation import Normalisation, unicode_version
from polysema.errors import CorpusError, InputError, MissingExtraError, UnknownChoiceError, check_choice, needing
from polysema.options import Options, option

FORMATS = {
    "auto": "recognised by its content",
    "text": "running text: a sentence or a paragraph a line",
    "vertical": "WaCky files: a token a line with its tag and lemma, <s> marks",
    "conllu": "CoNLL-U",
}
"""The formats of text."""

TOKENS = {
    "form": "the word as it stands",
    "lemma": "its dictionary form",
    "lemma_pos": "its dictionary form and part of speech, as in bank_NN",
}
"""What to take of a token in formats that have lemmas."""

_COLUMNS = ("form", "lemma", "tag", "other")


@dataclass(frozen=True)
class ReadingOptions(Options):
    """How sources are read."""

    format: str = option("auto", "the format of the text", choices=FORMATS)
    token: str = option("form", "what to take of a token", choices=TOKENS)
    columns: tuple[str, ...] | None = option(None, "the columns of a vertical file: form, lemma, tag, other")
    encoding: str = option(
        "auto", "UTF-8, UTF-16 with a byte-order mark, and Latin-1 in vertical files that are neither"
    )
    block: int = option(1 << 19, "bytes that are read at once; the result does not depend on it", least=1)
    long_line: int = option(1 << 19, "bytes after which a line is cut between two words", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", tuple(self.columns) if self.columns else None)
        for column in self.columns or ():
            check_choice("column", column, _COLUMNS)


@dataclass(frozen=True)
class CorpusOptions(ReadingOptions):
    """Options of ``build_corpus``: how text is read, and which words are kept."""

    normalisation: Normalisation = option(Normalisation(), "what counts as a word and as a sentence")
    min_count: int = option(1, "leave out words seen less often", least=1)
    max_size: int | None = option(None, "keep at most this many of the most frequent words", least=1)
    keep: tuple[str, ...] = option((), "words to keep whatever their count")
    lemmatise: str | None = option(None, "a language, such as en, to lemmatise running text with simplemma")
    workers: int | None = option(
        None, "threads, up to 64; by default one per core. The result does not depend on it", least=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "keep", tuple(sorted(set(self.keep))))

    def identity(self) -> dict[str, Any]:
        """The options that the result depends on, for ``config.json``."""
        return {
            "min_count": self.min_count,
            "max_size": self.max_size,
            "keep": hashlib.sha256("\n".join(self.keep).encode()).hexdigest() if self.keep else None,
            "normalisation": self.normalisation.as_dict(),
            "format": self.format,
            "token": self.token,
            "columns": list(self.columns) if self.columns else None,
            "encoding": self.encoding,
            "lemmatise": self.lemmatise,
            "unicode": unicode_version(),
        }


class Columns(NamedTuple):
    """Column numbers, from 0, of a format with one token a line; −1 if there is no such column."""

    token: int  # the word or lemma
    fallback: int = -1  # the word, used if the lemma is unknown
    tag: int = -1  # the part of speech to append
    number: int = -1  # the number of the token; CoNLL-U uses it to mark lines that are not tokens
    markup: bool = False  # lines such as ``<s>`` are marks
    comments: bool = False  # lines that start with # are skipped


WHOLE_LINES = Columns(token=-1)  # a token a line and nothing else; an empty line ends a sentence


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a source."""

    data: bytes  # UTF-8 bytes
    goes_on: bool  # whether it starts in the middle of a sentence
    columns: Columns | None  # the columns, if there is one token a line; None for running text
    ends_source: bool  # whether it is the last block of its source
    read: int  # bytes read from the file so far, before unpacking
    replaced: int = 0  # how many characters could not be decoded


# --------------------------------------------------------------------------------------------------------- finding text


Sources = str | Path | Sequence[str | Path] | Iterable[Sequence[str]]

ARCHIVE_PIECE = 1 << 12
"""Bytes of an archive that are unpacked at once: they give at most 32768 times as many (zst), 128 MiB."""

WINDOW = 1 << 29  # the largest window of an archive in bytes: unpacked text that the unpacker keeps for back-references

_HIDDEN = re.compile(r"(^|/)\.")
_VERSIONS = ("ETag", "etag", "md5Hash", "checksum", "mtime", "modified", "LastModified", "last_modified", "created")


class Url(str):
    """The URL of a file."""

    def open(self) -> IO[bytes]:
        """Open it for reading."""
        system, path = _file_system(self)
        return cast(IO[bytes], system.open(path, "rb"))

    @property
    def info(self) -> dict[str, Any]:
        """The facts that its file system gives."""
        system, path = _file_system(self)
        return dict(system.info(path))


Source = Path | Url  # a file of text; ``-`` is standard input


def find_sources(sources: str | Path | Sequence[str | Path]) -> list[Source]:
    """The files of paths, folders, globs and URLs, in order; ``-`` is standard input.

    A folder means all files below it except hidden ones, sorted by name.
    """
    found: list[Source] = []
    for item in [sources] if isinstance(sources, str | Path) else sources:
        is_url = isinstance(item, str) and re.match(r"[a-z][a-z0-9+.-]*://", item)
        found += _find_urls(str(item)) if is_url else _find_files(item)
    if not found:
        raise CorpusError("no text was given")
    return found


def _find_files(item: str | Path) -> list[Path]:
    path = Path(item)
    if not str(item):
        raise CorpusError("an empty name is no text: name a file, a folder or -")
    if (path / "tokens.npy").is_file() and (path / "config.json").is_file():
        raise CorpusError(f"{path}: an encoded corpus already, not text (if it is alone, its config.json is damaged)")
    if str(item) == "-" or path.is_file():
        return [path]
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file()]
        found = sorted(file for file in files if not _HIDDEN.search(file.relative_to(path).as_posix()))
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
    """The files of a URL, which may name a folder or hold wildcards, sorted and without hidden files."""
    system, path = _file_system(url)
    try:
        if any(sign in path for sign in "*?["):
            found = [name for name in system.glob(path) if system.isfile(name)]
        elif system.isdir(path):
            found = [name for name in system.find(path) if not _HIDDEN.search(name[len(path) :])]
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
    """The size of a file in bytes, before unpacking."""
    return int(source.info["size"]) if isinstance(source, Url) else source.stat().st_size


def describe(source: Source) -> dict[str, Any]:
    """The facts that identify a file: its path, its size, and its version or the time of its last change."""
    if isinstance(source, Url):
        info = source.info
        known = {name: str(info[name]) for name in _VERSIONS if info.get(name) is not None}
        return {"path": str(source), "bytes": int(info["size"]), **known}
    status = source.stat()
    times = {"modified": status.st_mtime_ns, "changed": status.st_ctime_ns}  # the second cannot be set back
    return {"path": str(source.resolve()), "bytes": status.st_size, **times}


# -------------------------------------------------------------------------------------------------------------- opening


class Counter(io.RawIOBase):
    """A file that counts the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.read_bytes = file, 0

    def readable(self) -> bool:  # noqa: D102 - see io.RawIOBase
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: D102
        count = int(self.file.readinto(buffer) or 0)  # type: ignore[attr-defined]
        self.read_bytes += count
        return count


@contextmanager
def _opened(source: Source) -> Iterator[Counter]:
    if str(source) == "-":
        yield Counter(
            getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        )  # no lock is held at the end by a waiting read
        return
    try:
        file = source.open() if isinstance(source, Url) else cast(IO[bytes], open(source, "rb", buffering=0))  # noqa: SIM115
    except OSError as error:
        raise CorpusError(f"{source}: cannot be read: {error.strerror or error}") from None
    with file:
        yield Counter(file)


class DamagedArchiveError(Exception):
    """An archive that cannot be unpacked."""


def unpacked(raw: io.BufferedReader) -> IO[bytes]:
    """The stream itself or, if its first bytes are those of an archive, its unpacked content."""
    start = raw.peek(8)[:8]
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if re.match(rb"BZh[1-9]", start):
        return cast(IO[bytes], bz2.BZ2File(raw))
    if start.startswith(b"\xfd7zXZ\0"):
        new = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=WINDOW + (1 << 20))
        return cast(IO[bytes], _Made(_frames(raw, new, lzma.LZMAError, b"\0")))
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        with needing("reading .zst files", "train"):
            import zstandard
        decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        return cast(IO[bytes], _Made(_frames(raw, decompressor.decompressobj, zstandard.ZstdError)))
    if start.startswith(b"PK\x03\x04"):
        raise DamagedArchiveError("zip archives are not read: unpack it, or use gz, bz2, xz or zst")
    return raw


class _Made:
    """A stream of bytes that are made piece by piece; :meth:`read` returns fewer than asked only at the end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._pending = pieces, bytearray()

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes."""
        while len(self._pending) < size and (more := next(self._pieces, None)) is not None:
            self._pending += more
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken


def _frames(raw: IO[bytes], new: Callable[[], Any], error: type[Exception], padding: bytes = b"") -> Iterator[bytes]:
    """Unpack an archive frame by frame; a last frame that is cut off is an error."""
    frame, data = None, b""
    while data := data or raw.read(ARCHIVE_PIECE):
        if frame is None:
            data = data.lstrip(padding)
            if not data:
                continue
            frame = new()
        try:
            made: bytes = frame.decompress(data)
        except error as why:
            raise DamagedArchiveError(str(why)) from None
        yield made
        data = b""
        if frame.eof:
            data, frame = frame.unused_data, None
    if frame is not None:
        raise DamagedArchiveError("the last frame is cut off")


def _transcoded(start: bytes, stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Text of another encoding as UTF-8; what cannot be decoded becomes U+FFFD."""
    try:
        b"text".decode(encoding, "replace")  # refuses codecs that are not encodings of text, such as hex
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    except LookupError:
        known = ("utf-8", "latin-1", "utf-16", "any other that Python knows")
        raise UnknownChoiceError("encoding", encoding, known) from None
    yield decoder.decode(start).encode()
    while data := stream.read(1 << 16):
        yield decoder.decode(data).encode()
    yield decoder.decode(b"", final=True).encode()


# -------------------------------------------------------------------------------------------------------------- reading


def read_blocks(source: Source, options: ReadingOptions = ReadingOptions()) -> Iterator[Block]:
    """The blocks of a file, or of standard input (``-``)."""
    name = "standard input" if str(source) == "-" else str(source)
    with _opened(source) as counter:
        try:
            yield from _blocks(counter, name, options)
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, DamagedArchiveError) as error:
            raise CorpusError(f"{name}: truncated or damaged archive near byte {counter.read_bytes}: {error}") from None
        except UnicodeError as error:
            raise CorpusError(f"{name}: cannot be read as {options.encoding}: {error}") from None
        except OSError as error:
            why = error.strerror or error
            raise CorpusError(f"{name}: cannot be read at byte {counter.read_bytes}: {why}") from None


def _blocks(counter: Counter, name: str, options: ReadingOptions) -> Iterator[Block]:
    stream: Any = unpacked(io.BufferedReader(counter, 1 << 20))
    start, encoding = _read_whole(stream, 1 << 16), options.encoding
    if encoding == "auto" and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    transcoded = encoding not in ("auto", "utf-8")
    if transcoded:
        stream = _Made(_transcoded(start, stream, encoding))
        start = _read_whole(stream, 1 << 16)
    start = start.removeprefix(codecs.BOM_UTF8)
    if b"\0" in start:
        raise CorpusError(f"{name}: a binary file, not text (a zero byte at {start.index(0)})")
    columns = recognise_columns(name, start, options)
    latin = columns is not None and columns.markup and encoding == "auto"
    size, rest, goes_on = options.block, b"", False

    def made(data: bytes, ends: bool = False) -> Block:
        replaced = data.count(b"\xef\xbf\xbd") if transcoded else 0
        return Block(_as_utf8(data) if latin else data, goes_on, columns, ends, counter.read_bytes, replaced)

    while True:
        chunk, start = start[:size], start[size:]
        if len(chunk) < size:
            more = _read_whole(stream, size - len(chunk))
            chunk = chunk + more if chunk else more
        if len(chunk) < size:
            yield made(b"".join((rest, chunk, b"\n")), ends=True)
            return
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield made(b"".join((rest, memoryview(chunk)[:cut])))
            rest, goes_on = chunk[cut:], False
            continue
        rest += chunk
        if len(rest) >= options.long_line:
            if columns is not None:
                raise CorpusError(
                    f"{name}: a line of more than {options.long_line} bytes: this is no file of one token a line"
                )
            if cut := _between_words(rest, len(rest) >= 4 * options.long_line):
                yield made(rest[:cut])
                rest, goes_on = rest[cut:], True


def _read_whole(stream: IO[bytes], size: int) -> bytes:
    """Read ``size`` bytes, fewer only at the end: pipes and unpackers may return less at once."""
    data = stream.read(size) or b""
    while data and len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def _between_words(data: bytes, must: bool) -> int:
    """The last place where a long line may be cut: a space between two letters, where no sentence can end.

    If there is none: 0 or, if it must be cut, the start of the last character.
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


def _as_utf8(data: bytes) -> bytes:
    """The bytes themselves if they are UTF-8; otherwise they are decoded as Latin-1."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


def list_blocks(sentences: Iterable[Sequence[str]], size: int) -> Iterator[Block]:
    """Lists of words as blocks of lines, an empty line after each sentence."""
    lines: list[str] = []
    length = 0

    def made(last: bool) -> Block:
        return Block(("\n".join(lines) + "\n").encode("utf-8", "replace"), False, WHOLE_LINES, last, 0)

    for sentence in sentences:
        if isinstance(sentence, str):
            raise InputError(f"a sentence is a list of words, not the string {sentence[:40]!r}")
        words = [word.replace("\n", " ") for word in sentence]
        lines += [*words, ""]
        length += sum(map(len, words)) + len(words)
        if length > size:
            yield made(last=False)
            lines, length = [], 0
    yield made(last=True)


def recognise_columns(name: str, start: bytes, options: ReadingOptions) -> Columns | None:
    """The columns of a source, recognised from its first bytes; None for running text."""
    lines = start.decode("utf-8", "replace").split("\n")
    if len(lines) > 1:
        lines.pop()  # the last may be cut
    lines = [line.rstrip("\r ") for line in lines[:2000]]
    format, token = options.format, options.token
    if format == "auto":
        format = "vertical" if options.columns else _guess_format(lines)
    if format == "conllu":
        if token == "form":
            return Columns(token=1, number=0, comments=True)
        return Columns(token=2, fallback=1, tag=3 if token == "lemma_pos" else -1, number=0, comments=True)
    if format == "vertical":
        names = options.columns or _guess_columns(lines)
        for column in {"form": ["form"], "lemma": ["lemma"], "lemma_pos": ["lemma", "tag"]}[token]:
            if column not in names:
                raise CorpusError(
                    f"{name}: its columns are {', '.join(names) or 'not clear'}: there is no {column} among them"
                )
        form = names.index("form") if "form" in names else -1
        taken = form if token == "form" else names.index("lemma")
        return Columns(taken, form, names.index("tag") if token == "lemma_pos" else -1, markup=True)
    if token != "form":
        raise CorpusError(f"{name}: running text has no lemmas to take: use --lemmatise, or a vertical or CoNLL-U file")
    return None


def _guess_format(lines: list[str]) -> str:
    rows = [line.split("\t") for line in lines if line and not line.startswith(("#", "<"))]
    if rows and all(len(row) == 10 and re.match(r"\d+([.-]\d+)?$", row[0]) for row in rows):
        return "conllu"
    marks = any(re.match(r"</?(s|p|text|doc|corpus)\b[^\t]*>$", line) for line in lines)
    if marks and rows and sum(len(row) > 1 for row in rows) > 0.9 * len(rows):
        return "vertical"
    return "text"


def _guess_columns(lines: list[str]) -> tuple[str, ...]:
    """The form comes first; of the next two columns, the one with short upper-case values is the tag.

    ukWaC has form, tag, lemma; Wackypedia has form, lemma, tag and then the parse.
    """
    rows = [line.split("\t") for line in lines if "\t" in line and not line.startswith("<")]
    rows = [row for row in rows if len(row) >= 3]
    if not rows:
        return ("form",)
    tagged = [sum(bool(re.match(r"[A-Z$]{1,5}[$\d]?$", row[i])) for row in rows) for i in (1, 2)]
    return ("form", "tag", "lemma") if tagged[0] >= tagged[1] else ("form", "lemma", "tag")
