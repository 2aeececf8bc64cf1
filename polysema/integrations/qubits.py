"""Words and phrases as circuits of qubits: Ry rotations, controlled NOTs, discards and post-selection.

A word with the factor B, (2^q, 2^r), is the pure state Σ B_ij |i⟩|j⟩ of q qubits of meaning and r of senses, which are
discarded: ρ = B Bᵀ. Such real amplitudes are prepared by Ry rotations alone, each controlled by the qubits before it.

A functor that acts by K, ρ ↦ K ρ Kᵀ, is the state Σ K_ij |i⟩|j⟩ / ‖K‖, whose second half meets its argument in a cup,
the effect Σ ⟨ii|: a controlled NOT, a rotation, and post-selection of both on 0. K is ρ^½ for ``phaser``, and
Σᵢ √λᵢ Pᵢ ⊗ |i⟩ with the last wire discarded for ``fuzz``. With n = 2^q a cup succeeds with probability
tr(Kᵀ K σ) / n tr(Kᵀ K).

:func:`projected` brings a lexicon down to the 4 or 8 dimensions of two or three qubits, and says what that loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.operators import compress
from polysema.composition.phrases import Phrase
from polysema.composition.trees import Node
from polysema.density import DensityMatrix
from polysema.errors import InputError, check_choice, needing
from polysema.lexicon.lexicon import Lexicon, with_matrices

Array = NDArray[np.float64]
Gate = tuple[float | None, tuple[int, ...]]
"""An angle in radians and the qubit that Ry turns by it; or None, the control and the target of a controlled NOT."""

ACTING = ("phaser", "fuzz")
"""The methods whose functors are states that meet their arguments in cups."""

TIE = 1e-9
"""Eigenvalues nearer than this share of the largest are of one eigenspace, as in ``composition.operators``."""


@dataclass(frozen=True)
class Circuit:
    """Gates on qubits that all start as 0.

    Attributes:
        size: the number of qubits.
        gates: in the order of time.
        meaning: the qubits of the result, the first one counting most.
        selected: qubits that are measured; only runs in which all of them give 0 count. The others are discarded.
    """

    size: int
    gates: tuple[Gate, ...]
    meaning: tuple[int, ...]
    selected: tuple[int, ...] = ()

    def amplitudes(self) -> Array:
        """The pure state of all qubits, (2, …, 2)."""
        state = np.zeros((2,) * self.size)
        state[(0,) * self.size] = 1.0
        for angle, qubits in self.gates:
            moved = np.moveaxis(state, qubits, range(len(qubits)))  # a view
            if angle is None:
                moved[1] = moved[1, ::-1].copy()
            else:
                c, s = np.cos(angle / 2), np.sin(angle / 2)
                moved[...] = np.stack([c * moved[0] - s * moved[1], s * moved[0] + c * moved[1]])
        return state

    def evaluated(self) -> tuple[DensityMatrix, float]:
        """The exact result, and the probability that all post-selected qubits give 0."""
        state = np.moveaxis(self.amplitudes(), self.selected, range(len(self.selected)))[(0,) * len(self.selected)]
        left = [qubit for qubit in range(self.size) if qubit not in self.selected]
        state = np.moveaxis(state, [left.index(qubit) for qubit in self.meaning], range(len(self.meaning)))
        factor = compress(state.reshape(2 ** len(self.meaning), -1))
        return DensityMatrix(factor), float((factor**2).sum())

    def lambeq(self, discarded: bool = True) -> Any:
        """The circuit as a diagram of lambeq, with its ``to_tk`` and ``to_pennylane``.

        Args:
            discarded: whether the qubits of senses are discarded; else they stay open beside those of the meaning.
        """
        with needing("circuits of lambeq", "lambeq"):
            from lambeq.backend import quantum
        found = quantum.Ket(*[0] * self.size)
        for angle, qubits in self.gates:
            found = found.apply_gate(quantum.Ry(angle / (2 * np.pi)) if angle else quantum.CX, *qubits)
        for qubit in reversed(range(self.size)):  # the last first, so that the others keep their places
            if qubit in self.selected or (discarded and qubit not in self.meaning):
                found = found.then_at(quantum.Bra(0) if qubit in self.selected else quantum.Discard(), qubit)
        return found

    def pennylane(self, after: Any = None) -> None:
        """Apply the gates inside a function that PennyLane runs.

        Args:
            after: called with the qubits of each gate once it is applied, such as a channel of noise.
        """
        with needing("circuits of PennyLane", command="pip install pennylane"):
            import pennylane
        for angle, qubits in self.gates:
            pennylane.CNOT(qubits) if angle is None else pennylane.RY(angle, qubits[0])
            if after is not None:
                after(qubits)


def word_circuit(rho: DensityMatrix) -> Circuit:
    """A density matrix as a mixed state of ⌈log₂ n⌉ qubits, purified by those of its senses."""
    if len(rho.parts) > 1 or rho.shape:
        raise InputError(f"a state of qubits is one density matrix in one space, not {rho!r}")
    state, (q, r) = _padded(compress(rho.factor))
    return Circuit(q + r, tuple(prepared(state.ravel())), tuple(range(q)))


def phrase_circuit(lexicon: Lexicon, phrase: Phrase, method: str = "phaser") -> Circuit:
    """A phrase as a circuit whose result is the density matrix of ``lexicon.compose``.

    From the root down to the word that everything acts on, every functor is a state; a functor that is a phrase, a
    coordination and a negation are prepared as the matrices that they come to.
    """
    check_choice("method of circuits", method, ACTING)
    found = with_matrices(lexicon, "a circuit").compose(phrase, method)
    tree, path, functors = found.tree, "", list[Any]()
    while isinstance(tree, Node) and tree.kind in ("argument", "modifier"):
        left, right = ("l", "r") if tree.functor_first else ("r", "l")
        functors.append(found.meanings[path + left])
        tree, path = tree.argument, path + right
    matrix: Any = found.meanings[path]
    circuit = word_circuit(matrix)
    for functor in reversed(functors):
        circuit = _acted_on(circuit, functor, method)
    return circuit


def projected(lexicon: Lexicon, words: Iterable[str], n: int) -> tuple[Lexicon, dict[str, float]]:
    """Some words in n dimensions, and the share of each word's trace that is lost.

    P projects on the n main eigenvectors of Σ_w ρ_w; ρ becomes P ρ P at unit trace, and 1 − tr(P ρ) is lost.
    """
    words = list(dict.fromkeys(words))
    if not 0 < n <= lexicon.n or not words:
        raise InputError(f"{len(words)} words in {n} dimensions: give words, and at most {lexicon.n} dimensions")
    factors = np.stack([lexicon[word].factor for word in words])
    basis = np.linalg.eigh((factors @ factors.mT).sum(axis=0))[1][:, ::-1][:, :n]
    low = basis.T @ factors
    lost = np.maximum(1 - (low**2).sum(axis=(1, 2)), 0.0)
    return Lexicon(words, low), dict(zip(words, lost.tolist(), strict=True))


def prepared(amplitudes: Array, first: int = 0) -> list[Gate]:
    """Gates that make real amplitudes (2^k,) of norm 1 out of k qubits that are 0, from the ``first`` on."""
    gates: list[Gate] = []
    qubits = int(np.log2(len(amplitudes)))
    for k in range(qubits):
        pairs = amplitudes.reshape(2**k, 2, -1)
        if k < qubits - 1:
            pairs = np.linalg.norm(pairs, axis=2, keepdims=True)
        angles = 2 * np.arctan2(pairs[:, 1, 0], pairs[:, 0, 0])
        gates += _controlled(angles, range(first, first + k), first + k)
    return [gate for gate in gates if gate[0] is None or abs(gate[0]) > 1e-12]


def kraus(rho: DensityMatrix, method: str) -> Array:
    """What a functor acts by, (n, n, k): ρ^½ with k = 1, or Σᵢ √λᵢ Pᵢ ⊗ |i⟩ over the eigenspaces of ρ."""
    values, vectors = rho.eigen()
    kept = values > TIE * values[0]
    values, vectors = values[kept], vectors[:, kept]
    space = np.cumsum(np.concatenate([[0], values[:-1] - values[1:] > TIE * values[0]])).astype(int)
    if method == "phaser":
        space[:] = 0
    found = np.zeros((len(vectors), len(vectors), int(space[-1]) + 1))
    for value, vector, which in zip(values, vectors.T, space.tolist(), strict=True):
        found[:, :, which] += np.sqrt(value) * np.outer(vector, vector)
    return found


def _acted_on(circuit: Circuit, functor: DensityMatrix, method: str) -> Circuit:
    """A circuit with the state of a functor, the second half of which meets the circuit's result in cups."""
    state, (q, _, r) = _padded(kraus(functor, method))
    at = circuit.size
    gates = [*circuit.gates, *prepared((state / np.linalg.norm(state)).ravel(), at)]
    inputs = tuple(range(at + q, at + 2 * q))
    for a, b in zip(circuit.meaning, inputs, strict=True):
        gates += [(None, (a, b)), (-np.pi / 2, (a,))]
    return Circuit(
        at + 2 * q + r, tuple(gates), tuple(range(at, at + q)), (*circuit.selected, *circuit.meaning, *inputs)
    )


def _controlled(angles: Array, controls: Sequence[int], target: int) -> list[Gate]:
    """Ry of the target by the angle that the controls choose, (2^controls,).

    With the half-sum a and half-difference b of the angles for 0 and 1 of the first control: Ry(a), CX, Ry(b), CX. Read
    backwards it is the same operation, so the second half is reversed and two controlled NOTs cancel.
    """
    if not controls:
        return [(float(angles[0]), (target,))]
    zero, one = angles.reshape(2, -1)
    first, second = (_controlled(part, controls[1:], target) for part in ((zero + one) / 2, (zero - one) / 2))
    if len(controls) > 1:
        first, second = first[:-1], second[-2::-1]
    flip: Gate = (None, (controls[0], target))
    return [*first, flip, *second, flip]


def _padded(array: Array) -> tuple[Array, tuple[int, ...]]:
    """An array with zeros up to powers of two, and the number of qubits of each axis."""
    qubits = tuple(int(np.ceil(np.log2(size))) for size in array.shape)
    return np.pad(array, [(0, 2**k - size) for k, size in zip(qubits, array.shape, strict=True)]), qubits
