from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")
pytest.importorskip("lemminflect")

from polysema.composition.trees import from_pattern, parse_brackets
from polysema.encoders import bert2dm as module
from polysema.encoders.bert2dm import bert2dm
from polysema.encoders.contextual import CARRIERS, Contextual, contextual, sense_probabilities
from polysema.encoders.huggingface import Encoder
from polysema.encoders.sentences import as_sentence, find_word
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation.datasets import PhrasePairs
from polysema.evaluation.models import LexiconModel
from polysema.lexicon import Lexicon
from polysema.storage import load
from tests.encoders.tiny import make_corpus, make_encoder


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contextual")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MEAN_SENTENCES", 16)
        encoder = Encoder.load(make_encoder(folder / "bert"), batch_size=8)
        return bert2dm(make_corpus(folder / "corpus"), encoder, dim=5, reduction="pca")


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


def test_words_are_found_in_any_form():
    assert find_word("The mice ran.", "run") == (9, 12)
    assert find_word("The mice ran.", "mouse") == (4, 8)
    with pytest.raises(InputError, match="does not stand in"):
        find_word("The mice ran.", "bank")


def test_the_matrix_is_the_mixture_of_centred_unit_vectors(lexicon):
    reader = contextual(lexicon)
    sentence = "The family runs the hotel."
    rho = reader.matrices([sentence], ["run"])
    expected = np.zeros((24, 24))
    for carrier in CARRIERS:
        text = carrier.format(sentence if carrier == "{}" else "the family runs the hotel.")
        for layer in reader.layers:
            vector = reader.encoder.words([text], ["run"], layer)[0] - lexicon.arrays["layer_means"][layer]
            unit = vector / np.linalg.norm(vector)
            expected += np.outer(unit, unit) / (len(CARRIERS) * len(reader.layers))
    np.testing.assert_allclose(rho.dense()[0], expected, atol=1e-5)


def test_layers_by_default():
    class Twelve:
        depth, width = 12, 4

    assert Contextual(Twelve(), np.zeros((13, 4))).layers == tuple(range(3, 12))
    with pytest.raises(InputError, match="do not belong"):
        Contextual(Twelve(), np.zeros((7, 4)))


def test_compose_offers_contextual(lexicon, tmp_path):
    phrase = lexicon.compose("(family (run hotel))", "contextual")
    assert phrase.method == "contextual"
    assert phrase.meaning.n == 24
    assert len(phrase.steps) == 5
    assert phrase.entropy == phrase.steps[2].entropy or phrase.entropy > 0
    lexicon.save(tmp_path / "model")
    again = load(tmp_path / "model").compose("(family (run hotel))", "contextual")
    assert again.entropy == pytest.approx(phrase.entropy, abs=1e-4)


def test_evaluation_offers_contextual(lexicon):
    model = LexiconModel(lexicon)
    assert "contextual" in model.methods
    data = PhrasePairs(
        "x",
        "subj verb obj",
        (("family", "run", "hotel"), ("bank", "lend", "money")),
        (("family", "walk", "hotel"), ("bank", "run", "money")),
        np.array([1.0, 2.0]),
    )
    scores = model.phrases(data, "contextual")
    assert scores.similarity.shape == (2,)
    assert (scores.entropy > 0).all()
    reader = contextual(lexicon)
    one = reader.matrices(["The family runs the hotel.", "The family walks the hotel."], ["run", "walk"])
    from polysema import measures

    assert scores.similarity[0] == pytest.approx(measures.similarity(one[0], one[1]), abs=1e-5)


def test_senses_given_a_sentence(lexicon):
    found = sense_probabilities(lexicon, "bank", "The bank lends money.")
    weights, senses = lexicon.sense_vectors("bank")
    assert found.shape == weights.shape
    assert found.sum() == pytest.approx(1)
    reader = contextual(lexicon)
    texts = [carrier.format(("T" if carrier == "{}" else "t") + "he bank lends money.") for carrier in CARRIERS]
    reduced = (reader.encoder.words(texts, ["bank"] * 5) - lexicon.arrays["projection_mean"]) @ lexicon.arrays[
        "projection"
    ]
    unit = reduced / np.linalg.norm(reduced, axis=1, keepdims=True)
    overlaps = ((unit @ senses.T) ** 2).mean(axis=0)  # the senses of an unclustered word are orthogonal
    np.testing.assert_allclose(found, overlaps / overlaps.sum(), atol=1e-4)


def test_disambiguate_by_the_encoder(lexicon):
    from polysema.disambiguation import disambiguate

    result = disambiguate("bank", "The bank lends money.", lexicon, method="contextual")
    assert sum(sense.probability for sense in result.senses) == pytest.approx(1)
    expected = sense_probabilities(lexicon, "bank", "The bank lends money.")
    assert result.senses[0].probability == pytest.approx(expected.max())
    bracketed = disambiguate("run", "(family (run hotel))", lexicon, method="contextual")
    assert bracketed.tree == parse_brackets("(family (run hotel))")


def test_lexicons_without_an_encoder_do_not():
    plain = Lexicon(["a"], np.ones((1, 2, 2)))
    with pytest.raises(UnknownChoiceError, match="contextual"):
        plain.compose("(a a)", "contextual")
    with pytest.raises(InputError, match="not made with an encoder"):
        contextual(plain)


def test_an_encoder_that_is_gone(lexicon, monkeypatch):
    facts = {**lexicon.metadata, "encoder": {**lexicon.metadata["encoder"], "name": "/nowhere/bert"}}
    moved = Lexicon(lexicon.vocabulary, lexicon.factors, metadata=facts, arrays=lexicon.arrays)
    assert "contextual" not in LexiconModel(moved).methods
    with pytest.raises(InputError, match="POLYSEMA_ENCODER"):
        moved.compose("(family (run hotel))", "contextual")
    monkeypatch.setenv("POLYSEMA_ENCODER", lexicon.metadata["encoder"]["name"])
    assert moved.compose("(family (run hotel))", "contextual").meaning.n == 24
