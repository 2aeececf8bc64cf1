"""Words and phrases as circuits, against DisCoPy's own evaluation and against composition."""

import numpy as np
import pytest

import polysema as ps
from polysema.errors import InputError, UnknownChoiceError

pytest.importorskip("discopy", reason="the extra discopy is not installed")

from polysema.integrations.discopy_diagrams import (
    DRAWN,
    draw,
    evaluated,
    phrase_diagram,
    word_state,
)

WORDS = ["bank", "raised", "interest", "rate", "old", "river"]
PHRASES = ["(bank (raised (interest rate)))", "((old bank) (raised rate))", "((old bank) raised*)", "(bank & river)"]


def made(n: int, m: int) -> ps.Lexicon:
    return ps.Lexicon(WORDS, np.random.default_rng(n).normal(size=(6, n, m)))


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 3), (7, 1), (3, 3)])
def test_a_word_is_a_mixed_state_of_any_dimension(n, m):
    rho = made(n, m)["bank"]
    state = word_state(rho)
    theirs = np.asarray(state.eval(mixed=True).array).reshape(n, n)
    assert np.abs(theirs - rho.dense()).max() < 1e-10
    assert np.abs(evaluated(state).dense() - rho.dense()).max() < 1e-10
    purification = state.boxes[0]
    assert not purification.is_mixed
    assert np.allclose(np.asarray(purification.array).reshape(n, m), rho.factor)


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("method", DRAWN)
def test_a_composition_is_a_diagram(method, phrase):
    lexicon = made(5, 3)
    diagram = phrase_diagram(lexicon, phrase, method)
    assert np.abs(evaluated(diagram).dense() - lexicon.compose(phrase, method).meaning.dense()).max() < 1e-10


@pytest.mark.parametrize("method", DRAWN)
def test_discopys_own_evaluation_is_ours(method):
    """In two dimensions: it squares all of them at once."""
    lexicon, phrase = made(2, 2), "(bank (raised rate))"
    theirs = np.asarray(phrase_diagram(lexicon, phrase, method).eval(mixed=True).array).reshape(2, 2).real
    assert np.abs(theirs / np.trace(theirs) - lexicon.compose(phrase, method).meaning.dense()).max() < 1e-10


def test_it_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra plots is not installed")
    draw(phrase_diagram(made(5, 3), PHRASES[1], "mult"), tmp_path / "phrase.png")
    assert (tmp_path / "phrase.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_wrong_is_said():
    lexicon = made(3, 2)
    with pytest.raises(
        UnknownChoiceError, match="unknown method of circuits 'tensor': choose phaser, fuzz, mult or add"
    ):
        phrase_diagram(lexicon, PHRASES[0], "tensor")
    with pytest.raises(InputError, match="one density matrix in one space"):
        word_state(lexicon.stack(["bank", "river"]))
