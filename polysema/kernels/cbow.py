"""CBOW word2vec: the mean h of the window's vectors predicts the target.

    J = log σ(u_tᵀh) + Σₖ log σ(−u_kᵀh)

With g = 1 − σ(u_tᵀh) for the target and g = −σ(u_kᵀh) for noise, ∂J/∂u = g h and, with e = Σ g u the gradient of h,
each of the c vectors of the window gets e / c. Both sides move at the end of the round. The vectors of the
window, ``model.target``, are the result; those of predicted words are ``model.context``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from polysema.kernels.adam import apply, gradient_row
from polysema.kernels.barrier import meet
from polysema.kernels.rounds import SAMPLED, owner, prepare, share, surprise
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import add, axpy, dot, scaled


@njit(nogil=True, cache=True)
def learn(thread: Any, own: Any, text: Any, buffers: Any, model: Any, rate: Any) -> None:
    """For each of a thread's targets, h and rate · e / c go into ``used``, the steps of u into ``steps``."""
    ids, hashes, lows, highs, slots = buffers.ids, buffers.hashes, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps = buffers.noise, buffers.used, buffers.steps
    mine, sums, loss = buffers.mine[thread], buffers.work[thread], buffers.loss[thread]
    inputs, outputs = model.target, model.context
    one, zero = np.uint64(1), np.uint64(0)
    n, negatives, table = np.uint64(model.n), np.uint64(text.negatives), text.table
    for i in range(own):
        t = mine[i]
        slot = slots[t]
        for j in range(n):
            sums[j] = np.float32(0.0)
        for q in range(lows[t], highs[t]):
            if q != t:
                add(inputs, np.uint64(ids[q]) * n, sums, zero, n)
        part = np.float32(1.0) / np.float32(highs[t] - lows[t] - one)
        h = slot * (n + n)
        e = h + n
        step = slot * (negatives + one)
        scaled(part, sums, zero, used, h, n)
        u = np.uint64(ids[t]) * n
        score = dot(used, h, outputs, u, n)
        steps[step] = rate * (np.float32(1.0) - sigmoid(score, table))
        scaled(part * steps[step], outputs, u, used, e, n)
        for k in range(negatives):
            u = np.uint64(noise[slot * negatives + k]) * n
            down = -rate * sigmoid(dot(used, h, outputs, u, n), table)
            steps[step + one + k] = down
            axpy(part * down, outputs, u, used, e, n)
        if (hashes[t] & SAMPLED) == zero:
            loss[0] += surprise(score)
            loss[1] += 1.0


@njit(nogil=True, cache=True, forceinline=True)
def _move(thread: Any, row: Any, scale: Any, used: Any, at: Any, n: Any, values: Any, adam: Any) -> None:
    """Add scale · used[at : at + n] to a row, or with Adam to its gradient."""
    if adam.on:
        to = gradient_row(row, thread, n, adam.places, adam.touched[thread], adam.gradients[thread], adam.counts)
        axpy(scale, used, at, adam.gradients[thread], to, n)
    else:
        axpy(scale, used, at, values, np.uint64(row) * n, n)


@njit(nogil=True, cache=True)
def spread(
    thread: Any, threads: Any, first: Any, last: Any, text: Any, buffers: Any, model: Any, target_adam: Any,
    context_adam: Any, shared: Any,
) -> None:  # fmt: skip
    """Move the rows of both sides that belong to a thread (``shared``: any), or with Adam add to their gradients."""
    ids, lows, highs, slots = buffers.ids, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps = buffers.noise, buffers.used, buffers.steps
    inputs, outputs = model.target, model.context
    one = np.uint64(1)
    n, negatives = np.uint64(model.n), np.uint64(text.negatives)
    me, all_of_us = np.uint64(thread), np.uint64(threads)
    alone = shared or threads == 1
    for t in range(first, last):
        slot = slots[t]
        h = slot * (n + n)
        for q in range(lows[t], highs[t]):
            if q != t and (alone or owner(ids[q], all_of_us) == me):
                _move(thread, ids[q], np.float32(1.0), used, h + n, n, inputs, target_adam)
        step = slot * (negatives + one)
        for k in range(negatives + one):
            row = ids[t] if k == 0 else noise[slot * negatives + k - one]
            if alone or owner(row, all_of_us) == me:
                _move(thread, row, steps[step + k], used, h, n, outputs, context_adam)


@njit(nogil=True, cache=True)
def train_rounds(
    thread: Any, threads: Any, meeting: Any, text: Any, buffers: Any, rounds: Any, rates: Any, key: Any, model: Any,
    target_adam: Any, context_adam: Any, step: Any, shared: Any,
) -> None:  # fmt: skip
    """One thread's part in a number of rounds; see :func:`polysema.kernels.ms_word2dm.train_rounds`."""
    sentences, lazy = text.sentences, target_adam.on
    n = np.uint64(model.n)
    for r in range(rates.size):
        first, last = rounds[r], rounds[r + 1]
        own = prepare(thread, threads, meeting, text, buffers, first, last, key, False, shared)
        learn(thread, own, text, buffers, model, np.float32(1.0) if lazy else rates[r])
        if not shared:
            meet(meeting, threads)
        for i in range(threads):
            if shared and i != thread:
                continue
            start = np.uint64(sentences[share(first, last, i, threads)] - sentences[first])
            stop = start + np.uint64(buffers.counts[i])
            spread(thread, threads, start, stop, text, buffers, model, target_adam, context_adam, shared)
        if lazy:
            apply(thread, target_adam, model.target, n, rates[r], step + r + 1)
            apply(thread, context_adam, model.context, n, rates[r], step + r + 1)
        if not shared:
            meet(meeting, threads)
