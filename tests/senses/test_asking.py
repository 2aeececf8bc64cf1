from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import polysema as ps
from polysema import Disambiguation, Failed, InputError, Lexicon, Vocabulary, parse_brackets
from polysema.cli import main
from polysema.composition.compose import PhraseState
from polysema.errors import FormatError, UnknownWordError
from polysema.integrations import frames
from polysema.lexicon.formats import left_behind
from polysema.notebook import disambiguation_html
from polysema.senses.asking import plain_text
from polysema.senses.dictionary_files import Definition
from tests.planted import planted_lexicon
from tests.senses import five_words


@pytest.fixture(scope="module")
def text() -> Lexicon:
    """Senses found in text: *bank*, and *bar* that the dictionary lacks."""
    return planted_lexicon()


@pytest.fixture(scope="module")
def lexicon(text: Lexicon) -> Lexicon:
    return text.with_parts(dictionary=five_words.dictionary())


def test_the_dictionary_answers_about_its_words(lexicon: Lexicon, text: Lexicon) -> None:
    assert [sense.key for sense in lexicon.senses("banks", pos="noun")] == ["bank%1:14:00::", "bank%1:17:01::"]
    assert [sense.key for sense in lexicon.senses("bank", min_weight=0.1)] == ["bank%1:14:00::", "bank%1:17:01::"]
    assert not any(sense.key for sense in text.senses("bank"))
    item = lexicon.disambiguate("bank", "the river bank")
    assert (item.sense.gloss != "", item.tree, item.no_tree) == (True, None, "")
    assert lexicon.senses("ice cream")[0].field == "food"  # the lexicon has no such word
    assert lexicon.entropy("bank") == pytest.approx(item.entropy_before)
    assert lexicon.similarity("bank", "money") == text.similarity("bank", "money")
    assert "ice cream" not in lexicon
    assert lexicon.knows("ice cream")
    assert not lexicon.knows("zorblax")


def test_other_words_keep_the_senses_found_in_text(lexicon: Lexicon, text: Lexicon) -> None:
    assert lexicon.senses("bar") == text.senses("bar")
    asked = ("bar", "(legal bar)")
    assert lexicon.disambiguate(*asked, method="fuzz").senses == text.disambiguate(*asked, method="fuzz").senses
    with pytest.raises(InputError, match="pos narrows senses of a dictionary: those of 'bar' were found in text"):
        lexicon.disambiguate(*asked, pos="noun")
    with pytest.raises(InputError, match="lemma narrows senses"):
        text.senses("bank", lemma="bank")
    with pytest.raises(UnknownWordError, match="'zorblax' is not in the lexicon"):
        lexicon.senses("zorblax")


def test_brackets_trees_and_patterns_are_read_as_their_words(lexicon: Lexicon) -> None:
    brackets = "((central bank) (raised rates))"
    contexts = [brackets, parse_brackets(brackets), lexicon.compose(brackets), ["central", "bank", "raised", "rates"]]
    for context in contexts:
        assert lexicon.disambiguate("bank", context).context == "central bank raised rates"
    assert plain_text("central bank raised rates", "adj subj verb obj") == "central bank raised rates"
    assert plain_text(ps.PlainText("(bank)")) == "(bank)"
    with pytest.raises(InputError, match="'bank' is read by the encoder of the dictionary, which follows no method"):
        lexicon.disambiguate("bank", brackets, method="phaser")
    with pytest.raises(InputError, match="no context for 'bank'"):
        lexicon.disambiguate("bank")


def test_a_method_of_ones_own_works_or_is_refused(text: Lexicon) -> None:
    asked = ("bank", "(muddy bank)")
    mine = replace(ps.METHODS["phaser"], name="mine")
    assert text.disambiguate(*asked, method=mine).senses == text.disambiguate(*asked, method="phaser").senses
    flat = replace(mine, combine=lambda node, f, a: PhraseState(f.core @ np.ones((9, 2)), 2))
    with pytest.raises(InputError, match="the method 'mine' fails on shapes"):
        text.disambiguate(*asked, method=flat)
    with pytest.raises(InputError, match="a method is a name or a polysema.Method, not function"):
        text.disambiguate(*asked, method=lambda a, b: a)  # type: ignore[arg-type]


