"""Rank correlation, how sure it is, and how two of them compare.

Notation: gold judgements g and scores x of k items, NaN where a model does not cover an item. The items fall into G
clusters, such as the pairs of verb and landmark of the disambiguation sets: items of one cluster are alike by chance
already, so what is resampled are clusters, never single items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError

Array = NDArray[np.float64]
Interval = tuple[float, float]

_BLOCK = 2_000_000  # numbers in a block of resamples, so that memory does not grow with their count
_INTERVAL = 2000  # resamples for an interval, at most
_NEARLY_ONE = 1 - 1e-9  # atanh of more than this is noise
_NORMAL = 10_000  # degrees of freedom from which Student's t is taken as that many


def ranks(x: Array) -> Array:
    """The rank of each number from 1, (k,); equal numbers share the mean of their ranks."""
    _, group, size = np.unique(x, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(size) - (size - 1) / 2)[group])


def pearson(x: Array, y: Array) -> float:
    """Σ (x−x̄)(y−ȳ) / √(Σ (x−x̄)² Σ (y−ȳ)²); NaN where one of them does not vary."""
    if len(x) < 2:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    length = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / length) if length > 0 else float("nan")


def spearman(x: Array, y: Array) -> float:
    """Spearman's ρ: Pearson's correlation of the ranks, over the items where both are numbers."""
    both = np.isfinite(x) & np.isfinite(y)
    return pearson(ranks(x[both]), ranks(y[both]))


def partial(x: Array, y: Array, given: Array) -> float:
    """(r_xy − r_xz r_yz) / √((1 − r_xz²)(1 − r_yz²)): how x and y correlate once z is accounted for."""
    xy, xz, yz = pearson(x, y), pearson(x, given), pearson(y, given)
    left = (1 - xz**2) * (1 - yz**2)
    return float((xy - xz * yz) / np.sqrt(left)) if left > 0 else float("nan")


# ------------------------------------------------------------------------------------------------------------ bootstrap


def bootstrap(
    gold: Array, scores: Array, resamples: int = 1000, seed: int = 0, clusters: Sequence[str] | None = None
) -> Array:
    """Spearman's ρ of each of many resamples of the clusters of items, with replacement: (models, resamples).

    A resample is how often it takes each item, c (k,). Within it an item ranks behind all smaller ones and in the
    middle of its equals, so ranks follow from running sums of c over the sorted items: no resample is ever sorted. ρ is
    then the correlation of the ranks with weights c.

    Args:
        scores: (models, k) or (k,), no NaN: the models are resampled together.
        clusters: the cluster of each item, (k,): all of its items are taken together. By default each is its own.
    """
    scores = np.atleast_2d(scores)
    found = np.empty((len(scores), resamples))
    groups = [_tie_groups(gold), *(_tie_groups(row) for row in scores)]
    for part, counts in _resamples(_codes(clusters, len(gold)), resamples, seed):
        items = counts.sum(axis=1)
        g = _weighted_ranks(counts, *groups[0])
        g -= (counts * g).sum(axis=1, keepdims=True) / items[:, None]
        gg = (counts * g * g).sum(axis=1)
        g *= counts
        for model, (order, start) in enumerate(groups[1:]):
            x = _weighted_ranks(counts, order, start)
            xx = (counts * x * x).sum(axis=1) - (counts * x).sum(axis=1) ** 2 / items
            length = np.sqrt(np.maximum(gg * xx, 0))
            with np.errstate(invalid="ignore", divide="ignore"):
                found[model, part] = np.where(length > 0, (g * x).sum(axis=1) / length, np.nan)
    return found


def interval(rho: float, resampled: Array, clusters: int, level: float = 0.95) -> Interval:
    """The interval of ρ from resampled ρ* and the number G of clusters that were resampled:

        tanh( z ± t_{G−1} s √(G/(G−1)) ),   z = atanh ρ,   s the standard deviation of atanh ρ*

    With the 10 to 30 clusters of the disambiguation sets, the percentiles of ρ* make intervals that are too short;
    these keep their level (``docs/measurements/evaluation.md``).
    """
    z = np.arctanh(np.clip([rho], -_NEARLY_ONE, _NEARLY_ONE))[0]
    low, high = _around(float(z), np.arctanh(np.clip(resampled, -_NEARLY_ONE, _NEARLY_ONE)), clusters, level)
    return float(np.tanh(low)), float(np.tanh(high))


def _around(value: float, resampled: Array, clusters: int, level: float) -> Interval:
    """value ± t_{G−1} s √(G/(G−1))."""
    error = _error(resampled, clusters)
    reach = student_quantile((1 + level) / 2, clusters - 1) * error if error > 0 else error
    return value - reach, value + reach


def _error(resampled: Array, clusters: int) -> float:
    """The standard error s √(G/(G−1)); NaN where there is none."""
    known = resampled[np.isfinite(resampled)]
    if len(known) < 2 or clusters < 2:
        return float("nan")
    return float(known.std(ddof=1) * np.sqrt(clusters / (clusters - 1)))


def student_quantile(p: float, freedom: int) -> float:
    """The quantile of Student's t, p ≥ ½."""
    t, upper = _student(min(freedom, _NORMAL))
    return float(np.interp(p - 1, -upper, t))


