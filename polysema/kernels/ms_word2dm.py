"""Multi-sense Word2DM, and with one sense skip-gram word2vec.

Of target word t the senses are b₁ … b_m, of any word w the context vector is v_w. A sample is a context c and K noise
words; its objective, with b the sense nearest to c, is (paper, eq. 5)

    J = log σ(bᵀc) + Σₖ log σ(−bᵀvₖ)

so that ∂J/∂b = (1 − σ(bᵀc)) c − Σₖ σ(bᵀvₖ) vₖ,  ∂J/∂c = (1 − σ(bᵀc)) b,  ∂J/∂vₖ = −σ(bᵀvₖ) b. In the window form,
c is the sum of the window's context vectors and each of them gets ∂J/∂c; in the pair form there is a sample for every
word of the window.

Training goes in rounds of whole sentences. In a round, each target's sense moves at once (``learn``), and the context
vectors, which stay as they were, move when all targets have been learnt from (``spread``). A word's senses, and its
context vector, belong to one thread; whatever the number of threads, each row is changed in the order of the text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from polysema.kernels.barrier import meet
from polysema.kernels.bits import prefetch
from polysema.kernels.sampling import GOLDEN, gather, mixed, noise_word, sigmoid
from polysema.kernels.simd import add, axpy, dot, scaled

_LINE = np.uint64(16)  # floats in a cache line
_SAMPLED = np.uint64(63)  # one target in 64 is asked for its loss


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
        used: (slots · n,), the sense as it was when the sample was taken.
        steps: (slots · (K + 1),), the learning rate times 1 − σ(bᵀc), then times −σ(bᵀvₖ).
        sums: (threads · n,), a window's sum.
        counts: (threads,), how many targets each thread gathered.
        loss: (threads, 2), the loss of a sample of samples, and their number.
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
    sums: Any
    counts: Any
    loss: Any


@njit(nogil=True, cache=True, forceinline=True)
def owner(row: Any, threads: Any) -> Any:
    """Which thread a row belongs to."""
    return (((np.uint64(row) * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) * threads) >> np.uint64(32)


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


@njit(nogil=True, cache=True, forceinline=True)
def _fetch(
    t: Any, ids: Any, slots: Any, noise: Any, target: Any, width: Any, context: Any, n: Any, negatives: Any
) -> None:
    """Ask for what learning from a target needs: its senses, and the noise words of its first sample."""
    one = np.uint64(1)
    at = np.uint64(ids[t]) * width
    end = at + width
    while at < end:
        prefetch(target, at)
        at += _LINE
    slot = slots[t] * negatives
    for k in range(slot, slot + negatives):
        at = np.uint64(noise[k]) * n
        prefetch(context, at)
        prefetch(context, at + n - one)


@njit(nogil=True, cache=True, forceinline=True)
def _learn(
    target: Any, base: Any, n: Any, m: Any, cosine: Any, source: Any, at: Any, context: Any, noise: Any, slot: Any,
    negatives: Any, rate: Any, table: Any, used: Any, steps: Any,
) -> Any:  # fmt: skip
    """Move the target's sense nearest to the context ``source[at : at + n]``; returns bᵀc before the move."""
    one = np.uint64(1)
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
    place = slot * n
    step = slot * (negatives + one)
    scaled(np.float32(1.0), target, b, used, place, n)
    up = rate * (np.float32(1.0) - sigmoid(score, table))
    steps[step] = up
    axpy(up, source, at, target, b, n)
    for k in range(negatives):
        v = np.uint64(noise[slot * negatives + k]) * n
        down = -rate * sigmoid(dot(used, place, context, v, n), table)
        steps[step + one + k] = down
        axpy(down, context, v, target, b, n)
    return score


@njit(nogil=True, cache=True, forceinline=True)
def _surprise(score: Any) -> Any:
    """−log σ(score)."""
    x = np.float64(score)
    return np.log1p(np.exp(-abs(x))) + max(-x, 0.0)


@njit(nogil=True, cache=True)
def learn_windows(
    mine: Any, own: Any, ids: Any, hashes: Any, lows: Any, highs: Any, slots: Any, noise: Any, used: Any, steps: Any,
    sums: Any, target: Any, context: Any, table: Any, n: Any, m: Any, negatives: Any, cosine: Any, rate: Any,
    loss: Any,
) -> None:  # fmt: skip
    """Learn from targets, each from the sum of its window."""
    one, zero = np.uint64(1), np.uint64(0)
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
        score = _learn(
            target, np.uint64(ids[t]) * width, n, m, cosine, sums, zero, context, noise, slots[t], negatives, rate,
            table, used, steps,
        )  # fmt: skip
        if (hashes[t] & _SAMPLED) == zero:
            loss[0] += _surprise(score)
            loss[1] += 1.0


@njit(nogil=True, cache=True)
def learn_pairs(
    mine: Any, own: Any, ids: Any, hashes: Any, lows: Any, highs: Any, slots: Any, noise: Any, used: Any, steps: Any,
    target: Any, context: Any, table: Any, n: Any, m: Any, negatives: Any, cosine: Any, rate: Any, loss: Any,
) -> None:  # fmt: skip
    """Learn from targets, each from every word of its window in turn."""
    one, zero = np.uint64(1), np.uint64(0)
    width = n * m
    for i in range(own):
        t = mine[i]
        if i + one < own:
            _fetch(mine[i + one], ids, slots, noise, target, width, context, n, negatives)
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            for k in range((slot + one) * negatives, (slot + one + one) * negatives):
                prefetch(context, np.uint64(noise[k]) * n)
                prefetch(context, np.uint64(noise[k]) * n + n - one)
            score = _learn(
                target, np.uint64(ids[t]) * width, n, m, cosine, context, np.uint64(ids[q]) * n, context, noise, slot,
                negatives, rate, table, used, steps,
            )  # fmt: skip
            slot += one
            if (hashes[t] & _SAMPLED) == zero:
                loss[0] += _surprise(score)
                loss[1] += 1.0


