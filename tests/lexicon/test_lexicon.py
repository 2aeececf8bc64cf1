import json

import numpy as np
import pytest

from polysema import Brackets, Lexicon, VectorLexicon, Vocabulary, measures
from polysema.composition.compose import Step
from polysema.errors import Failed, InputError, MatrixError, UnknownWordError
from polysema.lexicon.lexicon import ranking, with_matrices
from polysema.meanings.parts import Parts, SenseClusters
from polysema.vectors import Vector
from tests import dense
from tests.refusals import refused


def same(found, expected) -> None:
    """The same neighbours; sums over other shapes may round otherwise."""
    assert [item.word for item in found] == [item.word for item in expected]
    assert [item.similarity for item in found] == pytest.approx([item.similarity for item in expected])


def test_look_up(lexicon: Lexicon):
    assert len(lexicon) == 12
    assert "bank" in lexicon
    assert "banque" not in lexicon
    assert list(lexicon)[:2] == ["bank", "river"]
    assert (lexicon.n, lexicon.m, lexicon.kind) == (6, 3, "matrices")
    assert repr(lexicon) == "Lexicon(12 words, n=6, m=3)"
    assert np.allclose(lexicon["bank"].dense(), dense.matrix(lexicon.factors[0].astype(float)))


def test_unknown_words_name_the_closest_spellings(lexicon: Lexicon):
    with pytest.raises(UnknownWordError, match="^'rivver' is not in the lexicon; did you mean river\\?$"):
        lexicon["rivver"]
    with pytest.raises(KeyError):
        lexicon["zzz"]
    with pytest.raises(UnknownWordError, match="^'' is not in the lexicon$"):
        lexicon[""]


def test_similarity_of_anything(lexicon: Lexicon):
    phrase = lexicon.compose("(old cars)")
    expected = dense.similarity(phrase.meaning.dense(), lexicon["bank"].dense())
    for query in ("(old cars)", phrase, phrase.tree, phrase.meaning):
        assert lexicon.similarity(query, "bank") == pytest.approx(expected)
    refused(InputError, "holds matrices, the query is a Vector", lexicon.similarity, Vector([1.0, 2.0]), "bank")


def test_all_pairs_equal_one_by_one(lexicon: Lexicon, vectors: Lexicon):
    queries = ["bank", "river", "(old cars)"]
    for model in (lexicon, vectors):
        table = model.similarities(queries, ["money", "bank"])
        assert table.shape == (3, 2)
        for i, a in enumerate(queries):
            for j, b in enumerate(["money", "bank"]):
                assert table[i, j] == pytest.approx(model.similarity(a, b), abs=1e-9)
        assert np.allclose(np.diag(model.similarities(queries)), 1)
    assert lexicon.similarities([]).shape == (0, 0)


def test_all_pairs_of_large_matrices_without_packing():
    factors = np.random.default_rng(0).normal(size=(5, 120, 3))
    model = Lexicon(list("abcde"), factors)
    table = model.similarities(list("abc"), list("de"))
    assert table[1, 0] == pytest.approx(model.similarity("b", "d"))


@pytest.mark.parametrize(("n", "m"), [(6, 3), (100, 2), (7, None)])
def test_neighbours_are_the_exact_ranking(n, m):
    rng = np.random.default_rng(3)
    shape = (300, n, m) if m else (300, n)
    kind = Lexicon if m else VectorLexicon
    model = kind([f"w{i}" for i in range(300)], rng.normal(size=shape).astype(np.float32))
    everything = model.similarities(list(model))
    queries = [f"w{i}" for i in range(40)]
    batch = model.neighbours(queries, 7)
    for i, query in enumerate(queries):
        order = [j for j in np.argsort(-everything[i], kind="stable") if j != i][:7]
        assert [item.word for item in batch[i]] == [f"w{j}" for j in order]
        assert [item.similarity for item in batch[i]] == pytest.approx([everything[i, j] for j in order], abs=1e-9)
        if i < 3:
            same(model.neighbours(query, 7), batch[i])


