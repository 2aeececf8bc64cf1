"""Kernels compiled ahead: by a process of its own, while the text is read.

The first training on a machine compiles its kernels, which takes seconds. Numba compiles one function at a time in a
process, so two processes take half as long: the second one (:mod:`polysema.compiling`) compiles the kernel
that learns, the first one reads the text and compiles the pieces that all models share. Machine code is kept on disk:
the second process writes it there and ends. Where that cannot be, kernels are compiled when they are first called.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polysema.compiling import begun, started
from polysema.kernels.compiled import is_kept
from polysema.options import Options
from polysema.training import options as known
from polysema.training.cpu import CpuEngine, kernel_of
from polysema.training.state import new_state
from polysema.training.text import TrainingText
from polysema.vocabulary import Vocabulary


@contextmanager
def compiled_ahead(options: Options, device: str) -> Iterator[Callable[[], Any]]:
    """While this lasts, kernels are compiled that are not on disk yet; gives a function that waits for them."""
    child = begun() or _needed(options, device)
    if child is None:
        yield lambda: None
        return
    try:
        yield child.wait
    finally:
        child.kill()
        child.wait()


def _needed(options: Options, device: str) -> subprocess.Popen[bytes] | None:
    """The process that compiles; None where there is nothing to compile."""
    if not isinstance(options, known.NegativeSamplingOptions) or device != "cpu":
        return None
    if is_kept(kernel_of(options).train_rounds):
        return None
    chosen = {name: getattr(options, name) for name in ("form", "optimiser") if hasattr(options, name)}
    return started(options.model, chosen)


def compile_kernel(model: str, chosen: dict[str, Any]) -> None:
    """Compile the kernel that learns: an engine does, before it trains. The text is two words."""
    models = (known.MSWord2DMOptions, known.Word2DMOptions, known.Word2VecOptions)
    corpus: Any = _TwoWords()
    options = {each.model: each for each in models}[model](**chosen, subsample=0, held_out=0).settled(corpus)
    text = TrainingText(corpus, Vocabulary(corpus.words(), corpus.counts), options)
    CpuEngine(text, new_state(options, 2), 1, ready=None).close()


class _TwoWords:
    """A text of one sentence, as a corpus in memory; read-only, as a corpus on disk is."""

    path = Path()
    counts = np.ones(2, np.int64)
    tokens = np.frombuffer(np.array([0, 1], "<i4").tobytes(), "<i4")
    sentences = np.frombuffer(np.array([0, 2], "<i8").tobytes(), "<i8")

    def words(self) -> list[str]:
        return ["a", "b"]

    def __len__(self) -> int:
        return 1
