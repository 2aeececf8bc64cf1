"""Held-out loss: in double precision, on windows that training never sees, the same ones after every epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polysema.kernels.rounds import draw
from polysema.kernels.sampling import gather, stream_key
from polysema.training.options import NegativeSamplingOptions
from polysema.training.reference import log_sigmoid
from polysema.training.text import TrainingText

Array = NDArray[np.float32]

_MOST = 4000  # sentences
_STREAM = 0x6865_6C64  # a stream of random numbers of its own


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
        size = len(tokens)
        ids = np.empty(size, np.uint32)
        hashes, lows, highs, slots = (np.empty(size, np.uint64) for _ in range(4))
        key = stream_key(_STREAM)
        count = gather(
            tokens, marks, 0, len(pieces), source.rows, source.keep, key, options.window, 0, 0, ids, hashes, lows, highs
        )
        samples = (highs - lows)[:count].astype(np.int64) - 1
        noise = np.zeros(int(samples.sum() if pairs else count) * options.negatives, np.uint32)
        draw(
            hashes, lows, highs, slots, noise, np.uint64(0), np.uint64(count), pairs, np.uint64(options.negatives),
            np.uint64(0), source.alias,
        )  # fmt: skip
        self.noise = noise.reshape(-1, options.negatives)
        places = np.repeat(np.arange(count), samples)
        within = np.arange(len(places)) - np.repeat(np.cumsum(samples) - samples, samples)
        others = lows[places].astype(np.int64) + within
        self.contexts = ids[others + (others >= places)]
        self.targets = ids[places] if pairs else ids[:count]
        self.starts = np.arange(len(places)) if pairs else np.cumsum(samples) - samples

    def __len__(self) -> int:
        return len(self.targets)

    def loss(self, options: NegativeSamplingOptions, target: Array, context: Array) -> float | None:
        """The mean of −J; None where nothing is held out. Target (V, m, n), context (V, 1 or m, n)."""
        if not len(self):
            return None
        if options.model == "word2dm":
            return self.word2dm(target, context)
        if options.cbow:
            return self.cbow(target[:, 0], context[:, 0])
        return self.ms_word2dm(target, context[:, 0], options.cosine)

    def ms_word2dm(self, target: Array, context: Array, cosine: bool) -> float:
        """The mean of −J; target (V, m, n), context (V, n)."""
        total = 0.0
        for part in self._parts():
            senses = target[self.targets[part]].astype(np.float64)
            c = self._sums(part, context)
            scores = np.einsum("smn,sn->sm", senses, c)
            likeness = scores / np.linalg.norm(senses, axis=2) if cosine else scores
            chosen = np.argmax(likeness, axis=1)
            rows = np.arange(len(chosen))
            noise = np.einsum("sn,skn->sk", senses[rows, chosen], context[self.noise[part]].astype(np.float64))
            total += log_sigmoid(scores[rows, chosen]).sum() + log_sigmoid(-noise).sum()
        return -float(total) / len(self)

    def cbow(self, target: Array, context: Array) -> float:
        """The mean of −J; target, the vectors of the window, and context, of predicted words, (V, n)."""
        total = 0.0
        for part in self._parts():
            sizes = np.diff(np.append(self.starts, len(self.contexts)))[part]
            h = self._sums(part, target) / sizes[:, None]
            score = np.einsum("sn,sn->s", context[self.targets[part]].astype(np.float64), h)
            noise = np.einsum("sn,skn->sk", h, context[self.noise[part]].astype(np.float64))
            total += log_sigmoid(score).sum() + log_sigmoid(-noise).sum()
        return -float(total) / len(self)

    def word2dm(self, target: Array, context: Array) -> float:
        """The mean of −J; target and context (V, m, n)."""
        total = 0.0
        for part in self._parts(1000):
            b = target[self.targets[part]].astype(np.float64)
            a = np.einsum("smi,smj->sij", b, b)
            for rows, sign in ((self.contexts[part][:, None], 1.0), (self.noise[part], -1.0)):
                other = context[rows].astype(np.float64)
                score = np.einsum("skmi,sij,skmj->sk", other, a, other, optimize=True)
                total += log_sigmoid(sign * score).sum()
        return -float(total) / len(self)

    def _parts(self, size: int = 10_000) -> list[slice]:
        return [slice(i, min(i + size, len(self))) for i in range(0, len(self), size)]

    def _sums(self, part: slice, vectors: Array) -> NDArray[np.float64]:
        """The sum of each sample's context vectors, for a part of the samples."""
        first = self.starts[part.start]
        last = self.starts[part.stop] if part.stop < len(self) else len(self.contexts)
        rows = vectors[self.contexts[first:last]].astype(np.float64)
        return np.add.reduceat(rows, self.starts[part] - first, axis=0)
