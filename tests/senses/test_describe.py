import json
from collections.abc import Iterator

import numpy as np
import pytest

from polysema import Corpus, Lexicon, build_corpus, describe, load, train
from polysema.cli import main
from polysema.errors import FormatError, InputError, MatrixError, MissingExtraError
from polysema.meanings.descriptions import SenseDescription, SenseDescriptions
from polysema.meanings.parts import Information, Parts
from tests.refusals import refused
from tests.senses.planted import Planted


@pytest.fixture(scope="module", autouse=True)
def no_tagger() -> Iterator[None]:
    """Planted words have no part of speech, and a tagger takes its time: see test_speech.py."""

    def missing(_: Corpus) -> None:
        raise MissingExtraError("parsing", "parse")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polysema.senses.describe.Tagger", missing)
        yield


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted()


@pytest.fixture(scope="module")
def corpus(planted, tmp_path_factory) -> Corpus:
    return build_corpus(planted.sentences, tmp_path_factory.mktemp("senses") / "corpus")


@pytest.fixture(scope="module")
def described(planted, corpus) -> Lexicon:
    return describe(planted.lexicon, corpus)


def topic_of(planted: Planted, word: str) -> int:
    return next(t for t, words in enumerate(planted.names) if word in words)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_words_have_as_many_senses_as_were_planted(planted, described, count):
    words = [word for word, own in planted.meanings.items() if len(own) == count]
    right = [len(described.senses(word)) == count for word in words]
    assert np.mean(right) >= 0.8


def test_weights_are_shares_of_occurrences(planted, described):
    word = next(word for word, own in planted.meanings.items() if len(own) == 2)
    seen = [t for words, t in zip(planted.sentences, planted.topics, strict=True) if word in words]
    shares = sorted(np.bincount(seen)[planted.meanings[word]] / len(seen))
    senses = described.senses(word)
    assert sorted(sense.weight for sense in senses) == pytest.approx(shares, abs=0.1)
    assert sum(sense.weight for sense in senses) == pytest.approx(1)


def test_information_grows_with_the_number_of_meanings(planted, described):
    mean = {
        count: np.mean(
            [described.ambiguity([w])[0].information for w, own in planted.meanings.items() if len(own) == count]
        )
        for count in (1, 2, 3, 5)
    }
    assert mean[1] < 0.1 < mean[2] < mean[3] < mean[5]


def test_a_sense_is_told_by_words_of_its_own_topic(planted, described):
    for word, topics in planted.meanings.items():
        senses = described.senses(word)
        if len(topics) == 1 or len(senses) != len(topics):
            continue
        for sense in senses:
            assert sense.description is not None
            assert sense.description.words
            assert len({topic_of(planted, w) for w in sense.description.words}) == 1
            assert "the" not in sense.description.words


def test_examples_say_where_they_stand(planted, corpus, described):
    word = next(word for word, own in planted.meanings.items() if len(own) == 3)
    for sense in described.senses(word):
        assert len(sense.description.examples) == 3
        for example in sense.description.examples:
            assert corpus.sentence(example.sentence)[example.place] == word
            assert example.text == " ".join(corpus.sentence(example.sentence))
        topics = {planted.topics[example.sentence] for example in sense.description.examples}
        assert len(topics) == 1


def test_description_is_the_same_every_time_and_survives_on_disk(planted, corpus, described, tmp_path):
    described.save(tmp_path / "model")
    for other in (describe(planted.lexicon, corpus), load(tmp_path / "model")):
        np.testing.assert_array_equal(other.parts.information.values, described.parts.information.values)
        np.testing.assert_array_equal(other.parts.inventory.senses, described.parts.inventory.senses)
        assert dict(other.parts.descriptions) == dict(described.parts.descriptions)
        word = next(iter(described.parts.descriptions))
        assert [sense.description for sense in other.senses(word)] == [s.description for s in described.senses(word)]


def test_a_lexicon_without_context_vectors_is_refused(planted, corpus):
    refused(InputError, "no context vectors", describe, planted.lexicon.with_parts(contexts=None), corpus)


def test_a_word_of_zero_trace_is_refused(planted, corpus):
    arrays = planted.lexicon.array.copy()
    arrays[0] = 0
    with pytest.raises(MatrixError, match="zero trace"):
        describe(Lexicon(planted.lexicon.vocabulary, arrays, parts=planted.lexicon.parts), corpus)


