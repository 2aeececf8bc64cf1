"""Measures of one density matrix or two: one function, one formula each.

Every function takes :class:`~polysema.density.DensityMatrix` and returns a float, or an array when it is given
stacks (stacks broadcast as NumPy arrays do). With ρ = B Bᵀ and σ = C Cᵀ, nothing here costs more than n·m².

Of a product ρ₁ ⊗ ρ₂, the measures that multiply or add over ⊗ are taken part by part.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polysema.density import DensityMatrix
from polysema.errors import InputError, MatrixError, check_choice

Number = Any  # a float, or an array of them for stacks

_RANK = 1e-7  # singular values of a factor below this share of the largest count as zero
_LEAK = 1e-10  # how much of one state's trace may lie outside the other's support and still be rounding


def overlap(rho: DensityMatrix, sigma: DensityMatrix) -> Number:
    """tr(ρσ) = ‖BᵀC‖²_F: how much two states have in common, not normalised."""
    _same_space(rho, sigma)
    product = 1.0
    for b, c in zip(rho.parts, sigma.parts, strict=True):
        product = product * ((b.mT @ c) ** 2).sum(axis=(-2, -1))
    return _number(product)


def similarity(rho: DensityMatrix, sigma: DensityMatrix) -> Number:
    """tr(ρσ) / √(tr ρ² · tr σ²): the cosine of two matrices, between 0 and 1."""
    cosine = overlap(rho, sigma) / np.sqrt(purity(rho) * purity(sigma))
    return _number(np.clip(cosine, 0.0, 1.0))


def purity(rho: DensityMatrix) -> Number:
    """tr ρ² = ‖BᵀB‖²_F: 1 for a single sense, 1/n for the greatest ambiguity."""
    return overlap(rho, rho)


def entropy(rho: DensityMatrix) -> Number:
    """S(ρ) = −tr(ρ ln ρ), the von Neumann entropy in nats: 0 for a single sense, ln n at most.

    Taken from the eigenvalues of the Gram matrix BᵀB, which are those of ρ. Paper, eq. 6.
    """
    total = 0.0
    for b in rho.parts:
        gram = b.mT @ b if b.shape[-1] <= b.shape[-2] else b @ b.mT
        p = np.clip(np.linalg.eigvalsh(gram), 0.0, 1.0)
        total = total - (p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1)
    return _number(np.maximum(total, 0.0))


def mixture_entropies(weights: NDArray[np.float64], overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """S(Σ_k w_k v_k v_kᵀ) of each row of weights (…, k), from the overlaps ⟨v_j, v_k⟩ (k, k) or (…, k, k).

    The eigenvalues are those of √w_j ⟨v_j, v_k⟩ √w_k.
    """
    root = np.sqrt(weights)
    eigenvalues = np.linalg.eigvalsh(root[..., :, None] * overlaps * root[..., None, :])
    clipped = np.maximum(eigenvalues, 1e-300)
    return np.asarray(np.maximum(-np.where(eigenvalues > 0, clipped * np.log(clipped), 0.0).sum(axis=-1), 0.0))


def effective_senses(rho: DensityMatrix) -> Number:
    """exp S(ρ): the number of equally likely senses that would be as ambiguous."""
    return _number(np.exp(entropy(rho)))


def fidelity(rho: DensityMatrix, sigma: DensityMatrix) -> Number:
    """F(ρ, σ) = (tr √(√ρ σ √ρ))² = ‖BᵀC‖²_* (nuclear norm): 1 when equal, 0 when orthogonal."""
    _same_space(rho, sigma)
    product = 1.0
    for b, c in zip(rho.parts, sigma.parts, strict=True):
        product = product * np.linalg.svd(b.mT @ c, compute_uv=False).sum(axis=-1) ** 2
    return _number(np.clip(product, 0.0, 1.0))


def trace_distance(rho: DensityMatrix, sigma: DensityMatrix) -> Number:
    """½ ‖ρ − σ‖₁: half the sum of the absolute eigenvalues of ρ − σ."""
    _same_space(rho, sigma)
    values = _difference(rho.factor, sigma.factor)
    return _number(np.clip(np.abs(values).sum(axis=-1) / 2, 0.0, 1.0))


def relative_entropy(rho: DensityMatrix, sigma: DensityMatrix, smoothing: float = 0.0) -> Number:
    """S(ρ‖σ) = tr ρ(ln ρ − ln σ); infinite when ρ reaches outside the support of σ.

    Args:
        smoothing: ε; σ is taken as (1 − ε)σ + ε 1/n, whose support is the whole space. See :func:`smoothed`.
    """
    _same_space(rho, sigma)
    sigma = smoothed(sigma, smoothing)
    total: Number = 0.0
    for b, c in zip(rho.parts, sigma.parts, strict=True):
        u, s, kept = _support(c)
        in_basis = ((u.mT @ b) ** 2).sum(axis=-1)  # ⟨uⱼ|ρ|uⱼ⟩
        cross = (in_basis * 2 * np.log(np.where(kept, s, 1.0)) * kept).sum(axis=-1)
        outside = 1.0 - (in_basis * kept).sum(axis=-1)
        part = np.maximum(-entropy(DensityMatrix(b)) - cross, 0.0)
        total = total + np.where(outside > _LEAK, np.inf, part)
    return _number(total)


def smoothed(rho: DensityMatrix, smoothing: float) -> DensityMatrix:
    """(1 − ε)ρ + ε 1/n: ρ with a little of every direction, part by part.

    k_hyp and the relative entropy ask whether the support of one matrix lies in that of another. Words are matrices of
    low rank, of which that is never quite true: the first is then 0 and the second infinite. Smoothed, both are graded.
    """
    if not 0 <= smoothing < 1:
        raise InputError(f"smoothing is a share, at least 0 and less than 1, not {smoothing}")
    if smoothing == 0:
        return rho
    parts = []
    for part in rho.parts:
        n = part.shape[-2]
        rest = np.broadcast_to(np.eye(n) * np.sqrt(smoothing / n), (*part.shape[:-2], n, n))
        parts.append(np.concatenate([part * np.sqrt(1 - smoothing), rest], axis=-1))
    return DensityMatrix.of_unit_factors(parts)


Normalisation = Literal["trace", "eigenvalue"]


def k_hyp(
    rho: DensityMatrix, sigma: DensityMatrix, normalise: Normalisation = "trace", smoothing: float = 0.0
) -> Number:
    """The largest k with σ − kρ ≥ 0: how strongly ρ entails σ (Bankova, Coecke, Lewis & Marsden 2019).

    1 / λ_max(σ⁺ρ) when σ supports ρ, otherwise 0; in [0, 1]. With m < n columns supports are seldom nested and
    k_hyp is then exactly 0: ask :func:`k_ba` or :func:`k_e`, or smooth.

    Args:
        normalise: "trace" compares density matrices, "eigenvalue" scales both to largest eigenvalue 1.
        smoothing: ε; σ is taken as (1 − ε)σ + ε 1/n, whose support is the whole space. See :func:`smoothed`.
    """
    _same_space(rho, sigma)
    sigma = smoothed(sigma, smoothing)
    b, c = _scaled(rho, normalise), _scaled(sigma, normalise)
    u, s, kept = _support(c)
    coordinates = u.mT @ b
    outside = (b**2).sum(axis=(-2, -1)) - ((coordinates**2).sum(axis=-1) * kept).sum(axis=-1)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)[..., None]
    largest = np.linalg.svd(inverse * coordinates, compute_uv=False)[..., 0] ** 2
    inside = outside <= _LEAK * (b**2).sum(axis=(-2, -1))
    return _number(np.where(inside, np.clip(1.0 / np.where(inside, largest, 1.0), 0.0, 1.0), 0.0))


def k_ba(rho: DensityMatrix, sigma: DensityMatrix, normalise: Normalisation = "eigenvalue") -> Number:
    """Σᵢ λᵢ / Σᵢ |λᵢ| over the eigenvalues of σ − ρ, in [−1, 1] (Lewis 2019).

    1 when σ − ρ ≥ 0 (ρ is a hyponym of σ), −1 when it is the other way round. At unit trace the sum in the
    numerator is always 0, so both are scaled to largest eigenvalue 1 unless told otherwise. k_BA(ρ, ρ) is 1.
    """
    _same_space(rho, sigma)
    values = _difference(_scaled(sigma, normalise), _scaled(rho, normalise))
    total = np.abs(values).sum(axis=-1)
    equal = total <= _LEAK
    return _number(np.where(equal, 1.0, values.sum(axis=-1) / np.where(equal, 1.0, total)))


def k_e(rho: DensityMatrix, sigma: DensityMatrix, normalise: Normalisation = "eigenvalue") -> Number:
    """1 − ‖E‖_F / ‖ρ‖_F, with E the least to add to σ − ρ to make it positive, in [0, 1] (Lewis 2019).

    E has the negative eigenvalues of σ − ρ, made positive. Both are scaled to largest eigenvalue 1 unless told
    otherwise.
    """
    _same_space(rho, sigma)
    b = _scaled(rho, normalise)
    values = _difference(_scaled(sigma, normalise), b)
    error = np.sqrt((np.minimum(values, 0.0) ** 2).sum(axis=-1))
    return _number(np.clip(1.0 - error / np.linalg.norm(b.mT @ b, axis=(-2, -1)), 0.0, 1.0))


MEASURES = {
    "similarity": similarity,
    "overlap": overlap,
    "fidelity": fidelity,
    "trace-distance": trace_distance,
    "relative-entropy": relative_entropy,
    "k-hyp": k_hyp,
    "k-ba": k_ba,
    "k-e": k_e,
}
"""The measures of two density matrices, by name."""


def _difference(b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """The eigenvalues of B Bᵀ − C Cᵀ that can differ from zero.

    With [B C] = Q R, the difference is Q (R D Rᵀ) Qᵀ, D = diag(+1 for B's columns, −1 for C's).
    """
    stack = np.broadcast_shapes(b.shape[:-2], c.shape[:-2])
    both = np.concatenate([np.broadcast_to(b, stack + b.shape[-2:]), np.broadcast_to(c, stack + c.shape[-2:])], axis=-1)
    r = np.asarray(np.linalg.qr(both, mode="r"))
    sign = np.concatenate([np.ones(b.shape[-1]), -np.ones(c.shape[-1])])
    return np.asarray(np.linalg.eigvalsh((r * sign) @ r.mT))


def _support(c: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """U, S of the thin singular value decomposition of a factor, and which of S are not zero."""
    u, s, _ = np.linalg.svd(c, full_matrices=False)
    return u, s, s > _RANK * s[..., :1]


def _scaled(rho: DensityMatrix, normalise: str) -> NDArray[np.float64]:
    check_choice("normalisation", normalise, ("trace", "eigenvalue"))
    factor = rho.factor
    return factor if normalise == "trace" else factor / np.linalg.svd(factor, compute_uv=False)[..., 0, None, None]


def _same_space(rho: DensityMatrix, sigma: DensityMatrix) -> None:
    ours, theirs = ("⊗".join(str(part.shape[-2]) for part in each.parts) for each in (rho, sigma))
    if ours != theirs:
        raise MatrixError(
            f"{rho.name or 'the first'} lives in dimension {ours} and {sigma.name or 'the second'} in {theirs}: "
            "they cannot be compared"
        )


def _number(value: Number) -> Number:
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array
