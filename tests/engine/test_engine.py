"""Tasks over workers: order, what is kept, what fails, what is refused."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import threading
from collections import namedtuple

import pytest

from polysema.engine.engine import engine_named
from polysema.errors import InputError, OutputError, UnknownChoiceError
from tests.engine import work


def test_local():
    with engine_named() as engine:
        assert list(engine.map(work.square, engine.put(7), range(3))) == [(7, 0), (7, 1), (7, 4)]
        engine.see(["nowhere"])
        assert engine.status() == ""
    with engine_named(engine) as same:
        assert same is engine
    with pytest.raises(UnknownChoiceError, match="unknown engine 'dask': choose local or ray"), engine_named("dask"):
        pass
    with pytest.raises(InputError, match="choose the engine ray"), engine_named("local", "10.0.0.1:6379"):
        pass


def test_ray_is_not_imported_without_it():
    code = "import sys, polysema.corpus.build, polysema.training.models; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_order_and_progress(engine):
    said = []
    found = list(engine.map(work.square, engine.put(7), range(9), progress=said.append))
    assert found == [(7, n * n) for n in range(9)]
    assert engine.status().count(":") >= 1
    assert all(at.total == 9000 for at in said)


def test_a_worker_keeps_what_is_shared(engine):
    found = list(engine.map(work.process_and_made, engine.put(work.Slow()), range(8)))
    assert len(set(found)) == len({process for process, _ in found})


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [("input", InputError, "^a value is wrong$"), ("fault", ZeroDivisionError, "a fault")],
)
def test_errors_come_back(engine, what, error, message):
    with pytest.raises(error, match=message):
        list(engine.map(work.fail, engine.put(what), [1]))


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
    with pytest.raises(OutputError, match=r"^node .*/[0-9a-f]{6}: "):
        list(engine.map(work.disk, engine.put(("", number)), [1]))


def test_what_nodes_see(engine, tmp_path):
    (tmp_path / "text").write_text("words")
    engine.see([tmp_path / "text", tmp_path, "s3://bucket/text"])
    shared = engine._ask
    engine._ask = lambda work, paths: [("far", dict.fromkeys(paths))]
    with pytest.raises(InputError, match=f"^node far cannot see {tmp_path / 'text'}: put it where"):
        engine.see([tmp_path / "text"])
    engine._ask = shared


def test_addresses(monkeypatch):
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InputError, match=r"^nothing answers at 127.0.0.1:1 "), engine_named("ray", "127.0.0.1:1"):
        pass
    with pytest.raises(InputError, match="is no address of a Ray cluster"), engine_named("ray", "ray://host"):
        pass


def test_a_small_shared_memory(monkeypatch):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    from polysema.engine import ray

    usage = namedtuple("usage", "total used free")(64 << 20, 0, 64 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InputError, match=r"^/dev/shm has 67 MB free and .* 84 MB: start the container with --shm-size"):
        ray._store()


def test_no_statistics_are_sent():
    pytest.importorskip("ray", reason="the extra ray is not installed")
    from ray._common.usage import usage_lib

    from polysema.engine.ray import _ray

    _ray()
    assert not usage_lib.usage_stats_enabled()
