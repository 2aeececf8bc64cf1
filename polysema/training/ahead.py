"""Kernels compiled ahead: by a process of its own, while the text is read.

The first training on a machine compiles its kernels, which takes seconds. Numba compiles one function at a time in a
process, so two processes take half as long: the second one compiles the kernel that learns, the first one reads the
text and compiles the pieces that all models share. Machine code is kept on disk: the second process writes it there and
ends. Where that cannot be, kernels are compiled when they are first called.

The compiler itself takes half a second to load, so it is not loaded here: the second process starts before that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polysema.files.platform import processors

if TYPE_CHECKING:
    from polysema.files.options import Options

_begun: subprocess.Popen[bytes] | None = None
_TELLING = ("--model", "--optimiser", "--preset", "--config", "--device", "--start", "--each", "--help", "-h")
"""Options of the command by which other kernels may be needed, or none."""


def begin(arguments: Sequence[str]) -> None:
    """Start to compile for ``polysema train`` with these arguments, where they show that the default kernel is needed.

    It is only looked whether anything was ever compiled here.
    """
    global _begun
    told = any(each.split("=")[0] in _TELLING for each in arguments)
    here = Path(__file__).parents[1] / "kernels" / "__pycache__"
    kept = Path(os.environ["NUMBA_CACHE_DIR"]) if os.environ.get("NUMBA_CACHE_DIR") else here
    if not told and arguments and os.access(here.parent, os.W_OK) and not any(kept.rglob("*.nbi")):
        _begun = _started("ms-word2dm", {})


@contextmanager
def compiled_ahead(options: Options, device: str) -> Iterator[Callable[[], Any]]:
    """While this lasts, kernels are compiled that are not on disk yet; gives a function that waits for them."""
    global _begun
    child, _begun = _begun, None
    if child is None:
        child = _needed(options, device)
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
    from polysema.kernels.compiled import is_kept
    from polysema.training.cpu import kernel_of
    from polysema.training.options import NegativeSamplingOptions

    if not isinstance(options, NegativeSamplingOptions) or device != "cpu" or is_kept(kernel_of(options).train_rounds):
        return None
    chosen = {name: getattr(options, name) for name in ("form", "optimiser") if hasattr(options, name)}
    return _started(options.model, chosen)


def _started(model: str, chosen: dict[str, Any]) -> subprocess.Popen[bytes] | None:
    """A process that compiles; None where there is no second core, or no process to be had."""
    python = Path(sys.executable or "")
    if processors() < 2 or not python.name.startswith("python"):
        return None
    line = (
        f"import sys; sys.path[:] = {sys.path!r}; from polysema.training.ahead import compile_kernel; "
        f"compile_kernel({model!r}, {chosen!r})"
    )
    nowhere = subprocess.DEVNULL
    try:
        return subprocess.Popen([python, "-c", line], stdin=nowhere, stdout=nowhere, stderr=nowhere)  # noqa: S603
    except OSError:
        return None


def compile_kernel(model: str, chosen: dict[str, Any]) -> None:
    """Compile the kernel that learns: an engine does, before it trains. The text is two words."""
    from polysema.training import options as known
    from polysema.training.cpu import CpuEngine
    from polysema.training.state import new_state
    from polysema.training.text import TrainingText
    from polysema.vocabulary import Vocabulary

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
