"""Rank correlation, how sure it is, and how two of them compare.

Notation: gold judgements g and scores x of k items, NaN where a model does not cover an item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, UnknownChoiceError

Array = NDArray[np.float64]

_BLOCK = 2_000_000  # numbers in a block of resamples, so that memory does not grow with their count


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


# ----------------------------------------------------------------------------------------------------------- bootstrap


def bootstrap(gold: Array, scores: Array, resamples: int = 1000, seed: int = 0) -> Array:
    """Spearman's ρ of each of many resamples of the items, with replacement: (models, resamples).

    A resample is how often it takes each item, c (k,). Within it an item ranks behind all smaller ones and in the
    middle of its equals, so ranks follow from running sums of c over the sorted items: no resample is ever sorted. ρ is
    then the correlation of the ranks with weights c.

    Args:
        scores: (models, k) or (k,), no NaN: the models are resampled together.
    """
    scores = np.atleast_2d(scores)
    found = np.empty((len(scores), resamples))
    groups = [_tie_groups(gold), *(_tie_groups(row) for row in scores)]
    for part, counts in _resamples(len(gold), resamples, seed):
        g = _weighted_ranks(counts, *groups[0])
        g -= (counts * g).sum(axis=1, keepdims=True) / len(gold)
        gg = (counts * g * g).sum(axis=1)
        g *= counts
        for model, (order, start) in enumerate(groups[1:]):
            x = _weighted_ranks(counts, order, start)
            xx = (counts * x * x).sum(axis=1) - (counts * x).sum(axis=1) ** 2 / len(gold)
            length = np.sqrt(np.maximum(gg * xx, 0))
            with np.errstate(invalid="ignore", divide="ignore"):
                found[model, part] = np.where(length > 0, (g * x).sum(axis=1) / length, np.nan)
    return found


def interval(resampled: Array, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of bootstrapped values."""
    known = resampled[np.isfinite(resampled)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _resamples(items: int, resamples: int, seed: int) -> Iterator[tuple[slice, Array]]:
    """How often each resample takes each item, (block, k), block by block; one seed always draws the same."""
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // max(items, 1))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        chosen = rng.integers(0, items, (rows, items)) + np.arange(rows)[:, None] * items
        counts = np.bincount(chosen.ravel(), minlength=rows * items).reshape(rows, items)
        yield slice(start, start + rows), counts.astype(np.float64)


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


# ------------------------------------------------------------------------------------------------------ two models


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Whether one model does better than another on the same items.

    Attributes:
        difference: ρ of the first less ρ of the second, over the items that both cover.
        p: one-sided: how likely so large a difference is if the first were no better.
        items: how many both cover.
        adjusted: p times the number of comparisons made (Bonferroni), at most 1.
    """

    difference: float
    p: float
    items: int
    adjusted: float


def paired_test(
    gold: Array,
    first: Array,
    second: Array,
    *,
    method: str = "permutation",
    comparisons: int = 1,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Test, one-sided, whether the first model correlates better with the gold judgements than the second.

    - ``permutation``: were the models equally good, their ranks of an item could change places. Each resample swaps
      them for a random half of the items; p is the share of resamples with as large a difference.
    - ``bootstrap``: items are resampled with replacement, both models together; p is the share of resamples in which
      the first is not better.

    Both resample items, of which there could have been others; the p of a t-test over bootstrap samples, as in the
    released scripts, only tells how many samples were drawn.
    """
    if method not in TESTS:
        raise UnknownChoiceError("paired test", method, TESTS)
    if comparisons < 1 or resamples < 1:
        raise InputError(f"a test needs at least one comparison and one resample, not {comparisons} and {resamples}")
    both = np.isfinite(gold) & np.isfinite(first) & np.isfinite(second)
    g, a, b = (x[both] for x in (gold, first, second))
    difference = spearman(g, a) - spearman(g, b)
    if not np.isfinite(difference):
        return PairedTest(float("nan"), 1.0, int(both.sum()), 1.0)
    as_large = TESTS[method](g, a, b, difference, resamples, seed)
    p = (1 + as_large) / (1 + resamples)
    return PairedTest(difference, p, int(both.sum()), min(1.0, p * comparisons))


def _permutation(g: Array, a: Array, b: Array, difference: float, resamples: int, seed: int) -> int:
    """In how many swappings the correlations of the ranks differ as much.

    With s (k,) telling which items are swapped, every sum that a correlation needs is linear in s.
    """
    rng = np.random.default_rng(seed)
    g, a, b = ranks(g), ranks(a), ranks(b)
    g = g - g.mean()
    columns = np.stack([g * (b - a), b - a, b**2 - a**2], axis=1)
    count, k = 0, len(g)
    for start in range(0, resamples, block := max(1, _BLOCK // k)):
        swapped = rng.integers(0, 2, (min(block, resamples - start), k), dtype=np.int8) @ columns
        scaled = []
        for x, sign in ((a, 1), (b, -1)):
            product, total, square = np.array([[g @ x], [x.sum()], [x @ x]]) + sign * swapped.T
            spread = np.sqrt(np.maximum(square - total**2 / k, 1e-300))
            scaled.append(product / spread)
        count += int((scaled[0] - scaled[1] >= difference * np.linalg.norm(g) - 1e-9).sum())
    return count


def _bootstrap(g: Array, a: Array, b: Array, difference: float, resamples: int, seed: int) -> int:
    first, second = bootstrap(g, np.stack([a, b]), resamples, seed)
    return int((~(first - second > 0)).sum())


TESTS = {"permutation": _permutation, "bootstrap": _bootstrap}
"""The paired tests by name."""


# --------------------------------------------------------------------------------------------------------------- people


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well people agree among themselves.

    Attributes:
        pairwise: the mean Spearman ρ of two annotators over the items both rated.
        one_against_rest: the mean ρ of one annotator with the mean of all others.
        annotators: how many there are.
    """

    pairwise: float
    one_against_rest: float
    annotators: int


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
