from __future__ import annotations

import sys

import numpy as np
import pytest

from polysema import Lexicon, disambiguate, disambiguate_all, entropy, measures
from polysema.composition.methods import METHODS
from polysema.composition.trees import parse_brackets
from polysema.errors import Failed, InputError, PolysemaError
from polysema.parsing import sentences
from tests import dense
from tests.planted import AMBIGUOUS, planted_lexicon, topic_of


@pytest.fixture(scope="module", params=[True, False], ids=["context vectors", "no context vectors"])
def planted(request) -> Lexicon:
    return planted_lexicon(contexts=request.param)


@pytest.fixture
def no_parser(monkeypatch):
    """spaCy is not installed."""
    sentences.parser.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    yield
    sentences.parser.cache_clear()


CONTEXTS = [
    ("bank", "(bank flooded*)", "water"),
    ("bank", "(muddy bank)", "water"),
    ("bank", "(boat (flooded bank))", "water"),
    ("bank", "(central bank)", "money"),
    ("bank", "((central bank) (raised rates))", "money"),
    ("bar", "((legal bar) (sentenced judge))", "law"),
    ("bar", "(waiter (drank (cheap (beer bar))))", "drink"),
]


def topic_of_sense(item) -> str:
    return topic_of(item.senses[0].neighbours[0].word)


@pytest.mark.parametrize(("word", "context", "topic"), CONTEXTS)
def test_the_planted_sense_is_found(planted, word, context, topic):
    told = disambiguate(word, context, planted)
    best, other = told.senses
    assert topic_of_sense(told) == topic
    assert best.probability > 0.9
    assert best.by_composition > 0.6
    assert best.probability + other.probability == pytest.approx(1)
    assert told.entropy_before == pytest.approx(planted.entropy(word))
    assert told.entropy_after == pytest.approx(entropy(told.meaning))
    assert told.entropy_after < 0.5 * told.entropy_before
    assert str(told.tree) == context


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("add", "verb")])
def test_every_method_that_filters_tells(planted, method):
    told = disambiguate("bank", "((central bank) (raised rates))", planted, method=method)
    assert topic_of_sense(told) == "money"
    assert told.senses[0].by_composition > told.senses[0].weight


def test_composition_is_the_trace_that_each_sense_leaves(planted):
    """By hand, dense: bank in (bank (raised rates)), acted on by the verb phrase."""
    verb, noun = (dense.matrix(planted[word].factor) for word in ("raised", "rates"))
    operator = dense.unit(dense.phaser(verb, noun))
    weights, vectors = planted.sense_vectors("bank")
    left = weights * np.einsum("ki,ij,kj->k", vectors, operator, vectors)
    told = disambiguate("bank", "(bank (raised rates))", planted)
    assert [sense.by_composition for sense in told.senses] == pytest.approx(sorted(left / left.sum(), reverse=True))
    assert {round(sense.weight, 9) for sense in told.senses} == {round(weight, 9) for weight in weights}


def test_the_context_vector_by_hand():
    lexicon = planted_lexicon()
    contexts, vocabulary = lexicon.contexts, lexicon.vocabulary
    keep = vocabulary.keep_probabilities(1e-5)
    around = [vocabulary.index(word) for word in ("the", "muddy", "flooded")]
    c = sum(keep[i] * contexts[i].astype(float) for i in around)
    weights, vectors = lexicon.sense_vectors("bank")
    logits = np.log(weights) + 12 * vectors @ c / np.linalg.norm(c)
    expected = np.exp(logits) / np.exp(logits).sum()
    told = disambiguate("bank", "(the ((muddy bank) flooded*))", lexicon)
    assert {round(s.by_context, 9) for s in told.senses} == {round(p, 9) for p in expected}


def test_nothing_known_around_leaves_the_word_as_it_is(planted):
    told = disambiguate("bank", "bank", planted)
    assert [sense.probability for sense in told.senses] == pytest.approx([sense.weight for sense in told.senses])
    assert told.entropy_after == pytest.approx(told.entropy_before)
    assert measures.similarity(told.meaning, planted["bank"]) == pytest.approx(1)


def test_patterns_trees_and_compositions(planted):
    words = disambiguate("bank", "central bank raised rates", planted, pattern="adj subj verb obj")
    brackets = disambiguate("bank", "((central bank) (raised rates))", planted)
    tree = disambiguate("bank", parse_brackets("((central bank) (raised rates))"), planted)
    composed = disambiguate("bank", planted.compose("((central bank) (raised rates))"), planted)
    listed = disambiguate("bank", ["central", "bank", "raised", "rates"], planted, pattern="adj subj verb obj")
    for other in (brackets, tree, composed, listed):
        assert other.senses == words.senses
    assert (composed.context, listed.context) == ("central bank raised rates",) * 2


def test_plain_sentences_without_a_parser(planted, no_parser):
    told = disambiguate("bank", "The muddy bank flooded the boat!", planted)
    assert topic_of_sense(told) == "water"
    assert told.tree is None
    assert told.senses[0].by_composition is None
    assert told.senses[0].probability == told.senses[0].by_context
    assert topic_of_sense(disambiguate("bank", "The Bank raised rates.", planted)) == "money"
    assert topic_of_sense(disambiguate("bank", "Muddy banks", planted)) == "water"


def test_plain_sentences_with_a_parser(planted):
    pytest.importorskip("spacy")
    try:
        sentences.parser()
    except PolysemaError as error:
        pytest.skip(str(error))
    told = disambiguate("bank", "The central banks have raised their rates.", planted)
    assert topic_of_sense(told) == "money"
    assert "raised" in str(told.tree)
    assert disambiguate("bank", "The central bank raised rates.", planted).senses[0].by_composition > 0.5


def test_a_batch_with_failures(planted):
    pairs = [("bank", "(muddy bank)"), ("bank", "(muddy"), ("bar", "(muddy bank)"), ("bnak", "(muddy bnak)")]
    first, *failed = disambiguate_all(pairs, planted)
    assert topic_of_sense(first) == "water"
    messages = ["unbalanced brackets", "'bar' does not stand in '(muddy bank)'", "'bnak' is not in the lexicon"]
    for (pair, item), message in zip(zip(pairs[1:], failed, strict=True), messages, strict=True):
        assert isinstance(item, Failed)
        assert item.input == pair
        assert message in str(item.error)
    with pytest.raises(InputError, match="does not stand in"):
        disambiguate("bar", "(muddy bank)", planted)


def test_vectors_have_no_senses(vectors):
    with pytest.raises(InputError, match="holds vectors: a choice of senses needs density matrices"):
        disambiguate("bank", "(old bank)", vectors)


def test_it_reads(planted):
    text = str(disambiguate("bank", "(muddy bank)", planted, top=2))
    assert text.startswith("bank: (muddy bank)\nentropy 0.")
    assert len(text.splitlines()) == 4
    assert set(AMBIGUOUS) == {"bank", "bar"}
