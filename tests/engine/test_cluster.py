"""Everything on a real Ray cluster of two nodes: what workers do, what they are told, and who dies on the way.

All of it is in one file, so that one process of the tests starts one cluster.
"""

import errno
import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import polysema as ps
from polysema.corpus.build import build_corpus
from polysema.engine import Local, RayEngine
from polysema.errors import InputError, OutputError
from polysema.evaluation.datasets import EvaluationSet
from polysema.reproduction.reproduce import Plan, reproduce
from polysema.reproduction.variants import Preset
from tests.engine import work
from tests.engine.work import BLOCK, REPLICAS, files_of, same
from tests.refusals import refused


def test_order_and_progress(engine):
    said = []
    found = list(engine.map(work.square, engine.put(7), range(9), progress=said.append))
    assert found == [(7, n * n) for n in range(9)]
    assert "M words/s; 0 waiting" in engine.status()
    assert {at.stage for at in said} <= {"tasks"}


def test_a_tree_of_workers_has_the_shape_of_one_process(engine):
    for tasks in (3, 23):
        here = Local().merged(work.letter, Local().put("x"), range(tasks), work.bracket)
        assert engine.merged(work.letter, engine.put("x"), range(tasks), work.bracket) == here


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [("input", InputError, "^a value is wrong$"), ("fault", ZeroDivisionError, "a fault")],
)
def test_errors_come_back(engine, what, error, message):
    """Also when other tasks are just being done: Ray ends the driver when such a task is cancelled."""
    for _ in range(20):
        refused(error, message, lambda: list(engine.map(work.fail, engine.put(what), [1, 2, 3])))


def test_a_node_that_is_killed(nodes, engine, tmp_path):
    flag = tmp_path / "flag"

    def kill():
        nodes.kill()
        flag.touch()

    timer = threading.Timer(1.5, kill)
    timer.start()
    assert list(engine.map(work.slowly, engine.put(flag), range(4))) == [0, 1, 2, 3]
    timer.join()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_is_full_or_read_only(engine, number):
    """On one node: another does it. On all: one line that names the node."""
    bad = engine.nodes[0]["id"]
    assert list(engine.map(work.disk, engine.put((bad, number)), range(3))) == [0, 1, 2]
    refused(OutputError, r"^node .*/[0-9a-f]{6}: ", lambda: list(engine.map(work.disk, engine.put(("", number)), [1])))


def test_what_nodes_see(engine, tmp_path):
    (tmp_path / "text").write_text("words")
    engine.see([tmp_path / "text", tmp_path, "s3://bucket/text"])
    shared = engine._ask
    engine._ask = lambda work, paths: [("far", dict.fromkeys(paths))]
    refused(InputError, f"^node far cannot see {tmp_path / 'text'}: put it where", engine.see, [tmp_path / "text"])
    engine._ask = shared


def test_a_cluster_makes_the_same_corpus(sources, tmp_path, nodes):
    """For 1, 2 and 4 workers, from URLs too, and when a node dies on the way."""
    here = build_corpus(sources, tmp_path / "here")
    for workers in (1, 2, 4):
        there = build_corpus(sources, tmp_path / str(workers), engine=RayEngine(nodes.address, workers))
        assert files_of(there) == files_of(here)
    many = [sources / "a.txt"] * 20
    here_too = build_corpus(many, tmp_path / "here too", block=BLOCK)
    engine = RayEngine(nodes.address)
    killer = threading.Timer(0.2, nodes.kill)
    killer.start()
    killed = build_corpus(many, tmp_path / "killed", engine=engine, block=BLOCK)
    killer.join()
    assert files_of(killed) == files_of(here_too)
    there = build_corpus(f"file://{sources}", tmp_path / "urls", engine=RayEngine(nodes.address))
    assert there.digest == here.digest


def test_a_cluster_learns_the_same(corpus, alone, nodes):
    """With 1, 2 and 4 workers, and when a node dies."""
    for workers in (1, 2, 4):
        assert same(ps.train(corpus, engine=RayEngine(nodes.address, workers), **REPLICAS), alone)
    engine = RayEngine(nodes.address)
    killer = threading.Timer(0.2, nodes.kill)
    killer.start()
    assert same(ps.train(corpus, engine=engine, **REPLICAS), alone)
    killer.join()


