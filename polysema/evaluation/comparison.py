"""Comparison of models on the items they share: the best model, paired tests, and what chance reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from polysema.errors import InputError
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import evaluate
from polysema.evaluation.results import Compared, Evaluation, Result, Row
from polysema.evaluation.statistics import paired_test, spearman
from polysema.lexicon.lexicon import Lexicon

SHARE = 0.5  # a figure over fewer than this share of a set's items is not ranked


def is_ranked(result: Result) -> bool:
    """Whether a result scores enough items of its set to be ranked."""
    return result.scored >= max(3, SHARE * len(result.items))


def on_shared_items(results: Sequence[Result]) -> dict[int, float]:
    """ρ of results on one set over the items that all of them score, by their index here.

    Results that score too few items to be ranked are left out; all are, where those left share too few.
    """
    ranked = {index: result for index, result in enumerate(results) if is_ranked(result)}
    if not ranked:
        return {}
    shared = np.asarray(np.isfinite(np.stack([result.scores for result in ranked.values()])).all(axis=0))
    if shared.sum() < max(3, SHARE * len(shared)):
        return {}
    gold = results[0].items.gold[shared]
    found = {index: spearman(gold, result.scores[shared]) for index, result in ranked.items()}
    return {index: rho for index, rho in found.items() if np.isfinite(rho)}


def best(rows: Iterable[Row], among: Iterable[Row] | None = None) -> Row | None:
    """The row with the highest ρ, all on the items that they, and those they stand ``among``, share."""
    listed = list(rows)
    others = [row for row in among or () if row not in listed]
    ranks = on_shared_items([row.best for row in (*listed, *others)])
    candidates = {index: rho for index, rho in ranks.items() if index < len(listed)}
    return listed[max(candidates, key=lambda index: candidates[index])] if candidates else None


def against_best_baseline(
    evaluation: Evaluation, name: str, methods: Sequence[str], resamples: int = 10_000
) -> list[Compared]:
    """Test every model of density matrices against the best baseline on one set.

    As in the paper, each model stands with the method it does best with. That choice is made on the same items, so the
    correction counts every method it was chosen from, over all models.
    """
    kinds = {system.name: system.kind for system in evaluation.models}
    rows = list(evaluation.of(name=name).values())
    baseline = best([row for row in rows if kinds[row.model] != "matrices"])
    if baseline is None:
        return []
    chosen, candidates = [], 0
    for system in evaluation.models:
        own = [row for row in rows if row.model == system.name and row.method in methods and is_ranked(row.best)]
        winner = best(own) if system.kind == "matrices" else None
        if winner is not None:
            chosen.append(winner)
            candidates += len(own)
    return [compared(row, baseline, candidates, resamples) for row in chosen]


def differences(evaluation: Evaluation, resamples: int = 10_000, seed: int = 0) -> list[Compared]:
    """Test whether each further model is better than the first, set by set and method by method.

    The correction counts all tests that are made.
    """
    first = evaluation.of(evaluation.models[0].name)
    pairs = [
        (row, other)
        for system in evaluation.models[1:]
        for (_, name, method), row in evaluation.of(system.name).items()
        if (other := first.get((evaluation.models[0].name, name, method))) is not None
    ]
    return [compared(row, other, len(pairs), resamples, seed) for row, other in pairs]


def compared(row: Row, other: Row, comparisons: int, resamples: int = 10_000, seed: int = 0) -> Compared:
    """Test a row against another of the same set."""
    test = paired_test(
        row.items.gold,
        row.best.scores,
        other.best.scores,
        clusters=row.items.clusters,
        comparisons=comparisons,
        resamples=resamples,
        seed=seed,
    )
    return Compared(row.best, other.best, test)


_TWO_SIDED = 1.96  # standard deviations that hold 95 % of a normal distribution


def noise_floor(
    sets: Mapping[str, EvaluationSet],
    n: int = 17,
    m: int = 5,
    methods: Sequence[str] = ("verb", "mult", "add", "tensor", "phaser"),
    draws: int = 20,
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """The |ρ| that 95 of 100 random lexicons stay below, by set and method: 1.96 √(mean ρ²) over the draws.

    Items of a set share their verbs, so chance correlations are larger than their number suggests: with 200 items,
    random matrices of the paper's size reach |ρ| ≈ .15. A difference below that is not a finding.
    """
    if draws < 2:
        raise InputError(f"a noise floor needs at least two draws, not {draws}")
    squares: dict[str, dict[str, float]] = {name: {} for name in sets}
    words = sorted({word for items in sets.values() for word in items.words})
    rng = np.random.default_rng(seed)
    for _ in range(draws):  # every word has a factor (n, m) of normal numbers
        lexicon = Lexicon(words, rng.normal(size=(len(words), n, m)))
        for row in evaluate(lexicon, sets, methods=methods).rows:
            own = squares[row.items.name]
            own[row.method] = own.get(row.method, 0.0) + row.spearman**2 / draws
    return {
        name: {method: _TWO_SIDED * float(np.sqrt(square)) for method, square in found.items()}
        for name, found in squares.items()
    }
