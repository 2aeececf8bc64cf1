from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")
pytest.importorskip("lemminflect")

from polysema.composition.occurrences import TENSES, as_sentence
from polysema.composition.trees import from_pattern, head, parse_brackets
from polysema.corpus.build import build_corpus
from polysema.encoders.contextual import (
    SHARPNESS,
    Contextual,
    as_readings,
    contextual,
    posterior_of,
    sense_probabilities,
    senses_in_context,
)
from polysema.encoders.huggingface import Encoder
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.models import LexiconModel
from polysema.lexicon.lexicon import Lexicon, load
from polysema.meanings.parts import Parts
from polysema.senses.senses import senses_of
from polysema.training import bert2dm as module
from polysema.training.models import train
from tests.refusals import refused


@pytest.fixture(scope="module")
def lexicon(encoder_folder, encoder_corpus):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MEAN_SENTENCES", 16)
        encoder = Encoder.load(encoder_folder, batch_size=8)
        return train(encoder_corpus, "bert2dm", encoder=encoder, dim=5, reduction="pca")


@pytest.mark.parametrize(
    ("pattern", "words", "sentence"),
    [
        ("subj verb", "thought stray", "The thought strays."),
        ("subj verb obj", "people buy house", "The people buy the house."),
        ("adj subj verb adj obj", "local family run small hotel", "The local family runs the small hotel."),
        ("adj noun", "small hotel", "The small hotel."),
        ("subj verb adv", "dogs bark loudly", "The dogs bark loudly."),
        ("subj verb obj", "child carry toys", "The child carries the toys."),
    ],
)
def test_phrases_become_sentences(pattern, words, sentence):
    text, spans = as_sentence(from_pattern(pattern, words.split()))
    assert text == sentence
    assert all(text[slice(*spans[i])].lower()[:2] == word[:2] for i, word in enumerate(words.split()))


def test_tenses():
    tree = from_pattern("subj verb obj", ["children", "buy", "toys"])
    found = {tense: as_sentence(tree, tense) for tense in TENSES}
    assert {tense: text for tense, (text, _) in found.items()} == {
        "present": "The children buy the toys.",
        "past": "The children bought the toys.",
        "progressive": "The children are buying the toys.",
        "future": "The children will buy the toys.",
    }
    assert [text[slice(*spans[1])] for text, spans in found.values()] == ["buy", "bought", "buying", "buy"]
    assert as_sentence(from_pattern("subj verb", ["fire", "glow"]), "progressive")[0] == "The fire is glowing."
    refused(UnknownChoiceError, "progressive", as_sentence, tree, "pluperfect")


def _expected(lexicon, readings):
    """The mixture by its formula."""
    reader = contextual(lexicon)
    expected = np.zeros((24, 24))
    for text, word in readings:
        for layer in reader.layers:
            vector = reader.encoder.words([text], [word], layer)[0] - lexicon.parts.encoder.layer_means[layer]
            vector /= lexicon.parts.encoder.layer_spreads[layer]
            unit = vector / np.linalg.norm(vector)
            expected += np.outer(unit, unit) / (len(readings) * len(reader.layers))
    return expected


def test_the_matrix_is_the_mixture_of_standardised_unit_vectors(lexicon):
    rho = contextual(lexicon).matrices(["The family runs the hotel."], ["run"])
    np.testing.assert_allclose(rho.dense()[0], _expected(lexicon, [("The family runs the hotel.", "runs")]), atol=1e-5)


def test_a_phrase_is_read_in_every_tense(lexicon):
    readings = [
        ("The family runs the hotel.", "runs"),
        ("The family ran the hotel.", "ran"),
        ("The family is running the hotel.", "running"),
        ("The family will run the hotel.", "run"),
    ]
    phrase = lexicon.compose("(family (run hotel))", "contextual")
    np.testing.assert_allclose(phrase.meaning.dense(), _expected(lexicon, readings), atol=1e-5)
    nouns = [(text, "hotel") for text, _ in readings]
    stack = contextual(lexicon).mixed([nouns])
    np.testing.assert_allclose(stack.dense()[0], _expected(lexicon, nouns), atol=1e-5)


