import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysema.composition.occurrences import (
    Token,
    find_occurrences,
    first_choice,
    span_of,
    tokenised,
)
from polysema.composition.phrases import read_tree
from polysema.composition.trees import parse_brackets
from polysema.errors import InputError


def forms(text: str, word: str, tokens=()) -> list[str]:
    return [text[start:end] for start, end in find_occurrences(text, word, tokens)]


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("The bank by the river bank.", "bank", ["bank", "bank"]),
        ("Bank, BANK and bank", "bank", ["Bank", "BANK", "bank"]),
        ("the bank's bank-note (bank)", "bank", ["bank", "bank", "bank"]),
        ("banknotes embank", "bank", []),
        ("The banks and banking", "bank", ["banks", "banking"]),
        ("the bank and the banks", "bank", ["bank"]),  # other forms only where the word itself is not
        ("cards", "car", []),
        ("She moved; moving on", "move", ["moved", "moving"]),
        ("Two families tried", "family", ["families"]),
        ("Two families tried", "try", ["tried"]),
        ("a hot dog stand", "hot dog", ["hot dog"]),
        ("the U.S. bank", "U.S.", ["U.S."]),
        ("das große Ægir", "ægir", ["Ægir"]),
        ("a [b] (c) *", "*", ["*"]),
        ("anything", "", []),
        ("", "bank", []),
    ],
)
def test_all_places_of_a_word(text, word, expected):
    assert forms(text, word) == expected


def test_irregular_forms():
    pytest.importorskip("lemminflect")
    assert forms("The mice ran.", "run") == ["ran"]
    assert forms("The mice ran.", "mouse") == ["mice"]


def test_lemmas_of_the_reader_count_and_places_are_whole_tokens():
    text = "e-mail: he ran, they run"
    tokens = [
        Token("e-mail", "e-mail", 0), Token("he", "he", 8), Token("ran", "run", 11), Token("they", "they", 16),
        Token("run", "run", 21),
    ]  # fmt: skip
    assert forms(text, "run", tokens) == ["ran", "run"]
    assert forms("mail, e-mail", "mail", [Token("mail", "mail", 0), Token("e-mail", "e-mail", 6)]) == ["mail"]
    assert forms(text, "mail", tokens) == ["mail"]  # inside a token, where there is no other place
    assert forms("mail, e-mail", "mail") == ["mail", "mail"]
    assert first_choice(text, "run", find_occurrences(text, "run", tokens)) == 1  # as it is spelled


def test_the_place_that_is_meant_where_none_is_named():
    text = "US banks told us"
    assert text[slice(*span_of(text, "us"))] == "us"
    assert text[slice(*span_of(text, "bank"))] == "banks"
    assert span_of(text, (3, 8)) == (3, 8)
    with pytest.raises(InputError, match="'river' is not in 'US banks told us'"):
        span_of(text, "river")


@given(st.text(alphabet="ab -'.(", max_size=20), st.text(alphabet="ab", min_size=1, max_size=2))
def test_places_are_in_order_and_spell_the_word(text, word):
    spans = find_occurrences(text, word)
    assert spans == sorted(set(spans))
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert text[start:end].lower().startswith(word[:1])


def test_occurrences_of_a_text_and_of_a_tree():
    words = tokenised("The Church (1975) bank, the bank.")
    first, second = (words.at(span) for span in words.places("bank"))
    assert (first.form, first.around, first.leaf, first.tree) == ("bank", ("The", "Church", "the", "bank"), None, None)
    assert (second.span, second.before) == ((28, 32), 4)
    brackets = "((muddy bank) & (central bank))"
    read = read_tree(parse_brackets(brackets), brackets)
    first, second = (read.at(span) for span in read.places("bank"))
    assert (first.leaf.position, second.leaf.position) == (1, 3)
    assert (second.form, second.around) == ("bank", ("muddy", "bank", "central"))
    assert read.spans == {0: (2, 7), 1: (8, 12), 2: (17, 24), 3: (25, 29)}
    assert [token.start for token in read_tree(parse_brackets("(a (b a))"), "a b a").tokens] == [0, 2, 4]