DRIVER = """
import sys, polysema as ps
from tests.engine.work import REPLICAS
options = {**REPLICAS, "epochs": 30, "checkpoint_minutes": 0.0}
ps.train(sys.argv[1], engine="ray", address=sys.argv[2], state=sys.argv[3], **options).save(sys.argv[4])
"""


@pytest.fixture(scope="module")
def long(corpus):
    """What the driver would have learnt."""
    return ps.train(corpus, **{**REPLICAS, "epochs": 30})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_killed(corpus, long, nodes, tmp_path, number):
    """The same command goes on from the checkpoint, to the same bits; Ctrl-C leaves one, too."""
    arguments = [str(corpus.path), nodes.address, str(tmp_path / "state"), str(tmp_path / "out")]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], stderr=subprocess.DEVNULL)
    while not (tmp_path / "state" / "state.safetensors").is_file():
        assert driver.poll() is None
        time.sleep(0.05)
    driver.send_signal(number)
    driver.wait()
    assert not (tmp_path / "out").exists()
    begun = []
    resumed = ps.train(corpus, state=tmp_path / "state", progress=begun.append, **{**REPLICAS, "epochs": 30})
    assert begun[0].done > 0
    assert same(resumed, long)


def test_an_encoder_reads_the_same_anywhere(nodes, encoder_folder, encoder_corpus):
    """Moments, factors and senses of BERT2DM, for any number of workers and when a node dies; clustered, too."""
    import torch

    text, options = encoder_corpus, {"encoder": str(encoder_folder), "dim": 4, "min_count": 1, "batch_size": 2}
    torch.set_num_threads(1)
    again = {**options, "store": "again", "reduction": "pca"}
    here = ps.train(text, "bert2dm", **again)
    for workers in (1, 2):
        there = ps.train(text, "bert2dm", engine=RayEngine(nodes.address, workers), **again)
        assert np.array_equal(here.array, there.array)
        assert np.array_equal(here.parts.clusters.vectors, there.parts.clusters.vectors)
    here = ps.train(text, "bert2dm", **options, cluster=True)
    engine = RayEngine(nodes.address)
    killer = threading.Timer(0.2, nodes.kill)
    killer.start()
    killed = ps.train(text, "bert2dm", engine=engine, **options, cluster=True)
    killer.join()
    assert np.array_equal(here.array, killed.array)


def test_contexts_are_clustered_the_same(corpus, engine):
    """Context2DM, word by word."""
    pytest.importorskip("sklearn", reason="the extra cluster is not installed")
    words = corpus.vocabulary.words
    vectors = ps.VectorLexicon(words, np.random.default_rng(1).standard_normal((len(words), 5)).astype(np.float32))
    options = {"vectors": vectors, "min_count": 1, "occurrences": 20, "threads": 1}
    here, there = (ps.train(corpus, "context2dm", engine=who, **options) for who in ("local", engine))
    assert np.array_equal(here.array, there.array)
    assert here.vocabulary.words == there.vocabulary.words


def test_a_reproduction_has_the_same_rows(nodes, tmp_path):
    """Trainings and evaluation; the trainings of one seed are the same numbers."""
    words = ["run", "move", "see", "dog", "cat", "house", "river", "old", "new", "bank"]
    rng = np.random.default_rng(0)
    (tmp_path / "text.txt").write_text("".join(" ".join(rng.choice(words, 8)) + ".\n" for _ in range(400)))
    pairs = [(a, b) for a in words[:4] for b in words[4:]]
    sets = {"MEN": EvaluationSet.of_words("MEN", pairs, np.arange(float(len(pairs))))}
    options = {"word2vec": {"dim": 6, "epochs": 1}, "ms-word2dm": {"dim": 4, "epochs": 1}}
    preset = Preset("tiny", "", None, 2, True, options, bootstraps=20, noise_draws=2)
    plan = Plan(tmp_path / "text.txt", tmp_path / "here", preset, sets, only=("Word2Vec", "MS-Word2DM cos 5"))
    said = []
    results = []
    for where in (plan, replace(plan, folder=tmp_path / "there", engine="ray", address=nodes.address)):
        page = reproduce(where, said.append)
        results.append(json.loads(page.with_suffix(".json").read_text())["evaluation"]["results"])
    assert results[0] == results[1]
    assert any(line.startswith("training 3 models on 2 workers") for line in said)
