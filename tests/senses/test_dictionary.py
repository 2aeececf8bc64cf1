from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from polysema.errors import FormatError, InputError, UnknownChoiceError, UnknownWordError
from polysema.measures import entropy
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import Definition, DictionaryFile, build_dictionary
from polysema.senses.forms import Forms
from polysema.senses.several_words import Fit, are_one
from polysema.senses.wordnet_files import WordNet
from tests.senses import five_words


@pytest.fixture(scope="module")
def dictionary() -> Dictionary:
    return five_words.dictionary()


def test_senses_come_with_their_names_most_frequent_first(dictionary: Dictionary) -> None:
    money, slope, tip = dictionary.senses("bank")
    assert (money.key, money.synset, money.part, money.field) == ("bank%1:14:00::", "00000002-n", "NOUN", "group")
    assert (money.gloss, money.synonyms) == ("an institution that accepts deposits", ("bank", "depository"))
    assert (slope.examples, slope.count, slope.lemma) == (("he sat on the bank",), 20, "bank")
    assert tip.weight == pytest.approx(0.5 / (60 + 0.5 + 0.25 + 0.5))
    assert sum(sense.weight for sense in dictionary.senses("bank")) == pytest.approx(1)
    assert [sense.id for sense in (money, slope, tip)] == [0, 1, 2]
    assert (money.label, slope.label) == (
        "depository: an institution that accepts deposits",
        "sloping land beside water",
    )
    facts = money.to_dict()
    assert (facts["synonyms"], facts["keys"], facts["neighbours"]) == (["bank", "depository"], ["bank%1:14:00::"], [])


def test_forms_find_the_senses_of_all_their_lemmas(dictionary: Dictionary) -> None:
    assert {sense.lemma for sense in dictionary.senses("saw")} == {"saw", "see"}
    assert {sense.lemma for sense in dictionary.senses("saw", lemma="see")} == {"see"}
    assert {sense.part for sense in dictionary.senses("saw", pos="noun")} == {"NOUN"}
    (verb,) = dictionary.senses("banking")
    assert (verb.part, verb.id, verb.weight) == ("VERB", 2, 1)  # the number that it has among all senses of bank
    assert dictionary.senses("Ice_Creams")[0].key == "ice_cream%1:13:00::"
    assert dictionary.senses("faster")[0].part == "ADJ"
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
    noun = dictionary.disambiguate("bank", text)
    assert (noun.word, noun.form, noun.span, noun.occurrence, noun.occurrences) == ("bank", "bank", (23, 27), 1, 2)
    assert [sense.probability for sense in noun.senses] == sorted((s.probability for s in noun.senses), reverse=True)
    assert sum(sense.probability for sense in noun.senses) == pytest.approx(1)
    assert sorted(sense.id for sense in noun.senses) == [0, 1, 2]
    verb = dictionary.disambiguate("bank", text, which=0)
    assert (verb.form, verb.span[0], {sense.part for sense in verb.senses}) == ("banked", 3, {"VERB"})
    assert (verb.only_sense, noun.only_sense, noun.fits) == (True, False, None)
    assert "the only sense known: tip laterally" in str(verb)
    assert {s.part for s in dictionary.disambiguate("bank", text, pos="noun").senses} == {"NOUN"}
    assert noun.to_dict()["senses"][0]["key"] == noun.to_row()["key"] == noun.sense.key
    assert noun.entropy_before == pytest.approx(float(entropy(dictionary.matrix("bank"))))
    assert noun.entropy_after == pytest.approx(float(entropy(noun.meaning)))


def test_probabilities_follow_the_formula(dictionary: Dictionary) -> None:
    rows = dictionary.file.senses("bank")
    context = dictionary.encoder.contexts(["the bank"], [[(4, 8)]])[0]
    options = dictionary.calibration
    scores = np.exp(options.sharpness * (dictionary.file.unit_vectors(rows) @ context))
    scores *= dictionary.file.frequencies(rows, "semcor") ** options.prior
    found = {s.key: s.probability for s in dictionary.disambiguate("bank", "the bank", fine=True).senses}
    np.testing.assert_allclose([found[dictionary.file.key(row)] for row in rows], scores / scores.sum(), rtol=1e-4)


def test_reading_takes_the_longest_entry_and_skips_function_words(dictionary: Dictionary) -> None:
    for text in ("The dogs saw ice cream on the bank, the ice, cream.", "Dogs saw Ice-creams at a bank."):
        readings = dictionary.read(text)
        assert [reading.word for reading in readings] == ["dog", "saw", "ice cream", "bank"]
    assert readings[2].form == "Ice-creams"
    texts = ["He sat on the bank.", "", "A fast dog"]
    together = dictionary.read_all(texts)
    assert [len(found) for found in together] == [1, 0, 2]
    for text, found in zip(texts, together, strict=True):
        for one, other in zip(dictionary.read(text), found, strict=True):
            assert one.sense.probability == pytest.approx(other.sense.probability, rel=1e-4)


