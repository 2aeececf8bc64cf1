"""Word2DM (paper, section 3.1.2): SGNS in which a word is the matrix A = B Bᵀ, and words compare by tr(A_t A_c).

    J = log σ(tr(A_t A_c)) + Σₖ log σ(−tr(A_t A_k))

With g = 1 − σ(y) for the context and g = −σ(z) for noise,  ∂J/∂B_t = 2 (Σ g B_c B_cᵀ) B_t  and  ∂J/∂B_c = 2g A_t B_c.
A_t is kept, so that tr(A_t A_c) = ⟨B_c, A_t B_c⟩ costs one product, which is also the context's gradient.

A factor B (n, m) is kept as m rows of n numbers, as are the senses of multi-sense Word2DM. Both sides
move at the end of the round, no factor beyond ``LONGEST`` (:func:`polysema.kernels.rounds.move_part`).
"""

from __future__ import annotations

import numpy as np

from polysema.kernels.compiled import compiled, kernel
from polysema.kernels.rounds import SAMPLED, finish_round, note_move, prepare, surprise, take
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import combine, dot


def sizes(places: int, slots: int, negatives: int, m: int, n: int) -> tuple[int, int, int, int]:
    """What ``vectors``, ``target_steps`` and ``work`` (A_t and Σ g B_c B_cᵀ) of a share hold, and ``bits``."""
    return slots * (negatives + 1) * m * n, places * m * n, 2 * n * n, 0


@kernel()
def _sample(context, c, n, m, work, total, positive, table, vectors, place):
    """Put A_t B_c into ``vectors[place :]`` and add g B_c B_cᵀ to the total; returns g and tr(A_t A_c)."""
    zero, one = np.uint64(0), np.uint64(1)
    none, whole = np.float32(0.0), np.float32(1.0)
    combine(whole, context, c, n, one, m, n, work, zero, n, none, vectors, place)
    score = dot(context, c, vectors, place, n * m)
    g = (whole if positive else none) - sigmoid(score, table)
    combine(g, context, c, one, n, n, m, context, c, n, whole, work, total)
    return g, score


@kernel()
def learn(share, parts, count, text, buffers, model, rate):
    """Learn from the targets of a share, each from all words of its window."""
    ids, hashes, lows, highs = buffers.ids[share], buffers.hashes[share], buffers.lows[share], buffers.highs[share]
    slots, noise, vectors = buffers.slots[share], buffers.noise[share], buffers.vectors[share]
    coefficients, target_steps = buffers.coefficients[share], buffers.target_steps[share]
    target_moves, target_ends = buffers.target_moves[share], buffers.target_ends[share]
    scaled_moves, scaled_ends = buffers.scaled_moves[share], buffers.scaled_ends[share]
    work, loss = buffers.work[share], buffers.loss[share]
    target, context = model.target, model.context
    one, zero = np.uint64(1), np.uint64(0)
    none, whole, twice = np.float32(0.0), np.float32(1.0), np.float32(2.0) * rate
    n, m, negatives, table = np.uint64(model.n), np.uint64(model.m), np.uint64(text.negatives), text.table
    width, total = n * m, n * n
    for t in range(count):
        b = np.uint64(ids[t]) * width
        combine(whole, target, b, one, n, n, m, target, b, n, none, work, zero)
        for j in range(total, total + total):
            work[j] = none
        slot = slots[t]
        for q in range(lows[t], highs[t]):
            if q == t:
                continue
            at = slot * (negatives + one)
            row = ids[q]
            g, score = _sample(context, np.uint64(row) * width, n, m, work, total, True, table, vectors, at * width)
            coefficients[at] = twice * g
            note_move(row, at, parts, scaled_moves, scaled_ends)
            for k in range(slot * negatives, (slot + one) * negatives):
                at += one
                row = noise[k]
                g, _ = _sample(context, np.uint64(row) * width, n, m, work, total, False, table, vectors, at * width)
                coefficients[at] = twice * g
                note_move(row, at, parts, scaled_moves, scaled_ends)
            slot += one
            if (hashes[t] & SAMPLED) == zero:
                loss[0] += surprise(score)
                loss[1] += 1.0
        combine(twice, target, b, n, one, m, n, work, total, n, none, target_steps, t * width)
        note_move(ids[t], t, parts, target_moves, target_ends)


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
