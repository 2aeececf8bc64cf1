import numpy as np
import pytest
from numba import njit

from polysema.kernels import clusters, sampling
from polysema.kernels.sampling import GOLDEN, stream_key
from polysema.training import streams as many

mixed = njit(sampling.mixed.py_func)


def blobs(seed, k=3, count=60, width=20, spread=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, count)
    return rng.normal(size=(k, width))[truth] * 2 + spread * rng.normal(size=(count, width)), truth


def squared_distances(points):
    centred = points - points.mean(0)
    return clusters.squared_distances(centred @ centred.T)


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [5, 80])
def test_planted_clusters_and_their_number_are_found(seed, width):
    points, truth = blobs(seed, k=4, width=width)
    labels = np.empty(len(points), np.int64)
    assert clusters.best_k_means(squared_distances(points), 10, stream_key(seed), 3, labels) == 4
    assert same_partition(labels, truth)


def lloyd(points, k, key, iterations):
    """The same algorithm with the centroids themselves, and the seeds one after the other."""
    count = len(points)
    chosen = [int(mixed(key) % np.uint64(count))]
    for c in range(1, k):
        nearest = ((points[:, None] - points[chosen]) ** 2).sum(2).min(1)
        share = float(mixed(key + np.uint64(c) * GOLDEN) >> np.uint64(11)) / 2.0**53 * nearest.sum()
        chosen.append(min(int(np.searchsorted(nearest.cumsum(), share, side="right")), count - 1))
    centroids = points[chosen]
    for _ in range(iterations):
        distances = ((points[:, None] - centroids) ** 2).sum(2)
        labels = distances.argmin(1)
        if len(set(labels.tolist())) < k:
            return None  # what to do with an empty cluster is up to each
        centroids = np.array([points[labels == c].mean(0) for c in range(k)])
    return labels, ((points - centroids[labels]) ** 2).sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 5, 9])
def test_distances_alone_give_the_clusters_of_lloyd(seed, k):
    points, _ = blobs(seed, spread=1.0)
    points += 100  # far from the origin
    labels = np.empty(len(points), np.int64)
    with np.errstate(over="ignore"):
        expected = lloyd(points, k, stream_key(seed), 100)
    inertia = clusters.k_means(squared_distances(points), k, stream_key(seed), 100, labels)
    assert expected is not None
    np.testing.assert_array_equal(labels, expected[0])
    assert inertia == pytest.approx(expected[1])


def test_few_points_fill_as_many_clusters_as_are_asked_for():
    labels = np.zeros(6, np.int64)
    for seed in range(50):
        points = np.array([[0.0], [0.1], [0.2], [10.0], [10.1], [30.0]])
        clusters.k_means(squared_distances(points), 5, stream_key(seed), 100, labels)
        assert len(set(labels.tolist())) == 5


@pytest.mark.parametrize("points", [np.ones((1, 4)), np.ones((9, 4)), np.repeat(np.eye(2, 4), 5, axis=0)])
def test_too_few_distinct_points_are_one_cluster(points):
    labels = np.full(len(points), 7)
    assert clusters.best_k_means(squared_distances(points), 10, stream_key(1), 3, labels) == 1
    assert (labels == 0).all()


@pytest.mark.parametrize("least", [0, 5])
@pytest.mark.parametrize("together", [1, 1 << 15, 1 << 30])
def test_many_words_at_once_equal_one_after_the_other(monkeypatch, least, together):
    pytest.importorskip("threadpoolctl")
    monkeypatch.setattr(many, "TOGETHER", together)
    words = [blobs(seed, k=1 + seed % 4, count=count)[0] for seed, count in enumerate([40, 40, 33, 12, 12, 7, 3, 1])]
    starts = np.concatenate([[0], np.cumsum([len(points) for points in words])])
    keys = np.array([stream_key(3, word) for word in range(len(words))], np.uint64)
    vectors = np.concatenate(words).astype(np.float32)
    found = list(many.clusters_of_each(vectors, starts, keys, 6, least, 3))
    means, sizes = (np.concatenate([getattr(part, name) for part in found]) for name in ("means", "sizes"))
    at = 0
    for points, key, k in zip(words, keys, np.concatenate([part.counts for part in found]), strict=True):
        labels = np.zeros(len(points), np.int64)
        squared = squared_distances(points.astype(np.float32).astype(np.float64))
        if least == 0:
            clusters.best_k_means(squared, 6, key, 3, labels)
        elif min(6, len(points) // least) > 1:
            clusters.tightest_k_means(squared, min(6, len(points) // least), key, 3, labels)
        own = sorted(set(labels.tolist()))
        assert k == len(own)
        np.testing.assert_allclose(means[at : at + k], [points[labels == c].mean(0) for c in own], atol=1e-5)
        assert sizes[at : at + k].tolist() == [(labels == c).sum() for c in own]
        at += k
    assert at == len(means)
