from __future__ import annotations

import json
import time

import numpy as np
import pytest

from polysema import METHODS, VECTOR_METHODS, Lexicon, VectorLexicon, evaluate
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.evaluate import load_all
from polysema.evaluation.models import EnsembleModel, LexiconModel
from polysema.evaluation.records import DISAMBIGUATION, WORD_SIMILARITY
from polysema.evaluation.unknown_words import POLICIES
from tests import dense
from tests.evaluation import reference


@pytest.fixture(scope="module")
def matrices(known):
    return {word: dense.matrix(np.asarray(known.factors[i], np.float64)) for i, word in enumerate(known)}


@pytest.fixture(scope="module")
def found(known, data):
    return evaluate(known, data)


@pytest.mark.parametrize("name", WORD_SIMILARITY)
def test_word_similarity_is_the_dense_one(name, found, matrices, data):
    result = found.word_similarity[name]
    rho, covered, total = reference.evaluate_words(data, name, matrices)
    assert (result.covered, result.total) == (covered, total)
    assert result.spearman == pytest.approx(rho, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", DISAMBIGUATION)
def test_disambiguation_is_the_dense_one(name, method, found, matrices, data):
    result = found.disambiguation[name]
    rho, entropy, covered, total = reference.evaluate_phrases(data, name, matrices, method)
    assert (result.covered, result.total) == (covered, total)
    assert 0 < covered < total
    assert result.methods[method].scored == covered
    assert result.methods[method].spearman == pytest.approx(rho, abs=1e-6)
    assert result.methods[method].entropy == pytest.approx(entropy, abs=1e-6)


@pytest.mark.parametrize("name", ["ML2008", "GS2012"])
def test_vectors(name, words, data):
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(len(words), 6))
    found = evaluate(VectorLexicon(words, vectors), data, sets=[name]).disambiguation[name]
    of = dict(zip(words, vectors, strict=True))

    def tensor(phrase):
        v = [of[word] for word in phrase]
        if len(v) == 2:
            return np.outer(v[1], v[1]) @ v[0]
        subject, obj = np.outer(v[0], v[0]) @ v[1], np.outer(v[3], v[3]) @ v[4]
        return (np.outer(v[2], v[2]) * np.outer(subject, obj)).ravel()

    composed = {
        "verb": lambda phrase: of[phrase[len(phrase) // 2]],
        "add": lambda phrase: sum(of[word] for word in phrase),
        "mult": lambda phrase: np.prod([of[word] for word in phrase], axis=0),
        "tensor": tensor,
    }
    assert set(found.methods) == set(VECTOR_METHODS) == set(composed)
    for method, compose in composed.items():
        gold, scores = [], []
        for first, second, score in reference.phrase_items(data, name):
            a, b = compose(first), compose(second)
            gold.append(score)
            scores.append(round(a @ b / np.sqrt((a @ a) * (b @ b)), 12))  # v vᵀ n ties but for rounding
        assert found.methods[method].spearman == pytest.approx(reference.spearmanr(gold, scores)[0], abs=1e-6)
        assert found.methods[method].entropy is None


def test_the_json(known, data):
    found = evaluate(known, data, bootstraps=50, name="mine").to_json()
    assert found["model"] == "mine"
    assert list(found["word_similarity"]) == list(WORD_SIMILARITY)
    assert {"spearman", "covered", "total", "interval"} == set(found["word_similarity"]["MEN"])
    assert list(found["disambiguation"]) == list(DISAMBIGUATION)
    assert set(found["disambiguation"]["GS2011"]) == {*METHODS, "covered", "total"}
    low, high = found["disambiguation"]["GS2011"]["phaser"]["interval"]
    assert low < found["disambiguation"]["GS2011"]["phaser"]["spearman"] < high
    json.dumps(found)


def test_it_is_quick(words, data):
    """All nine sets, all methods, entropies included, for one 17×5 model."""
    rng = np.random.default_rng(6)
    model = Lexicon(words, rng.normal(size=(len(words), 17, 5)).astype(np.float32))
    sets = load_all(data)
    started = time.process_time()
    evaluate(model, sets)
    assert time.process_time() - started < 4  # 1 s alone on a quiet core


def test_a_matrix_that_is_none_is_not_covered(lexicon, phrases):
    factors = lexicon.factors.copy()
    factors[lexicon.vocabulary.index("hotel")] = 0
    factors[lexicon.vocabulary.index("river")] = np.nan
    broken = LexiconModel(Lexicon(lexicon.vocabulary, factors))
    assert broken.covers(phrases).tolist() == [True, False, False, True]
    scores = broken.phrases(phrases, "phaser")
    assert np.isfinite(scores.similarity).tolist() == [True, False, False, True]
    assert np.isnan(broken.words([("hotel", "bank")]))[0]


def test_composition_that_comes_to_nothing_is_masked(phrases):
    words = sorted({word for phrase in phrases.first + phrases.second for word in phrase})
    factors = np.zeros((len(words), 2, 1))
    factors[:, 0] = 1
    factors[words.index("hotel")] = [[0], [1]]  # orthogonal to all verbs
    model = LexiconModel(Lexicon(words, factors))
    result = evaluate(model, {"toy": phrases}).disambiguation["toy"]
    assert result.covered == 4
    assert result.methods["phaser"].scored == 3
    assert result.methods["add"].scored == 4


def test_no_word_known(phrases):
    model = Lexicon(["x", "y"], np.ones((2, 2, 1)))
    pairs = WordPairs("w", (("a", "b"), ("c", "d")), np.array([1.0, 2]))
    found = evaluate(model, {"toy": phrases, "w": pairs}, bootstraps=10)
    assert found.disambiguation["toy"].covered == 0
    assert np.isnan(found.disambiguation["toy"].methods["add"].spearman)
    assert found.word_similarity["w"].covered == 0
    assert np.isnan(found.word_similarity["w"].spearman)


def test_an_ensemble_averages_similarities(lexicon, phrases):
    rng = np.random.default_rng(1)
    other = Lexicon(lexicon.vocabulary, rng.normal(size=lexicon.factors.shape))
    members = [LexiconModel(lexicon), LexiconModel(other)]
    both = EnsembleModel(members)
    one, two = (member.phrases(phrases, "phaser") for member in members)
    found = both.phrases(phrases, "phaser")
    assert np.allclose(found.similarity, (one.similarity + two.similarity) / 2)
    assert np.allclose(found.entropy, (one.entropy + two.entropy) / 2)
    pairs = [("bank", "river"), ("bank", "nowhere")]
    expected = (lexicon.similarity("bank", "river") + other.similarity("bank", "river")) / 2
    assert both.words(pairs)[0] == pytest.approx(expected)
    assert np.isnan(both.words(pairs)[1])


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
    data = PhrasePairs(
        "own",
        "adj noun",
        (("old", "cars"), ("old", "bank"), ("old", "hotel")),
        (("old", "money"), ("bob", "bank"), ("old", "hotel")),
        np.array([1.0, 2, 3]),
    )
    scores = LexiconModel(lexicon).phrases(data, "phaser").similarity
    assert scores[0] == pytest.approx(lexicon.similarity("(old cars)", "(old money)"))
    assert scores[2] == pytest.approx(1.0)
