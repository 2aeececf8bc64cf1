from pathlib import Path

import numpy as np
import pytest

from polysema.composition.occurrences import Token, Tokenised
from polysema.composition.phrases import Read
from polysema.composition.trees import leaves, parse_brackets
from polysema.errors import InputError
from polysema.lexicon.lexicon import Lexicon, load
from polysema.measures import entropy, similarity
from polysema.senses.disambiguation import Place, by_part_of_speech
from polysema.slots.model import (
    PLAUSIBILITY,
    SHARPNESS,
    Slots,
    filled,
    modifying_slots,
    phrase_matrix,
    phrase_plausibility,
    substitution,
)
from polysema.training.job import Job
from polysema.training.slot_vectors import SlotOptions, train
from tests.refusals import refused
from tests.slots.planted import planted

OPTIONS = SlotOptions(dim=6, min_count=5)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return train(Job(parsed=planted), OPTIONS)


def sentence(lexicon: Lexicon, text: str):  # type: ignore[no-untyped-def]
    tree = parse_brackets(text)
    return phrase_matrix(Slots.of(lexicon), filled(tree)[id(tree)])


@pytest.mark.parametrize("seed", range(4))
def test_planted_meanings_are_told_apart_by_the_arguments(seed: int) -> None:
    found = train(Job(parsed=lambda: planted(seed)), OPTIONS)
    for subject, thing, right, wrong in (
        ("owner", "hotel", "manage", "sprint"),
        ("family", "shop", "operate", "finish"),
        ("athlete", "mile", "sprint", "manage"),
        ("girl", "race", "finish", "operate"),
    ):
        run, near, far = (sentence(found, f"({subject} ({verb} {thing}))") for verb in ("run", right, wrong))
        assert similarity(run, near) > similarity(run, far) + 0.1


def test_entropy_falls_as_slots_are_filled(lexicon: Lexicon) -> None:
    steps = {step.phrase: step.entropy for step in lexicon.compose("(owner (run hotel))", "slots").steps}
    assert steps["run"] > steps["run hotel"] + 0.1 > steps["owner run hotel"] + 0.2
    slots = Slots.of(lexicon)
    assert entropy(slots.slot("run", "obj", "hotel")) < entropy(slots.slot("run", "obj")) - 0.2


def test_similarity_is_the_mean_of_head_and_slots(lexicon: Lexicon) -> None:
    """Against dense matrices, written out."""
    slots = Slots.of(lexicon)

    def dense(verb: str, slot: str, noun: str) -> np.ndarray:
        weights, vectors = slots.mixture(verb, slot)
        x = slots.vector(noun, "noun")
        rho = np.zeros((6, 6))
        for p, n in zip(weights, vectors, strict=True):
            rho += p * np.exp(SHARPNESS * float(n @ x)) * np.outer(n, n)
        return rho / np.trace(rho)

    def alike(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.trace(a @ b) / np.sqrt(np.trace(a @ a) * np.trace(b @ b)))

    heads = float(slots.vector("run", "verb") @ slots.vector("manage", "verb")) ** 2
    of_slots = [alike(dense("run", s, n), dense("manage", s, n)) for s, n in (("subj", "owner"), ("obj", "hotel"))]
    expected = 0.5 * heads + 0.5 * np.mean(of_slots)
    found = similarity(sentence(lexicon, "(owner (run hotel))"), sentence(lexicon, "(owner (manage hotel))"))
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_plausibility(lexicon: Lexicon) -> None:
    slots = Slots.of(lexicon)

    def fits(text: str) -> float:
        tree = parse_brackets(text)
        return phrase_plausibility(slots, filled(tree)[id(tree)])

    assert fits("(owner (manage hotel))") > fits("(owner (manage mile))") + 0.5
    assert fits("(athlete (sprint mile))") > fits("(family (sprint shop))") + 0.5
    assert np.isnan(fits("hotel"))


def test_substitution_has_a_direction(lexicon: Lexicon) -> None:
    """The plausibility of what is put in place counts, so *sprint* does not stand for *manage* beside a shop."""
    said, other = "(owner (manage shop))", "(owner (sprint shop))"
    alike = lexicon.similarity(*(lexicon.compose(text, "slots") for text in (said, other)))
    tree = parse_brackets(other)
    fit = phrase_plausibility(Slots.of(lexicon), filled(tree)[id(tree)])
    assert substitution(lexicon, said, other) == pytest.approx(alike + PLAUSIBILITY * fit)
    assert substitution(lexicon, other, said) > substitution(lexicon, said, other)
    assert np.isnan(substitution(lexicon, said, "hotel"))