def test_all_words_as_neighbours_of_many_queries():
    """More neighbours than the compiled selection is made for: it would take minutes here."""
    factors = np.random.default_rng(4).normal(size=(20_000, 3, 2)).astype(np.float32)
    model = Lexicon([f"w{i}" for i in range(20_000)], factors)
    queries = [f"w{i}" for i in range(12)]
    found = model.neighbours(queries, 10**9)
    assert all(len(near) == 19_999 for near in found)
    assert [item.word for item in found[3][:300]] == [item.word for item in model.neighbours("w3", 300)]


def test_neighbours_of_phrases_and_matrices(lexicon: Lexicon):
    phrase = lexicon.compose("(old cars)")
    near = lexicon.neighbours(phrase, 3)
    for query in ("(old cars)", phrase.meaning):
        same(lexicon.neighbours(query, 3), near)
    assert near[0].similarity == pytest.approx(max(lexicon.similarity(phrase, word) for word in lexicon))
    assert lexicon.neighbours("bank", 0) == []
    assert len(lexicon.neighbours("bank", 1000)) == len(lexicon) - 1
    assert lexicon.neighbours([]) == []
    refused(InputError, "not -1", lexicon.neighbours, "bank", -1)
    with pytest.raises(InputError, match="dimension 36 is not comparable with words of dimension 6"):
        lexicon.neighbours(lexicon.compose("(bob (likes cars))", "tensor"))


def test_senses_are_the_columns():
    bright = [[[0.8, 0.0], [0.0, 0.6], [0.0, 0.0]]]
    shiny, clever = [[1.0, 0], [0, 0], [0, 0.1]], [[0.0, 0], [1, 0], [0, 0.1]]
    model = Lexicon(["bright", "shiny", "clever"], np.array([*bright, shiny, clever]))
    first, second = model.senses("bright", top=1)
    assert first.weight == pytest.approx(0.64)
    assert second.weight == pytest.approx(0.36)
    assert first.neighbours[0].word == "shiny"
    assert second.neighbours[0].word == "clever"
    assert np.allclose(first.vector, [1, 0, 0])
    assert len(model.senses("bright", min_weight=0.5)) == 1


def test_senses_of_dense_matrices_are_the_eigenvectors(lexicon: Lexicon):
    matrices = np.stack([lexicon[word].dense() for word in lexicon])
    model = Lexicon.from_matrices(lexicon.vocabulary, matrices)
    assert model.parts.columns == "eigen"
    values = np.linalg.eigvalsh(matrices[0])[::-1]
    assert [sense.weight for sense in model.senses("bank", min_weight=0)] == pytest.approx(values[:3])


def test_ambiguity_ranks_by_entropy(lexicon: Lexicon):
    ranking = lexicon.ambiguity()
    assert [item.entropy for item in ranking] == pytest.approx(sorted(map(lexicon.entropy, lexicon), reverse=True))
    assert ranking[0].effective_senses == pytest.approx(np.exp(ranking[0].entropy))
    assert len(lexicon.ambiguity(top=3)) == 3
    assert {item.word for item in lexicon.ambiguity(min_count=110)} == {"bank", "river"}
    assert {item.word for item in lexicon.ambiguity(["bob", "cars"])} == {"bob", "cars"}
    assert [item.word for item in lexicon.ambiguity("bank")] == ["bank"]


def test_vectors_have_no_entropy(vectors: Lexicon):
    assert vectors.kind == "vectors"
    assert vectors.similarity("bank", "bank") == pytest.approx(1)
    assert not {"entropy", "ranking", "senses", "ambiguity"} & set(dir(vectors))
    refused(InputError, "holds vectors: entropy needs density matrices", with_matrices, vectors, "entropy")
    phrase = vectors.compose("(bob (likes cars))")
    assert phrase.method == "add"
    assert phrase.entropy is None
    assert str(phrase).splitlines()[1] == "├── bob"


