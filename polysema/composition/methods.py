"""The named composition methods: an operator, and which side acts.

``METHODS`` is for density matrices, ``VECTOR_METHODS`` for the vectors of the baselines. Library, command line,
documentation and tests take their names from here.

A method combines, at a node of a tree, the state of the functor with that of its argument. The state of all but Tensor
is one factor and the number of words in it. In a coordination (*dogs and cats*) no side acts: every method takes the
mixture.
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
Operator = Callable[[Any, Any], Any]
Combine = Callable[[Node, PhraseState, PhraseState], PhraseState]


def _verb(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
    return functor if node.kind == "argument" else argument


def _even(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
    """Sides weighted by their numbers of words, so that the whole is the even mixture of all its words."""
    words = functor.words + argument.words
    return PhraseState(operators.add(functor.core, argument.core, functor.words / words), words)


def _noun_acts(node: Node) -> bool:
    return node.kind == "modifier"


def _left_acts(node: Node) -> bool:
    return node.functor_first


def _tensor(modify: Operator, parts_of: Callable[[PhraseState], tuple[Array, ...]]) -> Combine:
    """A modifier changes what it modifies; an argument is put into the verb's next slot."""

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
    return tuple(operators.mult(state.core, part) for parts in state.filled for part in parts) or (state.core,)


def _vector_tensor_parts(state: PhraseState) -> tuple[Array, ...]:
    """⊗ᵢ (verb ⊙ argumentᵢ); a verb with a single argument acts on it as the matrix v vᵀ."""
    parts = [part for parts in state.filled for part in parts]
    if len(parts) == 1:
        return (operators.project_vectors(state.core, parts[0]),)
    return tuple(state.core * part for part in parts) or (state.core,)


def _sum(a: Array, b: Array, p: float) -> Array:
    return a + b


METHODS: dict[str, Method] = {each.name: each for each in (
    Method("verb", "the verb (the head) alone, no composition", "matrices", _verb),
    Method.by("mult", "ρ ⊙ σ over all words", operators.mult),
    Method("add", "the even mixture of all words", "matrices", _even, by_words=True),
    Method(
        "tensor", "kron(subj, obj) ⊙ kron(verb, verb), on adj ⊙ noun", "matrices",
        _tensor(operators.mult, _tensor_parts), parts=_tensor_parts,
    ),
    Method.by("phaser", "ρ^½ σ ρ^½, the functor acts", operators.phaser),
    Method.by("fuzz", "Σᵢ λᵢ Pᵢ σ Pᵢ, the functor acts", operators.fuzz),
    Method.by("phaser-noun", "Phaser; nouns act on their verb", operators.phaser, _noun_acts),
    Method.by("fuzz-noun", "Fuzz; nouns act on their verb", operators.fuzz, _noun_acts),
    Method.by("phaser-left", "Phaser; the left side acts on the right", operators.phaser, _left_acts),
    Method.by("fuzz-left", "Fuzz; the left side acts on the right", operators.fuzz, _left_acts),
    Method.by("smooth", "Phaser by ρ + 3·1/n, the functor acts", operators.smooth_phaser),
    Method.by("smooth-noun", "Phaser by ρ + 3·1/n; nouns act on their verb", operators.smooth_phaser, _noun_acts),
)}  # fmt: skip
"""Composition methods for density matrices.

The side that acts, where the order matters, is the functor (adjective on noun, verb on object, verb phrase on subject;
what the released evaluation script does), the noun on its verb (the script's other setting; adjectives still act on
their noun), or the left side on the right (as the paper's text writes it: the subject acts on the verb phrase)."""

VECTOR_METHODS: dict[str, Method] = {each.name: each for each in (
    Method("verb", "the verb (the head) alone, no composition", "vectors", _verb, mix=_sum),
    Method.by("mult", "a ⊙ b over all words", np.multiply, on="vectors", mix=_sum),
    Method.by("add", "the sum of all words", np.add, on="vectors", mix=_sum),
    Method(
        "tensor", "(verb ⊙ subj) ⊗ (verb ⊙ obj), v vᵀ n for one argument", "vectors",
        _tensor(operators.project_vectors, _vector_tensor_parts), parts=_vector_tensor_parts, mix=_sum,
    ),
)}  # fmt: skip
"""Composition methods for vectors (paper, §4.1.1)."""


def method_named(name: str, table: Mapping[str, Composer] = METHODS) -> Composer:
    """The composer of that name; an unknown one is an error that lists the choices."""
    return chosen("composition method for vectors" if table is VECTOR_METHODS else "composition method", name, table)


def word_method(factors: NDArray[np.floating[Any]]) -> str:
    """The usual method for words with these factors (V, n, m): ``phaser``, ``smooth-noun`` for pure states.

    By a pure state ρ = v vᵀ Phaser makes ρ^½ σ ρ^½ ∝ ρ of every σ: the phrase is its functor, whatever it acts on.
    """
    some = factors[:: max(1, len(factors) // 1000)].astype(np.float32)
    columns = (np.einsum("vnm,vnm->vm", some, some) > 0).sum(axis=1)
    return "smooth-noun" if len(some) and np.median(columns) == 1 and some.shape[2] > 1 else "phaser"
