"""GloVe: the pairs of a text with their distance, and the walk over their counts (Pennington et al. 2014)."""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled
from polysema.kernels.simd import dot


@compiled()
def weighed_pairs(ids, lows, count, bits, units, pairs):
    """Every word with every word before it in its window, one number a pair: smaller row, larger row, distance.

    A row takes so many ``bits`` of the number, the distance ``units``.
    """
    o = 0
    for t in range(count):
        for q in range(lows[t], t):
            a, b = np.uint64(ids[t]), np.uint64(ids[q])
            pairs[o] = (((min(a, b) << np.uint64(bits)) | max(a, b)) << np.uint64(units)) | np.uint64(t - q)
            o += 1


@compiled()
def merge_runs(pairs, weights, others, other_weights, found, found_weights):
    """Two sorted runs as one, in which a pair of both weighs their sum; returns its length."""
    one = np.uint64(1)
    i, j, o = np.uint64(0), np.uint64(0), np.uint64(0)
    while i < pairs.size and j < others.size:
        a, b = pairs[i], others[j]
        before, after = a <= b, b <= a
        found[o] = a if before else b
        found_weights[o] = (weights[i] if before else np.uint64(0)) + (other_weights[j] if after else np.uint64(0))
        i += one if before else np.uint64(0)
        j += one if after else np.uint64(0)
        o += one
    while i < pairs.size:
        found[o], found_weights[o] = pairs[i], weights[i]
        i, o = i + one, o + one
    while j < others.size:
        found[o], found_weights[o] = others[j], other_weights[j]
        j, o = j + one, o + one
    return np.int64(o)


@compiled(error_model="numpy")
def train_counts(
    order, first, last, pairs, counts, bits, target, context, squares, context_squares, n, rate, most, power
):
    """AdaGrad steps on J = −½ f(x) (wᵀc + b + b̃ − log x)² for some counts, each in both directions.

    Counts are taken in an ``order``. Target and context (V · (n + 4),) have each row w and then its bias; squares are
    sums of squared gradients, likewise. Returns the sum of −J before the steps, and how many there were.
    """
    width = n + np.uint64(4)
    low = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    loss = 0.0
    taken = 0
    for i in range(first, last):
        x = counts[order[i]]
        weight = min(np.float32(1.0), np.float32((x / most) ** power))
        aim = np.float32(np.log(x))
        for way in range(2):
            a, b = pairs[order[i]] >> np.uint64(bits), pairs[order[i]] & low
            if way == 1:
                if a == b:
                    break
                a, b = b, a
            w, c = a * width, b * width
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
