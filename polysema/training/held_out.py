"""Held-out loss: in double precision, on windows that training never sees, the same ones after every epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polysema.kernels.sampling import GOLDEN, mixed, stream_key
from polysema.training.objectives import NegativeSamplingOptions
from polysema.training.text import NONE, TrainingText

Array = NDArray[np.float32]
Ids = NDArray[np.int64]

_MOST = 4000  # sentences
_STREAM = 0x6865_6C64  # a stream of random numbers of its own


def survivors(
    tokens: NDArray[np.int32], marks: Ids, rows: NDArray[np.uint32], keep: NDArray[np.uint32], key: np.uint64,
    window: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], Ids, Ids]:  # fmt: skip
    """What the kernel ``gather`` finds in whole sentences, by NumPy: nothing is compiled for a few thousand of them.

    Returns:
        the row of each target, its random bits, and where its window starts and ends.
    """
    row = rows[tokens]
    hashes = mixed.py_func(key + np.arange(len(tokens), dtype=np.uint64) * GOLDEN)
    kept = row != NONE
    kept[kept] = (hashes[kept] >> np.uint64(32)) <= keep[row[kept]]
    sentence = np.repeat(np.arange(len(marks) - 1), np.diff(marks))
    kept &= (np.bincount(sentence[kept], minlength=len(marks)) > 1)[sentence]
    ids, hashes, sentence = row[kept], hashes[kept], sentence[kept]
    sizes = np.bincount(sentence, minlength=len(marks) - 1)
    ends = np.cumsum(sizes)
    reach = 1 + (((hashes & np.uint64(0xFFFFFFFF)) * np.uint64(window)) >> np.uint64(32)).astype(np.int64)
    places = np.arange(len(ids))
    lows = np.maximum(places - reach, (ends - sizes)[sentence])
    return ids, hashes, lows, np.minimum(places + reach + 1, ends[sentence])


def noise_words(hashes: NDArray[np.uint64], counts: Ids, alias: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """What the kernel ``draw`` draws: so many noise words for each target, one after the other."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    bits = mixed.py_func(np.repeat(hashes, counts) + (_within(counts) + 1).astype(np.uint64) * GOLDEN)
    place = ((bits >> half) * np.uint64(len(alias))) >> half
    cell = alias[place]
    drawn: NDArray[np.uint64] = np.where((bits & low) <= (cell >> half), place, cell & low)
    return drawn.astype(np.uint32)


def _within(counts: Ids) -> Ids:
    """0, 1 … for each of some counts."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


class HeldOut:
    """Windows of held-out sentences, with noise words; the same whatever the seed, so that runs can be compared.

    Attributes:
        targets: (s,) the target of each sample.
        contexts, starts: the context words of all samples after one another, and where each sample's start.
        noise: (s, K).
    """

    def __init__(self, text: TrainingText) -> None:
        options, source, pairs = text.options, text.text, text.options.pairs
        sentences = text.held_out()
        if len(sentences) > _MOST:
            sentences = sentences[np.linspace(0, len(sentences) - 1, _MOST).astype(np.int64)]
        pieces = [source.tokens[source.sentences[s] : source.sentences[s + 1]] for s in sentences]
        tokens = np.concatenate([*pieces, np.empty(0, source.tokens.dtype)])
        marks = np.cumsum([0, *map(len, pieces)])
        key = stream_key(_STREAM)
        ids, hashes, lows, highs = survivors(tokens, marks, source.rows, source.keep, key, source.window)
        around = highs - lows - 1
        samples = around if pairs else np.ones_like(around)
        self.noise = noise_words(hashes, samples * options.negatives, source.alias).reshape(-1, options.negatives)
        places = np.repeat(np.arange(len(ids)), around)
        others = lows[places] + _within(around)
        self.contexts = ids[others + (others >= places)]
        self.targets = ids[places] if pairs else ids
        self.starts = np.arange(len(places)) if pairs else np.cumsum(around) - around

    def __len__(self) -> int:
        return len(self.targets)

    def loss(self, options: NegativeSamplingOptions, target: Array, context: Array) -> float | None:
        """The mean of −J; None where nothing is held out. Target (V, m, n), context (V, rows, n)."""
        if not len(self):
            return None
        total = 0.0
        for part in self._parts(1000 if options.objective.whole else 10_000):
            rows = target[self.targets[part]].astype(np.float64), self._sums(part, context)
            total += options.objective.loss(*rows, context[self.noise[part]].astype(np.float64), options.cosine)
        return total / len(self)

    def _parts(self, size: int) -> list[slice]:
        return [slice(i, min(i + size, len(self))) for i in range(0, len(self), size)]

    def _sums(self, part: slice, vectors: Array) -> NDArray[np.float64]:
        """The sum of each sample's context vectors, for a part of the samples."""
        first = self.starts[part.start]
        last = self.starts[part.stop] if part.stop < len(self) else len(self.contexts)
        rows = vectors[self.contexts[first:last]].astype(np.float64)
        return np.add.reduceat(rows, self.starts[part] - first, axis=0)
