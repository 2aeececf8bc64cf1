"""CBOW word2vec: the mean h of the window's vectors predicts the target.

    J = log σ(u_tᵀh) + Σₖ log σ(−u_kᵀh)

With g = 1 − σ(u_tᵀh) for the target and g = −σ(u_kᵀh) for noise, ∂J/∂u = g h and, with e = Σ g u the gradient of h,
each of the c vectors of the window gets e / c. Both sides move at the end of the round, no row beyond ``LONGEST``
(:func:`polysema.kernels.rounds.move_part`). The vectors of the window, ``model.target``, are the result; those of
predicted words are ``model.context``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polysema.kernels.compiled import kernel
from polysema.kernels.rounds import SAMPLED, note_move, rounds_of, surprise
from polysema.kernels.sampling import sigmoid
from polysema.kernels.simd import add, axpy, dot, scaled


@kernel()
def learn(share: Any, parts: Any, count: Any, text: Any, buffers: Any, model: Any, rate: Any) -> None:
    """For each target: h goes into ``vectors``, rate · g into ``coefficients``, rate · e / c into ``window_steps``."""
    ids, hashes, lows, highs = buffers.ids[share], buffers.hashes[share], buffers.lows[share], buffers.highs[share]
    noise, vectors, coefficients = buffers.noise[share], buffers.vectors[share], buffers.coefficients[share]
    window_steps = buffers.window_steps[share]
    window_moves, window_ends = buffers.window_moves[share], buffers.window_ends[share]
    scaled_moves, scaled_ends = buffers.scaled_moves[share], buffers.scaled_ends[share]
    work, loss = buffers.work[share], buffers.loss[share]
    inputs, outputs = model.target, model.context
    one, zero, bits = np.uint64(1), np.uint64(0), np.uint64(buffers.bits)
    n, negatives, table = np.uint64(model.n), np.uint64(text.negatives), text.table
    for j in range(count * n):
        window_steps[j] = np.float32(0.0)
    for t in range(count):
        h, step = t * n, t << bits
        for j in range(n):
            work[j] = np.float32(0.0)
        for q in range(lows[t], highs[t]):
            if q != t:
                add(inputs, np.uint64(ids[q]) * n, work, zero, n)
        part = np.float32(1.0) / np.float32(highs[t] - lows[t] - one)
        scaled(part, work, zero, vectors, h, n)
        u = np.uint64(ids[t]) * n
        score = dot(vectors, h, outputs, u, n)
        coefficients[step] = rate * (np.float32(1.0) - sigmoid(score, table))
        scaled(part * coefficients[step], outputs, u, work, zero, n)
        note_move(ids[t], step, parts, scaled_moves, scaled_ends)
        for k in range(negatives):
            row = noise[t * negatives + k]
            u = np.uint64(row) * n
            down = -rate * sigmoid(dot(vectors, h, outputs, u, n), table)
            coefficients[step + one + k] = down
            axpy(part * down, outputs, u, work, zero, n)
            note_move(row, step + one + k, parts, scaled_moves, scaled_ends)
        for q in range(lows[t], highs[t]):
            if q != t:
                add(work, zero, window_steps, q * n, n)
        note_move(ids[t], t, parts, window_moves, window_ends)
        if (hashes[t] & SAMPLED) == zero:
            loss[0] += surprise(score)
            loss[1] += 1.0


train_rounds = rounds_of(learn, "cbow_rounds")
