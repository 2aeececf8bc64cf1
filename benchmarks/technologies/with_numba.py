"""Multi-sense Word2DM, window form, SGD, in numba-cuda: the shipped kernel's plan, a warp gathers and its groups learn.

Numbers move one at a time: there are no atomic additions of four. Left out: sentences of more than 32 words, pairs,
CBOW, Word2DM, Adam, held-out sentences, the training loss, streaming.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # noqa: NPY201 - numba-cuda 0.30.4 asks for a name that NumPy 2.5 has no more

from numba import cuda, float32, int32, uint32, uint64

ALL = 0xFFFFFFFF
GOLDEN, LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFFFFFFFF)
BLOCK, WARPS = 256, 8
RUN, CAPACITY = 4, 128  # sentences a warp takes at once, and room for their words
GROUP = 8  # lanes that share a target
TOKENS = 4_000_000  # tokens a launch
N, M, K, WINDOW = 20, 5, 5, 5
PER_LANE = (N + GROUP - 1) // GROUP


@cuda.jit(device=True, inline="always")
def mixed(z):
    """See polysema.kernels.sampling.mixed."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@cuda.jit(device=True, inline="always")
def total(x, members):
    """The sum over a group's lanes."""
    x += cuda.shfl_xor_sync(members, x, 4)
    x += cuda.shfl_xor_sync(members, x, 2)
    x += cuda.shfl_xor_sync(members, x, 1)
    return x


@cuda.jit(device=True, inline="always")
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return float32(1.0) / (float32(1.0) + math.exp(-x))


@cuda.jit(device=True, inline="always")
def dot(a, b, members):
    """The inner product of two rows."""
    x = float32(0.0)
    for i in range(PER_LANE):
        x += a[i] * b[i]
    return total(x, members)


@cuda.jit(device=True, inline="always")
def load(row, values, at, lane):
    """A row, shared out over the lanes of a group."""
    for i in range(PER_LANE):
        e = lane + i * GROUP
        row[i] = values[at * N + e] if e < N else float32(0.0)


@cuda.jit(device=True, inline="always")
def add(values, at, scale, row, lane):
    """Move a row."""
    for i in range(PER_LANE):
        e = lane + i * GROUP
        if e < N:
            cuda.atomic.add(values, at * N + e, scale * row[i])


