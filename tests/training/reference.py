"""The definition of every objective and its gradient, for one sample, in plain NumPy.

Each function returns J, to be maximised, and its gradients. The compiled kernels are tested against these, and these
against finite differences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Gradients(NamedTuple):
    """An objective and its gradients."""

    objective: float  # J
    target: Array  # ∂J / ∂ the target's senses, factor or vector
    contexts: Array  # ∂J / ∂ each context word's vector or factor
    noise: Array  # ∂J / ∂ each noise word's


def sigmoid(x: Array) -> Array:
    """σ(x) = 1 / (1 + e⁻ˣ), without overflow."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(x)))


def log_sigmoid(x: Array) -> Array:
    """log σ(x) = −log(1 + e⁻ˣ)."""
    return -np.logaddexp(0.0, -np.asarray(x))


def nearest_sense(senses: Array, context: Array, select: str) -> int:
    """The index of the sense (m, n) nearest to a context (n,), by ``cosine`` or by ``dot`` product."""
    scores = senses @ context
    if select == "cosine":
        scores = scores / np.linalg.norm(senses, axis=1)
    return int(np.argmax(scores))


def ms_word2dm(senses: Array, contexts: Array, noise: Array, select: str = "cosine") -> Gradients:
    """Multi-sense Word2DM (paper, eq. 5): J = log σ(bᵀc) + Σₖ log σ(−bᵀvₖ), c = Σ contexts, b the sense nearest to c.

    Args:
        senses: (m, n) of the target. contexts: (c, n) of the window; one row for the pair form. noise: (K, n).
    """
    context = contexts.sum(axis=0)
    chosen = nearest_sense(senses, context, select)
    b = senses[chosen]
    up, down = 1 - sigmoid(context @ b), -sigmoid(noise @ b)
    target = np.zeros_like(senses)
    target[chosen] = up * context + down @ noise
    objective = log_sigmoid(context @ b) + log_sigmoid(-(noise @ b)).sum()
    return Gradients(float(objective), target, np.tile(up * b, (len(contexts), 1)), np.outer(down, b))


def word2dm(target: Array, contexts: Array, noise: Array) -> Gradients:
    """Word2DM: for each context word, J = log σ(tr(A_t A_c)) + Σₖ log σ(−tr(A_t A_k)), with A = B Bᵀ.

    Args:
        target: B_t (n, m). contexts: (c, n, m). noise: (c, K, n, m), for each context word its own.
    """
    a = target @ target.T

    def score(b: Array) -> Array:
        scores: Array = np.einsum("...nm,nk,...km->...", b, a, b, optimize=True)
        return scores

    up, down = 1 - sigmoid(score(contexts)), -sigmoid(score(noise))
    pull = np.einsum("c,cnm,ckm->nk", up, contexts, contexts) + np.einsum("cq,cqnm,cqkm->nk", down, noise, noise)
    objective = log_sigmoid(score(contexts)).sum() + log_sigmoid(-score(noise)).sum()
    return Gradients(
        float(objective),
        2 * pull @ target,
        2 * up[:, None, None] * (a @ contexts),
        2 * down[:, :, None, None] * (a @ noise),
    )


def glove(w: Array, c: Array, bias: float, context_bias: float, count: float, most: float, power: float) -> Gradients:
    """GloVe (Pennington et al. 2014): J = −½ f(x) (wᵀc + b + b̃ − log x)², f(x) = min(1, (x / most)^power).

    The gradients of the biases, which are equal, are those of J by the error: the ``noise`` of the sample.
    """
    weight = min(1.0, (count / most) ** power)
    error = float(w @ c + bias + context_bias - np.log(count))
    pull = -weight * error
    return Gradients(-0.5 * weight * error**2, pull * c, (pull * w)[None], np.array([pull]))
