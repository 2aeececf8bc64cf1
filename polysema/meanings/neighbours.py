"""The words nearest to many queries at once, exactly.

Similarity is a cosine, so all of it is one matrix product. For matrices, tr(ρσ) is the inner product of the entries;
two ways to take it:

- *packed*: a word is the n(n+1)/2 distinct entries of ρ/‖ρ‖_F, those off the diagonal times √2;
- *factored*: a word is the columns of B/√‖ρ‖_F that are not zero, and tr(ρσ) = ‖BᵀC‖²_F; for large n, where packing
  would not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import MissingExtraError

_WORDS = 4096  # words in a block of the product: its scores stay in the cache for the selection
_QUERIES = 1024  # queries in a block, so that memory does not grow with their number
_MOST = 256  # from more neighbours on, sorting beats the compiled selection, which inserts one by one
_FEW = 8  # up to this many queries, NumPy's selection beats loading the compiled one


def is_packed(n: int, m: int) -> bool:
    """Whether matrices are better packed than factored: where the entries are at most four times the factor's."""
    return n + 1 <= 8 * m


class NeighbourIndex:
    """The words of a lexicon, ready to be searched.

    Args:
        factors: (V, n, m) of matrices, or vectors (V, n); none of them zero, all finite.
    """

    def __init__(self, factors: NDArray[Any]) -> None:
        self._pack: Callable[[NDArray[Any]], NDArray[np.float64]] = pack_vectors
        columns = factors.shape[1]
        kept: NDArray[Any] = np.ones((len(factors), 1), bool)
        if factors.ndim == 3:
            _, n, m = factors.shape
            self._pack = pack_matrices if is_packed(n, m) else pack_factors
            columns = n * (n + 1) // 2 if is_packed(n, m) else n
            kept = kept if is_packed(n, m) else np.asarray(factors.any(axis=1))
        self.starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])  # where the rows of each word start
        self.table = np.empty((self.starts[-1], columns), dtype=np.float32)
        for part in blocks(len(factors)):
            rows = self._pack(factors[part])[kept[part].ravel()]
            self.table[self.starts[part.start] : self.starts[part.stop]] = rows

    def __len__(self) -> int:
        return len(self.starts) - 1

    def pack(self, queries: NDArray[Any]) -> NDArray[np.float32]:
        """Queries, (q, n) or (q, n, m), as rows for the product."""
        return self._pack(queries).astype(np.float32)

    def scores(self, packed: NDArray[np.float32], count: int, words: slice = slice(None)) -> NDArray[np.float32]:
        """The similarity of ``count`` packed queries to a range of words: (q, words), single precision."""
        start, stop, _ = words.indices(len(self))
        rows = self.starts[start : stop + 1]
        if count == 1 and len(packed) > 1:  # ‖BᵀC‖ by as many rows as B has directions, up to single precision
            _, lengths, directions = np.linalg.svd(packed, full_matrices=False)
            packed = (lengths[:, None] * directions)[lengths > 1e-4 * lengths[0]]
        product = packed @ self.table[rows[0] : rows[-1]].T
        if self._pack is not pack_factors:
            return product
        product *= product
        summed = product.reshape(count, len(packed) // count, -1).sum(axis=1) if len(packed) > count else product
        return np.asarray(np.add.reduceat(summed, rows[:-1] - rows[0], axis=1))

    def top(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The k nearest words to each query, nearest first: their indices and similarities, (q, k) each."""
        k = min(k, len(self))
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        where = np.zeros((len(queries), k), dtype=np.int64)
        if k == 0:
            return where, best
        keep_largest = None if len(queries) <= _FEW or k > _MOST else _selection()
        if keep_largest is None:
            for i in range(len(queries)):
                scores = self.scores(self.pack(queries[i : i + 1]), 1)[0]
                nearest = np.argpartition(-scores, k - 1)[:k]
                where[i] = nearest[np.lexsort((nearest, -scores[nearest]))]
                best[i] = scores[where[i]]
            return where, best
        for some in blocks(len(queries), _QUERIES):
            packed = self.pack(queries[some])
            for part in blocks(len(self), _WORDS):
                scores = self.scores(packed, some.stop - some.start, part)
                keep_largest(scores, part.start, best[some], where[some])
        return where, best


def _selection() -> Any:
    """The compiled selection; None where no compiler is installed."""
    try:
        from polysema.kernels import selection
    except MissingExtraError:
        return None
    return selection.keep_largest


def cosines(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """The similarity of every one of ``left`` to every one of ``right``: vectors (k, n), or factors (k, n, m)."""
    if left.ndim == 2:
        return np.asarray(pack_vectors(left) @ pack_vectors(right).T)
    if is_packed(left.shape[1], max(left.shape[2], right.shape[2])):
        return np.asarray(pack_matrices(left) @ pack_matrices(right).T)
    products = (pack_factors(left) @ pack_factors(right).T) ** 2  # ‖BᵀC‖²_F is the sum over all pairs of columns
    return np.asarray(products.reshape(len(left), left.shape[2], len(right), right.shape[2]).sum(axis=(1, 3)))


def pack_vectors(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Unit vectors, (k, n)."""
    array = np.asarray(vectors, dtype=np.float64)
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True))


def pack_matrices(factors: NDArray[Any]) -> NDArray[np.float64]:
    """The distinct entries of each ρ/‖ρ‖_F as a unit vector, (k, n(n+1)/2)."""
    b = np.asarray(factors, dtype=np.float64)
    n = b.shape[-2]
    rows, columns = np.triu_indices(n)
    entries = (b @ b.mT).reshape(len(b), n * n)[:, rows * n + columns]
    entries *= np.where(rows == columns, 1.0, np.sqrt(2.0))
    entries /= np.linalg.norm(entries, axis=-1, keepdims=True)
    return np.asarray(entries)


def pack_factors(factors: NDArray[Any]) -> NDArray[np.float64]:
    """The columns of each factor, scaled to ‖ρ‖_F = 1, as rows: (k·m, n)."""
    b = np.asarray(factors, dtype=np.float64)
    b = b / np.sqrt(np.linalg.norm(b.mT @ b, axis=(-2, -1), keepdims=True))
    return np.ascontiguousarray(b.mT).reshape(-1, b.shape[-2])


def blocks(length: int, size: int = _WORDS) -> list[slice]:
    """Consecutive slices of at most ``size`` that cover ``length``."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
