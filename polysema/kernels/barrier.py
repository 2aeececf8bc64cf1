"""Where threads wait for each other inside compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import create_struct_proxy, get_or_insert_function
from numba.extending import intrinsic
from numpy.typing import NDArray

_SPINS = 2000  # about a microsecond or two: then the core is offered to others


@intrinsic
def _add(typing: Any, array: Any, index: Any, amount: Any) -> Any:
    """array[index] += amount as one step that no thread can come between; returns the old value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = create_struct_proxy(signature.args[0])(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def _yield(typing: Any) -> Any:
    """Offer the core to other threads (sched_yield of the C library)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


def new_meeting() -> NDArray[np.int64]:
    """What :func:`meet` needs: the number of threads that have come, and of meetings held; far apart in memory."""
    return np.zeros(32, np.int64)


@njit(nogil=True, cache=True)
def meet(meeting: Any, threads: Any) -> None:
    """Return when all threads have called this."""
    if threads == 1:
        return
    held = _add(meeting, 16, 0)
    if _add(meeting, 0, 1) == threads - 1:
        _add(meeting, 0, -threads)
        _add(meeting, 16, 1)
        return
    spins = 0
    while _add(meeting, 16, 0) == held:
        spins += 1
        if spins > _SPINS:
            _yield()