def student_tail(value: float, freedom: int) -> float:
    """P(T > value) of Student's t."""
    t, upper = _student(min(freedom, _NORMAL))
    tail = float(np.interp(abs(value), t, upper))
    return tail if value >= 0 else 1 - tail


@cache
def _student(freedom: int) -> tuple[Array, Array]:
    """Values t ≥ 0 of Student's t and P(T > t): with t = √ν tan θ its density is cosᵛ⁻¹ θ."""
    theta = np.linspace(0, np.pi / 2, 40_001)
    density = np.cos(theta) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.sqrt(freedom) * np.tan(theta), (1 - area / area[-1]) / 2


def _codes(clusters: Sequence[str] | None, items: int) -> NDArray[np.int64]:
    """The number of each item's cluster, (k,), from 0 in the order of their first items."""
    if clusters is None:
        return np.arange(items)
    number = {name: code for code, name in enumerate(dict.fromkeys(clusters))}
    return np.array([number[name] for name in clusters], dtype=np.int64)


def _resamples(clusters: NDArray[np.int64], resamples: int, seed: int) -> Iterator[tuple[slice, Array]]:
    """How often each resample takes each item, (block, k), block by block; one seed always draws the same."""
    rng = np.random.default_rng(seed)
    groups = int(clusters.max()) + 1 if len(clusters) else 0
    block = max(1, _BLOCK // max(len(clusters), 1))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        chosen = rng.integers(0, groups, (rows, groups)) + np.arange(rows)[:, None] * groups
        counts = np.bincount(chosen.ravel(), minlength=rows * groups).reshape(rows, groups)
        yield slice(start, start + rows), counts.astype(np.float64)[:, clusters]


def _tie_groups(x: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order that sorts x, and where in it each group of equal numbers starts."""
    order = np.argsort(x, kind="stable")
    change = np.concatenate([[True], np.diff(x[order]) != 0])
    return order, np.flatnonzero(change)


def _weighted_ranks(counts: Array, order: NDArray[np.int64], start: NDArray[np.int64]) -> Array:
    """The rank of every item in each resample, (block, k): the items before its group, and half of the group."""
    size = np.add.reduceat(counts[:, order], start, axis=1)
    middle = np.cumsum(size, axis=1) - (size - 1) / 2
    lengths = np.diff(np.append(start, counts.shape[1]))
    found = np.empty_like(counts)
    found[:, order] = np.repeat(middle, lengths, axis=1)
    return found


# ----------------------------------------------------------------------------------------------------------- two models

LEVEL = 0.05  # the level of the tests
MARGIN = 0.1  # two ρ that differ by less are taken as equivalent


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two models compare on the same items."""

    difference: float  # ρ of the first less ρ of the second, over the items that both cover
    interval: Interval  # its 95 % interval
    p: float  # one-sided: how likely a difference at least this large is if the first were no better
    p_worse: float  # likewise, if it were no worse
    # how likely a difference this near to 0 is if the true one were ``margin`` or more (two one-sided tests, TOST)
    p_equivalent: float
    comparisons: int  # how many were made in all, which Bonferroni's correction counts
    items: int  # how many both cover
    clusters: int  # how many clusters these make
    margin: float = MARGIN  # what counts as equivalent

    @property
    def adjusted(self) -> float:
        """p after Bonferroni's correction."""
        return min(1.0, self.p * self.comparisons)

    @property
    def adjusted_worse(self) -> float:
        """p_worse after Bonferroni's correction."""
        return min(1.0, self.p_worse * self.comparisons)

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``equivalent`` where a test says so after correction, else ``not told apart``."""
        if self.adjusted <= LEVEL:
            return "better"
        if self.adjusted_worse <= LEVEL:
            return "worse"
        return "equivalent" if self.p_equivalent * self.comparisons <= LEVEL else "not told apart"

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON holds them."""
        found = asdict(self) | {"adjusted": self.adjusted, "adjusted_worse": self.adjusted_worse}
        return found | {"interval": list(self.interval), "verdict": self.verdict}


def paired_test(
    gold: Array,
    first: Array,
    second: Array,
    *,
    clusters: Sequence[str] | None = None,
    comparisons: int = 1,
    margin: float = MARGIN,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Test, one-sided, whether the first model correlates better with the gold judgements than the second.

    A permutation test: were the models equally good, they could change places in any cluster of items. Each resample
    swaps their ranks in a random half of the clusters; p is the share of resamples with as large a difference. The
    interval and the equivalence test are from a bootstrap, which resamples clusters, both models together: another
    data set would have other clusters. The p of a t-test over bootstrap samples, as in the released scripts, would
    depend on how many samples are drawn.

    Args:
        clusters: the cluster of each item, such as its verb and landmark; by default each item is its own.
        comparisons: how many comparisons are made in all, for Bonferroni's correction.
        margin: differences below it count as equivalence.
    """
    if comparisons < 1 or resamples < 1:
        raise InputError(f"a test needs at least one comparison and one resample, not {comparisons} and {resamples}")
    both = np.isfinite(gold) & np.isfinite(first) & np.isfinite(second)
    g, a, b = (x[both] for x in (gold, first, second))
    codes = _codes(None if clusters is None else np.asarray(clusters)[both].tolist(), len(g))
    groups = int(codes.max()) + 1 if len(codes) else 0
    difference = spearman(g, a) - spearman(g, b)
    if not np.isfinite(difference):
        nan = float("nan")
        return Comparison(nan, (nan, nan), 1.0, 1.0, 1.0, comparisons, int(both.sum()), groups, margin)
    drawn = bootstrap(g, np.stack([a, b]), min(resamples, _INTERVAL), seed, [str(code) for code in codes])
    spread = drawn[0] - drawn[1]
    error = _error(spread, groups)
    better, worse = _permuted(g, a, b, codes, difference, resamples, seed)
    near = 1.0
    if error > 0:
        near = student_tail((margin - abs(difference)) / error, groups - 1)
    elif error == 0:
        near = 0.0 if abs(difference) < margin else 1.0
    bounds = _around(difference, spread, groups, 0.95)
    return Comparison(difference, bounds, better, worse, near, comparisons, int(both.sum()), groups, margin)


def _permuted(
    g: Array, a: Array, b: Array, clusters: NDArray[np.int64], difference: float, resamples: int, seed: int
) -> tuple[float, float]:
    """In which share of swappings the correlations of the ranks differ as much, upwards and downwards.

    With s (G,) telling which clusters are swapped, every sum that a correlation needs is linear in s.
    """
    rng = np.random.default_rng(seed)
    g, a, b = ranks(g), ranks(a), ranks(b)
    g = g - g.mean()
    groups, k = int(clusters.max()) + 1, len(g)
    columns = np.zeros((groups, 3))
    np.add.at(columns, clusters, np.stack([g * (b - a), b - a, b**2 - a**2], axis=1))
    as_large = as_small = 0
    observed = difference * np.linalg.norm(g)
    for start in range(0, resamples, block := max(1, _BLOCK // k)):
        swapped = rng.integers(0, 2, (min(block, resamples - start), groups), dtype=np.int8) @ columns
        scaled = []
        for x, sign in ((a, 1), (b, -1)):
            product, total, square = np.array([[g @ x], [x.sum()], [x @ x]]) + sign * swapped.T
            spread = np.sqrt(np.maximum(square - total**2 / k, 1e-300))
            scaled.append(product / spread)
        as_large += int((scaled[0] - scaled[1] >= observed - 1e-9).sum())
        as_small += int((scaled[0] - scaled[1] <= observed + 1e-9).sum())
    return (1 + as_large) / (1 + resamples), (1 + as_small) / (1 + resamples)


# --------------------------------------------------------------------------------------------------------------- people


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well people agree among themselves."""

    pairwise: float  # the mean Spearman ρ of two annotators over the items both rated
    one_against_rest: float  # the mean ρ of one annotator with the mean of all others
    annotators: int  # how many there are


def human_agreement(ratings: Array) -> Agreement:
    """Agreement of annotators from their ratings, (annotators, k), NaN where one gave none.

    Neither bounds what a model can reach against the mean of all ratings, which is more reliable than one person.
    """
    found = []
    for i in range(len(ratings)):
        for j in range(i):
            if (np.isfinite(ratings[i]) & np.isfinite(ratings[j])).sum() > 2:
                found.append(spearman(ratings[i], ratings[j]))
    given = np.isfinite(ratings)
    total, count = np.where(given, ratings, 0.0).sum(axis=0), given.sum(axis=0)
    rest = []
    for row, has in zip(ratings, given, strict=True):
        others = count - has
        mean = np.where(others > 0, (total - np.where(has, row, 0.0)) / np.maximum(others, 1), np.nan)
        rest.append(spearman(row, mean))
    return Agreement(_mean(found), _mean(rest), len(ratings))


def _mean(values: list[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
