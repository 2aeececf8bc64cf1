"""Words ranked by how ambiguous they are, and how each stands among words of like frequency."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import is_content
from polysema.errors import Failed, InputError, UnknownWordError, check_choice
from polysema.meanings.meanings import Matrices
from polysema.meanings.neighbours import blocks
from polysema.meanings.results import Record
from polysema.measures import entropy


@dataclass(frozen=True, slots=True)
class Ambiguity(Record):
    """How ambiguous a word is."""

    word: str  # the word
    entropy: float  # its von Neumann entropy
    effective_senses: float  # exp of that
    count: int  # how often the word was seen; 0 where that is not known
    information: float | None = None  # how much of its meaning contexts tell; None where that is not known
    # the share, in percent, of words of like frequency that are less ambiguous; None where there are no others
    percentile: float | None = None

    def __repr__(self) -> str:
        known = "" if self.information is None else f", information={self.information:.3f}"
        return f"Ambiguity({self.word!r}, entropy={self.entropy:.3f}{known})"


MEASURES = ("information", "entropy", "percentile")
LIKE = 250  # how many words to each side, by frequency, a word is compared with


class Ranking:
    """How ambiguous the words of a lexicon are.

    Args:
        lexemes: a dictionary: entropies of the words that it has are those of their senses there (``entropies``,
            ``entropy``), and listings hold its lemmas alone, not their forms, without its ``hidden`` words.

    Attributes:
        information: (V,), how much of each word's meaning contexts tell; not a number where that is not known.
    """

    def __init__(self, model: Matrices, lexemes: Any = None) -> None:
        self.vocabulary, self._model, self._lexemes = model.vocabulary, model, lexemes
        known = model.parts.information
        self.information = None if known is None else np.asarray(known.values, np.float64)

    @cached_property
    def _of_lexemes(self) -> NDArray[np.float64]:
        """(V,), the entropies of lemmas of the dictionary; not a number for all else."""
        words = self.vocabulary.words
        return np.asarray(np.full(len(words), np.nan) if self._lexemes is None else self._lexemes.entropies(words))

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """(V,), von Neumann entropies."""
        words, values = self.vocabulary.words, self._of_lexemes.copy()
        rows = np.flatnonzero(np.isnan(values))
        for part in blocks(len(rows), 8192):
            values[rows[part]] = entropy(self._model.stack([words[row] for row in rows[part].tolist()]))
        return values

    @cached_property
    def content(self) -> NDArray[np.bool_]:
        """Which words are content words, (V,); with a dictionary, those that are lemmas and not hidden."""
        words = self.vocabulary.words
        found = np.array(is_content(words), bool)
        if self._lexemes is not None:
            hidden = self._lexemes.hidden
            found &= np.isfinite(self._of_lexemes) & [word.lower() not in hidden for word in words]
        return found

    @cached_property
    def percentiles(self) -> NDArray[np.float64]:
        """Of the content words of like frequency, how many are less ambiguous, (V,), by the best measure there is."""
        return percentiles(self._values(""), self.vocabulary.counts, self.content)

    def listed(
        self, by: str = "", top: int | None = None, min_count: int = 0, function_words: bool = False
    ) -> list[Ambiguity]:
        """Words from the most ambiguous to the least; words whose figure is not known are left out."""
        values = self._values(by)
        rows = np.flatnonzero((self.vocabulary.counts >= min_count) & np.isfinite(values))
        if not function_words:
            rows = rows[self.content[rows]]
        return [self._of(row) for row in rows[np.argsort(-values[rows], kind="stable")][:top]]

    def looked_up(self, words: Iterable[str], by: str = "") -> list[Ambiguity | Failed]:
        """Words in the order given; a string is one word."""
        self._values(by)
        results: list[Ambiguity | Failed] = []
        for word in [words] if isinstance(words, str) else words:
            try:
                results.append(self._of(self.vocabulary.index(word)))
            except UnknownWordError as error:
                known = None if self._lexemes is None else self._lexemes.entropy(word)
                found = None if known is None else Ambiguity(word, known, float(np.exp(known)), 0)
                results.append(found or Failed(word, error))
        return results

    def _values(self, by: str) -> NDArray[np.float64]:
        if by:
            check_choice("measure of ambiguity", by, MEASURES)
        if by == "percentile":
            return self.percentiles
        if by == "information" and self.information is None:
            raise InputError(
                "this lexicon does not know what contexts tell: run `polysema describe` on it with a corpus"
            )
        return self.entropies if by == "entropy" or self.information is None else self.information

    def _of(self, row: int) -> Ambiguity:
        word = self.vocabulary.words[row]
        known = None if self._lexemes is None else self._lexemes.entropy(word)  # of a form that of its lemma
        value = float(self.entropies[row]) if known is None else known
        rest = (np.nan if values is None else float(values[row]) for values in (self.information, self.percentiles))
        shown = (number if np.isfinite(number) else None for number in rest)
        return Ambiguity(word, value, float(np.exp(value)), int(self.vocabulary.counts[row]), *shown)


def percentiles(
    values: NDArray[np.float64], counts: NDArray[np.int64], compared: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The percentage of the words of like frequency whose value is smaller; equal ones count half.

    Args:
        values: (V,); not a number where it is not known.
        compared: (V,), which words are compared with; the others stand among these, too.
    """
    known = np.isfinite(values)
    pool = np.flatnonzero(known & compared)
    found = np.full(len(values), np.nan)
    if len(pool) < 2:
        return found
    pool = pool[np.argsort(counts[pool], kind="stable")]
    sorted_counts, pooled = counts[pool], values[pool]
    size = min(2 * LIKE + 1, len(pool))
    rows = np.flatnonzero(known)
    place = np.searchsorted(sorted_counts, counts[rows], side="left")
    own = np.empty(len(values), np.int64)
    own[pool] = np.arange(len(pool))
    place = np.where(compared[rows], own[rows], place)
    first = np.clip(place - LIKE, 0, len(pool) - size)
    for part in blocks(len(rows)):
        like = pooled[first[part, None] + np.arange(size)]
        mine = values[rows[part], None]
        less, same = (like < mine).sum(axis=1), (like == mine).sum(axis=1) - compared[rows[part]]
        others = size - compared[rows[part]]
        found[rows[part]] = 100 * (less + same / 2) / others
    return found
