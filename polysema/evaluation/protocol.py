"""How a figure of the disambiguation tables is computed: one table of protocols.

``plain`` is ours: Spearman's ρ over the items that the model covers. ``paper`` is what the released script prints:
items that any of the models lacks are left out for all, and the figure is the mean of 100 bootstrapped ρ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polysema.errors import chosen
from polysema.evaluation.results import Result
from polysema.evaluation.statistics import bootstrap

RESAMPLES = 100


def _plain(results: Sequence[Result], seed: int) -> list[float]:
    return [result.spearman for result in results]


def _paper(results: Sequence[Result], seed: int) -> list[float]:
    if not results:
        return []
    scores = np.stack([result.scores for result in results])
    common = np.isfinite(scores).all(axis=0)
    if common.sum() <= 2:
        return [float("nan")] * len(results)
    drawn = bootstrap(results[0].items.gold[common], scores[:, common], RESAMPLES, seed)
    known = np.isfinite(drawn)  # a model that says the same of all items has no ρ
    total = np.where(known, drawn, 0.0).sum(axis=1)
    return [float(mean) for mean in np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)]


PROTOCOLS: dict[str, Callable[[Sequence[Result], int], list[float]]] = {"plain": _plain, "paper": _paper}


def figures(results: Sequence[Result], protocol: str = "plain", seed: int = 0) -> list[float]:
    """The figure of each result on one set under a protocol."""
    return chosen("protocol", protocol, PROTOCOLS)(results, seed)
