"""Multi-sense Word2DM, and with one sense skip-gram word2vec.

Of target word t the senses are b₁ … b_m, of any word w the context vector is v_w. A sample is a context c and K noise
words; its objective, with b the sense nearest to c, is (paper, eq. 5)

    J = log σ(bᵀc) + Σₖ log σ(−bᵀvₖ)

so that ∂J/∂b = (1 − σ(bᵀc)) c − Σₖ σ(bᵀvₖ) vₖ,  ∂J/∂c = (1 − σ(bᵀc)) b,  ∂J/∂vₖ = −σ(bᵀvₖ) b. In the window form,
c is the sum of the window's context vectors and each of them gets ∂J/∂c; in the pair form there is a sample for every
word of the window.

Both sides move at the end of the round (:func:`polysema.kernels.rounds.move_part`), no row beyond ``LONGEST``.
"""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled, kernel
from polysema.kernels.rounds import SAMPLED, finish_round, note_move, prepare, surprise, take
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import axpy, dot, prefetch, scaled

_LINE = np.uint64(16)  # floats in a cache line


def sizes(places: int, slots: int, negatives: int, m: int, n: int) -> tuple[int, int, int, int]:
    """What ``vectors``, ``target_steps`` and ``work`` of a share hold, and ``bits``; see ``rounds.Buffers``."""
    return slots * n, slots * n, n, negatives.bit_length()


@kernel(forceinline=True)
def _fetch(t, ids, slots, noise, target, width, context, n, negatives):
    """Prefetch what learning from a target needs: its senses, and the noise words of its first sample."""
    at = np.uint64(ids[t]) * width
    end = at + width
    while at < end:
        prefetch(target, at)
        at += _LINE
    _fetch_noise(slots[t], noise, context, n, negatives)


@kernel(forceinline=True)
def _fetch_noise(slot, noise, context, n, negatives):
    """Prefetch the noise words of a sample."""
    for k in range(slot * negatives, (slot + np.uint64(1)) * negatives):
        at = np.uint64(noise[k]) * n
        prefetch(context, at)
        prefetch(context, at + n - np.uint64(1))


@kernel(forceinline=True)
def _nearest(target, base, n, m, cosine, source, at):
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


@kernel(forceinline=True)
def _learn(
    target, b, score, n, source, at, context, noise, slot, negatives, rate, table, vectors, coefficients, bits,
    target_steps,
):  # fmt: skip
    """Note the sense, rate · ∂J/∂b, and the coefficients of the noise words; returns the step of the context."""
    place = slot * n
    scaled(np.float32(1.0), target, b, vectors, place, n)
    up = rate * (np.float32(1.0) - sigmoid(score, table))
    scaled(up, source, at, target_steps, place, n)
    for k in range(negatives):
        v = np.uint64(noise[slot * negatives + k]) * n
        down = -rate * sigmoid(dot(vectors, place, context, v, n), table)
        coefficients[(slot << bits) + k] = down
        axpy(down, context, v, target_steps, place, n)
    return up


@kernel()
def learn(share, parts, count, text, buffers, model, rate):
    """Learn from the targets of a share, each from the sum of its window, or from every word of it in turn."""
    ids, hashes, lows, highs = buffers.ids[share], buffers.hashes[share], buffers.lows[share], buffers.highs[share]
    slots, noise, vectors = buffers.slots[share], buffers.noise[share], buffers.vectors[share]
    coefficients, target_steps = buffers.coefficients[share], buffers.target_steps[share]
    window_steps = buffers.window_steps[share]
    target_moves, target_ends = buffers.target_moves[share], buffers.target_ends[share]
    window_moves, window_ends = buffers.window_moves[share], buffers.window_ends[share]
    scaled_moves, scaled_ends = buffers.scaled_moves[share], buffers.scaled_ends[share]
    sums, loss = buffers.work[share], buffers.loss[share]
    target, context, cosine, pairs = model.target, model.context, model.cosine, model.pairs
    one, zero, bits = np.uint64(1), np.uint64(0), np.uint64(buffers.bits)
    n, m, negatives, table = np.uint64(model.n), np.uint64(model.m), np.uint64(text.negatives), text.table
    width = n * m
    for j in range(count * n):
        window_steps[j] = np.float32(0.0)
    for t in range(count):
        if t + one < count:  # what the next target needs is fetched while this one is learnt from
            _fetch(t + one, ids, slots, noise, target, width, context, n, negatives)
        senses, slot, score = np.uint64(ids[t]) * width, slots[t], np.float32(0.0)
        note_move(ids[t], t, parts, window_moves, window_ends)
        low, high = lows[t], highs[t]
        if not pairs:
            for j in range(n):
                sums[j] = np.float32(0.0)
            for q in range(low, high):
                if q != t:
                    axpy(np.float32(1.0), context, np.uint64(ids[q]) * n, sums, zero, n)
        for c in range(low, high if pairs else low + one):  # a sample for each word of the window, or one
            if pairs and c == t:
                continue
            source, at = (context, np.uint64(ids[c]) * n) if pairs else (sums, zero)
            if pairs:
                _fetch_noise(slot + one, noise, context, n, negatives)
            b, score = _nearest(target, senses, n, m, cosine, source, at)
            up = _learn(
                target, b, score, n, source, at, context, noise, slot, negatives, rate, table, vectors, coefficients,
                bits, target_steps,
            )  # fmt: skip
            for q in range(c if pairs else low, c + one if pairs else high):
                if q != t:
                    axpy(up, vectors, slot * n, window_steps, q * n, n)
            note_move(b // n, slot, parts, target_moves, target_ends)
            for k in range(negatives):
                note_move(noise[slot * negatives + k], (slot << bits) + k, parts, scaled_moves, scaled_ends)
            slot += one
        if (hashes[t] & SAMPLED) == zero:
            loss[0] += surprise(score)
            loss[1] += 1.0


@compiled()
def train_rounds(
    thread, threads, meeting, text, buffers, first, rounds, rates, key, model, target_adam, context_adam, step
):
    """One thread's part in some rounds; see :mod:`polysema.kernels.rounds`."""
    lazy, shares, parts = target_adam is not None, buffers.ids.shape[0], np.uint64(buffers.window_ends.shape[1])
    for r in range(rates.size):
        share = take(meeting, 0, thread, threads, shares)
        while share >= 0:
            count = prepare(share, text, buffers, first + r, rounds, key, model.pairs, not lazy)
            learn(share, parts, count, text, buffers, model, np.float32(1.0) if lazy else rates[r])
            share = take(meeting, 0, thread, threads, shares)
        finish_round(thread, threads, meeting, buffers, model, target_adam, context_adam, rates[r], step + r + 1)
