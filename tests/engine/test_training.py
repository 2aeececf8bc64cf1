"""Replicas: the same numbers wherever they learn."""

import numpy as np
import pytest

import polysema as ps
from polysema.engine import Local
from polysema.errors import InputError
from polysema.training.replicas import legs
from tests.engine.work import REPLICAS, same


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


def test_vectors_have_replicas(corpus):
    options = {name: value for name, value in REPLICAS.items() if name != "senses"}
    assert np.isfinite(ps.train(corpus, "word2vec", **{**options, "epochs": 1, "replicas": 2}).array).all()


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimiser": "adam"}, "replicas learn by sgd, not by adam"),
        ({"replicas": 4000}, "too little text for 4000 replicas"),
        ({"replicas": 1, "engine": "ray"}, r"choose replicas \(--replicas 4\), or start several"),
    ],
)
def test_what_replicas_refuse(corpus, options, message):
    with pytest.raises(InputError, match=message):
        ps.train(corpus, **{**REPLICAS, **options})
