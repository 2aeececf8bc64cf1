"""Steps of replicas: the rows that one has moved, the sum of several, and that added to the state they started from."""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled
from polysema.kernels.rounds import LONGEST


@compiled()
def find_steps(before, after, rows, steps):
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


@compiled()
def sum_steps(rows, steps, counts, starts, ends, to, sums, moved):
    """Sum the steps of each row over several lists of rows, in their order; returns how many rows there are.

    Args:
        rows: (k,) of each list, rising; one list after the other.
        steps, counts: (k, n) and (k,) by how much they moved, and by how many replicas.
        starts, ends: where each list begins and ends; starts are written to.
        to, sums, moved: get the rows of all lists, rising, the sums and the counts.
    """
    found = 0
    while True:
        row = -1
        for part in range(starts.size):
            if starts[part] < ends[part] and (row < 0 or rows[starts[part]] < row):
                row = rows[starts[part]]
        if row < 0:
            return found
        to[found], moved[found] = row, 0
        sums[found] = 0
        for part in range(starts.size):
            at = starts[part]
            if at < ends[part] and rows[at] == row:
                moved[found] += counts[at]
                for i in range(steps.shape[1]):
                    sums[found, i] += steps[at, i]
                starts[part] = at + 1
        found += 1


@compiled()
def add_steps(state, rows, steps, counts, weights):
    """state_v += max(w_v, 1/c_v) Σ_r δ_rv, where c_v replicas r moved row v; bounded.

    Args:
        state: (V, n).
        rows, steps, counts: (k,), (k, n), (k,) the rows that moved, the sums Σ_r δ_rv, and c_v.
        weights: (V,) between 0, for the mean of those that moved a row, and 1, for their sum.
    """
    for at in range(rows.size):
        row = rows[at]
        weight = max(weights[row], np.float32(1) / np.float32(counts[at]))
        square = np.float32(0)
        for i in range(steps.shape[1]):
            state[row, i] += weight * steps[at, i]
            square += state[row, i] * state[row, i]
        if square > np.float32(LONGEST**2):
            scale = np.float32(LONGEST) / np.sqrt(square)
            for i in range(steps.shape[1]):
                state[row, i] *= scale
