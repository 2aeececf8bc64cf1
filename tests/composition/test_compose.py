import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysema import Brackets, DensityMatrix, Lexicon, VectorLexicon, measures
from polysema.composition import operators
from polysema.composition.compose import Composition, Method, PhraseState, fold
from polysema.composition.methods import METHODS, VECTOR_METHODS, method_named
from polysema.composition.phrases import read_phrase
from polysema.composition.trees import Leaf, Node, from_pattern, parse_brackets
from polysema.errors import InputError, MatrixError, TreeError, UnknownChoiceError
from polysema.vectors import Vector, cosine
from tests import dense
from tests.evaluation import reference
from tests.refusals import refused
from tests.strategies import make_factor

SENTENCES = ["(a b*)", "(a (b c))", "((a b) (c (d e)))"]


def words(n: int, m: int = 3) -> dict[str, np.ndarray]:
    return {word: make_factor(i, n, m, "random") for i, word in enumerate("abcde")}


def composed(brackets: str, method: str, table: dict[str, np.ndarray]) -> Composition:
    meanings = {word: DensityMatrix(factor) for word, factor in table.items()}
    return METHODS[method].compose(meanings, read_phrase(Brackets(brackets)))


@pytest.mark.parametrize("method", reference.METHODS)
def test_methods_step_by_step(method):
    """Each column of the protocol's table, by hand and dense."""
    table = words(5)
    for brackets, leaves in zip(SENTENCES, ("ab", "abc", "abcde"), strict=True):
        expected = reference.compose([dense.matrix(table[word]) for word in leaves], method)
        assert np.allclose(composed(brackets, method, table).meaning.dense(), expected, atol=1e-9), brackets


def test_coordination_is_the_even_mixture_of_the_conjuncts():
    table = words(5)
    a, b, c, d, _ = (dense.matrix(table[w]) for w in "abcde")
    both = composed("((a & b) & c)", "phaser", table).meaning.dense()
    assert np.allclose(both, (a + b + c) / 3)
    expected = dense.unit(dense.phaser(dense.unit(dense.phaser(c, d)), (a + b) / 2))
    assert np.allclose(composed("((a & b) (c d))", "phaser", table).meaning.dense(), expected)
    expected = (dense.unit(dense.phaser(a, b)) + c) / 2
    assert np.allclose(composed("((a~ b) & c)", "phaser", table).meaning.dense(), expected)
    assert np.allclose(composed("((a~ b) & c)", "add", table).meaning.dense(), (a + b + c) / 3)
    vectors = {word: factor[:, 0] for word, factor in table.items()}
    for method in VECTOR_METHODS.values():
        (root,) = fold(parse_brackets("(a & b)"), lambda leaf: vectors[leaf.word], method)
        assert np.allclose(root.meaning.dense(), vectors["a"] + vectors["b"])
    refused(TreeError, "tensor cannot mix verbs", composed, "(a (b & (c d)))", "tensor", table)


@pytest.mark.parametrize("n", [2, 6])
def test_tensor_is_the_literal_kronecker_construction(n):
    table, others = words(n), {word: make_factor(i + 50, n, 2, "random") for i, word in enumerate("abcde")}
    for brackets, leaves in zip(SENTENCES, ("ab", "abc", "abcde"), strict=True):
        rho, sigma = (composed(brackets, "tensor", t).meaning for t in (table, others))
        dense_rho, dense_sigma = (
            reference.compose([dense.matrix(t[w]) for w in leaves], "tensor") for t in (table, others)
        )
        assert measures.entropy(rho) == pytest.approx(dense.entropy(dense_rho), abs=1e-9)
        assert measures.similarity(rho, sigma) == pytest.approx(dense.similarity(dense_rho, dense_sigma), abs=1e-9)
    # an adverb modifies the verb in both slots; a clause as an argument keeps its parts
    a, b, c, d = (dense.matrix(table[w]) for w in "abcd")
    adverb = composed("(a ((b~ c) d))", "tensor", table).meaning
    assert np.allclose(adverb.dense(), dense.unit(np.kron(a * b * c, d * b * c)))
    clause = composed("(a (b (c* d)))", "tensor", table).meaning
    assert np.allclose(clause.dense(), dense.unit(np.kron(a * b, d * c * b)))


def test_tensor_at_300_needs_no_huge_matrix():
    phrase = composed("((a b) (c (d e)))", "tensor", words(300, 5))
    assert phrase.meaning.n == 90_000
    assert all(part.shape[0] == 300 and part.shape[1] <= 300 for part in phrase.meaning.parts)
    assert 0 < phrase.entropy < np.log(90_000)


