"""Sources as blocks of UTF-8 bytes, and the columns of formats with one token a line.

A block ends at the end of a line. Only a line longer than ``long_line`` is cut, between two words of a sentence, so
that memory is bounded; the next block then says that it starts in the middle of a sentence.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import lzma
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

from polysema.corpus.normalisation import Normalisation, unicode_version
from polysema.corpus.sources import Counter, DamagedArchiveError, Source, Transcoded, opened, unpacked
from polysema.errors import CorpusError, InputError, check_choice
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
    """The options of ``build_corpus``: those of reading, and what is kept."""

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


@dataclass(frozen=True, slots=True)
class Columns:
    """Column numbers from 0 in a format with one token a line; −1 for none.

    Attributes:
        token: the word or lemma.
        fallback: the word to take where the lemma is unknown.
        tag: the part of speech to append.
        number: the token's number, by which CoNLL-U marks lines that are not tokens.
        markup: lines such as ``<s>`` are marks.
        comments: lines that start with # are skipped.
    """

    token: int
    fallback: int = -1
    tag: int = -1
    number: int = -1
    markup: bool = False
    comments: bool = False


WHOLE_LINES = Columns(token=-1)
"""A token a line and nothing else; an empty line ends a sentence."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a source.

    Attributes:
        data: UTF-8 bytes.
        goes_on: whether it starts in the middle of a sentence.
        columns: of formats with one token a line; None for running text.
        ends_source: whether it is the last of its source.
        read: bytes read from the file so far, packed as they are.
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
    """Whole lines of a plain file.

    Attributes:
        begin, end: its bytes.
        first: how many of them are read first, so that the blocks that follow are those of the whole file.
        last: whether the file ends with it.
    """

    begin: int
    end: int
    first: int
    last: bool


def spans(source: Source, size: int, options: ReadingOptions, piece: int) -> list[Span] | None:
    """Cut a plain file of so many bytes into parts of about ``piece`` bytes; None where it must be read from its start.

    A reader of the whole file takes ``block`` bytes at a time and keeps the bytes after the last line end for the next
    block. The file is cut where such a block begins with a kept part.
    """
    if options.encoding not in ("auto", "utf-8"):
        return None
    block, step = options.block, max(1, piece // options.block) * options.block
    with opened(source, 1 << 12) as (raw, counter):
        start = raw.peek(8)[:8]
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or unpacked(raw) is not raw:
            return None
        base = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
        marks = [(0, block)]
        for edge in range(base + step, size, step):
            for tail in (min(block, 1 << 14), block):  # most often a line ends nearby
                counter.file.seek(edge - tail)
                ends = counter.file.read(tail).rfind(b"\n") + 1
                if ends:
                    begin = edge - tail + ends
                    marks.append((begin, block + edge - begin))
                    break
    edges = [begin for begin, _ in marks[1:]] + [size]
    return [Span(begin, end, first, end == size) for (begin, first), end in zip(marks, edges, strict=True)]


def read_blocks(
    path: Source, options: ReadingOptions = ReadingOptions(), span: Span | None = None
) -> Iterator[Block]:  # fmt: skip
    """The blocks of a file, of a span of it, or of standard input (``-``)."""
    name = "standard input" if str(path) == "-" else str(path)
    with opened(path, 1 << 20 if span is None else 1 << 16) as (raw, counter):
        try:
            yield from _blocks(unpacked(raw), counter, name, options, span)
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, DamagedArchiveError) as error:
            raise CorpusError(f"{name}: truncated or damaged archive near byte {counter.read_bytes}: {error}") from None
        except UnicodeError as error:
            raise CorpusError(f"{name}: cannot be read as {options.encoding}: {error}") from None
        except OSError as error:
            raise CorpusError(
                f"{name}: cannot be read at byte {counter.read_bytes}: {error.strerror or error}"
            ) from None


def _blocks(
    stream: IO[bytes], counter: Counter, name: str, options: ReadingOptions, span: Span | None
) -> Iterator[Block]:
    start, encoding = _read_whole(stream, 1 << 16), options.encoding
    if encoding == "auto" and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    transcoded = None
    if encoding not in ("auto", "utf-8"):
        transcoded = Transcoded(start, stream, encoding)
        stream = cast(IO[bytes], transcoded)
        start = _read_whole(stream, 1 << 16)
    start = start.removeprefix(codecs.BOM_UTF8)
    if b"\0" in start:
        raise CorpusError(f"{name}: a binary file, not text (a zero byte at {start.index(0)})")
    columns = recognise_columns(name, start, options)
    latin = columns is not None and columns.markup and encoding == "auto"
    block, rest, goes_on = options.block, b"", False
    size = block
    if span is not None:
        counter.limit(span.begin, span.end)
        stream, size = cast(IO[bytes], counter), span.first
        start = b"" if span.begin else _read_whole(stream, block).removeprefix(codecs.BOM_UTF8)

    def made(data: bytes, ends: bool = False) -> Block:
        replaced = 0
        if transcoded is not None:
            replaced, transcoded.replaced = transcoded.replaced, 0
        return Block(_as_utf8(data) if latin else data, goes_on, columns, ends, counter.read_bytes, replaced)

    while True:
        chunk, start = start[:size], start[size:]
        if len(chunk) < size:
            more = _read_whole(stream, size - len(chunk))
            chunk = chunk + more if chunk else more
        at_end, size = len(chunk) < size, block
        if at_end:
            if span is None or span.last:
                yield made(b"".join((rest, chunk, b"\n")), ends=True)
            elif rest or chunk:
                yield made(rest + chunk)
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
    """Read so many bytes, fewer only at the end: pipes and unpackers return what they have."""
    data = stream.read(size) or b""
    while data and len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def _between_words(data: bytes, must: bool) -> int:
    """The last place to cut a long line: a space with a letter on either side, so that no sentence can end there.

    Without such a place: 0 or, if it must be cut, the start of the last character.
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
    """The bytes themselves; bytes that are not UTF-8 are taken for Latin-1."""
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
    """The columns of a source, by its first bytes; None for running text."""
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
    """Form first; of the next two, the one that looks like tags (short, upper case, few different ones) is the tag.

    ukWaC has form, tag, lemma; Wackypedia has form, lemma, tag and then the parse.
    """
    rows = [line.split("\t") for line in lines if "\t" in line and not line.startswith("<")]
    rows = [row for row in rows if len(row) >= 3]
    if not rows:
        return ("form",)
    tagged = [sum(bool(re.match(r"[A-Z$]{1,5}[$\d]?$", row[i])) for row in rows) for i in (1, 2)]
    return ("form", "tag", "lemma") if tagged[0] >= tagged[1] else ("form", "lemma", "tag")
