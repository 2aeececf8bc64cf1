import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysema import Lexicon, VectorLexicon, parse_brackets
from polysema.composition.trees import either, readings
from polysema.errors import MatrixError, TreeError, UnknownChoiceError
from polysema.senses.negation import NEGATIONS
from tests.refusals import refused


def test_what_is_maximally_mixed_has_no_negation():
    lexicon = Lexicon(["all", "one"], np.stack([np.eye(2), [[1.0, 0], [0, 0]]]))
    refused(MatrixError, "zero trace", lexicon.compose, "(not all)", negation="logical")


@pytest.fixture
def fruits() -> Lexicon:
    """Two fruits that share a direction and have one of their own each, a verb, and things that are neither."""
    vectors = {
        "apple": [1, 1, 0, 0, 0, 0], "orange": [1, 0, 1, 0, 0, 0], "pear": [1, 0, 0.8, 0.2, 0, 0],
        "engine": [0, 0, 0, 0.1, 1, 0.2], "motor": [0, 0, 0, 0, 1, 0.3], "eat": [0.5, 0.2, 0.2, 0, 0, 1],
    }  # fmt: skip
    second = {"apple": [1, 0.6, 0, 0, 0, 0]}
    factors = [np.array([vector, np.multiply(second.get(word, vector), 0.5)]).T for word, vector in vectors.items()]
    return Lexicon([*vectors], np.stack(factors))


def test_not_an_apple_is_another_fruit(fruits):
    near = [item.word for item in fruits.neighbours(fruits.compose("(not apple)"), 6)]
    assert set(near[:2]) == {"orange", "pear"}
    assert near.index("apple") > 1
    logical = fruits.compose("(not apple)", negation="logical")
    assert fruits.similarity(logical, "motor") > fruits.similarity(logical, "orange")
    assert fruits.similarity("motor", "(not motor)") < 0.5
    same = fruits.compose("(not apple)", negation="none")
    assert same.entropy == pytest.approx(fruits.entropy("apple"))


@pytest.mark.parametrize("negation", [*NEGATIONS])
@pytest.mark.parametrize("method", ["phaser", "add", "fuzz", "smooth", "verb"])
def test_every_method_takes_every_negation(fruits, method, negation):
    composed = fruits.compose("(pear (not (eat apple)))", method, negation=negation)
    assert np.trace(composed.meaning.dense()) == pytest.approx(1)
    assert np.linalg.eigvalsh(composed.meaning.dense())[0] > -1e-9
    assert "rl" not in composed.meanings
    assert composed.steps[3].phrase == "not"
    assert composed.steps[3].entropy is None
    assert "not\n" in f"{composed}\n"


def test_vectors_have_no_negation_and_names_are_checked(fruits):
    vectors = VectorLexicon(["big", "dog"], np.eye(2))
    one, other = (vectors.compose(text).meaning.parts[0] for text in ("((not big) dog)", "(big~ dog)"))
    assert np.allclose(one, other)
    refused(UnknownChoiceError, "conversational", fruits.compose, "(not apple)", negation="nonsense")


def test_brackets_negate_unless_marked():
    assert parse_brackets("(not happy)").kind == "negation"
    assert parse_brackets("(no~ happy)").kind == "modifier"
    whole = parse_brackets("(not (dogs (chase cats)))")
    assert (whole.kind, whole.argument.kind, str(whole.argument.functor)) == ("negation", "argument", "(chase* cats)")
    refused(TreeError, "a negation begins with one of", type(whole), whole.argument, whole.functor, "negation")


@given(st.lists(st.floats(0.1, 5), min_size=2, max_size=3))
def test_readings_are_mixed(weights):
    """S(Σ p ρ) ≥ Σ p S(ρ), and the mixture is the mixture."""
    rng = np.random.default_rng(1)
    lexicon = Lexicon(["old", "men", "women"], rng.standard_normal((3, 5, 2)))
    trees = [parse_brackets(text) for text in ("(old~ (men & women))", "((old men) & women)", "((old women) & men)")]
    trees = trees[: len(weights)]
    composed = lexicon.compose(either(trees, weights))
    single = [lexicon.compose(tree) for tree in trees]
    p = np.array(weights) / np.sum(weights)
    assert [share for share, _ in readings(composed.tree)] == pytest.approx(p.tolist())
    expected = sum(share * one.meaning.dense() for share, one in zip(p, single, strict=True))
    assert np.allclose(composed.meaning.dense(), expected)
    assert composed.entropy >= p @ [one.entropy for one in single] - 1e-9
    assert composed.phrase == "old men women"


def test_readings_in_brackets():
    text = "(old~ (men & women)) |0.75 ((old men) & women)"
    tree = parse_brackets(text)
    assert tree == either([parse_brackets("(old~ (men & women))"), parse_brackets("((old men) & women)")], [3, 1])
    assert [leaf.position for leaf in (tree.functor.functor, tree.argument.functor.functor)] == [0, 0]
    assert [share for share, _ in readings(parse_brackets("a | b | c"))] == pytest.approx([1 / 3] * 3)
    refused(TreeError, "gives no probability", parse_brackets, "a |2 b")
    refused(TreeError, "2 readings with 1 weights", either, [tree, tree], [1])
    refused(TreeError, "positive numbers", either, [tree, tree], [1, -1])
