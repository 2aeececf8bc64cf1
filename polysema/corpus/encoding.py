"""Encode text in one pass.

Each worker has its own table of words and turns blocks of text into ids of that table. The main thread takes the
blocks in order, gives words new to a worker a global id, and writes the ids; so the result is the same for any number
of workers. When all is read, the vocabulary is cut and sorted, and the ids are renumbered in place.

Workers of a cluster get *pieces*: a small file is one, and is read by the worker; the blocks of a large one are sent.
"""

from __future__ import annotations

import hashlib
import json
import queue
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from polysema.corpus import tokenising
from polysema.corpus.corpus import FORMAT, HEADER, VERSION, header
from polysema.corpus.normalisation import MAX_SENTENCE
from polysema.corpus.readers import Block, CorpusOptions, Source, list_blocks, read_blocks, size_of
from polysema.corpus.tokenising import Array, PlainReader, Tokens, WordCounts, WordTable
from polysema.engine import Engine, Local
from polysema.errors import CorpusError
from polysema.kernels import tokens as kernel
from polysema.kernels.compiled import is_kept
from polysema.machine import ahead, in_turn, processors
from polysema.progress import Progress, Report, silent

MAX_WORKERS = 64
PIECE = 1 << 24  # bytes of text that are sent to a worker of a cluster at once
WHOLE = 1 << 25  # bytes of a file, packed or not, that a worker of a cluster reads itself

_NO_TEXT = 0.1  # the share of invalid bytes above which a file is not text
_EARLY = 1 << 24  # bytes after which that is judged without waiting for the rest
_GLOBAL: Array = np.empty(0, np.uint32)  # in place of a mapping: the ids are global already

Settled = tuple[tuple[Array, Array, Array], int]
"""The ids and ends of whole sentences, the words of sentences too short; and bytes read so far."""

Piece = tuple[Source, int] | list[Block]
"""A task for a worker of a cluster: a file and the number of bytes of the files before it, or some blocks."""


@dataclass(frozen=True, slots=True)
class TextReader:
    """Reads the blocks of files. ``files`` is None for lists of words, whose blocks are sent."""

    files: list[Source] | None
    options: CorpusOptions

    @property
    def total(self) -> int | None:
        """Bytes to read, packed as they are; None if the text is not in files."""
        if self.files is None or any(str(source) == "-" for source in self.files):
            return None
        return sum(map(size_of, self.files))

    def blocks(self) -> Iterator[Block]:
        """The blocks of all files, one after the other."""
        read = 0
        for source in self.files or ():
            for block in self.read(source, read):
                yield block
                latest = block.read
            read = latest

    def read(self, source: Source, before: int) -> Iterator[Block]:
        """The blocks of a file; ``before`` is the number of bytes of the files before it."""
        for block in read_blocks(source, self.options):
            data, invalid = block.data, 0
            if self.options.normalisation.raw and block.columns is None:
                data, invalid = _valid(data)
            yield replace(block, data=data, read=before + block.read, replaced=block.replaced + invalid)

    def pieces(self) -> Iterator[Piece]:
        """The tasks for a cluster, in the order of the text."""
        before = 0
        for source in self.files or ():
            if str(source) == "-" or size_of(source) > WHOLE:
                yield from sent(self.read(source, before))
            else:
                yield source, before
            before += 0 if str(source) == "-" else size_of(source)


def sent(blocks: Iterable[Block]) -> Iterator[Piece]:
    """Blocks as pieces, some in each."""
    some: list[Block] = []
    for block in blocks:
        some.append(block)
        if sum(len(block.data) for block in some) >= PIECE:
            yield some
            some = []
    if some:
        yield some


def tokenise_piece(reader: TextReader, piece: Piece, report: Report) -> list[tuple[list[Tokens], WordCounts]]:
    """Read and tokenise a piece: its blocks as ids of a table, and the words of that table; most often of one."""
    table, some, words = tokenising.new_table(), list[Tokens](), 0
    found = []
    for block in piece if isinstance(piece, list) else reader.read(*piece):
        if not tokenising.has_room(table, len(block.data)):
            found.append((some, tokenising.words_of(table, some)))
            table, some = tokenising.new_table(len(block.data)), []
        some.append(tokenising.tokenise(reader.options.normalisation, block, table))
        words += len(some[-1].ids)
    report(Progress("reading", words))
    return [*found, (some, tokenising.words_of(table, some))]


def _valid(data: bytes) -> tuple[bytes, int]:
    """Text with invalid UTF-8 replaced, and the number of replacements: the kernel does not check raw words."""
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        return text.encode(), text.count("\ufffd") - data.count("\ufffd".encode())
    return data, 0


