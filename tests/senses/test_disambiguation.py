import json
import sys

import numpy as np
import pytest

from polysema import (
    Brackets,
    Lexicon,
    PlainText,
    Vocabulary,
    entropy,
    measures,
)
from polysema.composition.methods import METHODS
from polysema.composition.trees import parse_brackets
from polysema.errors import Failed, InputError
from polysema.meanings.parts import Parts
from polysema.parsing import sentences
from polysema.senses import disambiguation
from polysema.senses.senses import senses_of
from tests import dense
from tests.planted import planted_lexicon, topic_of


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
    ("bank", "(bank flooded*)", "water"), ("bank", "(muddy bank)", "water"),
    ("bank", "(boat (flooded bank))", "water"), ("bank", "(central bank)", "money"),
    ("bank", "((central bank) (raised rates))", "money"), ("bar", "((legal bar) (sentenced judge))", "law"),
    ("bar", "(waiter (drank (cheap (beer bar))))", "drink"),
]  # fmt: skip


def same(found, expected) -> None:
    """The same senses; their probabilities may round otherwise where more is asked together."""
    assert [sense.id for sense in found.senses] == [sense.id for sense in expected.senses]
    assert [s.probability for s in found.senses] == pytest.approx([s.probability for s in expected.senses])


def topic_of_sense(item) -> str:
    return topic_of(item.senses[0].neighbours[0].word)


@pytest.mark.parametrize(("word", "context", "topic"), CONTEXTS)
def test_the_planted_sense_is_found(planted, word, context, topic):
    told = planted.disambiguate(word, context)
    best, other = told.senses
    assert topic_of_sense(told) == topic
    assert best.probability > 0.85  # tempered: one word around does not make it sure
    assert best.by_composition > 0.6
    assert told.form == word
    assert told.span == (context.index(word), context.index(word) + len(word))
    assert (told.occurrence, told.occurrences, told.no_tree) == (0, 1, "")
    assert best.probability + other.probability == pytest.approx(1)
    assert told.entropy_before == pytest.approx(planted.entropy(word))
    assert told.entropy_after == pytest.approx(entropy(told.meaning))
    assert told.entropy_after < 0.6 * told.entropy_before
    assert str(told.tree) == context


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("add", "verb")])
def test_every_method_that_filters_tells(planted, method):
    told = planted.disambiguate("bank", "((central bank) (raised rates))", method=method)
    assert topic_of_sense(told) == "money"
    assert told.senses[0].by_composition > told.senses[0].weight


def test_composition_is_the_trace_that_each_sense_leaves(planted):
    """By hand, dense: bank in (bank (raised rates)), acted on by the verb phrase."""
    verb, noun = (dense.matrix(planted[word].factor) for word in ("raised", "rates"))
    operator = dense.unit(dense.phaser(verb, noun))
    _, weights, vectors = senses_of(planted, "bank")
    left = weights * np.einsum("ki,ij,kj->k", vectors, operator, vectors)
    told = planted.disambiguate("bank", "(bank (raised rates))")
    assert [sense.by_composition for sense in told.senses] == pytest.approx(sorted(left / left.sum(), reverse=True))
    assert sorted(sense.weight for sense in told.senses) == pytest.approx(sorted(weights))


def test_the_context_vector_by_hand():
    lexicon = planted_lexicon()
    contexts, vocabulary = lexicon.parts.contexts, lexicon.vocabulary
    keep = vocabulary.keep_probabilities(1e-5)
    around = [vocabulary.index(word) for word in ("muddy", "flooded")]  # *the* is a function word
    c = sum(keep[i] * contexts[i].astype(float) for i in around)
    strength = keep[around].sum() / (keep[around].sum() + 0.25)
    _, weights, vectors = senses_of(lexicon, "bank")
    logits = np.log(weights) + 7 * strength * vectors @ c / np.linalg.norm(c)
    expected = np.exp(logits) / np.exp(logits).sum()
    told = lexicon.disambiguate("bank", "(the ((muddy bank) flooded*))")
    assert sorted(sense.by_context for sense in told.senses) == pytest.approx(sorted(expected))


