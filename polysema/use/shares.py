"""Shares of senses in the uses that a tagger read, with intervals.

The share of sense s is the mean of p(s | c_u) over uses u. On held-out documents of SemCor it is nearer to the right
share than the share of uses whose best sense is s, and than shares fitted to the likelihoods of the contexts.

Its error has two parts: documents differ, which resampling them shows; and the tagger errs in the same way on every use
of a word, which more text does not mend. The second is a part of √(q(1 − q)), estimated on SemCor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.use.columns import Floats
from polysema.use.tagged import Uses

ERROR = 0.4
"""The tagger's standard error of a share q, as a part of √(q(1 − q)), where the dictionary does not say."""

PASSAGE = 5000
"""Characters of a passage."""

FEW = 8
"""With fewer documents than this passages are resampled instead."""


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
    """An interval of shares by their standard errors: z errors to both sides, or Wilson's where that is wider.

    Near 0 and 1 the first holds the end itself, the second what a small sample may have missed.
    """
    size = np.maximum(share * (1 - share) / np.maximum(error**2, 1e-12), 1.0)
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    low, high = np.minimum(middle - half, share - z * error), np.maximum(middle + half, share + z * error)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def with_interval(uses: Uses, resamples: int = 200, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Share, lower and upper bound (95 %) of each sense, by resampling documents and by the tagger's error."""
    q, unit = shares(uses), units(uses)
    spread = shares(uses, resampled(unit, resamples, np.random.default_rng(seed))).var(axis=0)
    error = float(uses.corpus.dictionary.file.options.get("use", {}).get("error", ERROR))
    return q, *around(q, np.sqrt(spread + error**2 * q * (1 - q)))
