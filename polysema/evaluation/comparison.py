"""Density matrices against the best baseline, as the paper's tables compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.entries import Entry
from polysema.evaluation.evaluate import DataSet
from polysema.evaluation.statistics import PairedTest, paired_test

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Compared:
    """A model of density matrices, with the method it does best with, against the best baseline.

    Attributes:
        model: its name, and its method.
        baseline: the best baseline's name, and its method.
        better: the one-sided test that the model is better.
        worse: the one-sided test that the baseline is.
    """

    model: tuple[str, str]
    baseline: tuple[str, str]
    better: PairedTest
    worse: PairedTest

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` where the test says so after Bonferroni's correction, else ``equivalent``."""
        if self.better.adjusted <= LEVEL:
            return "better"
        return "worse" if self.worse.adjusted <= LEVEL else "equivalent"


def compare(
    entries: Sequence[Entry], name: str, data: PhrasePairs, methods: Sequence[str], resamples: int = 10_000
) -> list[Compared]:
    """Test every model of density matrices against the best baseline on one set.

    As in the paper, each model stands with the method it does best with. That choice is made on the same items, so the
    correction counts every method it was chosen from: models × methods comparisons.
    """
    baseline = best([entry for entry in entries if entry.kind != "matrices"], name, None)
    matrices = [entry for entry in entries if entry.kind == "matrices"]
    if baseline is None or not matrices:
        return []
    owner, way = baseline
    against = owner.best.disambiguation[name].methods[way].scores
    found = []
    for entry in matrices:
        chosen = best([entry], name, methods)
        if chosen is None:
            continue
        scores = entry.best.disambiguation[name].methods[chosen[1]].scores
        tests = [
            paired_test(data.gold, a, b, comparisons=len(matrices) * len(methods), resamples=resamples)
            for a, b in ((scores, against), (against, scores))
        ]
        found.append(Compared((entry.name, chosen[1]), (owner.name, way), *tests))
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """How a model differs from another on one set, with one method; ``test`` is whether it is better."""

    set: str
    method: str
    model: str
    other: str
    test: PairedTest


def differences(
    entries: Sequence[Entry], sets: Mapping[str, DataSet], resamples: int = 10_000, seed: int = 0
) -> list[Difference]:
    """Test whether each further model is better than the first, set by set and method by method.

    The correction counts all tests that are made.
    """
    found = []
    first = entries[0]
    for entry in entries[1:]:
        for name, data in sets.items():
            if isinstance(data, WordPairs):
                scores = {"words": [e.best.word_similarity[name].scores for e in (entry, first)]}
            else:
                own, other = (e.best.disambiguation[name].methods for e in (entry, first))
                scores = {method: [own[method].scores, other[method].scores] for method in own if method in other}
            found += [(name, method, entry.name, data.gold, a, b) for method, (a, b) in scores.items()]
    return [
        Difference(
            name,
            method,
            model,
            first.name,
            paired_test(g, a, b, comparisons=len(found), resamples=resamples, seed=seed),
        )
        for name, method, model, g, a, b in found
    ]


def best(entries: Sequence[Entry], name: str, methods: Sequence[str] | None) -> tuple[Entry, str] | None:
    """The entry and the method with the highest ρ on a set, among the methods named."""
    found: tuple[Entry, str] | None = None
    highest = -np.inf
    for entry in entries:
        for method, score in entry.best.disambiguation[name].methods.items():
            if (methods is None or method in methods) and score.spearman > highest:
                found, highest = (entry, method), score.spearman
    return found
