"""Steps of replicas: the rows that one has moved, and the steps of all added to the state they started from."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysema.kernels.compiled import kernel
from polysema.kernels.rounds import LONGEST


@kernel()
def find_steps(before: Any, after: Any, rows: Any, steps: Any) -> Any:
    """Write the rows that differ, by how much, and put them back; returns how many. Before and after (V, n)."""
    found = 0
    for row in range(before.shape[0]):
        moved = False
        for i in range(before.shape[1]):
            if after[row, i] != before[row, i]:
                moved = True
        if moved:
            rows[found] = row
            for i in range(before.shape[1]):
                steps[found, i] = after[row, i] - before[row, i]
                after[row, i] = before[row, i]
            found += 1
    return found


@kernel()
def add_steps(state: Any, rows: Any, steps: Any, starts: Any, ends: Any, weights: Any, work: Any) -> None:
    """state_v += max(w_v, 1/c_v) Σ_r δ_rv over the c_v replicas r that moved row v, in their order; bounded.

    Args:
        state: (V, n).
        rows: (k,) the rows that each replica moved, rising; one replica after the other.
        steps: (k, n) by how much.
        starts, ends: (R,) where each replica's begin and end; starts are written to.
        weights: (V,) between 0, for the mean of those that moved a row, and 1, for their sum.
        work: (n,).
    """
    for row in range(state.shape[0]):
        count = 0
        work[:] = 0
        for r in range(starts.size):
            at = starts[r]
            if at < ends[r] and rows[at] == row:
                count += 1
                for i in range(work.size):
                    work[i] += steps[at, i]
                starts[r] = at + 1
        if count == 0:
            continue
        weight = max(weights[row], np.float32(1) / np.float32(count))
        square = np.float32(0)
        for i in range(work.size):
            state[row, i] += weight * work[i]
            square += state[row, i] * state[row, i]
        if square > np.float32(LONGEST**2):
            scale = np.float32(LONGEST) / np.sqrt(square)
            for i in range(work.size):
                state[row, i] *= scale