def test_lists_answer_one_by_one(lexicon: Lexicon) -> None:
    first, second, third, fourth = lexicon.disambiguate(
        [("bank", "(river bank)"), ("bar", "(legal bar)"), ("dog", "no such word"), ("saw", "he saw a dog")],
        nlp=False,
    )
    assert isinstance(first, Disambiguation)
    assert isinstance(second, Disambiguation)
    assert isinstance(third, Failed)
    assert (first.sense.key != "", second.sense.key) == (True, "")
    assert "'dog' is not in 'no such word'" in str(third.error)
    assert isinstance(fourth, Disambiguation)
    alone = lexicon.disambiguate("saw", "he saw a dog")
    assert fourth.sense.probability == pytest.approx(alone.sense.probability, rel=1e-4)
    twice = "a bank, the bank and a bar"
    found = lexicon.disambiguate([("bar", twice), ("bank", twice)], which="all", nlp=False)
    assert [(item.word, item.occurrence) for item in found] == [("bar", 0), ("bank", 0), ("bank", 1)]
    assert [item.span for item in lexicon.disambiguate("bank", twice, which="all")] == [(2, 6), (12, 16)]


def test_reading(lexicon: Lexicon) -> None:
    text = "The dogs saw ice cream on the bank of the bar, bank."
    found = lexicon.read(text)
    assert [(item.word, item.sense.key != "") for item in found] == [
        ("saw", True), ("bank", True), ("bar", False), ("bank", True)
    ]  # fmt: skip
    assert [(item.occurrence, item.occurrences) for item in found if item.word == "bank"] == [(0, 2), (1, 2)]
    every = lexicon.read(text, every=True)
    assert [item.word for item in every][:3] == ["dog", "saw", "ice cream"]
    assert every[0].only_sense
    assert [[item.word for item in own] for own in lexicon.read([text, "", "a bank"])] == [
        ["saw", "bank", "bar", "bank"], [], ["bank"]
    ]  # fmt: skip
    assert [item.word for item in lexicon.read(text, min_weight=0.1)] == ["bank", "bar", "bank"]
    with pytest.raises(InputError, match="read by the encoder of the dictionary, which has no method"):
        lexicon.read(text, method="phaser")
    with pytest.raises(InputError, match="a text is a string, or what spaCy has parsed, not int"):
        lexicon.read(3)  # type: ignore[call-overload]


def test_reading_word_by_word(lexicon: Lexicon, text: Lexicon) -> None:
    steps = lexicon.read_steps("The dog saw ice cream", every=True)
    assert [[item.word for item in step] for step in steps] == [
        [], ["dog"], ["dog", "saw"], ["dog", "saw"], ["dog", "saw", "ice cream"]
    ]  # fmt: skip
    assert [[item.word for item in step] for step in text.read_steps("a bar ruled")] == [[], ["bar"], ["bar"]]


def test_a_long_text_is_read_in_windows(lexicon: Lexicon) -> None:
    text = "He sat on the river bank. " * 30
    assert len(lexicon.read(text)) == 30
    assert lexicon.disambiguate("bank", text, which=29).span[0] > 700


def test_two_uses_are_compared(lexicon: Lexicon, text: Lexicon) -> None:
    assert lexicon.same_use("bank", "the river bank", "the river bank") == pytest.approx(1)
    assert 0 <= lexicon.same_use("bank", "the river bank", "he sat on money , the bank , the bank") < 1
    assert 0 <= text.same_use("bank", "(muddy bank)", "(central bank)") < 0.9


def test_ambiguity_is_that_of_lexemes(lexicon: Lexicon) -> None:
    assert [item.word for item in lexicon.ambiguity()] == ["bank"]  # the only lemma of both
    (cream, bar, unknown) = lexicon.ambiguity(["ice cream", "bar", "zorblax"])
    assert (cream.entropy, cream.count) == (pytest.approx(0, abs=1e-9), 0)
    assert bar.entropy == pytest.approx(planted_lexicon().entropy("bar"))
    assert isinstance(unknown, Failed)


def test_slurs_are_no_neighbours() -> None:
    slur = Definition("vermin", "an offensive term for a person")
    dictionary = five_words.dictionary()
    rng = np.random.default_rng(0)
    words = Vocabulary(["bank", "vermin", "dog"], [3, 2, 1])
    plain = Lexicon(words, rng.normal(size=(3, 4, 2)))
    object.__setattr__(dictionary, "hidden", frozenset((slur.word,)))
    lexicon = plain.with_parts(dictionary=dictionary)
    assert {near.word for near in plain.neighbours("bank")} == {"vermin", "dog"}
    assert {near.word for near in lexicon.neighbours("bank")} == {"dog"}
    assert {near.word for near in lexicon.neighbours("vermin", common=2)} == {"bank"}
    assert [item.word for item in lexicon.ambiguity()] == ["bank", "dog"]


def test_a_folder_holds_its_dictionary(lexicon: Lexicon, tmp_path) -> None:
    lexicon.save(tmp_path / "first")
    again = ps.load(tmp_path / "first")
    assert isinstance(again, Lexicon)
    assert "dictionary" not in vars(again)  # it is read when it is asked for
    again.save(tmp_path / "second")
    assert {path.name for path in (tmp_path / "second").iterdir()} >= {
        "dictionary.safetensors", "encoder.safetensors", "pieces.txt", "vocabulary.txt"
    }  # fmt: skip
    third = ps.load(tmp_path / "second")
    assert isinstance(third, Lexicon)
    assert third.senses("bank") == lexicon.senses("bank")
    assert "the dictionary and its encoder" in left_behind(lexicon, tmp_path / "out.npz")


