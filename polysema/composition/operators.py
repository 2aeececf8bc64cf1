"""Composition operators, how two meanings make one: pure functions of factors.

Each takes factors of shape (..., n, m) with ‖B‖_F = 1 and returns the factor of the composed matrix, not yet
normalised; stacks broadcast. With ρ = B Bᵀ the operator's matrix and σ = C Cᵀ the argument's (paper, §3.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Factors = NDArray[np.float64]

_TIE = 1e-9  # eigenvalues of a density matrix nearer than this share of the largest are one eigenspace


def add(b: Factors, c: Factors, p: float = 0.5) -> Factors:
    """p ρ + (1 − p) σ: the mixture. Its factor is [√p B, √(1−p) C]."""
    stack = np.broadcast_shapes(b.shape[:-2], c.shape[:-2])
    columns = [np.sqrt(p) * np.broadcast_to(b, stack + b.shape[-2:])]
    columns += [np.sqrt(1 - p) * np.broadcast_to(c, stack + c.shape[-2:])]
    return compress(np.concatenate(columns, axis=-1))


def mult(b: Factors, c: Factors) -> Factors:
    """ρ ⊙ σ, entry by entry. Its factor is the row-wise Kronecker product of B and C (Schur's product theorem)."""
    product = b[..., :, :, None] * c[..., :, None, :]
    return compress(product.reshape(*product.shape[:-2], -1))


def phaser(b: Factors, c: Factors) -> Factors:
    """ρ^½ σ ρ^½: ρ acts on σ. Its factor is ρ^½ C, with ρ^½ = U S Uᵀ from the thin decomposition B = U S Vᵀ."""
    u, s, _ = np.linalg.svd(b, full_matrices=False)
    return np.asarray((u * s[..., None, :]) @ (u.mT @ c))


def smooth_phaser(b: Factors, c: Factors, smoothing: float = 3.0) -> Factors:
    """(ρ + λ 1/n)^½ σ (ρ + λ 1/n)^½: Phaser with an operator that lets a little of every direction through.

    Where ρ is nearly pure, Phaser turns whatever it acts on into ρ itself; this keeps some of it. With e = λ/n and
    ρ = U S² Uᵀ the factor is √e C + U (√(S² + e) − √e) Uᵀ C.

    Args:
        smoothing: λ; 3 is within noise of the best on WordNet's example sentences (``docs/measurements/senses.md``).
    """
    u, s, _ = np.linalg.svd(b, full_matrices=False)
    e = smoothing / b.shape[-2]
    gain = np.sqrt(s**2 + e) - np.sqrt(e)
    return np.asarray(np.sqrt(e) * c + (u * gain[..., None, :]) @ (u.mT @ c))


def fuzz(b: Factors, c: Factors) -> Factors:
    """Σᵢ λᵢ Pᵢ σ Pᵢ over the eigenspaces of ρ, with λᵢ its eigenvalues and Pᵢ the projections.

    In the eigenbasis of ρ this keeps the diagonal blocks of σ, one for each eigenspace, and weights them by λ.
    Eigenspaces, not eigenvectors: where eigenvalues repeat, single eigenvectors are arbitrary and would make the result
    so.
    """
    u, s, _ = np.linalg.svd(b, full_matrices=False)
    values = s**2
    gap = values[..., :-1] - values[..., 1:] > _TIE * values[..., :1]
    first = np.zeros((*values.shape[:-1], 1), dtype=np.int64)
    space = np.concatenate([first, np.cumsum(gap, axis=-1)], axis=-1)  # which eigenspace each eigenvector is in
    inside = u.mT @ c
    blocks = (inside @ inside.mT) * (space[..., :, None] == space[..., None, :])
    weight = np.sqrt(values)
    w, v = np.linalg.eigh(blocks * weight[..., :, None] * weight[..., None, :])
    return np.asarray(u @ (v * np.sqrt(np.maximum(w, 0.0))[..., None, :]))


def negated(b: Factors, c: Factors | None = None) -> Factors:
    """(1 − X)^½ C with X = ρ / λ₁, the largest eigenvalue made 1: logical negation (Lewis 2020), acting on σ = C Cᵀ.

    With the thin decomposition B = U S Vᵀ it is C − U (1 − √(1 − S²/S₁²)) Uᵀ C, so that the n×n matrix 1 − X is built
    only if ``c`` is not given. If ρ has less than full rank, ¬¬ρ = ρ. A maximally mixed ρ has no negation: the
    factor is zero.

    Args:
        c: what the negation acts on by Phaser; by default the identity, which gives the factor (..., n, n) of 1 − X.
    """
    u, s, _ = np.linalg.svd(b, full_matrices=False)
    c = np.eye(b.shape[-2]) if c is None else c
    left = np.sqrt(np.maximum(1.0 - (s / s[..., :1]) ** 2, 0.0))
    return np.asarray(c - (u * (1.0 - left)[..., None, :]) @ (u.mT @ c))


def inverted(b: Factors) -> Factors:
    """ρ⁺, the inverse on the support of ρ, U S⁻¹: what ρ holds least of is what there is most of (Rodatz et al. 2021).

    Eigenvalues below 1e-9 of the largest are not of the support. ¬¬ρ = ρ. A pure state is its own negation.
    """
    u, s, _ = np.linalg.svd(b, full_matrices=False)
    inside = s**2 > _TIE * s[..., :1] ** 2
    return np.asarray(u * np.where(inside, s[..., :1] / np.where(inside, s, 1.0), 0.0)[..., None, :])


def compress(b: Factors) -> Factors:
    """A factor of the same matrix with at most n columns: Rᵀ of the decomposition Bᵀ = Q R."""
    if b.shape[-1] <= b.shape[-2]:
        return b
    return np.asarray(np.linalg.qr(b.mT, mode="r")).mT


def project_vectors(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a aᵀ b: the functor's vector as the matrix a aᵀ, acting on b (paper, §4.1.1, Tensor)."""
    return np.asarray(a * (a * b).sum(axis=-1, keepdims=True))
