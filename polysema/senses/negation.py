"""What *not* does to a meaning: the table of negations.

With X = ρ / λ₁, the largest eigenvalue made 1,

    logical         ¬ρ ∝ 1 − X                         all that ρ is not (Lewis 2020)
    support         ¬ρ ∝ ρ⁺                            the inverse on its support (Rodatz, Shaikh & Yeh 2021)
    conversational  ¬ρ ∝ (1 − X)^½ ω (1 − X)^½         what might be meant instead (Rodatz, Shaikh & Yeh 2021)

where the *worldly context* ω ∝ Σ_w s_w ρ_w is a mixture of what could stand in the place of ρ: *this is not an apple*
speaks of oranges, not of all that there is. Its words are those nearest to ρ, with s_w their trace similarity to it.

Logical negation followed by Phaser, "in the basis of the negated word", is the combination that agreed best with people
there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polysema.composition import operators
from polysema.composition.compose import Composer, Method, Negation
from polysema.composition.trees import Tree, head
from polysema.density import DensityMatrix
from polysema.errors import InputError, check_choice
from polysema.meanings.meanings import COMMON, Matrices
from polysema.slots.model import BySlots

Array = NDArray[np.float64]

NEIGHBOURS = 50
"""Number of words in the neighbourhood; chosen on WordNet's siblings (``docs/measurements/composition.md``)."""


def neighbourhood(model: Matrices, factor: Array, phrase: Tree, size: int = NEIGHBOURS) -> Array:
    """The factor (n, at most n) of the mixture of the words nearest to a meaning (n, m)."""
    own = {head(phrase).word, head(phrase).word.lower()}
    near = model.neighbours(DensityMatrix(factor), size + len(own), COMMON)
    kept = [item for item in near if item.word not in own and item.similarity > 0][:size]
    if not kept:
        raise InputError(f"the lexicon has no word near {phrase} to say what is meant instead: use negation 'logical'")
    weights = np.array([item.similarity for item in kept])
    return mixture_of_words(model, [item.word for item in kept], weights)


def mixture_of_words(model: Matrices, words: list[str], weights: Array) -> Array:
    """The factor of Σ s_w ρ_w, of unit trace."""
    factors = model.stack(words).factor * np.sqrt(weights / weights.sum())[:, None, None]
    return operators.compress(np.concatenate(list(factors), axis=1))


_CONVERSATIONAL = "(1 − X)^½ ω (1 − X)^½, ω a mixture of the neighbours of ρ"
NEGATIONS: dict[str, Negation] = {
    negation.name: negation
    for negation in (
        Negation("conversational", _CONVERSATIONAL, operators.negated, neighbourhood),
        Negation("logical", "1 − X, X = ρ / λ₁", lambda b, _: operators.negated(b)),
        Negation("support", "ρ⁺, the inverse on the support of ρ", lambda b, _: operators.inverted(b)),
        Negation("none", "ρ: negation falls away", None),
    )
}
"""Every negation of density matrices, by name; the first is the default. Vectors have none: it falls away."""


def with_negation(composer: Composer, name: str = "") -> Composer:
    """The composer with a negation, by default its own, else the usual one; one that reads *not* itself takes none."""
    if name:
        check_choice("negation", name, NEGATIONS)
    if isinstance(composer, Method | BySlots):
        if composer.negation is not None and not name:
            return composer
        return replace(composer, negation=NEGATIONS[name or next(iter(NEGATIONS))])
    if name:
        raise InputError(f"{composer.name} reads *not* in the sentence itself: it takes no negation, not {name!r}")
    return composer
