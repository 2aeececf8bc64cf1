"""Composition: a fold of a method over a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polysema.composition.methods import METHODS, Method, State
from polysema.composition.trees import Leaf, LeftOut, Tree, leaves, postorder
from polysema.density import EPS, DensityMatrix
from polysema.errors import MatrixError
from polysema.measures import entropy
from polysema.vectors import Vector

Array = NDArray[np.float64]
Meaning = DensityMatrix | Vector


@dataclass(frozen=True, slots=True)
class Folded:
    """What a fold came to at one node.

    Attributes:
        tree: the node.
        meaning: its density matrix or vector, or the stack of them.
        valid: False where composition came to nothing (zero trace); the meaning there is a placeholder.
        log_trace: of matrices, ln of the trace left by all that was composed up to here, before normalising: how well
            the words go together.
    """

    tree: Tree
    meaning: Meaning
    valid: NDArray[np.bool_]
    log_trace: NDArray[np.float64]


def fold(tree: Tree, meaning_of: Callable[[Leaf], Array], method: Method, trace: bool = False) -> list[Folded]:
    """Fold a method over a tree, normalised to unit trace at every node.

    Args:
        meaning_of: the unit factor (..., n, m) of a leaf, or its vector (..., n) for a vector method. With leading
            axes, all phrases of a stack are composed at once along the one tree.
        trace: whether to return every node in post-order, or only the root.

    Returns:
        the root's result last.
    """
    matrices = METHODS.get(method.name) is method
    states: list[tuple[State, NDArray[np.bool_], NDArray[np.float64]]] = []
    results: list[Folded] = []
    for node in postorder(tree):
        if isinstance(node, Leaf):
            state, valid, log_trace = State(meaning_of(node)), np.asarray(True), np.asarray(0.0)
        else:
            (right, right_valid, right_trace), (left, left_valid, left_trace) = states.pop(), states.pop()
            functor, argument = (left, right) if node.functor_first else (right, left)
            state = method.at(node, functor, argument)
            core, valid, log_trace = _normalised(state.core, matrices)
            state = State(core, state.words, state.filled)
            valid, log_trace = valid & left_valid & right_valid, log_trace + left_trace + right_trace
        states.append((state, valid, log_trace))
        if trace or node is tree:
            parts = []
            for part in method.parts(state):
                if part is not state.core:  # else it is normalised already
                    part, nonzero, of_part = _normalised(part, matrices)
                    valid, log_trace = valid & nonzero, log_trace + of_part
                parts.append(part)
            meaning = DensityMatrix.of_unit_factors(parts) if matrices else Vector.product(parts)
            results.append(Folded(node, meaning, valid, log_trace))
    return results


def _normalised(array: Array, matrices: bool) -> tuple[Array, NDArray[np.bool_], NDArray[np.float64]]:
    """Unit factors, which of them were not zero up to rounding, and ln of the traces they had.

    Those that were zero are filled with a placeholder.

    The operands have unit norm, so what rounding leaves of an exact zero is below n·ε. Vectors keep their length.
    """
    axes = (-2, -1) if matrices else (-1,)
    norm = np.sqrt((array * array).sum(axis=axes, keepdims=True))
    floor = 4 * array.shape[-2] * EPS if matrices else 0.0
    valid = np.asarray(norm > floor)
    if matrices:
        array = array / np.where(valid, norm, 1.0)
    if not valid.all():
        array = np.where(valid, array, 1.0 / np.sqrt(np.prod(array.shape[axes[0] :])))
    log_trace = 2 * np.log(np.where(valid, norm, floor or 1.0))
    stack = valid.shape[: -len(axes)]
    return array, valid.reshape(stack), log_trace.reshape(stack)


@dataclass(frozen=True, slots=True)
class Step:
    """One node of a composition: a word or a phrase, with what it means.

    Attributes:
        tree: the node.
        phrase: its words.
        meaning: its density matrix, or vector.
        path: the way to it from the root, ``l`` for left and ``r`` for right.
    """

    tree: Tree
    phrase: str
    meaning: Meaning
    path: str

    @property
    def entropy(self) -> float | None:
        """The von Neumann entropy of its density matrix; None for a vector."""
        return float(entropy(self.meaning)) if isinstance(self.meaning, DensityMatrix) else None

    @property
    def branch(self) -> str:
        """Its phrase behind the lines of a drawn tree."""
        stem = "".join("│   " if turn == "l" else "    " for turn in self.path[:-1])
        return stem + {"": "", "l": "├── ", "r": "└── "}[self.path[-1:]] + self.phrase


class Composition:
    """A phrase and how its meaning came about.

    Attributes:
        tree: the phrase as a tree.
        method: the name of the composition method.
        meaning: the phrase's density matrix, or vector.
        left_out: the words of a sentence that are not in the tree, and why.

    Printed, it is the tree with the entropy at every node.
    """

    def __init__(
        self, tree: Tree, method: Method, meaning_of: Callable[[Leaf], Array], left_out: Sequence[LeftOut] = ()
    ) -> None:
        self.tree = tree
        self.left_out = tuple(left_out)
        self.method = method.name
        self._meanings: dict[int, Meaning] = {}
        for item in fold(tree, meaning_of, method, trace=True):
            if not item.valid:
                raise MatrixError(
                    f"{_words(item.tree)!r}: composed with {method.name} it has zero trace: "
                    "its sides have no sense in common"
                )
            self._meanings[id(item.tree)] = item.meaning
        self.meaning = self._meanings[id(tree)]
        self.meaning.name = self.phrase

    @classmethod
    def of(
        cls, tree: Tree, method: Method, meanings: dict[int, Meaning], left_out: Sequence[LeftOut] = ()
    ) -> Composition:
        """A composition whose meanings, by the id of each node, came about without a fold."""
        composed = cls.__new__(cls)
        composed.tree, composed.left_out, composed.method = tree, tuple(left_out), method.name
        composed._meanings, composed.meaning = meanings, meanings[id(tree)]
        return composed

    @property
    def phrase(self) -> str:
        """The words, left to right."""
        return _words(self.tree)

    @property
    def entropy(self) -> float | None:
        """The von Neumann entropy of the phrase; None for vectors."""
        return float(entropy(self.meaning)) if isinstance(self.meaning, DensityMatrix) else None

    @property
    def steps(self) -> list[Step]:
        """Every node of the tree from the root down, left before right."""
        found: list[Step] = []
        stack: list[tuple[Tree, str]] = [(self.tree, "")]
        while stack:
            top, path = stack.pop()
            found.append(Step(top, _words(top), self._meanings[id(top)], path))
            if not isinstance(top, Leaf):
                stack += [(top.right, path + "r"), (top.left, path + "l")]
        return found

    def __str__(self) -> str:
        rows = [(step.branch, step.entropy) for step in self.steps]
        width = max(len(branch) for branch, _ in rows)
        lines = [branch if s is None else f"{branch:<{width}}  {s:.3f}" for branch, s in rows]
        if self.left_out:
            lines.append("left out: " + ", ".join(f"{word} ({why})" for word, why in self.left_out))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from polysema.notebook import composition_html

        return composition_html(self)

    def __repr__(self) -> str:
        return f"Composition({self.phrase!r}, method={self.method!r}, entropy={self.entropy})"


def _words(tree: Tree) -> str:
    return " ".join(leaf.word for leaf in leaves(tree))
