"""Adam on the rows that a round touched (Kingma & Ba 2015; lazily, as on sparse gradients).

For a row p with gradient g, at step τ:  μ ← β₁μ + (1 − β₁)g,  ν ← β₂ν + (1 − β₂)g²,
p ← p + α · (μ / (1 − β₁^τ)) / (√(ν / (1 − β₂^τ)) + ε). Rows without a gradient keep their μ and ν.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.kernels.compiled import kernel

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Adam(NamedTuple):
    """The state of one side of a model, and room for the gradients of one round.

    Attributes:
        mean, square: (rows · n,) float32, μ and ν.
        places: (rows,) uint32, 1 + where a row's gradient is; 0 where it has none.
        touched: (threads, most) uint32, the rows that have a gradient.
        gradients: (threads, most · n) float32.
        counts: (threads,) int64, how many have one.
    """

    mean: Any
    square: Any
    places: Any
    touched: Any
    gradients: Any
    counts: Any


def new_adam(rows: int, n: int, threads: int, most: int) -> Adam:
    """The state before the first step: zeros. Pages that are never touched take no memory."""

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    return Adam(
        zeros(rows * n), zeros(rows * n), np.zeros(rows, np.uint32), np.zeros((threads, most), np.uint32),
        zeros(threads, most * n), np.zeros(threads, np.int64),
    )  # fmt: skip


@kernel()
def gradient_row(row: Any, thread: Any, n: Any, adam: Any) -> Any:
    """Where a row's gradient is; a new one starts at zero."""
    place, gradients = adam.places[row], adam.gradients[thread]
    if place == 0:
        count = adam.counts[thread]
        adam.touched[thread, count] = row
        adam.counts[thread] = count + 1
        adam.places[row] = count + 1
        at = np.uint64(count) * n
        for j in range(n):
            gradients[at + j] = np.float32(0.0)
        return at
    return np.uint64(place - np.uint32(1)) * n


@kernel(error_model="numpy")
def apply(thread: Any, adam: Any, values: Any, n: Any, rate: Any, step: Any) -> None:
    """Move a thread's touched rows, and forget their gradients."""
    mean, square, places = adam.mean, adam.square, adam.places
    touched, gradients = adam.touched[thread], adam.gradients[thread]
    alpha = np.float32(rate / (1.0 - BETA1**step))
    scale = np.float32(1.0 / (1.0 - BETA2**step))
    for i in range(np.uint64(adam.counts[thread])):
        row = np.uint64(touched[i]) * n
        at = i * n
        for j in range(n):
            g = gradients[at + j]
            m = np.float32(BETA1) * mean[row + j] + np.float32(1 - BETA1) * g
            v = np.float32(BETA2) * square[row + j] + np.float32(1 - BETA2) * g * g
            mean[row + j] = m
            square[row + j] = v
            values[row + j] += alpha * m / (np.sqrt(v * scale) + np.float32(EPSILON))
        places[touched[i]] = 0
    adam.counts[thread] = 0
