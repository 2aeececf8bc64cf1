"""The process that compiles a kernel of training while this one does something else.

The compiler takes half a second to load, so nothing of it is loaded here: the process starts before that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polysema.machine import processors

_begun: subprocess.Popen[bytes] | None = None

_TELLING = ("--model", "--optimiser", "--preset", "--config", "--device", "--start", "--each", "--help", "-h")
"""Options of the command by which other kernels may be needed, or none."""


def begin(arguments: Sequence[str]) -> None:
    """Start to compile for ``polysema train`` with these arguments, where they show that the usual kernel is needed.

    It is only looked whether anything was ever compiled on this machine.
    """
    global _begun
    told = any(each.split("=")[0] in _TELLING for each in arguments)
    here = Path(__file__).parent / "kernels"
    kept = Path(os.environ["NUMBA_CACHE_DIR"]) if os.environ.get("NUMBA_CACHE_DIR") else here / "__pycache__"
    if not told and arguments and os.access(here, os.W_OK) and not any(kept.rglob("*.nbi")):
        _begun = started("ms-word2dm", {})


def begun() -> subprocess.Popen[bytes] | None:
    """The process that :func:`begin` started, once; None where it did not."""
    global _begun
    child, _begun = _begun, None
    return child


def started(model: str, chosen: dict[str, Any]) -> subprocess.Popen[bytes] | None:
    """A process that compiles the kernel of a model; None where there is no second core, or no process to be had."""
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
