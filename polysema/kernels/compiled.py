"""How kernels are compiled: by Numba, when they are first called, free of the interpreter's lock.

What Python calls is ``compiled``, and its machine code is kept on disk. What only kernels call is a ``kernel``: it
becomes a part of its callers, which takes a third less time than to make something of it that Python could call.

Numba compiles anew when the file of a function has changed, but not when that of a function it calls has. So code is
kept under a name with a digest of all kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def sources_digest(folder: Path = Path(__file__).parent) -> str:
    """A digest of the names and contents of all source files of the kernels."""
    found = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:12]


_STAMP = sources_digest()


def compiled(**options: Any) -> Callable[[Any], Any]:
    """A decorator: compile a function when it is first called, and keep the code on disk."""
    jit: Any = njit  # its types do not know all of its options

    def decorated(function: Any) -> Any:
        function.__qualname__ += f"_{_STAMP}"  # a part of the name of its file
        return jit(nogil=True, cache=True, no_cfunc_wrapper=True, **options)(function)

    return decorated


def kernel(**options: Any) -> Callable[[Any], Any]:
    """A decorator: compile a function that only compiled functions call. Python cannot."""
    jit: Any = njit
    decorated: Callable[[Any], Any] = jit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    return decorated


def is_kept(function: Any) -> bool:
    """Whether machine code of a compiled function, as it is now, is on disk."""
    kept = function.stats.cache_path
    return kept is not None and any(Path(kept).glob(f"*.{function.__qualname__}-*.nbi"))
