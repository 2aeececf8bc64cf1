"""Composition: a method folds over a tree and gives every node its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.composition import operators
from polysema.composition.phrases import Read
from polysema.composition.trees import (
    Leaf,
    LeftOut,
    Node,
    Tree,
    conjuncts,
    leaves,
    nodes,
    postorder,
    with_paths,
    words_of,
)
from polysema.density import EPS, DensityMatrix
from polysema.errors import InputError, MatrixError, PolysemaError, TreeError
from polysema.measures import entropy
from polysema.vectors import Vector

Array = NDArray[np.float64]
Meaning = DensityMatrix | Vector
Kind = Literal["matrices", "vectors"]


class WordMeanings(Protocol):
    """Gives words their meanings, such as a lexicon."""

    def __getitem__(self, word: str, /) -> Meaning: ...


class Composer(Protocol):
    """A way to compose phrases.

    A :class:`Method` folds over the tree, ``contextual`` reads the whole sentence, ``slots`` fills slots of heads.
    """

    @property
    def name(self) -> str:
        """Its name in tables, commands and results."""

    @property
    def formula(self) -> str:
        """What it computes."""

    @property
    def on(self) -> Kind:
        """What it works on: density matrices or vectors."""

    def compose(self, words: WordMeanings, read: Read) -> Composition:
        """The meaning of a phrase and of each of its parts."""


# ----------------------------------------------------------------------------------------------------------- negation

Negate = Callable[[Array, Tree], Array]
"""From the unit factor (n, m) of a phrase, and the phrase, to the factor of its negation, of any trace."""


@dataclass(frozen=True, slots=True)
class Negation:
    """A way to negate density matrices; ``senses/negation.py`` has the table of them."""

    name: str
    formula: str
    # from a unit factor B and the factor C of the worldly context; None: negation changes nothing
    apply: Callable[[Array, Array | None], Array] | None
    # the worldly context's factor, from the words, the unit factor and the phrase; None if it is not needed
    context: Callable[[Any, Array, Tree], Array] | None = None

    def on(self, words: Any) -> Negate | None:
        """The negation of phrases of these words; None if it changes nothing."""
        apply, context = self.apply, self.context
        if apply is None:
            return None
        return lambda factor, phrase: apply(factor, context and context(words, factor, phrase))


# ------------------------------------------------------------------------------------------------------------ methods


@dataclass(frozen=True, slots=True)
class PhraseState:
    """The state of a phrase during a fold."""

    core: Array  # the factor (or vector) of the phrase or, with Tensor, of its verb
    words: int = 1  # the number of words in it
    filled: tuple[tuple[Array, ...], ...] = ()  # with Tensor, the parts of each argument of the verb, from the left


def _core(state: PhraseState) -> tuple[Array, ...]:
    return (state.core,)


@dataclass(frozen=True, slots=True)
class Method:
    """A composition method: how the state of a node follows from those of its functor and its argument.

    :meth:`Method.by` makes one from an operator, a function of two arrays.
    """

    name: str  # its name in tables, commands and results
    formula: str  # what it computes
    on: Kind  # what it works on: factors (..., n, m) of density ``matrices``, or ``vectors`` (..., n)
    # the state of a node from those of its functor and its argument
    combine: Callable[[Node, PhraseState, PhraseState], PhraseState]
    parts: Callable[[PhraseState], tuple[Array, ...]] = _core  # the parts of a state's meaning, ρ₁ ⊗ ρ₂ ⊗ …
    mix: Callable[[Any, Any, float], Any] = operators.add  # p ρ + (1 − p) σ, for coordination; for vectors their sum
    by_words: bool = False  # whether coordinated sides are weighted by their numbers of words, or else of conjuncts
    negation: Negation | None = None  # what *not* does; None: nothing. Vectors have no negation.

    @classmethod
    def by(
        cls,
        name: str,
        formula: str,
        operator: Callable[[Any, Any], Any],
        acts: Callable[[Node], bool] = lambda node: True,
        on: Kind = "matrices",
        **more: Any,
    ) -> Method:
        """A method from an operator, a function of two arrays: of the side that acts and of the side acted on.

        >>> both = Method.by("both", "(ρ + σ)/2", lambda b, c: np.concatenate([b, c], axis=-1))

        Args:
            operator: of factors B (..., n, m) and C (..., n, k) of unit traces it makes the factor (..., n, any) of the
                phrase, of any trace; of vectors (..., n) a vector. Leading axes are stacks of phrases.
            acts: whether the functor of a node acts; else its argument does.
        """

        def combine(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
            acting, acted_on = (functor, argument) if acts(node) else (argument, functor)
            return PhraseState(operator(acting.core, acted_on.core), functor.words + argument.words)

        return cls(name, formula, on, combine, **more)

    def at(self, node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
        """The state at a node: combined, or mixed if words are coordinated or there are several readings."""
        if node.kind not in ("coordination", "readings"):
            try:
                found = self.combine(node, functor, argument)
            except PolysemaError:
                raise
            except ValueError as error:
                shapes = f"shapes {functor.core.shape} and {argument.core.shape} of {words_of(node)!r}"
                raise InputError(f"the method {self.name!r} fails on {shapes}: {error}") from error
            self._check(node, functor, found)
            return found
        if functor.filled or argument.filled:
            raise TreeError(f"{self.name} cannot mix verbs that have taken their arguments: in {node}")
        if node.kind == "readings":
            return PhraseState(self.mix(functor.core, argument.core, node.weight), functor.words)
        words = functor.words + argument.words
        joined = conjuncts(node.functor) / (conjuncts(node.functor) + conjuncts(node.argument))
        share = functor.words / words if self.by_words else joined
        return PhraseState(self.mix(functor.core, argument.core, share), words)

    def _check(self, node: Node, functor: PhraseState, found: PhraseState) -> None:
        """An error where a method of a user's own makes what is no factor (..., n, columns), or no vector (..., n)."""
        core, n = getattr(found, "core", found), -2 if self.on == "matrices" else -1
        wanted = functor.core.shape
        if not isinstance(core, np.ndarray) or core.ndim < -n or core.shape[n] != wanted[n]:
            what = f"an array of shape {core.shape}" if isinstance(core, np.ndarray) else type(core).__name__
            shape = f"(…, {wanted[n]}, columns)" if n == -2 else f"(…, {wanted[n]})"
            raise InputError(f"the method {self.name!r} makes {what} of {words_of(node)!r}: it must make {shape}")
        if not np.isfinite(core).all():
            raise InputError(f"the method {self.name!r} makes numbers that are not finite of {words_of(node)!r}")

    def compose(self, words: WordMeanings, read: Read) -> Composition:
        """Fold over the tree of a phrase; a phrase of zero trace is an error."""

        def meaning_of(leaf: Leaf) -> Array:
            return np.asarray(words[leaf.word].parts[0])

        negate = self.negation.on(words) if self.negation is not None and self.on == "matrices" else None
        meanings: dict[str, Meaning] = {}
        for item in fold(read.tree, meaning_of, self, every_node=True, negate=negate):
            if not item.valid:
                raise MatrixError(
                    f"{words_of(item.tree)!r}: composed with {self.name} it has zero trace: "
                    "its sides have no sense in common"
                )
            meanings[item.path] = item.meaning
        meanings[""].name = words_of(read.tree)
        return Composition(read.tree, self.name, meanings, read.left_out, read.text or "")


