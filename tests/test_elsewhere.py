"""Other systems than Linux: what they lack is taken away here, and the work must go on."""

import ctypes
import mmap
import os

import numpy as np

from polysema.kernels import rounds
from polysema.training import cpu
from polysema.training.models import train

TEXT = [["the", "cat", "sat"], ["the", "dog", "sat"]] * 20
OPTIONS = {"dim": 4, "senses": 2, "min_count": 1, "epochs": 2, "subsample": 0}


def test_training_without_affinity_and_advice_to_the_kernel(monkeypatch):
    wanted = train(TEXT, **OPTIONS)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for name in ("MADV_NOHUGEPAGE", "MADV_DONTNEED"):
        monkeypatch.delattr(mmap, name, raising=False)
    assert np.array_equal(train(TEXT, **OPTIONS).factors, wanted.factors)
    cpu.forget(np.zeros(4), 0, 4)


def test_the_core_is_offered_by_a_function_of_this_system():
    library = ctypes.CDLL("kernel32" if os.name == "nt" else None)
    assert getattr(library, rounds.YIELD)() in (0, 1)
