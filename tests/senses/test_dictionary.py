from __future__ import annotations

import numpy as np
import pytest

from polysema.errors import FormatError, InputError, UnknownChoiceError, UnknownWordError
from polysema.measures import entropy
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import Definition, DictionaryFile, build_dictionary
from polysema.senses.forms import Forms
from tests.senses import five_words


@pytest.fixture(scope="module")
def dictionary() -> Dictionary:
    return five_words.dictionary()


def test_senses_come_with_their_names_most_frequent_first(dictionary: Dictionary) -> None:
    money, slope, tip = dictionary.senses("bank")
    assert (money.key, money.synset, money.pos, money.field) == ("bank%1:14:00::", "00000002-n", "noun", "group")
    assert (money.gloss, money.synonyms) == ("an institution that accepts deposits", ("bank", "depository"))
    assert (slope.examples, slope.count, slope.lemma) == (("he sat on the bank",), 20, "bank")
    assert tip.frequency == pytest.approx(0.5 / (60 + 0.5 + 0.25 + 0.5))
    assert sum(sense.frequency for sense in dictionary.senses("bank")) == pytest.approx(1)
    assert money.to_dict()["synonyms"] == ["bank", "depository"]


def test_forms_find_the_senses_of_all_their_lemmas(dictionary: Dictionary) -> None:
    assert {sense.lemma for sense in dictionary.senses("saw")} == {"saw", "see"}
    assert {sense.lemma for sense in dictionary.senses("saw", lemma="see")} == {"see"}
    assert {sense.pos for sense in dictionary.senses("saw", pos="noun")} == {"noun"}
    assert dictionary.senses("banking")[0].pos == "verb"
    assert dictionary.senses("Ice_Creams")[0].key == "ice_cream%1:13:00::"
    assert dictionary.senses("faster")[0].pos == "adj"
    assert "Dogs" in dictionary
    assert "cat" not in dictionary


def test_a_word_is_the_mixture_of_its_glosses(dictionary: Dictionary) -> None:
    file = dictionary.file
    rows = file.senses("bank")
    vectors, p = file.unit_vectors(rows), file.frequencies(rows, "semcor")
    expected = np.einsum("s,sn,sm->nm", p, vectors, vectors)
    np.testing.assert_allclose(dictionary.matrix("bank").dense(), expected, atol=1e-6)
    assert float(entropy(dictionary.matrix("dog"))) == pytest.approx(0, abs=1e-9)


def test_vectors_keep_their_direction_in_eight_bits(dictionary: Dictionary) -> None:
    glosses = five_words.wordnet().gloss_texts()
    exact = dictionary.encoder.glosses(glosses)
    rows = np.concatenate([dictionary.file.senses(word) for word in dictionary.file.spellings])
    cosines = (dictionary.file.unit_vectors(rows) * exact[dictionary.file.synset_of[rows]]).sum(axis=1)
    assert cosines.min() > 0.999


def test_a_word_in_a_text(dictionary: Dictionary) -> None:
    text = "He banked on the river bank."
    verb = dictionary.disambiguate("bank", text)
    assert (verb.word, verb.start, {sense.pos for sense in verb.senses}) == ("banked", 3, {"verb"})
    noun = dictionary.disambiguate("bank", text, start=23)
    assert len(noun.senses) == 3
    assert sum(noun.p) == pytest.approx(1)
    assert list(noun.p) == sorted(noun.p, reverse=True)
    assert noun.best is noun.senses[0]
    assert {sense.pos for sense in dictionary.disambiguate("bank", text, "noun", start=23).senses} == {"noun"}
    assert verb.only_sense
    assert not noun.only_sense
    assert noun.to_dict()["senses"][0]["key"] == noun.best.key
    assert noun.entropy == pytest.approx(float(entropy(noun.matrix)))


def test_probabilities_follow_the_formula(dictionary: Dictionary) -> None:
    rows = dictionary.file.senses("bank")
    context = dictionary.encoder.contexts(["the bank"], [[(4, 8)]])[0]
    options = dictionary.calibration
    scores = np.exp(options.sharpness * (dictionary.file.unit_vectors(rows) @ context))
    scores *= dictionary.file.frequencies(rows, "semcor") ** options.prior
    np.testing.assert_allclose(dictionary.probabilities(rows, context), scores / scores.sum(), rtol=1e-4)


def test_reading_takes_the_longest_entry_and_skips_function_words(dictionary: Dictionary) -> None:
    readings = dictionary.read("The dogs saw ice cream on the bank, the ice, cream.")
    assert [reading.word for reading in readings] == ["dogs", "saw", "ice cream", "bank"]
    texts = ["He sat on the bank.", "", "A fast dog"]
    together = dictionary.read_all(texts)
    assert [len(found) for found in together] == [1, 0, 2]
    for text, found in zip(texts, together, strict=True):
        for one, other in zip(dictionary.read(text), found, strict=True):
            np.testing.assert_allclose(one.p, other.p, rtol=1e-4)


