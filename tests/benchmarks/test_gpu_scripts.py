"""The scripts that measure training on a GPU, without one: CuPy is stood in for, kernels run on the processor."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from polysema.training import cuda
from tests.training.stand_in import KERNELS


@pytest.fixture
def cupy(gpu, monkeypatch):
    """Stands in for CuPy, with what the benchmarks ask of it beyond what the engine does."""
    gpu.__version__, gpu.__spec__ = "stand-in", None
    device = gpu.cuda.Device
    gpu.cuda.Device = lambda: SimpleNamespace(**vars(device()), synchronize=KERNELS.synchronize)
    gpu.cuda.runtime.getDeviceProperties = lambda number: {"name": b"stand-in"}
    gpu.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", gpu)


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
