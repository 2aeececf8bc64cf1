"""Tasks over workers: order, what is kept, what fails, what is refused."""

import shutil
from collections import namedtuple

import pytest

from polysema.engine import FAN, Local, _ray, _store, engine_named
from polysema.errors import InputError, UnknownChoiceError
from tests.engine import work
from tests.processes import python


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


@pytest.mark.parametrize("tasks", [1, FAN, FAN + 1, 23])
def test_a_tree_has_one_shape(tasks):
    """Whoever does the tasks; neighbours are merged, a few at a time."""
    owns, joints = Local().merged(work.letter, Local().put("x"), range(tasks), work.bracket)
    assert owns == list(range(tasks))
    assert len(joints) <= FAN
    assert "".join(joints).replace("(", "").replace(")", "") == "x" * tasks
    if tasks == 23:
        assert joints == ["((xxxx)(xxxx)(xxxx)(xxxx))", "((xxxx)(xxx))"]


def test_addresses(monkeypatch):
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InputError, match=r"^nothing answers at 127.0.0.1:1 "), engine_named("ray", "127.0.0.1:1"):
        pass
    with pytest.raises(InputError, match="is no address of a Ray cluster"), engine_named("ray", "ray://host"):
        pass


def test_a_small_shared_memory(monkeypatch):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    usage = namedtuple("usage", "total used free")(64 << 20, 0, 64 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InputError, match=r"^/dev/shm has 67 MB free and .* 84 MB: start the container with --shm-size"):
        _store()


def test_no_statistics_are_sent():
    pytest.importorskip("ray", reason="the extra ray is not installed")
    from ray._common.usage import usage_lib

    _ray()
    assert not usage_lib.usage_stats_enabled()


def test_ray_on_this_machine_listens_on_this_machine_only():
    pytest.importorskip("ray", reason="the extra ray is not installed")
    pytest.importorskip("psutil", reason="psutil is not installed")
    code = """
import psutil
from polysema.engine import engine_named

with engine_named("ray", workers=1):
    own = [psutil.Process(), *psutil.Process().children(recursive=True)]
    open_ = [at for one in own for at in one.net_connections("tcp") if at.status == psutil.CONN_LISTEN]
    print(*(at.laddr.ip for at in open_))
"""
    addresses = python("-c", code, check=True).stdout.split()
    assert addresses
    assert set(addresses) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
