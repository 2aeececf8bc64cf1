from __future__ import annotations

import numpy as np
import pytest

from polysema.kernels import clusters
from polysema.kernels.sampling import stream_key


def blobs(seed, k=3, count=60, width=20, spread=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, count)
    return rng.normal(size=(k, width))[truth] * 2 + spread * rng.normal(size=(count, width)), truth


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [5, 80])
def test_planted_clusters_and_their_number_are_found(seed, width):
    points, truth = blobs(seed, k=4, width=width)
    labels = np.empty(len(points), np.int64)
    assert clusters.best_k_means(points, 10, stream_key(seed), 3, labels) == 4
    assert same_partition(labels, truth)


@pytest.mark.parametrize("seed", range(3))
def test_silhouette_and_tightness_against_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    from sklearn.cluster import KMeans

    points, _ = blobs(seed, spread=2.0)
    squared = clusters.squared_distances(points)
    np.testing.assert_allclose(np.sqrt(squared), metrics.pairwise_distances(points), atol=1e-6)
    labels = np.empty(len(points), np.int64)
    for k in (2, 5, 9):
        least = min(clusters.k_means(points, squared, k, stream_key(seed, start), 100, labels) for start in range(10))
        expected = KMeans(k, n_init=10, random_state=0).fit(points).inertia_
        assert least < 1.1 * expected
        clusters.k_means(points, squared, k, stream_key(seed, 99), 100, labels)
        found = clusters.silhouette(np.sqrt(squared), labels, k)
        assert found == pytest.approx(metrics.silhouette_score(points, labels))


def test_turning_keeps_distances():
    points, _ = blobs(0, count=12, width=40)
    turned = clusters.turned(points)
    assert turned.shape == (12, 12)
    np.testing.assert_allclose(clusters.squared_distances(turned), clusters.squared_distances(points), atol=1e-9)


@pytest.mark.parametrize("points", [np.ones((1, 4)), np.ones((9, 4)), np.repeat(np.eye(2, 4), 5, axis=0)])
def test_too_few_distinct_points_are_one_cluster(points):
    labels = np.full(len(points), 7)
    assert clusters.best_k_means(points, 10, stream_key(1), 3, labels) == 1
    assert (labels == 0).all()


def test_sums_of_outer_products():
    rng = np.random.default_rng(0)
    vectors, rows = rng.normal(size=(50, 4)), rng.integers(-1, 3, 50)
    sums = np.zeros((3, 10))
    clusters.add_outer(sums, rows, vectors)
    for word in range(3):
        expected = vectors[rows == word].T @ vectors[rows == word]
        np.testing.assert_allclose(sums[word], expected[np.triu_indices(4)], atol=1e-12)
