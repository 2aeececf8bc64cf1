"""What one sentence tells of a word holds in the next; texts here are parsed by hand."""

import numpy as np
import pytest

from polysema import Lexicon, VectorLexicon
from polysema.composition.methods import METHODS
from polysema.composition.occurrences import Token, sentences, tokenised
from polysema.composition.phrases import Read
from polysema.composition.trees import Leaf, Node
from polysema.errors import InputError
from polysema.meanings.parts import Parts
from polysema.senses.asking import recalled
from polysema.vocabulary import Vocabulary

WORDS = ("bank", "river", "money", "old", "new")


@pytest.fixture
def lexicon() -> Lexicon:
    """*bank* is half river and half money; the words around point to one or to neither."""
    factors = np.zeros((5, 4, 2))
    factors[0, 0, 0] = factors[0, 1, 1] = np.sqrt(0.5)
    for row, axis in enumerate((0, 1, 2, 3), start=1):
        factors[row, axis, 0] = 1.0
    contexts = np.zeros((5, 4))
    contexts[1, 0] = contexts[2, 1] = contexts[3, 2] = contexts[4, 3] = 1.0
    return Lexicon(
        Vocabulary(WORDS, np.full(5, 10)),
        factors,
        parts=Parts(contexts=contexts),
        metadata={"options": {"subsample": 1}},
    )


def text(*halves: str) -> Read:
    """Sentences of two words, the second on the first."""
    source, tokens, leaves = "", [], []
    for half in halves:
        first = len(tokens)
        for place, word in enumerate(half.split()):
            tokens.append(Token(word, word, len(source), "NOUN", "ROOT" if place == 0 else "amod", first))
            leaves.append(Leaf(word, first + place))
            source += f"{word} "
        source = source.strip() + ". "
    trees = [Node(leaves[i + 1], leaves[i], "modifier", functor_first=False) for i in range(0, len(leaves), 2)]
    tree = trees[0]
    for other in trees[1:]:
        tree = Node(tree, other, "coordination")
    return Read(source.strip(), tuple(tokens), tree, tuple(leaves), is_text=True)


def test_the_bank_of_the_first_sentence_is_that_of_the_second(lexicon):
    for telling, sense in (("river", 0), ("money", 1)):
        read = recalled(lexicon, text(f"bank {telling}", "bank old"), METHODS["phaser"])
        assert set(read.recalled) == {2}
        weights = (read.recalled[2].factor ** 2).sum(axis=1)
        assert weights[sense] > 0.75
        plain = METHODS["add"].compose(lexicon, text(f"bank {telling}", "bank old"))
        told = METHODS["add"].compose(lexicon, read)
        assert told.entropy_at("rl") < plain.entropy_at("rl") - 0.1


def test_evidence_adds_up_and_the_first_mention_is_untouched(lexicon):
    read = recalled(lexicon, text("bank river", "bank river", "bank old"), METHODS["phaser"])
    once, twice = ((read.recalled[at].factor ** 2).sum(axis=1)[0] for at in (2, 4))
    assert 0.75 < once < twice
    assert 0 not in read.recalled


def test_brackets_are_one_sentence_and_what_cannot_remember_says_so(lexicon):
    alone = lexicon.compose("(old bank)", "add").entropy
    assert lexicon.compose("(old bank)", "add", memory=True).entropy == pytest.approx(alone)
    with pytest.raises(InputError, match="memory needs density matrices"):
        VectorLexicon(["old", "bank"], np.eye(2)).compose("(old bank)", memory=True)


def test_reading_with_memory(lexicon):
    source = "river bank. old bank."
    alone, together = (lexicon.read(source, memory=memory, nlp=False) for memory in (False, True))
    assert [item.span for item in alone] == [item.span for item in together] == [(6, 10), (16, 20)]
    assert together[1].sense.id == together[0].sense.id == 0
    assert together[1].entropy_after == pytest.approx(together[0].entropy_after, abs=0.05)


def test_sentences_by_roots_or_by_marks():
    assert [len(part.tokens) for part in sentences(text("bank river", "bank old"))] == [2, 2]
    assert len(sentences(tokenised("one sentence"))) == 1
