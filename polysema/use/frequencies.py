"""How often each sense of a word is used, by group of documents, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysema.errors import InputError
from polysema.meanings.results import Record, Results
from polysema.progress import Progress, Report, silent
from polysema.use.shares import with_interval
from polysema.use.tagged import Corpus, opened
from polysema.use.text import grouped

LEAST = 10
"""Uses of a word that is listed when no words are asked for."""


@dataclass(frozen=True, slots=True)
class SenseFrequency(Record):
    """How often a sense is used.

    Attributes:
        word: as asked.
        group: the documents it is counted in, such as a year; "" for all.
        key, gloss: of the dictionary.
        share: of the word's uses; ``low`` and ``high`` its interval (95 %), by documents and by the tagger's errors.
        uses, documents: of the word in the group.
    """

    word: str
    group: str
    key: str
    gloss: str
    share: float
    low: float
    high: float
    uses: int
    documents: int


class Frequencies(Results[SenseFrequency]):
    """Word by word, group by group, the most frequent sense first."""

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [item.to_dict() for item in self]

    def plot(self) -> Any:
        """The shares of the first word's senses, as a figure of matplotlib (extra ``plots``)."""
        from polysema.drawing import shares_of_senses

        own = [item for item in self if item.word == self[0].word]
        names = list(dict.fromkeys(item.group for item in own))
        series: dict[str, list[tuple[float, float, float]]] = {}
        for item in sorted(own, key=lambda item: names.index(item.group)):
            series.setdefault(f"{item.key} {item.gloss}", []).append((item.share, item.low, item.high))
        return shares_of_senses(series, names, self[0].word)


def frequencies(
    corpus: Corpus, words: str | Iterable[str] = (), *, by: str | None = None, pos: str | None = None,
    dictionary: Any = None, least: int = LEAST, seed: int = 0, progress: Report = silent,
) -> Frequencies:  # fmt: skip
    """How often each sense of words is used.

    Args:
        corpus: a tagged folder, or text.
        words: by default all that a tagged corpus uses at least ``least`` times.
        by: group documents by ``year``, ``decade``, ``century`` or another of their facts.
        pos: ``noun``, ``verb``, ``adj`` or ``adv``.
    """
    asked = [words] if isinstance(words, str) else list(words)
    tagged = opened(corpus, asked, dictionary, pos)
    groups = None if by is None else np.array([group or "" for group in grouped(tagged.documents, by)])
    if not asked:
        tagged.index()
        asked = sorted(word for word, count in tagged.counts.items() if count >= least)
        if not asked:
            raise InputError(f"no word is used {least} times in {corpus}: ask for fewer (--least)")
    file, found = tagged.dictionary.file, Frequencies()
    for number, word in enumerate(asked):
        uses = tagged.uses(word, pos)
        own = np.zeros(len(uses), str) if groups is None else groups[uses.document]
        for group in sorted(set(own.tolist()) - ({""} if groups is not None else set())):
            chosen = uses[own == group]
            rows = zip(uses.rows.tolist(), *(part.tolist() for part in with_interval(chosen, seed=seed)), strict=True)
            for row, share, low, high in sorted(rows, key=lambda row: -row[1]):
                gloss = file.text(int(file.synset_of[row])).gloss
                counts = len(chosen), len(np.unique(chosen.document))
                found.append(SenseFrequency(word, group, file.key(row), gloss, share, low, high, *counts))
        progress(Progress("counting", number + 1, len(asked), "words"))
    return found
