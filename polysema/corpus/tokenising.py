"""Blocks of text to word ids by compiled kernels (:mod:`polysema.kernels.tokens`), and the tables of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import Normalisation
from polysema.corpus.readers import Block
from polysema.errors import UnknownChoiceError, needing
from polysema.kernels import tokens as k
from polysema.kernels.words import sort_words

Array = NDArray[Any]

SLOTS = 1 << 20  # the approximate number of words in a worker's table

_FEW = 1 << 18  # words that NumPy sorts; for more, the kernel is faster and needs less memory


@dataclass(frozen=True, slots=True)
class Tokens:
    """A block as ids of a table of words."""

    ids: Array  # its words, and where its sentences end
    ends: Array
    size: int  # bytes of text, without the line break that the reader adds to the end of a file
    invalid: int  # bytes that are not valid text, and runs too long for words
    overlong: int
    ends_source: bool  # whether it is the last block of its file
    read: int  # bytes read so far, before unpacking


def new_table(size: int = 0, slots: int | None = None) -> k.SlotTable:
    """An empty table of words, with room for a block of ``size`` bytes."""
    slots = max(slots or SLOTS, 1 << size.bit_length())
    return k.new_table(slots, slots, 16 * slots)


def has_room(table: k.SlotTable, size: int) -> bool:
    """Whether a table has room for a block of ``size`` bytes: at worst, every other byte starts a new word."""
    used = int(table.used[0])
    fits = int(table.offsets[used]) + size <= len(table.arena)
    return fits and used + size // 2 + 1 <= (len(table.offsets) - 1) * 9 // 10


def tokenise(normalisation: Normalisation, block: Block, table: k.SlotTable) -> Tokens:
    """Turn a block into ids of a table; new words are added to the table."""
    size = len(block.data)
    data = np.zeros(size + 8, np.uint8)
    data[:size] = np.frombuffer(block.data, np.uint8)
    ids, ends = np.empty(size // 2 + 1, np.uint32), np.empty(size // 2 + 2, np.int64)
    scratch, tally = np.empty(1024, np.uint8), np.zeros(2, np.int64)
    rules, columns = normalisation.rules(), block.columns
    if columns is None:
        words, sentences = k.tokenise(rules, data, size, block.goes_on, table, ids, ends, scratch, tally)
    else:
        words, sentences = k.tokenise_lines(
            rules, columns, normalisation.raw, data, size, True, table, ids, ends, scratch, tally
        )
    return Tokens(
        ids[:words].copy(), ends[:sentences].copy(), size - block.ends_source, int(tally[0]) + block.replaced,
        int(tally[1]), block.ends_source, block.read,
    )  # fmt: skip


class WordTable:
    """The distinct words of a corpus in the order they were first seen, with their counts, in little memory.

    A word takes its bytes, 8 for its offset, 8 for its count and at most 11 for its slot (12 while sorting, when slots
    are freed). Arrays grow in place, in small steps. Words become Python strings only to find their lemmas.
    """

    def __init__(self) -> None:
        self.slots: NDArray[np.uint32] = np.zeros(1 << 16, np.uint32)
        self.arena: NDArray[np.uint8] = np.empty(1 << 20, np.uint8)
        self.offsets: NDArray[np.int64] = np.zeros((1 << 15) + 1, np.int64)
        self.counts: NDArray[np.int64] = np.zeros(1 << 15, np.int64)
        self._used: NDArray[np.int64] = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._used[0])

    def add(
        self, arena: NDArray[np.uint8], offsets: NDArray[Any], first: int, last: int, mapping: NDArray[Any]
    ) -> None:
        """Add the words ``first`` … ``last`` of another arena; ``mapping`` gets their ids here."""
        self._make_room(last - first, int(offsets[last] - offsets[first]))
        k.assign(self.slots, self.arena, self.offsets, self._used, arena, offsets, first, last, mapping)

    def _make_room(self, words: int, size: int) -> None:
        needed = len(self) + words
        if needed > len(self.counts):
            larger = max(needed, _grown(len(self.counts)))
            self.offsets.resize(larger + 1, refcheck=False)  # realloc: large arrays move without being copied
            self.counts.resize(larger, refcheck=False)
        size += int(self.offsets[len(self)])
        if size > len(self.arena):
            self.arena.resize(max(size, _grown(len(self.arena))), refcheck=False)
        if 4 * needed > 3 * len(self.slots):
            slots = len(self.slots)
            while 4 * needed > 3 * slots:
                slots *= 2
            self.slots = np.zeros(0, np.uint32)  # freed before the larger one is made
            self.slots = np.zeros(slots, np.uint32)
            k.fill_slots(self.slots, self.arena, self.offsets, len(self))

    def word(self, index: int) -> bytes:
        """One word, as UTF-8."""
        return self.arena[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def lines(self, indices: NDArray[Any]) -> bytes:
        """Words, as UTF-8, a line each."""
        starts, ends = self.offsets[indices], self.offsets[indices + 1]
        breaks = np.cumsum(ends - starts + 1) - 1  # where each line ends
        moved = np.repeat(ends - breaks, ends - starts + 1)
        out = self.arena.take(moved + np.arange(len(moved)), mode="clip")
        out[breaks] = ord("\n")
        return out.tobytes()

    def add_counts(self, entries: NDArray[np.uint64], mapping: NDArray[np.uint32]) -> None:
        """Add the counts of another table; ``mapping`` holds the ids of its words here."""
        _, _, marks, counts = entries.reshape(-1, 4).T
        taken = marks.nonzero()[0]
        self.counts[mapping[(marks[taken] >> np.uint64(8)) - np.uint64(1)]] += counts[taken].astype(np.int64)

    def find(self, words: list[bytes]) -> NDArray[np.int64]:
        """The ids of those words that are in the table."""
        found = np.empty(len(words), np.int64)
        if words:
            k.find(self.slots, self.arena, self.offsets, *pack(words), found)
        return found[found >= 0]

    def forget_slots(self) -> None:
        """Free the memory of look-ups when they are over."""
        self.slots = np.zeros(1, np.uint32)

    def cut(self, length: int) -> None:
        """Free the words from ``length`` on; look-ups are over."""
        self.arena.resize(int(self.offsets[length]), refcheck=False)
        self.offsets.resize(length + 1, refcheck=False)
        self.counts.resize(length, refcheck=False)
        self._used[0] = length

    def sort(self, indices: NDArray[np.uint32]) -> None:
        """Sort indices by decreasing count, and words of equal count by code point."""
        if len(indices) > _FEW:
            sort_words(indices, self.counts, self.arena, self.offsets)
            return
        counts, starts = self.counts[indices], self.offsets[indices]
        at = starts[:, None] + np.arange(8)
        letters = np.where(at < self.offsets[indices + 1][:, None], self.arena.take(at, mode="clip"), 0)
        firsts = letters.astype(np.uint8).view(">u8")[:, 0]  # sorts as the first eight bytes do
        order = np.lexsort((firsts, -counts))
        indices[:], counts, firsts = indices[order], counts[order], firsts[order]
        breaks = np.flatnonzero((np.diff(counts) != 0) | (np.diff(firsts) != 0)) + 1
        starts, ends = np.append(0, breaks), np.append(breaks, len(indices))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if end > start + 1:
                indices[start:end] = sorted(indices[start:end].tolist(), key=self.word)


def _grown(size: int) -> int:
    return size + max(size // 16, 1 << 16)


def pack(words: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack words into an arena and its offsets."""
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    return np.frombuffer(b"".join(words) or b"\0", np.uint8), offsets


