"""CBOW word2vec: the mean h of the window's vectors predicts the target.

    J = log σ(u_tᵀh) + Σₖ log σ(−u_kᵀh)

With g = 1 − σ(u_tᵀh) for the target and g = −σ(u_kᵀh) for noise, ∂J/∂u = g h and, with e = Σ g u the gradient of h,
each of the c vectors of the window gets e / c. Both sides move at the end of the round, no row beyond ``LONGEST``
(:func:`polysema.kernels.rounds.settle`). The vectors of the window, ``model.target``, are the result; those of
predicted words are ``model.context``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polysema.kernels.barrier import take
from polysema.kernels.compiled import kernel
from polysema.kernels.rounds import SAMPLED, finish, later, prepare, surprise
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import add, axpy, dot, scaled


@kernel()
def learn(share: Any, parts: Any, count: Any, text: Any, buffers: Any, model: Any, rate: Any) -> None:
    """For each target of a share, h goes into ``used``, the steps of u into ``steps``, rate · e / c into ``pushes``."""
    ids, hashes, lows, highs = buffers.ids[share], buffers.hashes[share], buffers.lows[share], buffers.highs[share]
    noise, used, steps, pushes = buffers.noise[share], buffers.used[share], buffers.steps[share], buffers.pushes[share]
    push_moves, push_ends = buffers.push_moves[share], buffers.push_ends[share]
    step_moves, step_ends = buffers.step_moves[share], buffers.step_ends[share]
    work, loss = buffers.work[share], buffers.loss[share]
    inputs, outputs = model.target, model.context
    one, zero, bits = np.uint64(1), np.uint64(0), np.uint64(buffers.bits)
    n, negatives, table = np.uint64(model.n), np.uint64(text.negatives), text.table
    for j in range(count * n):
        pushes[j] = np.float32(0.0)
    for t in range(count):
        h, step = t * n, t << bits
        for j in range(n):
            work[j] = np.float32(0.0)
        for q in range(lows[t], highs[t]):
            if q != t:
                add(inputs, np.uint64(ids[q]) * n, work, zero, n)
        part = np.float32(1.0) / np.float32(highs[t] - lows[t] - one)
        scaled(part, work, zero, used, h, n)
        u = np.uint64(ids[t]) * n
        score = dot(used, h, outputs, u, n)
        steps[step] = rate * (np.float32(1.0) - sigmoid(score, table))
        scaled(part * steps[step], outputs, u, work, zero, n)
        later(ids[t], step, parts, step_moves, step_ends)
        for k in range(negatives):
            row = noise[t * negatives + k]
            u = np.uint64(row) * n
            down = -rate * sigmoid(dot(used, h, outputs, u, n), table)
            steps[step + one + k] = down
            axpy(part * down, outputs, u, work, zero, n)
            later(row, step + one + k, parts, step_moves, step_ends)
        for q in range(lows[t], highs[t]):
            if q != t:
                add(work, zero, pushes, q * n, n)
        later(ids[t], t, parts, push_moves, push_ends)
        if (hashes[t] & SAMPLED) == zero:
            loss[0] += surprise(score)
            loss[1] += 1.0


@kernel()
def train_rounds(
    thread: Any, threads: Any, meeting: Any, text: Any, buffers: Any, first: Any, rounds: Any, rates: Any, key: Any,
    model: Any, target_adam: Any, context_adam: Any, step: Any, hogwild: Any,
) -> None:  # fmt: skip
    """One thread's part in a number of rounds; see :func:`polysema.kernels.ms_word2dm.train_rounds`."""
    lazy, shares, parts = target_adam.on, buffers.ids.shape[0], np.uint64(buffers.push_ends.shape[1])
    for r in range(rates.size):
        share = thread if hogwild else take(meeting, 0, thread, threads, shares)
        while share >= 0:
            count = prepare(share, text, buffers, first + r, rounds, key, model.pairs, not lazy)
            learn(share, parts, count, text, buffers, model, np.float32(1.0) if lazy else rates[r])
            share = -1 if hogwild else take(meeting, 0, thread, threads, shares)
        finish(thread, threads, meeting, buffers, model, target_adam, context_adam, rates[r], step + r + 1, hogwild)