def test_a_glossary_is_saved_with_the_lexicon(lexicon: Lexicon, text: Lexicon, tmp_path) -> None:
    table = tmp_path / "terms.csv"
    table.write_text('word,gloss,pos\nbank,"a row, of tools"\nto wug,move like a wug,verb\n', encoding="utf-8")
    own = ps.adapt(lexicon, glossary=table)
    assert "bank%added:1" in {sense.key for sense in own.senses("bank", fine=True)}
    assert len(lexicon.senses("bank")) == 3
    own.save(tmp_path / "own")
    again = ps.load(tmp_path / "own")
    assert isinstance(again, Lexicon)
    assert again.senses("to wug")[0].gloss == "move like a wug"
    table.write_text("bank\n", encoding="utf-8")
    with pytest.raises(FormatError, match="line 1: give a word, its gloss"):
        ps.adapt(lexicon, glossary=table)
    with pytest.raises(InputError, match="this lexicon has none"):
        ps.adapt(text, glossary=[Definition("bank", "a tool")])
    with pytest.raises(InputError, match="nothing to adapt to"):
        ps.adapt(lexicon)


def test_tables_and_notebooks_show_key_and_gloss(lexicon: Lexicon) -> None:
    item = lexicon.disambiguate("bank", "the river bank")
    assert item.sense.gloss in disambiguation_html(item)
    assert {"key", "gloss"} <= set(item.to_frame().columns)
    table = frames.disambiguate(["bank", "dog"], ["the bank", "a dog"], lexicon)
    assert list(table["only_sense"]) == [False, True]
    assert item.sense.key in repr(item)


def test_a_tagger_narrows(lexicon: Lexicon) -> None:
    spacy = pytest.importorskip("spacy")
    doc = spacy.blank("en")("He banked. The bank, a saw")
    for token, pos in zip(doc, ["PRON", "VERB", "PUNCT", "DET", "NOUN", "PUNCT", "DET", "NOUN"], strict=True):
        token.pos_ = pos
    (saw,) = lexicon.disambiguate([doc[7]])
    assert isinstance(saw, Disambiguation)
    assert {sense.part for sense in saw.senses} == {"NOUN"}
    assert (saw.context, saw.span) == (doc.text, (23, 26))
    assert lexicon.disambiguate(doc[4:5]).occurrence == 1
    assert [{s.part for s in item.senses} for item in lexicon.read(doc, fine=True)] == [{"NOUN"}]
    assert lexicon.disambiguate("bank", doc[4:5]).context == "bank"


def test_the_command_line(lexicon: Lexicon, tmp_path, capsys) -> None:
    lexicon.save(tmp_path / "model")
    sentence = "He saw the dog on the bank of the bar."
    shown = {
        ("senses", "bank", "bar", "--fine"): ["bank%1:17:01::", "not in the dictionary, senses found in text"],
        ("disambiguate", "saw", sentence, "--pos", "verb"): ["before", "saw%2:35:00::"],
        ("disambiguate", "dog", sentence): ["only", "(the only sense known)"],
        ("read", sentence, "--every"): ["dog%1:05:00::", "bank%"],
        ("read", "the saw saw dog", "--steps"): ["after", "saw%"],
        ("disambiguate", "bank", "a bank", "the bank", "--alike"): ["the bank"],
        ("info",): ["words 7, senses 11"],
        ("demo",): ["Which one is meant?", "bank"],
    }
    for arguments, expected in shown.items():
        assert main([*arguments, "-l", str(tmp_path / "model")]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert not [text for text in expected if text not in out], out
    assert main(["disambiguate", "bank", "a bank", "the bank", "--alike", "--json", "-l", str(tmp_path / "model")]) == 0
    assert {"word", "similarity", "uses"} == set(json.loads(capsys.readouterr().out))
    (tmp_path / "terms.csv").write_text("bank,a row of tools\n", encoding="utf-8")
    adapted = ["adapt", "--glossary", str(tmp_path / "terms.csv"), "-o", str(tmp_path / "own")]
    assert main([*adapted, "-l", str(tmp_path / "model")]) == 0
    assert "1 senses of your own" in capsys.readouterr().out


def test_the_list_of_senses_says_how_many_it_leaves_out(capsys) -> None:
    assert main(["senses", "run"]) == 0
    assert "further senses: --fine lists all 57" in capsys.readouterr().out
    assert main(["senses", "run", "--fine"]) == 0
    assert "further senses" not in capsys.readouterr().out
