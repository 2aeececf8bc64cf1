"""Words and phrases as circuits of DisCoPy, in any dimension.

A word with the factor B, (n, m), is the pure state Σ B_ij |i⟩|j⟩ of a wire of dimension n, its meaning, and one of
dimension m, its senses. Discarding the sense wire leaves ρ = B Bᵀ: the factor is a purification of the word.

A composition is a diagram of the same shape as its tree. The functor acts on the wire of its argument:

==========  ==========================================================================================
``phaser``  the operator ρ^½
``fuzz``    Σᵢ √λᵢ Pᵢ ⊗ |i⟩; the second wire, the number of the eigenspace, is discarded
``mult``    both meanings are states, and their wires meet in a spider: Σᵢ |i⟩⟨ii|
``add``     the mixture is a state: its sense wire is that of both sides, one after the other
==========  ==========================================================================================

Circuits are not normalised at every node; :func:`evaluated` normalises the result, which gives the same matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Method, PhraseState
from polysema.composition.methods import METHODS
from polysema.composition.operators import compress
from polysema.composition.phrases import Phrase
from polysema.composition.trees import Leaf, Node, Tree, leaves, words_of
from polysema.density import DensityMatrix
from polysema.errors import InputError, check_choice, needing
from polysema.integrations.qubits import kraus
from polysema.lexicon.lexicon import Lexicon

Array = NDArray[np.float64]
DRAWN = ("phaser", "fuzz", "mult", "add")


def word_state(rho: DensityMatrix, name: str = "") -> Any:
    """A density matrix as a circuit: its purification, with the sense wire discarded."""
    if len(rho.parts) > 1 or rho.shape:
        raise InputError(f"a circuit state is one density matrix in one space, not {rho!r}")
    circuit, wire, senses = _circuit(), _wire(rho.n), _wire(rho.factor.shape[1])
    data = rho.factor.ravel().tolist()
    state = circuit.Box(name or rho.name or "ρ", circuit.Ty(), wire @ senses, data=data, is_mixed=False)
    return state >> wire @ _discarded(senses)


def phrase_diagram(lexicon: Lexicon, phrase: Phrase, method: str = "phaser", *, nlp: Any = None) -> Any:
    """A phrase as a circuit with one wire, whose evaluation is the density matrix of ``lexicon.compose``.

    Args:
        phrase: as :meth:`Lexicon.compose <polysema.Lexicon.compose>` takes it.
        method: one of :data:`DRAWN`.
        nlp: the spaCy pipeline to parse with.
    """
    check_choice("method of circuits", method, DRAWN)
    return _diagram(lexicon.compose(phrase, method, nlp=nlp).tree, lexicon, METHODS[method])


def evaluated(diagram: Any) -> DensityMatrix:
    """The density matrix of a circuit with one wire, at unit trace.

    DisCoPy's own ``diagram.eval(mixed=True)`` gives the same matrix but needs the square of all dimensions at once.
    Here the boxes act one after the other on a factor, (wires …, discarded).
    """
    factor: Array = np.ones(1)
    for box, offset in zip(diagram.boxes, diagram.offsets, strict=True):
        inputs, outputs = ([item.dim for item in side.inside] for side in (box.dom, box.cod))
        wires = range(offset, offset + len(inputs))
        if type(box).__name__ == "Discard":
            moved = np.moveaxis(factor, list(wires), range(factor.ndim - 1 - len(inputs), factor.ndim - 1))
            kept = moved.shape[: factor.ndim - 1 - len(inputs)]
            factor = compress(moved.reshape(int(np.prod(kept)), -1)).reshape(*kept, -1)
            continue
        if getattr(box, "is_mixed", True) or box.array is None:
            raise InputError(f"{box}: circuits of pure boxes and discards are evaluated here; ask diagram.eval()")
        array = np.asarray(box.array).real.reshape(int(np.prod(inputs)), *outputs)
        moved = np.moveaxis(factor, list(wires), range(len(inputs)))
        rest = moved.shape[len(inputs) :]
        made = np.tensordot(moved.reshape(int(np.prod(inputs)), -1), array, (0, 0)).reshape(*rest, *outputs)
        factor = np.moveaxis(made, range(len(rest), made.ndim), range(offset, offset + len(outputs)))
    return DensityMatrix(factor.reshape(-1, factor.shape[-1]))


def draw(diagram: Any, path: Any = None) -> Any:
    """Draw a circuit, to a file if a path is given."""
    return diagram.draw(path=None if path is None else str(path), figsize=(10, 6), fontsize=10, margins=(0.1, 0.08))


def _diagram(tree: Tree, lexicon: Lexicon, method: Method) -> Any:
    if isinstance(tree, Leaf):
        return word_state(lexicon[tree.word], tree.word)
    functor, argument = _diagram(tree.functor, lexicon, method), _diagram(tree.argument, lexicon, method)
    wire, circuit = _wire(lexicon.n), _circuit()
    if tree.kind == "coordination" or method.name == "add":
        return _mixed(tree, functor, argument, method)
    if method.name == "mult":
        left, right = (functor, argument) if tree.functor_first else (argument, functor)
        spider = np.einsum("ij,ik->ijk", np.eye(lexicon.n), np.eye(lexicon.n))
        return left @ right >> circuit.Box("⊙", wire @ wire, wire, data=spider.ravel().tolist(), is_mixed=False)
    acting = kraus(evaluated(functor), method.name)  # (n, n, k)
    name, space = f"{'√' if method.name == 'phaser' else 'fuzz '}{words_of(tree.functor)}", _wire(acting.shape[2])
    made = argument >> circuit.Box(name, wire, wire @ space, data=acting.ravel().tolist(), is_mixed=False)
    return made >> wire @ _discarded(space) if len(space) else made


def _mixed(tree: Node, functor: Any, argument: Any, method: Method) -> Any:
    """A mixture as the state of its factor; the method gives the weights of both sides."""
    ours = PhraseState(evaluated(functor).factor, len(list(leaves(tree.functor))))
    theirs = PhraseState(evaluated(argument).factor, len(list(leaves(tree.argument))))
    core = method.at(tree, ours, theirs).core
    return word_state(DensityMatrix(core), f"mix {words_of(tree)}")


def _wire(dimension: int) -> Any:
    """A wire of a dimension; no wire for dimension 1."""
    circuit = _circuit()
    return circuit.Ty(circuit.Qudit(dimension)) if dimension > 1 else circuit.Ty()


def _discarded(wire: Any) -> Any:
    circuit = _circuit()
    return circuit.Discard(wire) if len(wire) else circuit.Id()


def _circuit() -> Any:
    with needing("circuits of DisCoPy", "discopy"):
        from discopy.quantum import circuit
    return circuit
