"""Training in rounds of whole sentences, by threads that own rows.

In a round, first every thread gathers the targets of its share of the sentences and draws their noise words. Then each
target is learnt from by the thread that owns its word; what belongs to other words (the context side) stays as it was.
When all targets have been learnt from, each thread moves the context rows that it owns. So each row is changed by one
thread, in the order of the text: the result is the same to the bit whatever the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from polysema.kernels.barrier import meet
from polysema.kernels.sampling import GOLDEN, gather, mixed, noise_word

SAMPLED = np.uint64(63)
"""One target in 64 is asked for its loss."""


class Text(NamedTuple):
    """What is trained on; see :func:`polysema.kernels.sampling.gather`."""

    tokens: Any
    sentences: Any
    rows: Any
    keep: Any
    alias: Any
    table: Any
    window: int
    negatives: int
    held_out: int


class Buffers(NamedTuple):
    """Room for one round. A place is a token of the round; a slot is a sample.

    Attributes:
        ids, hashes, lows, highs: (places,), of each target; see ``gather``.
        mine: (threads, places), the places of each thread's own targets.
        slots: (places,), each target's first slot.
        noise: (slots · K,), the noise words' rows.
        used: what the context side will be moved by, one row a slot: the sense as it was when the sample was taken.
        steps: (slots · (K + 1),), the learning rate times 1 − σ(positive score), then times −σ(noise score).
        work: (threads, …), room to compute in.
        counts: (threads,), how many targets each thread gathered.
        loss: (threads, 2), the loss of a sample of samples, and their number.
        moves: (threads, …) uint64, what the context side will be moved by, of each thread's share of the text; see
            ``assign``.
        starts: (threads, threads + 1), where in that the moves of each thread's rows start.
    """

    ids: Any
    hashes: Any
    lows: Any
    highs: Any
    mine: Any
    slots: Any
    noise: Any
    used: Any
    steps: Any
    work: Any
    counts: Any
    loss: Any
    moves: Any
    starts: Any


@njit(nogil=True, cache=True, forceinline=True)
def owner(row: Any, threads: Any) -> Any:
    """Which thread a row belongs to."""
    return (((np.uint64(row) * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) * threads) >> np.uint64(32)


@njit(nogil=True, cache=True, forceinline=True)
def share(first: Any, last: Any, thread: Any, threads: Any) -> Any:
    """The first sentence of a thread's share of the sentences of a round."""
    return first + (last - first) * thread // threads


@njit(nogil=True, cache=True)
def draw(
    hashes: Any, lows: Any, highs: Any, slots: Any, noise: Any, first: Any, last: Any, pairs: Any, negatives: Any,
    slot: Any, alias: Any,
) -> None:  # fmt: skip
    """Give every target its slots, and every slot its noise words."""
    one = np.uint64(1)
    for t in range(first, last):
        slots[t] = slot
        samples = highs[t] - lows[t] - one if pairs else one
        z = hashes[t]
        for i in range(slot * negatives, (slot + samples) * negatives):
            z += GOLDEN
            noise[i] = np.uint32(noise_word(mixed(z), alias))
        slot += samples


@njit(nogil=True, cache=True)
def choose_mine(ids: Any, first: Any, last: Any, thread: Any, threads: Any, mine: Any, own: Any) -> Any:
    """Add the places whose words belong to a thread to its list; returns the length of the list."""
    for t in range(first, last):
        if owner(ids[t], threads) == thread:
            mine[own] = t
            own += np.uint64(1)
    return own


@njit(nogil=True, cache=True)
def prepare(
    thread: Any, threads: Any, meeting: Any, text: Any, buffers: Any, first: Any, last: Any, key: Any, pairs: Any,
    shared: Any,
) -> Any:  # fmt: skip
    """Gather a thread's share of a round, wait for the others, list the targets that are the thread's to learn from.

    Args:
        first, last: the sentences of the round.
        pairs: whether a target has a sample for every word of its window, or one.
        shared: hogwild: learn from what one gathered, without waiting.

    Returns:
        the length of the list ``buffers.mine[thread]``.
    """
    sentences, slots, negatives = text.sentences, buffers.slots, np.uint64(text.negatives)
    ids, hashes, lows, highs = buffers.ids, buffers.hashes, buffers.lows, buffers.highs
    mine = buffers.mine[thread]
    most = np.uint64(2 * text.window) if pairs else np.uint64(1)
    begin, end = share(first, last, thread, threads), share(first, last, thread + 1, threads)
    at = np.uint64(sentences[begin] - sentences[first])
    stop = np.uint64(
        gather(
            text.tokens, sentences, begin, end, text.rows, text.keep, key, text.window, text.held_out, at, ids, hashes,
            lows, highs,
        )
    )  # fmt: skip
    buffers.counts[thread] = stop - at
    draw(hashes, lows, highs, slots, buffers.noise, at, stop, pairs, negatives, at * most, text.alias)
    if shared:
        return choose_mine(ids, at, stop, np.uint64(0), np.uint64(1), mine, np.uint64(0))
    meet(meeting, threads)
    own = np.uint64(0)
    for i in range(threads):
        start = np.uint64(sentences[share(first, last, i, threads)] - sentences[first])
        own = choose_mine(
            ids, start, start + np.uint64(buffers.counts[i]), np.uint64(thread), np.uint64(threads), mine, own
        )
    return own


@njit(nogil=True, cache=True, forceinline=True)
def surprise(score: Any) -> Any:
    """−log σ(score)."""
    x = np.float64(score)
    return np.log1p(np.exp(-abs(x))) + max(-x, 0.0)


@njit(nogil=True, cache=True)
def assign(thread: Any, threads: Any, first: Any, last: Any, buffers: Any, pairs: Any, negatives: Any) -> None:
    """Sort the moves that a thread's share of the targets calls for by who owns the row, each in the order of the text.

    A move is a row, a slot, and which of the slot's steps: 32, 26 and 6 bits.
    """
    ids, lows, highs, slots, noise = buffers.ids, buffers.lows, buffers.highs, buffers.slots, buffers.noise
    moves, starts = buffers.moves[thread], buffers.starts[thread]
    one, zero = np.uint64(1), np.uint64(0)
    all_of_us = np.uint64(threads)
    starts[:] = 0
    for filling in range(2):  # first they are counted
        for t in range(first, last):
            slot = slots[t]
            for q in range(lows[t], highs[t]):
                if q == t:
                    continue
                _assign(filling, ids[q], slot, zero, moves, starts, all_of_us)
                if pairs:
                    for k in range(negatives):
                        _assign(filling, noise[slot * negatives + k], slot, k + one, moves, starts, all_of_us)
                    slot += one
            if not pairs:
                for k in range(negatives):
                    _assign(filling, noise[slot * negatives + k], slot, k + one, moves, starts, all_of_us)
        if filling == 0:
            for o in range(threads, 0, -1):
                starts[o] = starts[o - 1]
            starts[0] = 0
            for o in range(1, threads + 1):
                starts[o] += starts[o - 1]
    for o in range(threads, 0, -1):  # filling has moved each start to the next one's place
        starts[o] = starts[o - 1]
    starts[0] = 0


@njit(nogil=True, cache=True, forceinline=True)
def _assign(filling: Any, row: Any, slot: Any, which: Any, moves: Any, starts: Any, threads: Any) -> None:
    o = owner(row, threads)
    if filling:
        moves[starts[o]] = (np.uint64(row) << np.uint64(32)) | (slot << np.uint64(6)) | which
    starts[o] += np.uint64(1)