# --------------------------------------------------------------------------------------------------------------- fold


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of a fold at one node."""

    tree: Tree
    path: str  # from the root, ``l`` for left and ``r`` for right
    meaning: Meaning  # its density matrix or vector, or the stack of them
    valid: NDArray[np.bool_]  # False if the trace is zero; the meaning is then a placeholder
    log_trace: NDArray[np.float64]  # ln of the trace before all normalising: how well the words go together


def fold(
    tree: Tree,
    meaning_of: Callable[[Leaf], Array],
    method: Method,
    every_node: bool = False,
    negate: Negate | None = None,
) -> list[Folded]:
    """Fold a method over a tree, normalised to unit trace at every node. The root comes last.

    Args:
        meaning_of: the unit factor (..., n, m) of a leaf, or its vector (..., n) for a method that works on vectors.
            With leading axes, a stack of phrases with the same tree is composed at once.
        every_node: whether to return every node in post-order, or only the root.
        negate: the factor of a phrase's negation; by default negation changes nothing.
    """
    matrices = method.on == "matrices"
    states: list[tuple[PhraseState, NDArray[np.bool_], NDArray[np.float64]]] = []
    results: list[Folded] = []
    silent = {id(node.functor) for node in nodes(tree, "negation")}
    for path, node in with_paths(tree) if every_node else (("", node) for node in postorder(tree)):
        if id(node) in silent:  # *not* has no meaning of its own
            continue
        if isinstance(node, Leaf):
            state, valid, log_trace = PhraseState(meaning_of(node)), np.asarray(True), np.asarray(0.0)
        elif node.kind == "negation":
            state, valid, log_trace = states.pop()
            if negate is not None:
                core, nonzero, _ = _normalised(negate(state.core, node.argument), matrices)
                state, valid = PhraseState(core, state.words, state.filled), valid & nonzero
        else:
            (right, right_valid, right_trace), (left, left_valid, left_trace) = states.pop(), states.pop()
            functor, argument = (left, right) if node.functor_first else (right, left)
            state = method.at(node, functor, argument)
            core, valid, log_trace = _normalised(state.core, matrices)
            state = PhraseState(core, state.words, state.filled)
            valid, log_trace = valid & left_valid & right_valid, log_trace + left_trace + right_trace
        states.append((state, valid, log_trace))
        if every_node or node is tree:
            parts = []
            for part in method.parts(state):
                if part is not state.core:  # else it is normalised already
                    part, nonzero, of_part = _normalised(part, matrices)
                    valid, log_trace = valid & nonzero, log_trace + of_part
                parts.append(part)
            meaning = DensityMatrix.of_unit_factors(parts) if matrices else Vector.product(parts)
            results.append(Folded(node, path, meaning, valid, log_trace))
    return results


def _normalised(array: Array, matrices: bool) -> tuple[Array, NDArray[np.bool_], NDArray[np.float64]]:
    """Factors of unit norm, False where they were zero up to rounding (a placeholder), and ln of their traces.

    The operands have unit norm, so the rounding error of an exact zero is below n·ε. Vectors keep their length.
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


