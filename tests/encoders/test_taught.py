from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")

import torch

from polysema import load, train
from polysema.contexts.sample import Sample
from polysema.corpus.build import build_corpus
from polysema.encoders import induction, occurrences, telling
from polysema.encoders.huggingface import Encoder
from polysema.encoders.induction import Senses, induce, k_means, sense_labels, whitening, within_words
from polysema.encoders.taught import taught
from polysema.encoders.telling import calibration_error, context_rows, learn_to_tell
from polysema.errors import InputError, UnknownChoiceError
from polysema.files.checkpoint import Checkpoint
from polysema.files.progress import silent
from tests.encoders.test_huggingface import slow_word_vectors
from tests.encoders.tiny import make_corpus

SMALL = {"dim": 5, "min_count": 5, "split": 0.1, "epochs": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus") / "corpus")


@pytest.fixture(scope="module")
def encoder(folder):
    return Encoder.load(folder, layers="1-2", batch_size=8, device="cpu")


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occurrences, "TOGETHER", 2)
        patch.setattr(telling, "STEPS", 20)
        patch.setitem(induction.BLOCK, "cpu", 8)
        yield


@pytest.fixture(scope="module")
def lexicon(corpus, encoder):
    return taught(corpus, encoder, **SMALL)


def planted(rng, clusters, each=60, width=6):
    """Vectors of words with so many planted clusters each, far apart, and where each word's begin."""
    far = 40.0
    parts = []
    for k in clusters:
        centres = far * np.eye(width)[:k]
        parts.append(np.concatenate([centre + rng.normal(size=(each, width)) for centre in centres]))
    return np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def induced(vectors, starts, tmp_path, **options):
    saved = Checkpoint(tmp_path / "state" / "senses.safetensors", {})
    chosen = {"dim": 6, "most": 5, "split": 1.0, "seed": 1, "device": "cpu", "saved": saved, "progress": silent}
    return induce(vectors, starts, **{**chosen, **options})


# ------------------------------------------------------------------------------------------------------- occurrences


def test_vectors_are_those_of_the_encoder_projected(corpus, encoder, tmp_path):
    sample = Sample(corpus, stop_words=True)
    starts, positions = sample.drawn(400)
    reading = occurrences.Reading(encoder, sample, tmp_path / "state", {}, silent, 60.0)
    projection = reading.projection(24, 1)
    found = reading.projected(positions, projection)
    assert found.dtype == np.float16
    np.testing.assert_allclose(projection.basis.T @ projection.basis, np.eye(24), atol=1e-9)
    for sentence in (0, 3, 17):
        first, last = corpus.sentences[sentence], corpus.sentences[sentence + 1]
        exact = slow_word_vectors(encoder, list(corpus)[sentence], encoder.layers)
        for position in range(first, last):
            (slot,) = np.flatnonzero(positions == position)
            expected = (exact[position - first] - projection.mean) @ projection.basis
            np.testing.assert_allclose(found[slot], expected, atol=0.01)
            assert starts[sample.rows[corpus.tokens[position]]] <= slot


def test_each_word_counts_the_same_in_the_projection(corpus, encoder, tmp_path, monkeypatch):
    sample = Sample(corpus, min_count=20, stop_words=True)
    monkeypatch.setattr(occurrences, "MOMENTS", 3 * len(sample.vocabulary))
    reading = occurrences.Reading(encoder, sample, tmp_path / "state", {}, silent, 60.0)
    reading.projection(4, 20)
    saved = Checkpoint(tmp_path / "state" / "projection.safetensors", {})
    assert saved.load()
    assert saved.numbers["count"] == 3 * len(sample.vocabulary)


# --------------------------------------------------------------------------------------------------------- induction


def test_whitened_an_average_word_spreads_by_one(tmp_path):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(900, 6)) * np.array([5.0, 3, 2, 1, 0.5, 0.1]) + 7
    starts = np.array([0, 100, 400, 900])
    values, axes = within_words(vectors, starts, "cpu")
    expected = np.mean([np.cov(vectors[a:b].T, bias=True) for a, b in itertools.pairwise(starts)], axis=0)
    np.testing.assert_allclose((axes * values) @ axes.T, expected, rtol=1e-3, atol=1e-4)
    t = whitening(values, axes, 4)
    np.testing.assert_allclose(t.T @ expected @ t, np.eye(4), atol=1e-2)
    assert whitening(np.array([1.0, 1e-9]), np.eye(2), 2).shape == (2, 1)


