"""Small clusterings, many of them: k-means and the silhouette of a word's occurrences.

Where many words are clustered, ``rows`` (R, d) are their vectors, word after word, and ``starts`` (W + 1,) says where
each word's begin, and where the last end. N points have ``squared`` (N, N) distances, and ``labels`` (N,) get the
cluster of each. All random choices follow from a ``key``.
"""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled, kernel
from polysema.kernels.sampling import GOLDEN, mixed


@compiled()
def add_outer(moments, rows, vectors):
    """Add x xᵀ of each vector to its word's second moments.

    Moments (V, n(n+1)/2) are upper triangles row by row; rows (k,) are the words of vectors (k, n), negative for those
    to leave out.
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


@compiled()
def squared_distances(gram):
    """‖x − y‖² of every two of N points, from their inner products (N, N)."""
    count = len(gram)
    squared = np.empty((count, count))
    for i in range(count):
        for j in range(count):
            squared[i, j] = max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j], 0.0)
        squared[i, i] = 0.0
    return squared


@kernel()
def _distinct(squared):
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


@compiled()
def k_means(squared, k, key, iterations, labels):
    """Lloyd's algorithm from k-means++ seeds, by distances alone; returns Σ ‖x − its centroid‖².

    With T_c(x) = Σ_{y ∈ c} ‖x − y‖², its sum 2 W_c over c and n_c points in c, the distance from the centroid is

        ‖x − μ_c‖² = T_c(x) / n_c − W_c / n_c²

    so a step costs N numbers for each point that changes its cluster, and k for each point, whatever d.
    """
    count = len(squared)
    nearest, own = np.empty(count), np.empty(count, np.int64)
    _seeds(squared, k, key, nearest, own)
    labels[:] = own
    within = np.zeros((k, count))  # T
    sizes, spread = np.zeros(k), np.zeros(k)  # n, W
    for i in range(count):
        within[labels[i]] += squared[i]
        sizes[labels[i]] += 1.0
    for _ in range(iterations):
        for c in range(k):
            if sizes[c] == 0.0:
                _refill(c, nearest, squared, labels, within, sizes)
        spread[:] = 0.0
        for i in range(count):
            spread[labels[i]] += within[labels[i], i] / 2.0
        nearest[:] = np.inf
        for c in range(k):
            share, less = 1.0 / sizes[c], spread[c] / (sizes[c] * sizes[c])
            for i in range(count):
                distance = within[c, i] * share - less
                own[i] = c if distance < nearest[i] else own[i]
                nearest[i] = min(distance, nearest[i])
        moved = False
        for i in range(count):
            if own[i] != labels[i]:
                _move(i, own[i], squared, labels, within, sizes)
                moved = True
        if not moved:
            break
    return np.maximum(nearest, 0.0).sum()


@kernel()
def _seeds(squared, k, key, nearest, own):
    """The seeds of k-means++: each drawn in proportion to the squared distance from those before it."""
    count = len(squared)
    nearest[:] = np.inf
    own[:] = 0
    chosen = np.int64(mixed(key) % np.uint64(count))
    for c in range(k):
        if c > 0:
            share = np.float64(mixed(key + np.uint64(c) * GOLDEN) >> np.uint64(11)) / 2.0**53 * nearest.sum()
            chosen = np.int64(count - 1)
            for i in range(count):
                share -= nearest[i]
                if share < 0.0:
                    chosen = np.int64(i)
                    break
        for i in range(count):
            if squared[i, chosen] < nearest[i]:
                nearest[i] = squared[i, chosen]
                own[i] = c


@kernel()
def _refill(empty, nearest, squared, labels, within, sizes):
    """An empty cluster starts again at the point that fits worst, of those that are not alone in theirs."""
    worst = -1
    for i in range(len(squared)):
        if sizes[labels[i]] > 1.0 and (worst < 0 or nearest[i] > nearest[worst]):
            worst = i
    _move(worst, empty, squared, labels, within, sizes)
    nearest[worst] = 0.0


@kernel()
def _move(i, to, squared, labels, within, sizes):
    """Take a point out of its cluster and into another."""
    before = labels[i]
    for j in range(len(squared)):
        within[before, j] -= squared[i, j]
        within[to, j] += squared[i, j]
    sizes[before] -= 1.0
    sizes[to] += 1.0
    labels[i] = to


@compiled()
def silhouette(distances, labels, k):
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


@compiled()
def tightest_k_means(squared, k, key, starts, labels):
    """The tightest of some runs of k-means; returns its Σ ‖x − its centroid‖²."""
    trial = np.empty(len(squared), np.int64)
    least = np.inf
    for start in range(starts):
        inertia = k_means(squared, k, key + np.uint64(1000 * k + start) * GOLDEN, 100, trial)
        if inertia < least:
            least = inertia
            labels[:] = trial
    return least


@compiled()
def best_k_means(squared, most, key, starts, labels):
    """Cluster by k-means for k = 2 … ``most``, keep the k of the best silhouette, and return it.

    Fewer than three distinct points are one cluster. Of ``starts`` runs for each k the tightest counts.
    """
    labels[:] = 0
    if len(squared) < 3:
        return 1
    distinct = _distinct(squared)
    if distinct < 3:
        return 1
    distances = np.sqrt(squared)
    tightest = np.empty(len(squared), np.int64)
    best_k, best = 1, -2.0
    for k in range(2, min(most, distinct - 1) + 1):
        tightest_k_means(squared, k, key, starts, tightest)
        score = silhouette(distances, tightest, k)
        if score > best:
            best_k, best = k, score
            labels[:] = tightest
    return best_k


@compiled()
def centre_each(rows, starts, points):
    """Put each word's vectors, centred by their mean, into its part of ``points`` (W, N, d), which are zeros."""
    for word in range(len(starts) - 1):
        first, last = starts[word], starts[word + 1]
        mean = np.zeros(rows.shape[1])
        for i in range(first, last):
            mean += rows[i]
        mean /= max(last - first, 1)
        for i in range(first, last):
            points[word, i - first] = rows[i] - mean


