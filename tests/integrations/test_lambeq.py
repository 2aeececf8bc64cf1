"""Diagrams and circuits of lambeq itself; it is too large for every run (torch, transformers, tensornetwork)."""

import sys

import numpy as np
import pytest

import polysema as ps
from polysema.composition.trees import leaves
from polysema.errors import InputError, MissingExtraError
from polysema.integrations import lambeq_words, qubits


@pytest.fixture(scope="module")
def lambeq():
    return pytest.importorskip("lambeq", reason="lambeq is not installed: pip install 'polysema[lambeq]'")


@pytest.fixture(scope="module")
def own() -> ps.Lexicon:
    rng = np.random.default_rng(3)
    return ps.Lexicon(["bank", "raised", "interest", "rates", "old", "quickly"], rng.normal(size=(6, 5, 3)))


def test_a_transitive_sentence(lambeq, own):
    from lambeq import AtomicType
    from lambeq.backend.grammar import Cup, Diagram, Word

    n, s = AtomicType.NOUN, AtomicType.SENTENCE
    typed = [Word("old", n @ n.l), Word("bank", n), Word("raised", n.r @ s @ n.l), Word("rates", n)]
    cups = [(Cup, 1, 2), (Cup, 0, 3), (Cup, 5, 6)]
    diagram = Diagram.create_pregroup_diagram(typed, cups)
    assert str(lambeq_words.tree_of(diagram)) == "((old bank) (raised rates))"
    found = lambeq_words.composed(own, diagram, "phaser")
    expected = own.compose("((old bank) (raised rates))", "phaser")
    assert np.abs(found.meaning.dense() - expected.meaning.dense()).max() < 1e-10


def test_an_adverb_takes_the_verb_and_its_subject(lambeq):
    from lambeq import AtomicType
    from lambeq.backend.grammar import Cup, Diagram, Word

    n, s = AtomicType.NOUN, AtomicType.SENTENCE
    typed = [Word("bank", n), Word("sleeps", n.r @ s), Word("quickly", s.r @ n.r.r @ n.r @ s)]
    diagram = Diagram.create_pregroup_diagram(typed, [(Cup, 2, 3), (Cup, 1, 4), (Cup, 0, 5)])
    assert str(lambeq_words.tree_of(diagram)) == "(bank (sleeps quickly~))"


def test_the_readers_of_lambeq(lambeq, own):
    diagram = lambeq.cups_reader.sentence2diagram("bank raised rates")
    assert [leaf.word for leaf in leaves(lambeq_words.tree_of(diagram))] == ["bank", "raised", "rates"]
    assert np.isfinite(lambeq_words.composed(own, diagram).entropy)
    with pytest.raises(InputError, match="diagrams of words, cups and swaps"):
        lambeq_words.tree_of(lambeq.spiders_reader.sentence2diagram("bank raised rates"))


@pytest.mark.parametrize(("n", "m"), [(5, 3), (4, 2), (3, 1), (8, 4)])
def test_words_as_states_of_qubits(lambeq, n, m):
    rng = np.random.default_rng(n)
    rho = ps.DensityMatrix(rng.normal(size=(n, m)), "bank")
    circuit = lambeq_words.word_circuit(rho)
    assert len(circuit.cod) == int(np.ceil(np.log2(n)))
    assert np.abs(lambeq_words.evaluated(circuit, n).dense() - rho.dense()).max() < 1e-10


def test_words_and_phrases_on_other_backends(lambeq, own):
    """tket gets the gates and the post-selection, PennyLane the purified state."""
    pytest.importorskip("pytket")
    pytest.importorskip("pennylane")
    rho = ps.DensityMatrix(np.random.default_rng(2).normal(size=(4, 2)), "bank")
    assert lambeq_words.word_circuit(rho).to_tk().n_qubits == 3
    factor = np.asarray(lambeq_words.word_circuit(rho, discarded=False).to_pennylane().eval()).reshape(4, 2)
    assert np.abs(factor @ factor.conj().T - rho.dense()).max() < 1e-6
    circuit = qubits.phrase_circuit(qubits.projected(own, ["old", "bank"], 4)[0], "(old bank)")
    assert len(circuit.lambeq().to_tk().post_selection) == len(circuit.selected) == 4
    found = lambeq_words.evaluated(circuit.lambeq(), 4)
    assert np.abs(found.dense() - circuit.evaluated()[0].dense()).max() < 1e-10


def test_a_gate_of_lambeq_acts_on_a_word(lambeq):
    from lambeq.backend.quantum import H, X

    rho = ps.DensityMatrix(np.random.default_rng(1).normal(size=(4, 2)))
    found = lambeq_words.evaluated(lambeq_words.word_circuit(rho) >> X @ H, 4).dense()
    gate = np.kron([[0, 1], [1, 0]], np.array([[1, 1], [1, -1]]) / np.sqrt(2))
    assert np.abs(found - gate @ rho.dense() @ gate.T).max() < 1e-10


def test_without_lambeq(monkeypatch):
    monkeypatch.setitem(sys.modules, "lambeq", None)
    monkeypatch.setitem(sys.modules, "lambeq.backend", None)
    monkeypatch.setitem(sys.modules, "lambeq.backend.quantum", None)
    with pytest.raises(MissingExtraError, match=r"\[lambeq\]"):
        lambeq_words.word_circuit(ps.DensityMatrix(np.eye(2)))
