import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from polysema.errors import InputError
from polysema.evaluation import statistics
from polysema.evaluation.statistics import (
    bootstrap,
    human_agreement,
    paired_test,
    partial,
    pearson,
    ranks,
    spearman,
    student_quantile,
    student_tail,
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


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("block", [10, 10**6])
def test_bootstrap_is_spearman_of_each_resample(block, clustered, monkeypatch):
    monkeypatch.setattr(statistics, "_BLOCK", block)
    rng = np.random.default_rng(1)
    gold, scores = rng.integers(0, 6, 25).astype(float), rng.integers(0, 9, (2, 25)).astype(float)
    clusters = [f"c{i % 7}" for i in range(25)] if clustered else None
    found = bootstrap(gold, scores, 40, seed=5, clusters=clusters)
    codes = np.arange(25) % 7 if clustered else np.arange(25)
    drawn = np.concatenate([counts for _, counts in statistics._resamples(codes, 40, 5)]).astype(int)
    for r, counts in enumerate(drawn):
        if clustered:
            assert all(len(set(counts[codes == code])) == 1 for code in range(7))  # whole clusters
            assert sum(counts[code] for code in range(7)) == 7
        items = np.repeat(np.arange(25), counts)
        for model in range(2):
            expected = stats.spearmanr(gold[items], scores[model][items])[0]
            assert found[model, r] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("clusters", [40, 6])
def test_whole_clusters_change_places(clusters):
    """The fast permutation test is the slow one, with items alone and in clusters."""
    rng = np.random.default_rng(3)
    codes = np.arange(40) % clusters
    gold = rng.normal(size=40)
    a, b = gold + rng.normal(size=40), gold + 2 * rng.normal(size=40)
    g, ra, rb = (stats.rankdata(v) for v in (gold, a, b))
    observed = np.corrcoef(g, ra)[0, 1] - np.corrcoef(g, rb)[0, 1]
    swap = np.random.default_rng(9).integers(0, 2, (500, clusters), dtype=np.int8).astype(bool)[:, codes]
    differences = [np.corrcoef(g, np.where(s, rb, ra))[0, 1] - np.corrcoef(g, np.where(s, ra, rb))[0, 1] for s in swap]
    found = paired_test(gold, a, b, resamples=500, seed=9, clusters=[str(code) for code in codes])
    assert found.clusters == clusters
    assert found.difference == pytest.approx(observed)
    assert found.p == pytest.approx((1 + sum(d >= observed - 1e-12 for d in differences)) / 501)
    assert found.p_worse == pytest.approx((1 + sum(d <= observed + 1e-12 for d in differences)) / 501)
    assert found.interval[0] < observed < found.interval[1]


@pytest.mark.parametrize("freedom", [1, 2, 9, 19, 200, 2999])
def test_students_t_is_scipys(freedom):
    for p in (0.6, 0.9, 0.95, 0.975):
        assert student_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-5)
    for value in (-1.0, 0.0, 0.5, 2.0, 3.0):
        assert student_tail(value, freedom) == pytest.approx(stats.t.sf(value, freedom), abs=1e-6)


def test_equivalent_only_by_a_test():
    """Two models that say nearly the same of many items are equivalent; two that say little of few are not."""
    rng = np.random.default_rng(5)
    gold = rng.normal(size=400)
    a = gold + rng.normal(size=400)
    near = a + 0.01 * rng.normal(size=400)
    assert paired_test(gold, a, near, resamples=500).verdict == "equivalent"
    assert paired_test(gold, a, near, resamples=500, margin=1e-6).verdict == "not told apart"
    few, other = gold[:20] + rng.normal(size=20), gold[:20] + rng.normal(size=20)
    assert paired_test(gold[:20], few, other, resamples=500).verdict == "not told apart"
    assert paired_test(gold, gold, rng.normal(size=400), resamples=500).verdict == "better"
    assert paired_test(gold, rng.normal(size=400), gold, resamples=500).verdict == "worse"


def test_paired_test_details():
    gold = np.arange(20.0)
    x, worse = gold.copy(), -gold
    x[0] = np.nan
    found = paired_test(gold, x, worse, comparisons=1000, resamples=99)
    assert found.items == 19
    assert found.difference == pytest.approx(2)
    assert found.p == 0.01
    assert found.adjusted == 1.0
    same = paired_test(gold, x, x)
    assert (same.p, same.p_worse, same.verdict) == (1.0, 1.0, "equivalent")
    assert paired_test(gold, np.ones(20), x).p == 1.0
    with pytest.raises(InputError):
        paired_test(gold, x, x, comparisons=0)


def test_human_agreement_of_three():
    ratings = np.array([[1.0, 2, 3, 4], [1, 2, 4, 3], [2, np.nan, 5, 6]])
    found = human_agreement(ratings)
    pairs = [stats.spearmanr(ratings[0], ratings[1])[0], 1.0, stats.spearmanr([1, 4, 3], [2, 5, 6])[0]]
    assert found.pairwise == pytest.approx(np.mean(pairs))
    assert found.annotators == 3
