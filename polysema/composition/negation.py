"""What *not* does to a meaning: the table of negations.

With X = ρ / λ₁, the largest eigenvalue made 1,

    logical         ¬ρ ∝ 1 − X                         all that ρ is not (Lewis 2020)
    support         ¬ρ ∝ ρ⁺                            the inverse on its support (Rodatz, Shaikh & Yeh 2021)
    conversational  ¬ρ ∝ (1 − X)^½ ω (1 − X)^½         what might be meant instead (Rodatz, Shaikh & Yeh 2021)

where ω, the *worldly context*, is a mixture of what could stand in the place of ρ: *this is not an apple* speaks of
oranges, not of all that there is. It is made of the neighbours of ρ in the lexicon, or of what WordNet has below the
hypernyms of the word. Logical negation followed by Phaser, "in the basis of the negated word", is the combination that
agreed best with people there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition import operators
from polysema.composition.trees import Tree
from polysema.errors import UnknownChoiceError
from polysema.registry import provider

Array = NDArray[np.float64]
Negate = Callable[[Array, Tree], Array]
"""From the unit factor (n, m) of a phrase, and the phrase, to the factor of what it is not, of any trace."""


@dataclass(frozen=True, slots=True)
class Negation:
    """A way to negate.

    Attributes:
        name: as it is written everywhere.
        formula: what it computes.
        apply: from a unit factor B and the factor C of the worldly context; None: negation changes nothing.
        context: what gives the worldly context, a service of :mod:`polysema.registry`; empty where none is needed.
    """

    name: str
    formula: str
    apply: Callable[[Array, Array | None], Array] | None
    context: str = ""


NEGATIONS: dict[str, Negation] = {
    negation.name: negation
    for negation in (
        Negation(
            "conversational",
            "(1 − X)^½ ω (1 − X)^½, ω a mixture of the neighbours of ρ",
            operators.negated,
            "neighbourhood",
        ),
        Negation("hypernyms", "the same, ω of what is below the hypernyms of the word", operators.negated, "hypernyms"),
        Negation("logical", "1 − X, X = ρ / λ₁", lambda b, _: operators.negated(b)),
        Negation("support", "ρ⁺, the inverse on the support of ρ", lambda b, _: operators.inverted(b)),
        Negation("none", "ρ: negation falls away", None),
    )
}
"""Every negation of density matrices, by name; the first is the usual one. Vectors have none: it falls away."""

USUAL = next(iter(NEGATIONS))


def negation_named(name: str) -> Negation:
    """The negation of that name, by default the usual one; an unknown one is an error that lists the choices."""
    if (name or USUAL) not in NEGATIONS:
        raise UnknownChoiceError("negation", name, NEGATIONS)
    return NEGATIONS[name or USUAL]


def negate_by(name: str, words: Any, on: str = "matrices") -> Negate | None:
    """A negation, given the words that worldly contexts are made of; None where it changes nothing."""
    chosen = negation_named(name)
    apply = chosen.apply
    if apply is None or on != "matrices":
        return None

    def negate(factor: Array, phrase: Tree) -> Array:
        context = provider(chosen.context)(words, factor, phrase) if chosen.context else None
        return apply(factor, context)

    return negate