def test_adjectives_coordination_and_readings(lexicon: Lexicon) -> None:
    states = lexicon.compose("((local owner) (run (small hotel)))", "slots")
    assert len(states.steps) == 9
    both = lexicon.compose("(owner (run (hotel & shop)))", "slots").meaning
    one = lexicon.compose("(owner (run hotel))", "slots").meaning
    assert similarity(both, one) > 0.9
    verbs = lexicon.compose("(owner ((manage & sprint) hotel))", "slots").meaning
    assert entropy(verbs) > entropy(lexicon.compose("(owner (manage hotel))", "slots").meaning)
    texts = ("(owner (run hotel))", "(athlete (run race))")
    mixed = lexicon.compose(" |0.75 ".join(texts), "slots").meaning.dense()
    first, second = (lexicon.compose(text, "slots").meaning.dense() for text in texts)
    assert np.allclose(mixed, 0.75 * first + 0.25 * second)


def test_slots_are_kept_on_disk(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "slots")
    again = load(tmp_path / "slots")
    assert isinstance(again, Lexicon)
    text = "(owner (run hotel))"
    assert similarity(sentence(again, text), sentence(lexicon, text)) == pytest.approx(1.0)
    assert again.parts.slots is not None
    assert np.allclose(lexicon.array, train(Job(parsed=planted), OPTIONS).array)  # by the same seed
    assert "slots" in again.methods


def test_what_cannot_be_is_an_error(lexicon: Lexicon) -> None:
    refused(InputError, "no slots", Slots.of, Lexicon(["a", "b"], np.ones((2, 3, 1))))
    refused(InputError, "never seen", Slots.of(lexicon).slot, "hotel", "obj")
    refused(InputError, "parse more text", train, Job(parsed=planted), SlotOptions(min_count=10**6))
    refused(InputError, "dim", SlotOptions, dim=0)


def test_a_negated_phrase_is_one_with_another_head(lexicon: Lexicon) -> None:
    run, not_run = (lexicon.compose(text, "slots") for text in ("(owner (run hotel))", "(owner (not (run hotel)))"))
    manage = lexicon.compose("(owner (manage hotel))", "slots").meaning
    assert similarity(not_run.meaning, run.meaning) < 0.5
    assert similarity(not_run.meaning, manage) > similarity(not_run.meaning, run.meaning)
    assert lexicon.compose("(owner (not (run hotel)))", "slots", negation="none").entropy == pytest.approx(run.entropy)
    twice = lexicon.compose("(owner (not (not (run hotel))))", "slots")
    assert twice.entropy == pytest.approx(run.entropy)
    fills = lexicon.compose("(owner (run (no hotel)))", "slots")  # a negated filler negates what it fills
    assert np.allclose(fills.meaning.dense(), not_run.meaning.dense())


def test_prepositional_objects_and_compounds_fill_slots_of_their_own(lexicon: Lexicon) -> None:
    tree = parse_brackets("(family ((move paris~) winter~))")
    family, move, paris, winter = leaves(tree)
    tokens = [
        Token("family", "family", 0, "NOUN", "nsubj", 1), Token("moved", "move", 7, "VERB", "ROOT", 1),
        Token("to", "to", 13, "ADP", "prep", 1), Token("Paris", "paris", 16, "PROPN", "pobj", 2),
        Token("in", "in", 22, "ADP", "prep", 1), Token("winter", "winter", 25, "NOUN", "pobj", 4),
    ]  # fmt: skip
    text = "family moved to Paris in winter"
    read = Read(text, tuple(tokens), tree, (family, move, None, paris, None, winter), is_text=True)
    slots = modifying_slots(read, lexicon.slots)
    assert slots == {paris.position: "to", winter.position: "in"}
    (item,) = filled(tree, slots)[id(tree)]
    assert [(slot, heads[0].word) for slot, heads in item.slots] == [
        ("to", "paris"),
        ("in", "winter"),
        ("subj", "family"),
    ]


def test_the_part_of_speech_tells_the_sense() -> None:
    """What the parser says counts, not the words around; without a parser the shares stay."""
    tokens = (Token("The", "the", 0, "DET"), Token("run", "run", 4, "NOUN"), Token("ends", "end", 8, "VERB"))
    place = Place("run", Tokenised("The run ends", tokens), "", (4, 7))
    assert by_part_of_speech(np.array([1, 0]), place).argmax() == 1  # verbs are column 1, nouns column 0
    unparsed = Place("run", Tokenised("The run", (Token("run", "run", 4),)), "", (4, 7))
    assert not by_part_of_speech(np.array([1, 0]), unparsed).any()
