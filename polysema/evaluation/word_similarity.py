"""Word similarity: do a model's similarities rank pairs of words as people do? (paper, §5.1)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polysema.evaluation.datasets import WordPairs
from polysema.evaluation.models import Array, Model
from polysema.evaluation.statistics import spearman


@dataclass(frozen=True, slots=True)
class WordSimilarity:
    """A model's result on one set of word pairs.

    Attributes:
        spearman: ρ over the pairs it covers.
        covered: how many those are.
        total: how many pairs there are.
        scores: its similarity of every pair, (k,); NaN where it lacks a word.
        interval: the 95 % bootstrap interval of ρ, where it was asked for.
    """

    spearman: float
    covered: int
    total: int
    scores: Array
    interval: tuple[float, float] | None = None


def word_similarity(model: Model, data: WordPairs) -> WordSimilarity:
    """Score a model on a set of word pairs."""
    scores = model.words(data.pairs)
    return WordSimilarity(spearman(data.gold, scores), int(np.isfinite(scores).sum()), len(data), scores)
