"""The k largest of many scores."""

from __future__ import annotations

from polysema.kernels.compiled import compiled


@compiled(fastmath={"nnan", "nsz"})
def keep_largest(scores, first, best, where):
    """Merge a block of scores into the running k best of each row, largest first; the earlier of equals wins.

    Args:
        scores: (q, w), of items ``first`` … ``first + w``.
        best: (q, k), the largest so far, falling; starts at −∞.
        where: (q, k), their items.
    """
    group = 16
    rows, columns = scores.shape
    k = best.shape[1]
    for i in range(rows):
        row = scores[i]
        least = best[i, k - 1]
        start = 0
        while start < columns:
            stop = min(start + group, columns)
            largest = row[start]
            for j in range(start + 1, stop):  # a reduction without branches, which vectorises
                largest = max(largest, row[j])
            if largest > least:
                for j in range(start, stop):
                    score = row[j]
                    if score > least:
                        place = k - 1
                        while place > 0 and best[i, place - 1] < score:
                            best[i, place] = best[i, place - 1]
                            where[i, place] = where[i, place - 1]
                            place -= 1
                        best[i, place] = score
                        where[i, place] = first + j
                        least = best[i, k - 1]
            start = stop