@compiled()
def label_each(grams, starts, keys, most, least, labels, counts):
    """Cluster the vectors of each of W words by their inner products ``grams`` (W, N, N).

    ``labels`` (R,) get each vector's cluster, from 0 in each word, and ``counts`` (W,) how many each word has: if
    ``least`` is 0 the number of the best silhouette, else ``most``, or fewer so that each has so many on average.
    """
    for word in range(len(counts)):
        size = starts[word + 1] - starts[word]
        squared = squared_distances(grams[word, :size, :size])
        own = labels[starts[word] : starts[word + 1]]
        own[:] = 0
        if least == 0:
            best_k_means(squared, most, keys[word], 3, own)
        elif min(most, size // least) > 1:
            tightest_k_means(squared, min(most, size // least), keys[word], 3, own)
        counts[word] = _numbered(own, most)


@kernel()
def _numbered(labels, most):
    """Number the clusters that have points from 0, in their order; returns how many there are."""
    number = np.full(most, -1, np.int64)
    for label in labels:
        number[label] = 0
    found = 0
    for label in range(most):
        if number[label] == 0:
            number[label] = found
            found += 1
    for i in range(len(labels)):
        labels[i] = number[labels[i]]
    return found


@compiled()
def mean_each(rows, starts, labels, counts, means, sizes):
    """The ``means`` (C, d) of all clusters of all words, and how many vectors each has; both are zeros before."""
    base = 0
    for word in range(len(counts)):
        for i in range(starts[word], starts[word + 1]):
            means[base + labels[i]] += rows[i]
            sizes[base + labels[i]] += 1
        base += counts[word]
    for cluster in range(len(means)):
        means[cluster] /= sizes[cluster]
