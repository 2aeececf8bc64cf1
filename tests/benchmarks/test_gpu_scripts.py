"""The scripts that measure training on a GPU, without one: CuPy is stood in for, kernels run on the processor."""

import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from polysema.training import cuda
from tests.training.stand_in import KERNELS, StandIn


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def cupy(compiled, monkeypatch):
    """Stands in for CuPy, with what the benchmarks ask of it beyond what the engine does."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler to run the GPU's kernels on the processor with")
    stand_in = StandIn(compiled, compiler)
    stand_in.__version__, stand_in.__spec__ = "stand-in", None
    device = stand_in.cuda.Device
    stand_in.cuda.Device = lambda: SimpleNamespace(**vars(device()), synchronize=KERNELS.synchronize)
    stand_in.cuda.runtime.getDeviceProperties = lambda number: {"name": b"stand-in"}
    stand_in.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    monkeypatch.setattr(cuda, "_cupy", lambda: stand_in)
    monkeypatch.setattr(cuda, "_BLOCK", 64)
    monkeypatch.setattr(cuda, "_LAUNCHES", 1)
    return stand_in


def test_check(script, cupy):
    rows = [line for line in script("gpu", "check", "--toy").splitlines() if "dm" in line]
    assert len(rows) == 1
    assert all(np.isfinite(float(loss)) for row in rows for loss in row.split("|")[4:7])


def test_speed_and_growth(script, cupy):
    printed = script("gpu", "speed", "growth", "--toy")
    assert "word2dm 17×17" in printed
    assert "| n = 17 |" in printed


def test_stream(script, cupy, monkeypatch):
    for name, value in {"_SEGMENT": 1_000, "_ROUND": 500, "_PINNED": 1 << 14, "_SPARE": 0}.items():
        monkeypatch.setattr(cuda, name, value)
    printed = script("gpu", "stream", "--toy")
    assert "| resident |" in printed
    assert "| streamed" in printed