def test_several_words_are_one_where_they_fit_better_than_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("roll", "down", "roll down", "san", "san marco", "do it")
    source = five_words.joined(*(five_words.many_senses(word, 2) for word in words))
    encoder = five_words.random_encoder()
    vectors = encoder.glosses(["dog"] * len(source.synsets))
    dictionary = Dictionary(build_dictionary(source, vectors, {"semcor": {}}), encoder)
    text = "They roll down. They do it in San Marco. Roll-down"
    for verdict, first in ((True, ["roll down"]), (False, ["roll", "down"])):
        monkeypatch.setattr("polysema.senses.dictionary.are_one", Mock(return_value=verdict))
        assert [found.word for found in dictionary.read(text)] == [*first, "san marco", "roll down"]
    mine = dictionary.with_glossary([Definition("down roll", "a cushion")])
    assert [found.word for found in mine.read("A down roll.")] == ["down roll"]  # a user's own entry is always one


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's the dog's, and the children’s.", {"dog": "dog", "children": "child"}),
        ("He's at Alzheimer's o'clock, can't he?", {"Alzheimer's": "alzheimer's", "o'clock": "o'clock"}),
        ("The can of a naïve child", {"can": "can", "naïve": "naive", "child": "child"}),
        ("It can help US with IT, and he will.", {"US": "us", "IT": "it"}),
        ("CAN IT HELP US?", {}),
        ("St. Patrick's dog is a Dog-Child.", {"St. Patrick": "st patrick", "dog": "dog", "Dog-Child": "dog child"}),
    ],
)
def test_forms_in_a_text(text: str, words: dict[str, str]) -> None:
    lemmas = ("dog", "child", "alzheimer's", "o'clock", "can", "naive", "us", "it", "st patrick", "dog child", "he")
    source = five_words.joined(*(five_words.many_senses(word, 1) for word in lemmas))
    source = WordNet(source.synsets, source.keys, (("children", "child", "n"),))
    vectors = np.ones((len(source.synsets), 8), np.float32)
    dictionary = Dictionary(build_dictionary(source, vectors, {"semcor": {}}), five_words.random_encoder())
    found = {answer.form: answer.word for answer in dictionary.read(text)}
    assert found == words
    assert all(dictionary.disambiguate(form, text).form == form for form in found)


def test_how_well_words_fit_decides_whether_they_are_one() -> None:
    words = [Fit(0.8, 200), Fit(0.7, 50)]
    fits = [
        are_one(Fit(0.7, 10), words, 2, 15),
        not are_one(Fit(0.3, 10), words[:1], 2, 15),
        not are_one(Fit(0.4, 0), words, 2, 15),
        are_one(Fit(0.4, 90), words, 2, 15),  # it is frequent
        are_one(Fit(-0.2, 2), words, 3, 15),  # three words seldom stand together by chance
        are_one(Fit(0.6, 1), words, 2, 15),
        not are_one(Fit(0.6, 1), words, 2, 15, small_name=True),
    ]
    assert all(fits), fits


def test_coarse_senses_sum_their_fine_ones(dictionary: Dictionary) -> None:
    fine, coarse = (dictionary.disambiguate("saw", "he saw the dog", fine=how).senses for how in (True, False))
    assert [len(sense.keys) for sense in fine] == [1, 1, 1]
    (tool,) = [sense for sense in coarse if len(sense.keys) == 2]
    own = {sense.key: sense for sense in fine if sense.key in tool.keys}
    assert tool.probability == pytest.approx(sum(sense.probability for sense in own.values()))
    assert tool.weight == pytest.approx(sum(sense.weight for sense in own.values()))
    assert tool.gloss == max(own.values(), key=lambda sense: sense.probability).gloss
    assert [sense.id for sense in dictionary.senses("saw")] == [0, 1]
    assert [sense.id for sense in dictionary.senses("saw", fine=True)] == [0, 1, 2]


def test_most_words_have_at_most_eight_senses() -> None:
    source = five_words.many_senses("set", 12)
    file = build_dictionary(source, np.eye(12), {"semcor": {key.key: key.count for key in source.keys}})
    assert [len(Dictionary(file).senses("set", fine=fine)) for fine in (False, True)] == [8, 12]


