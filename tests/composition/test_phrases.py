import lzma
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysema import Brackets, Lexicon, PlainText, load
from polysema.composition.phrases import is_brackets, is_text, is_word, read_phrase
from polysema.composition.trees import Leaf, parse_brackets
from polysema.errors import Failed, InputError, MissingExtraError, TreeError
from polysema.parsing import sentences
from polysema.parsing.sentences import read_phrases
from tests.refusals import refused

PASSAGES = [
    "the Church Committee (1975) was set up to look at the bank", "(1975) the bank", "the bank (1975)",
    "(the first bank) and (the second bank)", "a bank) with a bracket that closes nothing",
    "a bank (with a bracket that is never closed", "((( the bank", "the bank :-) closed", "the bank () was empty",
    "Smith & Sons, the bank", "& the bank", "R&D at the bank", "the bank* of England", "the ~ bank",
    '"The bank", he said, "is closed', "“the bank” – and ‘the bank’ –", "the bank — founded 1694 — lends",
    "the bank...", "the\nbank\nclosed", "  the   bank  ", "[citation needed] the bank {{cite web|url=x}}",
    "C:\\bank\\river the bank", "banks, BANKS, bank", "E=mc² and the bank ½", "die Bank „am Fluss“ bank", "銀行 bank 河岸",
    "bank", "bank.", "(bank)", "(bank",
]  # fmt: skip


@pytest.fixture(scope="module")
def default() -> Lexicon:
    return load()


@pytest.mark.parametrize("nlp", [None, False], ids=["parsed", "not parsed"])
def test_every_passage_can_be_asked_about(default, nlp):
    for passage, item in zip(
        PASSAGES, default.disambiguate([("bank", passage) for passage in PASSAGES], nlp=nlp), strict=True
    ):
        assert not isinstance(item, Failed), item
        assert item.context.strip("()") == passage.strip("()")
        assert item.form.lower() in ("bank", "banks")


def test_real_passages_can_be_asked_about(default, shared):
    """Twenty words around a word, cut out of running text with all its punctuation."""
    with lzma.open(shared / "corpus" / "simplewiki.txt.xz", "rt", encoding="utf-8") as file:
        words = [word for _, line in zip(range(4000), file, strict=False) for word in re.split("( +)", line)]
    known = [i for i in range(0, len(words)) if words[i].isalpha() and words[i].lower() in default]
    chosen = random.Random(1).sample(known, 200)
    pairs = [(words[i], "".join(words[max(0, i - 20) : i + 21])) for i in chosen]
    assert sum(any(mark in passage for mark in '()&*"“~') for _, passage in pairs) > 20
    for nlp in (None, False):
        failed = [item for item in default.disambiguate(pairs, nlp=nlp) if isinstance(item, Failed)]
        assert failed == []


@pytest.mark.parametrize(
    "text",
    [
        "(bank (raised rates))", "(river bank)", "((local family) (runs (small hotel)))", "(dogs (bark loudly~))",
        "((dogs & cats) sleep*)", "  (old cars)\n", "(bank)", "((win-over crowd)~ (o'clock news))",
    ],
)  # fmt: skip
def test_brackets_that_cannot_be_mistaken(text):
    assert is_brackets(text)
    assert not is_text(text)
    assert read_phrase(text).tree == parse_brackets(text)
    assert is_text(PlainText(text))
    assert not is_brackets(PlainText(text))


@pytest.mark.parametrize("text", [passage for passage in PASSAGES if passage not in ("bank", "bank.", "(bank)")])
def test_everything_else_is_text(text):
    assert is_text(text)
    assert not is_brackets(text)
    assert is_brackets(Brackets(text))


def test_one_word_alone_and_explicit_brackets():
    assert is_word("bank")
    assert is_word(" bank. ")
    assert not is_word("(bank)")
    assert not is_word(PlainText("bank"))
    assert read_phrase("bank*").tree == Leaf("bank*")
    assert read_phrase(Brackets("bank*")).tree == Leaf("bank")
    refused(TreeError, "unbalanced brackets", read_phrase, Brackets("(bank (raised rates)"))
    refused(InputError, "need a pattern", read_phrase, ["old", "cars"])


@given(st.text(alphabet='() ab*~&."\n', max_size=20))
def test_what_is_taken_for_brackets_can_be_read(text):
    if is_brackets(text):
        parse_brackets(text)
        assert text.strip()[0] == "("


def test_without_a_parser_only_texts_fail(monkeypatch):
    def missing(texts, known, nlp, readings):
        raise MissingExtraError("parsing", "parse")

    monkeypatch.setattr(sentences, "parse_sentences", missing)
    text, brackets = read_phrases(["old cars", "(old cars)"], None, {})
    assert isinstance(text, MissingExtraError)
    assert str(brackets.tree) == "(old cars)"
