"""Disambiguation: does composition pick the sense of the verb that people see? (paper, §5.2 and §5.3)

The similarity of *family run hotel* to *family operate hotel* should be high and to *family move hotel* low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from polysema.evaluation.datasets import PhrasePairs
from polysema.evaluation.models import Array, Model
from polysema.evaluation.statistics import spearman


@dataclass(frozen=True, slots=True)
class MethodScore:
    """A model's result on one set with one composition method.

    Attributes:
        spearman: ρ over the items it scores.
        entropy: the mean von Neumann entropy of the first phrases, those with the ambiguous verb; None for vectors.
        scored: how many items have a similarity: fewer than are covered where composition comes to nothing.
        scores: its similarity of every item, (k,); NaN where there is none.
        entropies: the entropy of every first phrase, (k,).
        interval: the 95 % bootstrap interval of ρ, where it was asked for.
    """

    spearman: float
    entropy: float | None
    scored: int
    scores: Array
    entropies: Array | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """A model's results on one set.

    Attributes:
        methods: the result of every composition method, by name.
        covered: how many items it knows all words of.
        total: how many items there are.
    """

    methods: Mapping[str, MethodScore]
    covered: int
    total: int


def disambiguation(model: Model, data: PhrasePairs, methods: Iterable[str] | None = None) -> Disambiguation:
    """Score a model on a set of phrase pairs, with every composition method it offers or with those named."""
    results = {}
    for method in model.methods if methods is None else methods:
        found = model.phrases(data, method)
        entropy = None if found.entropy is None else _mean(found.entropy)
        scored = int(np.isfinite(found.similarity).sum())
        rho = spearman(data.gold, found.similarity)
        results[method] = MethodScore(rho, entropy, scored, found.similarity, found.entropy)
    return Disambiguation(results, int(model.covers(data).sum()), len(data))


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