def test_nothing_known_around_leaves_the_word_as_it_is(planted):
    told = planted.disambiguate("bank", "bank")
    assert [sense.probability for sense in told.senses] == pytest.approx([sense.weight for sense in told.senses])
    assert told.entropy_after == pytest.approx(told.entropy_before)
    assert measures.similarity(told.meaning, planted["bank"]) == pytest.approx(1)


def test_patterns_trees_and_compositions(planted):
    words = planted.disambiguate("bank", "central bank raised rates", pattern="adj subj verb obj")
    brackets = planted.disambiguate("bank", "((central bank) (raised rates))")
    tree = planted.disambiguate("bank", parse_brackets("((central bank) (raised rates))"))
    composed = planted.disambiguate("bank", planted.compose("((central bank) (raised rates))"))
    listed = planted.disambiguate("bank", ["central", "bank", "raised", "rates"], pattern="adj subj verb obj")
    for other in (brackets, tree, composed, listed):
        same(other, words)
        assert other.form == "bank"
    assert (composed.context, listed.context) == ("central bank raised rates",) * 2


def test_plain_sentences_without_a_parser(planted, no_parser):
    told = planted.disambiguate("bank", "The muddy bank flooded the boat!")
    assert topic_of_sense(told) == "water"
    assert told.tree is None
    assert told.senses[0].by_composition is None
    assert told.senses[0].probability == told.senses[0].by_context
    assert topic_of_sense(planted.disambiguate("bank", "The Bank raised rates.")) == "money"
    assert topic_of_sense(planted.disambiguate("bank", "Muddy banks")) == "water"


def test_plain_sentences_with_a_parser(planted, parser):
    told = planted.disambiguate("bank", "The central banks have raised their rates.")
    assert topic_of_sense(told) == "money"
    assert "raised" in str(told.tree)
    assert planted.disambiguate("bank", "The central bank raised rates.").senses[0].by_composition > 0.5


def test_a_batch_with_failures(planted):
    pairs = [("bank", "(muddy bank)"), ("bank", Brackets("(muddy")), ("bar", "(muddy bank)"), ("bnak", "(muddy bnak)")]
    first, *failed = planted.disambiguate(pairs)
    assert topic_of_sense(first) == "water"
    messages = ["unbalanced brackets", "'bar' is not in '(muddy bank)'", "'bnak' is not in the lexicon"]
    for item, pair, message in zip(failed, pairs[1:], messages, strict=True):
        assert isinstance(item, Failed)
        assert item.input == pair
        assert message in str(item.error)
    with pytest.raises(InputError, match="is not in"):
        planted.disambiguate("bar", "(muddy bank)")
    pairs = [
        ("bar", "(legal bar)"), ("bank", PlainText("(muddy) bank")), ("bar", "nothing here"), ("Bank", "(muddy bank)"),
    ]  # fmt: skip
    told = planted.disambiguate(pairs, nlp=False)  # the order is kept
    assert [getattr(item, "word", None) for item in told] == ["bar", "bank", None, "bank"]


def test_more_words_than_are_kept(planted, no_parser, monkeypatch):
    pairs = [("bank", "muddy bank"), ("bar", "legal bar"), ("bank", "central bank")]
    expected = planted.disambiguate(pairs)
    monkeypatch.setattr(disambiguation, "MOST_KEPT", 0)
    monkeypatch.setattr(disambiguation, "_TOGETHER", 2)
    for found, answer in zip(planted.with_parts().disambiguate(pairs), expected, strict=True):
        same(found, answer)
        assert all(sense.label for sense in found.senses)


def test_every_occurrence_has_its_own_answer(planted, no_parser):
    text = "The muddy bank flooded; the central Banks raised rates."
    (first,) = planted.disambiguate(
        "bank", text, which="all"
    )  # without a parser, other forms only where the word is not
    assert first.span == (10, 14)
    text = text.replace("Banks", "BANK")
    water, money = planted.disambiguate("bank", text, which="all")
    assert [item.span for item in (water, money)] == [(10, 14), (36, 40)]
    assert (water.occurrences, money.occurrence) == (2, 1)


