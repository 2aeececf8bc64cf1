"""The noise floor: what random matrices reach.

Items of a set share their verbs, so chance correlations are larger than their number suggests: with 200 items, random
matrices of the paper's size reach |ρ| ≈ .15. A difference below that is not a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polysema.errors import InputError
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import evaluate
from polysema.evaluation.results import Evaluation
from polysema.lexicon.lexicon import Lexicon

_TWO_SIDED = 1.96  # standard deviations that hold 95 % of a normal distribution


def noise_floor(
    sets: Mapping[str, EvaluationSet],
    n: int = 17,
    m: int = 5,
    methods: Sequence[str] = ("verb", "mult", "add", "tensor", "phaser"),
    draws: int = 20,
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """The |ρ| that 95 of 100 random lexicons stay below, by set and method: 1.96 √(mean ρ²) over the draws."""
    if draws < 2:
        raise InputError(f"a noise floor needs at least two draws, not {draws}")
    squares: dict[str, dict[str, float]] = {name: {} for name in sets}
    for found in random_evaluations(sets, n, m, methods, draws, seed):
        for row in found.rows:
            own = squares[row.items.name]
            own[row.method] = own.get(row.method, 0.0) + row.spearman**2 / draws
    return {
        name: {method: _TWO_SIDED * float(np.sqrt(square)) for method, square in found.items()}
        for name, found in squares.items()
    }


def random_evaluations(
    sets: Mapping[str, EvaluationSet], n: int, m: int, methods: Sequence[str], draws: int, seed: int = 0
) -> Iterator[Evaluation]:
    """Evaluations of random lexicons: every word has a factor (n, m) of normal numbers."""
    words = sorted({word for items in sets.values() for word in items.words})
    rng = np.random.default_rng(seed)
    for _ in range(draws):
        yield evaluate(Lexicon(words, rng.normal(size=(len(words), n, m))), sets, methods=methods)
