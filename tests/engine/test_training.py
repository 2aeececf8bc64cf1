"""Trainings on a cluster: seeds and grids, replicas, encoders. The same numbers, whoever dies on the way."""

from __future__ import annotations

import numpy as np
import pytest

import polysema as ps
from polysema.engine import Local
from polysema.errors import InputError
from polysema.training.options import MSWord2DMOptions
from polysema.training.replicas import legs, weights
from polysema.training.sweep import grid, sweep
from tests.engine.work import OPTIONS, REPLICAS, same


class Elsewhere(Local):
    """Does tasks here, one after the other, but what is sent to workers goes through a pickle, as on a cluster."""

    def put(self, value):
        import pickle

        sent = pickle.dumps(value)
        kept = []

        def get():
            if not kept:
                kept.append(pickle.loads(sent))
            return kept[0]

        return get


# ------------------------------------------------------------------------------------------------------------ replicas


def test_replicas_learn(corpus, alone):
    """They differ from one replica, learn nearly as well, and say what they are."""
    one = ps.train(corpus, **{**REPLICAS, "replicas": 1})
    losses = [lexicon.metadata["curve"][-1]["held_out_loss"] for lexicon in (one, alone)]
    assert not same(one, alone)
    assert abs(losses[0] - losses[1]) < 0.25
    assert losses[1] < 4.1  # 6 log 2 = 4.16 knows nothing
    assert alone.metadata["options"]["replicas"] == 4


def test_replicas_have_the_same_bits_wherever_they_are(corpus, alone):
    assert same(ps.train(corpus, engine=Elsewhere(), **REPLICAS), alone)
    assert same(ps.train(corpus, **{**REPLICAS, "threads": 2}), alone)
    assert not same(ps.train(corpus, **{**REPLICAS, "replicas": 2}), alone)


@pytest.mark.parametrize("combine", ["sum", "mean"])
@pytest.mark.parametrize("model", ["word2vec", "ms-word2dm"])
def test_every_form(corpus, combine, model):
    options = {**REPLICAS, "combine": combine, "epochs": 1, "replicas": 2}
    if model == "word2vec":
        options = {**{k: v for k, v in options.items() if k != "senses"}, "form": "cbow"}
    assert np.isfinite(ps.train(corpus, model, **options).array).all()


def test_legs_grow_with_what_is_learnt():
    """One round at a time, in turn, until a share of what is learnt is a round; then that share."""
    first, second = legs(100, 0, 0.1), legs(100, 1, 0.1)
    assert np.diff(first)[:20].tolist() == [1] * 20
    assert np.diff(first)[-2] == 8
    assert np.diff(second)[:3].tolist() == [10, 11, 12]
    assert first[-1] == second[-1] == 100
    assert legs(3, 0, 1.0).tolist() == [0, 1, 2, 3]


def test_replicas_in_turn_say_so(corpus, caplog):
    """What is too little text for them is learnt in turn: no worse than one replica, and said."""
    options = {**REPLICAS, "apart": 1e-6}
    here, there = (ps.train(corpus, engine=engine, **options) for engine in ("local", Elsewhere()))
    assert same(here, there)
    assert "4 replicas learn 100% of this text in turn, not apart" in caplog.text


def test_weights_go_from_the_sum_to_the_mean():
    options = MSWord2DMOptions(replicas=4)
    found = weights(np.array([0, 1e-3, 1e2, 1e9]), 0.035, options)
    assert found[:2] == pytest.approx([1, 1], abs=1e-4)
    assert 0.25 < found[2] < 1
    assert found[3] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimiser": "adam"}, "replicas learn by sgd, not by adam"),
        ({"parallel": "hogwild"}, "leave hogwild out"),
        ({"replicas": 4000}, "too little text for 4000 replicas"),
        ({"replicas": 1, "engine": "ray"}, r"choose replicas \(--replicas 4\), or give several seeds"),
    ],
)
def test_what_replicas_refuse(corpus, options, message):
    with pytest.raises(InputError, match=message):
        ps.train(corpus, **{**REPLICAS, **options})


# ---------------------------------------------------------------------------------------------------- several trainings


def test_grids():
    names = [training.name for training in grid(["1900.corpus", "2000.corpus"], {"seed": [1, 2], "dim": 5})]
    assert names == ["corpus=1900,seed=1", "corpus=1900,seed=2", "corpus=2000,seed=1", "corpus=2000,seed=2"]
    assert grid(("a.txt", "b.txt"), {"seed": [3]})[0].corpus == ("a.txt", "b.txt")
    with pytest.raises(InputError, match="the list of seed is empty"):
        grid("a", {"seed": []})
    with pytest.raises(InputError, match="two trainings would have one name"):
        grid("a", {"seed": [1, 1]})


def test_a_sweep_is_what_each_training_is(corpus, tmp_path):
    found = sweep(str(corpus.path), tmp_path / "all", seed=[1, 2], **OPTIONS)
    assert list(found) == ["seed=1", "seed=2"]
    for seed, path in zip((1, 2), found.values(), strict=True):
        ps.train(corpus, seed=seed, **OPTIONS).save(tmp_path / str(seed))
        assert same(ps.load(path), ps.load(tmp_path / str(seed)))
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["seed=1", "seed=2"]
    times = {path: path.stat().st_mtime_ns for path in found.values()}
    assert sweep(str(corpus.path), tmp_path / "all", seed=[1, 2], **OPTIONS) == found
    assert times == {path: path.stat().st_mtime_ns for path in found.values()}
    with pytest.raises(ps.UnknownChoiceError, match="unknown option of ms-word2dm 'speed'"):
        sweep(str(corpus.path), tmp_path / "none", seed=[1, 2], speed=3)
    with pytest.raises(ps.CorpusError, match="no such file"):
        sweep(str(tmp_path / "missing.txt"), tmp_path / "none", seed=[1, 2], **OPTIONS)
    assert not (tmp_path / "none").exists()
