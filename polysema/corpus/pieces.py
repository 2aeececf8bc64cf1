"""Text as tasks: pieces that workers read and tokenise each on its own, with words of their own.

A plain file is cut where a line ends, into pieces of some megabytes, so that each piece has the blocks that a single
reader of the whole file would make. A packed file is one piece; a large one is unpacked by the reader and its blocks
are sent. What comes back has the piece's distinct words and its ids in them. The words of neighbouring pieces can be
merged before they come back (:func:`merge_words`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import Normalisation
from polysema.corpus.readers import Block, Source, Span, size_of, spans
from polysema.progress import Progress, Report

Array = NDArray[Any]

PIECE, LEAST = 1 << 24, 1 << 22
"""Bytes of text that a task takes at most, and at least: less where there is little text for the workers."""

_TASKS = 8  # for each worker, so that all have work to the end

PACKED = 1 << 25
"""Bytes of an archive that a task takes whole; a larger one is unpacked by the reader."""


SLOTS = 1 << 20
"""Words that a worker's table has room for, about."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A task.

    Attributes:
        source: the file; None where the blocks themselves are sent.
        span: which part of it; None for all of it.
        before: bytes of the text before it.
        blocks: what is sent.
    """

    source: Source | None = None
    span: Span | None = None
    before: int = 0
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Tokens:
    """A block in ids of a table of words.

    Attributes:
        ids, ends: its words, and where its sentences end.
        size: bytes of text; the last line break of a file is the reader's.
        invalid, overlong: bytes that are no text, and runs that are no words.
        ends_source: whether it is the last of its file.
        read: bytes read so far, packed as they are.
    """

    ids: Array
    ends: Array
    size: int
    invalid: int
    overlong: int
    ends_source: bool
    read: int


@dataclass(frozen=True, slots=True)
class Words:
    """The distinct words of some tables, in the order in which they are first seen.

    Attributes:
        arena, offsets, counts: their bytes, where each word starts, how often each is there.
        ids: for each table, of its words here.
    """

    arena: Array
    offsets: Array
    counts: Array
    ids: list[Array]


def pieces(reader: Any, workers: int = 1) -> Iterator[Piece]:
    """The tasks of a reader, in the order of the text."""
    if reader.files is None:
        yield from _sent(iter(reader))
        return
    piece = min(PIECE, max(LEAST, (reader.total or 0) // (_TASKS * workers)))
    before = 0
    for source in reader.files:
        if str(source) == "-":
            yield from _sent(reader.read(source, before))
            continue
        size = size_of(source)
        cut = spans(source, size, reader.how["encoding"], reader.how["block"], piece)
        if cut is not None:
            yield from (Piece(source, span, before + span.begin) for span in cut)
        elif size <= PACKED:
            yield Piece(source, None, before)
        else:
            yield from _sent(reader.read(source, before))
        before += size


def _sent(blocks: Iterator[Block]) -> Iterator[Piece]:
    """Blocks as tasks, some in each."""
    some: list[Block] = []
    size = 0
    for block in blocks:
        some.append(block)
        size += len(block.data)
        if size >= PIECE:
            yield Piece(blocks=tuple(some))
            some, size = [], 0
    if some:
        yield Piece(blocks=tuple(some))


def tokenise_piece(reader: Any, piece: Piece, report: Report) -> tuple[list[list[Tokens]], Words]:
    """Read and tokenise a piece: its blocks in ids of tables, most often of one, and the words of these tables."""
    blocks = piece.blocks or reader.read(piece.source, piece.before, piece.span)
    table, found = new_table(), list[Words]()
    some: list[list[Tokens]] = [[]]
    for block in blocks:
        if not has_room(table, len(block.data)):
            found.append(_counted(table, some[-1]))
            table = new_table(len(block.data))
            some.append([])
        some[-1].append(tokenise(reader.normalisation, block, table))
    found.append(_counted(table, some[-1]))
    report(Progress("reading", sum(len(tokens.ids) for blocks in some for tokens in blocks)))
    return some, merge_words(found) if len(found) > 1 else found[0]


def _counted(table: Any, blocks: list[Tokens]) -> Words:
    used = int(table.used[0])
    offsets = table.offsets[: used + 1].copy()
    counts = np.zeros(used, np.int64)
    for tokens in blocks:
        counts += np.bincount(tokens.ids, minlength=used)
    return Words(table.arena[: int(offsets[-1])].copy(), offsets, counts, [np.arange(used, dtype=np.uint32)])


def merge_words(parts: list[Words]) -> Words:
    """The words of parts that follow each other."""
    from polysema.corpus.table import WordTable

    table = WordTable()
    ids = [mapped for part in parts for mapped in add_words(table, part)]
    table.cut(len(table))
    return Words(table.arena, table.offsets, table.counts, ids)


def add_words(table: Any, words: Words) -> list[Array]:
    """Take words and their counts into a WordTable; for each table that they come from, the ids of its words there."""
    mapping = np.empty(len(words.counts), np.uint32)
    table.add(words.arena.copy(), words.offsets.copy(), 0, len(mapping), mapping)  # what is sent is read-only
    table.counts[mapping] += words.counts
    return [mapping[ids] for ids in words.ids]


def new_table(size: int = 0, slots: int = SLOTS) -> Any:
    """An empty table of words, with room for a block of so many bytes at least."""
    from polysema.kernels import tokens as kernel

    slots = max(slots, 1 << size.bit_length())
    return kernel.new_table(slots, slots, 16 * slots)


def has_room(table: Any, size: int) -> bool:
    """Whether a table can take a block of so many bytes: at worst every other byte starts a new word."""
    used = int(table.used[0])
    fits = int(table.offsets[used]) + size <= len(table.arena)
    return fits and used + size // 2 + 1 <= (len(table.offsets) - 1) * 9 // 10


def tokenise(normalisation: Normalisation, block: Block, table: Any) -> Tokens:
    """A block in ids of a table, to which its new words are added."""
    from polysema.kernels import tokens as kernel

    size = len(block.data)
    data = np.zeros(size + 8, np.uint8)
    data[:size] = np.frombuffer(block.data, np.uint8)
    ids, ends = np.empty(size // 2 + 1, np.uint32), np.empty(size // 2 + 2, np.int64)
    scratch, tally = np.empty(1024, np.uint8), np.zeros(2, np.int64)
    rules, columns = normalisation.rules(), block.columns
    if columns is None:
        words, sentences = kernel.tokenise(rules, data, size, block.goes_on, table, ids, ends, scratch, tally)
    else:
        layout = kernel.Layout(
            columns.token, columns.fallback, columns.tag, columns.number, columns.markup, columns.comments
        )
        words, sentences = kernel.tokenise_lines(
            rules, layout, normalisation.raw, data, size, True, table, ids, ends, scratch, tally
        )
    return Tokens(
        ids[:words].copy(), ends[:sentences].copy(), size - block.ends_source, int(tally[0]) + block.replaced,
        int(tally[1]), block.ends_source, block.read,
    )  # fmt: skip