@njit(nogil=True, cache=True)
def spread_windows(
    first: Any, last: Any, ids: Any, lows: Any, highs: Any, slots: Any, noise: Any, used: Any, steps: Any,
    context: Any, n: Any, negatives: Any, thread: Any, threads: Any,
) -> None:  # fmt: skip
    """Move the context vectors that belong to a thread by what each target's window calls for."""
    one = np.uint64(1)
    alone = threads == one
    for t in range(first, last):
        slot = slots[t]
        if t + one < last:
            after = slots[t + one] * negatives
            for k in range(after, after + negatives):
                prefetch(context, np.uint64(noise[k]) * n)
                prefetch(context, np.uint64(noise[k]) * n + n - one)
        place, step = slot * n, slot * (negatives + one)
        for q in range(lows[t], highs[t]):
            if q != t and (alone or owner(ids[q], threads) == thread):
                axpy(steps[step], used, place, context, np.uint64(ids[q]) * n, n)
        for k in range(negatives):
            row = noise[slot * negatives + k]
            if alone or owner(row, threads) == thread:
                axpy(steps[step + one + k], used, place, context, np.uint64(row) * n, n)


@njit(nogil=True, cache=True)
def spread_pairs(
    first: Any, last: Any, ids: Any, lows: Any, highs: Any, slots: Any, noise: Any, used: Any, steps: Any,
    context: Any, n: Any, negatives: Any, thread: Any, threads: Any,
) -> None:  # fmt: skip
    """The same for pairs."""
    one = np.uint64(1)
    alone = threads == one
    for t in range(first, last):
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            for k in range((slot + one) * negatives, (slot + one + one) * negatives):
                prefetch(context, np.uint64(noise[k]) * n)
                prefetch(context, np.uint64(noise[k]) * n + n - one)
            place, step = slot * n, slot * (negatives + one)
            if alone or owner(ids[q], threads) == thread:
                axpy(steps[step], used, place, context, np.uint64(ids[q]) * n, n)
            for k in range(negatives):
                row = noise[slot * negatives + k]
                if alone or owner(row, threads) == thread:
                    axpy(steps[step + one + k], used, place, context, np.uint64(row) * n, n)
            slot += one


@njit(nogil=True, cache=True)
def train_rounds(
    thread: Any, threads: Any, meeting: Any, text: Any, buffers: Any, rounds: Any, rates: Any, key: Any, target: Any,
    context: Any, n: Any, m: Any, cosine: Any, pairs: Any, shared: Any,
) -> None:  # fmt: skip
    """One thread's part in a number of rounds.

    Args:
        thread, threads: which of how many.
        meeting: where they wait for each other.
        rounds: (r + 1,) int64, the first sentence of each round, and the end of the last.
        rates: (r,) float32, the learning rate of each.
        key: of the run and the epoch.
        target: (V · m · n,) float32, senses. context: (V · n,) float32. n is a multiple of four.
        cosine: choose senses by cosine rather than by inner product.
        pairs: the pair form.
        shared: hogwild: every thread changes what it likes without waiting for the others.
    """
    sentences = text.sentences
    ids, hashes, lows, highs, slots = buffers.ids, buffers.hashes, buffers.lows, buffers.highs, buffers.slots
    noise, used, steps, counts = buffers.noise, buffers.used, buffers.steps, buffers.counts
    mine, sums, loss = buffers.mine[thread], buffers.sums[thread], buffers.loss[thread]
    one, zero = np.uint64(1), np.uint64(0)
    n, m, negatives = np.uint64(n), np.uint64(m), np.uint64(text.negatives)
    me, all_of_us = np.uint64(thread), np.uint64(threads)
    most = np.uint64(2 * text.window) if pairs else one
    for r in range(rates.size):
        first, last = rounds[r], rounds[r + 1]
        begin = first + (last - first) * thread // threads
        end = first + (last - first) * (thread + 1) // threads
        at = np.uint64(sentences[begin] - sentences[first])
        stop = np.uint64(
            gather(
                text.tokens, sentences, begin, end, text.rows, text.keep, key, text.window, text.held_out, at, ids,
                hashes, lows, highs,
            )
        )  # fmt: skip
        counts[thread] = stop - at
        draw(hashes, lows, highs, slots, noise, at, stop, pairs, negatives, at * most, text.alias)
        if not shared:
            meet(meeting, threads)
        own = zero
        for i in range(threads):
            start = np.uint64(sentences[first + (last - first) * i // threads] - sentences[first])
            own = choose_mine(ids, start, start + np.uint64(counts[i]), me, all_of_us, mine, own)
        if pairs:
            learn_pairs(
                mine, own, ids, hashes, lows, highs, slots, noise, used, steps, target, context, text.table, n, m,
                negatives, cosine, rates[r], loss,
            )  # fmt: skip
        else:
            learn_windows(
                mine, own, ids, hashes, lows, highs, slots, noise, used, steps, sums, target, context, text.table, n,
                m, negatives, cosine, rates[r], loss,
            )  # fmt: skip
        meet(meeting, threads)
        for i in range(threads):
            start = np.uint64(sentences[first + (last - first) * i // threads] - sentences[first])
            stop = start + np.uint64(counts[i])
            if pairs:
                spread_pairs(
                    start, stop, ids, lows, highs, slots, noise, used, steps, context, n, negatives, me, all_of_us
                )
            else:
                spread_windows(
                    start, stop, ids, lows, highs, slots, noise, used, steps, context, n, negatives, me, all_of_us
                )
        meet(meeting, threads)