class _Worker:
    """A thread's table of words, and the global ids of these words."""

    def __init__(self, slots: int, size: int = 0) -> None:
        self.table = tokenising.new_table(size, slots)
        self.mapping = np.empty(len(self.table.offsets) - 1, np.uint32)


@dataclass(slots=True)
class _ReadCounts:
    """Counts of the text that was read."""

    bytes: int = 0
    sentences: int = 0
    tokens: int = 0
    types: int = 0
    invalid_bytes: int = 0
    overlong_runs: int = 0
    cut_sentences: int = 0


class Encoding:
    """One build, from blocks to the files of a corpus in a folder; a Local engine is threads of this process."""

    def __init__(self, folder: Path, reader: TextReader, engine: Engine, progress: Report = silent) -> None:
        self.folder, self.reader, self.engine, self.progress = folder, reader, engine, progress
        self.options = reader.options
        self.words = WordTable()
        self.read = _ReadCounts()
        self.workers = min(self.options.workers or processors(), MAX_WORKERS)
        self.slots = tokenising.SLOTS
        while self.slots > 1 << 16 and self.slots * self.workers > 1 << 22:
            self.slots //= 2
        self.idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
        self.plain = False  # whether the text is small and is read without compiled code
        self.open: Array = np.empty(0, np.uint32)  # global ids of a sentence that continues in the next block

    def run(self, lists: Any, config: dict[str, Any]) -> None:
        """Read files, or sentences as lists of words, then write the corpus; ``config`` goes into ``config.json``."""
        begun, total = time.perf_counter(), self.reader.total
        with open(self.folder / "tokens.npy", "wb") as tokens, open(self.folder / "ends", "wb") as ends:
            tokens.write(bytes(HEADER))
            for (ids, sentence_ends, dropped), read in self._blocks(lists):
                tokens.write(ids.data)
                ends.write((sentence_ends + self.read.tokens).data)
                np.subtract.at(self.words.counts, dropped, 1)
                self.read.tokens += len(ids)
                self.read.sentences += len(sentence_ends)
                if self.read.bytes > _EARLY:
                    self._check_encoding()
                self._report("reading", read, total, begun)
        while not self.idle.empty():
            worker = self.idle.get()
            self.words.add_counts(worker.table.entries, worker.mapping)
            del worker
        self._check_encoding()
        if not self.read.tokens:
            raise CorpusError(
                f"no sentence of {self.options.normalisation.min_sentence} words or more in "
                f"{self.read.bytes:,} bytes of text: there is nothing to encode"
            )
        self._write(config)

    def _check_encoding(self) -> None:
        invalid, read = self.read.invalid_bytes, max(self.read.bytes, 1)
        if invalid > _NO_TEXT * read and invalid >= 100:
            raise CorpusError(
                f"{invalid / read:.0%} of {read:,} bytes are no text in this encoding: "
                "name the encoding, such as latin-1 (--encoding), if it is text at all"
            )

    def _report(self, stage: str, done: int, total: int | None, begun: float) -> None:
        """Report progress: bytes of files that are read, or words that are written."""
        if self.progress is not silent:
            unit, speed = ("bytes" if stage == "reading" else "words"), done / (time.perf_counter() - begun)
            words, sentences = self.read.tokens, self.read.sentences
            detail = self.engine.status()
            self.progress(Progress(stage, done, total, unit, speed, words=words, sentences=sentences, detail=detail))

    # ------------------------------------------------------------------------------------------------------- reading

    def _blocks(self, lists: Iterable[Sequence[str]] | None) -> Iterator[Settled]:
        """All blocks, settled: by threads of this process, or by an engine's workers."""
        blocks = self.reader.blocks() if lists is None else list_blocks(lists, self.options.block)
        if not isinstance(self.engine, Local):
            return self._spread(self.engine, None if lists is None else sent(blocks))
        first: list[Block] = []
        size = 0
        for block in blocks:
            first.append(block)
            size += len(block.data)
            if size > tokenising.SMALL:
                return self._threaded(chain(first, blocks))
        self.plain = not is_kept(kernel.tokenise) and PlainReader.reads(self.options.normalisation, first)
        return self._plainly(first) if self.plain else self._threaded(first)

    def _plainly(self, blocks: list[Block]) -> Iterator[Settled]:
        """The settled blocks of a small text."""
        reader = PlainReader(self.options.normalisation)
        found = [reader.tokens(block) for block in blocks]
        every = np.arange(len(reader.words), dtype=np.uint32)
        counts = np.bincount(np.concatenate([tokens.ids for tokens in found]), minlength=len(every))
        self.words.fill([word.encode() for word in reader.words], counts)
        for tokens in found:
            yield tokenising.settled(*self._place(tokens, every), self.options.normalisation.min_sentence), tokens.read

    def _threaded(self, text: Iterable[Block]) -> Iterator[Settled]:
        """Blocks that threads tokenise and settle, in the order they were read."""
        for _ in range(self.workers):
            self.idle.put(_Worker(self.slots))
        with closing(ahead(text, 2 * self.workers)) as blocks, ThreadPoolExecutor(self.workers) as pool:
            placed = (self._placed(*item) for item in in_turn(pool, self._tokenise, blocks, self.workers + 1))
            yield from in_turn(pool, self._settle, placed, self.workers + 1)

    def _tokenise(self, block: Block) -> tuple[_Worker, _Worker | None, int, int, Tokens]:
        """Tokenise a block in a thread: its table, a full table that it replaces, the range of new words, the ids."""
        worker = self.idle.get()
        try:
            retired = None
            if not tokenising.has_room(worker.table, len(block.data)):
                retired, worker = worker, _Worker(self.slots, len(block.data))
            first = int(worker.table.used[0])
            tokens = tokenising.tokenise(self.options.normalisation, block, worker.table)
            return worker, retired, first, int(worker.table.used[0]), tokens
        finally:
            self.idle.put(worker)

    def _placed(
        self, worker: _Worker, retired: _Worker | None, first: int, last: int, tokens: Tokens
    ) -> tuple[Array, Array, Array, int]:
        """Give the new words of a block their global ids; see :meth:`_place`."""
        if retired is not None:
            self.words.add_counts(retired.table.entries, retired.mapping)
        self.words.add(worker.table.arena, worker.table.offsets, first, last, worker.mapping)
        return *self._place(tokens, worker.mapping), tokens.read

    def _spread(self, engine: Engine, lists: Iterator[Piece] | None) -> Iterator[Settled]:
        """Blocks that an engine's workers tokenise, in the order of the text."""
        shared, pieces = engine.put(self.reader), lists or self.reader.pieces()

        def placed() -> Iterator[tuple[Array, Array, Array, int]]:
            for blocks, words in chain.from_iterable(engine.map(tokenise_piece, shared, pieces)):
                mapping = tokenising.add_words(self.words, words)
                yield from ((*self._place(tokens, mapping), tokens.read) for tokens in blocks)

        with ThreadPoolExecutor(1) as pool:
            yield from in_turn(pool, self._settle, placed(), 64)

    def _place(self, item: Tokens, mapping: Array) -> tuple[Array, Array, Array]:
        """Close the sentences of a block; an open sentence is kept for the next block.

        Returns:
            the ids and ends of whole sentences, and the map to global ids (``_GLOBAL`` if they are global already).
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
        elif len(ids) - closed >= MAX_SENTENCE:  # do not wait for the end of a sentence that has none
            closed += (len(ids) - closed) // MAX_SENTENCE * MAX_SENTENCE
            ends = np.append(ends, closed)
        self.open = ids[closed:] if mapping is _GLOBAL else mapping[ids[closed:]]
        self.read.bytes += item.size
        self.read.invalid_bytes += item.invalid
        self.read.overlong_runs += item.overlong
        return ids, self._cut_long(ends), mapping

    def _settle(self, placed: tuple[Array, Array, Array, int]) -> Settled:
        """Give whole sentences global ids and drop those too short. Runs in a thread."""
        ids, ends, mapping, read = placed
        ids, ends = (array if array.flags.writeable else array.copy() for array in (ids, ends))  # a cluster's
        size = int(ends[-1]) if len(ends) else 0
        out, dropped, out_ends = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(len(ends), np.int64)
        shortest = self.options.normalisation.min_sentence
        words, sentences, left_out = kernel.settle(ids, ends, mapping, shortest, out, out_ends, dropped)
        return (out[:words], out_ends[:sentences], dropped[:left_out]), read

    def _cut_long(self, ends: Array) -> Array:
        """Sentence ends, with further ends inside sentences that are too long."""
        lengths = np.diff(ends, prepend=0)
        if not len(lengths) or int(lengths.max()) <= MAX_SENTENCE:
            return ends
        more: list[int] = []
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
            more += [*range(end - length + MAX_SENTENCE, end, MAX_SENTENCE), end]
            self.read.cut_sentences += length > MAX_SENTENCE
        return np.array(more, np.int64)

    # ------------------------------------------------------------------------------------------------------- writing

    def _write(self, config: dict[str, Any]) -> None:
        """Cut and sort the vocabulary, renumber, and write ``config.json``."""
        self.read.types = int(np.count_nonzero(self.words.counts[: len(self.words)]))
        order, mapping = self._vocabulary()
        with open(self.folder / "vocabulary.txt", "wb") as spelled, open(self.folder / "counts.npy", "wb") as counted:
            counted.write(header("<i8", len(order)))
            for start in range(0, len(order), 1 << 16):
                some = order[start : start + (1 << 16)]
                spelled.write(self.words.lines(some))
                counted.write(self.words.counts[some].astype("<i8").data)
        tokens, sentences, digests = self._renumber(mapping)
        with open(self.folder / "vocabulary.txt", "rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
        if not tokens:
            seen, count = self.read.types, self.options.min_count
            raise CorpusError(f"none of {seen:,} words is seen {count} times: lower the minimum count")
        config = {
            "format": FORMAT,
            "version": VERSION,
            "sentences": sentences,
            "tokens": tokens,
            "types": len(order),
            "digest": hashlib.sha256(" ".join(digests).encode()).hexdigest(),
            "read": asdict(self.read),
            **config,
        }
        text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
        (self.folder / "config.json").write_text(text, encoding="utf-8")

    def _vocabulary(self) -> tuple[Array, Array]:
        """The words that are kept, sorted, and the final id of each word in the ids written so far, −1 if dropped."""
        options, to_lemma = self.options, None
        if options.lemmatise is not None:
            self.words, to_lemma = tokenising.lemmatised(self.words, options.lemmatise)
        wanted = self.words.find([word.encode() for word in options.keep])
        self.words.forget_slots()
        self.words.cut(len(self.words))
        counts = self.words.counts
        kept = np.zeros(len(self.words), np.bool_)
        kept[wanted[counts[wanted] > 0]] = True
        order = np.arange(len(self.words), dtype=np.uint32)
        order = order[(counts >= options.min_count) | kept]
        self.words.sort(order)
        if options.max_size is not None:
            rare = order[options.max_size :]
            order = np.concatenate([order[: options.max_size], rare[kept[rare]]])
        mapping = np.full(len(self.words), -1, np.int32)
        mapping[order] = np.arange(len(order), dtype=np.int32)
        return order, mapping if to_lemma is None else mapping[to_lemma]

    def _renumber(self, mapping: Array) -> tuple[int, int, list[str]]:
        """Give the ids their final numbers, in place: writing never overtakes reading. Words, sentences, digests."""
        path, begun = self.folder / "tokens.npy", time.perf_counter()
        words = sentences = 0
        digests = hashlib.sha256(), hashlib.sha256()
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
            chunks = self._chunks(source, ends_file)
            renumber = partial(self._renumbered, mapping)
            for out, out_ends, read in in_turn(pool, renumber, chunks, self.workers + 1):
                out_ends += words
                for file, digest, numbers in zip((target, marks), digests, (out, out_ends), strict=True):
                    digest.update(numbers.data)
                    file.write(numbers.data)
                words, sentences = words + len(out), sentences + len(out_ends)
                self._report("writing", read, self.read.tokens, begun)
            target.truncate(HEADER + words * 4)
            for file, start in ((target, header("<i4", words)), (marks, header("<i8", sentences + 1))):
                file.seek(0)
                file.write(start)
        (self.folder / "ends").unlink()
        return words, sentences, [digest.hexdigest() for digest in digests]

    @staticmethod
    def _chunks(source: IO[bytes], ends_file: IO[bytes]) -> Iterator[tuple[Array, Array, int]]:
        """Whole sentences as they were first written: ids, ends, and how many words were read with them."""
        read = 0
        while len(ends := np.fromfile(ends_file, np.int64, 1 << 15)):
            ids = np.fromfile(source, np.uint32, int(ends[-1]) - read)
            ends -= read
            read += len(ids)
            yield ids, ends, read

    def _renumbered(self, mapping: Array, chunk: tuple[Array, Array, int]) -> tuple[Array, Array, int]:
        """Final ids and ends of a chunk. Runs in a thread."""
        ids, ends, read = chunk
        if self.plain:
            return *tokenising.renumbered(ids, ends, mapping), read
        out, out_ends = np.empty(len(ids), np.dtype("<i4")), np.empty(len(ends), np.dtype("<i8"))
        words, sentences = kernel.renumber(ids, ends, mapping, out, out_ends)
        return out[:words], out_ends[:sentences], read
