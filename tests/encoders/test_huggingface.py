import numpy as np
import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")

from polysema.encoders.huggingface import Encoder, layers_named
from polysema.errors import InputError, UnknownChoiceError
from tests.refusals import refused


def read(encoder, tokens, bounds, table, wanted, *layers):
    return [(batch, encoder.vectors(batch, *layers)) for batch in encoder.batches(tokens, bounds, table, wanted)]


@pytest.fixture(scope="module")
def encoder(encoder_folder):
    return Encoder.load(encoder_folder, batch_size=4)


def slow_word_vectors(encoder, words, layers):
    """One sentence at a time through the tokeniser and the whole model, pieces averaged in a loop."""
    import torch

    encoded = encoder.tokenizer([words], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = encoder.model(**encoded, output_hidden_states=True).hidden_states
    mean = sum(states[layer][0] for layer in layers) / len(layers)
    owners = encoded.word_ids(0)
    return np.stack(
        [mean[[i for i, owner in enumerate(owners) if owner == w]].mean(0).numpy() for w in range(len(words))]
    )


SENTENCES = [
    ["the", "family", "run", "hotel"], ["bank"], ["money", "flowing", "walked", "bank", "river"], ["lend"] * 6,
    ["qqq", "z"],
]  # fmt: skip


@pytest.mark.parametrize("layers", ["last", "1", "0", "1-3", "0,2", "2"])
def test_batched_vectors_equal_one_at_a_time(encoder_folder, layers):
    encoder = Encoder.load(encoder_folder, layers=layers, batch_size=2)
    words = sorted({word for sentence in SENTENCES for word in sentence})
    table = encoder.piece_table(words)
    tokens = np.array([words.index(word) for sentence in SENTENCES for word in sentence])
    bounds = np.concatenate([[0], np.cumsum([len(sentence) for sentence in SENTENCES])])
    found = np.full((len(tokens), encoder.width), np.nan, np.float32)
    for batch, vectors in read(encoder, tokens, bounds, table, np.ones(len(tokens), bool)):
        found[batch.tokens] = vectors.numpy()
    expected = np.concatenate([slow_word_vectors(encoder, sentence, encoder.layers) for sentence in SENTENCES])
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_only_wanted_words_come_back(encoder):
    words = ["bank", "river", "the"]
    table = encoder.piece_table(words)
    tokens, bounds = np.array([2, 0, 2, 1, 2, 2]), np.array([0, 2, 4, 6])
    wanted = tokens != 2
    batches = list(read(encoder, tokens, bounds, table, wanted))
    assert sorted(np.concatenate([batch.tokens for batch, _ in batches])) == [1, 3]
    assert sum(len(vectors) for _, vectors in batches) == 2
    assert sum(batch.words for batch, _ in batches) == 4  # the sentence without a wanted word is not read


def test_long_sentences_are_split_not_dropped(encoder):
    words = ["lend", "river"]
    table = encoder.piece_table(words)
    tokens = np.array([0] * 60 + [1])
    seen = []
    for batch, vectors in read(encoder, tokens, np.array([0, 61]), table, np.ones(61, bool)):
        assert batch.ids.shape[1] <= 40
        assert np.isfinite(vectors.numpy()).all()
        seen += batch.tokens.tolist()
    assert sorted(seen) == list(range(61))


def test_a_word_longer_than_the_window_still_has_a_vector(encoder):
    table = encoder.piece_table(["q" * 90, "bank"])
    found = {
        int(t): v
        for b, vs in read(encoder, np.array([0, 1]), np.array([0, 2]), table, np.ones(2, bool))
        for t, v in zip(b.tokens, vs, strict=True)
    }
    assert set(found) == {0, 1}


def test_separate_layers(encoder):
    words = ["bank", "river"]
    table = encoder.piece_table(words)
    ((_, every),) = read(encoder, np.array([0, 1]), np.array([0, 2]), table, np.ones(2, bool), [0, 1, 3], True)
    ((_, mean),) = read(encoder, np.array([0, 1]), np.array([0, 2]), table, np.ones(2, bool), [0, 1, 3])
    assert every.shape == (2, 3, encoder.width)
    np.testing.assert_allclose(every.mean(1), mean, atol=1e-6)


def test_sentences_and_words(encoder):
    texts = ["The family runs the hotel.", "Bank."]
    cls, mean = encoder.sentences(texts, "cls"), encoder.sentences(texts, "mean")
    assert cls.shape == mean.shape == (2, encoder.width)
    np.testing.assert_allclose(encoder.sentences(texts[1:], "cls")[0], cls[1], atol=2e-5)
    run = encoder.words(texts[:1], ["run"], "2")
    np.testing.assert_allclose(run, encoder.words(texts[:1], [(11, 15)], 2), atol=1e-6)
    long = "money " * 80 + "bank " + "river " * 80
    assert np.isfinite(encoder.words([long], ["bank"])).all()
    assert np.isfinite(encoder.sentences([long], "mean")).all()


def test_layer_names():
    assert layers_named("last", 6) == (6,)
    assert layers_named("all", 3) == (1, 2, 3)
    assert layers_named(-1, 6) == (6,)
    for bad in ("x", "7", "3-1", ""):
        with pytest.raises(InputError):
            layers_named(bad, 6)


def test_what_cannot_be_loaded(tmp_path, encoder_folder):
    refused(InputError, "without config.json", Encoder.load, tmp_path)
    refused(UnknownChoiceError, "precision", Encoder.load, encoder_folder, precision="float7")
    refused(UnknownChoiceError, "pooling", Encoder.load(encoder_folder).sentences, ["a"], "max")


def test_a_name_that_is_nowhere_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(InputError, "give a folder", Encoder.load, "no-such-model-anywhere")


def test_an_error_in_a_batch_reaches_the_caller(encoder):
    table = encoder.piece_table(["bank"])
    with pytest.raises(IndexError):
        list(read(encoder, np.array([5]), np.array([0, 1]), table, np.ones(1, bool)))