def test_ambiguity_ranks_by_information_and_leaves_function_words_out(planted, described):
    ranked = described.ambiguity()
    assert "the" not in {item.word for item in ranked}
    assert "the" in {item.word for item in described.ambiguity(function_words=True)}
    values = [item.information for item in ranked]
    assert values == sorted(values, reverse=True)
    found = [item.percentile for item in ranked if item.percentile is not None]  # among words of like frequency
    assert (found[0], found[-1]) == (pytest.approx(100), pytest.approx(0, abs=1))
    many = {word for word, own in planted.meanings.items() if len(own) > 1}
    assert many <= {item.word for item in ranked[: int(1.5 * len(many))]}
    entropies = [item.entropy for item in described.ambiguity(by="entropy")]
    assert entropies == sorted(entropies, reverse=True)
    refused(InputError, "polysema describe", planted.lexicon.ambiguity, by="information")


def test_a_context_unlike_all_others_fits_no_sense(planted, described):
    word, topics = next((w, own) for w, own in planted.meanings.items() if len(own) == 2)
    (absent, *_) = [t for t in range(len(planted.names)) if t not in topics]

    def text(topic: int) -> str:
        listed = planted.names[topic]
        return " ".join([*listed[:4], word, *listed[4:8]])

    assert described.disambiguate(word, text(topics[0]), nlp=False).fits is True
    assert described.disambiguate(word, text(absent), nlp=False).fits is False
    assert planted.lexicon.disambiguate(word, text(absent), nlp=False).fits is None


def test_the_commands(planted, corpus, tmp_path, capsys):
    planted.lexicon.save(tmp_path / "model")
    model = str(tmp_path / "model")
    assert main(["describe", model, str(corpus.path), "--most", "60"]) == 0
    word = next(w for w, own in planted.meanings.items() if len(own) == 2 and len(load(model).senses(w)) == 2)
    capsys.readouterr()
    assert main(["ambiguity", "--top", "5", "--json", "-l", model]) == 0
    ranked = json.loads(capsys.readouterr().out)
    assert {"word", "count", "information", "percentile", "entropy"} <= set(ranked[0])
    assert main(["senses", word, "--examples", "-l", model]) == 0
    assert word in capsys.readouterr().out
    assert main(["senses", word, "--json", "-l", model]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert len(entry["senses"][0]["examples"]) == 3


def test_a_damaged_file_of_faces_is_said():
    faces = SenseDescriptions(['{"word":"bank","senses":{"0":{"words":["river"]}}}', '{"word":"bar","senses":7}'])
    assert faces["bank"] == {0: SenseDescription(("river",))}
    with pytest.raises(FormatError, match="'bar' are damaged"):
        faces["bar"]
    with pytest.raises(FormatError, match="damaged at byte 0"):
        SenseDescriptions(["nonsense"])["bank"]
    edited = SenseDescriptions(['{ "word": "bank", "senses": {"0": {"words": ["river"], "part": "NOUN"}}}', ""])
    assert edited["bank"] == {0: SenseDescription(("river",), part="NOUN")}, "as an editor leaves it"


def test_training_describes_where_it_is_asked_to(planted, corpus):
    lexicon = train(corpus, dim=8, senses=3, epochs=1, min_count=5, describe=True)
    assert lexicon.parts.inventory is not None
    assert lexicon.parts.descriptions
    assert train(corpus, dim=8, senses=3, epochs=1, min_count=5).parts.inventory is None
    refused(InputError, "only senses of ms-word2dm", train, corpus, "word2dm", describe=True)


def test_senses_that_a_lexicon_came_with_are_kept(planted, corpus, described):
    metadata = {name: value for name, value in described.metadata.items() if name != "described"}
    told = Information(np.ones(len(described), np.float32), "mine")
    given = described.with_parts(metadata=metadata, information=told)
    again = describe(given, corpus, separation=1e9)
    np.testing.assert_array_equal(again.parts.inventory.senses, described.parts.inventory.senses)
    np.testing.assert_array_equal(again.parts.inventory.weights, described.parts.inventory.weights)
    assert again.parts.information is told
    word = next(w for w, own in planted.meanings.items() if len(own) == 2 and len(described.senses(w)) == 2)
    assert set(again.parts.descriptions[word]) == {sense.id for sense in described.senses(word)}


def test_more_senses_than_a_byte_can_number(tmp_path):
    factors = np.ones((3, 4, 200), np.float32)
    lexicon = Lexicon(
        ["bank", "river", "rare"], factors, parts=Parts(columns="senses", contexts=np.eye(3, 4, dtype=np.float32))
    )
    corpus = build_corpus([["bank", "river"]] * 20, tmp_path / "corpus")
    describe(lexicon, corpus).save(tmp_path / "described")
    inventory = load(tmp_path / "described").parts.inventory
    assert inventory.senses[2].tolist() == list(range(200))
    assert not inventory.weights[2].any()  # not known