def test_bad_numbers_are_refused_with_the_words_name():
    factors = np.ones((3, 2, 2))
    factors[1] = 0
    model = Lexicon(["a", "b", "c"], factors)
    for ask in (
        lambda: model["b"],
        lambda: model.stack(["a", "b"]),
        lambda: model.neighbours("a"),
        lambda: ranking(model).entropies,
        lambda: model.compose("(a b)"),
    ):
        refused(MatrixError, "'b': its density matrix has zero trace", ask)


@pytest.mark.parametrize(
    ("words", "array", "message"),
    [
        (["a"], np.ones((2, 2, 2)), "1 words and an array of shape"),
        (["a"], np.ones((1, 2, 2, 2)), "1 words and an array of shape"),
        (["a"], np.ones((1, 0)), "1 words and an array of shape"),
        (["a"], np.ones((1, 2)), "vectors \\(words, n\\) a VectorLexicon"),
    ],
)
def test_wrong_shapes(words, array, message):
    refused(InputError, message, Lexicon, words, array)
    refused(InputError, "matrices of shape", Lexicon.from_matrices, ["a"], np.ones((1, 2)))


def test_words_with_a_pattern(lexicon: Lexicon):
    one = lexicon.compose("bob likes old cars", pattern="subj verb adj obj")
    other = lexicon.compose(("bob", "likes", "old", "cars"), pattern="subj verb adj obj")
    assert one.tree == other.tree == lexicon.compose("(bob (likes (old cars)))").tree
    refused(InputError, "need a pattern", lexicon.compose, ("bob", "likes"))
    assert [str(item.tree) for item in lexicon.compose(["bob", "(old cars)"])] == ["bob", "(old cars)"]


def test_half_precision_is_renormalised(lexicon: Lexicon):
    model = Lexicon(lexicon.vocabulary, lexicon.factors.astype(np.float16))
    assert np.trace(model["bank"].dense()) == pytest.approx(1, abs=1e-12)
    assert measures.entropy(model["bank"]) == pytest.approx(lexicon.entropy("bank"), abs=1e-3)


def test_vocabulary():
    vocabulary = Vocabulary(["the", "cat"], [900, 100])
    assert repr(vocabulary) == "Vocabulary(2 words, 1000 tokens)"
    assert vocabulary.count("cat") == 100
    f, t = 0.9, 1e-3
    assert vocabulary.keep_probabilities(t)[0] == pytest.approx((np.sqrt(f / t) + 1) * t / f)
    assert (vocabulary.keep_probabilities(0) == 1).all()
    noise = vocabulary.noise_distribution()
    assert noise[0] / noise[1] == pytest.approx(9**0.75)
    assert noise.sum() == pytest.approx(1)
    refused(InputError, "'a' stands more than once", lambda: Vocabulary(["a", "b", "a"]).index("a"))
    refused(InputError, "give one count a word", Vocabulary, ["a"], [1, 2])


def test_a_capital_is_found_in_a_lower_cased_lexicon(lexicon: Lexicon):
    assert lexicon["Bank"].name == "bank"
    assert lexicon.similarity("Bank", "RIVER") == pytest.approx(lexicon.similarity("bank", "river"))
    same(lexicon.neighbours("Bank", 3), lexicon.neighbours("bank", 3))
    assert [item.word for item in lexicon.neighbours("Bank", 100)].count("bank") == 0
    assert "Bank" not in lexicon  # as it is written
    cased = Lexicon(["Bank", "bank"], np.eye(2)[:, :, None])
    assert cased.similarity("Bank", "bank") == 0
    with pytest.raises(UnknownWordError, match="'BANQUE' is not in the lexicon"):
        lexicon["BANQUE"]


def test_ambiguity_keeps_the_order_of_the_words(lexicon: Lexicon):
    words = ["cars", "bnak", "Bank", "bob", "cars"]
    found = lexicon.ambiguity(words)
    assert [item.input if isinstance(item, Failed) else item.word for item in found] == [
        "cars", "bnak", "bank", "bob", "cars",
    ]  # fmt: skip
    assert found[0].entropy == pytest.approx(lexicon.entropy("cars"))
    assert isinstance(found[1].error, UnknownWordError)
    assert found[1].to_dict() == {"input": "bnak", "error": "'bnak' is not in the lexicon; did you mean bank?"}


