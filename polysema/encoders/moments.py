"""Second moments that accumulate while vectors stream by, and the projection that follows from them.

The principal axes of N stacked vectors X (N, d) are the eigenvectors of XᵀX, a d×d matrix that is a sum over vectors.
So the projection of PCA and of the truncated SVD needs no more memory for a hundred million vectors than for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, UnknownChoiceError

Array = NDArray[np.float64]

REDUCTIONS = {
    "pca": "principal components: centred by the mean of all vectors",
    "svd": "truncated singular value decomposition: not centred",
}


@dataclass(frozen=True, slots=True)
class Projection:
    """A map to fewer dimensions: x ↦ (x − μ) V.

    Attributes:
        basis: V, (d, n), its columns orthonormal, the axis of the largest spread first.
        mean: μ, (d,); zero where vectors are not centred.
    """

    basis: Array
    mean: Array

    def __call__(self, vectors: NDArray[Any]) -> Array:
        """(…, d) to (…, n), multiplied in the vectors' own precision."""
        basis = self.basis.astype(vectors.dtype, copy=False)
        return np.asarray((vectors @ basis).astype(np.float64) - self.mean @ self.basis)


class Moments:
    """The number of vectors seen, their sum Σx (d,) and their second moments Σxxᵀ (d, d)."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self.total: Array = np.zeros(width)
        self.second: Array = np.zeros((width, width))

    def add(self, vectors: NDArray[Any]) -> None:
        """Take in vectors (k, d)."""
        rows = vectors.astype(np.float64)
        self.add_sums(len(rows), rows.sum(axis=0), rows.T @ rows)

    def add_sums(self, count: int, total: NDArray[Any], second: NDArray[Any]) -> None:
        """Take in vectors that were summed elsewhere."""
        self.count += count
        self.total += total
        self.second += second

    @property
    def mean(self) -> Array:
        """The mean vector (d,)."""
        return self.total / max(self.count, 1)

    def projection(self, n: int, reduction: str) -> Projection:
        """The n axes of the largest spread: of XᵀX/N − μμᵀ for ``pca``, of XᵀX/N for ``svd``.

        An axis points where its largest entry is positive, so that the same vectors always give the same signs.
        """
        if reduction not in REDUCTIONS:
            raise UnknownChoiceError("reduction", reduction, REDUCTIONS)
        width = len(self.total)
        if not 1 <= n <= width:
            raise InputError(f"vectors of {width} numbers cannot be reduced to {n}: choose 1 to {width}")
        if self.count == 0:
            raise InputError("no vectors were seen: nothing to take a projection from")
        mean = self.mean if reduction == "pca" else np.zeros(width)
        _, vectors = np.linalg.eigh(self.second / self.count - np.outer(mean, mean))
        basis = vectors[:, ::-1][:, :n]
        signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(n)])
        return Projection(basis * signs, mean)
