"""Circuits of qubits, against composition; without any of the quantum libraries."""

from __future__ import annotations

import numpy as np
import pytest

import polysema as ps
from polysema.errors import InputError, MatrixError
from polysema.integrations.qubits import ACTING, Circuit, phrase_circuit, prepared, projected, word_circuit

WORDS = ["bank", "raised", "interest", "rate", "old", "river"]


def made(n: int, m: int) -> ps.Lexicon:
    return ps.Lexicon(WORDS, np.random.default_rng(n).normal(size=(6, n, m)))


@pytest.mark.parametrize("qubits", [1, 2, 3, 5])
def test_any_real_state_is_prepared(qubits):
    state = np.random.default_rng(qubits).normal(size=2**qubits)
    state[0] = 0.0
    state /= np.linalg.norm(state)
    gates = prepared(state)
    found = Circuit(qubits, tuple(gates), tuple(range(qubits))).amplitudes().ravel()
    assert np.abs(found - state).max() < 1e-12
    assert sum(angle is None for angle, _ in gates) == max(2**qubits - 2, 0)


@pytest.mark.parametrize(("n", "m"), [(4, 2), (5, 3), (8, 4), (3, 1), (4, 9)])
def test_a_word_is_a_mixed_state(n, m):
    rho = made(n, m)["bank"]
    circuit = word_circuit(rho)
    found, share = circuit.evaluated()
    assert len(circuit.meaning) == int(np.ceil(np.log2(n)))
    assert share == pytest.approx(1.0)
    assert np.abs(found.dense()[:n, :n] - rho.dense()).max() < 1e-12


@pytest.mark.parametrize("method", ACTING)
@pytest.mark.parametrize("phrase", ["(old bank)", "(bank (raised (interest rate)))", "(old (bank & river))"])
def test_a_phrase_is_a_circuit(method, phrase):
    """Its result is what composition gives; a cup passes with probability tr(ρσ)/n."""
    lexicon = made(4, 2)
    found, share = phrase_circuit(lexicon, phrase, method).evaluated()
    assert np.abs(found.dense() - lexicon.compose(phrase, method).meaning.dense()).max() < 1e-12
    if phrase == "(old bank)":
        assert share == pytest.approx(float(ps.overlap(lexicon["old"], lexicon["bank"])) / 4)


def test_projection_says_what_it_loses():
    lexicon = made(8, 2)
    small, lost = projected(lexicon, ["old", "bank"], 4)
    assert (small.n, [*lost]) == (4, ["old", "bank"])
    assert max(lost.values()) < 1e-12  # two words of rank two have four directions
    assert small.similarity("old", "bank") == pytest.approx(lexicon.similarity("old", "bank"))
    assert min(projected(lexicon, WORDS, 4)[1].values()) > 0.01
    with pytest.raises(InputError, match="at most 8"):
        projected(lexicon, WORDS, 16)


def test_qutip():
    rho = made(4, 2)["bank"]
    with pytest.raises(MatrixError, match="stack"):
        ps.DensityMatrix(np.ones((2, 3, 1))).to_qutip()
    pytest.importorskip("qutip")
    assert np.abs(rho.to_qutip().full() - rho.dense()).max() < 1e-12