def test_planted_senses_are_found_and_counted(tmp_path):
    vectors, starts = planted(np.random.default_rng(1), [1, 2, 3, 1, 2, 1])
    found = induced(vectors, starts, tmp_path)
    assert found.counts.tolist() == [1, 2, 3, 1, 2, 1]
    np.testing.assert_allclose(found.weights[2], [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-6)
    own = found.labels[starts[2] : starts[3]].reshape(3, 60)
    assert (own == own[:, :1]).all()
    assert len(set(own[:, 0])) == 3
    directions = sorted(int(np.argmax(vector)) for vector in found.vectors[2, :3])
    assert directions == [0, 1, 2]
    np.testing.assert_allclose(np.linalg.norm(found.vectors[2, :3], axis=1), 1, rtol=1e-5)
    assert not found.vectors[2, 3:].any()


def test_information_is_the_variance_against_that_of_any_word(tmp_path):
    rng = np.random.default_rng(2)
    scale = [1.0, 3.0, 1.0, 1.0]
    vectors = np.concatenate([s * rng.normal(size=(200, 6)) for s in scale])
    found = induced(vectors, np.arange(5) * 200, tmp_path)
    assert np.argmax(found.information) == 1
    assert found.information.mean() == pytest.approx(200 / 199, rel=1e-4)
    assert found.information[1] / found.information[0] == pytest.approx(9, rel=0.15)


def test_a_rare_word_has_one_sense_and_no_information(tmp_path):
    vectors, starts = planted(np.random.default_rng(3), [2, 2], each=10)
    found = induced(vectors, starts, tmp_path)
    assert found.counts.tolist() == [1, 1]
    assert np.isnan(found.information).all()


def test_split_is_what_another_sense_must_bring(tmp_path):
    vectors, starts = planted(np.random.default_rng(4), [1, 2, 3])
    assert induced(vectors, starts, tmp_path / "a", split=1e6).counts.tolist() == [1, 1, 1]
    assert induced(vectors, starts, tmp_path / "b", split=0.0).counts.min() > 1
    assert induced(vectors, starts, tmp_path / "c", most=2).counts.tolist() == [1, 2, 2]


def test_the_same_split_costs_less_where_a_word_spreads_further():
    rng = np.random.default_rng(6)
    spread = np.array([0.8, 1.25])[:, None, None] * rng.normal(size=(2, 300, 32))
    spread[:, :150, 0] += 5.2
    x, ok = torch.from_numpy(spread - spread.mean(axis=1, keepdims=True)).float(), torch.ones(2, 300)
    labels = sense_labels(x, ok, 3, induction.SPLIT, torch.Generator().manual_seed(1))
    assert labels.amax(1).tolist() == [0, 1]


def test_starts_that_are_far_apart_miss_no_cluster():
    rng = np.random.default_rng(7)
    points = rng.normal(size=(40, 5, 20, 8)) + 30 * np.eye(8)[:5, None]
    x, ok = torch.from_numpy(points.reshape(40, 100, 8)).float(), torch.ones(40, 100)
    centroids = k_means(x, ok, 5, torch.Generator().manual_seed(1), restarts=1, rounds=5)
    nearest = torch.cdist(x, centroids).argmin(-1).reshape(40, 5, 20)
    found = [len(set(word[:, 0].tolist())) == 5 for word in nearest]
    assert np.mean(found) > 0.9


def test_a_small_cluster_goes_to_its_neighbour(monkeypatch):
    monkeypatch.setattr(induction, "SMALLEST", 0.25)
    rng = np.random.default_rng(5)
    planted = ((0, 80), (100, 60), (250, 40))
    points = np.concatenate([rng.normal(size=(size, 2)) + np.array([at, 0]) for at, size in planted])
    x, ok = torch.from_numpy(points[None]).float(), torch.ones(1, len(points))
    labels = sense_labels(x, ok, 3, 3.0, torch.Generator().manual_seed(1))[0].numpy()
    assert len(set(labels[:80])) == 1
    assert len(set(labels[80:])) == 1
    assert labels[80] == 0
    assert labels[0] == 1


def test_clusters_go_on_after_a_stop(tmp_path, monkeypatch):
    monkeypatch.setitem(induction.BLOCK, "cpu", 4)
    vectors, starts = planted(np.random.default_rng(6), [1, 2] * 6)
    whole = induced(vectors, starts, tmp_path / "whole")

    def stop(at):
        if at.done == 8:
            raise KeyboardInterrupt

    saved = Checkpoint(tmp_path / "part" / "senses.safetensors", {}, 0.0)
    with pytest.raises(KeyboardInterrupt):
        induced(vectors, starts, tmp_path, saved=saved, progress=stop)
    seen = []
    again = Checkpoint(tmp_path / "part" / "senses.safetensors", {}, 0.0)
    resumed = induced(vectors, starts, tmp_path, saved=again, progress=lambda at: seen.append(at.done))
    assert seen == [8, 12]
    for name in ("labels", "vectors", "weights", "information"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


# ----------------------------------------------------------------------------------------------------------- telling


@pytest.fixture(scope="module")
def two_senses(tmp_path_factory):
    """A corpus in which ``bank`` means one thing beside ``river`` and another beside ``money``."""
    rng = np.random.default_rng(7)
    text = []
    for _ in range(600):
        filler = [f"w{i}" for i in rng.integers(0, 20, 4)]
        text.append([*filler[:2], "river" if rng.random() < 0.5 else "money", "bank", *filler[2:]])
    corpus = build_corpus(text, tmp_path_factory.mktemp("told") / "corpus")
    sample = Sample(corpus, stop_words=True)
    starts, positions = sample.drawn(1000)
    bank = sample.vocabulary.index("bank")
    count = len(sample.vocabulary)
    vectors, weights = np.zeros((count, 2, 4), np.float32), np.zeros((count, 2), np.float32)
    vectors[:, 0, 0], weights[:, 0] = 1, 1
    vectors[bank] = [[0.8, 0.6, 0, 0], [0.8, 0, 0.6, 0]]
    weights[bank] = 0.5
    labels = np.zeros(len(positions), np.int8)
    river = sample.vocabulary.index("river")
    for slot in range(starts[bank], starts[bank + 1]):
        labels[slot] = sample.rows[corpus.tokens[positions[slot] - 1]] != river
    return sample, positions, Senses(labels, vectors, weights, np.ones(count, np.float32)), bank


def test_contexts_learn_to_tell_planted_senses(two_senses, monkeypatch):
    monkeypatch.setattr(telling, "STEPS", 100)
    sample, positions, senses, _ = two_senses
    options = {"window": 2, "seed": 1, "device": "cpu"}
    learnt = learn_to_tell(sample, positions, senses, epochs=30, progress=silent, **options)
    assert learnt.held_out["accuracy"] > 0.95
    assert learnt.held_out["accuracy_of_weights"] < 0.7
    assert learnt.held_out["log_loss"] < 0.5 * learnt.held_out["log_loss_of_weights"]
    river, money = (learnt.contexts[sample.vocabulary.index(word)] for word in ("river", "money"))
    assert river @ [0, 1, -1, 0] > 0 > money @ [0, 1, -1, 0]
    assert np.argmax(learnt.distance_weights) == 1  # the word just before
    assert learnt.contexts.shape == (len(sample.vocabulary), 4)


def test_without_several_senses_there_is_nothing_to_tell(two_senses):
    sample, positions, senses, _ = two_senses
    one = Senses(np.zeros_like(senses.labels), senses.vectors, np.array([[1, 0]] * len(senses.weights), np.float32),
                 senses.information)  # fmt: skip
    learnt = learn_to_tell(sample, positions, one, window=2, epochs=1, seed=1, device="cpu", progress=silent)
    assert learnt.held_out == {}
    assert not learnt.contexts.any()


def test_context_rows_stay_in_the_sentence(tmp_path):
    corpus = build_corpus([["a", "b", "c"], ["d", "a"]], tmp_path / "corpus")
    sample = Sample(corpus, stop_words=True)
    index = sample.vocabulary.index
    found = context_rows(sample, np.array([0, 1, 3]), 2)
    assert found.tolist() == [
        [-1, -1, index("b"), index("c")],
        [-1, index("a"), index("c"), -1],
        [-1, -1, index("a"), -1],
    ]


def test_calibration_error():
    confidence = np.array([0.95] * 10 + [0.55] * 10)
    right = np.array([True] * 9 + [False] + [True] * 5 + [False] * 5)
    assert calibration_error(confidence, right) == pytest.approx(0.05)


# --------------------------------------------------------------------------------------------------------- the model


def test_the_lexicon_has_all_its_parts(lexicon, corpus):
    assert lexicon.columns == "senses"
    assert lexicon.encoder is None
    assert lexicon.factors.shape == (len(lexicon), 5, 5)
    np.testing.assert_allclose((lexicon.factors**2).sum((1, 2)), 1, rtol=1e-5)
    np.testing.assert_allclose((lexicon.factors**2).sum(1), lexicon.inventory.weights, atol=1e-6)
    counts = (lexicon.inventory.senses >= 0).sum(axis=1)
    assert np.bincount(counts, minlength=6)[1:].tolist() == lexicon.metadata["words_by_senses"]
    assert counts.max() > 1
    assert lexicon.contexts.shape == (len(lexicon), 5)
    assert lexicon.telling.centred
    assert not lexicon.telling.subsampled
    assert len(lexicon.telling.distance_weights) == 20
    assert np.isfinite(lexicon.information.values).all()
    assert "the" in lexicon
    assert "hapax" not in lexicon
    assert set(lexicon.metadata["held_out"]) >= {"accuracy", "log_loss", "calibration_error"}
    assert lexicon.metadata["encoder"]["layers"] == "1,2"


def test_it_is_used_without_an_encoder(lexicon, tmp_path):
    lexicon.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    found = again.disambiguate("bank", "the bank of the river")
    assert sum(sense.probability for sense in found.senses) == pytest.approx(1)
    assert again.telling.settings == lexicon.telling.settings
    assert again.ambiguity(top=3, function_words=True)[0].information == pytest.approx(
        float(np.max(lexicon.information.values))
    )


def test_what_is_learnt_is_what_the_lexicon_tells(lexicon):
    """The formula that was trained and the one that the lexicon reads are one."""
    weights, vectors = lexicon.sense_vectors("bank")
    found = lexicon.disambiguate("bank", "money bank river")
    g, x = lexicon.telling.distance_weights, lexicon.contexts
    index = lexicon.vocabulary.index
    c = g[9] * x[index("money")] + g[10] * x[index("river")]
    u = vectors - weights @ vectors
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    length = np.linalg.norm(c)
    logits = np.log(weights) + lexicon.telling.sharpness * (u @ c) / (length + lexicon.telling.little)
    expected = np.exp(logits) / np.exp(logits).sum()
    told = {sense.id: sense.by_context for sense in found.senses}
    np.testing.assert_allclose([told[i] for i in lexicon.sense_ids("bank")], expected, rtol=1e-4)


def test_a_seed_gives_the_same_lexicon(lexicon, corpus, encoder):
    again = taught(corpus, encoder, **SMALL)
    np.testing.assert_array_equal(again.factors, lexicon.factors)
    np.testing.assert_array_equal(again.contexts, lexicon.contexts)
    other = taught(corpus, encoder, **{**SMALL, "seed": 2})
    assert not np.array_equal(other.contexts, lexicon.contexts)


def test_a_stopped_run_goes_on_to_the_same_bits(lexicon, corpus, encoder, tmp_path):
    stages, state = ["averaging", "encoding", "clustering", "telling"], tmp_path / "state"
    for number, stage in enumerate(stages):
        seen = []

        def stop(at, stage=stage, seen=seen):
            seen.append(at.stage)
            if at.stage == stage and at.done >= at.total / 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            taught(corpus, encoder, state=state, progress=stop, checkpoint_seconds=0.0, **SMALL)
        assert set(seen).isdisjoint(stages[: max(number - 1, 0)])
    seen = []
    again = taught(corpus, encoder, state=state, progress=lambda at: seen.append(at.stage), **SMALL)
    assert set(seen).isdisjoint(stages[:3])
    np.testing.assert_array_equal(again.factors, lexicon.factors)
    np.testing.assert_array_equal(again.contexts, lexicon.contexts)
    with pytest.raises(InputError, match="holds another run"):
        taught(corpus, encoder, state=state, **{**SMALL, "seed": 3})


def test_by_the_table_of_models(corpus, folder, lexicon):
    options = {"encoder": str(folder), "layers": "1-2", "batch_size": 8}
    found = train(corpus, "taught", **options, **SMALL)
    np.testing.assert_array_equal(found.factors, lexicon.factors)
    kept = train(corpus, "taught", keep=["hapax"], **options, **SMALL)
    assert "hapax" in kept
    assert np.isnan(kept.information.values[kept.vocabulary.index("hapax")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "taught reads with an encoder"),
        ({"encoder": "TINY", "layers": "5-8"}, "this encoder has layers 0 to 3"),
        ({"encoder": "TINY", "layers": "last", "dim": 25}, "24 numbers: dim cannot be 25"),
        ({"encoder": "TINY", "layers": "last", "split": -1}, "split must be at least 0"),
        ({"encoder": "TINY", "layers": "last", "senses": 0}, "senses must be at least 1"),
    ],
)
def test_what_cannot_be_is_one_line(corpus, folder, options, message):
    given = {name: str(folder) if value == "TINY" else value for name, value in options.items()}
    with pytest.raises(InputError, match=message) as raised:
        train(corpus, "taught", **given)
    assert "\n" not in str(raised.value)


def test_unknown_options_are_named(corpus, encoder):
    with pytest.raises(UnknownChoiceError, match="stop_words"):
        taught(corpus, encoder, stop_words=True)