# ------------------------------------------------------------------------------------------------------------ results


LONGEST_PHRASE = 40
"""How many characters of a phrase a drawn tree shows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One node of a composition: a word or a phrase."""

    tree: Tree
    phrase: str
    path: str  # from the root, ``l`` for left and ``r`` for right
    entropy: float | None  # von Neumann's; None for vectors
    lasts: tuple[bool, ...] = ()  # from the root down, whether it lies in the side that stands last in the sentence

    @property
    def branch(self) -> str:
        """Its phrase after the lines of a drawn tree; a long phrase is shortened to its ends."""
        stem = "".join("    " if last else "│   " for last in self.lasts[:-1])
        fork = ("└── " if self.lasts[-1] else "├── ") if self.lasts else ""
        words, kept = self.phrase.split(), self.phrase
        while len(kept) > LONGEST_PHRASE and len(words) > 2:
            del words[-2]
            kept = f"{' '.join(words[:-1])} … {words[-1]}"
        return stem + fork + kept

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"phrase": self.phrase, "entropy": self.entropy, "depth": len(self.path), "path": self.path}


@dataclass(frozen=True, eq=False, repr=False)
class Composition:
    """A phrase with the meaning of each of its nodes. It prints as a tree with the entropy of every node.

    Attributes:
        tree: the phrase as a tree.
        method: the name of the composition method.
        meanings: the density matrix, or vector, of every node by its path from the root: ``""`` is the root, ``"lr"``
            the right side of its left side. A word that negates has none.
        left_out: the words of a sentence that are not in the tree, and why.
        text: the sentence as it was written; empty for brackets and trees.
    """

    tree: Tree
    method: str
    meanings: Mapping[str, Meaning] = field(repr=False)
    left_out: tuple[LeftOut, ...] = ()
    text: str = ""

    @property
    def source(self) -> str:
        """The text that was composed; of brackets and trees the words."""
        return self.text or self.phrase

    @property
    def meaning(self) -> Meaning:
        """The phrase's density matrix, or vector."""
        return self.meanings[""]

    @property
    def entropy(self) -> float | None:
        """The von Neumann entropy of the phrase; None for vectors."""
        return self.entropy_at("")

    def entropy_at(self, path: str) -> float | None:
        """The von Neumann entropy of the node at a path; None for vectors."""
        found = self.meanings.get(path)
        return float(entropy(found)) if isinstance(found, DensityMatrix) else None

    @property
    def phrase(self) -> str:
        """The words, left to right."""
        return words_of(self.tree)

    @property
    def left_out_line(self) -> str:
        """The words that are not in the tree, and why, for reading."""
        return fill("left out: " + ", ".join(f"{word} ({why})" for word, why in self.left_out), 100)

    @property
    def steps(self) -> list[Step]:
        """Every node of the tree from the root down; of two sides the one that begins first in the sentence first."""
        found = dict(with_paths(self.tree))
        begins = {path: (min(leaf.position for leaf in leaves(node)), path[-1:]) for path, node in found.items()}
        lines = {path: [begins[path[: i + 1]] for i in range(len(path))] for path in found}
        steps = []
        for path in sorted(found, key=lines.__getitem__):
            lasts = tuple(begins[path[:i] + "lr"[path[i] == "l"]] < line for i, line in enumerate(lines[path]))
            steps.append(Step(found[path], words_of(found[path]), path, self.entropy_at(path), lasts))
        return steps

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {"phrase": self.phrase, "tree": str(self.tree), "method": self.method, "entropy": self.entropy}
        nodes, left_out = [step.to_dict() for step in self.steps], [item._asdict() for item in self.left_out]
        return {**own, "nodes": nodes, "left_out": left_out}

    def __str__(self) -> str:
        rows = [(step.branch, step.entropy) for step in self.steps]
        width = max(len(branch) for branch, _ in rows)
        lines = [branch if s is None else f"{branch:<{width}}  {s:.3f}" for branch, s in rows]
        return "\n".join([*lines, *([self.left_out_line] if self.left_out else [])])

    def __repr__(self) -> str:
        ambiguity = "" if self.entropy is None else f", entropy={self.entropy:.3f}"
        return f"{type(self).__name__}({self.phrase!r}, method={self.method!r}{ambiguity})"