def test_layers_by_default():
    class Twelve:
        depth, width = 12, 4

    assert Contextual(Twelve(), np.zeros((13, 4))).layers == tuple(range(3, 12))
    refused(InputError, "do not belong", Contextual, Twelve(), np.zeros((7, 4)))


def test_compose_offers_contextual(lexicon, tmp_path):
    phrase = lexicon.compose("(family (run hotel))", "contextual")
    assert phrase.method == "contextual"
    assert phrase.meaning.n == 24
    assert len(phrase.steps) == 5
    verb = [step for step in phrase.steps if step.phrase == "run"]
    assert phrase.entropy == pytest.approx(verb[0].entropy)
    assert phrase.entropy > 0
    lexicon.save(tmp_path / "model")
    again = load(tmp_path / "model").compose("(family (run hotel))", "contextual")
    assert again.entropy == pytest.approx(phrase.entropy, abs=1e-4)


def test_evaluation_offers_contextual(lexicon):
    model = LexiconModel(lexicon)
    data = EvaluationSet(
        "x", "subj verb obj", (("family", "run", "hotel"), ("bank", "lend", "money")),
        (("family", "walk", "hotel"), ("bank", "run", "money")), np.array([1.0, 2.0]),
    )  # fmt: skip
    assert "contextual" in model.methods(data)
    scores = model.scores(data, "contextual")
    assert scores.similarity.shape == (2,)
    assert (scores.entropy > 0).all()
    reader = contextual(lexicon)
    trees = [from_pattern(data.pattern, phrase) for phrase in (data.first[0], data.second[0])]
    one = reader.mixed([as_readings(tree, head(tree)) for tree in trees])
    from polysema import measures

    assert scores.similarity[0] == pytest.approx(measures.similarity(one[0], one[1]), abs=1e-5)


def test_a_number_that_hardly_varies_does_not_decide(lexicon):
    reader = contextual(lexicon)
    spreads = np.array(lexicon.parts.encoder.layer_spreads)
    spreads[:, 0] = 0.0
    found = Contextual(reader.encoder, reader.means, spreads).matrices(["The family runs."], ["run"])
    assert np.isfinite(found.factor).all()
    plain = Contextual(reader.encoder, reader.means).matrices(["The family runs."], ["run"])  # made without spreads
    assert plain.dense().trace(axis1=1, axis2=2) == pytest.approx(1)


def test_the_senses_to_tell_are_clusters_of_occurrences(lexicon):
    _, weights, senses = senses_in_context(lexicon, "bank")
    assert 1 < len(weights) <= module.KEPT_SENSES
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights) <= 0).all()
    np.testing.assert_allclose(np.linalg.norm(senses, axis=1), 1, atol=1e-6)
    assert len(senses_in_context(lexicon, "hapax").ids) == 1  # seen once: one sense
    counts, starts = lexicon.parts.clusters.counts, lexicon.parts.clusters.starts
    totals = np.add.reduceat(counts, starts[:-1])
    np.testing.assert_array_equal(totals, np.minimum(lexicon.vocabulary.counts, 100))


def test_centroids_are_means_of_the_words_vectors(encoder_folder, tmp_path):
    """A word that is seen under ten times has one cluster: its mean vector."""
    encoder = Encoder.load(encoder_folder, batch_size=8)
    corpus = build_corpus(
        [["the", "bank", "money"], ["river", "bank", "flowing"], ["bank", "loan"]], tmp_path / "corpus"
    )
    found = train(corpus, "bert2dm", encoder=encoder, dim=4, reduction="svd")
    texts = ["the bank money", "river bank flowing", "bank loan"]
    mean = (encoder.words(texts, ["bank"] * 3) @ found.parts.encoder.projection).mean(axis=0)
    row = found.vocabulary.index("bank")
    np.testing.assert_allclose(found.parts.clusters.vectors[found.parts.clusters.starts[row]], mean, atol=1e-4)


def test_senses_given_a_sentence(lexicon):
    found = sense_probabilities(lexicon, "bank", "The bank lends money.")
    _, weights, senses = senses_in_context(lexicon, "bank")
    assert found.shape == weights.shape
    vector = contextual(lexicon).encoder.words(["The bank lends money."], ["bank"])[0]
    reduced = (vector - lexicon.parts.encoder.projection_mean) @ lexicon.parts.encoder.projection
    middle = weights @ senses
    away = reduced / np.linalg.norm(reduced) - middle
    cosines = (senses - middle) @ away / np.linalg.norm(senses - middle, axis=1) / np.linalg.norm(away)
    scores = np.exp(SHARPNESS * cosines)
    np.testing.assert_allclose(found, scores / scores.sum(), atol=1e-4)


