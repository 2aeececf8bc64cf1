"""The vocabulary in every order and by every filter: each order is found once, a page of it is a look-up."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import is_content
from polysema.errors import InputError, check_choice
from polysema.evaluation import wordnet
from polysema.lexicon.faces import Face
from polysema.lexicon.lexicon import Lexicon, VectorLexicon

Model = Lexicon | VectorLexicon
Facts = dict[str, Any]

PAGE = 50
LARGEST_PAGE = 200
SORTS = ("ambiguity", "information", "entropy", "percentile", "count", "word")
PARTS_OF_SPEECH = {"noun": ("NOUN", "PROPN"), "verb": ("VERB", "AUX"), "adjective": ("ADJ",), "adverb": ("ADV",)}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which words are listed, and in which order.

    Attributes:
        sort: one of ``SORTS``; by default the first that the lexicon knows.
        reversed: the smallest first, or by name from the last.
        prefix: how words begin.
        part_of_speech: one of ``PARTS_OF_SPEECH`` that words can be; empty for all.
        min_count, max_count: how often they were seen.
        min_entropy, max_entropy: how mixed they are.
        function_words: whether function words are listed.
        page: from 1.
        size: how many words a page has.
    """

    sort: str = ""
    reversed: bool = False
    prefix: str = ""
    part_of_speech: str = ""
    min_count: int = 0
    max_count: int | None = None
    min_entropy: float = 0.0
    max_entropy: float | None = None
    function_words: bool = False
    page: int = 1
    size: int = field(default=PAGE)


class Listing:
    """The words of a lexicon, ready to be listed.

    Attributes:
        values: what words can be sorted by, (V,) each: of vectors, the count alone.
    """

    def __init__(self, model: Model) -> None:
        self.vocabulary = model.vocabulary
        self.faces = model.faces if isinstance(model, Lexicon) else None
        self.ranking = None if isinstance(model, VectorLexicon) else model.ranking
        self.values: dict[str, NDArray[Any]] = {"count": self.vocabulary.counts}
        if self.ranking is not None:
            self.values |= {"entropy": self.ranking.entropies, "percentile": self.ranking.percentiles}
            if self.ranking.information is not None:
                self.values["information"] = self.ranking.information
        self._orders: dict[str, NDArray[np.int64]] = {}

    @property
    def sorts(self) -> list[str]:
        """What this lexicon can be sorted by."""
        known = {*self.values, "word", *(["ambiguity"] if self.ranking is not None else [])}
        return [name for name in SORTS if name in known]

    def order(self, sort: str) -> NDArray[np.int64]:
        """The rows of the vocabulary, the largest value first, or by name."""
        if sort == "ambiguity":
            sort = "information" if "information" in self.values else "entropy"
        if sort not in self._orders:
            words = self.vocabulary.words
            self._orders[sort] = (
                np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
                if sort == "word"
                else np.argsort(-self.values[sort], kind="stable")
            )
        return self._orders[sort]

    @cached_property
    def content(self) -> NDArray[np.bool_]:
        """Which words are content words, (V,)."""
        return self.ranking.content if self.ranking is not None else np.array(is_content(self.vocabulary.words), bool)

    @cached_property
    def parts_of_speech(self) -> dict[str, NDArray[np.bool_]]:
        """Which words can be each part of speech, (V,): by the faces of their senses, else by WordNet 3.0."""
        found = np.zeros((len(self.vocabulary), len(PARTS_OF_SPEECH)), bool)
        known = wordnet.table()
        faces: Mapping[str, Mapping[int, Face]] = self.faces or {}
        for row, word in enumerate(self.vocabulary.words):
            own = {face.part for face in faces[word].values() if face.part} if word in faces else ()
            if own:
                found[row] = [not own.isdisjoint(parts) for parts in PARTS_OF_SPEECH.values()]
            elif (counts := known.get(word) or known.get(word.lower())) is not None:
                found[row] = np.array(counts) > 0
        return dict(zip(PARTS_OF_SPEECH, found.T.copy(), strict=True))

    @cached_property
    def _by_count(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Content words from the most frequent on, and their counts, negative: rising."""
        rows = self.order("count")
        rows = rows[self.content[rows]]
        return rows, -self.vocabulary.counts[rows]

    def like(self, word: str, to_each_side: int = 4) -> list[Facts]:
        """Content words of like frequency."""
        own = self.vocabulary.index(word)
        order, counts = self._by_count
        place = int(np.searchsorted(counts, -self.vocabulary.counts[own]))
        near = order[max(place - to_each_side, 0) : place + to_each_side + 1].tolist()
        return self.rows([self.vocabulary.words[row] for row in near if row != own])

    def rows(self, words: Sequence[str]) -> list[Facts]:
        """What is known of words: of vectors, how often they were seen."""
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
        """Which words pass, (V,)."""
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
        """Ambiguous words among the most frequent; of vectors, the most frequent."""
        frequent = self.order("count")[:common]
        least = int(self.vocabulary.counts[frequent[-1]]) if len(frequent) else 0
        return [item["word"] for item in self.page(Filter(min_count=least, size=top))["words"]]


_kept: WeakKeyDictionary[Model, Listing] = WeakKeyDictionary()


def listing(model: Model) -> Listing:
    """The listing of a model, made once."""
    if (found := _kept.get(model)) is None:
        found = _kept[model] = Listing(model)
    return found
