"""Trainings on a cluster: seeds and grids, replicas, encoders. The same numbers, whoever dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import polysema as ps
from polysema.engine.engine import Local
from polysema.engine.ray import RayEngine
from polysema.errors import InputError
from polysema.training.options import MSWord2DMOptions
from polysema.training.replicas import weights
from polysema.training.sweep import grid, sweep
from tests.encoders.tiny import make_corpus, make_encoder
from tests.training.planted import Planted

OPTIONS = {"dim": 5, "senses": 2, "epochs": 2, "min_count": 1, "subsample": 0.0, "threads": 1}
REPLICAS = {**OPTIONS, "epochs": 4, "replicas": 4, "merges": 10}


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


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return ps.build_corpus(Planted(sentences=1500).sentences, tmp_path_factory.mktemp("text") / "planted.corpus")


@pytest.fixture(scope="module")
def alone(corpus):
    """What one process learns with four replicas."""
    return ps.train(corpus, **REPLICAS)


def same(a, b) -> bool:
    return np.array_equal(a.array, b.array) and np.array_equal(a.contexts, b.contexts)


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


def test_a_cluster_learns_the_same(corpus, alone, nodes):
    """With 1, 2 and 4 workers, and when a node dies."""
    for workers in (1, 2, 4):
        assert same(ps.train(corpus, engine=RayEngine(nodes.address, workers), **REPLICAS), alone)
    killer = threading.Timer(0.3, nodes.kill)
    killer.start()
    assert same(ps.train(corpus, engine=RayEngine(nodes.address), **REPLICAS), alone)
    killer.join()


DRIVER = """
import sys, polysema as ps
from tests.engine.test_training import REPLICAS
options = {**REPLICAS, "epochs": 40, "checkpoint_minutes": 0.0}
print("begun", flush=True)
ps.train(sys.argv[1], engine="ray", address=sys.argv[2], state=sys.argv[3], **options).save(sys.argv[4])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_killed(corpus, nodes, tmp_path, number):
    """The same command goes on from the checkpoint, to the same bits; Ctrl-C leaves one, too."""
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    arguments = [str(corpus.path), nodes.address, str(tmp_path / "state"), str(tmp_path / "out")]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], env=environment, stderr=subprocess.DEVNULL)
    while not (tmp_path / "state" / "state.safetensors").is_file():
        assert driver.poll() is None
        time.sleep(0.05)
    driver.send_signal(number)
    driver.wait()
    assert not (tmp_path / "out").exists()
    options = {**REPLICAS, "epochs": 40}
    begun = []
    resumed = ps.train(corpus, state=tmp_path / "state", progress=begun.append, **options)
    assert begun[0].done > 0
    assert same(resumed, ps.train(corpus, **options))


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


def test_a_cluster_sweeps_the_same(corpus, nodes, tmp_path):
    """Also when a node dies."""
    options = {**OPTIONS, "epochs": 30}
    here = sweep(str(corpus.path), tmp_path / "here", seed=[1, 2, 3, 4], **options)
    killer = threading.Timer(1.0, nodes.kill)
    killer.start()
    said = []
    engine = RayEngine(nodes.address)
    there = sweep(
        str(corpus.path), tmp_path / "there", seed=[1, 2, 3, 4], engine=engine, progress=said.append, **options
    )
    killer.join()
    for name, path in here.items():
        assert same(ps.load(path), ps.load(there[name]))
    assert {at.stage for at in said} <= {"4 runs"}


# -------------------------------------------------------------------------------------------------------------- encoders


def test_an_encoder_reads_the_same_anywhere(nodes, tmp_path):
    """Moments, factors and senses of BERT2DM, for any number of workers and when a node dies; clustered, too."""
    pytest.importorskip("transformers", reason="the extra encoders is not installed")
    import torch

    text, encoder = make_corpus(tmp_path / "corpus"), str(make_encoder(tmp_path / "bert"))
    options = {"encoder": encoder, "dim": 4, "min_count": 1, "batch_size": 2}
    torch.set_num_threads(1)
    again = {**options, "store": "again", "reduction": "pca"}
    here = ps.train(text, "bert2dm", **again)
    for workers in (1, 2):
        there = ps.train(text, "bert2dm", engine=RayEngine(nodes.address, workers), **again)
        assert np.array_equal(here.array, there.array)
        assert np.array_equal(here.clusters.vectors, there.clusters.vectors)
    here = ps.train(text, "bert2dm", **options, cluster=True)
    killer = threading.Timer(0.2, nodes.kill)
    killer.start()
    killed = ps.train(text, "bert2dm", engine=RayEngine(nodes.address), **options, cluster=True)
    killer.join()
    assert np.array_equal(here.array, killed.array)
