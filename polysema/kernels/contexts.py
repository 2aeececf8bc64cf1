"""Where words occur: sums of the vectors around positions, and a fair sample of each word's occurrences.

The sample are those occurrences whose positions have the smallest hashes. It depends on the seed and the corpus alone:
not on threads, nor on the order in which the corpus is read.
"""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled
from polysema.kernels.sampling import GOLDEN, mixed


@compiled()
def weighted_context_sums(tokens, starts, ends, positions, rows, vectors, weights, out):
    """Σ of the vectors of the words around each position, itself left out, each times the weight of its distance.

    Args:
        starts, ends: (k,) the sentence that each of the ``positions`` (k,) stands in.
        rows: (types,) each word's row among the vectors; negative for words that have none.
        weights: (2W,), at the distances −W … −1, 1 … W.
        out: (k, n).
    """
    window = len(weights) // 2
    for i in range(len(positions)):
        out[i] = 0.0
        at = positions[i]
        for p in range(max(starts[i], at - window), min(ends[i], at + window + 1)):
            row = rows[tokens[p]]
            if p != at and row >= 0:
                place = p - at + window if p < at else p - at + window - 1
                for k in range(vectors.shape[1]):
                    out[i, k] += weights[place] * vectors[row, k]


@compiled()
def sample_occurrences(tokens, firsts, lasts, rows, key, starts, filled, hashes, positions):
    """Add the tokens of some stretches of the corpus to the samples of their words.

    Each word's sample is a heap with the largest hash on top, which a smaller one replaces once the heap is full.

    Args:
        firsts, lasts: where each stretch starts and ends.
        rows: (types,) each word's row; negative for words that are not sampled.
        starts, filled: where each word's room begins in ``hashes`` and ``positions``, and how much of it is taken.
    """
    for stretch in range(len(firsts)):
        for p in range(firsts[stretch], lasts[stretch]):
            row = rows[tokens[p]]
            if row < 0:
                continue
            base, room = starts[row], starts[row + 1] - starts[row]
            h = mixed(key + np.uint64(p) * GOLDEN)
            if filled[row] < room:
                at = filled[row]
                filled[row] += 1
                while at > 0:
                    up = (at - 1) // 2
                    if hashes[base + up] >= h:
                        break
                    hashes[base + at], positions[base + at] = hashes[base + up], positions[base + up]
                    at = up
                hashes[base + at], positions[base + at] = h, p
            elif h < hashes[base]:
                at = 0
                while True:
                    down = 2 * at + 1
                    if down >= room:
                        break
                    if down + 1 < room and hashes[base + down + 1] > hashes[base + down]:
                        down += 1
                    if hashes[base + down] <= h:
                        break
                    hashes[base + at], positions[base + at] = hashes[base + down], positions[base + down]
                    at = down
                hashes[base + at], positions[base + at] = h, p
