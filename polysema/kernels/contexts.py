"""The vectors of contexts: sums over windows."""

from __future__ import annotations

from typing import Any

from polysema.kernels.compiled import compiled


@compiled()
def context_sums(
    tokens: Any, starts: Any, ends: Any, positions: Any, rows: Any, vectors: Any, window: Any, out: Any
) -> Any:
    """Σ of the vectors of the words around each position, itself left out.

    Args:
        tokens: the corpus.
        starts, ends: (k,) the sentence that each position stands in.
        positions: (k,).
        rows: (types,) each word's row among the vectors; negative for words that have none.
        vectors: (W, n).
        window: how many words to each side.
        out: (k, n).
    """
    for i in range(len(positions)):
        out[i] = 0.0
        at = positions[i]
        for p in range(max(starts[i], at - window), min(ends[i], at + window + 1)):
            row = rows[tokens[p]]
            if p != at and row >= 0:
                out[i] += vectors[row]


@compiled()
def weighted_context_sums(
    tokens: Any, starts: Any, ends: Any, positions: Any, rows: Any, vectors: Any, weights: Any, out: Any
) -> Any:
    """Σ of the vectors of the words around each position, each times the weight of its distance.

    Args as in :func:`context_sums`, but for:
        weights: (2W,), at the distances −W … −1, 1 … W.
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