def test_lexicons_without_kept_senses_tell_their_own(lexicon):
    old = lexicon.with_parts(columns="eigen", clusters=None)
    vector = contextual(old).encoder.words(["The bank lends."], ["bank"])[0]
    u = (vector - lexicon.parts.encoder.projection_mean) @ lexicon.parts.encoder.projection
    overlaps = (senses_of(old, "bank").vectors @ u) ** 2
    np.testing.assert_allclose(
        sense_probabilities(old, "bank", "The bank lends."), overlaps / overlaps.sum(), atol=1e-4
    )
    clustered = lexicon.with_parts(columns="senses", clusters=None)
    expected = posterior_of(*senses_of(clustered, "bank")[1:], u / np.linalg.norm(u))
    np.testing.assert_allclose(sense_probabilities(clustered, "bank", "The bank lends."), expected, atol=1e-4)


def test_what_senses_share_does_not_count():
    """Two senses that both lie close to the first axis, as an encoder's do: a sentence near one tells them apart."""
    senses = np.array([[1.0, 0.05, 0.0], [1.0, 0.0, 0.05]])
    senses /= np.linalg.norm(senses, axis=1, keepdims=True)
    weights = np.array([0.9, 0.1])  # the rarer one is not overruled
    assert posterior_of(weights, senses, senses[1])[1] > 0.99
    assert posterior_of(weights, senses, senses)[0, 0] > 0.99
    np.testing.assert_allclose(posterior_of(np.ones(1), senses[:1], senses[0]), [1.0])


def test_the_second_occurrence_has_a_vector_of_its_own(lexicon):
    text = "The bank lends money by the river bank."
    first, second = lexicon.disambiguate("bank", text, method="contextual", which="all")
    spans = [(4, 8), (34, 38)]
    assert [first.span, second.span] == spans
    for item, span in zip((first, second), spans, strict=True):
        expected = dict(enumerate(sense_probabilities(lexicon, "bank", text, span)))
        assert {sense.id: sense.probability for sense in item.senses} == pytest.approx(expected)
    bracketed = lexicon.disambiguate("run", "(family (run hotel))", method="contextual")
    assert bracketed.tree == parse_brackets("(family (run hotel))")
    vectors = contextual(lexicon).encoder.words([text, text], spans)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)


def test_a_composed_sentence_reads_each_word_where_it_stands(lexicon):
    pytest.importorskip("spacy")
    text = "The bank of the family runs the bank."
    phrase = lexicon.compose(text, "contextual")
    found = [phrase.meanings[step.path] for step in phrase.steps if step.phrase == "bank"]
    expected = contextual(lexicon).matrices([text, text], [(4, 8), (32, 36)])
    assert len(found) == 2
    for meaning, rho in zip(found, expected.dense(), strict=True):
        np.testing.assert_allclose(meaning.dense(), rho, atol=1e-5)


def test_lexicons_without_an_encoder_do_not():
    plain = Lexicon(["a"], np.ones((1, 2, 2)))
    refused(UnknownChoiceError, "contextual", plain.compose, "(a a)", "contextual")
    refused(InputError, "not made with an encoder", contextual, plain)


def test_an_encoder_that_is_gone(lexicon, monkeypatch):
    gone = replace(lexicon.parts.encoder, name="/nowhere/bert")
    moved = Lexicon(lexicon.vocabulary, lexicon.factors, metadata=lexicon.metadata, parts=Parts(encoder=gone))
    items = EvaluationSet("x", "subj verb", (("bank", "run"),), (("bank", "walk"),), np.ones(1))
    assert "contextual" not in LexiconModel(moved).methods(items)
    refused(InputError, "POLYSEMA_ENCODER", moved.compose, "(family (run hotel))", "contextual")
    monkeypatch.setenv("POLYSEMA_ENCODER", lexicon.metadata["encoder"]["name"])
    assert moved.compose("(family (run hotel))", "contextual").meaning.n == 24
