"""Counter-based randomness: a function of the place in the corpus, not of the order of work.

Whether a token survives subsampling, how wide its window is and which words it is contrasted with are functions of the
run's key and the token's place in the corpus. Threads, shards, devices and resumed runs all see the same samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polysema.kernels.compiled import compiled, kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)

SIGMOID_REACH = 12.0
SIGMOID_STEPS = 2048


@kernel(forceinline=True)
def mixed(z):
    """A number whose bits all depend on all bits of ``z`` (the finaliser of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(forceinline=True)
def noise_word(r, alias):
    """A word from the noise distribution, by Walker's alias method.

    The high half of 64 random bits picks a cell of ``alias`` (V,): the chance of its own word, out of 2³², and another
    word; the low half picks one of the two.
    """
    place = ((r >> np.uint64(32)) * np.uint64(alias.size)) >> np.uint64(32)
    cell = alias[place]
    if (r & _LOW) <= (cell >> np.uint64(32)):
        return place
    return cell & _LOW


@compiled()
def gather(tokens, sentences, first, last, rows, keep, key, window, held_out, ids, hashes, lows, highs):
    """The targets of some sentences, and the window of each among the tokens that survive.

    Args:
        first, last: which sentences.
        rows: (types,) uint32, each word's row in the model; 2³² − 1 for words it leaves out.
        keep: (V,) uint32, the chance of surviving subsampling, out of 2³².
        key: of the run and the epoch.
        window: the largest distance; each target's own is drawn between 1 and that.
        held_out: sentences whose hash is below this, out of 2³², are left out of training.
        ids, hashes, lows, highs: for each target its row, its random bits, and where its window starts and ends.

    Returns:
        how many targets there are.
    """
    one = np.uint64(1)
    none = np.uint32(0xFFFFFFFF)
    o = np.uint64(0)
    for s in range(first, last):
        if (mixed(np.uint64(s) * GOLDEN) >> np.uint64(32)) < held_out:
            continue
        start = o
        for p in range(sentences[s], sentences[s + 1]):
            row = rows[tokens[p]]
            if row == none:
                continue
            h = mixed(key + np.uint64(p) * GOLDEN)
            if (h >> np.uint64(32)) <= np.uint64(keep[row]):
                ids[o] = row
                hashes[o] = h
                o += one
        if o < start + np.uint64(2):
            o = start
            continue
        for t in range(start, o):
            reach = one + (((hashes[t] & _LOW) * np.uint64(window)) >> np.uint64(32))
            lows[t] = max(start + reach, t) - reach
            highs[t] = min(o, t + reach + one)
    return np.int64(o)


def held_out_marks(count: int, held_out: int) -> NDArray[np.bool_]:
    """For each sentence, whether it is kept from training."""
    hashes = mixed.py_func(np.arange(count, dtype=np.uint64) * GOLDEN)
    marks: NDArray[np.bool_] = (hashes >> np.uint64(32)) < np.uint64(held_out)
    return marks


@kernel(forceinline=True)
def sigmoid(x, table):
    """σ(x) = 1 / (1 + e⁻ˣ) by a table and linear interpolation, exact to 1e-6; beyond ± 12 as at ± 12."""
    y = (x + np.float32(SIGMOID_REACH)) * np.float32(SIGMOID_STEPS / (2 * SIGMOID_REACH))
    y = min(max(y, np.float32(0.0)), np.float32(SIGMOID_STEPS - 0.001))
    i = np.uint64(y)
    below = table[i]
    return below + (y - np.float32(i)) * (table[i + np.uint64(1)] - below)


def sigmoid_table() -> NDArray[np.float32]:
    """σ at the edges of the steps."""
    x = np.linspace(-SIGMOID_REACH, SIGMOID_REACH, SIGMOID_STEPS + 1)
    return (1 / (1 + np.exp(-x))).astype(np.float32)


def thresholds(probabilities: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Chances out of 2³²: 32 random bits are at most the threshold with the given probability."""
    chances: NDArray[np.float64] = np.clip(np.floor(probabilities * 2.0**32) - 1, 0, 2**32 - 1)
    return chances.astype(np.uint32)


def alias_table(distribution: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Walker's alias table of a distribution, as :func:`noise_word` reads it."""
    size = len(distribution)
    mass = distribution * size
    own = np.ones(size)
    other = np.arange(size, dtype=np.uint64)
    small = list(np.flatnonzero(mass < 1))
    large = list(np.flatnonzero(mass >= 1))
    while small and large:
        under, over = small.pop(), large[-1]
        own[under], other[under] = mass[under], over
        mass[over] -= 1 - mass[under]
        if mass[over] < 1:
            small.append(large.pop())
    return (thresholds(own).astype(np.uint64) << np.uint64(32)) | other


def stream_key(*parts: int) -> np.uint64:
    """A key from whole numbers: seed, run, epoch …"""
    key = np.uint64(0)
    with np.errstate(over="ignore"):
        for part in parts:
            key = np.uint64(mixed.py_func(key + np.uint64(part & (2**64 - 1)) * GOLDEN + GOLDEN))
    return key
