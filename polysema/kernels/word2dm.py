"""Word2DM (paper, section 3.1.2): SGNS in which a word is the matrix A = B Bᵀ, and words compare by tr(A_t A_c).

    J = log σ(tr(A_t A_c)) + Σₖ log σ(−tr(A_t A_k))

With g = 1 − σ(y) for the context and g = −σ(z) for noise,  ∂J/∂B_t = 2 (Σ g B_c B_cᵀ) B_t  and  ∂J/∂B_c = 2g A_t B_c.
A_t is kept, so that tr(A_t A_c) = ⟨B_c, A_t B_c⟩ costs one product, which is also the context's gradient.

A factor B (n, m) is kept as m rows of n numbers, as are the senses of multi-sense Word2DM. A target moves once for its
window; the context side moves at the end of the round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from polysema.kernels.adam import apply, gradient_row
from polysema.kernels.barrier import meet
from polysema.kernels.rounds import SAMPLED, owner, prepare, share, surprise
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import add, combine, dot, scaled


def work_size(n: int, m: int) -> int:
    """How many numbers a thread computes in: A_t and Σ g B_c B_cᵀ, each n rows of n, and a copy of B_t."""
    return 2 * n * n + m * n


@njit(nogil=True, cache=True)
def _sample(
    context: Any, c: Any, n: Any, m: Any, work: Any, total: Any, positive: Any, rate: Any, table: Any, used: Any,
    place: Any,
) -> Any:  # fmt: skip
    """Add g B_c B_cᵀ to the total, put rate · ∂J/∂B_c into ``used[place :]``; returns tr(A_t A_c)."""
    zero, one = np.uint64(0), np.uint64(1)
    none, whole = np.float32(0.0), np.float32(1.0)
    for s in range(m):
        combine(whole, context, c + s * n, one, n, work, zero, n, none, used, place + s * n)
    score = dot(context, c, used, place, n * m)
    g = (whole if positive else none) - sigmoid(score, table)
    for i in range(n):
        combine(g, context, c + i, n, m, context, c, n, whole, work, total + i * n)
    scaled(np.float32(2.0) * rate * g, used, place, used, place, n * m)
    return score


@njit(nogil=True, cache=True)
def learn(thread: Any, own: Any, text: Any, buffers: Any, model: Any, adam: Any, rate: Any) -> None:
    """Learn from a thread's targets, each from all words of its window."""
    ids, hashes, lows, highs, slots = buffers.ids, buffers.hashes, buffers.lows, buffers.highs, buffers.slots
    noise, used = buffers.noise, buffers.used
    mine, work, loss = buffers.mine[thread], buffers.work[thread], buffers.loss[thread]
    target, context = model.target, model.context
    one, zero = np.uint64(1), np.uint64(0)
    none, whole = np.float32(0.0), np.float32(1.0)
    n, m, negatives, table = np.uint64(model.n), np.uint64(model.m), np.uint64(text.negatives), text.table
    width = n * m
    total = n * n
    copy = total + total
    for i in range(own):
        t = mine[i]
        b = np.uint64(ids[t]) * width
        for j in range(n):
            combine(whole, target, b + j, n, m, target, b, n, none, work, j * n)
        for j in range(total, copy):
            work[j] = none
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            place = slot * (negatives + one) * width
            score = _sample(context, np.uint64(ids[q]) * width, n, m, work, total, True, rate, table, used, place)
            for k in range(slot * negatives, (slot + one) * negatives):
                place += width
                _sample(context, np.uint64(noise[k]) * width, n, m, work, total, False, rate, table, used, place)
            slot += one
            if (hashes[t] & SAMPLED) == zero:
                loss[0] += surprise(score)
                loss[1] += 1.0
        scaled(whole, target, b, work, copy, width)
        if adam.on:
            to = gradient_row(
                ids[t], thread, width, adam.places, adam.touched[thread], adam.gradients[thread], adam.counts
            )
            for s in range(m):
                combine(
                    np.float32(2.0), work, copy + s * n, one, n, work, total, n, whole, adam.gradients[thread],
                    to + s * n,
                )  # fmt: skip
        else:
            for s in range(m):
                combine(np.float32(2.0) * rate, work, copy + s * n, one, n, work, total, n, whole, target, b + s * n)


@njit(nogil=True, cache=True)
def spread(
    thread: Any, threads: Any, first: Any, last: Any, text: Any, buffers: Any, model: Any, adam: Any, shared: Any
) -> None:
    """Move the context factors that belong to a thread (``shared``: any), or with Adam add to their gradients."""
    ids, lows, highs, slots = buffers.ids, buffers.lows, buffers.highs, buffers.slots
    noise, used = buffers.noise, buffers.used
    one = np.uint64(1)
    width, negatives = np.uint64(model.n * model.m), np.uint64(text.negatives)
    me, all_of_us = np.uint64(thread), np.uint64(threads)
    alone = shared or threads == 1
    for t in range(first, last):
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            place = slot * (negatives + one) * width
            for k in range(negatives + one):
                row = ids[q] if k == 0 else noise[slot * negatives + k - one]
                if alone or owner(row, all_of_us) == me:
                    if adam.on:
                        to = gradient_row(
                            row, thread, width, adam.places, adam.touched[thread], adam.gradients[thread], adam.counts
                        )
                        add(used, place, adam.gradients[thread], to, width)
                    else:
                        add(used, place, model.context, np.uint64(row) * width, width)
                place += width
            slot += one


@njit(nogil=True, cache=True)
def train_rounds(
    thread: Any, threads: Any, meeting: Any, text: Any, buffers: Any, rounds: Any, rates: Any, key: Any, model: Any,
    target_adam: Any, context_adam: Any, step: Any, shared: Any,
) -> None:  # fmt: skip
    """One thread's part in a number of rounds; see :func:`polysema.kernels.ms_word2dm.train_rounds`."""
    sentences, lazy = text.sentences, target_adam.on
    width = np.uint64(model.n * model.m)
    for r in range(rates.size):
        first, last = rounds[r], rounds[r + 1]
        own = prepare(thread, threads, meeting, text, buffers, first, last, key, True, shared)
        learn(thread, own, text, buffers, model, target_adam, np.float32(1.0) if lazy else rates[r])
        if not shared:
            meet(meeting, threads)
        for i in range(threads):
            if shared and i != thread:
                continue
            start = np.uint64(sentences[share(first, last, i, threads)] - sentences[first])
            stop = start + np.uint64(buffers.counts[i])
            spread(thread, threads, start, stop, text, buffers, model, context_adam, shared)
        if lazy:
            apply(thread, target_adam, model.target, width, rates[r], step + r + 1)
            apply(thread, context_adam, model.context, width, rates[r], step + r + 1)
        if not shared:
            meet(meeting, threads)
