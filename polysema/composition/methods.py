"""The named composition methods: an operator, and who acts.

``METHODS`` is for density matrices, ``VECTOR_METHODS`` for the vectors of the baselines. Library, command line,
documentation and tests take their names from here.

A method combines, at a node of a tree, the state of the functor with that of its argument. The state of all but Tensor
is one factor and the number of words in it. Where words are coordinated (*dogs and cats*) nothing acts on anything:
every method takes the mixture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition import operators
from polysema.composition.compose import Composer, Method, PhraseState
from polysema.composition.trees import Node
from polysema.errors import chosen

Array = NDArray[np.float64]
Parts = Callable[[PhraseState], tuple[Array, ...]]


def _verb(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
    return functor if node.kind == "argument" else argument


def _functor_acts(node: Node) -> bool:
    return True


def _noun_acts(node: Node) -> bool:
    return node.kind == "modifier"


def _left_acts(node: Node) -> bool:
    return node.functor_first


Operator = Callable[[Any, Any], Any]


def _applied(operator: Operator, functor_acts: Callable[[Node], bool] = _functor_acts) -> Callable[..., PhraseState]:
    def combine(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
        acting, acted_on = (functor, argument) if functor_acts(node) else (argument, functor)
        return PhraseState(operator(acting.core, acted_on.core), functor.words + argument.words)

    return combine


def _mixed(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
    """Each side weighs as many words as it holds, so that the whole is the even mixture of all its words."""
    words = functor.words + argument.words
    return PhraseState(operators.add(functor.core, argument.core, functor.words / words), words)


def _slots(modify: Operator, parts_of: Parts) -> Callable[[Node, PhraseState, PhraseState], PhraseState]:
    """Tensor: a modifier changes what it modifies; an argument is put into the verb's next slot."""

    def combine(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
        words = functor.words + argument.words
        if node.kind == "modifier":
            return PhraseState(modify(functor.core, argument.core), words, argument.filled)
        parts = parts_of(argument)
        filled = (*functor.filled, parts) if node.functor_first else (parts, *functor.filled)
        return PhraseState(functor.core, words, filled)

    return combine


def _tensor_parts(state: PhraseState) -> tuple[Array, ...]:
    """⊗ᵢ (verb ⊙ argumentᵢ): kron(subj, obj) ⊙ kron(verb, verb) = kron(subj ⊙ verb, obj ⊙ verb)."""
    if not state.filled:
        return (state.core,)
    return tuple(operators.mult(state.core, part) for argument in state.filled for part in argument)


def _vector_tensor_parts(state: PhraseState) -> tuple[Array, ...]:
    """The same for vectors, where a verb with a single argument acts on it as the matrix v vᵀ."""
    parts = tuple(part for argument in state.filled for part in argument)
    if not parts:
        return (state.core,)
    if len(parts) == 1:
        return (operators.project_vectors(state.core, parts[0]),)
    return tuple(operators.mult_vectors(state.core, part) for part in parts)


def _sum(a: Array, b: Array, p: float) -> Array:
    return operators.add_vectors(a, b)


def _matrices(name: str, formula: str, combine: Callable[..., PhraseState], **more: Any) -> Method:
    return Method(name, formula, "matrices", combine, **more)


def _vectors(name: str, formula: str, combine: Callable[..., PhraseState], **more: Any) -> Method:
    return Method(name, formula, "vectors", combine, mix=_sum, **more)


def _table(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _table(
    _matrices("verb", "the verb (the head) alone, no composition", _verb),
    _matrices("mult", "ρ ⊙ σ over all words", _applied(operators.mult)),
    _matrices("add", "the even mixture of all words", _mixed, by_words=True),
    _matrices(
        "tensor",
        "kron(subj, obj) ⊙ kron(verb, verb), on adj ⊙ noun",
        _slots(operators.mult, _tensor_parts),
        parts=_tensor_parts,
    ),
    _matrices("phaser", "ρ^½ σ ρ^½, the functor acts", _applied(operators.phaser)),
    _matrices("fuzz", "Σᵢ λᵢ Pᵢ σ Pᵢ, the functor acts", _applied(operators.fuzz)),
    _matrices("phaser-noun", "Phaser; nouns act on their verb", _applied(operators.phaser, _noun_acts)),
    _matrices("fuzz-noun", "Fuzz; nouns act on their verb", _applied(operators.fuzz, _noun_acts)),
    _matrices("phaser-left", "Phaser; the left side acts on the right", _applied(operators.phaser, _left_acts)),
    _matrices("fuzz-left", "Fuzz; the left side acts on the right", _applied(operators.fuzz, _left_acts)),
    _matrices("smooth", "Phaser by ρ + 3·1/n, the functor acts", _applied(operators.smooth_phaser)),
    _matrices(
        "smooth-noun", "Phaser by ρ + 3·1/n; nouns act on their verb", _applied(operators.smooth_phaser, _noun_acts)
    ),
)
"""Composition methods for density matrices.

Who acts where the order matters: the functor (adjective on noun, verb on object, verb phrase on subject; what the
released evaluation script does), the noun on its verb (the script's other setting; adjectives still act on their
noun), or the left side on the right (as the paper's text writes it: the subject acts on the verb phrase)."""

VECTOR_METHODS: dict[str, Method] = _table(
    _vectors("verb", "the verb (the head) alone, no composition", _verb),
    _vectors("mult", "a ⊙ b over all words", _applied(operators.mult_vectors)),
    _vectors("add", "the sum of all words", _applied(operators.add_vectors)),
    _vectors(
        "tensor",
        "(verb ⊙ subj) ⊗ (verb ⊙ obj), v vᵀ n for one argument",
        _slots(operators.project_vectors, _vector_tensor_parts),
        parts=_vector_tensor_parts,
    ),
)
"""Composition methods for vectors (paper, §4.1.1)."""


def method_named(name: str, table: Mapping[str, Composer] = METHODS) -> Composer:
    """The composer of that name; an unknown one is an error that lists the choices."""
    return chosen("composition method for vectors" if table is VECTOR_METHODS else "composition method", name, table)
