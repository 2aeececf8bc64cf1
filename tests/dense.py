"""The slow, obvious, dense definitions that the factored code is held against."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Matrix = NDArray[np.float64]


def matrix(factor: Matrix) -> Matrix:
    rho = factor @ factor.T
    return rho / np.trace(rho)


def root(rho: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(rho)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T


def entropy(rho: Matrix) -> float:
    p = np.linalg.eigvalsh(rho)
    p = p[p > 1e-15]
    return float(-(p * np.log(p)).sum())


def similarity(rho: Matrix, sigma: Matrix) -> float:
    return float(np.trace(rho @ sigma) / np.sqrt(np.trace(rho @ rho) * np.trace(sigma @ sigma)))


def fidelity(rho: Matrix, sigma: Matrix) -> float:
    return float(np.trace(root(root(rho) @ sigma @ root(rho))) ** 2)


def trace_distance(rho: Matrix, sigma: Matrix) -> float:
    return float(np.abs(np.linalg.eigvalsh(rho - sigma)).sum() / 2)


def relative_entropy(rho: Matrix, sigma: Matrix) -> float:
    """For σ of full rank."""
    p = np.linalg.eigvalsh(rho)
    safe = np.where(p > 1e-15, p, 1.0)
    return float((p * np.log(safe)).sum() - np.trace(rho @ linalg.logm(sigma)).real)


def k_hyp(rho: Matrix, sigma: Matrix) -> float:
    """For σ of full rank."""
    return float(1 / np.max(np.linalg.eigvals(np.linalg.inv(sigma) @ rho).real))


def k_ba(a: Matrix, b: Matrix) -> float:
    values = np.linalg.eigvalsh(b - a)
    return float(values.sum() / np.abs(values).sum())


def k_e(a: Matrix, b: Matrix) -> float:
    values = np.linalg.eigvalsh(b - a)
    return float(max(0.0, 1 - np.sqrt((values[values < 0] ** 2).sum()) / np.linalg.norm(a)))


def phaser(rho: Matrix, sigma: Matrix) -> Matrix:
    return root(rho) @ sigma @ root(rho)


def smooth_phaser(rho: Matrix, sigma: Matrix, smoothing: float = 3.0) -> Matrix:
    return phaser(rho + smoothing * np.eye(len(rho)) / len(rho), sigma)


def fuzz(rho: Matrix, sigma: Matrix, tie: float = 1e-9) -> Matrix:
    values, vectors = np.linalg.eigh(rho)
    result = np.zeros_like(rho)
    start = 0
    while start < len(values):
        stop = start + 1
        while stop < len(values) and values[stop] - values[stop - 1] <= tie * values[-1]:
            stop += 1
        projection = vectors[:, start:stop] @ vectors[:, start:stop].T
        result += values[start:stop].mean() * projection @ sigma @ projection
        start = stop
    return result


def unit(rho: Matrix) -> Matrix:
    return rho / np.trace(rho)
