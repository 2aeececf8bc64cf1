"""Raw text to an encoded corpus, in one pass.

Workers turn blocks of text into ids of their own, each with a table of words of its own. The main thread takes the
blocks in order, gives each word that is new to a worker its global id, and writes; so the result is the same for
any number of workers. When all is read the vocabulary is cut and sorted, and the ids are renumbered in place.
"""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.columns import WHOLE_LINES
from polysema.corpus.corpus import FILES, FORMAT, HEADER, VERSION, Corpus, header, is_corpus
from polysema.corpus.normalisation import MAX_SENTENCE, Normalisation, unicode_version
from polysema.corpus.pieces import (
    SLOTS,
    Tokens,
    add_words,
    has_room,
    merge_words,
    new_table,
    pieces,
    tokenise,
    tokenise_piece,
)
from polysema.corpus.readers import (
    BLOCK,
    LONG_LINE,
    Block,
    Source,
    Sources,
    Span,
    describe,
    find_sources,
    read_blocks,
    size_of,
)
from polysema.engine import Engine, Local, engine_named
from polysema.errors import CorpusError, InputError, UnknownChoiceError
from polysema.machine import ahead, in_turn, processors
from polysema.progress import Progress, Report
from polysema.storage import atomic_folder, check_output, holds, recover

Array = NDArray[Any]
MAX_WORKERS = 64
GROUP, MANY = 16, 16
"""Workers of a cluster merge the words of so many pieces, where there are many: one process would hold them up."""
_NO_TEXT = 0.1  # the share of invalid bytes above which a file is no text
_SUSPECT = 1e-4  # the share above which it is said aloud
_EARLY = 1 << 24  # bytes after which that is judged without waiting for the rest
_LOG = logging.getLogger(__name__)
_GLOBAL: Array = np.empty(0, np.uint32)  # in place of a mapping: the ids are global already


@dataclass(slots=True)
class _Met:
    """Counts of what was read."""

    bytes: int = 0
    words: int = 0
    sentences: int = 0
    invalid_bytes: int = 0
    overlong_runs: int = 0
    cut_sentences: int = 0


def build_corpus(
    sources: Sources,
    output: str | Path,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    keep: Iterable[str] = (),
    normalisation: Normalisation = Normalisation(),  # noqa: B008 - frozen
    format: str = "auto",
    token: str = "form",
    columns: Sequence[str] | None = None,
    encoding: str = "auto",
    lemmatise: str | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    engine: str | Engine = "local",
    address: str | None = None,
    block: int = BLOCK,
    long_line: int = LONG_LINE,
) -> Corpus:
    """Count and encode text.

    Args:
        sources: a path, a glob, a folder, a URL, ``-`` for standard input, or a list of those; or any iterable of
            sentences, each a list of words. Files may be packed with gz, bz2, xz or zst.
        output: the folder to write. If it already holds a corpus of the same sources and options, that one is returned.
        min_count: leave out words seen less often.
        max_size: keep so many of the most frequent words at most.
        keep: words to keep whatever their count.
        normalisation: what is a word and a sentence.
        format: "text", "vertical", "conllu", or "auto".
        token: where the source has lemmas: "form", "lemma" or "lemma_pos".
        columns: names of a vertical file's columns: form, lemma, tag, other.
        encoding: of the text; see :func:`polysema.corpus.readers.read_blocks`.
        lemmatise: a language, such as "en", to lemmatise words of running text with simplemma.
        workers: how many threads, up to 64, or tasks of a cluster at once; by default one per core. The result does
            not depend on it.
        overwrite: whether a folder with another corpus may be replaced; nothing else ever is.
        progress: called now and then.
        engine: who reads and tokenises: ``local``, ``ray``, or an engine (``docs/cluster.md``). The result does not
            depend on it.
        address: of a Ray cluster; without it Ray is started on this machine.
        block: bytes that are read at once. The result does not depend on it.
        long_line: lines longer than this are cut between two words.
    """
    output = Path(output)
    if min_count < 1:
        raise InputError(f"min_count is the least number of occurrences, from 1: not {min_count}")
    if max_size is not None and max_size < 1:
        raise InputError(f"max_size is how many words to keep at most, from 1: not {max_size}")
    if normalisation.sentences not in ("split", "lines"):
        raise UnknownChoiceError("way to find sentences", normalisation.sentences, ("split", "lines"))
    if lemmatise is not None:
        from polysema.corpus.table import lemmatiser

        lemmatiser(lemmatise)  # complains now, not when all is read
    given, workers = workers, min(workers or processors(), MAX_WORKERS)
    keep = sorted(set(keep))
    columns = list(columns) if columns else None
    read: dict[str, Any] = {"format": format, "token": token, "columns": columns, "encoding": encoding}
    options: dict[str, Any] = {
        "min_count": min_count,
        "max_size": max_size,
        "keep": hashlib.sha256("\n".join(keep).encode()).hexdigest() if keep else None,
        "normalisation": normalisation.as_dict(),
        **read,
        "lemmatise": lemmatise,
        "unicode": unicode_version(),
    }
    files = _files(sources)
    owner = holds(FORMAT, VERSION, FILES)
    recover(output)
    described = _described(files) if files is not None else None
    if described is not None and is_corpus(output) and not overwrite:
        built = Corpus(output)
        again = partial(
            build_corpus, sources, min_count=min_count, max_size=max_size, keep=keep, normalisation=normalisation,
            lemmatise=lemmatise, workers=workers, progress=progress, block=block, long_line=long_line, **read,
        )  # fmt: skip
        if built.config.get("options") == options and _same_text(built, described, again):
            return built
        raise InputError(
            f"{output} holds a corpus of other text or options: choose another name, or allow overwriting it"
        )
    check_output(output, overwrite=overwrite, inputs=_inputs(sources, files), owner=owner)
    reader = _Reader(files, sources, normalisation, {**read, "block": block, "long_line": long_line})
    with engine_named(engine, address, given) as spread, atomic_folder(output, overwrite, owner) as folder:
        spread.see(str(source) for source in files or () if str(source) != "-")
        _Build(folder, normalisation, workers, progress, reader, spread).run(
            min_count, max_size, keep, lemmatise, {"sources": described, "options": options}
        )
    built = Corpus(output)
    _note(built.config["read"])
    return built