def test_slurs_are_marked_and_hidden_elsewhere() -> None:
    source = five_words.many_senses("rat", 2, ("an offensive term for a person", "a rodent"), ("vermin",))
    source = five_words.joined(source, five_words.many_senses("vermin", 1, ("(ethnic slur) offensive name",)))
    dictionary = Dictionary(build_dictionary(source, np.eye(3), {"semcor": {"rat%1:00:01::": 50}}))
    rodent, person = dictionary.senses("rat")
    assert (person.offensive, person.synonyms, rodent.offensive, rodent.synonyms) == (True, ("rat",), False, ("rat",))
    assert dictionary.hidden == {"vermin"}  # a tenth of a word must be offensive
    assert dictionary.senses("vermin")[0].caption.startswith("(offensive) ")


def test_two_uses_are_compared(dictionary: Dictionary) -> None:
    same = dictionary.same_use("bank", "the river bank", "the river bank")
    assert same == pytest.approx(1)
    assert 0 <= dictionary.same_use("bank", "the river bank", "he sat on money , the bank , the bank") < 1


def test_a_dictionary_is_read_as_it_was_written(dictionary: Dictionary, tmp_path) -> None:
    dictionary.save(tmp_path)
    again = Dictionary.load(tmp_path)
    assert again.senses("bank") == dictionary.senses("bank")
    first, second = (d.disambiguate("bank", "the river bank") for d in (dictionary, again))
    assert first.sense.probability == pytest.approx(second.sense.probability, abs=0.02)  # weights of 8 bits


def test_what_cannot_be_answered(dictionary: Dictionary, tmp_path) -> None:
    with pytest.raises(UnknownWordError, match="'bnak' is not in the lexicon; did you mean bank"):
        dictionary.senses("bnak")
    with pytest.raises(UnknownChoiceError, match="part of speech"):
        dictionary.senses("dog", pos="article")
    with pytest.raises(InputError, match="'dog' has no sense as verb"):
        dictionary.senses("dog", pos="verb")
    with pytest.raises(InputError, match="'bank' is not in 'a dog'"):
        dictionary.disambiguate("bank", "a dog")
    with pytest.raises(InputError, match="the text is empty"):
        dictionary.disambiguate("bank", " ")
    with pytest.raises(InputError, match="a text is a string, not int"):
        dictionary.disambiguate("bank", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="stands 1 times in the context: there is no occurrence 1"):
        dictionary.disambiguate("bank", "a bank", which=1)
    with pytest.raises(InputError, match="no encoder"):
        Dictionary(dictionary.file).read("a dog")
    with pytest.raises(InputError, match="no sense frequencies of 'news': choose semcor"):
        dictionary.file.frequencies(np.arange(2), "news")
    with pytest.raises(FormatError, match="not a dictionary"):
        DictionaryFile.load(tmp_path)
    beyond = {**dictionary.file.tensors, "synset_of": dictionary.file.synset_of + 1}
    with pytest.raises(FormatError, match="points to a row that is not there"):
        DictionaryFile(beyond, dictionary.file.options)
    with pytest.raises(InputError, match="2 vectors do not fit 10 synsets"):
        build_dictionary(five_words.wordnet(), np.ones((2, 4)), {})


def test_a_users_own_senses(dictionary: Dictionary, tmp_path) -> None:
    own = dictionary.with_glossary([Definition("bank", "a row of tools"), Definition("Cat", "a dog that ran", "verb")])
    assert len(own.senses("bank")) == 4
    (cat,) = own.senses("cats")
    assert (cat.key, cat.part, cat.gloss, cat.synonyms) == ("cat%added:1", "VERB", "a dog that ran", ("Cat",))
    again = own.with_glossary([Definition("bank", "a tool")])
    assert {sense.key for sense in again.senses("bank")} >= {"bank%added:1", "bank%added:2", "bank%1:17:01::"}
    assert "cat" not in dictionary
    assert [reading.word for reading in own.read("the cats saw")] == ["cat", "saw"]
    again.save(tmp_path)
    assert Dictionary.load(tmp_path).senses("bank") == again.senses("bank")
    with pytest.raises(InputError, match="needs a word and a gloss: 'x'"):
        dictionary.with_glossary([Definition("x", " ")])
    with pytest.raises(UnknownChoiceError, match="part of speech"):
        dictionary.with_glossary([Definition("x", "a tool", "article")])


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


def test_doubt_of_another_form_is_refused() -> None:
    file = five_words.dictionary().file
    with pytest.raises(FormatError, match="has 5 numbers instead of 6: build it again"):
        _ = Dictionary(DictionaryFile(file.tensors, {**file.options, "doubt": [0.0] * 5})).doubt
