"""Blocks of text to word ids, and the tables of words.

Text is read by compiled kernels (:mod:`polysema.kernels.tokens`). The first text read on a machine is often small, and
compiling takes longer than reading it: :class:`PlainReader` gives the same bits in plain Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import NEVER_END, NUMBERED, Normalisation, character_tables
from polysema.corpus.readers import Block
from polysema.errors import UnknownChoiceError, needing
from polysema.kernels import tokens as k
from polysema.kernels.words import sort_words

Array = NDArray[Any]

SLOTS = 1 << 20  # the approximate number of words in a worker's table
SMALL = 1 << 22  # the largest text in bytes that plain Python reads if the kernels are not compiled yet

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


_NO_WORD, _OVERLONG = -1, -2  # in place of a word's id
_PLAIN, _NUMBERED, _NEVER = 0, 1, 2  # abbreviations that end no sentence before a number, or never


class PlainReader:
    """Tokenises blocks of small text in plain Python; words have ids in the order they were first seen.

    A text is cut into runs and the gaps between them; each distinct run and gap is analysed once.

    Attributes:
        words: every word with its id.
    """

    def __init__(self, normalisation: Normalisation) -> None:
        self._kinds, self._lower = character_tables()
        marks = np.flatnonzero(self._kinds == k.MARK)
        starts = marks[np.diff(marks, prepend=-2) > 1]
        ends = marks[np.diff(marks, append=marks[-1] + 2) > 1]
        ranges = "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))
        self._runs = re.compile(rf"(\w[\w{ranges}]*)")
        self._split = normalisation.sentences == "split"
        self._seen: dict[str, int] = {}  # the place in _figures of each distinct run
        self._figures: list[tuple[int, int, int]] = []
        self._between: dict[str, int] = {}
        self.words: dict[str, int] = {}

    @staticmethod
    def reads(normalisation: Normalisation, blocks: list[Block]) -> bool:
        """Whether it can read these blocks: running text in UTF-8 with the default rules for words."""
        usual = Normalisation(sentences=normalisation.sentences, min_sentence=normalisation.min_sentence)
        return normalisation == usual and all(block.columns is None and _is_text(block.data) for block in blocks)

    def tokens(self, block: Block) -> Tokens:
        """A block as ids of :attr:`words`."""
        parts = self._runs.split(block.data.decode())
        gaps, runs = parts[::2], parts[1::2]
        for run in dict.fromkeys(runs):
            if run not in self._seen:
                self._meet(run)
        for gap in dict.fromkeys(gaps):
            if gap not in self._between:
                self._between[gap] = self._ending(gap)
        codes = np.fromiter(map(self._seen.__getitem__, runs), np.int64, len(runs))
        words, kinds, short = np.array(self._figures, np.int64).reshape(-1, 3).T[:, codes]
        ended = np.fromiter(map(self._between.__getitem__, gaps), np.int64, len(gaps))
        before = np.concatenate([[_PLAIN], short])[: len(runs)]  # of the run before each
        abbreviation = (before == _NEVER) | ((before == _NUMBERED) & (kinds == k.DIGIT))
        stop = (ended[:-1] == k.STRONG) | ((ended[:-1] == k.PERIOD) & ~abbreviation)
        within = stop & (kinds != k.LOWER) & self._split
        ends = np.append(within, False) | (ended == k.NEWLINE)
        marks = np.unique(np.concatenate([[0], np.cumsum(words >= 0)])[ends])
        ids = words[words >= 0].astype(np.uint32)
        overlong = int((words == _OVERLONG).sum())
        marks = marks if block.goes_on else marks[marks > 0]
        size = len(block.data) - block.ends_source
        return Tokens(ids, marks, size, block.replaced, overlong, block.ends_source, block.read)

    def _ending(self, gap: str) -> int:
        """How a gap ends a sentence: NEWLINE; STRONG or PERIOD followed by white space; or 0."""
        ended, space, line = 0, False, False
        for kind in map(self._kind, gap):
            if kind == k.SPACE:
                space = True
            elif kind == k.NEWLINE:
                line = True
            elif kind in (k.PERIOD, k.STRONG):
                ended, space = (k.STRONG if k.STRONG in (ended, kind) else k.PERIOD), False
            elif kind == k.WIDE:
                ended, space = k.STRONG, True
            elif kind != k.NEUTRAL:
                ended = 0
        return k.NEWLINE if line else ended if space else 0

    def _meet(self, run: str) -> None:
        """Record the word id of a run, the kind of its first character, and whether it is an abbreviation."""
        ascii_letters = run.isascii() and run.isalpha()
        folded = run.lower() if ascii_letters else "".join(map(self._folded, run))
        if run[-1] == "Σ" and len(run) > 1:
            folded = folded[:-1] + "ς"
        word = _NO_WORD
        if len(folded.encode()) > k.MAX_WORD:
            word = _OVERLONG
        elif ascii_letters or k.DIGIT not in map(self._kind, run):
            word = self.words.setdefault(folded, len(self.words))
        short = _PLAIN
        if ascii_letters:
            short = _NEVER if len(run) == 1 or folded in NEVER_END else _NUMBERED if folded in NUMBERED else _PLAIN
        self._seen[run] = len(self._figures)
        self._figures.append((word, self._kind(run[0]), short))

    def _kind(self, character: str) -> int:
        code = ord(character)
        return int(self._kinds[code]) if code < len(self._kinds) else k.RESET

    def _folded(self, character: str) -> str:
        return "i̇" if character == "İ" else chr(self._lower[ord(character)])


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def settled(ids: Array, ends: Array, mapping: Array, shortest: int) -> tuple[Array, Array, Array]:
    """As the kernel ``settle``: whole sentences with global ids, their ends, and the words of sentences too short."""
    lengths = np.diff(ends, prepend=0)
    long = lengths >= shortest
    words = np.repeat(long, lengths)
    ids = ids[: len(words)]
    ids = mapping[ids] if len(mapping) else ids
    return ids[words], np.cumsum(lengths[long]), ids[~words]


def renumbered(ids: Array, ends: Array, mapping: Array) -> tuple[Array, Array]:
    """As the kernel ``renumber``: final ids and ends of the words that are kept."""
    found = mapping[ids]
    kept = found >= 0
    before = np.concatenate([[0], np.cumsum(kept)])[ends]
    return found[kept].astype("<i4"), before[np.diff(before, prepend=0) > 0].astype("<i8")


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

    def fill(self, words: list[bytes], counts: NDArray[np.int64]) -> None:
        """Fill an empty table with distinct words and their counts."""
        arena, offsets = pack(words)
        self.arena, self.offsets, self.counts = arena.copy(), offsets, counts
        self._used[0] = len(words)
        self.slots = np.zeros(0, np.uint32)  # made when a word is looked up

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
            if not len(self.slots):
                self.slots = np.zeros(1 << (2 * len(self)).bit_length(), np.uint32)
                k.fill_slots(self.slots, self.arena, self.offsets, len(self))
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