def _inputs(sources: Any, files: Any) -> list[str | Path]:
    """The files and folders that are read, as they were given and one by one."""
    given = [sources] if isinstance(sources, str | Path) else sources if files is not None else ()
    return [item for item in (*given, *(files or ())) if str(item) != "-" and "://" not in str(item)]


def _note(read: dict[str, int]) -> None:
    """Say what is odd about the text."""
    if invalid := read["invalid_bytes"]:
        share = invalid / max(read["bytes"], 1)
        _LOG.log(
            logging.WARNING if share > _SUSPECT else logging.INFO,
            f"{invalid:,} bytes that are no text in this encoding ({share:.2%}) were taken for separators: "
            "if the text is not UTF-8, name its encoding (--encoding)",
        )
    if read["overlong_runs"]:
        _LOG.info(f"{read['overlong_runs']:,} runs of more than 255 bytes were left out")
    if read["cut_sentences"]:
        _LOG.info(f"{read['cut_sentences']:,} sentences of more than 10,000 words were cut into pieces")


def encoded(text: Corpus | str | Path | Sources, folder: Path) -> Corpus:
    """Text as a corpus: what is one already is opened, other text is encoded in a folder."""
    if isinstance(text, Corpus):
        return text
    if isinstance(text, str | Path) and is_corpus(text):
        return Corpus(text)
    return build_corpus(text, folder)


def _files(sources: Sources) -> list[Source] | None:
    """The files to read; None for an iterable of token lists."""
    if isinstance(sources, str | Path):
        return find_sources(sources)
    if isinstance(sources, Sequence) and all(isinstance(item, str | Path) for item in sources):
        return find_sources([item for item in sources if isinstance(item, str | Path)])
    return None


def _described(files: list[Source]) -> list[dict[str, Any]] | None:
    """What identifies the files; None where nothing does (standard input)."""
    if any(str(source) == "-" or not source.is_file() for source in files):
        return None
    return [describe(source) for source in files]


