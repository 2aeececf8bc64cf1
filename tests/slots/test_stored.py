"""Slots of a lexicon that holds more than slots: the file, and what is composed and compared with it."""

from pathlib import Path

import numpy as np
import pytest

from polysema import measures
from polysema.composition.trees import parse_brackets
from polysema.errors import FormatError, InputError, UnknownWordError
from polysema.lexicon.formats import left_behind
from polysema.lexicon.lexicon import Lexicon, load
from polysema.meanings.results import Results
from polysema.slots.model import PhraseMatrix
from polysema.slots.stored import read_slots, write_slots
from polysema.storage import save_arrays
from polysema.training.job import Job
from polysema.training.slot_vectors import SlotOptions, train
from tests.refusals import refused
from tests.slots.planted import planted

WORDS = [
    "owner",
    "family",
    "athlete",
    "hotel",
    "shop",
    "mile",
    "race",
    "run",
    "runs",
    "manage",
    "operate",
    "sprint",
    "small",
    "long",
    "unseen",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    slots = train(Job(parsed=planted), SlotOptions(dim=6, min_count=5)).slots
    path = tmp_path_factory.mktemp("slots") / "slots.safetensors"
    write_slots(path, (slots.vocabulary, slots.shares, slots.spaces, slots.fillers))
    return path


@pytest.fixture(scope="module")
def lexicon(file: Path) -> Lexicon:
    """Words of two senses, and the slots of the planted language."""
    factors = np.random.default_rng(0).normal(size=(len(WORDS), 4, 2))
    return Lexicon(WORDS, factors).with_parts(phrases=file)


def test_the_file_keeps_slots_but_for_rounding(file: Path) -> None:
    slots = train(Job(parsed=planted), SlotOptions(dim=6, min_count=5)).slots
    vocabulary, shares, spaces, fillers = read_slots(file)
    assert vocabulary.words == slots.vocabulary.words
    assert fillers.names == slots.fillers.names
    assert np.allclose(shares / 255, slots.shares, atol=1 / 255)
    for own, was in zip(spaces, slots.spaces, strict=True):
        assert np.allclose(own / np.linalg.norm(own, axis=1, keepdims=True), was, atol=0.02)
    for word in ("run", "hotel"):
        row = vocabulary.index(word)
        for name in fillers.names:
            rows, weights = fillers.of(row, name)
            same, before = slots.fillers.of(row, name)
            assert rows.tolist() == same.tolist()
            assert np.allclose(weights, before, atol=0.01)


def test_phrases_are_composed_by_slots_and_words_stay(lexicon: Lexicon) -> None:
    assert lexicon.default_method == "slots"
    plain = lexicon.with_parts(phrases=None)
    found = lexicon.compose("(owner (run hotel))")
    assert found.method == "slots"
    assert isinstance(found.meaning, PhraseMatrix)
    by_words = plain.compose("(owner (run hotel))")
    assert by_words.method == lexicon.slots.word_method
    assert measures.similarity(found.meaning.words, by_words.meaning) == pytest.approx(1)
    assert lexicon.similarity("run", "manage") == plain.similarity("run", "manage")
    assert lexicon.neighbours("run", 3) == plain.neighbours("run", 3)
    same = Lexicon(WORDS, np.ones((len(WORDS), 4, 1))).with_parts(phrases=lexicon.parts.phrases)  # but for slots
    near, far = (same.similarity("(owner (run hotel))", f"(owner ({verb} hotel))") for verb in ("manage", "sprint"))
    assert near > far + 0.05


def test_a_phrase_and_a_word_are_compared(lexicon: Lexicon) -> None:
    phrase = lexicon.compose("(owner (run hotel))")
    both = lexicon.similarity(phrase, "run")
    assert 0 < both < 1
    assert both == lexicon.similarity("run", "(owner (run hotel))") == lexicon.similarity(phrase, lexicon["run"])
    table = lexicon.similarities(["run", phrase, "hotel"])
    assert table[0, 1] == pytest.approx(both)
    assert table[0, 2] == pytest.approx(lexicon.similarity("run", "hotel"))


def test_neighbours_of_a_phrase_could_stand_for_its_head(lexicon: Lexicon) -> None:
    phrase = lexicon.compose("(owner (run hotel))")
    near = lexicon.neighbours(phrase, 4)
    assert isinstance(near, Results)
    assert len(near) == 4
    assert near == lexicon.neighbours(phrase.meaning, 4)
    several = lexicon.neighbours(["hotel", phrase, "nothing", "(owner (nothing hotel))"], 4)
    assert several[:2] == [lexicon.neighbours("hotel", 4), near]
    assert [type(each.error) for each in several[2:]] == [UnknownWordError] * 2


def test_forms_and_words_that_the_slots_lack(lexicon: Lexicon) -> None:
    slots = lexicon.slots
    assert slots.row("runs", "verb") == slots.vocabulary.index("run")
    assert slots.row("unseen", "verb") == -1
    known = lexicon.compose("(owner (runs hotel))").meaning
    assert isinstance(known, PhraseMatrix)
    assert known.factor[lexicon.n :].any()
    assert float(lexicon.compose("(owner (unseen hotel))").entropy or 0) > 0  # the slots of the word most like it
    refused(UnknownWordError, "nothing", lexicon.compose, "(owner (nothing hotel))")


def test_compounds_and_negation(lexicon: Lexicon) -> None:
    negated = lexicon.compose("(owner (not (run hotel)))").meaning
    said = lexicon.compose("(owner (run hotel))").meaning
    assert lexicon.similarity(negated, said) < 0.9
    same = lexicon.compose("(owner (not (run hotel)))", negation="none").meaning
    assert lexicon.similarity(same, said) == pytest.approx(1)
    tree = parse_brackets("((hotel owner) (run shop))")
    assert "comp" in {slot for head in lexicon.compose(tree).meanings["l"].heads for slot, _ in head.slots}


def test_saving_keeps_the_slots(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "both")
    again = load(tmp_path / "both")
    assert again.compose("(owner (run hotel))").entropy == pytest.approx(
        lexicon.compose("(owner (run hotel))").entropy, abs=1e-6
    )
    again.save(tmp_path / "both", overwrite=True)  # over itself
    assert load(tmp_path / "both").default_method == "slots"
    assert left_behind(again, tmp_path / "flat.npz") == ["the slots that phrases are composed with"]


def test_damage_is_an_error(file: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    arrays = load_file(file)
    for change in (
        {"shares": arrays["shares"][:-1]}, {"fillers": arrays["fillers"][:-1]}, {"verb": arrays["verb"][:, :2]},
        {"counts": arrays["counts"][:-1]}, {"slots": arrays["slots"] + 100}, {"fillers": arrays["fillers"] + 60_000},
    ):  # fmt: skip
        save_arrays(tmp_path / "bad", {**arrays, **change})
        refused(FormatError, "damaged slots", read_slots, tmp_path / "bad")
    (tmp_path / "bad").write_bytes(file.read_bytes()[:100])
    refused(FormatError, "damaged slots", read_slots, tmp_path / "bad")
    refused(InputError, "no slots", lambda: Lexicon(["a"], np.ones((1, 2, 1))).slots)
