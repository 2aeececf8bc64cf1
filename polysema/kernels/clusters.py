"""Small clusterings, many of them: k-means and the silhouette of a word's occurrences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from polysema.kernels.sampling import GOLDEN, mixed


@njit(nogil=True, cache=True)
def add_outer(moments: Any, rows: Any, vectors: Any) -> Any:
    """Add x xᵀ of each vector to its word's second moments.

    Args:
        moments: (V, n(n+1)/2), the upper triangles row by row.
        rows: (k,) each vector's word; negative for vectors to leave out.
        vectors: (k, n).
    """
    n = vectors.shape[1]
    for i in range(vectors.shape[0]):
        row = rows[i]
        if row < 0:
            continue
        at = 0
        for a in range(n):
            x = vectors[i, a]
            for b in range(a, n):
                moments[row, at] += x * vectors[i, b]
                at += 1


@njit(nogil=True, cache=True)
def squared_distances(points: Any) -> Any:
    """‖x − y‖² of every two rows of (N, d)."""
    gram = points @ points.T
    out = np.empty_like(gram)
    for i in range(len(points)):
        for j in range(len(points)):
            out[i, j] = max(gram[i, i] + gram[j, j] - 2 * gram[i, j], 0.0)
        out[i, i] = 0.0
    return out


@njit(nogil=True, cache=True)
def _distinct(squared: Any) -> Any:
    """How many points are apart from all before them, by more than rounding."""
    least = 1e-12 * squared.max()
    found = 0
    for i in range(len(squared)):
        apart = True
        for j in range(i):
            if squared[i, j] <= least:
                apart = False
                break
        found += apart
    return found


@njit(nogil=True, cache=True)
def k_means(points: Any, squared: Any, k: Any, key: Any, iterations: Any, labels: Any) -> Any:
    """Lloyd's algorithm from k-means++ seeds; returns Σ ‖x − its centroid‖².

    Args:
        points: (N, d).
        squared: (N, N) their squared distances.
        key: of the random choices.
        labels: (N,) gets each point's cluster.
    """
    count, width = points.shape
    nearest = np.full(count, np.inf)
    centroids = np.empty((k, width))
    chosen = np.int64(mixed(key) % np.uint64(count))
    for c in range(k):
        if c > 0:
            total = nearest.sum()
            share = np.float64(mixed(key + np.uint64(c) * GOLDEN) >> np.uint64(11)) / 2.0**53 * total
            chosen = np.int64(count - 1)
            for i in range(count):
                share -= nearest[i]
                if share < 0.0:
                    chosen = np.int64(i)
                    break
        centroids[c] = points[chosen]
        for i in range(count):
            nearest[i] = min(nearest[i], squared[i, chosen])
    norms = np.empty(count)
    for i in range(count):
        norms[i] = (points[i] * points[i]).sum()
    labels[:] = -1
    sizes = np.zeros(k)
    inertia = 0.0
    for _ in range(iterations):
        products = points @ centroids.T
        lengths = (centroids * centroids).sum(axis=1)
        moved = False
        inertia = 0.0
        farthest, reach = 0, -1.0
        for i in range(count):
            best, least = 0, np.inf
            for c in range(k):
                distance = lengths[c] - 2.0 * products[i, c]
                if distance < least:
                    best, least = c, distance
            least = max(least + norms[i], 0.0)
            inertia += least
            if least > reach:
                farthest, reach = i, least
            if labels[i] != best:
                labels[i] = best
                moved = True
        if not moved:
            break
        centroids[:] = 0.0
        sizes[:] = 0.0
        for i in range(count):
            centroids[labels[i]] += points[i]
            sizes[labels[i]] += 1.0
        for c in range(k):
            if sizes[c] > 0.0:
                centroids[c] /= sizes[c]
            else:
                centroids[c] = points[farthest]  # an empty cluster starts again at the point that fits worst
    return inertia


@njit(nogil=True, cache=True)
def silhouette(distances: Any, labels: Any, k: Any) -> Any:
    """The mean of (b − a) / max(a, b), a a point's mean distance to its cluster and b to the nearest other one.

    A point alone in its cluster counts 0 (Rousseeuw 1987). −1 where fewer than two clusters have points.
    """
    count = len(labels)
    sizes = np.zeros(k)
    for i in range(count):
        sizes[labels[i]] += 1.0
    if (sizes > 0).sum() < 2:
        return -1.0
    total = 0.0
    sums = np.empty(k)
    for i in range(count):
        own = labels[i]
        if sizes[own] < 2.0:
            continue
        sums[:] = 0.0
        for j in range(count):
            sums[labels[j]] += distances[i, j]
        a = sums[own] / (sizes[own] - 1.0)
        b = np.inf
        for c in range(k):
            if c != own and sizes[c] > 0.0:
                b = min(b, sums[c] / sizes[c])
        if max(a, b) > 0.0:
            total += (b - a) / max(a, b)
    return total / count


@njit(nogil=True, cache=True)
def turned(points: Any) -> Any:
    """The points (N, d) centred, in the axes of their own span: the same distances, at most N numbers a point."""
    count, width = points.shape
    centred = points - points.sum(axis=0) / count
    if count >= width:
        return centred
    values, axes = np.linalg.eigh(centred @ centred.T)
    return axes * np.sqrt(np.maximum(values, 0.0))


@njit(nogil=True, cache=True)
def best_k_means(vectors: Any, most: Any, key: Any, starts: Any, labels: Any) -> Any:
    """Cluster by k-means for k = 2 … ``most`` and keep the k of the best silhouette.

    Args:
        vectors: (N, d). Fewer than three distinct ones are one cluster.
        starts: k-means runs for each k, of which the tightest counts.
        labels: (N,) gets each point's cluster.

    Returns:
        k.
    """
    labels[:] = 0
    if len(vectors) < 3:
        return 1
    points = turned(vectors)
    squared = squared_distances(points)
    distinct = _distinct(squared)
    if distinct < 3:
        return 1
    distances = np.sqrt(squared)
    trial, tightest = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
    best_k, best = 1, -2.0
    for k in range(2, min(most, distinct - 1) + 1):
        least = np.inf
        for start in range(starts):
            inertia = k_means(points, squared, k, key + np.uint64(1000 * k + start) * GOLDEN, 100, trial)
            if inertia < least:
                least = inertia
                tightest[:] = trial
        score = silhouette(distances, tightest, k)
        if score > best:
            best_k, best = k, score
            labels[:] = tightest
    return best_k
