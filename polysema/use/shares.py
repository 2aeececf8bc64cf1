"""Shares of senses, estimated from uses that a tagger read, with intervals.

The tagger gives use u the posteriors p(s | c_u), made with the dictionary's frequencies p_s as a prior. In another text
the senses have other shares q, which maximise Σ_u ln Σ_s q_s L_us with L_us = p(s | c_u) / p_s^a, the likelihood of the
context. Expectation maximisation finds them (Saerens, Latinne and Decaestecker, 2002), with :data:`STRENGTH` uses of p_s
added so that few uses stay near to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.use.columns import Floats
from polysema.use.tagged import Uses

STRENGTH = 1.0
STEPS = 30
ERROR = 0.12
"""Standard error of a share from what the tagger mistakes, as a part of √(q(1 − q)); estimated on SemCor."""

PASSAGE = 5000
"""Characters of a passage."""

FEW = 8
"""With fewer documents than this passages are resampled instead."""


def shares(uses: Uses, weights: NDArray[Any] | None = None) -> Floats:
    """q, the share of each sense: (B, s) for B weightings of the uses (B, N); (s,) without weights."""
    c = uses.corpus.dictionary.calibration
    prior = uses.corpus.dictionary.file.frequencies(uses.rows, c.source)
    likelihood = uses.p / prior**c.prior
    likelihood /= likelihood.max(axis=1, keepdims=True)
    w = np.ones((1, len(uses))) if weights is None else np.asarray(weights, float)
    q = np.repeat(prior[None], len(w), axis=0)
    for _ in range(STEPS):
        q = q * ((w / (q @ likelihood.T)) @ likelihood) + STRENGTH * prior
        q /= q.sum(axis=1, keepdims=True)
    return q[0] if weights is None else q


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


def wilson(share: Floats, size: Floats, z: float = 1.96) -> tuple[Floats, Floats]:
    """Wilson's interval of a share that was seen in so many independent uses."""
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def with_interval(uses: Uses, resamples: int = 200, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Share, lower and upper bound (95 %) of each sense, by resampling documents and by the tagger's error."""
    q, unit = shares(uses), units(uses)
    drawn = resampled(unit, resamples, np.random.default_rng(seed))
    kept = drawn.sum(axis=1) > 0
    spread = shares(uses, drawn[kept]).var(axis=0)
    independent = np.minimum(q * (1 - q) / np.maximum(spread, 1e-12), len(uses))
    error = float(uses.corpus.dictionary.file.options.get("use", {}).get("error", ERROR))
    return q, *wilson(q, 1 / (1 / np.maximum(independent, 1.0) + error**2))