@given(
    st.sampled_from(list(METHODS)),
    st.sampled_from([*SENTENCES, "(a ((b~ c) d))"]),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_every_method_gives_a_density_matrix_at_every_node(method, brackets, n, m):
    phrase = composed(brackets, method, words(n, m))
    for step in phrase.steps:
        rho = phrase.meanings[step.path].dense()
        assert np.allclose(rho, rho.T)
        assert np.linalg.eigvalsh(rho).min() > -1e-10
        assert np.trace(rho) == pytest.approx(1)
        assert -1e-12 <= step.entropy <= np.log(len(rho)) + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_stacks_compose_as_singles_do(method):
    tree = from_pattern("adj subj verb adj obj", list("abcde"))
    tables = [{w: make_factor(10 * k + i, 6, 3, "random") for i, w in enumerate("abcde")} for k in range(3)]
    many = fold(tree, lambda leaf: np.stack([t[leaf.word] for t in tables]), METHODS[method])[-1]
    assert many.valid.all()
    for k, table in enumerate(tables):
        one = composed(str(tree), method, table)
        assert np.allclose(many.meaning[k].dense(), one.meaning.dense())


def test_nothing_in_common_is_an_error_by_name_and_a_mask_in_a_stack():
    up, down = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    table = {"up": up, "down": down}
    tree = parse_brackets("(up down)")
    for method in ("phaser", "fuzz", "mult", "tensor"):
        with pytest.raises(MatrixError, match=f"'up down': composed with {method} it has zero trace"):
            composed("(up down)", method, table)
        stacked = fold(tree, lambda leaf: np.stack([table[leaf.word], up]), METHODS[method])[-1]
        assert stacked.valid.tolist() == [False, True]
        assert np.isfinite(stacked.meaning.dense()).all()


def test_nearly_orthogonal_supports_are_not_mistaken_for_zero():
    up, near = np.array([[1.0], [0.0]]), np.array([[1e-6], [1.0]])
    result = fold(parse_brackets("(a b)"), lambda leaf: {"a": up, "b": near}[leaf.word], METHODS["phaser"])[-1]
    assert result.valid
    assert np.allclose(result.meaning.dense(), up @ up.T)


def test_a_deep_tree_composes():
    assert composed("(a " * 3000 + "b" + ")" * 3000, "phaser", words(3)).entropy >= 0


def test_vector_methods_by_hand():
    rng = np.random.default_rng(1)
    a, b, c, d, e = rng.normal(size=(5, 4))
    table = {word: Vector(vector) for word, vector in zip("abcde", (a, b, c, d, e), strict=True)}

    def vector(brackets, method):
        return VECTOR_METHODS[method].compose(table, read_phrase(Brackets(brackets))).meaning

    assert np.allclose(vector("((a b) (c (d e)))", "add").dense(), a + b + c + d + e)
    assert np.allclose(vector("((a b) (c (d e)))", "mult").dense(), a * b * c * d * e)
    assert np.allclose(vector("((a b) (c (d e)))", "verb").dense(), c)
    assert np.allclose(vector("(a b*)", "tensor").dense(), np.outer(b, b) @ a)
    assert np.allclose(vector("(a (b c))", "tensor").dense(), (np.outer(b, b) * np.outer(a, c)).ravel())
    np1, np2 = np.outer(a, a) @ b, np.outer(d, d) @ e
    assert np.allclose(vector("((a b) (c (d e)))", "tensor").dense(), (np.outer(c, c) * np.outer(np1, np2)).ravel())


def test_cosine_of_products_multiplies():
    rng = np.random.default_rng(2)
    a, b, c, d = rng.normal(size=(4, 3))
    x, y = Vector.product([a, b]), Vector.product([c, d])
    flat = np.outer(a, b).ravel() @ np.outer(c, d).ravel() / np.linalg.norm(x.dense()) / np.linalg.norm(y.dense())
    assert cosine(x, y) == pytest.approx(flat)
    refused(MatrixError, "different spaces", cosine, Vector(a), x)
    for bad, message in ((np.zeros(2), "is zero"), (np.array([np.nan]), "not finite"), (np.float64(1), "has shape")):
        refused(MatrixError, message, Vector, bad, "w")


def test_unknown_methods_list_the_choices(lexicon: Lexicon, vectors: Lexicon):
    refused(UnknownChoiceError, "unknown composition method 'fazer': choose verb, .*phaser", method_named, "fazer")
    with pytest.raises(UnknownChoiceError, match="for vectors 'phaser': choose verb, mult, add or tensor"):
        vectors.compose("(bob (likes cars))", "phaser")


def test_the_tree_of_a_composition_in_print(lexicon: Lexicon):
    phrase = lexicon.compose("(bob (likes (old cars)))")
    assert phrase.phrase == "bob likes old cars"
    assert phrase.entropy == pytest.approx(measures.entropy(phrase.meaning))
    lines = str(phrase).splitlines()
    assert [line.rsplit(None, 1)[0] for line in lines] == [
        "bob likes old cars", "├── bob", "└── likes old cars", "    ├── likes", "    └── old cars", "        ├── old",
        "        └── cars",
    ]  # fmt: skip
    assert float(lines[1].split()[-1]) == pytest.approx(lexicon.entropy("bob"), abs=5e-4)
    assert repr(phrase).startswith("Composition('bob likes old cars', method='phaser'")


def test_a_composition_pickles_and_copies(lexicon: Lexicon):
    for model_method in ("phaser", "tensor", "add"):
        phrase = lexicon.compose("((old bob) (likes (old cars)))", model_method)
        for again in (pickle.loads(pickle.dumps(phrase)), copy.copy(phrase), copy.deepcopy(phrase)):
            assert again.to_dict() == phrase.to_dict()
            assert str(again) == str(phrase)
            assert np.allclose(again.meaning.dense(), phrase.meaning.dense())


def test_meanings_by_the_way_from_the_root(lexicon: Lexicon):
    word = lexicon.compose("bank")
    assert word.tree == Leaf("bank")
    assert np.allclose(word.meaning.dense(), lexicon["bank"].dense())
    phrase = lexicon.compose("(bob (likes (old cars)))")
    assert set(phrase.meanings) == {"", "l", "r", "rl", "rr", "rrl", "rrr"}
    assert np.allclose(phrase.meanings["rrl"].dense(), lexicon["old"].dense())
    assert np.allclose(phrase.meanings["rr"].dense(), lexicon.compose("(old cars)").meaning.dense())
    assert [step.path for step in phrase.steps] == ["", "l", "r", "rl", "rr", "rrl", "rrr"]


def _halved(node: Node, functor: PhraseState, argument: PhraseState) -> PhraseState:
    return PhraseState(functor.core @ np.eye(functor.core.shape[-1]), functor.words + argument.words)


def test_a_method_of_ones_own_says_what_it_works_on(lexicon: Lexicon, vectors: VectorLexicon):
    own = Method("functor", "the functor alone", "matrices", _halved)
    phrase = lexicon.compose("(old cars)", own)
    assert isinstance(phrase.meaning, DensityMatrix)
    assert np.allclose(phrase.meaning.dense(), lexicon["old"].dense())
    (root,) = fold(phrase.tree, lambda leaf: lexicon[leaf.word].factor, own)
    assert isinstance(root.meaning, DensityMatrix)
    refused(InputError, "functor works on matrices: this lexicon holds vectors", vectors.compose, "(old cars)", own)
    summed = Method("sum", "a + b", "vectors", lambda node, f, a: PhraseState(f.core + a.core))
    assert isinstance(vectors.compose("(old cars)", summed).meaning, Vector)


def test_a_method_of_ones_own():
    """An operator makes a method that agrees with the one in the table; what makes no factor is refused in one line."""
    table = words(5)
    mine = Method.by("mine", "", operators.phaser)
    lexicon = Lexicon([*table], [*table.values()])
    for tree in SENTENCES:
        assert np.allclose(lexicon.compose(tree, mine).meaning.dense(), composed(tree, "phaser", table).meaning.dense())
    left = Method.by("left", "", operators.phaser, acts=lambda node: node.functor_first)
    found = lexicon.compose("(a b*)", left).meaning.dense()
    assert np.allclose(found, composed("(a b*)", "phaser-left", table).meaning.dense())


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (lambda b, c: b @ c, "'mine' fails on shapes"),
        (lambda b, c: b * np.nan, "not finite"),
        (lambda b, c: b.mT, "must make"),
        (lambda b, c: None, "NoneType"),
    ],
)
def test_a_method_that_fails(operator, message):
    lexicon = Lexicon([*words(5)], [*words(5).values()])
    with pytest.raises(InputError, match=message):
        lexicon.compose("(a b)", Method.by("mine", "", operator))
    with pytest.raises(InputError, match="not function"):
        lexicon.compose("(a b)", operator)
