import numpy as np
import pytest

from polysema import Corpus, Lexicon, build_corpus, describe, load
from polysema.cli import main
from polysema.corpus.normalisation import Normalisation
from polysema.errors import FormatError, InputError, MissingExtraError
from polysema.meanings.descriptions import SenseDescription
from polysema.meanings.parts import PARTS_OF_SPEECH, Inventory, Parts, Speech
from polysema.notebook import disambiguation_html
from polysema.senses import speech
from polysema.senses.speech import parts_of_speech
from tests.refusals import refused

pytestmark = pytest.mark.usefixtures("parser")
CUT = ("wood", "sharp", "carpenter")
SEEN = ("bird", "river", "window")
SENTENCES = [
    *(f"The {one} needs a good saw for the {two} ." for one in CUT for two in CUT if one != two),
    *(f"Yesterday we saw a {one} near the {two} ." for one in SEEN for two in SEEN if one != two),
    *(f"They saw the {one} and the {two} again ." for one in SEEN for two in SEEN if one != two),
    *(f"Buy the {one} saw with a {two} handle ." for one in CUT for two in CUT if one != two),
    *(f"Mr Crane met Mary {name} in London ." for name in ("Crane", "Smith", "Jones", "Brown")),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    sentences = [sentence.split() for sentence in SENTENCES]
    return build_corpus(
        sentences, tmp_path_factory.mktemp("speech") / "corpus", normalisation=Normalisation(lower=False)
    )


@pytest.fixture(scope="module")
def tools() -> Lexicon:
    """*saw* has the sense of a tool, column 1, and that of seeing, column 0; the words around tell."""
    words = ["saw", "crane", *CUT, *SEEN]
    factors, contexts = np.zeros((len(words), 2, 2), np.float32), np.zeros((len(words), 2), np.float32)
    factors[0] = np.eye(2)
    factors[1:, 0, 0] = 1.0
    contexts[2:5, 1] = contexts[5:, 0] = 1.0
    return Lexicon(words, factors, parts=Parts(contexts=contexts))


def parts(lexicon: Lexicon, word: str = "saw") -> dict[int, str | None]:
    return {sense.id: sense.part for sense in lexicon.senses(word)}


def test_a_sense_is_what_most_of_its_occurrences_are(tools, corpus):
    tagged = tools.with_parts(speech=parts_of_speech(tools, corpus))
    assert parts(tagged) == {0: "VERB", 1: "NOUN"}
    assert all(0.5 < sense.part_share <= 1 for sense in tagged.senses("saw"))
    assert parts(tools) == {0: None, 1: None}


def test_words_are_found_whatever_their_case_and_names_told_by_it(tools, corpus):
    tagged = tools.with_parts(speech=parts_of_speech(tools, corpus))
    assert parts(tagged, "crane") == {0: "PROPN"}


def test_parts_are_shown_wherever_a_sense_is(tools, corpus, tmp_path, capsys):
    tools.with_parts(speech=parts_of_speech(tools, corpus)).save(tmp_path / "model")
    model = load(tmp_path / "model")
    told = model.disambiguate("saw", "We saw a bird.", nlp=False)
    assert (told.sense.part, told.to_dict()["senses"][0]["part"], told.to_row()["part"]) == ("VERB",) * 3
    assert "VERB" in disambiguation_html(told)
    assert {row["part"] for row in (sense.to_dict() for sense in model.senses("saw"))} == {"NOUN", "VERB"}
    name = str(tmp_path / "model")
    for command in (["senses", "saw"], ["disambiguate", "saw", "We saw a bird."], ["read", "We saw a bird."]):
        assert main([*command, "-l", name]) == 0
        assert "VERB" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["model", "model.npz"])
def test_parts_survive_on_disk(tools, corpus, tmp_path, name):
    tagged = tools.with_parts(speech=parts_of_speech(tools, corpus))
    tagged.save(tmp_path / name)
    back = load(tmp_path / name)
    assert isinstance(back, Lexicon)
    np.testing.assert_array_equal(back.parts.speech.tags, tagged.parts.speech.tags)
    np.testing.assert_array_equal(back.parts.speech.shares, tagged.parts.speech.shares)


def test_a_description_has_parts_where_the_lexicon_did_not_come_with_them(tools, corpus):
    came = np.full((len(tools), 2), 1 + PARTS_OF_SPEECH.index("ADV"), np.uint8)
    all_senses = Inventory(
        np.tile(np.arange(2, dtype=np.int8), (len(tools), 1)), np.full((len(tools), 2), 0.5, np.float32),
        np.full(len(tools), -1.0, np.float32),
    )  # fmt: skip
    given = tools.with_parts(inventory=all_senses)
    described = describe(given, corpus)
    assert parts(described) == {0: "VERB", 1: "NOUN"}
    assert parts(describe(given, corpus, parts=False)) == {0: None, 1: None}
    with_parts = describe(given.with_parts(speech=Speech(came, came)), corpus)
    assert parts(with_parts) == {0: "ADV", 1: "ADV"}
    assert parts(describe(with_parts, corpus)) == {0: "ADV", 1: "ADV"}  # senses were kept, and are kept again


def test_without_a_tagger_there_are_no_parts_and_one_line_says_so(tools, corpus, monkeypatch):
    def missing():
        raise MissingExtraError("parsing", "parse")

    monkeypatch.setattr(speech, "parser", missing)
    notes = []
    described = describe(tools, corpus, progress=lambda at: notes.append(at.note))
    assert parts(described) == {0: None, 1: None}
    (note,) = filter(None, notes)
    assert "without parts of speech" in note
    with pytest.raises(MissingExtraError):
        parts_of_speech(tools, corpus)


def test_old_descriptions_open_without_parts():
    assert SenseDescription.from_dict({"words": ["money"], "part_of_speech": "noun"}) == SenseDescription(("money",))


def test_parts_that_do_not_fit_are_refused(tools, tmp_path):
    tags = np.zeros((len(tools), 2), np.uint8)
    refused(InputError, "do not fit", tools.with_parts, speech=Speech(tags[1:], tags[1:]))
    refused(InputError, "none of 17", tools.with_parts, speech=Speech(tags + 18, tags))
    tools.with_parts(speech=Speech(tags, tags)).save(tmp_path / "model.npz")
    arrays = dict(np.load(tmp_path / "model.npz"))
    del arrays["speech_shares"]
    np.savez(tmp_path / "broken.npz", **arrays)
    refused(FormatError, "parts of speech: an array is missing", load, tmp_path / "broken.npz")
