"""Sorting words by count and spelling."""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled, kernel


@compiled()
def sort_words(order, counts, arena, offsets):
    """Sort words by count, the largest first, and words of equal count by their bytes.

    Args:
        order: (k,) uint32, words: sorted in place.
        counts: (V,) of all words.
        arena, offsets: the bytes of all words, and where each starts.
    """
    keys = np.empty(order.size, np.uint64)
    for i in range(order.size):
        keys[i] = ~np.uint64(counts[order[i]])
    _quicksort(keys, order, arena, offsets, False)
    start = 0
    while start < order.size:
        stop = start + 1
        while stop < order.size and keys[stop] == keys[start]:
            stop += 1
        for i in range(start, stop):
            keys[i] = _first_bytes(arena, offsets, order[i])
        _quicksort(keys[start:stop], order[start:stop], arena, offsets, True)
        start = stop


@kernel()
def _first_bytes(arena, offsets, word):
    """The first eight bytes of a word as a number that sorts as they do."""
    key = np.uint64(0)
    start = offsets[word]
    length = offsets[word + 1] - start
    for i in range(8):
        key <<= np.uint64(8)
        if i < length:
            key |= np.uint64(arena[start + i])
    return key


@kernel()
def _compare(word, other, arena, offsets, spelled):
    """Below, at or above zero as a word sorts before, with or after another with the same first eight bytes."""
    if not spelled:
        return 0
    a, b = offsets[word], offsets[other]
    a_length, b_length = offsets[word + 1] - a, offsets[other + 1] - b
    for i in range(8, min(a_length, b_length)):
        if arena[a + i] != arena[b + i]:
            return np.int64(arena[a + i]) - np.int64(arena[b + i])
    return a_length - b_length


@kernel()
def _quicksort(keys, words, arena, offsets, spelled):
    """Sort words by key and, if ``spelled``, by their bytes from the ninth on where keys are equal."""
    stack = np.empty((64, 2), np.int64)  # the larger part waits, so that 64 are enough
    stack[0, 0], stack[0, 1] = 0, keys.size - 1
    waiting = 1
    random = np.uint64(1)
    while waiting:
        waiting -= 1
        low, high = stack[waiting, 0], stack[waiting, 1]
        while high - low > 16:
            random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            middle = low + np.int64((random >> np.uint64(33)) % np.uint64(high - low))  # whatever order they come in
            key, word = keys[middle], words[middle]
            less, i, more = low, low, high  # before less: smaller; from less to i: equal; after more: larger
            while i <= more:
                if keys[i] == key:
                    sign = _compare(words[i], word, arena, offsets, spelled)
                else:
                    sign = -1 if keys[i] < key else 1
                if sign < 0:
                    keys[i], keys[less] = keys[less], keys[i]
                    words[i], words[less] = words[less], words[i]
                    less += 1
                    i += 1
                elif sign > 0:
                    keys[i], keys[more] = keys[more], keys[i]
                    words[i], words[more] = words[more], words[i]
                    more -= 1
                else:
                    i += 1
            if less - low < high - more:
                stack[waiting, 0], stack[waiting, 1] = more + 1, high
                high = less - 1
            else:
                stack[waiting, 0], stack[waiting, 1] = low, less - 1
                low = more + 1
            waiting += 1
        for i in range(low + 1, high + 1):
            key, word = keys[i], words[i]
            j = i
            while j > low and (
                key < keys[j - 1] or (key == keys[j - 1] and _compare(word, words[j - 1], arena, offsets, spelled) < 0)
            ):
                keys[j], words[j] = keys[j - 1], words[j - 1]
                j -= 1
            keys[j], words[j] = key, word
