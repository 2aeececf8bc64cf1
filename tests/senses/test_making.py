from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polysema.encoders.distillation import Distillation, form_table, plain_text
from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.gloss_training import GlossTraining, SenseTable
from polysema.encoders.tagged_text import TaggedSentence, Target
from polysema.errors import InputError
from polysema.senses.making import (
    NEAR_BEST,
    ROLES,
    TaggedText,
    blended,
    choose_blend,
    distil,
    encode_glosses,
    held_out_documents,
    lemmas_of,
    make_dictionary,
    occurrence_means,
    pieces_of,
    read_tagged_text,
    related_rows,
    train_encoder,
    training_pieces,
)
from tests.senses.five_words import random_encoder, wordnet


def sentence(text: str, form: str, key: str, source: str = "semcor") -> TaggedSentence:
    start = text.index(form)
    target = Target(start, start + len(form), key.partition("%")[0], (key,))
    return TaggedSentence(text, (target,), source, "d1")


@pytest.fixture
def text() -> TaggedText:
    river, money = "bank%1:17:01::", "bank%1:14:00::"
    train = [sentence("he sat on the bank", "bank", river)] * 3 + [sentence("money , bank", "bank", money)]
    held = [sentence("she sat on the bank", "bank", river), sentence("the bank , money", "bank", money)]
    return TaggedText(train, dict.fromkeys(ROLES, held))


def test_roles_of_documents_are_disjoint_and_fixed() -> None:
    names = [f"brown{kind}_br-{i:03d}" for kind in ("1", "2", "v") for i in range(150)]
    roles = held_out_documents(names)
    assert [list(roles.values()).count(role) for role in ROLES] == [8, 8, 8]
    assert not any(name.startswith("brownv") for name in roles)
    assert roles == held_out_documents(reversed(names))


def test_tagged_text_is_divided(tmp_path: Path) -> None:
    for i in range(12):
        (tmp_path / f"brown1_br-a{i:02d}").write_text(
            '<s snum="1"><wf cmd="done" lemma="dog" lexsn="1:05:00::">dogs</wf></s>'
        )
    found = read_tagged_text(wordnet(), tmp_path)
    assert [len(found.held_out[role]) for role in ROLES] == [1, 1, 0]
    assert sum(s.source == "semcor" for s in found.train) == 10
    assert any(s.source == "examples" for s in found.train)


def test_senses_between_their_gloss_and_their_occurrences(text: TaggedText) -> None:
    encoder = random_encoder()
    means, counts = occurrence_means(wordnet(), text.train, encoder)
    assert counts[:3].tolist() == [3, 1, 0]
    glosses = encode_glosses(wordnet(), encoder)
    np.testing.assert_allclose(blended(glosses, means, counts, 0.0), glosses, atol=1e-6)
    moved = blended(glosses, means, counts, 0.8)
    np.testing.assert_allclose(moved[2], glosses[2], atol=1e-6)
    assert moved[0] @ means[0] > glosses[0] @ means[0]
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, rtol=1e-5)
    related: list[list[int]] = [[] for _ in glosses]
    related[0] = related[2] = [1]
    pulled = blended(glosses, means, counts, 0.8, related)
    nearer = (pulled - moved) @ moved[1]
    assert nearer[2] > nearer[0] > 0
    np.testing.assert_allclose(pulled[1], moved[1], atol=1e-6)


def test_antonyms_and_parts_are_not_related() -> None:
    rows = related_rows(wordnet())
    ids = list(wordnet().synsets)
    for row, synset in enumerate(wordnet().synsets.values()):
        assert {ids[i] for i in rows[row]} == {
            name for symbol, name in synset.relations if symbol not in ("!", "%p", "#p")
        }


def test_a_dictionary_is_made_and_calibrated(text: TaggedText) -> None:
    encoder = random_encoder()
    vectors, chosen, tried = choose_blend(wordnet(), text, encoder, encode_glosses(wordnet(), encoder))
    assert len(tried) == 16
    assert chosen.accuracy >= max(found.accuracy for found in tried) - NEAR_BEST
    dictionary, figures = make_dictionary(wordnet(), text, encoder, vectors, 0.03)
    assert dictionary.senses("bank", fine=True)[0].count == 3
    c = dictionary.calibration
    assert c.sharpness == figures["calibration"]["sharpness"] != 20
    assert c.prior == pytest.approx(0.03 * c.sharpness)
    assert figures["reliability"]["loss"] > 0


def test_sources_are_weighed(text: TaggedText) -> None:
    reader, table = random_encoder().reader, SenseTable(wordnet())
    options = GlossTraining(source_weights={"semcor": 0.25})
    assert {s.weight for s in training_pieces(table, text.train, reader, options)} == {0.25}
    strange = [sentence("the bank", "bank", "bank%1:14:00::", source="news")]
    with pytest.raises(InputError, match="no weight for the source 'news': choose semcor"):
        training_pieces(table, strange, reader, options)


def test_a_teacher_trains_a_small_encoder_on_plain_text(text: TaggedText, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra encoders is not installed")
    from tests.encoders.test_gloss_training import encoder

    large, small = encoder(), encoder()
    settings = {"steps": 3, "dimension": 8, "sentences": 4, "read_again": 4}
    pieces = pieces_of(wordnet(), text, large.reader, GlossTraining(**settings))
    teacher = train_encoder(pieces, large, GlossTraining(**settings))
    plain = plain_text(["He sat on the bank of the river. She saw the fast dog."] * 20, large.reader, 30)
    forms = form_table(["bank", "saw", "fast"], lemmas_of(wordnet()), pieces.table, large.reader)
    lines = list[str]()
    lesson = Distillation(**settings, text_pieces=100, glosses=4)
    glosses = distil(pieces, teacher, small, plain, forms, lesson, tmp_path, lines.append)
    np.testing.assert_allclose(np.linalg.norm(glosses, axis=1), 1, rtol=1e-5)
    assert any("the teacher reads" in line for line in lines)
    assert GlossEncoder.load(tmp_path).dimension == 8
