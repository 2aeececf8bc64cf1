"""The vocabulary, sorted and filtered. Each order is computed once; a page is a look-up."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import is_content
from polysema.errors import InputError, check_choice
from polysema.evaluation.ambiguity import table
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, ranking
from polysema.meanings.descriptions import PARTS_OF_SPEECH as UNIVERSAL
from polysema.meanings.descriptions import SenseDescription

Facts = dict[str, Any]

PAGE = 50
LARGEST_PAGE = 200
SORTS = ("ambiguity", "information", "entropy", "percentile", "count", "word")
PARTS_OF_SPEECH = {"noun": ("NOUN", "PROPN"), "verb": ("VERB", "AUX"), "adjective": ("ADJ",), "adverb": ("ADV",)}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which words to list, and in which order."""

    sort: str = ""  # one of ``SORTS``; by default the first that the lexicon has
    reversed: bool = False  # smallest first, or names from Z to A
    prefix: str = ""  # first letters of the words
    part_of_speech: str = ""  # one of ``PARTS_OF_SPEECH``; empty for all
    min_count: int = 0  # bounds on a word's count
    max_count: int | None = None
    min_entropy: float = 0.0  # bounds on a word's entropy
    max_entropy: float | None = None
    function_words: bool = False  # whether to list function words
    page: int = 1  # page number, from 1
    size: int = PAGE  # words on a page