def test_groups_sum_their_senses(dictionary: Dictionary) -> None:
    reading = dictionary.disambiguate("saw", "he saw the dog")
    sizes = {len(senses): p for senses, p in reading.groups()}
    assert set(sizes) == {1, 2}
    assert sum(sizes.values()) == pytest.approx(1)


def test_two_uses_are_compared(dictionary: Dictionary) -> None:
    same = dictionary.same_use("bank", "the river bank", "the river bank")
    assert same == pytest.approx(1)
    assert 0 <= dictionary.same_use("bank", "the river bank", "he sat on money , the bank , the bank") < 1


def test_a_dictionary_is_read_as_it_was_written(dictionary: Dictionary, tmp_path) -> None:
    dictionary.file.save(tmp_path)
    dictionary.encoder.save(tmp_path)
    again = Dictionary.load(tmp_path)
    assert again.senses("bank") == dictionary.senses("bank")
    first, second = (d.disambiguate("bank", "the river bank") for d in (dictionary, again))
    np.testing.assert_allclose(first.p, second.p, atol=0.02)  # the weights are rounded to 8 bits


def test_what_cannot_be_answered(dictionary: Dictionary, tmp_path) -> None:
    with pytest.raises(UnknownWordError, match="'bnak' is not in the lexicon; did you mean bank"):
        dictionary.senses("bnak")
    with pytest.raises(UnknownChoiceError, match="part of speech"):
        dictionary.senses("dog", pos="article")
    with pytest.raises(InputError, match="'dog' has no sense as verb"):
        dictionary.senses("dog", pos="verb")
    with pytest.raises(InputError, match="'bank' does not stand in the text"):
        dictionary.disambiguate("bank", "a dog")
    with pytest.raises(InputError, match="no encoder"):
        Dictionary(dictionary.file).read("a dog")
    with pytest.raises(InputError, match="no sense frequencies of 'news': choose semcor"):
        dictionary.file.frequencies(np.arange(2), "news")
    with pytest.raises(FormatError, match="not a dictionary"):
        DictionaryFile.load(tmp_path)
    with pytest.raises(InputError, match="2 vectors do not fit 10 synsets"):
        build_dictionary(five_words.wordnet(), np.ones((2, 4)), {})


def test_a_users_own_senses(dictionary: Dictionary) -> None:
    own = dictionary.with_glossary([Definition("bank", "a row of tools"), Definition("Cat", "a dog that ran", "verb")])
    assert len(own.senses("bank")) == 4
    assert own.senses("cats")[0].to_dict() == {
        "key": "cat%added:1", "synset": "", "pos": "verb", "gloss": "a dog that ran", "synonyms": ["Cat"],
        "examples": [], "field": "", "group": 201, "frequency": 1.0, "count": 0,
    }  # fmt: skip
    again = own.with_glossary([Definition("bank", "a tool")])
    assert {sense.key for sense in again.senses("bank")} >= {"bank%added:1", "bank%added:2", "bank%1:17:01::"}
    assert "cat" not in dictionary
    assert [reading.word for reading in own.read("the cats saw")] == ["cats", "saw"]
    with pytest.raises(InputError, match="needs a word and a gloss: 'x'"):
        dictionary.with_glossary([Definition("x", " ")])
    with pytest.raises(UnknownChoiceError, match="part of speech"):
        dictionary.with_glossary([Definition("x", "a tool", "article")])


def test_reading_word_by_word(dictionary: Dictionary) -> None:
    steps = dictionary.steps("The dog saw ice cream")
    assert [[reading.word for reading in step] for step in steps] == [
        [], ["dog"], ["dog", "saw"], ["dog", "saw"], ["dog", "saw", "ice cream"]
    ]  # fmt: skip


def test_senses_can_be_left_out() -> None:
    source = five_words.wordnet()
    file = build_dictionary(source, np.ones((10, 4)), {"semcor": {}}, without={"bank%2:38:00::", "dog%1:05:00::"})
    assert len(file.senses("bank")) == 2
    assert "dog" not in file.rows


@pytest.mark.parametrize(
    ("form", "lemma", "letter"),
    [("boxes", "box", "n"), ("running", "run", "v"), ("tried", "try", "v"), ("hotter", "hot", "a"),
     ("women", "woman", "n"), ("taking off", "take off", "v"), ("used", "use", "v"), ("happiest", "happy", "a")],
)  # fmt: skip
def test_endings(form: str, lemma: str, letter: str) -> None:
    known = {lemma: letter}
    assert Forms(lambda word: known.get(word, "")).lemmas(form) == [(lemma, letter)]