def lemmatised(words: WordTable, language: str) -> tuple[WordTable, NDArray[np.uint32]]:
    """The table of lemmas with their counts, and the id of the lemma of each word; empties ``words``."""
    lemma_of = lemmatiser(language)
    lemmas = WordTable()
    mapping = np.empty(len(words), np.uint32)
    words.forget_slots()
    while len(words):  # from the end, so that words are freed as lemmas are added
        start = (len(words) - 1) >> 16 << 16
        some = slice(start, len(words))
        found = [
            lemma_of(word.decode()).encode() for word in words.lines(np.arange(start, len(words))).split(b"\n")[:-1]
        ]
        arena, offsets = pack(found)
        lemmas.add(arena, offsets, 0, len(found), mapping[some])
        np.add.at(lemmas.counts, mapping[some], words.counts[some])
        words.cut(start)
    return lemmas, mapping


def lemmatiser(language: str) -> Any:
    """A function from a word to its lemma, by simplemma."""
    with needing("lemmatising", "lemmas"):
        import simplemma
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    if language not in SUPPORTED_LANGUAGES:
        raise UnknownChoiceError("language to lemmatise", language, sorted(SUPPORTED_LANGUAGES))

    def lemma_of(word: str) -> str:
        lemma = simplemma.lemmatize(word, lang=language)
        lemma = lemma.lower() if word.islower() else lemma
        return lemma if lemma and not any(character.isspace() for character in lemma) else word

    return lemma_of


WordCounts = tuple[Array, Array, Array]
"""The words of a table, to be sent: the bytes of all, the offset of each, and its count."""


def words_of(table: k.SlotTable, blocks: list[Tokens]) -> WordCounts:
    """The words of a table with their counts in the blocks that use it."""
    used = int(table.used[0])
    offsets = table.offsets[: used + 1].copy()
    counts = np.zeros(used, np.int64)
    for tokens in blocks:
        counts += np.bincount(tokens.ids, minlength=used)
    return table.arena[: int(offsets[-1])].copy(), offsets, counts


def add_words(table: WordTable, words: WordCounts) -> Array:
    """Add words and their counts to a table. Returns their ids there."""
    arena, offsets, counts = words
    mapping = np.empty(len(counts), np.uint32)
    table.add(arena.copy(), offsets.copy(), 0, len(mapping), mapping)  # what was sent is read-only
    table.counts[mapping] += counts
    return mapping
