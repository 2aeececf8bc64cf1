"""How kernels are compiled: into machine code that is kept on disk, free of the interpreter's lock.

Kernels call each other across files, and what is called is compiled into the caller. Numba looks at the caller's file
only when it asks whether the code on disk is still right; here it is given a digest of all files of this room instead.

Numba optimises every function that another calls, and makes machine code of it that nobody runs, before it does the
same with the caller. Here such functions are only linked into their callers: one pass over the whole, a third less
time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit, typeof, types
from numba.core.cgutils import unpack_tuple
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic


def sources_digest(folder: Path = Path(__file__).parent) -> str:
    """Of the names and the contents of all source files of the kernels."""
    found = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


_STAMP = sources_digest()


class _Linked(JITCodeLibrary):
    """The code of a function that only other kernels call. It becomes machine code as a part of them."""

    def finalize(self) -> None:
        """Bring in what it calls, and leave it as it is."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def get_pointer_to_function(self, name: str) -> int:
        """Nowhere: it has no machine code of its own."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What sets the environment of a function that runs: it has none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set."""


class _Inner(Compiler):
    """Compiles functions that only other kernels call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, _Linked(target.codegen(), "kernel"), *rest)


def _plain(arguments: Any) -> tuple[Any, ...]:
    """The types of arguments without the values of constants: Numba would compile a function for each constant."""
    return tuple(types.unliteral(kind) for kind in arguments)


def compiled(**options: Any) -> Callable[[Any], Any]:
    """A decorator: compile a function when it is first called, and keep the code on disk."""
    jit: Any = njit  # its types do not know all of its options
    called_by_python = jit(nogil=True, cache=True, no_cfunc_wrapper=True, **options)
    called_by_kernels = jit(
        nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=_Inner, **options
    )

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


def piece(function: Any) -> Any:
    """A decorator: compile a kernel apart from those that call it, by its address (:func:`call`).

    So that two processes compile at the same time, and several kernels share the code. It returns a uint64.
    """
    jit: Any = njit
    dispatcher = jit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(function)
    dispatcher._cache._cache_file._source_stamp = _STAMP
    return dispatcher


def address(function: Any, *arguments: Any) -> int:
    """Where the machine code of a piece is, for arguments of these types; it is compiled if there is none."""
    kinds = tuple(typeof(argument) for argument in arguments)
    function.compile(kinds)
    code = function.overloads[kinds]
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


@intrinsic
def call(typing: Any, place: Any, arguments: Any) -> Any:
    """Call the piece at an address. The types of the arguments must be those that it was compiled for."""
    kinds = tuple(types.unliteral(kind) for kind in arguments.types)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention = context.call_conv
        shape = convention.get_function_type(types.uint64, kinds)
        function = builder.inttoptr(values[0], shape.as_pointer())
        _, result = convention.call_function(builder, function, types.uint64, kinds, unpack_tuple(builder, values[1]))
        return result

    return types.uint64(types.int64, types.Tuple(kinds)), generate


def copied(function: Any, name: str, **names: Any) -> FunctionType:
    """The same function under another name, in which some global names mean something else.

    Machine code is kept by name, and a function that is handed to another is not kept at all: so a kernel that differs
    from others by a function it calls is a copy of its own.
    """
    other = FunctionType(function.__code__, {**function.__globals__, **names}, name)
    other.__qualname__, other.__doc__, other.__module__ = name, function.__doc__, function.__module__
    return other