def test_the_second_occurrence_in_a_tree(planted):
    """Two leaves of one word: composition tells each by its own place, and the words around leave only that one out."""
    brackets = "((muddy bank) & (central bank))"
    water, money = planted.disambiguate("bank", brackets, which="all")
    assert (water.span, money.span) == ((8, 12), (25, 29))
    assert (money.occurrence, money.occurrences) == (1, 2)
    assert water.senses[0].by_composition is not None
    assert topic_of_sense(water) != topic_of_sense(money) or water.senses != money.senses
    same(planted.disambiguate("bank", brackets, which=1), money)
    assert planted.disambiguate("bank", brackets).span == water.span
    with pytest.raises(InputError, match="stands 2 times in the context: there is no occurrence 2"):
        planted.disambiguate("bank", brackets, which=2)


@pytest.mark.parametrize("context", ["the bank", "the bank of the", "The bank."])
def test_function_words_leave_the_prior_as_it_is(planted, no_parser, context):
    told = planted.disambiguate("bank", context)
    assert [sense.probability for sense in told.senses] == pytest.approx([sense.weight for sense in told.senses])


def test_frequent_words_give_no_evidence(no_parser):
    """A word that nearly never survives subsampling says nothing, on whatever list it is or is not."""
    lexicon = planted_lexicon()
    words = ["zog" if word == "the" else word for word in lexicon.vocabulary.words]
    renamed = Lexicon(
        Vocabulary(words, lexicon.vocabulary.counts), lexicon.factors, parts=Parts(contexts=lexicon.parts.contexts)
    )
    told = renamed.disambiguate("bank", "zog bank")
    assert told.senses[0].probability == pytest.approx(told.senses[0].weight)
    alone, more = (renamed.disambiguate("bank", text) for text in ("muddy bank", "muddy zog bank zog"))
    same(more, alone)


def test_sense_ids_stay_whatever_the_order(planted):
    water, money = (planted.disambiguate("bank", f"({word} bank)") for word in ("muddy", "central"))
    assert water.senses[0].id != money.senses[0].id
    assert {sense.id: sense.weight for sense in water.senses} == {sense.id: sense.weight for sense in money.senses}
    factor = planted["bank"].factor
    for sense in water.senses:
        assert sense.weight == pytest.approx((factor[:, sense.id] ** 2).sum())


def test_results_as_dictionaries(planted):
    told = planted.disambiguate("bank", "(muddy bank)", top=1)
    facts = json.loads(json.dumps(told.to_dict()))
    assert facts["span"] == [7, 11]
    assert facts["senses"][0]["neighbours"] == [
        {"word": near.word, "similarity": near.similarity} for near in told.sense.neighbours
    ]
    assert len(repr(told)) < 120
    assert "sense" in repr(told)
    assert str(told).startswith("bank: (muddy bank)\nentropy 0.")


def test_read_gives_every_ambiguous_word_where_it_stands(planted, no_parser):
    text = 'The muddy bank flooded (1975) & the Legal Bar sentenced "the" judge; bank.'
    found = planted.read(text, min_weight=0.2)
    assert [(item.word, text[slice(*item.span)]) for item in found] == [
        ("bank", "bank"),
        ("bar", "Bar"),
        ("bank", "bank"),
    ]
    assert [(item.occurrence, item.occurrences) for item in found] == [(0, 2), (0, 1), (1, 2)]
    assert [item.span for item in planted.read(text, nlp=False, min_weight=0.2)] == [item.span for item in found]
    assert planted.read("") == []


def test_a_pipeline_of_ones_own(planted):
    spacy = pytest.importorskip("spacy")
    blank = spacy.blank("en")
    told = planted.disambiguate("bank", "The muddy bank flooded.", nlp=blank)
    assert told.tree is None
    assert told.no_tree == "this spaCy pipeline gives no dependencies: hand in one that has a parser"
    assert topic_of_sense(told) == "water"
    missing = planted.disambiguate("bank", "The muddy bank flooded.", nlp=False)
    same(missing, told)
