"""Kernels compiled ahead: by a process of its own, while the text is read.

The first training on a machine compiles its kernels, which takes seconds; so does reading text for the first time.
Numba compiles one function at a time in a process, so two processes take half as long. Machine code is kept on disk:
the second process writes it there and ends. Where that cannot be, kernels are compiled when they are first called.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polysema.files.options import Options
from polysema.files.platform import processors
from polysema.kernels.compiled import is_kept
from polysema.training.cpu import CpuEngine, kernel_of
from polysema.training.options import NegativeSamplingOptions
from polysema.training.state import new_state
from polysema.training.text import TrainingText
from polysema.vocabulary import Vocabulary


@contextmanager
def compiled_ahead(options: Options, device: str) -> Iterator[Callable[[], Any]]:
    """While this lasts, kernels are compiled that are not on disk yet; gives a function that waits for them."""
    child = _started(options, device)
    if child is None:
        yield lambda: None
        return
    try:
        yield child.wait
    finally:
        child.kill()
        child.wait()


def _started(options: Options, device: str) -> subprocess.Popen[bytes] | None:
    """The process that compiles; None where there is nothing to compile, no second core, or no process to be had."""
    python = Path(sys.executable or "")
    if (
        not isinstance(options, NegativeSamplingOptions)
        or device != "cpu"
        or processors() < 2
        or not python.name.startswith("python")
        or is_kept(kernel_of(options).train_rounds)
    ):
        return None
    chosen = {name: getattr(options, name) for name in ("form", "optimiser") if hasattr(options, name)}
    line = (
        f"import sys; sys.path[:] = {sys.path!r}; from polysema.training.ahead import compile_kernels; "
        f"compile_kernels({options.model!r}, {chosen!r})"
    )
    nowhere = subprocess.DEVNULL
    try:
        return subprocess.Popen([python, "-c", line], stdin=nowhere, stdout=nowhere, stderr=nowhere)  # noqa: S603
    except OSError:
        return None


def compile_kernels(model: str, chosen: dict[str, Any]) -> None:
    """Compile what a training calls: an engine does, on its first call. The text is two words."""
    from polysema.training.models import model_named

    corpus: Any = _TwoWords()
    options: Any = model_named(model).chosen({**chosen, "subsample": 0, "held_out": 0}).settled(corpus)  # type: ignore[attr-defined]
    text = TrainingText(corpus, Vocabulary(corpus.words(), corpus.counts), options)
    CpuEngine(text, new_state(options, 2), 1).close()


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
