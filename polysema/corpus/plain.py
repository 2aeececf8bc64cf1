"""Small text to ids without compiled code, to the same bits as the kernels (:mod:`polysema.kernels.tokens`).

The first text that is read on a machine is small, most often, and compiling takes longer than reading it. A text is cut
into runs and what stands between them; what either does is found out once and looked up from then on.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import NEVER_END, NUMBERED, Normalisation, character_tables
from polysema.corpus.pieces import Tokens
from polysema.corpus.readers import Block
from polysema.kernels import tokens as k
from polysema.kernels.digest import plainly_hashed

Array = NDArray[Any]

SMALL = 1 << 22
"""Bytes of text that are read in this way, until the kernels are compiled for a larger one."""


class PlainReader:
    """Reads blocks of small text; its words have ids in the order they were first seen.

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
        self._seen: dict[str, int] = {}  # distinct runs, whose figures follow
        self._figures: list[tuple[int, int, int]] = []
        self._between: dict[str, int] = {}
        self.words: dict[str, int] = {}

    @staticmethod
    def reads(normalisation: Normalisation, blocks: list[Block]) -> bool:
        """Whether it reads these blocks: running text, in UTF-8, whose words are letters."""
        usual = Normalisation(sentences=normalisation.sentences, min_sentence=normalisation.min_sentence)
        return normalisation == usual and all(block.columns is None and _is_text(block.data) for block in blocks)

    def tokens(self, block: Block) -> Tokens:
        """A block in ids."""
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
        before = np.concatenate([[_PLAIN], short])[: len(runs)]  # what the run before each is
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
        """What stands between two runs: NEWLINE, or STRONG or PERIOD where white space follows these, or nothing."""
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
        """Note of a run its word's id, the kind of its first character, and whether it is an abbreviation."""
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


_NO_WORD, _OVERLONG = -1, -2
_PLAIN, _NUMBERED, _NEVER = 0, 1, 2  # abbreviations that end no sentence before a number, or never


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def settled(ids: Array, ends: Array, mapping: Array, shortest: int) -> tuple[Array, Array, Array]:
    """As the kernel ``settle``: whole sentences with global ids, their ends, and the words of those too short."""
    lengths = np.diff(ends, prepend=0)
    long = lengths >= shortest
    words = np.repeat(long, lengths)
    ids = ids[: len(words)]
    ids = mapping[ids] if len(mapping) else ids
    return ids[words], np.cumsum(lengths[long]), ids[~words]


def renumbered(ids: Array, ends: Array, mapping: Array) -> tuple[Array, Array, int]:
    """As the kernels ``renumber`` and ``hashed``: final ids and ends without what is left out, and their hash."""
    found = mapping[ids]
    kept = found >= 0
    before = np.concatenate([[0], np.cumsum(kept)])[ends]
    out, out_ends = found[kept].astype("<i4"), before[np.diff(before, prepend=0) > 0].astype("<i8")
    return out, out_ends, plainly_hashed(out, out_ends)