def test_a_sense_keeps_its_number_whatever_the_order():
    heavy_last = Lexicon(["w", "x"], np.array([[[0.6, 0.0], [0.0, 0.8]], [[1.0, 0.1], [0.1, 1.0]]]))
    assert [sense.id for sense in heavy_last.senses("w")] == [1, 0]
    for sense in heavy_last.senses("w"):
        column = heavy_last.factors[0][:, sense.id]
        assert np.allclose(np.abs(sense.vector), column / np.linalg.norm(column))
    eigen = Lexicon(heavy_last.vocabulary, heavy_last.factors, parts=Parts(columns="eigen"))
    assert [sense.id for sense in eigen.senses("w")] == [0, 1]


def test_results_are_json_and_short(lexicon: Lexicon):
    results = [
        *lexicon.senses("bank", 2), *lexicon.neighbours("bank", 2), *lexicon.ambiguity(top=2),
        *lexicon.ambiguity(["nothing"]), lexicon.compose("(bob (likes (old cars)))"),
        *lexicon.compose("(old cars)").steps, *lexicon.compose(["(old"]),
    ]  # fmt: skip
    for item in results:
        assert json.loads(json.dumps(item.to_dict())) == item.to_dict()
        assert len(repr(item)) < 120 or isinstance(item, Step)
    sense = lexicon.senses("bank", 2)[0]
    facts = sense.to_dict()
    assert facts["neighbours"] == [near.to_dict() for near in sense.neighbours]
    assert {name: value for name, value in facts.items() if value} == {
        "id": sense.id, "weight": sense.weight, "label": sense.label, "neighbours": facts["neighbours"]
    }  # fmt: skip


def test_batches_give_one_result_an_input(lexicon: Lexicon):
    first, failed, last = lexicon.compose(["(old cars)", Brackets("(old"), "(bob (likes cars))"])
    assert (first.phrase, last.phrase) == ("old cars", "bob likes cars")
    assert isinstance(failed, Failed)
    assert failed.input == "(old"
    assert "unbalanced" in str(failed.error)


def test_neighbours_among_common_words():
    rng = np.random.default_rng(5)
    model = Lexicon(Vocabulary([f"w{i}" for i in range(400)], range(400, 0, -1)), rng.normal(size=(400, 8, 2)))
    ranked = model.neighbours("w0", 400)
    for common in (50, 200, 50):
        same(model.neighbours("w0", 5, common), [item for item in ranked if int(item.word[1:]) < common][:5])
    same(model.neighbours("w0", 5), ranked[:5])


def test_parts_must_fit():
    factors = np.ones((3, 2, 2))
    for part, message in (
        ({"contexts": np.ones((2, 2))}, "context vectors of shape"),
        ({"contexts": np.ones((3, 5))}, "context vectors of shape"),
        ({"norms": np.ones(2)}, "norms of shape"),
        ({"clusters": SenseClusters(np.arange(3), np.ones(2), np.ones((2, 2)))}, "do not fit 3 words"),
    ):
        refused(InputError, message, Lexicon, ["a", "b", "c"], factors, parts=Parts(**part))


def test_pure_words_are_composed_smoothly() -> None:
    """By a pure state Phaser returns the functor, so a lexicon of mostly pure words does not compose by it."""
    factors = np.random.default_rng(0).normal(size=(5, 4, 2))
    assert Lexicon(list("abcde"), factors).default_method == "phaser"
    factors[:3, :, 1] = 0
    lexicon = Lexicon(list("abcde"), factors)
    assert lexicon.default_method == "smooth-noun"
    assert lexicon.compose("(a b)").method == "smooth-noun"
    assert np.isclose(lexicon.similarity(lexicon.compose("(a d)", "phaser"), "a"), 1)
    assert lexicon.similarity(lexicon.compose("(a d)"), "a") < 0.999
