"""Words placed by their text, and the folder that leaves out what is zero."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import polysema as ps
from polysema.cli.training import adapt_command
from polysema.errors import FormatError, InputError
from polysema.lexicon.formats.folder import PLACING
from polysema.meanings.parts import ContextModel, Information, Inventory, Parts
from polysema.senses import adapt as placing
from polysema.senses.adapt import LETTERS, Ridge, _as_far
from polysema.senses.inventory import least_cosines
from polysema.vocabulary import Vocabulary
from tests.refusals import refused

TOPICS, EACH, N = 6, 60, 12


def _name(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in f"{number:04d}")


@pytest.fixture(scope="module")
def world():
    """A text of topics, and a lexicon of its words whose directions are near those of their topics."""
    rng = np.random.default_rng(3)
    topics = np.linalg.qr(rng.normal(size=(N, TOPICS)))[0].T
    words = [[_name(1000 * t + i) for i in range(EACH)] for t in range(TOPICS)]
    text = []
    for _ in range(6000):
        t = int(rng.integers(TOPICS))
        text.append([words[t][int(i)] for i in rng.integers(0, EACH, 8)])
    listed = [(t, word) for t in range(TOPICS) for word in words[t]]
    vectors = np.array([topics[t] for t, _ in listed]) + 0.1 * rng.normal(size=(len(listed), N))
    factors = np.zeros((len(listed), N, 3), np.float32)
    factors[:, :, 0] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    two = np.flatnonzero(np.arange(len(listed)) % 10 == 1)
    factors[two, :, 1] = topics[[(listed[i][0] + 1) % TOPICS for i in two]]
    factors[two] /= np.sqrt(2)
    weights = (factors**2).sum(axis=1)
    lexicon = ps.Lexicon(
        Vocabulary([word for _, word in listed], np.full(len(listed), 100)),
        factors,
        parts=Parts(
            contexts=(vectors / 4).astype(np.float32),
            context_model=ContextModel(6.0, 0.2, centred=True, distance_weights=np.ones(20, np.float32)),
            information=Information(np.ones(len(listed), np.float32), "contextual variance"),
            inventory=Inventory(
                np.where(weights > 0, np.arange(3), -1).astype(np.int8), weights, np.full(len(listed), -1, np.float32)
            ),
        ),
        metadata={"model": "taught"},
    )
    return text, lexicon, {word: t for t, word in listed}, topics


def _without(lexicon, gone):
    rows = [row for row, word in enumerate(lexicon.vocabulary.words) if word not in gone]
    own = lexicon.parts.inventory
    return ps.Lexicon(
        Vocabulary([lexicon.vocabulary.words[row] for row in rows], lexicon.vocabulary.counts[rows]),
        lexicon.factors[rows],
        parts=Parts(
            contexts=lexicon.parts.contexts[rows],
            context_model=lexicon.parts.context_model,
            information=Information(lexicon.parts.information.values[rows], lexicon.parts.information.measure),
            inventory=Inventory(own.senses[rows], own.weights[rows], own.least[rows]),
        ),
        metadata=lexicon.metadata,
    )


@pytest.fixture(scope="module")
def adapted(world):
    text, lexicon, topic, _ = world
    gone = [word for i, word in enumerate(topic) if i % 9 == 4]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "FEWEST", 50)
        patch.setattr(placing, "LETTERS", 64)
        return gone, ps.adapt(_without(lexicon, gone), text, min_count=3)


def test_words_that_were_taken_away_come_back_to_their_topic(world, adapted):
    _, lexicon, topic, topics = world
    gone, model = adapted
    assert set(gone) < set(model)
    for word in gone:
        assert int((topics @ model[word].factor[:, 0]).argmax()) == topic[word]
        assert len(model.senses(word)) == 1
        assert model.ambiguity([word])[0].information is None
    facts = model.metadata["adapted"][-1]
    assert facts["words"] == len(gone)
    assert facts["similarity"] > 0.7
    known = [word for word in lexicon if word not in gone]
    one = [word for word in known if len(lexicon.senses(word)) == 1]
    np.testing.assert_allclose(model.stack(one).dense(), lexicon.stack(one).dense(), atol=1e-6)


def test_a_regression_beside_the_lexicon_places_words_of_a_small_text(world, adapted, tmp_path, monkeypatch):
    text, lexicon, topic, topics = world
    monkeypatch.setattr(placing, "LETTERS", 64)
    gone, _ = adapted
    known = _without(lexicon, gone)
    known.save(tmp_path / "known")
    learnt = placing.learn_placing(known, text)
    learnt.save(known, tmp_path / "known")
    few = [sentence for sentence in text[:400] if not set(sentence) <= set(gone)]
    from_folder = ps.load(tmp_path / "known")
    mine = ps.adapt(from_folder, few, min_count=3)
    placed = [word for word in gone if word in mine]
    assert len(placed) > 20
    near = [int(np.argmax(topics @ mine.factors[mine.vocabulary.find(word), :, 0])) == topic[word] for word in placed]
    assert np.mean(near) > 0.9
    facts = mine.metadata["adapted"][-1]
    counts = Counter(word for sentence in few for word in sentence)
    assert facts["held_out"] == sum(placing._is_left_out(word) and counts[word] >= 3 for word in known.vocabulary.words)
    with pytest.raises(InputError, match="to place others by them"):  # without it the text is too small
        ps.adapt(known, few, min_count=3)
    again = ps.adapt(known, few, min_count=3, placing=learnt)
    assert again.metadata["adapted"][-1]["words"] == facts["words"]
    tiny = ps.adapt(known, [[placed[0], "nowhere"]] * 3, min_count=3, placing=learnt)
    assert tiny.metadata["adapted"][-1]["held_out"] == 0
    with pytest.raises(InputError, match="no word stands in the text 4 times"):
        ps.adapt(known, [["no", "where"]] * 3, min_count=4, placing=learnt)
    monkeypatch.setattr(placing, "FEWEST", 50)  # a second regression on what the first one leaves
    both = ps.adapt(known, few, min_count=3, placing=learnt)
    near = [int(np.argmax(topics @ both.factors[both.vocabulary.find(word), :, 0])) == topic[word] for word in placed]
    assert np.mean(near) > 0.9
    assert not np.allclose(both[placed[0]].dense(), again[placed[0]].dense(), atol=1e-4)


def test_a_regression_of_another_lexicon_is_not_taken(world, tmp_path, monkeypatch):
    text, lexicon, _, _ = world
    monkeypatch.setattr(placing, "LETTERS", 64)
    lexicon.save(tmp_path / "one")
    placing.learn_placing(lexicon, text[:1000]).save(lexicon, tmp_path / "one")
    assert Ridge.beside(ps.load(tmp_path / "one")) is not None
    other = _without(lexicon, [lexicon.vocabulary.words[0]])
    other.save(tmp_path / "other")
    (tmp_path / "one" / PLACING).rename(tmp_path / "other" / PLACING)
    assert Ridge.beside(ps.load(tmp_path / "other")) is None
    assert Ridge.beside(lexicon) is None


@pytest.mark.parametrize("damage", ["cut short", "a name missing", "another shape", "not finite"])
def test_a_damaged_regression_is_refused(world, tmp_path, damage):
    _, lexicon, _, _ = world
    lexicon.save(tmp_path / "model")
    path = tmp_path / "model" / PLACING
    d, t = 3 * (N + 1), 2 * N
    whole = Ridge(np.zeros(d), np.ones(d), np.zeros((d, t)), np.zeros((LETTERS, t)), np.zeros(t))
    changes = {"another shape": {"mean": np.zeros(t - 1)}, "not finite": {"mean": np.full(t, np.nan)}}
    replace(whole, **changes.get(damage, {})).save(ps.load(path.parent), path.parent)
    if damage == "cut short":
        path.write_bytes(path.read_bytes()[:-7])
    if damage == "a name missing":
        path.write_bytes(path.read_bytes().replace(b'"shift"', b'"shirt"'))
    refused(FormatError, "placing.safetensors: damaged", Ridge.beside, ps.load(path.parent))


def test_senses_of_known_words_weigh_what_they_do_in_the_text(world, adapted):
    """Every word stands in one topic of the text only: the other sense loses weight."""
    _, lexicon, _, _ = world
    _, model = adapted
    word = next(word for word in model if len(lexicon.senses(word)) == 2)
    before, after = ({s.id: s.weight for s in m.senses(word)} for m in (lexicon, model))
    assert after[0] > before[0] + 0.1
    assert sum(after.values()) == pytest.approx(1)


def test_no_sense_fits_where_the_context_is_another(world, adapted, tmp_path):
    _, lexicon, topic, _ = world
    _, model = adapted
    corpus = ps.build_corpus(world[0], tmp_path / "corpus")
    least = least_cosines(lexicon, corpus)
    assert ((least > -1) & (least < 1)).all()
    word = next(word for word in model if len(model.senses(word)) == 1)
    same, other = (
        [w for w, t in topic.items() if (t == topic[word]) is alike and w != word] for alike in (True, False)
    )
    far = [w for w in other if topic[w] == (topic[word] + 3) % TOPICS]
    assert model.disambiguate(word, " ".join([*same[:3], word, *same[3:6]]), nlp=False).fits is True
    assert model.disambiguate(word, " ".join([*far[:3], word, *far[3:6]]), nlp=False).fits is False


def test_the_command(world, adapted, tmp_path, monkeypatch):
    text, lexicon, _, _ = world
    gone, model = adapted
    monkeypatch.setattr(placing, "FEWEST", 50)
    monkeypatch.setattr(placing, "LETTERS", 64)
    _without(lexicon, gone).save(tmp_path / "start")
    (tmp_path / "text.txt").write_text("\n".join(" ".join(words) + "." for words in text), encoding="utf-8")
    told = CliRunner().invoke(
        adapt_command,
        [str(tmp_path / "text.txt"), "-l", str(tmp_path / "start"), "-o", str(tmp_path / "mine"), "--min-count", "3"],
    )
    assert told.exit_code == 0, told.output
    assert f"{len(gone)} new words placed" in told.output
    back = ps.load(tmp_path / "mine")
    assert back.metadata["adapted"][-1]["text"] == "text.txt"
    assert back.similarity(gone[0], model[gone[0]]) > 0.99


def test_too_little_text_is_refused(world):
    _, lexicon, _, _ = world
    refused(InputError, "give more text", ps.adapt, lexicon, [["aaaa", "bbbb"]] * 20)
    refused(InputError, "context vectors", ps.adapt, lexicon.with_parts(contexts=None), world[0])


def test_a_folder_leaves_out_what_is_zero(world, tmp_path):
    _, lexicon, _, _ = world
    lexicon.save(tmp_path / "model")
    back = ps.load(tmp_path / "model")
    np.testing.assert_allclose(back.factors, lexicon.factors, atol=1e-7)
    dense = lexicon.factors.nbytes
    assert (
        tmp_path / "model" / "lexicon.safetensors"
    ).stat().st_size < 0.8 * dense + lexicon.parts.contexts.nbytes + 20_000


def test_placed_words_lie_as_far_from_the_mean_as_known_words() -> None:
    """Ridge regression halves all distances here; the words that were left out say so."""
    random = np.random.default_rng(3)
    true = random.normal(size=(40, 6)) + 2.0
    mean = true.mean(axis=0)
    placed = np.concatenate([mean + (true - mean) / 2, mean + random.normal(size=(3, 6))])
    tried = np.arange(0, 40, 10)
    moved = _as_far(placed, true, tried)
    np.testing.assert_allclose(moved[:40], true)
    np.testing.assert_allclose(moved[40:], mean + 2 * (placed[40:] - mean))
    assert _as_far(placed, true, tried[:0]) is placed
