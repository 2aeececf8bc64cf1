"""How the kernels of training are compiled: into machine code that is kept on disk, free of the interpreter's lock.

Numba counts who uses an array by atomic additions, and some of these stay inside loops: two threads that read the same
arrays then wait for each other's counts all the time. These kernels only use arrays that their caller holds: nothing
needs to be counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(**options: Any) -> Callable[[Any], Any]:
    """A decorator: compile a function that makes no arrays."""
    settings: dict[str, Any] = {"nogil": True, "cache": True, "_nrt": False, **options}
    decorator: Callable[[Any], Any] = njit(**settings)
    return decorator