def _same_text(built: Corpus, described: list[dict[str, Any]], again: Callable[[Path], Corpus]) -> bool:
    """Whether a corpus is that of these files: those it was built from, untouched, or others that come to the same.

    A file that was moved, linked or given other rights has another name or time but the same content, so it is encoded
    again where its size is the same. Earlier versions noted one time of change only.
    """
    known = built.config.get("sources")
    earlier = [{key: value for key, value in item.items() if key != "changed"} for item in described]
    if known in (described, earlier):
        return True
    if not isinstance(known, list) or not all(isinstance(item, dict) for item in known):
        return False
    if [item.get("bytes") for item in known] != [item["bytes"] for item in described]:
        return False
    with TemporaryDirectory(prefix="polysema-") as folder:
        return again(Path(folder) / "corpus").digest == built.digest


@dataclass(slots=True)
class _Reader:
    """The blocks of all sources, one after the other."""

    files: list[Source] | None
    sources: Any
    normalisation: Normalisation
    how: dict[str, Any]

    @property
    def total(self) -> int | None:
        """Bytes to read, packed as they are."""
        if self.files is None or any(not path.is_file() for path in self.files):
            return None
        return sum(size_of(source) for source in self.files)

    def __iter__(self) -> Iterator[Block]:
        if self.files is None:
            yield from self._lists()
            return
        read = 0
        for source in self.files:
            for block in self.read(source, read):
                yield block
                latest = block.read
            read = latest

    def read(self, source: Source, before: int, span: Span | None = None) -> Iterator[Block]:
        """The blocks of a file or a part of it, after so many bytes of others."""
        for item in read_blocks(source, span=span, **self.how):
            data, replaced = item.data, item.replaced
            if self.normalisation.raw and item.columns is None:
                data, invalid = _valid(data)
                replaced += invalid
            yield Block(data, item.goes_on, item.columns, item.ends_source, before + item.read, replaced)

    def _lists(self) -> Iterator[Block]:
        """Token lists as lines, an empty line after each sentence."""
        lines: list[str] = []
        size = 0
        for sentence in self.sources:
            if isinstance(sentence, str):
                raise InputError(f"a sentence is a list of words, not the string {sentence[:40]!r}")
            for word in sentence:
                lines.append(word.replace("\n", " "))
                size += len(word) + 1
            lines.append("")
            if size > self.how["block"]:
                yield Block(("\n".join(lines) + "\n").encode("utf-8", "replace"), False, WHOLE_LINES, False, 0)
                lines, size = [], 0
        yield Block(("\n".join(lines) + "\n").encode("utf-8", "replace"), False, WHOLE_LINES, True, 0)


def _valid(data: bytes) -> tuple[bytes, int]:
    """Text with invalid UTF-8 replaced, and how many bytes were: the kernel does not check raw words."""
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        return text.encode(), text.count("\ufffd") - data.count("\ufffd".encode())
    return data, 0


class _Worker:
    """One worker's table of words, and where they are in the global table."""

    def __init__(self, slots: int, size: int = 0) -> None:
        self.table = new_table(size, slots)
        self.mapping = np.empty(len(self.table.offsets) - 1, np.uint32)


@dataclass(slots=True)
class _Placed:
    """A block as a worker left it, and its words that are new to the worker."""

    worker: _Worker
    retired: _Worker | None
    first: int
    last: int
    tokens: Tokens


