import numpy as np
import pytest

from polysema.composition.occurrences import counted_word
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import evaluate
from polysema.evaluation.models import EncoderModel
from tests.evaluation import reference
from tests.refusals import refused


class Letters:
    """An encoder that counts letters: of the sentence, of its first word, or of a word in it."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def sentences(self, texts, pooling):
        self.read += texts
        return np.array([self._count(text if pooling == "mean" else text.split()[0]) for text in texts])

    def words(self, sentences, targets, layer=None):
        scale = 1.0 if layer is None else float(layer)
        return scale * np.array([self._count(s[slice(*span)]) for s, span in zip(sentences, targets, strict=True)])

    def _count(self, text):
        return np.array([text.lower().count(letter) + 0.1 for letter in "abcdefghijklmnopqrstuvwxyz"])


@pytest.fixture
def toy():
    first, second = [(("family", a, "hotel"), ("family", b, "hotel")) for a, b in (("run", "run"), ("operate", "move"))]
    sentences = {f"family {verb} hotel": f"The family {verb}s the hotel." for verb in ("run", "move")}
    return EvaluationSet("toy", "subj verb obj", first, second, np.array([6.0, 1.0]), sentences=sentences)


def test_full_sentences_are_read_once(toy):
    encoder = Letters()
    model = EncoderModel(encoder)
    found = model.scores(toy, "mean")
    assert encoder.read == ["The family runs the hotel.", "family operate hotel", "The family moves the hotel."]
    a, b = (encoder._count(text) for text in encoder.read[:2])
    assert found.similarity[0] == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)))
    assert found.entropy is None


def test_the_verbs_own_vector(toy):
    encoder = Letters()
    found = EncoderModel(encoder, layer="3").scores(toy, "target")
    a, b = encoder._count("runs"), encoder._count("moves")
    assert found.similarity[1] == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)))
    nouns = EvaluationSet("n", "adj noun", (("old", "car"),), (("new", "car"),), np.ones(1))
    assert EncoderModel(encoder).methods(nouns) == ("cls", "mean")
    refused(InputError, "has no verb", EncoderModel(encoder).scores, nouns, "target")


def test_as_any_model(toy):
    pairs = EvaluationSet.of_words("w", [("a", "b")], np.ones(1))
    found = evaluate(EncoderModel(Letters(), "letters"), {"toy": toy, "w": pairs})
    assert [(row.items.name, row.method) for row in found.rows] == [("toy", "cls"), ("toy", "mean"), ("toy", "target")]
    assert all(row.best.covered.all() for row in found.rows)
    own = evaluate(EncoderModel(Letters(), ways=("own",)), {"toy": toy})["toy", "own"]
    assert np.array_equal(own.best.scores, found["toy", "mean"].best.scores)
    refused(InputError, "no word 2", counted_word, "The dog", 1, "run")
    refused(UnknownChoiceError, "cls, mean, own or target", EncoderModel(Letters()).scores, toy, "max")


@pytest.mark.parametrize("name", reference.PHRASE_FILES)
def test_every_verb_of_the_sets_is_found(name, sets):
    items = sets[name]
    verb = items.roles.index("verb")
    for phrase in {*items.first, *items.second}:
        text = items.sentence(phrase)
        found = text[slice(*counted_word(text, verb, phrase[verb]))]
        assert found.startswith(phrase[verb][:2]), (phrase, text)
        assert (" over" in found) == ("-over" in phrase[verb])
