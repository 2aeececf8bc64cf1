"""How many senses a word has: those that its occurrences choose and that contexts can tell apart.

The weights p_k of a word's columns are their shares of its occurrences, the fixed point of

    p_k = E_c p(k|c) ,      p(k|c) ∝ p_k exp(β s cos(u_k, c)) .

A column that weighs too little is dead. Two columns are one sense where the contexts that choose them do not fall into
two heaps: with t = ⟨c, v_j − v_k⟩ along the line between them, where

    D = (mean_j t − mean_k t) / spread of t within the two

is small. One normal heap cut in the middle has D = 2.65.

The ambiguity of a word w is the part of its entropy that its contexts c resolve, the Holevo quantity

    χ(w) = S(ρ̄) − E_c S(ρ_c) ,      ρ_c = Σ_k p(k|c) v_k v_kᵀ ,      ρ̄ = E_c ρ_c .

It is the most that contexts can tell about which of its meanings a word has (Holevo, 1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polysema.meanings.context_model import ContextModel, cosines, directions, log_evidence, softmax
from polysema.measures import mixture_entropies
from polysema.senses.occurrences import least_cosine

Array = NDArray[np.float64]

LEAST_SHARE = 0.05
"""A column that fewer of a word's occurrences choose is dead."""

SEPARATION = 3.0
"""D of two columns below which they are one sense. Both were chosen on planted words."""

_STEPS = 12  # of the weights; they hardly move after that


@dataclass(frozen=True, slots=True)
class FoundSenses:
    """The senses of one word.

    Attributes:
        senses: (m,), the id of the sense that each column belongs to; −1 for dead ones.
        shares: (m,), the share of the occurrences that each column has.
        ids: (k,), the ids of the senses.
        vectors: (k, n), their unit vectors.
        posteriors: (occurrences, k), p(k|c).
        least: the cosine below which no sense fits.
    """

    senses: NDArray[np.int64]
    shares: Array
    ids: NDArray[np.int64]
    vectors: Array
    posteriors: Array
    least: float


def count_senses(
    weights: Array,
    vectors: Array,
    contexts: Array,
    amounts: Array,
    formula: ContextModel,
    *,
    least_share: float = LEAST_SHARE,
    separation: float = SEPARATION,
) -> FoundSenses:
    """The senses of a word by its occurrences.

    Args:
        weights: (m,), the trace of each column.
        vectors: (m, n), their unit vectors.
        contexts: (occurrences, n), the context vectors.
        amounts: (occurrences,), how much evidence each is.
    """
    length = np.linalg.norm(contexts, axis=1, keepdims=True)
    unit = contexts / np.where(length > 0, length, 1.0)
    members = [[k] for k in np.flatnonzero(weights > 0).tolist()]
    v, p = vectors[[k for (k,) in members]], weights[[k for (k,) in members]] / weights.sum()
    senses, shares = np.full(len(weights), -1, np.int64), np.zeros(len(weights))
    while True:
        posteriors, p = _shares(p, v, contexts, amounts, formula)
        if len(p) == 1:
            break
        lightest = int(p.argmin())
        if p[lightest] < least_share:
            del members[lightest]
            v, p = np.delete(v, lightest, 0), np.delete(p, lightest)
            continue
        apart, a, b = _nearest(unit, v, posteriors.argmax(axis=1))
        if apart >= separation:
            break
        members[b] += members.pop(a)
        joined = p[a] * v[a] + p[b] * v[b]
        v[b], p[b] = joined / max(np.linalg.norm(joined), 1e-300), p[a] + p[b]
        v, p = np.delete(v, a, 0), np.delete(p, a)
    ids = np.array([min(own) for own in members], np.int64)
    for number, own, share in zip(ids, members, p, strict=True):
        senses[own] = number
        shares[own] = share * weights[own] / weights[own].sum()
    fit = cosines(v, contexts).max(axis=1)[amounts > 0]
    return FoundSenses(senses, shares, ids, v, posteriors, least_cosine(fit))


def _shares(p: Array, v: Array, contexts: Array, amounts: Array, formula: ContextModel) -> tuple[Array, Array]:
    """p(k|c), (occurrences, k), and the shares of the occurrences, (k,)."""
    evidence = log_evidence(cosines(directions(p, v, formula), contexts), amounts, formula)
    for _ in range(_STEPS):
        posteriors = softmax(np.log(np.maximum(p, 1e-12)) + evidence)
        p = posteriors.mean(axis=0)
    return posteriors, p


def _nearest(unit: Array, v: Array, chosen: NDArray[np.int64]) -> tuple[float, int, int]:
    """The two columns that contexts tell apart worst: D, and both, the first the larger number."""
    best = (np.inf, 0, 0)
    for a in range(1, len(v)):
        for b in range(a):
            best = min(best, (_apart(unit, v[a] - v[b], chosen == a, chosen == b), a, b))
    return best


def _apart(unit: Array, line: Array, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """D of two heaps of contexts along a line."""
    if min(first.sum(), second.sum()) < 2:
        return 0.0
    t = unit @ line
    x, y = t[first], t[second]
    spread = np.sqrt((x.var() * len(x) + y.var() * len(y)) / (len(x) + len(y)))
    return float((x.mean() - y.mean()) / max(spread, 1e-12))


def holevo(posteriors: Array, vectors: Array) -> float:
    """χ of a word, in nats.

    Args:
        posteriors: (contexts, k), p(k|c).
        vectors: (k, n), the unit vectors of the senses.

    >>> holevo(np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)).__round__(3)
    0.693
    >>> holevo(np.array([[0.5, 0.5], [0.5, 0.5]]), np.eye(2))
    0.0
    """
    overlaps = vectors @ vectors.T
    mean = mixture_entropies(posteriors.mean(axis=0)[None], overlaps)[0]
    return max(float(mean - mixture_entropies(posteriors, overlaps).mean()), 0.0)
