"""Where threads wait for each other and share out work, inside compiled code."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from polysema.kernels.compiled import kernel
from polysema.kernels.simd import element

YIELD = {"nt": "SwitchToThread"}.get(os.name, "sched_yield")
"""The function of the system that offers the core to other threads."""

_SPINS = 2000  # about a microsecond or two: then the core is offered to others


@intrinsic
def _add(typing: Any, array: Any, index: Any, amount: Any) -> Any:
    """Atomic array[index] += amount; returns the old value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = element(context, builder, signature, arguments, 0)
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def _yield(typing: Any) -> Any:
    """Offer the core to other threads."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = builder.module.globals.get(YIELD)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(ir.IntType(32), []), YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


def new_meeting(threads: int) -> NDArray[np.int64]:
    """Counters for :func:`meet` and :func:`take`: arrived threads, meetings, taken pieces; no two in a cache line."""
    return np.zeros(16 * (2 + 2 * threads), np.int64)


@kernel()
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


@kernel()
def take(meeting: Any, phase: Any, thread: Any, threads: Any, pieces: Any) -> Any:
    """The next free piece of work, the thread's own first, then those of other threads; −1 when none is left.

    Args:
        phase: 0 or 1; see ``put_back``.
    """
    for i in range(threads):
        whose = (thread + i) % threads
        first, last = pieces * whose // threads, pieces * (whose + 1) // threads
        piece = first + _add(meeting, 16 * (2 + 2 * whose + phase), 1)
        if piece < last:
            return piece
    return -1


@kernel()
def put_back(meeting: Any, phase: Any, thread: Any) -> None:
    """Make a thread's pieces of a phase free again; after all threads ended the phase, before any begins it again."""
    meeting[16 * (2 + 2 * thread + phase)] = 0
