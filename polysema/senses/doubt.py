"""Whether any known sense of a word fits where it stands.

With x = max_s ⟨g_s, c⟩ over the k senses of the word, p the probability of the best one, and the common senses r of the
whole dictionary as a background,

    b = (1/β) ln mean_r exp(β⟨g_r, c⟩),        d = w · (x, b, p, ln k, 1).

No sense fits where d > 0. The weights w are those of a logistic regression that tells words asked about with the right
coarse sense taken out of the dictionary from words asked about with all of their senses; the constant is then set so
that few words that have their sense are doubted. Words of one sense have a constant of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.senses.logistic import logistic_regression

Floats = NDArray[np.float64]

BETA = 20.0
"""β of the background."""

COMMON = 1024
"""Synsets of the background: the most frequent ones."""

FALSE_ALARMS = 0.055
"""The share of words with a known sense that may be doubted, of the documents that calibrate: of others, under .05."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """When to say that no sense fits.

    Attributes:
        weights: w, of (x, b, p, ln k), the constant, and the one of words of one sense.
        background: (B, n) unit vectors of the common senses.
    """

    weights: tuple[float, ...]
    background: NDArray[np.float32]

    def of(self, context: NDArray[np.float32], similarities: Floats, p: Floats) -> bool:
        """Whether no sense fits.

        Args:
            context: (n,) c.
            similarities: (k,) ⟨g_s, c⟩.
            p: their probabilities.
        """
        background = (self.background @ context)[None]
        x = features(background, similarities.max(keepdims=True), p.max(keepdims=True), np.array([len(similarities)]))
        return bool(doubted(x, np.array(self.weights))[0])


def features(background: NDArray[np.floating[Any]], nearest: Floats, p: Floats, senses: NDArray[Any]) -> Floats:
    """(x, b, p, ln k) of words: (words, 4).

    Args:
        background: (words, B) ⟨g_r, c⟩ of the common senses.
    """
    largest = background.max(axis=1, keepdims=True)
    b = largest[:, 0] + np.log(np.exp(BETA * (background - largest)).mean(axis=1)) / BETA
    return np.stack([nearest, b, p, np.log(senses)], axis=1).astype(np.float64)


def fit_doubt(known: Floats, missing: Floats, alone: Floats, false_alarms: float = FALSE_ALARMS) -> tuple[float, ...]:
    """w and the two constants.

    Args:
        known: the features of words of several senses that have the right one; they count as much in sum as
        missing: those of words that lack it.
        alone: those of words of one sense, which is right.
    """
    if not (len(known) and len(missing)):
        raise InputError(f"{len(known)} words with their sense and {len(missing)} without: give both")
    weight = np.repeat([0.5 / len(known), 0.5 / len(missing)], [len(known), len(missing)])
    truth = np.arange(len(known) + len(missing)) >= len(known)
    w = logistic_regression(np.concatenate([known, missing]), truth, weight, ridge=1e-3)[:-1]
    constants = (-float(np.quantile(x @ w, 1 - false_alarms)) for x in (known, alone if len(alone) else known))
    return (*w.tolist(), *constants)


def doubted(x: Floats, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words no sense fits, by their features (words, 4) and the weights of :class:`Doubt`."""
    constant = np.where(x[:, 3] > 0, weights[-2], weights[-1])
    return np.asarray(x @ weights[:-2] + constant > 0)
