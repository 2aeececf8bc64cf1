from __future__ import annotations

import numpy as np
import pytest

from polysema.encoders.distillation import (
    Distillation,
    Distiller,
    Teacher,
    TextBatches,
    find_words,
    form_table,
    plain_text,
    read_as,
)
from polysema.encoders.gloss_training import SenseTable
from polysema.errors import InputError
from polysema.senses.making import lemmas_of
from tests.encoders.test_gloss_training import encoder, tagged
from tests.senses.five_words import wordnet

torch = pytest.importorskip("torch", reason="the extra encoders is not installed")

TEXT = [
    "He sat on the bank of the river. She saw the fast dogs, on the sloping bank.",
    "Money sat on the bank. The banks saw water, the tool, a dog.",
    "He ran fast. She saw wood.",
]


def test_text_is_cut_into_sentences_and_its_words_are_found_by_their_forms() -> None:
    reader = encoder().reader
    table, lemmas = SenseTable(wordnet()), lemmas_of(wordnet())
    text = plain_text(TEXT * 20, reader, 30)
    assert np.diff(text.starts).max() <= 30
    forms = form_table(["bank", "banks", "banked", "saw", "dogs", "fast", "wood"], lemmas, table, reader)
    words = find_words(text, forms, reader)
    spelt = [
        "".join(reader.pieces[i].removeprefix("##") for i in text.ids[a:z]) for a, z in zip(*words[:2], strict=True)
    ]
    assert set(spelt) == {"bank", "banks", "saw", "fast"}
    own = {form: set(forms.senses[row, : forms.counts[row]]) for form, row in zip(spelt, words.form, strict=True)}
    lemma_rows = {name: set(table.senses[row]) for name, row in table.spellings.items()}
    assert own["bank"] == own["banks"] == lemma_rows["bank"]
    assert own["saw"] == lemma_rows["saw"] | set(table.only["see"])
    with pytest.raises(InputError, match="no word of the text has several senses"):
        form_table(["wood"], lemmas, table, reader)


def batches(made, text, forms) -> TextBatches:
    return TextBatches(made, text, find_words(text, forms, made.reader))


@pytest.fixture
def taught():
    large = encoder()
    table, lemmas = SenseTable(wordnet()), lemmas_of(wordnet())
    text = plain_text(TEXT * 20, large.reader, 30)
    forms = form_table(["bank", "banks", "saw", "fast"], lemmas, table, large.reader)
    return large, table, text, forms


def test_words_of_many_sequences_are_read_as_one_by_one(taught) -> None:
    large, _, text, forms = taught
    found = batches(large, text, forms)
    vectors = read_as(large, found).float().numpy()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-2)
    for row in (0, 7, len(vectors) - 1):
        first, end = found.words.first[row], found.words.end[row]
        k = int(np.searchsorted(text.starts, first, "right")) - 1
        ids = text.ids[text.starts[k] : text.starts[k + 1]].astype(np.int32)
        alone = large.contexts([ids], [[(int(first - text.starts[k]), int(end - text.starts[k]))]])
        np.testing.assert_allclose(vectors[row], alone[0].detach().numpy(), atol=2e-3)


def test_the_small_encoder_learns_where_the_teacher_puts_words_and_glosses(taught) -> None:
    large, table, text, forms = taught
    glosses = [large.reader.read(text).ids for text in wordnet().gloss_texts()]
    with torch.no_grad():
        places = large.glosses(glosses).numpy()
    goal = Teacher(places, places, read_as(large, batches(large, text, forms)))
    small = encoder()
    for name in ("context.weight", "context.bias", "gloss.weight", "gloss.bias"):
        del small.tensors[name]
    draw = np.random.default_rng(3)
    for name, value in small.tensors.items():
        small.tensors[name] = value + 0.1 * torch.from_numpy(draw.normal(size=value.shape).astype(np.float32))
    options = Distillation(steps=250, rate=3e-3, head_rate=3e-3, sentences=4, text_pieces=200, glosses=8)
    sentences = table.encode(tagged(), small.reader)
    run = Distiller(small, glosses, table, sentences, goal, batches(small, text, forms), forms, options)

    def away() -> tuple[float, float]:
        small.new_step()
        with torch.no_grad():
            read = small.glosses(glosses).numpy()
        words = read_as(small, run.batches).float()
        return float(1 - (words * goal.words.float()).sum(1).mean()), float(1 - (read * places).sum(1).mean())

    before = away()
    assert list(run.run()) == [250]
    after = away()
    assert after[0] < 0.5 * before[0]
    assert after[1] < 0.05


def test_the_loss_on_text_by_hand(taught) -> None:
    large, table, text, forms = taught
    glosses = [large.reader.read(text).ids for text in wordnet().gloss_texts()]
    places = large.glosses(glosses).detach().numpy()
    goal = Teacher(places, places, read_as(large, batches(large, text, forms)))
    options = Distillation(steps=1, sentences=4, near_weight=0.5, usual_text=1e9)
    run = Distiller(large, glosses, table, table.encode(tagged(), large.reader), goal, batches(large, text, forms), forms,
                    options)  # fmt: skip
    rows = np.array([0, 5])
    c = np.random.default_rng(1).normal(size=(2, places.shape[1])).astype(np.float32)
    expected = []
    for vector, row in zip(c, rows, strict=True):
        form, t = run.batches.words.form[row], goal.words[row].float().numpy()
        own = places[forms.senses[form, : forms.counts[form]]]
        p, q = (np.exp(20 * own @ x - np.logaddexp.reduce(20 * own @ x)) for x in (t, vector))
        expected.append(float((p * np.log(p / q)).sum() + 0.5 * (1 - vector @ t)))
    assert float(run.text_loss(torch.from_numpy(c), rows)) == pytest.approx(np.mean(expected), rel=1e-3)
