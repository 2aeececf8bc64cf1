"""What the compiled trainer must do, one sample after the other, by the reference gradients in double precision."""

from itertools import pairwise

import numpy as np
from numba import njit

from polysema.kernels import rounds
from polysema.kernels.sampling import gather, stream_key
from polysema.training.cpu import CpuBackend
from polysema.training.run import new_state
from tests.training import reference

draw = njit(rounds.draw.py_func)


def samples(text, options, first, last, key):
    """For each target of some sentences: its row, the rows of its window, and noise rows for each of its samples."""
    source = text.text
    places = int(source.sentences[last] - source.sentences[first])
    ids = np.empty(places, np.uint32)
    hashes, lows, highs, slots = (np.empty(places, np.uint64) for _ in range(4))
    count = gather(
        source.tokens, source.sentences, first, last, source.rows, source.keep, key, options.window, source.held_out,
        ids, hashes, lows, highs,
    )  # fmt: skip
    pairs = options.pairs
    noise = np.zeros(places * options.negatives * (2 * options.window if pairs else 1), np.uint32)
    draw(hashes, lows, highs, slots, noise, np.uint64(count), pairs, np.uint64(options.negatives), source.alias)
    for t in range(count):
        window = [int(ids[q]) for q in range(int(lows[t]), int(highs[t])) if q != t]
        size = len(window) if pairs else 1
        start = int(slots[t]) * options.negatives
        yield int(ids[t]), window, noise[start : start + size * options.negatives].reshape(size, -1).astype(int)


def round_parts(text, rounds, shares, lazy):
    """The sentences of every round as ranges, by the definition: cut into as many regions as there are shares, of about
    as many words each, and every region into rounds; Adam's rounds are neighbours, whole. Nothing of the engine's is
    used but the two numbers."""
    marks = [int(mark) for mark in text.text.sentences]
    count, words = len(marks) - 1, marks[-1]
    if lazy:
        return [[(count * r // rounds, count * (r + 1) // rounds)] for r in range(rounds)]
    starts = [next(s for s in range(count + 1) if marks[s] >= words * i // shares) for i in range(shares)] + [count]
    regions = list(pairwise(starts))
    return [[(a + (b - a) * r // rounds, a + (b - a) * (r + 1) // rounds) for a, b in regions] for r in range(rounds)]


class Adam:
    def __init__(self, shape):
        self.mean, self.square, self.step = np.zeros(shape), np.zeros(shape), 0

    def apply(self, values, gradients, rate):
        self.step += 1
        for row, g in gradients.items():
            self.mean[row] = 0.9 * self.mean[row] + 0.1 * g
            self.square[row] = 0.999 * self.square[row] + 0.001 * g**2
            mean, square = self.mean[row] / (1 - 0.9**self.step), self.square[row] / (1 - 0.999**self.step)
            values[row] += rate * mean / (np.sqrt(square) + 1e-8)


def train(text, state, epochs):
    """Train in place; target (V, m, n) and context (V, 1 or m, n) in double precision, not padded."""
    options = text.options
    engine = CpuBackend(text, new_state(options, len(text.vocabulary)), 1)
    rounds, shares = engine.rounds, len(engine._regions) - 1
    target, context = state
    lazy = options.optimiser == "adam"
    adams = Adam(target.shape), Adam(context.shape)
    tokens = int(text.text.sentences[-1])
    parts = round_parts(text, len(rounds) - 1, shares, lazy)
    read = [s for part in parts for first, last in part for s in range(first, last)]
    assert sorted(read) == list(range(len(text.corpus))), "a sentence is left out or read twice"
    for epoch in range(epochs):
        key = stream_key(options.seed, 1, epoch)
        for r in range(len(rounds) - 1):
            done = (epoch + text.text.sentences[rounds[r]] / tokens) / epochs
            rate = options.rate if lazy else options.rate * max(1e-4, 1 - done)
            target_moves, context_moves = {}, {}

            def later(moves, row, move):
                moves[row] = moves.get(row, 0) + move

            for first, last in parts[r]:
                for t, window, noise in samples(text, options, first, last, key):
                    for (side, row), gradient in _gradients(options, target, context, t, window, noise):
                        later(target_moves if side == "target" else context_moves, row, gradient)
            for values, moves, adam in ((target, target_moves, adams[0]), (context, context_moves, adams[1])):
                if lazy:
                    adam.apply(values, moves, rate)
                else:
                    for row, move in moves.items():
                        values[row] += rate * move


def _gradients(options, target, context, t, window, noise):
    """Pairs of (side, row) and gradient, in the order they are to be used."""
    if options.model == "word2dm":
        factors = context.transpose(0, 2, 1)
        found = reference.word2dm(target[t].T, factors[window], factors[noise])
        yield ("target", t), found.target.T
        for i, c in enumerate(window):
            yield ("context", c), found.contexts[i].T
            for k, row in enumerate(noise[i]):
                yield ("context", row), found.noise[i, k].T
        return
    groups = [[c] for c in window] if options.pairs else [window]
    for group, words in zip(groups, noise, strict=True):
        found = reference.ms_word2dm(
            target[t], context[group, 0], context[words, 0], "cosine" if options.cosine else "dot"
        )
        chosen = int(np.argmax(np.abs(found.target).sum(axis=1)))
        yield ("target", (t, chosen)), found.target[chosen]
        for i, c in enumerate(group):
            yield ("context", c), found.contexts[i][None]
        for k, row in enumerate(words):
            yield ("context", row), found.noise[k][None]