class _Build:
    """One build, from blocks to the files of a corpus."""

    def __init__(
        self,
        folder: Path,
        normalisation: Normalisation,
        workers: int,
        progress: Report | None,
        reader: _Reader,
        engine: Engine,
    ) -> None:
        from polysema.corpus import plain
        from polysema.corpus.table import WordTable
        from polysema.kernels import tokens as kernel
        from polysema.kernels.compiled import is_kept
        from polysema.kernels.digest import Digest, hashed

        self.is_kept = is_kept
        self.kernel, self.digest, self.hashed, self.plain = kernel, Digest, hashed, plain
        self.folder = folder
        self.normalisation = normalisation
        self.progress = progress
        self.reader, self.engine = reader, engine
        self.words = WordTable()
        self.met = _Met()
        self.workers = workers
        self.slots = SLOTS
        while self.slots > 1 << 16 and self.slots * workers > 1 << 22:
            self.slots //= 2
        self.idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
        self.small = False  # whether the text is so small that no compiled code reads it
        self.open: Array = np.empty(0, np.uint32)  # global ids of a sentence that goes on in the next block

    def run(
        self, min_count: int, max_size: int | None, keep: list[str], lemmatise: str | None, config: dict[str, Any]
    ) -> None:
        """Read everything, then write the corpus."""
        begun = time.perf_counter()
        with open(self.folder / "tokens.npy", "wb") as tokens, open(self.folder / "ends", "wb") as ends:
            tokens.write(bytes(HEADER))
            for (ids, sentence_ends, dropped), read in self._read():
                tokens.write(ids.data)
                ends.write((sentence_ends + self.met.words).data)
                np.subtract.at(self.words.counts, dropped, 1)
                self.met.words += len(ids)
                self.met.sentences += len(sentence_ends)
                if self.met.bytes > _EARLY:
                    self._check_encoding()
                if self.progress:
                    self.progress(self._at("reading", read, self.reader.total, begun))
        while not self.idle.empty():
            worker = self.idle.get()
            self.words.add_counts(worker.table.entries, worker.mapping)
            del worker
        self._check_encoding()
        if not self.met.words:
            raise CorpusError(
                f"no sentence of {self.normalisation.min_sentence} words or more in "
                f"{self.met.bytes:,} bytes of text: there is nothing to encode"
            )
        self._write(min_count, max_size, keep, lemmatise, config)

    def _check_encoding(self) -> None:
        """Refuse what is clearly no text in its encoding."""
        invalid, read = self.met.invalid_bytes, max(self.met.bytes, 1)
        if invalid > _NO_TEXT * read and invalid >= 100:
            raise CorpusError(
                f"{invalid / read:.0%} of {read:,} bytes are no text in this encoding: "
                "name the encoding, such as latin-1 (--encoding), if it is text at all"
            )

    # ----------------------------------------------------------------------------------------------------- reading

    def _read(self) -> Iterator[tuple[tuple[Array, Array, Array], int]]:
        """All blocks, settled: by threads of this process, or by an engine's workers."""
        if not isinstance(self.engine, Local):
            return self._spread(self.engine)
        first: list[Block] = []
        blocks, size = iter(self.reader), 0
        for block in blocks:
            first.append(block)
            size += len(block.data)
            if size > self.plain.SMALL:
                return self._in_order(chain(first, blocks))
        self.small = not self.is_kept(self.kernel.tokenise) and self.plain.PlainReader.reads(self.normalisation, first)
        return self._plainly(first) if self.small else self._in_order(first)

    def _plainly(self, blocks: list[Block]) -> Iterator[tuple[tuple[Array, Array, Array], int]]:
        """The settled blocks of a small text."""
        reader = self.plain.PlainReader(self.normalisation)
        found = [reader.tokens(block) for block in blocks]
        every = np.arange(len(reader.words), dtype=np.uint32)
        counts = np.bincount(np.concatenate([tokens.ids for tokens in found]), minlength=len(every))
        self.words.fill([word.encode() for word in reader.words], counts)
        for tokens in found:
            yield self.plain.settled(*self._place(tokens, every), self.normalisation.min_sentence), tokens.read

    def _in_order(self, text: Iterable[Block]) -> Iterator[tuple[tuple[Array, Array, Array], int]]:
        """Settled blocks in the order they were read, each with how many bytes had been read."""
        for _ in range(self.workers):
            self.idle.put(_Worker(self.slots))
        with closing(ahead(text, 2 * self.workers)) as blocks, ThreadPoolExecutor(self.workers) as pool:
            tokenised = in_turn(pool, self._tokenise, blocks, self.workers + 1)
            placed = ((*self._placed(item), item.tokens.read) for item in tokenised)
            yield from in_turn(pool, self._settle, placed, self.workers + 1)

    def _tokenise(self, block: Block) -> _Placed:
        """Runs in a thread."""
        worker = self.idle.get()
        try:
            retired = None
            if not has_room(worker.table, len(block.data)):
                retired, worker = worker, _Worker(self.slots, len(block.data))
            first = int(worker.table.used[0])
            tokens = tokenise(self.normalisation, block, worker.table)
            return _Placed(worker, retired, first, int(worker.table.used[0]), tokens)
        finally:
            self.idle.put(worker)

    def _placed(self, item: _Placed) -> tuple[Array, Array, Array]:
        """Give a block's new words their global ids; see :meth:`_place`."""
        if item.retired is not None:
            self.words.add_counts(item.retired.table.entries, item.retired.mapping)
        table = item.worker.table
        self.words.add(table.arena, table.offsets, item.first, item.last, item.worker.mapping)
        return self._place(item.tokens, item.worker.mapping)

    def _spread(self, engine: Engine) -> Iterator[tuple[tuple[Array, Array, Array], int]]:
        """As :meth:`_in_order`, where an engine's workers read and tokenise."""
        shared, group = engine.put(self.reader), GROUP if engine.workers > MANY else 1

        def placed() -> Iterator[tuple[Array, Array, Array, int]]:
            parts = pieces(self.reader, engine.workers)
            for found, words in engine.merged(tokenise_piece, shared, parts, merge_words, group=group):
                mappings = [mapping for part in words for mapping in add_words(self.words, part)]
                for blocks, mapping in zip(chain.from_iterable(found), mappings, strict=True):
                    yield from ((*self._place(tokens, mapping), tokens.read) for tokens in blocks)

        with ThreadPoolExecutor(1) as pool:
            yield from in_turn(pool, self._settle, placed(), 64)

    def _place(self, item: Tokens, mapping: Array) -> tuple[Array, Array, Array]:
        """End a block's sentences; an open sentence waits for the next block.

        Returns:
            the ids and ends of whole sentences, and the map to global ids (``_GLOBAL`` where they are global already).
        """
        ids, ends = item.ids, item.ends
        if len(self.open):
            ids = np.concatenate([self.open, mapping[ids]])
            ends = ends + len(self.open)
            mapping = _GLOBAL
        closed = int(ends[-1]) if len(ends) else 0
        if item.ends_source and closed < len(ids):
            ends = np.append(ends, len(ids))
            closed = len(ids)
        elif len(ids) - closed >= MAX_SENTENCE:  # do not wait for the end of a sentence without one
            closed += (len(ids) - closed) // MAX_SENTENCE * MAX_SENTENCE
            ends = np.append(ends, closed)
        self.open = ids[closed:] if mapping is _GLOBAL else mapping[ids[closed:]]
        self.met.bytes += item.size
        self.met.invalid_bytes += item.invalid
        self.met.overlong_runs += item.overlong
        return ids, self._cut_long(ends), mapping

    def _settle(self, placed: tuple[Array, Array, Array, int]) -> tuple[tuple[Array, Array, Array], int]:
        """Sentences with global ids: their words, their ends, and the words of those too short. Runs in a thread."""
        ids, ends, mapping, read = placed
        ids, ends = (array if array.flags.writeable else array.copy() for array in (ids, ends))  # a worker's
        size = int(ends[-1]) if len(ends) else 0
        out, dropped, out_ends = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(len(ends), np.int64)
        shortest = self.normalisation.min_sentence
        words, sentences, left_out = self.kernel.settle(ids, ends, mapping, shortest, out, out_ends, dropped)
        return (out[:words], out_ends[:sentences], dropped[:left_out]), read

    def _cut_long(self, ends: Array) -> Array:
        """Sentence ends with more of them where a sentence is too long."""
        lengths = np.diff(ends, prepend=0)
        if not len(lengths) or int(lengths.max()) <= MAX_SENTENCE:
            return ends
        more: list[int] = []
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
            more += range(end - length + MAX_SENTENCE, end, MAX_SENTENCE)
            self.met.cut_sentences += length > MAX_SENTENCE
            more.append(end)
        return np.array(more, np.int64)

    # ----------------------------------------------------------------------------------------------------- writing

    def _write(
        self, min_count: int, max_size: int | None, keep: list[str], lemmatise: str | None, config: dict[str, Any]
    ) -> None:
        """Cut and sort the vocabulary, and renumber."""
        types_read = int(np.count_nonzero(self.words.counts[: len(self.words)]))
        to_lemma = None
        if lemmatise is not None:
            from polysema.corpus.table import lemmatised

            self.words, to_lemma = lemmatised(self.words, lemmatise)
        kept = self.words.find([word.encode() for word in keep])
        self.words.forget_slots()
        self.words.cut(len(self.words))
        counts = self.words.counts
        kept = kept[counts[kept] > 0]
        is_kept = np.zeros(len(self.words), np.bool_)
        is_kept[kept] = True
        order = np.arange(len(self.words), dtype=np.uint32)
        order = order[(counts >= min_count) | is_kept]
        self.words.sort(order)
        if max_size is not None:
            rare = order[max_size:]
            order = np.concatenate([order[:max_size], rare[is_kept[rare]]])
        mapping = np.full(len(self.words), -1, np.int32)
        mapping[order] = np.arange(len(order), dtype=np.int32)
        if to_lemma is not None:
            mapping = mapping[to_lemma]
        with open(self.folder / "vocabulary.txt", "wb") as spelled, open(self.folder / "counts.npy", "wb") as counted:
            counted.write(header("<i8", len(order)))
            for start in range(0, len(order), 1 << 16):
                some = order[start : start + (1 << 16)]
                spelled.write(self.words.lines(some))
                counted.write(counts[some].astype("<i8").data)
        digest = self.digest()
        tokens, sentences = self._renumber(mapping, digest)
        if not tokens:
            raise CorpusError(f"none of {types_read:,} words is seen {min_count} times: lower the minimum count")
        config = {
            "format": FORMAT,
            "version": VERSION,
            "sentences": sentences,
            "tokens": tokens,
            "types": len(order),
            "digest": digest.text(self.folder / "vocabulary.txt"),
            "read": {
                "bytes": self.met.bytes,
                "sentences": self.met.sentences,
                "tokens": self.met.words,
                "types": types_read,
                "invalid_bytes": self.met.invalid_bytes,
                "overlong_runs": self.met.overlong_runs,
                "cut_sentences": self.met.cut_sentences,
            },
            **config,
        }
        (self.folder / "config.json").write_text(
            json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )

    def _at(self, stage: str, done: int, total: int | None, begun: float) -> Progress:
        """How far the build is: bytes of the files are read, words are written."""
        unit, speed = ("bytes" if stage == "reading" else "words"), done / (time.perf_counter() - begun)
        return Progress(
            stage,
            done,
            total,
            unit,
            speed,
            words=self.met.words,
            sentences=self.met.sentences,
            detail=self.engine.status(),
        )

    def _renumber(self, mapping: Array, digest: Any) -> tuple[int, int]:
        """Give the ids their final numbers, in place: writing never overtakes reading."""
        path = self.folder / "tokens.npy"
        begun = time.perf_counter()
        words = sentences = 0
        with (
            open(path, "rb") as source,
            open(path, "r+b") as target,
            open(self.folder / "ends", "rb") as ends_file,
            open(self.folder / "sentences.npy", "wb") as marks,
            ThreadPoolExecutor(self.workers) as pool,
        ):
            source.seek(HEADER)
            target.seek(HEADER)
            marks.write(bytes(HEADER) + np.zeros(1, "<i8").tobytes())
            renumbered = partial(self._renumbered, mapping)
            chunks = self._chunks(source, ends_file)
            for out, out_ends, piece, read in in_turn(pool, renumbered, chunks, self.workers + 1):
                digest.join(piece, len(out) + len(out_ends))
                target.write(out.data)
                marks.write((out_ends + words).data)
                words, sentences = words + len(out), sentences + len(out_ends)
                if self.progress:
                    self.progress(self._at("writing", read, self.met.words, begun))
            target.truncate(HEADER + words * 4)
            for file, start in ((target, header("<i4", words)), (marks, header("<i8", sentences + 1))):
                file.seek(0)
                file.write(start)
        (self.folder / "ends").unlink()
        return words, sentences

    def _chunks(self, source: Any, ends_file: Any) -> Iterator[tuple[Array, Array, int]]:
        """Whole sentences as they were first written: ids, ends, and how many words were read with them."""
        read = 0
        while len(ends := np.fromfile(ends_file, np.int64, 1 << 15)):
            ids = np.fromfile(source, np.uint32, int(ends[-1]) - read)
            ends -= read
            read += len(ids)
            yield ids, ends, read

    def _renumbered(self, mapping: Array, chunk: tuple[Array, Array, int]) -> tuple[Array, Array, int, int]:
        """Runs in a thread."""
        ids, ends, read = chunk
        if self.small:
            return *self.plain.renumbered(ids, ends, mapping), read
        out, out_ends = np.empty(len(ids), np.dtype("<i4")), np.empty(len(ends), np.dtype("<i8"))
        words, sentences = self.kernel.renumber(ids, ends, mapping, out, out_ends)
        out, out_ends = out[:words], out_ends[:sentences]
        return out, out_ends, int(self.hashed(out, out_ends, 0)), read
