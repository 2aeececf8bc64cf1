from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation import statistics
from polysema.evaluation.statistics import (
    bootstrap,
    human_agreement,
    interval,
    paired_test,
    partial,
    pearson,
    ranks,
    spearman,
)

numbers = arrays(np.float64, st.integers(3, 30), elements=st.integers(-4, 4).map(float))


@given(numbers)
def test_ranks_are_scipys(x):
    assert np.array_equal(ranks(x), stats.rankdata(x))


@given(numbers, st.integers(0, 2**32 - 1))
def test_spearman_is_scipys(x, seed):
    y = np.random.default_rng(seed).integers(0, 5, len(x)).astype(float)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(spearman(x, y))
    else:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)


def test_spearman_leaves_out_what_is_not_covered():
    x, y = np.array([1.0, 2, np.nan, 4, 5]), np.array([2.0, 1, 9, 4, np.nan])
    assert spearman(x, y) == pytest.approx(stats.spearmanr([1, 2, 4], [2, 1, 4])[0])
    assert np.isnan(spearman(np.array([1.0]), np.array([1.0])))


def test_partial_is_the_correlation_of_residuals():
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    x, y = z + rng.normal(size=200), 2 * z + rng.normal(size=200)
    rest = [v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y)]
    assert partial(x, y, z) == pytest.approx(stats.pearsonr(*rest)[0], abs=1e-12)


@pytest.mark.parametrize("block", [10, 10**6])
def test_bootstrap_is_spearman_of_each_resample(block, monkeypatch):
    monkeypatch.setattr(statistics, "_BLOCK", block)
    rng = np.random.default_rng(1)
    gold, scores = rng.integers(0, 6, 25).astype(float), rng.integers(0, 9, (2, 25)).astype(float)
    found = bootstrap(gold, scores, 40, seed=5)
    drawn = np.concatenate([counts for _, counts in statistics._resamples(25, 40, 5)]).astype(int)
    for r, counts in enumerate(drawn):
        items = np.repeat(np.arange(25), counts)
        for model in range(2):
            expected = stats.spearmanr(gold[items], scores[model][items])[0]
            assert found[model, r] == pytest.approx(expected, abs=1e-12)


def test_bootstrap_interval_covers_the_truth():
    """Of a known ρ about 95 of 100 intervals hold it."""
    truth = 6 / np.pi * np.arcsin(0.5 / 2)  # Spearman's ρ of normal numbers that correlate by .5
    rng = np.random.default_rng(2)
    inside = 0
    for trial in range(200):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 200).T
        low, high = interval(bootstrap(x, y, 400, seed=trial)[0])
        inside += low <= truth <= high
    assert 180 <= inside <= 199


def test_paired_permutation_is_the_slow_one():
    rng = np.random.default_rng(3)
    gold = rng.normal(size=40)
    a, b = gold + rng.normal(size=40), gold + 2 * rng.normal(size=40)
    g, ra, rb = (stats.rankdata(v) for v in (gold, a, b))
    observed = np.corrcoef(g, ra)[0, 1] - np.corrcoef(g, rb)[0, 1]
    swap = np.random.default_rng(9).integers(0, 2, (500, 40), dtype=np.int8).astype(bool)
    count = sum(
        np.corrcoef(g, np.where(s, rb, ra))[0, 1] - np.corrcoef(g, np.where(s, ra, rb))[0, 1] >= observed - 1e-12
        for s in swap
    )
    found = paired_test(gold, a, b, resamples=500, seed=9)
    assert found.difference == pytest.approx(observed)
    assert found.p == pytest.approx((1 + count) / 501)


@pytest.mark.parametrize("method", ["permutation", "bootstrap"])
def test_paired_tests_hold_their_level_and_have_power(method):
    rng = np.random.default_rng(4)
    false_alarms = hits = 0
    for trial in range(200):
        gold = rng.normal(size=100)
        a, b = (gold + 1.5 * rng.normal(size=100) for _ in range(2))
        better = gold + 0.5 * rng.normal(size=100)
        false_alarms += paired_test(gold, a, b, method=method, resamples=200, seed=trial).p <= 0.05
        hits += paired_test(gold, better, b, method=method, resamples=200, seed=trial).p <= 0.05
    assert false_alarms <= 20  # 10 expected
    assert hits >= 190


def test_paired_test_details():
    gold = np.arange(20.0)
    x, worse = gold.copy(), -gold
    x[0] = np.nan
    found = paired_test(gold, x, worse, comparisons=1000, resamples=99)
    assert found.items == 19
    assert found.difference == pytest.approx(2)
    assert found.p == 0.01
    assert found.adjusted == 1.0
    assert paired_test(gold, x, x).p == 1.0
    assert paired_test(gold, np.ones(20), x).p == 1.0
    with pytest.raises(UnknownChoiceError, match="permutation or bootstrap"):
        paired_test(gold, x, x, method="t-test")
    with pytest.raises(InputError):
        paired_test(gold, x, x, comparisons=0)


def test_human_agreement_of_three():
    ratings = np.array([[1.0, 2, 3, 4], [1, 2, 4, 3], [2, np.nan, 5, 6]])
    found = human_agreement(ratings)
    pairs = [stats.spearmanr(ratings[0], ratings[1])[0], 1.0, stats.spearmanr([1, 4, 3], [2, 5, 6])[0]]
    assert found.pairwise == pytest.approx(np.mean(pairs))
    assert found.annotators == 3
