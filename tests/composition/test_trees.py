import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysema.composition.trees import Leaf, Node, from_pattern, head, leaves, parse_brackets, postorder
from polysema.errors import TreeError, UnknownChoiceError
from tests.refusals import refused

WORDS = st.sampled_from(["bob", "likes", "old", "cars", "ῥεῖ"])


def trees() -> st.SearchStrategy:
    kinds = st.sampled_from(["argument", "modifier"])
    return st.recursive(
        st.builds(Leaf, WORDS),
        lambda t: st.builds(Node, t, t, kinds, st.booleans()) | st.builds(Node, t, t, st.just("coordination")),
        max_leaves=12,
    )


def test_the_papers_example():
    tree = parse_brackets("(bob (likes (old cars)))")
    assert isinstance(tree, Node)
    assert [leaf.word for leaf in leaves(tree)] == ["bob", "likes", "old", "cars"]
    assert [leaf.position for leaf in leaves(tree)] == [0, 1, 2, 3]
    assert (str(tree.functor), str(tree.argument), tree.kind) == ("(likes* (old cars))", "bob", "argument")
    assert head(tree) == Leaf("likes", 1)
    assert [str(node) for node in postorder(tree)][-1] == str(tree)
    assert parse_brackets("bank") == parse_brackets("((bank))") == Leaf("bank")


@pytest.mark.parametrize(
    ("text", "actor", "kind", "top"),
    [
        ("(old cars)", "old", "modifier", "cars"), ("old cars", "old", "modifier", "cars"),
        ("(likes* cars)", "likes", "argument", "likes"), ("(dogs bark*)", "bark", "argument", "bark"),
        ("(bark loudly~)", "loudly", "modifier", "bark"), ("((young woman) sleeps)", "sleeps", "argument", "sleeps"),
        ("(likes* (old cars))", "likes", "argument", "likes"),
        ("(bob likes cars)", "(likes* cars)", "argument", "likes"),
        ("((bob) ((likes cars)))", "(likes* cars)", "argument", "likes"),
        ("(dogs & cats)", "dogs", "coordination", "dogs"), ("(bob & (old cars))", "bob", "coordination", "bob"),
        ("(bob (likes & (owns cars)))", "(likes & (owns* cars))", "argument", "likes"),
    ],
)  # fmt: skip
def test_who_acts(text, actor, kind, top):
    tree = parse_brackets(text)
    assert (str(tree.functor), tree.kind, head(tree).word) == (actor, kind, top)


@given(trees())
def test_brackets_round_trip(tree):
    assert parse_brackets(str(tree)) == tree
    assert hash(parse_brackets(str(tree))) == hash(tree) or isinstance(tree, Leaf)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(bob (likes cars)", r"unbalanced brackets in '\(bob \(likes cars\)': '\(' at character 1 is never closed"),
        ("bob likes)", r"unbalanced brackets .* '\)' at character 10 closes nothing"),
        ("(bob () cars)", "empty brackets .* at character 6"), ("", "empty phrase"), ("  ", "empty phrase"),
        ("(a b* c)", "a mark needs a pair"), ("(a* b*)", "both sides are marked"),
        ("(a *)", "a '\\*' that marks no word .* character 4"),
        ("(& b)", "an '&' without a side before it .* character 2"), ("(a &)", "an '&' without a side after it"),
        ("(a & b & c)", "a mark needs a pair"),
    ],
)  # fmt: skip
def test_bad_brackets(text, message):
    refused(TreeError, message, parse_brackets, text)


@given(st.text(alphabet="() ab*~&\n", max_size=30))
def test_any_text_parses_or_says_why(text):
    try:
        tree = parse_brackets(text)
    except TreeError as error:
        assert "\n" not in str(error)
    else:
        assert parse_brackets(str(tree)) == tree


def test_deep_trees():
    depth = 5_000  # five times what Python recurses
    tree = parse_brackets("(a " * depth + "b" + ")" * depth)
    assert len(leaves(tree)) == depth + 1
    assert tree == parse_brackets(str(tree))
    assert hash(tree) == hash(parse_brackets(str(tree)))
    assert repr(tree).startswith("Node((a (a ")


@pytest.mark.parametrize(
    ("pattern", "brackets"),
    [
        ("noun verb", "(a b*)"), ("subj verb", "(a b*)"), ("verb obj", "(a* b)"), ("subj verb obj", "(a (b c))"),
        ("adj subj verb adj obj", "((a b) (c (d e)))"), ("adj adj noun", "(a~ (b c))"), ("noun", "a"),
        ("subj adv verb obj", "(a ((b~ c) d))"), ("subj verb adv obj", "(a ((b c~) d))"),
    ],
)  # fmt: skip
def test_patterns(pattern, brackets):
    words = list("abcde")[: len(pattern.split())]
    assert from_pattern(pattern, words) == parse_brackets(brackets)


@pytest.mark.parametrize(
    ("pattern", "words", "error", "message"),
    [
        ("subj verb object", "a b c", UnknownChoiceError, "unknown role 'object': choose adj, adv, noun, subj, verb"),
        ("subj verb", "a b c", TreeError, "2 roles for 3 words"),
        ("", "", TreeError, "empty pattern"),
        ("verb verb", "a b", TreeError, "2 verbs"),
        ("subj adj verb", "a b c", TreeError, "not adjectives and a noun"),
        ("subj subj", "a b", TreeError, "not adjectives and a noun"),
    ],
)
def test_bad_patterns(pattern, words, error, message):
    refused(error, message, from_pattern, pattern, words.split())
