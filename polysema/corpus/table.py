"""The distinct words of a corpus: all of them, in as little memory as will do.

A word takes its bytes, 8 for where they start, 8 for its count and at most 11 for its slot (12 while sorting, when
slots are gone). Arrays grow in place, and by little. No Python string is made of a word, but to find
its lemma, for text that has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import UnknownChoiceError, needing
from polysema.kernels import tokens as kernel
from polysema.kernels.sorting import sort_words

_FEW = 1 << 18  # words that NumPy sorts in the time that loading a kernel takes; that sorts more in less memory


class WordTable:
    """Words in the order they were first seen, with their counts."""

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
        """Take in the words ``first`` … ``last`` of another arena; ``mapping`` gets their ids here."""
        self._make_room(last - first, int(offsets[last] - offsets[first]))
        kernel.assign(self.slots, self.arena, self.offsets, self._used, arena, offsets, first, last, mapping)

    def fill(self, words: list[bytes], counts: NDArray[np.int64]) -> None:
        """Take in words that are all new, with their counts; nothing was here before."""
        arena, offsets = pack(words)
        self.arena, self.offsets, self.counts = arena.copy(), offsets, counts
        self._used[0] = len(words)
        self.slots = np.zeros(0, np.uint32)  # until one is looked for

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
            self.slots = np.zeros(0, np.uint32)  # gone before the larger one comes
            self.slots = np.zeros(slots, np.uint32)
            kernel.fill_slots(self.slots, self.arena, self.offsets, len(self))

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
        """Add the counts of another table, whose words have the ids ``mapping`` here."""
        _, _, marks, counts = entries.reshape(-1, 4).T
        taken = marks.nonzero()[0]
        self.counts[mapping[(marks[taken] >> np.uint64(8)) - np.uint64(1)]] += counts[taken].astype(np.int64)

    def find(self, words: list[bytes]) -> NDArray[np.int64]:
        """The ids of those of some words that are here."""
        found = np.empty(len(words), np.int64)
        if words:
            if not len(self.slots):
                self.slots = np.zeros(1 << (2 * len(self)).bit_length(), np.uint32)
                kernel.fill_slots(self.slots, self.arena, self.offsets, len(self))
            kernel.find(self.slots, self.arena, self.offsets, *pack(words), found)
        return found[found >= 0]

    def forget_slots(self) -> None:
        """Free what look-ups need, once there are no more of them."""
        self.slots = np.zeros(1, np.uint32)

    def cut(self, length: int) -> None:
        """Free the words from ``length`` on; look-ups are over."""
        self.arena.resize(int(self.offsets[length]), refcheck=False)
        self.offsets.resize(length + 1, refcheck=False)
        self.counts.resize(length, refcheck=False)
        self._used[0] = length

    def sort(self, indices: NDArray[np.uint32]) -> None:
        """Sort indices by count, the largest first, and words of equal count alphabetically (by code point)."""
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
    """Words as an arena and its offsets."""
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    return np.frombuffer(b"".join(words) or b"\0", np.uint8), offsets


def lemmatised(words: WordTable, language: str) -> tuple[WordTable, NDArray[np.uint32]]:
    """The lemmas of words with the words' counts, and the lemma of each word; the words are used up."""
    lemma_of = lemmatiser(language)
    lemmas = WordTable()
    mapping = np.empty(len(words), np.uint32)
    words.forget_slots()
    while len(words):  # from the end, so that the words go as the lemmas come
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
