"""How context vectors choose among the senses of a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.normalisation import STOP_WORDS
from polysema.errors import InputError
from polysema.vectors import units
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContextModel:
    """How the context vectors of a lexicon tell the senses of its words apart.

    With v_k the unit vector of sense k, p_k its weight and x_j the context vector of the word at distance j,

        p(k | c) ∝ p_k exp(β s cos(u_k, c)) ,      c = Σ_j g_j a_j x_j ,      s = K / (K + κ)
    """

    sharpness: float  # β
    little: float = 0.0  # κ, with how much evidence K it counts half; 0 counts all evidence in full
    centred: bool = False  # whether u_k is v_k less the weighted mean of the word's senses; otherwise it is v_k
    # whether a_j is the chance that the word survives subsampling, and K the sum of these. Otherwise a_j = 1, context
    # vectors say by their length how much they count, and K = |c|.
    subsampled: bool = False
    # (2W,), g at the distances −W … −1, 1 … W; None takes the whole sentence, g = 1
    distance_weights: NDArray[Any] | None = None
    # f; in the word's matrix in context, senses weigh p_k (p(k | c) / p_k)^(1/f), scaled to sum to one
    flatness: float = 1.0
    # b; in the word's matrix in context, sense k has the direction v_k + b μ̂, with μ̂ the unit mean of the directions
    # of the content words around, rare ones counting more
    pull: float = 0.0

    def __post_init__(self) -> None:
        weights = self.distance_weights
        if weights is not None and (weights.ndim != 1 or len(weights) % 2 or not np.isfinite(weights).all()):
            raise InputError(f"distance weights of shape {weights.shape}: give (2W,) numbers, for −W … −1, 1 … W")
        if not (self.sharpness >= 0 and self.little >= 0 and self.flatness > 0 and self.pull >= 0):
            raise InputError(f"sharpness, little, flatness and pull must not be negative: {self!r}")

    @property
    def settings(self) -> dict[str, Any]:
        """All but the array, for JSON."""
        names = ("sharpness", "little", "centred", "subsampled", "flatness", "pull")
        return {name: getattr(self, name) for name in names}


USUAL = ContextModel(sharpness=7.0, little=0.25, subsampled=True)
"""For lexicons that do not say: chosen on planted senses, pairs of words made one and told apart again."""

RARE = 1e-4  # words that make up this share of a text count half where rare ones count more
RARELY_KEPT = 0.02  # words whose chance to survive subsampling is lower give no evidence


def evidence_weights(vocabulary: Vocabulary, formula: ContextModel, metadata: Mapping[str, Any]) -> Array:
    """How much each word says about the words around it, (V,).

    The chance that it survives subsampling; nothing for function words and for words that nearly never survive. Where
    the lengths of context vectors say it, 1.

    Args:
        metadata: of the lexicon; its training's ``subsample`` is the threshold, 1e-5 where that is not known.
    """
    if not formula.subsampled:
        return np.ones(len(vocabulary))
    made = metadata.get("options", {})
    subsample = float((made.get("subsample") if isinstance(made, dict) else None) or 1e-5)
    keep = vocabulary.keep_probabilities(subsample if vocabulary.counts.any() else 0.0)
    keep[keep < RARELY_KEPT] = 0.0
    keep[[vocabulary.indices[word] for word in STOP_WORDS if word in vocabulary]] = 0.0
    return keep


def context_vectors(
    around: Sequence[Sequence[int | None]],
    befores: Sequence[int],
    formula: ContextModel,
    weights: Array,
    contexts: NDArray[np.floating],
) -> tuple[Array, Array]:
    """The context vectors c (B, n) of some occurrences, and how much evidence K (B,) each is.

    Args:
        around: the rows of the words around each, in order; None for words that are not known.
        befores: how many of them stand before the word.
        weights: of :func:`evidence_weights`.
    """
    g = formula.distance_weights
    reach = 0 if g is None else len(g) // 2
    owner, rows, distances = [], [], []
    for i, (words, before) in enumerate(zip(around, befores, strict=True)):
        first = 0 if g is None else max(0, before - reach)
        for at, row in enumerate(words[first : None if g is None else before + reach], first):
            if row is not None:
                owner.append(i)
                rows.append(row)
                distances.append(at - before + reach)
    c, amounts = np.zeros((len(around), contexts.shape[1])), np.zeros(len(around))
    if rows:
        scale = weights[rows] if g is None else weights[rows] * g[distances]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        held = np.asarray(owner)[starts]
        c[held] = np.add.reduceat(scale[:, None] * contexts[rows].astype(np.float64), starts, axis=0)
        amounts[held] = np.add.reduceat(scale, starts)
    return c, amounts if formula.subsampled else np.linalg.norm(c, axis=1)


def mean_direction(factors: NDArray[np.floating], frequencies: Array) -> Array:
    """The unit mean (n,) of the directions of some words by their factors (k, n, m), the rare ones counting more.

    Zero where there are none.

    Args:
        frequencies: (k,), the share of the text that each word makes up.
    """
    return units((RARE / (RARE + frequencies)) @ directions_of_words(factors))


def directions_of_words(factors: NDArray[np.floating]) -> Array:
    """Σ_k p_k v_k of words by their factors (k, n, m), as unit vectors (k, n)."""
    b = factors.astype(np.float64)
    mean = (b * np.sqrt((b * b).sum(axis=1, keepdims=True))).sum(axis=2)
    return np.asarray(mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12))


def directions(weights: Array, vectors: Array, formula: ContextModel) -> Array:
    """What a context is held against: u_k of each sense, unit vectors (k, n); zero where centring leaves nothing."""
    if not formula.centred:
        return vectors
    left = vectors - (weights / max(weights.sum(), 1e-300)) @ vectors
    return units(np.where(np.linalg.norm(left, axis=1, keepdims=True) > 1e-9, left, 0.0))


def cosines(u: Array, c: Array) -> Array:
    """cos(u_k, c) for contexts c (…, n): (…, k); 0 where c is zero."""
    return np.asarray(units(c) @ u.T)


def log_evidence(cosine: Array, amount: Array | float, formula: ContextModel) -> Array:
    """β s cos(u_k, c), (…, k), for the amounts K of evidence (…)."""
    amount = np.asarray(amount, np.float64)
    strength = amount / np.where(amount > 0, amount + formula.little, 1.0)
    return np.asarray(formula.sharpness * strength[..., None] * cosine)


def softmax(logits: Array) -> Array:
    """exp over its sum, along the last axis."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))