@cuda.jit(fastmath=True)
def train(tokens, marks, first, last, taken, keep, alias, key, rate, target, context):
    """Train on sentences first … last; warps take runs of sentences as they get free."""
    ids = cuda.shared.array((WARPS, CAPACITY), uint32)
    hashes = cuda.shared.array((WARPS, CAPACITY), uint64)
    lows = cuda.shared.array((WARPS, CAPACITY), int32)
    highs = cuda.shared.array((WARPS, CAPACITY), int32)
    c, b, other, move = (
        cuda.local.array(PER_LANE, float32), cuda.local.array(PER_LANE, float32), cuda.local.array(PER_LANE, float32),
        cuda.local.array(PER_LANE, float32),
    )  # fmt: skip
    w, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    group, inner = lane // GROUP, lane % GROUP
    members = uint32(((1 << GROUP) - 1) << (group * GROUP))
    size = uint64(alias.size)
    while True:
        begin = int32(0)
        if lane == 0:
            begin = int32(cuda.atomic.add(taken, 0, RUN))
        begin = first + cuda.shfl_sync(ALL, begin, 0)
        if begin >= last:
            break
        count = 0
        for s in range(begin, min(begin + RUN, last)):
            start = count
            p = marks[s] + lane
            row, h = uint32(0), uint64(0)
            kept = False
            if p < marks[s + 1]:
                row = uint32(tokens[p])
                h = mixed(key + uint64(p) * GOLDEN)
                kept = (h >> np.uint64(32)) <= uint64(keep[row])
            survivors = uint32(cuda.ballot_sync(ALL, kept))
            if kept:
                place = count + cuda.popc(survivors & ((uint32(1) << uint32(lane)) - uint32(1)))
                ids[w, place] = row
                hashes[w, place] = h
            count += cuda.popc(survivors)
            cuda.syncwarp()
            if count < start + 2:
                count = start
                continue
            t = start + lane
            if t < count:
                reach = 1 + int32(((hashes[w, t] & LOW) * np.uint64(WINDOW)) >> np.uint64(32))
                lows[w, t] = max(start, t - reach)
                highs[w, t] = min(count, t + reach + 1)
            cuda.syncwarp()
        for t in range(group, count, 32 // GROUP):
            for i in range(PER_LANE):
                c[i] = float32(0.0)
            for q in range(lows[w, t], highs[w, t]):
                if q != t:
                    load(other, context, ids[w, q], inner)
                    for i in range(PER_LANE):
                        c[i] += other[i]
            best, score, chosen = float32(-3.4e38), float32(0.0), 0
            for m in range(M):
                load(other, target, ids[w, t] * M + m, inner)
                product = dot(other, c, members)
                likeness = product * abs(product) / (dot(other, other, members) + float32(1e-30))
                if likeness > best:
                    best, score, chosen = likeness, product, m
                    for i in range(PER_LANE):
                        b[i] = other[i]
            up = rate * (float32(1.0) - sigmoid(score))
            for i in range(PER_LANE):
                move[i] = up * c[i]
            for q in range(lows[w, t], highs[w, t]):
                if q != t:
                    add(context, ids[w, q], up, b, inner)
            for k in range(K):
                r = mixed(hashes[w, t] + uint64(k + 1) * GOLDEN)
                cell = ((r >> np.uint64(32)) * size) >> np.uint64(32)
                pair = alias[cell]
                word = uint32(cell) if (r & LOW) <= (pair >> np.uint64(32)) else uint32(pair & LOW)
                load(other, context, word, inner)
                down = -rate * sigmoid(dot(b, other, members))
                for i in range(PER_LANE):
                    move[i] += down * other[i]
                add(context, word, down, b, inner)
            add(target, ids[w, t] * M + chosen, float32(1.0), move, inner)
        cuda.syncwarp()


class Trainer:
    """Both sides of the model and the corpus, on a device."""

    def __init__(self, text: Any, state: Any) -> None:
        source = text.text
        self.state, self.source = state, source
        self.there = [
            cuda.to_device(np.ascontiguousarray(array))
            for array in (source.rows[source.tokens], source.sentences, source.keep, source.alias)
        ]
        self.target, self.context = (cuda.to_device(side.reshape(-1)) for side in (state.target, state.context))
        self.taken = cuda.to_device(np.zeros(1, np.int32))
        in_flight = min(1000 / max(text.busiest, 1e-9), 2 * len(source.keep))  # as the shipped kernel
        processors = cuda.get_current_device().MULTIPROCESSOR_COUNT
        self.blocks = int(max(1, min(8 * processors, in_flight // (BLOCK // GROUP))))

    def epoch(self, rate: float, key: int) -> None:
        """Learn from all sentences, launch by launch."""
        tokens, marks, keep, alias = self.there
        count = len(self.source.sentences) - 1
        step = max(1, TOKENS * count // len(self.source.tokens))
        for first in range(0, count, step):
            self.taken.copy_to_device(np.zeros(1, np.int32))
            train[self.blocks, BLOCK](
                tokens, marks, np.int32(first), np.int32(min(first + step, count)), self.taken, keep, alias,
                np.uint64(key), np.float32(rate), self.target, self.context,
            )  # fmt: skip

    def wait(self) -> None:
        """Until the device is done."""
        cuda.synchronize()

    def pull(self) -> None:
        """Bring what was learnt into the state."""
        self.target.copy_to_host(self.state.target.reshape(-1))
        self.context.copy_to_host(self.state.context.reshape(-1))
