"""Sentences parsed by lambeq, composed with a lexicon; and words as states of its circuits.

A pregroup diagram gives the arguments of each word: at a cup, the wire with more adjoints belongs to the functor. So a
verb ``n.r @ s @ n.l`` takes the nouns at its sides, an adjective ``n @ n.l`` its noun, an adverb the verb and its
subject.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polysema.composition.compose import Composer, Composition
from polysema.composition.trees import Leaf, Node, Tree
from polysema.density import DensityMatrix
from polysema.errors import InputError, needing
from polysema.integrations import qubits
from polysema.lexicon.lexicon import AnyLexicon

START = "START"  # the token without meaning that ``cups_reader`` puts before a sentence


def tree_of(diagram: Any) -> Tree:
    """The composition tree of a diagram of words, cups and swaps, from a parser or the ``cups_reader`` of lambeq."""
    words, takes = _takes(diagram)
    taken = [argument for arguments in takes.values() for argument in arguments]
    roots = [place for place in range(len(words)) if place not in taken]
    if len(roots) != 1 or len(set(taken)) < len(taken):
        sentence = " ".join(name for name, _ in words)
        raise InputError(f"{sentence!r}: not a tree: every word but one must be taken by exactly one other")
    trees: dict[int, Tree | None] = {}
    for place in _upwards(roots[0], takes):
        name, outputs = words[place]
        tree: Tree | None = None if name == START else Leaf(name, place)
        for argument in sorted(takes[place], key=lambda other: (other < place, abs(other - place))):
            other = trees[argument]
            if tree is None or other is None:
                tree = tree or other
                continue
            kind = "modifier" if outputs == words[argument][1] else "argument"
            tree = Node(tree, other, kind, place < argument)  # type: ignore[arg-type]
        trees[place] = tree
    found = trees[roots[0]]
    if found is None:
        raise InputError("a diagram without words")
    return found


def composed(lexicon: AnyLexicon, diagram: Any, method: str | Composer = "") -> Composition:
    """Compose a sentence that lambeq parsed."""
    return lexicon.compose(tree_of(diagram), method)


def word_circuit(rho: DensityMatrix, discarded: bool = True) -> Any:
    """A density matrix as a mixed state of ⌈log₂ n⌉ qubits, of Ry and CX, for ``to_tk`` and ``to_pennylane``.

    Amplitudes beyond n are zero; the qubits of senses come last. Phrases: :mod:`polysema.integrations.qubits`.

    Args:
        discarded: whether the qubits of senses are discarded, or stay open.
    """
    return qubits.word_circuit(rho).lambeq(discarded)


def evaluated(circuit: Any, n: int) -> DensityMatrix:
    """The density matrix of a circuit of qubits in its first n dimensions, at unit trace."""
    qubits = len(circuit.cod)
    array = np.asarray(circuit.eval(mixed=True))
    matrix = array.reshape(2**qubits, 2**qubits).real[:n, :n]
    return DensityMatrix.from_matrix((matrix + matrix.T) / (2 * np.trace(matrix)))


def _takes(diagram: Any) -> tuple[list[tuple[str, tuple[str, ...]]], dict[int, list[int]]]:
    """The words with their result types, and the arguments of each word."""
    with needing("diagrams of lambeq", "lambeq"):
        from lambeq.backend import grammar
    words: list[tuple[str, tuple[str, ...]]] = []
    takes: dict[int, list[int]] = {}
    wires: list[tuple[int, int]] = []  # the word of each wire, and its number of adjoints
    for layer in diagram.layers:
        box, at = layer.box, len(layer.left)
        if isinstance(box, grammar.Word):
            parts = list(box.cod)
            words.append((str(box.name), tuple(str(part) for part in parts if part.z == 0)))
            takes[len(words) - 1] = []
            wires[at:at] = [(len(words) - 1, abs(part.z)) for part in parts]
        elif isinstance(box, grammar.Cup):
            (left, more), (right, fewer) = wires[at : at + 2]
            functor, argument = (left, right) if more > fewer else (right, left)
            if argument not in takes[functor]:
                takes[functor].append(argument)
            del wires[at : at + 2]
        elif isinstance(box, grammar.Swap):
            wires[at], wires[at + 1] = wires[at + 1], wires[at]
        else:
            raise InputError(f"{box}: only diagrams of words, cups and swaps can be composed")
    return words, takes


def _upwards(root: int, takes: dict[int, list[int]]) -> list[int]:
    """The words, each after its arguments."""
    order = [root]
    for place in order:
        order += takes[place]
        if len(order) > len(takes):
            raise InputError("not a tree: some words take each other as arguments in a circle")
    return order[::-1]
