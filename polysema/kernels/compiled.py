"""How kernels are compiled: into machine code that is kept on disk, free of the interpreter's lock.

Kernels call each other across files, and what is called is compiled into the caller. Numba looks at the caller's file
only when it asks whether the code on disk is still right; here it is given a digest of all files of this room instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit, types


def sources_digest(folder: Path = Path(__file__).parent) -> str:
    """Of the names and the contents of all source files of the kernels."""
    found = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


_STAMP = sources_digest()


def _plain(arguments: Any) -> tuple[Any, ...]:
    """The types of arguments without the values of constants: Numba would compile a function for each constant."""
    return tuple(types.unliteral(kind) for kind in arguments)


def compiled(**options: Any) -> Callable[[Any], Any]:
    """A decorator: compile a function when it is first called, and keep the code on disk."""
    jit: Any = njit  # its types do not know all of its options
    called_by_python = jit(nogil=True, cache=True, no_cfunc_wrapper=True, **options)
    called_by_kernels = jit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)

    def decorated(function: Any) -> Any:
        dispatcher, inner = called_by_python(function), called_by_kernels(function)
        dispatcher._cache._cache_file._source_stamp = _STAMP
        dispatcher.get_call_template = lambda arguments, names: inner.get_call_template(_plain(arguments), names)
        dispatcher.get_overload = inner.get_overload
        return dispatcher

    return decorated


def is_kept(dispatcher: Any) -> bool:
    """Whether code of a function, as it is now, is on disk."""
    return bool(dispatcher._cache._cache_file._load_index())


def kernel(**options: Any) -> Callable[[Any], Any]:
    """A decorator: compile a function that makes no arrays.

    Numba counts references to arrays by atomic additions, and some of these stay inside loops, where threads that read
    the same arrays slow each other down. These kernels only use arrays that their caller holds, so nothing needs to be
    counted.
    """
    return compiled(_nrt=False, **options)


def copied(function: Any, name: str, **names: Any) -> FunctionType:
    """The same function under another name, in which some global names mean something else.

    Machine code is kept by name, and a function that is handed to another is not kept at all: so a kernel that differs
    from others by a function it calls is a copy of its own.
    """
    other = FunctionType(function.__code__, {**function.__globals__, **names}, name)
    other.__qualname__, other.__doc__, other.__module__ = name, function.__doc__, function.__module__
    return other
