"""Tells the senses of words apart by the words around, as :class:`~polysema.lexicon.parts.Telling` says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.stop_words import STOP_WORDS
from polysema.lexicon.parts import Telling
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float64]

USUAL = Telling(sharpness=7.0, little=0.25, subsampled=True)
"""For lexicons that do not say: chosen on planted senses, pairs of words made one and told apart again."""

RARELY_KEPT = 0.02
"""Words whose chance to survive subsampling is lower give no evidence."""


def evidence_weights(vocabulary: Vocabulary, formula: Telling, subsample: float = 1e-5) -> Array:
    """How much each word says about the words around it, (V,).

    The chance that it survives subsampling; nothing for function words and for words that nearly never survive. Where
    the lengths of context vectors say it, 1.
    """
    if not formula.subsampled:
        return np.ones(len(vocabulary))
    keep = vocabulary.keep_probabilities(subsample if vocabulary.counts.any() else 0.0)
    keep[keep < RARELY_KEPT] = 0.0
    keep[[vocabulary.indices[word] for word in STOP_WORDS if word in vocabulary]] = 0.0
    return keep


def context_vector(
    rows: Sequence[int | None], before: int, formula: Telling, weights: Array, contexts: NDArray[np.floating]
) -> tuple[Array, float]:
    """The context vector c (n,) of one occurrence, and how much evidence K it is.

    Args:
        rows: the rows of the words around, in order; None for words that are not known.
        before: how many of them stand before the word.
        weights: of :func:`evidence_weights`.
    """
    g = formula.distance_weights
    reach = len(rows) if g is None else len(g) // 2
    near = [(at, row) for at, row in enumerate(rows) if row is not None and before - reach <= at < before + reach]
    near = [(at, row) for at, row in near if weights[row] > 0]
    if not near:
        return np.zeros(contexts.shape[1]), 0.0
    own = [row for _, row in near]
    scale = weights[own] if g is None else weights[own] * g[[at - before + reach for at, _ in near]]
    c = scale @ contexts[own].astype(np.float64)
    return c, float(scale.sum() if formula.subsampled else np.linalg.norm(c))


def directions(weights: Array, vectors: Array, formula: Telling) -> Array:
    """What a context is held against: u_k of each sense, unit vectors (k, n); zero where centring leaves nothing."""
    if not formula.centred:
        return vectors
    left = vectors - (weights / max(weights.sum(), 1e-300)) @ vectors
    length = np.linalg.norm(left, axis=1, keepdims=True)
    return np.asarray(np.where(length > 1e-9, left / np.where(length > 0, length, 1.0), 0.0))


def cosines(u: Array, c: Array) -> Array:
    """cos(u_k, c) for contexts c (…, n): (…, k); 0 where c is zero."""
    length = np.linalg.norm(c, axis=-1, keepdims=True)
    return np.asarray(c @ u.T / np.where(length > 0, length, 1.0))


def log_evidence(cosine: Array, amount: Array | float, formula: Telling) -> Array:
    """β s cos(u_k, c), (…, k), for the amounts K of evidence (…)."""
    amount = np.asarray(amount, np.float64)
    strength = amount / np.where(amount > 0, amount + formula.little, 1.0)
    return np.asarray(formula.sharpness * strength[..., None] * cosine)


def softmax(logits: Array) -> Array:
    """exp over its sum, along the last axis."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))
