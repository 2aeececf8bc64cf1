import json

import numpy as np
import pytest

from polysema import METHODS, Lexicon, Method, VectorLexicon, evaluate
from polysema.composition import operators
from polysema.composition.methods import VECTOR_METHODS
from polysema.errors import InputError
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import evaluate_models
from polysema.evaluation.models import POLICIES, LexiconModel
from polysema.lexicon.lexicon import ranking
from tests import dense
from tests.evaluation import reference


@pytest.fixture(scope="module")
def matrices(known):
    return {word: dense.matrix(np.asarray(known.factors[i], np.float64)) for i, word in enumerate(known)}


@pytest.fixture(scope="module")
def found(known, data):
    return evaluate(known, data)


@pytest.mark.parametrize("name", reference.WORD_FILES)
def test_word_similarity_is_the_dense_one(name, found, matrices, data):
    result = found[name].best
    rho, covered, total = reference.evaluate_words(data, name, matrices)
    assert (result.scored, result.covered.sum(), len(result.items)) == (covered, covered, total)
    assert result.spearman == pytest.approx(rho, abs=1e-6)


@pytest.mark.parametrize("method", reference.METHODS)
@pytest.mark.parametrize("name", reference.PHRASE_FILES)
def test_disambiguation_is_the_dense_one(name, method, found, matrices, data):
    result = found[name, method].best
    rho, entropy, covered, total = reference.evaluate_phrases(data, name, matrices, method)
    assert (result.covered.sum(), len(result.items)) == (covered, total)
    assert 0 < covered < total
    assert result.scored == covered
    assert result.spearman == pytest.approx(rho, abs=1e-6)
    assert result.entropy == pytest.approx(entropy, abs=1e-6)


@pytest.mark.parametrize("name", ["ML2008", "GS2012"])
def test_vectors(name, words, data):
    lexicon = VectorLexicon(words, np.random.default_rng(5).normal(size=(len(words), 6)))
    found = evaluate(lexicon, data, sets=[name])
    pattern = found[name, "add"].items.pattern
    assert {row.method for row in found.rows} == set(VECTOR_METHODS)
    for method in VECTOR_METHODS:
        gold, scores = [], []
        for first, second, score in reference.phrase_items(data, name):
            a, b = (lexicon.compose(phrase, method, pattern=pattern) for phrase in (first, second))
            gold.append(score)
            scores.append(round(lexicon.similarity(a, b), 12))  # v vᵀ n ties but for rounding
        assert found[name, method].spearman == pytest.approx(reference.spearmanr(gold, scores)[0], abs=1e-6)
        assert found[name, method].entropy is None


def test_the_json(known, data):
    found = evaluate(known, data, bootstraps=50, name="mine")
    held = json.loads(json.dumps(found.to_json()))
    rows = {(row["set"], row["method"]): row for row in held["results"]}
    assert set(rows) == {
        *((name, "word") for name in reference.WORD_FILES),
        *((n, m) for n in reference.PHRASE_FILES for m in METHODS),
    }
    row = rows["GS2011", "phaser"]
    low, high = row["interval"]
    assert low < row["spearman"] < high
    assert (row["items"], row["sd"], row["ensemble"]) == (200, None, None)
    assert row["seeds"] == [
        {key: row[key] for key in ("spearman", "interval", "entropy", "covered", "scored")} | {"seed": 1}
    ]
    flat = found.to_rows()
    assert len(flat) == len(rows)
    assert {type(value) for one in flat for value in one.values()} <= {str, int, float, type(None)}
    assert found["GS2011", "phaser"].spearman == row["spearman"]
    assert repr(found) == f"Evaluation(1 models, 9 sets, {len(rows)} rows)"


def test_rows_by_name(known, phrases):
    found = evaluate(known, {"toy": phrases})
    with pytest.raises(InputError, match=rf"{len(METHODS)} rows: ask by .*sets: toy"):
        found["toy"]
    with pytest.raises(InputError, match="0 rows"):
        found["tay", "add"]
    assert found["model", "toy", "add"] is found["toy", "add"]


def pair(a, b):
    return EvaluationSet.of_words("w", [(a, b)], np.ones(1))


def test_a_matrix_that_is_none_is_not_covered(lexicon, phrases):
    factors = lexicon.factors.copy()
    factors[lexicon.vocabulary.index("hotel")] = 0
    factors[lexicon.vocabulary.index("river")] = np.nan
    broken = LexiconModel(Lexicon(lexicon.vocabulary, factors))
    scores = broken.scores(phrases, "phaser")
    assert scores.covered.tolist() == [True, False, False, True]
    assert np.isfinite(scores.similarity).tolist() == [True, False, False, True]
    assert np.isnan(broken.scores(pair("hotel", "bank"), "word").similarity[0])


