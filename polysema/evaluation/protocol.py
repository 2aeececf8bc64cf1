"""How a figure of the disambiguation tables is computed: one table of protocols.

``plain`` is ours: Spearman's ρ over the items that the model covers. ``paper`` is what the released script prints:
items that any of the models lacks are left out for all, and the figure is the mean of 100 bootstrapped ρ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from polysema.errors import UnknownChoiceError
from polysema.evaluation.datasets import PhrasePairs
from polysema.evaluation.evaluate import Evaluation
from polysema.evaluation.statistics import bootstrap

Figures = dict[str, dict[str, float]]
"""By model and method."""

RESAMPLES = 100


def _plain(evaluations: Sequence[Evaluation], name: str, data: PhrasePairs, seed: int) -> Figures:
    return {
        result.name: {method: score.spearman for method, score in result.disambiguation[name].methods.items()}
        for result in evaluations
    }


def _paper(evaluations: Sequence[Evaluation], name: str, data: PhrasePairs, seed: int) -> Figures:
    keys, rows = [], []
    for result in evaluations:
        for method, score in result.disambiguation[name].methods.items():
            keys.append((result.name, method))
            rows.append(score.scores)
    figures: Figures = {result.name: {} for result in evaluations}
    scores = np.stack(rows)
    common = np.isfinite(scores).all(axis=0)
    means = np.full(len(keys), np.nan)
    if common.sum() > 2:
        drawn = bootstrap(data.gold[common], scores[:, common], RESAMPLES, seed)
        known = np.isfinite(drawn)  # a model that says the same of all items has no ρ
        total = np.where(known, drawn, 0.0).sum(axis=1)
        means = np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)
    for (model, method), mean in zip(keys, means, strict=True):
        figures[model][method] = float(mean)
    return figures


PROTOCOLS: dict[str, Callable[[Sequence[Evaluation], str, PhrasePairs, int], Figures]] = {
    "plain": _plain,
    "paper": _paper,
}


def figures(
    evaluations: Sequence[Evaluation], sets: Mapping[str, PhrasePairs], protocol: str = "plain", seed: int = 0
) -> dict[str, Figures]:
    """The figures of models on the disambiguation sets under a protocol: by set, model and method."""
    if protocol not in PROTOCOLS:
        raise UnknownChoiceError("protocol", protocol, PROTOCOLS)
    return {name: PROTOCOLS[protocol](evaluations, name, data, seed) for name, data in sets.items()}