class Listing:
    """The words of a lexicon, ready to be listed.

    Attributes:
        values: the numbers that words can be sorted by, (V,) each; a lexicon of vectors has counts only.
    """

    def __init__(self, lexicon: AnyLexicon) -> None:
        self.vocabulary = lexicon.vocabulary
        self.descriptions: Mapping[str, Mapping[int, SenseDescription]] = lexicon.parts.descriptions or {}
        self.speech = lexicon.parts.speech
        self.ranking = ranking(lexicon) if isinstance(lexicon, Lexicon) else None
        self.values: dict[str, NDArray[Any]] = {"count": self.vocabulary.counts}
        if self.ranking is not None:
            self.values |= {"entropy": self.ranking.entropies, "percentile": self.ranking.percentiles}
            if self.ranking.information is not None:
                self.values["information"] = self.ranking.information
        self._orders: dict[str, NDArray[np.int64]] = {}

    @property
    def sorts(self) -> list[str]:
        """The orders that this lexicon has."""
        known = {*self.values, "word"} | ({"ambiguity"} if self.ranking is not None else set())
        return [name for name in SORTS if name in known]

    def order(self, sort: str) -> NDArray[np.int64]:
        """Rows of the vocabulary by falling value, or by name."""
        if sort == "ambiguity":
            sort = "information" if "information" in self.values else "entropy"
        if sort not in self._orders:
            names = (
                sorted(range(len(self.vocabulary)), key=self.vocabulary.words.__getitem__) if sort == "word" else None
            )
            self._orders[sort] = np.argsort(-self.values[sort], kind="stable") if names is None else np.array(names)
        return self._orders[sort]

    @cached_property
    def content(self) -> NDArray[np.bool_]:
        """Which words are content words, (V,)."""
        return self.ranking.content if self.ranking is not None else np.array(is_content(self.vocabulary.words), bool)

    @cached_property
    def parts_of_speech(self) -> dict[str, NDArray[np.bool_]]:
        """Which words can be each part of speech, (V,): by the lexicon's senses, otherwise by WordNet 3.0."""
        found = np.zeros((len(self.vocabulary), len(PARTS_OF_SPEECH)), bool)
        known = table()
        for row, word in enumerate(self.vocabulary.words):
            own = {sense.part for sense in self.descriptions.get(word, {}).values() if sense.part}
            if self.speech is not None:
                own |= {UNIVERSAL[tag - 1] for tag in self.speech.tags[row].tolist() if tag}
            if own:
                found[row] = [not own.isdisjoint(parts) for parts in PARTS_OF_SPEECH.values()]
            elif (counts := known.get(word) or known.get(word.lower())) is not None:
                found[row] = np.array(counts) > 0
        return dict(zip(PARTS_OF_SPEECH, found.T.copy(), strict=True))

    @cached_property
    def _by_count(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Content words by falling count, and their counts with a minus sign."""
        rows = self.order("count")
        rows = rows[self.content[rows]]
        return rows, -self.vocabulary.counts[rows]

    def like(self, word: str, to_each_side: int = 4) -> list[Facts]:
        """Content words of similar frequency."""
        own = self.vocabulary.index(word)
        order, counts = self._by_count
        place = int(np.searchsorted(counts, -self.vocabulary.counts[own]))
        near = order[max(place - to_each_side, 0) : place + to_each_side + 1].tolist()
        return self.rows([self.vocabulary.words[row] for row in near if row != own])

    def rows(self, words: Sequence[str]) -> list[Facts]:
        """The measures of some words; a lexicon of vectors has counts only."""
        if self.ranking is not None:
            return [item.to_dict() for item in self.ranking.looked_up(words)]
        none = dict.fromkeys(("entropy", "effective_senses", "information", "percentile"))
        return [{"word": w, **none, "count": int(self.vocabulary.counts[self.vocabulary.index(w)])} for w in words]

    def page(self, asked: Filter) -> Facts:
        """A page of the vocabulary."""
        sort = asked.sort or self.sorts[0]
        check_choice("order", sort, SORTS)
        if sort not in self.sorts:
            raise InputError(f"this lexicon does not know {sort}; it can be sorted by {', '.join(self.sorts)}")
        order = self.order(sort)[:: -1 if asked.reversed else 1]
        rows = order[self._kept(asked)[order]]
        size = min(max(asked.size, 1), LARGEST_PAGE)
        pages = max(math.ceil(len(rows) / size), 1)
        page = min(max(asked.page, 1), pages)
        shown = [self.vocabulary.words[row] for row in rows[(page - 1) * size : page * size].tolist()]
        facts = {"total": len(rows), "page": page, "pages": pages, "size": size, "sort": sort, "sorts": self.sorts}
        return {**facts, "parts_of_speech": list(PARTS_OF_SPEECH), "words": self.rows(shown)}

    def _kept(self, asked: Filter) -> NDArray[np.bool_]:
        """Which words pass the filter, (V,)."""
        kept = self.vocabulary.counts >= asked.min_count
        if asked.max_count is not None:
            kept &= self.vocabulary.counts <= asked.max_count
        if self.ranking is not None:
            kept &= self.ranking.entropies >= asked.min_entropy
            if asked.max_entropy is not None:
                kept &= self.ranking.entropies <= asked.max_entropy
        if not asked.function_words:
            kept &= self.content
        if asked.part_of_speech:
            check_choice("part of speech", asked.part_of_speech, PARTS_OF_SPEECH)
            kept &= self.parts_of_speech[asked.part_of_speech]
        if asked.prefix:
            words, order = self.vocabulary.words, self.order("word")
            first = bisect_left(order, asked.prefix, key=lambda row: words[row])
            last = bisect_left(order, True, lo=first, key=lambda row: not words[row].startswith(asked.prefix))
            begins = np.zeros(len(words), bool)
            begins[order[first:last]] = True
            kept &= begins
        return kept

    def examples(self, top: int = 16, common: int = 2000) -> list[str]:
        """The most ambiguous of the frequent words; of vectors, the most frequent."""
        frequent = self.order("count")[:common]
        least = int(self.vocabulary.counts[frequent[-1]]) if len(frequent) else 0
        return [item["word"] for item in self.page(Filter(min_count=least, size=top))["words"]]


_listings: WeakKeyDictionary[AnyLexicon, Listing] = WeakKeyDictionary()


def listing(lexicon: AnyLexicon) -> Listing:
    """The listing of a lexicon, made once."""
    if (found := _listings.get(lexicon)) is None:
        found = _listings[lexicon] = Listing(lexicon)
    return found
