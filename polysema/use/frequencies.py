"""How often each sense of a word is used, by group of documents, with intervals.

The share of sense s is the mean of p(s | c_u) over uses u. On held-out documents of SemCor it is nearer to the right
share than the share of uses whose best sense is s, and than shares fitted to the likelihoods of the contexts.

Its error has two parts: documents differ, which resampling them shows; and the tagger errs in the same way on every use
of a word, which more text does not mend. The second is a part of √(q(1 − q)), estimated on SemCor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.meanings.results import Record, Results
from polysema.progress import Progress, Report, silent
from polysema.use.tagged import Corpus, Floats, Uses, opened
from polysema.use.text import grouped

_LOG = logging.getLogger("polysema.corpus")

LEAST = 10
"""Uses of a word that is listed when no words are asked for."""

ERROR = 0.4
"""The tagger's standard error of a share q, as a part of √(q(1 − q)), where the dictionary does not say."""

PASSAGE = 5000
"""Characters of a passage."""

FEW = 8
"""With fewer documents than this passages are resampled instead."""

MISSED = 0.15
"""The share that a sense may have whatever the tagger says: it does not see some senses at all.

With it and :data:`ERROR`, intervals hold .94 of the shares of .05 and more on SemCor's documents to choose on.
"""


@dataclass(frozen=True, slots=True)
class SenseFrequency(Record):
    """How often a sense is used."""

    word: str  # as asked
    group: str  # the documents it is counted in, such as a year; "" for all
    key: str
    gloss: str
    share: float  # of the word's uses
    low: float  # its interval (95 %), by documents and by the tagger's errors
    high: float
    uses: int  # of the word in the group
    documents: int


class Frequencies(Results[SenseFrequency]):
    """Word by word, as asked or the most used first; group by group, the most frequent sense first."""

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
        words: by default all that a tagged corpus uses at least ``least`` times, numbers left out.
        by: group documents by ``year``, ``decade``, ``century`` or another of their facts.
        pos: ``noun``, ``verb``, ``adj`` or ``adv``.
    """
    asked = [words] if isinstance(words, str) else list(words)
    tagged = opened(corpus, asked, dictionary, pos)
    groups = None if by is None else np.array([group or "" for group in grouped(tagged.documents, by)])
    if not asked:
        tagged.index()
        used = sorted(tagged.word_counts.items(), key=lambda item: (-item[1], item[0]))
        asked = [word for word, count in used if count >= least]
        if not asked:
            raise InputError(f"no word is used {least} times in {corpus}: ask for fewer (--least)")
    file, found = tagged.dictionary.file, Frequencies()
    for number, word in enumerate(asked):
        uses = tagged.found(word, pos) if len(asked) > 1 else tagged.uses(word, pos)
        if uses is None:
            _LOG.info(f"{word!r} is not used: left out")
            continue
        own = np.zeros(len(uses), str) if groups is None else groups[uses.document]
        for group in sorted(set(own.tolist()) - ({""} if groups is not None else set())):
            chosen = uses[own == group]
            rows = zip(uses.rows.tolist(), *(part.tolist() for part in with_interval(chosen, seed=seed)), strict=True)
            for row, share, low, high in sorted(rows, key=lambda row: -row[1]):
                gloss = file.text(int(file.synset_of[row])).gloss
                counts = len(chosen), len(np.unique(chosen.document))
                found.append(SenseFrequency(word, group, file.key(row), gloss, share, low, high, *counts))
        progress(Progress("counting", number + 1, len(asked), "words"))
    if not found:
        raise InputError(f"none of {', '.join(asked)} is used in {tagged.path or 'the text'}")
    return found


def shares(uses: Uses, weights: NDArray[Any] | None = None) -> Floats:
    """q, the share of each sense: (B, s) for B weightings of the uses (B, N); (s,) without weights."""
    if weights is None:
        return np.asarray(uses.p.mean(axis=0))
    return np.asarray(weights @ uses.p / weights.sum(axis=1, keepdims=True), np.float64)


def units(uses: Uses) -> NDArray[np.int64]:
    """What is resampled: the document of each use (N,), or its passage where documents are few."""
    if len(np.unique(uses.document)) >= FEW:
        return np.unique(uses.document, return_inverse=True)[1]
    corpus = uses.corpus
    passage = corpus.columns["offset"][corpus.sentence_of(uses.place)] // PASSAGE
    return np.unique(np.stack([uses.document, passage]), axis=1, return_inverse=True)[1].ravel()


def resampled(unit: NDArray[np.int64], times: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """How often each use is drawn when its units are drawn with replacement: (times, N)."""
    count = int(unit.max()) + 1
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=times)
    return drawn[:, unit].astype(np.float32)


def around(share: Floats, error: Floats, z: float = 1.96) -> tuple[Floats, Floats]:
    """An interval of shares: z standard errors to both sides; its upper end is :data:`MISSED` at least."""
    return np.clip(share - z * error, 0, 1), np.clip(np.maximum(share + z * error, MISSED), 0, 1)


def with_interval(uses: Uses, resamples: int = 200, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Share, lower and upper bound (95 %) of each sense, by resampling documents and by the tagger's error."""
    q, unit = shares(uses), units(uses)
    spread = shares(uses, resampled(unit, resamples, np.random.default_rng(seed))).var(axis=0)
    error = float(uses.corpus.dictionary.file.options.get("use", {}).get("error", ERROR))
    return q, *around(q, np.sqrt(spread + error**2 * q * (1 - q)))
