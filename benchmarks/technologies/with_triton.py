"""Multi-sense Word2DM, window form, SGD, in Triton: a program learns from a tile of targets, with atomic additions.

Survivors of subsampling are first listed in memory: a program cannot gather them for itself. PyTorch holds the arrays,
sums the counts and finds the sentences (Triton does not start without it). Left out: pairs, CBOW, Word2DM, Adam,
held-out sentences, the training loss, streaming.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

BLOCK = 1024  # tokens a program looks through
TOKENS = 4_000_000  # tokens a launch, where the vocabulary is large
SHAPES = [(4, 1), (8, 1), (16, 2), (32, 4)]
"""Targets a program, and its warps: the fastest is taken."""


@triton.jit
def mixed(z):  # noqa: D103 - see polysema.kernels.sampling.mixed
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


@triton.jit(do_not_specialize=["start", "stop", "key"])
def survivors(tokens, start, stop, keep, key, offsets, words, bits, places, WRITE: tl.constexpr, BLOCK: tl.constexpr):
    """Count the survivors of a block of tokens; or, when the counts are summed, write them where they belong."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = start + i.to(tl.int64)
    inside = p < stop
    row = tl.load(tokens + p, mask=inside, other=0)
    h = mixed(key.to(tl.uint64) + p.to(tl.uint64) * 0x9E3779B97F4A7C15)
    kept = (inside & ((h >> 32) <= tl.load(keep + row, mask=inside, other=0).to(tl.uint64))).to(tl.int32)
    if WRITE:
        at = tl.load(offsets + tl.program_id(0)) + tl.cumsum(kept, 0) - kept
        tl.store(words + at, row, mask=kept > 0)
        tl.store(bits + at, h.to(tl.int64, bitcast=True), mask=kept > 0)
        tl.store(places + at, p, mask=kept > 0)
    else:
        tl.store(offsets + 1 + tl.program_id(0), tl.sum(kept, 0))


