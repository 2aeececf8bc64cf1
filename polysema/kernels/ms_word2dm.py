"""Multi-sense Word2DM, and with one sense skip-gram word2vec.

Of target word t the senses are b₁ … b_m, of any word w the context vector is v_w. A sample is a context c and K noise
words; its objective, with b the sense nearest to c, is (paper, eq. 5)

    J = log σ(bᵀc) + Σₖ log σ(−bᵀvₖ)

so that ∂J/∂b = (1 − σ(bᵀc)) c − Σₖ σ(bᵀvₖ) vₖ,  ∂J/∂c = (1 − σ(bᵀc)) b,  ∂J/∂vₖ = −σ(bᵀvₖ) b. In the window form,
c is the sum of the window's context vectors and each of them gets ∂J/∂c; in the pair form there is a sample for every
word of the window.

With plain steps, a target's sense moves at once (``learn``), and the context vectors move at the end of the round
(``spread``). With Adam, both sides move at the end of the round, by the sum of its gradients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from polysema.kernels.adam import apply, gradient_row
from polysema.kernels.barrier import meet
from polysema.kernels.bits import prefetch
from polysema.kernels.rounds import SAMPLED, assign, owner, prepare, share, surprise
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import add, axpy, dot, scaled

_LINE = np.uint64(16)  # floats in a cache line


class Model(NamedTuple):
    """What is learnt.

    Attributes:
        target: (V · m · n,) float32, senses.
        context: (V · n,) float32.
        n: the dimension, padded to a multiple of four.
        m: the number of senses.
        cosine: choose senses by cosine rather than by inner product.
        pairs: the pair form.
    """

    target: Any
    context: Any
    n: int
    m: int
    cosine: bool
    pairs: bool


@njit(nogil=True, cache=True, forceinline=True)
def _fetch(
    t: Any, ids: Any, slots: Any, noise: Any, target: Any, width: Any, context: Any, n: Any, negatives: Any
) -> None:
    """Ask for what learning from a target needs: its senses, and the noise words of its first sample."""
    at = np.uint64(ids[t]) * width
    end = at + width
    while at < end:
        prefetch(target, at)
        at += _LINE
    _fetch_noise(slots[t], noise, context, n, negatives)


@njit(nogil=True, cache=True, forceinline=True)
def _fetch_noise(slot: Any, noise: Any, context: Any, n: Any, negatives: Any) -> None:
    """Ask for the noise words of a sample."""
    for k in range(slot * negatives, (slot + np.uint64(1)) * negatives):
        at = np.uint64(noise[k]) * n
        prefetch(context, at)
        prefetch(context, at + n - np.uint64(1))


@njit(nogil=True, cache=True, forceinline=True)
def _nearest(target: Any, base: Any, n: Any, m: Any, cosine: Any, source: Any, at: Any) -> Any:
    """Where the sense nearest to ``source[at : at + n]`` is, and its inner product with it."""
    b = base
    score = np.float32(0.0)
    best = np.float32(-np.inf)
    o = base
    for _ in range(m):
        product = dot(target, o, source, at, n)
        likeness = product
        if cosine:  # the order of cosines without the roots: sign(x) x² / ‖b‖²
            likeness = product * abs(product) / (dot(target, o, target, o, n) + np.float32(1e-30))
        if likeness > best:
            best = likeness
            b = o
            score = product
        o += n
    return b, score


@njit(nogil=True, cache=True, forceinline=True)
def _learn(
    target: Any, b: Any, score: Any, moved: Any, to: Any, n: Any, source: Any, at: Any, context: Any, noise: Any,
    slot: Any, negatives: Any, rate: Any, table: Any, used: Any, steps: Any,
) -> None:  # fmt: skip
    """Add rate · ∂J/∂b to ``moved[to : to + n]``, and note the sense and the steps for the context side."""
    one = np.uint64(1)
    place = slot * n
    step = slot * (negatives + one)
    scaled(np.float32(1.0), target, b, used, place, n)
    up = rate * (np.float32(1.0) - sigmoid(score, table))
    steps[step] = up
    axpy(up, source, at, moved, to, n)
    for k in range(negatives):
        v = np.uint64(noise[slot * negatives + k]) * n
        down = -rate * sigmoid(dot(used, place, context, v, n), table)
        steps[step + one + k] = down
        axpy(down, context, v, moved, to, n)


@njit(nogil=True, cache=True)
def learn_windows(thread: Any, own: Any, text: Any, buffers: Any, model: Any, adam: Any, rate: Any) -> None:
    """Learn from a thread's targets, each from the sum of its window."""
    ids, hashes, lows, highs, slots = buffers.ids, buffers.hashes, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps = buffers.noise, buffers.used, buffers.steps
    mine, sums, loss = buffers.mine[thread], buffers.work[thread], buffers.loss[thread]
    target, context, cosine = model.target, model.context, model.cosine
    one, zero = np.uint64(1), np.uint64(0)
    n, m, negatives, table = np.uint64(model.n), np.uint64(model.m), np.uint64(text.negatives), text.table
    lazy, places, touched, gradients, counts = (
        adam.on, adam.places, adam.touched[thread], adam.gradients[thread], adam.counts,
    )  # fmt: skip
    width = n * m
    for i in range(own):
        t = mine[i]
        if i + one < own:  # what the next target needs is fetched while this one is learnt from
            _fetch(mine[i + one], ids, slots, noise, target, width, context, n, negatives)
        for j in range(n):
            sums[j] = np.float32(0.0)
        for q in range(lows[t], highs[t]):
            if q != t:
                add(context, np.uint64(ids[q]) * n, sums, zero, n)
        b, score = _nearest(target, np.uint64(ids[t]) * width, n, m, cosine, sums, zero)
        if lazy:
            to = gradient_row(b // n, thread, n, places, touched, gradients, counts)
            _learn(
                target, b, score, gradients, to, n, sums, zero, context, noise, slots[t], negatives, rate, table,
                used, steps,
            )  # fmt: skip
        else:
            _learn(
                target, b, score, target, b, n, sums, zero, context, noise, slots[t], negatives, rate, table, used,
                steps,
            )  # fmt: skip
        if (hashes[t] & SAMPLED) == zero:
            loss[0] += surprise(score)
            loss[1] += 1.0


@njit(nogil=True, cache=True)
def learn_pairs(thread: Any, own: Any, text: Any, buffers: Any, model: Any, adam: Any, rate: Any) -> None:
    """Learn from a thread's targets, each from every word of its window in turn."""
    ids, hashes, lows, highs, slots = buffers.ids, buffers.hashes, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps = buffers.noise, buffers.used, buffers.steps
    mine, loss = buffers.mine[thread], buffers.loss[thread]
    target, context, cosine = model.target, model.context, model.cosine
    one, zero = np.uint64(1), np.uint64(0)
    n, m, negatives, table = np.uint64(model.n), np.uint64(model.m), np.uint64(text.negatives), text.table
    lazy, places, touched, gradients, counts = (
        adam.on, adam.places, adam.touched[thread], adam.gradients[thread], adam.counts,
    )  # fmt: skip
    width = n * m
    for i in range(own):
        t = mine[i]
        if i + one < own:
            _fetch(mine[i + one], ids, slots, noise, target, width, context, n, negatives)
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            _fetch_noise(slot + one, noise, context, n, negatives)
            c = np.uint64(ids[q]) * n
            b, score = _nearest(target, np.uint64(ids[t]) * width, n, m, cosine, context, c)
            if lazy:
                to = gradient_row(b // n, thread, n, places, touched, gradients, counts)
                _learn(
                    target, b, score, gradients, to, n, context, c, context, noise, slot, negatives, rate, table,
                    used, steps,
                )  # fmt: skip
            else:
                _learn(
                    target, b, score, target, b, n, context, c, context, noise, slot, negatives, rate, table, used,
                    steps,
                )  # fmt: skip
            slot += one
            if (hashes[t] & SAMPLED) == zero:
                loss[0] += surprise(score)
                loss[1] += 1.0


@njit(nogil=True, cache=True)
def spread(first: Any, last: Any, text: Any, buffers: Any, model: Any) -> None:
    """Move the context vectors by what some targets call for."""
    ids, lows, highs, slots = buffers.ids, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps = buffers.noise, buffers.used, buffers.steps
    pairs, context = model.pairs, model.context
    one = np.uint64(1)
    n, negatives = np.uint64(model.n), np.uint64(text.negatives)
    for t in range(first, last):
        slot = slots[t]
        _fetch_noise(slots[t + one] if t + one < last else slot, noise, context, n, negatives)
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            axpy(steps[slot * (negatives + one)], used, slot * n, context, np.uint64(ids[q]) * n, n)
            if pairs:
                _fetch_noise(slot + one, noise, context, n, negatives)
                _spread_noise(slot, noise, used, steps, context, n, negatives)
                slot += one
        if not pairs:
            _spread_noise(slot, noise, used, steps, context, n, negatives)


@njit(nogil=True, cache=True, forceinline=True)
def _spread_noise(slot: Any, noise: Any, used: Any, steps: Any, context: Any, n: Any, negatives: Any) -> None:
    """The part of ``spread`` for the noise words of a sample."""
    one = np.uint64(1)
    for k in range(negatives):
        row = np.uint64(noise[slot * negatives + k])
        axpy(steps[slot * (negatives + one) + one + k], used, slot * n, context, row * n, n)


@njit(nogil=True, cache=True)
def spread_assigned(thread: Any, threads: Any, text: Any, buffers: Any, model: Any) -> None:
    """As ``spread``, but only the rows that belong to a thread: the moves that ``assign`` found for it."""
    used, steps, context = buffers.used, buffers.steps, model.context
    n, width = np.uint64(model.n), np.uint64(text.negatives + 1)
    ahead = np.uint64(8)
    for i in range(threads):
        moves = buffers.moves[i]
        last = buffers.starts[i, thread + 1]
        for at in range(buffers.starts[i, thread], last):
            if at + ahead < last:
                prefetch(context, (moves[at + ahead] >> np.uint64(32)) * n)
            move = moves[at]
            slot = (move & np.uint64(0xFFFFFFFF)) >> np.uint64(6)
            step = steps[slot * width + (move & np.uint64(63))]
            axpy(step, used, slot * n, context, (move >> np.uint64(32)) * n, n)


@njit(nogil=True, cache=True)
def spread_gradients(
    thread: Any, threads: Any, first: Any, last: Any, text: Any, buffers: Any, model: Any, adam: Any
) -> None:
    """As ``spread``, but add to the rows' gradients, for Adam."""
    ids, lows, highs, slots = buffers.ids, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps, pairs = buffers.noise, buffers.used, buffers.steps, model.pairs
    one = np.uint64(1)
    n, negatives = np.uint64(model.n), np.uint64(text.negatives)
    me, all_of_us = np.uint64(thread), np.uint64(threads)
    places, touched, gradients, counts = adam.places, adam.touched[thread], adam.gradients[thread], adam.counts
    for t in range(first, last):
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            if owner(ids[q], all_of_us) == me:
                to = gradient_row(ids[q], thread, n, places, touched, gradients, counts)
                axpy(steps[slot * (negatives + one)], used, slot * n, gradients, to, n)
            if pairs:
                slot += one
        samples = slot - slots[t] if pairs else one
        for i in range(slots[t] * negatives, (slots[t] + samples) * negatives):
            if owner(noise[i], all_of_us) == me:
                to = gradient_row(noise[i], thread, n, places, touched, gradients, counts)
                axpy(steps[i + i // negatives + one], used, (i // negatives) * n, gradients, to, n)


@njit(nogil=True, cache=True)
def train_rounds(
    thread: Any, threads: Any, meeting: Any, text: Any, buffers: Any, rounds: Any, rates: Any, key: Any, model: Any,
    target_adam: Any, context_adam: Any, step: Any, shared: Any,
) -> None:  # fmt: skip
    """One thread's part in a number of rounds.

    Args:
        thread, threads: which of how many.
        meeting: where they wait for each other.
        rounds: (r + 1,) int64, the first sentence of each round, and the end of the last.
        rates: (r,) float32, the learning rate of each.
        key: of the run and the epoch.
        target_adam, context_adam: Adam's state of either side.
        step: how many rounds went before, for Adam.
        shared: hogwild: every thread learns from its own sentences and changes what it likes without waiting.
    """
    sentences, lazy = text.sentences, target_adam.on
    n = np.uint64(model.n)
    for r in range(rates.size):
        first, last = rounds[r], rounds[r + 1]
        own = prepare(thread, threads, meeting, text, buffers, first, last, key, model.pairs, shared)
        if threads > 1 and not lazy and not shared:
            start = np.uint64(sentences[share(first, last, thread, threads)] - sentences[first])
            stop = start + np.uint64(buffers.counts[thread])
            assign(thread, threads, start, stop, buffers, model.pairs, np.uint64(text.negatives))
        rate = np.float32(1.0) if lazy else rates[r]
        if model.pairs:
            learn_pairs(thread, own, text, buffers, model, target_adam, rate)
        else:
            learn_windows(thread, own, text, buffers, model, target_adam, rate)
        if not shared:
            meet(meeting, threads)
        if threads > 1 and not lazy and not shared:
            spread_assigned(thread, threads, text, buffers, model)
        else:
            for i in range(threads):
                if shared and i != thread:
                    continue
                start = np.uint64(sentences[share(first, last, i, threads)] - sentences[first])
                stop = start + np.uint64(buffers.counts[i])
                if lazy:
                    spread_gradients(thread, threads, start, stop, text, buffers, model, context_adam)
                else:
                    spread(start, stop, text, buffers, model)
        if lazy:
            apply(thread, target_adam, model.target, n, rates[r], step + r + 1)
            apply(thread, context_adam, model.context, n, rates[r], step + r + 1)
        if not shared:
            meet(meeting, threads)
