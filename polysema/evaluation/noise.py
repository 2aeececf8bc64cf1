"""The noise floor: what random matrices reach.

Items of a set share their verbs, so chance correlations are larger than their number suggests: with 200 items, random
matrices of the paper's size reach |ρ| ≈ .15. A difference below that is not a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polysema.errors import InputError
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.models import LexiconModel
from polysema.evaluation.statistics import spearman
from polysema.lexicon.lexicon import Lexicon

_TWO_SIDED = 1.96  # standard deviations that hold 95 % of a normal distribution


def noise_floor(
    sets: Mapping[str, WordPairs | PhrasePairs],
    n: int = 17,
    m: int = 5,
    methods: Sequence[str] = ("verb", "mult", "add", "tensor", "phaser"),
    draws: int = 20,
    seed: int = 0,
) -> dict[str, dict[str, float]]:
    """The |ρ| that 95 of 100 random lexicons stay below, by set and method (``words`` for sets of word pairs).

    Every word is given a factor (n, m) of normal numbers; the floor is 1.96 √(mean ρ²) over the draws.
    """
    if draws < 2:
        raise InputError(f"a noise floor needs at least two draws, not {draws}")
    words = sorted({word for items in sets.values() for word in _words(items)})
    rng = np.random.default_rng(seed)
    squares: dict[str, dict[str, float]] = {name: {} for name in sets}
    for _ in range(draws):
        model = LexiconModel(Lexicon(words, rng.normal(size=(len(words), n, m))))
        for name, items in sets.items():
            for method in ("words",) if isinstance(items, WordPairs) else methods:
                scores = (
                    model.words(items.pairs)
                    if isinstance(items, WordPairs)
                    else model.phrases(items, method).similarity
                )
                rho = spearman(items.gold, scores)
                squares[name][method] = squares[name].get(method, 0.0) + rho**2 / draws
    return {
        name: {method: _TWO_SIDED * float(np.sqrt(square)) for method, square in found.items()}
        for name, found in squares.items()
    }


def _words(items: WordPairs | PhrasePairs) -> set[str]:
    groups = items.pairs if isinstance(items, WordPairs) else (*items.first, *items.second)
    return {word for group in groups for word in group}