def test_composition_that_comes_to_nothing_is_masked(phrases):
    words = sorted({word for phrase in phrases.first + phrases.second for word in phrase})
    factors = np.zeros((len(words), 2, 1))
    factors[:, 0] = 1
    factors[words.index("hotel")] = [[0], [1]]  # orthogonal to all verbs
    found = evaluate(Lexicon(words, factors), {"toy": phrases})
    assert found["toy", "phaser"].best.covered.sum() == 4
    assert found["toy", "phaser"].best.scored == 3
    assert found["toy", "add"].best.scored == 4


def test_no_word_known(phrases):
    model = Lexicon(["x", "y"], np.ones((2, 2, 1)))
    pairs = EvaluationSet.of_words("w", [("a", "b"), ("c", "d")], np.array([1.0, 2]))
    found = evaluate(model, {"toy": phrases, "w": pairs}, bootstraps=10)
    for row in found.rows:
        assert row.best.covered.sum() == 0
        assert np.isnan(row.spearman)
    assert found.to_json()["results"][0]["spearman"] is None


def test_a_word_is_a_phrase_of_one_word(lexicon, vectors):
    for model in (lexicon, vectors):
        found = LexiconModel(model).scores(pair("bank", "river"), "word")
        assert found.similarity[0] == pytest.approx(model.similarity("bank", "river"))
        assert (found.entropy is None) == (model is vectors)
    assert LexiconModel(lexicon).scores(pair("bank", "river"), "word").entropy[0] == pytest.approx(
        ranking(lexicon).entropies[0]
    )


def test_similarities_are_averaged_over_seeds(lexicon, phrases, monkeypatch):
    rng = np.random.default_rng(1)
    other = Lexicon(lexicon.vocabulary, rng.normal(size=lexicon.factors.shape))
    pairs = EvaluationSet.of_words("w", [("bank", "river"), ("bank", "nowhere")], np.ones(2))
    asked, real = [], LexiconModel.scores
    monkeypatch.setattr(LexiconModel, "scores", lambda self, *given: asked.append(given) or real(self, *given))
    found = evaluate_models([("a", lexicon), ("a", other)], {"toy": phrases, "w": pairs}, ambiguity=False)
    assert len(asked) == 2 * (len(METHODS) + 1)  # nothing is composed again for the ensemble
    one, two = (LexiconModel(member).scores(phrases, "phaser") for member in (lexicon, other))
    row = found["toy", "phaser"]
    assert [result.seed for result in row.seeds] == [1, 2]
    assert np.allclose(row.ensemble.scores, (one.similarity + two.similarity) / 2)
    assert np.allclose(row.ensemble.entropies, (one.entropy + two.entropy) / 2)
    assert row.spearman == pytest.approx(np.mean([result.spearman for result in row.seeds]))
    assert row.sd == pytest.approx(np.std([result.spearman for result in row.seeds], ddof=1))
    expected = (lexicon.similarity("bank", "river") + other.similarity("bank", "river")) / 2
    assert found["w"].ensemble.scores[0] == pytest.approx(expected)
    assert np.isnan(found["w"].ensemble.scores[1])


def test_one_name_is_one_kind(lexicon, vectors, phrases):
    with pytest.raises(InputError, match="a: models of one name are its seeds, but these are matrices and vectors"):
        evaluate_models([("a", lexicon), ("a", vectors)], {"toy": phrases})


def test_unknown_words():
    pytest.importorskip("lemminflect")
    lexicon = Lexicon(["ran", "runs", "child", "London", "paris"], np.eye(5)[:, :, None])
    lexicon.vocabulary.counts[:] = [5, 9, 1, 1, 1]
    assert set(POLICIES) == {"skip", "inflected", "lemma"}
    skip, inflected, lemma = (LexiconModel(lexicon, policy=policy) for policy in ("skip", "inflected", "lemma"))
    assert [skip.row(word) for word in ("run", "children", "London", "Paris", "PARIS")] == [-1, -1, 3, 4, 4]
    assert inflected.row("run", "verb") == 1  # the more frequent
    assert inflected.row("run", "adj") == -1
    assert lemma.row("children", "noun") == 2
    assert lemma.row("run", "verb") == -1


def test_phrase_pairs_may_differ_anywhere(lexicon):
    first = (("old", "cars"), ("old", "bank"), ("old", "hotel"))
    second = (("old", "money"), ("bob", "bank"), ("old", "hotel"))
    data = EvaluationSet("own", "adj noun", first, second, np.array([1.0, 2, 3]))
    scores = LexiconModel(lexicon).scores(data, "phaser").similarity
    assert scores[0] == pytest.approx(lexicon.similarity("(old cars)", "(old money)"))
    assert scores[2] == pytest.approx(1.0)


def test_methods_of_ones_own(lexicon, phrases):
    """Those made of an operator, and those that only compose, score as the table's does."""

    class Whole:
        name, formula, on = "whole", "", "matrices"

        def compose(self, words, read):
            return METHODS["phaser"].compose(words, read)

    found = evaluate(lexicon, {"toy": phrases}, methods=["phaser", Method.by("mine", "", operators.phaser), Whole()])
    own, expected = [found["toy", name].spearman for name in ("mine", "whole")], found["toy", "phaser"].spearman
    assert own == [expected, expected]
