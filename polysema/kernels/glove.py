"""GloVe: the pairs of a text, weighted by distance, and the walk over their counts (Pennington et al. 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysema.kernels.compiled import compiled
from polysema.kernels.simd import dot


@compiled()
def count_pairs(ids: Any, lows: Any, count: Any, rows: Any, columns: Any, weights: Any) -> Any:
    """Every word with every word before it in its window, weighing 1/distance; the smaller row first.

    Returns:
        how many pairs were written.
    """
    o = 0
    for t in range(count):
        for q in range(lows[t], t):
            rows[o] = min(ids[t], ids[q])
            columns[o] = max(ids[t], ids[q])
            weights[o] = np.float32(1.0) / np.float32(t - q)
            o += 1
    return o


@compiled(error_model="numpy")
def train_counts(
    order: Any, first: Any, last: Any, rows: Any, columns: Any, counts: Any, target: Any, context: Any, squares: Any,
    context_squares: Any, n: Any, rate: Any, most: Any, power: Any,
) -> Any:  # fmt: skip
    """AdaGrad steps on J = −½ f(x) (wᵀc + b + b̃ − log x)² for some counts, each in both directions.

    Args:
        order: the order to take the counts in. rows, columns, counts: the upper triangle.
        target, context: (V · (n + 4),), each row w and then its bias. squares: sums of squared gradients, likewise.

    Returns:
        the sum of −J before the steps, and how many there were.
    """
    width = n + np.uint64(4)
    loss = 0.0
    taken = 0
    for i in range(first, last):
        x = counts[order[i]]
        weight = min(np.float32(1.0), np.float32((x / most) ** power))
        aim = np.float32(np.log(x))
        for way in range(2):
            a, b = rows[order[i]], columns[order[i]]
            if way == 1:
                if a == b:
                    break
                a, b = b, a
            w, c = np.uint64(a) * width, np.uint64(b) * width
            error = dot(target, w, context, c, n) + target[w + n] + context[c + n] - aim
            pull = -weight * error
            loss += 0.5 * weight * error * error
            taken += 1
            for j in range(n):
                gw, gc = pull * context[c + j], pull * target[w + j]
                squares[w + j] += gw * gw
                context_squares[c + j] += gc * gc
                target[w + j] += rate * gw / np.sqrt(squares[w + j])
                context[c + j] += rate * gc / np.sqrt(context_squares[c + j])
            squares[w + n] += pull * pull
            context_squares[c + n] += pull * pull
            target[w + n] += rate * pull / np.sqrt(squares[w + n])
            context[c + n] += rate * pull / np.sqrt(context_squares[c + n])
    return loss, taken