@triton.jit
def learn(
    words, bits, sentences, total, alias, size, target, context, rate, N: tl.constexpr, M: tl.constexpr,
    K: tl.constexpr, WINDOW: tl.constexpr, T: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """T targets, rows of N numbers in tiles of D, a power of two."""
    count = tl.load(total)
    if tl.program_id(0) * T >= count:
        return
    t = tl.program_id(0) * T + tl.arange(0, T)
    inside = t < count
    d = tl.arange(0, D)[None, :]
    word = tl.load(words + t, mask=inside, other=0)
    h = tl.load(bits + t, mask=inside, other=0).to(tl.uint64, bitcast=True)
    sentence = tl.load(sentences + t, mask=inside, other=-1)
    reach = 1 + (((h & 0xFFFFFFFF) * WINDOW) >> 32).to(tl.int32)
    c = tl.zeros([T, D], tl.float32)
    alive = t < 0
    for o in tl.static_range(1, 2 * WINDOW + 2):
        offset = o - WINDOW - 1
        q = t + offset
        near = inside & (q >= 0) & (q < count) & (reach >= (offset if offset > 0 else -offset)) & (offset != 0)
        near = near & (tl.load(sentences + q, mask=near, other=-2) == sentence)
        other = tl.load(words + q, mask=near, other=0)
        c += tl.load(context + other[:, None] * N + d, mask=near[:, None] & (d < N), other=0.0, cache_modifier=".cg")
        alive = alive | near
    best = tl.full([T], -3.4e38, tl.float32)
    score = tl.zeros([T], tl.float32)
    chosen = tl.zeros([T], tl.int32)
    b = tl.zeros([T, D], tl.float32)
    for s in tl.static_range(M):
        at = target + (word * M + s)[:, None] * N + d
        sense = tl.load(at, mask=alive[:, None] & (d < N), other=0.0, cache_modifier=".cg")
        product = tl.sum(sense * c, 1)
        likeness = product * tl.abs(product) / (tl.sum(sense * sense, 1) + 1e-30)
        better = likeness > best
        best = tl.where(better, likeness, best)
        score = tl.where(better, product, score)
        chosen = tl.where(better, s, chosen)
        b = tl.where(better[:, None], sense, b)
    up = rate * (1.0 - tl.sigmoid(score))
    move = up[:, None] * c
    for o in tl.static_range(1, 2 * WINDOW + 2):
        offset = o - WINDOW - 1
        q = t + offset
        near = inside & (q >= 0) & (q < count) & (reach >= (offset if offset > 0 else -offset)) & (offset != 0)
        near = near & (tl.load(sentences + q, mask=near, other=-2) == sentence)
        other = tl.load(words + q, mask=near, other=0)
        at = context + other[:, None] * N + d
        tl.atomic_add(at, up[:, None] * b, mask=near[:, None] & (d < N), sem="relaxed")
    for _ in tl.static_range(K):
        h += 0x9E3779B97F4A7C15
        r = mixed(h)
        cell = (((r >> 32) * size) >> 32).to(tl.int32)
        pair = tl.load(alias + cell, mask=alive, other=0).to(tl.uint64, bitcast=True)
        noise = tl.where((r & 0xFFFFFFFF) <= (pair >> 32), cell, (pair & 0xFFFFFFFF).to(tl.int32))
        at = context + noise[:, None] * N + d
        v = tl.load(at, mask=alive[:, None] & (d < N), other=0.0, cache_modifier=".cg")
        down = -rate * tl.sigmoid(tl.sum(b * v, 1))
        move += down[:, None] * v
        tl.atomic_add(at, down[:, None] * b, mask=alive[:, None] & (d < N), sem="relaxed")
    at = target + (word * M + chosen)[:, None] * N + d
    tl.atomic_add(at, move, mask=alive[:, None] & (d < N), sem="relaxed")


class Trainer:
    """Both sides of the model and the corpus, on a device."""

    def __init__(self, text: Any, state: Any, device: str = "cuda") -> None:
        def there(array: Any) -> Any:
            return torch.from_numpy(np.array(array)).to(device)

        source = text.text
        self.state, self.source, self.shape = state, source, SHAPES[0]
        self.tokens, self.marks = there(source.rows[source.tokens].astype(np.int32)), there(source.sentences)
        self.keep, self.alias = there(source.keep.astype(np.int64)), there(source.alias.view(np.int64))
        self.target, self.context = there(state.target), there(state.context)
        share = min(TOKENS, 2 * len(self.keep) / text.kept) / len(source.tokens)
        self.sentences = max(1, int(share * (len(source.sentences) - 1)))
        most = int(np.diff(source.sentences[:: self.sentences], append=len(source.tokens)).max())
        self.blocks = triton.cdiv(most, BLOCK)
        self.offsets = torch.zeros(self.blocks + 1, dtype=torch.int32, device=device)
        self.words = torch.zeros(most, dtype=torch.int32, device=device)
        self.bits, self.places = (torch.zeros(most, dtype=torch.int64, device=device) for _ in range(2))

    def epoch(self, rate: float, key: int) -> None:
        """Learn from all sentences, launch by launch."""
        ends = self.source.sentences[:: self.sentences].tolist()
        n, m, (tile, warps) = self.target.shape[2], self.target.shape[1], self.shape
        for start, stop in zip(ends, [*ends[1:], len(self.tokens)], strict=True):
            place = (self.tokens, start, stop, self.keep, key)
            found = (self.words, self.bits, self.places)
            survivors[(self.blocks,)](*place, self.offsets, *found, WRITE=False, BLOCK=BLOCK)
            offsets = torch.cumsum(self.offsets, 0, dtype=torch.int32)
            survivors[(self.blocks,)](*place, offsets, *found, WRITE=True, BLOCK=BLOCK)
            sentences = torch.searchsorted(self.marks, self.places[: stop - start], right=True)
            learn[(triton.cdiv(stop - start, tile),)](
                self.words, self.bits, sentences, offsets[-1:], self.alias, len(self.alias), self.target, self.context,
                rate, N=n, M=m, K=self.source.negatives, WINDOW=self.source.window, T=tile,
                D=triton.next_power_of_2(n), num_warps=warps,
            )  # fmt: skip

    def wait(self) -> None:
        """Until the device is done."""
        if self.tokens.is_cuda:
            torch.cuda.synchronize()

    def pull(self) -> None:
        """Bring what was learnt into the state."""
        self.state.target[:], self.state.context[:] = self.target.cpu().numpy(), self.context.cpu().numpy()
