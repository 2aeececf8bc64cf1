"""More vectors than memory holds: summed while they stream by, kept on disk, clustered word by word.

The principal axes of N stacked vectors X (N, d) are the eigenvectors of XᵀX, a d×d matrix that is a sum over vectors.
So the projection of PCA and of the truncated SVD needs no more memory for a hundred million vectors than for one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, check_choice
from polysema.kernels.clusters import centre_each, label_each, mean_each
from polysema.machine import in_turn
from polysema.training.sample import Ids

Array = NDArray[np.float64]

REDUCTIONS = {
    "pca": "principal components: centred by the mean of all vectors",
    "svd": "truncated singular value decomposition: not centred",
}


@dataclass(frozen=True, slots=True)
class Projection:
    """A map to fewer dimensions: x ↦ (x − μ) V."""

    basis: Array  # V, (d, n), its columns orthonormal, the axis of the largest spread first
    mean: Array  # μ, (d,); zero where vectors are not centred

    def __call__(self, vectors: NDArray[Any]) -> Array:
        """(…, d) to (…, n), multiplied in the vectors' own precision."""
        basis = self.basis.astype(vectors.dtype, copy=False)
        return np.asarray((vectors @ basis).astype(np.float64) - self.mean @ self.basis)


@dataclass(slots=True)
class Moments:
    """How many vectors were seen, their sum and their second moments."""

    count: int
    total: Array  # Σx (d,)
    second: Array  # Σxxᵀ (d, d)

    @classmethod
    def of(cls, vectors: NDArray[Any]) -> Moments:
        """Those of vectors (k, d)."""
        exact = vectors.astype(np.float64)
        return cls(len(exact), exact.sum(axis=0), exact.T @ exact)

    def add(self, other: Moments) -> None:
        """Take in vectors that were summed elsewhere."""
        self.count += other.count
        self.total += other.total
        self.second += other.second

    def projection(self, n: int, reduction: str) -> Projection:
        """The n axes of the largest spread: of XᵀX/N − μμᵀ for ``pca``, of XᵀX/N for ``svd``.

        An axis points where its largest entry is positive, so that the same vectors always give the same signs.
        """
        check_choice("reduction", reduction, REDUCTIONS)
        width = len(self.total)
        if not 1 <= n <= width:
            raise InputError(f"vectors of {width} numbers cannot be reduced to {n}: choose 1 to {width}")
        if self.count == 0:
            raise InputError("no vectors were seen: nothing to take a projection from")
        mean = self.total / self.count if reduction == "pca" else np.zeros(width)
        _, vectors = np.linalg.eigh(self.second / self.count - np.outer(mean, mean))
        basis = vectors[:, ::-1][:, :n]
        signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(n)])
        return Projection(basis * signs, mean)


T = TypeVar("T")

BLOCK = 1 << 20  # bytes of vectors that are read at a time


class Spill:
    """A file of vectors (rows, d) beside a file of their positions (rows,); ``rows`` of those there are kept."""

    def __init__(self, folder: Path, width: int, dtype: str, rows: int = 0) -> None:
        self.folder, self.width, self.dtype, self.rows = folder, width, np.dtype(dtype), rows
        folder.mkdir(parents=True, exist_ok=True)
        for path, size in ((self._vectors, self.width * self.dtype.itemsize), (self._positions, 8)):
            with open(path, "ab") as file:
                file.truncate(rows * size)

    @property
    def _vectors(self) -> Path:
        return self.folder / "vectors.bin"

    @property
    def _positions(self) -> Path:
        return self.folder / "positions.i64"

    def append(self, positions: NDArray[np.int64], vectors: NDArray[Any]) -> None:
        """Write vectors (k, d) at the end."""
        for path, array in ((self._vectors, vectors.astype(self.dtype, copy=False)), (self._positions, positions)):
            with open(path, "ab") as file:
                file.write(np.ascontiguousarray(array).data)
        self.rows += len(positions)

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """All vectors with their positions, block by block."""
        for start, count in self._cuts():
            yield self._read(start, count)

    def each(self, function: Callable[[NDArray[np.int64], NDArray[Any]], T], workers: int) -> Iterator[T]:
        """Apply a function to each block, in order, in threads; each multiplies on its own, for the same bits."""
        from threadpoolctl import threadpool_limits

        with ThreadPoolExecutor(workers) as pool, threadpool_limits(1, "blas"):
            yield from in_turn(pool, lambda cut: function(*self._read(*cut)), self._cuts(), workers + 1)

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """The first row of each block, and how many rows it has."""
        step = max(1, BLOCK // (self.width * self.dtype.itemsize))
        for start in range(0, self.rows, step):
            yield start, min(step, self.rows - start)

    def _read(self, start: int, count: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        wide = self.width * self.dtype.itemsize
        positions = np.fromfile(self._positions, np.int64, count, offset=start * 8)
        vectors = np.fromfile(self._vectors, self.dtype, count * self.width, offset=start * wide)
        return positions, vectors.reshape(count, self.width)

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.rows = 0


TOGETHER = 1 << 21  # bytes of vectors, or of their inner products, that a thread takes at a time


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of some words."""

    means: NDArray[np.float32]  # (C, d) the centroids, word after word
    sizes: Ids  # (C,) how many vectors each has
    counts: Ids  # (W,) how many of the C each word has


def clusters_of_each(
    vectors: NDArray[Any], starts: Ids, keys: NDArray[np.uint64], most: int, least: int, workers: int
) -> Iterator[Clusters]:
    """Cluster the vectors of each of W words; some words at a time, in order.

    A word takes a millisecond or two, so threads take neighbouring words together: one product gives the inner products
    of the vectors of each, and compiled loops do the rest without a word of Python.

    Args:
        vectors: (R, d) those of all words, word after word.
        starts: (W + 1,) where each word's begin, and where the last end.
        keys: (W,) of the random choices.
        most: how many clusters at most.
        least: 0: the number of clusters is that of the best silhouette. Else there are ``most``, or fewer where they
            would have less than so many vectors each on average.
        workers: threads. The result does not depend on it.
    """
    from threadpoolctl import threadpool_limits

    def cluster(low: int, high: int) -> Clusters:
        own = starts[low : high + 1] - starts[low]
        rows = vectors[starts[low] : starts[high]].astype(np.float64)
        points = np.zeros((high - low, int(np.diff(own).max()), rows.shape[1]))
        centre_each(rows, own, points)
        grams = points @ points.transpose(0, 2, 1)
        labels, counts = np.zeros(len(rows), np.int64), np.zeros(high - low, np.int64)
        label_each(grams, own, keys[low:high], most, least, labels, counts)
        means, sizes = np.zeros((counts.sum(), rows.shape[1])), np.zeros(counts.sum(), np.int64)
        mean_each(rows, own, labels, counts, means, sizes)
        return Clusters(means.astype(np.float32), sizes, counts)

    with ThreadPoolExecutor(workers) as pool, threadpool_limits(1, "blas"):
        yield from pool.map(cluster, *zip(*_groups(starts, vectors.shape[1]), strict=True))


def _groups(starts: Ids, width: int) -> Iterator[tuple[int, int]]:
    """Neighbouring words that a thread takes together: the first, and the one after the last."""
    low, count = 0, len(starts) - 1
    while low < count:
        longest = max(int(starts[low + 1] - starts[low]), 1)
        fit = max(1, TOGETHER // (8 * longest * max(width, longest)))
        high = min(low + fit, count)
        yield low, high
        low = high
