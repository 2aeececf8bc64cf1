"""The clusters of many words at once: k-means on each word's vectors, by all cores.

A word takes a millisecond or two, so threads take neighbouring words together: one product gives the inner products of
the vectors of each, and compiled loops do the rest without a word of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.contexts.sample import Ids
from polysema.kernels.clusters import centre_each, label_each, mean_each

TOGETHER = 1 << 21
"""Bytes of vectors, or of their inner products, that a thread takes at a time."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of some words.

    Attributes:
        means: (C, d) the centroids, word after word.
        sizes: (C,) how many vectors each has.
        counts: (W,) how many of the C each word has.
    """

    means: NDArray[np.float32]
    sizes: Ids
    counts: Ids


def clusters_of_each(
    vectors: NDArray[Any], starts: Ids, keys: NDArray[np.uint64], most: int, least: int, workers: int
) -> Iterator[Clusters]:
    """Cluster the vectors of each of W words; some words at a time, in order.

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
