"""The named composition methods: an operator, and who acts.

``METHODS`` is for density matrices, ``VECTOR_METHODS`` for the vectors of the baselines. Library, command line,
documentation and tests take their names from here.

A method combines, at a node of a tree, the state of the functor with that of its argument. The state of all but Tensor
is one factor and the number of words in it. Where words are coordinated (*dogs and cats*) nothing acts on anything:
every method takes the mixture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition import operators
from polysema.composition.trees import Node, conjuncts
from polysema.errors import TreeError, UnknownChoiceError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class State:
    """What a method knows of a phrase.

    Attributes:
        core: the factor (or vector) of the phrase or, under Tensor, of its verb.
        words: how many words it has taken in.
        filled: under Tensor, what the verb has been given so far: the parts of each argument, from the left.
    """

    core: Array
    words: int = 1
    filled: tuple[tuple[Array, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """A composition method.

    Attributes:
        name: as it is written everywhere.
        formula: what it computes.
        combine: the state of a node from those of its functor and its argument.
        parts: the parts of a state's meaning, ρ₁ ⊗ ρ₂ ⊗ …
        mix: p ρ + (1 − p) σ, for coordination; for vectors their sum.
    """

    name: str
    formula: str
    combine: Callable[[Node, State, State], State]
    parts: Callable[[State], tuple[Array, ...]] = lambda state: (state.core,)
    mix: Callable[[Any, Any, float], Any] = operators.add

    def at(self, node: Node, functor: State, argument: State) -> State:
        """The state at a node: combined, or mixed where words are coordinated."""
        if node.kind != "coordination":
            return self.combine(node, functor, argument)
        if functor.filled or argument.filled:
            raise TreeError(f"{self.name} cannot mix verbs that have taken their arguments: in {node}")
        words = functor.words + argument.words
        joined = conjuncts(node.functor) / (conjuncts(node.functor) + conjuncts(node.argument))
        share = functor.words / words if self.combine is _mixed else joined
        return State(self.mix(functor.core, argument.core, share), words)


def _verb(node: Node, functor: State, argument: State) -> State:
    return functor if node.kind == "argument" else argument


def _functor_acts(node: Node) -> bool:
    return True


def _noun_acts(node: Node) -> bool:
    return node.kind == "modifier"


def _left_acts(node: Node) -> bool:
    return node.functor_first


Operator = Callable[[Any, Any], Any]


def _applied(operator: Operator, functor_acts: Callable[[Node], bool] = _functor_acts) -> Callable[..., State]:
    def combine(node: Node, functor: State, argument: State) -> State:
        acting, acted_on = (functor, argument) if functor_acts(node) else (argument, functor)
        return State(operator(acting.core, acted_on.core), functor.words + argument.words)

    return combine


def _mixed(node: Node, functor: State, argument: State) -> State:
    """Each side weighs as many words as it holds, so that the whole is the even mixture of all its words."""
    words = functor.words + argument.words
    return State(operators.add(functor.core, argument.core, functor.words / words), words)


def _slots(modify: Operator) -> Callable[[Node, State, State], State]:
    """Tensor: a modifier changes what it modifies; an argument is put into the verb's next slot."""

    def combine(node: Node, functor: State, argument: State) -> State:
        words = functor.words + argument.words
        if node.kind == "modifier":
            return State(modify(functor.core, argument.core), words, argument.filled)
        parts = _METHOD_PARTS[modify](argument)
        filled = (*functor.filled, parts) if node.functor_first else (parts, *functor.filled)
        return State(functor.core, words, filled)

    return combine


def _tensor_parts(state: State) -> tuple[Array, ...]:
    """⊗ᵢ (verb ⊙ argumentᵢ): kron(subj, obj) ⊙ kron(verb, verb) = kron(subj ⊙ verb, obj ⊙ verb)."""
    if not state.filled:
        return (state.core,)
    return tuple(operators.mult(state.core, part) for argument in state.filled for part in argument)


def _vector_tensor_parts(state: State) -> tuple[Array, ...]:
    """The same for vectors, where a verb with a single argument acts on it as the matrix v vᵀ."""
    parts = tuple(part for argument in state.filled for part in argument)
    if not parts:
        return (state.core,)
    if len(parts) == 1:
        return (operators.project_vectors(state.core, parts[0]),)
    return tuple(operators.mult_vectors(state.core, part) for part in parts)


_METHOD_PARTS: dict[Operator, Callable[[State], tuple[Array, ...]]] = {
    operators.mult: _tensor_parts,
    operators.project_vectors: _vector_tensor_parts,
}


def _sum(a: Array, b: Array, p: float) -> Array:
    return operators.add_vectors(a, b)


def _table(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _table(
    Method("verb", "the verb (the head) alone, no composition", _verb),
    Method("mult", "ρ ⊙ σ over all words", _applied(operators.mult)),
    Method("add", "the even mixture of all words", _mixed),
    Method("tensor", "kron(subj, obj) ⊙ kron(verb, verb), on adj ⊙ noun", _slots(operators.mult), _tensor_parts),
    Method("phaser", "ρ^½ σ ρ^½, the functor acts", _applied(operators.phaser)),
    Method("fuzz", "Σᵢ λᵢ Pᵢ σ Pᵢ, the functor acts", _applied(operators.fuzz)),
    Method("phaser-noun", "Phaser; nouns act on their verb", _applied(operators.phaser, _noun_acts)),
    Method("fuzz-noun", "Fuzz; nouns act on their verb", _applied(operators.fuzz, _noun_acts)),
    Method("phaser-left", "Phaser; the left side acts on the right", _applied(operators.phaser, _left_acts)),
    Method("fuzz-left", "Fuzz; the left side acts on the right", _applied(operators.fuzz, _left_acts)),
)
"""Composition methods for density matrices.

Who acts where the order matters: the functor (adjective on noun, verb on object, verb phrase on subject; what the
released evaluation script does), the noun on its verb (the script's other setting; adjectives still act on their
noun), or the left side on the right (as the paper's text writes it: the subject acts on the verb phrase)."""

VECTOR_METHODS: dict[str, Method] = _table(
    Method("verb", "the verb (the head) alone, no composition", _verb, mix=_sum),
    Method("mult", "a ⊙ b over all words", _applied(operators.mult_vectors), mix=_sum),
    Method("add", "the sum of all words", _applied(operators.add_vectors), mix=_sum),
    Method(
        "tensor",
        "(verb ⊙ subj) ⊗ (verb ⊙ obj), v vᵀ n for one argument",
        _slots(operators.project_vectors),
        _vector_tensor_parts,
        mix=_sum,
    ),
)
"""Composition methods for vectors (paper, §4.1.1)."""


def _no_fold(node: Node, functor: State, argument: State) -> State:
    raise TreeError(f"contextual reads the whole sentence: it cannot compose {node} from its parts")


CONTEXTUAL = Method("contextual", "the head as the encoder sees it in the whole sentence", _no_fold)
"""What a lexicon made with an encoder offers beside ``METHODS``; see :mod:`polysema.encoders.contextual`."""


def method_named(name: str, table: dict[str, Method] = METHODS) -> Method:
    """The method of that name; an unknown one is an error that lists the choices."""
    try:
        return table[name]
    except KeyError:
        what = "composition method" if table is METHODS else "composition method for vectors"
        raise UnknownChoiceError(what, name, table) from None
