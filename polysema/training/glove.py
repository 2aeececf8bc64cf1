"""GloVe vectors (Pennington, Socher & Manning 2014), from the same vocabulary, window and subsampling as the rest.

Co-occurrences are counted over the survivors of one draw of subsampling and windows, and weigh 1/distance. A word's
vector is the sum of its two sides. Counting takes all threads; the walk over the counts is one thread's, in an order
drawn from the seed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import Interrupts
from polysema.kernels.glove import train_counts
from polysema.kernels.simd import padded
from polysema.lexicon.lexicon import VectorLexicon
from polysema.options import option
from polysema.progress import Progress
from polysema.training.co_occurrences import Counts, co_occurrences
from polysema.training.job import Job
from polysema.training.objectives import TextOptions
from polysema.training.run import DivergenceError
from polysema.training.text import trained_vocabulary
from polysema.vocabulary import Vocabulary

_BLOCK = 400_000  # counts between two looks at the clock and at Ctrl-C
_SIDES = ("target", "context", "target_squares", "context_squares")


@dataclass(frozen=True)
class GloveOptions(TextOptions):
    """How GloVe is trained."""

    model: ClassVar[str] = "glove"
    dim: int = option(100, "n, the dimension", least=1, most=10_000)
    epochs: int = option(15, "how many times to go through the counts", least=0, most=1_000_000)
    rate: float = option(0.05, "the learning rate of AdaGrad", above=0, most=10)
    most: float = option(10.0, "counts from this on have full weight", above=0)
    power: float = option(0.75, "smaller ones weigh (x / most) to this power", least=0, most=5)


def train(job: Job, options: GloveOptions) -> VectorLexicon:
    """Train GloVe; see :func:`polysema.train`."""
    options = options.settled(job.corpus)
    vocabulary = trained_vocabulary(job.corpus, options, job.keep)
    walk = _Walk(job, options, vocabulary)
    walk.run()
    dim = options.dim
    vectors = walk.arrays["target"][:, :dim] + walk.arrays["context"][:, :dim]
    facts = {"co_occurrences": len(walk.counts)}
    return VectorLexicon(vocabulary, vectors, metadata=job.described(options, corpus=facts, curve=walk.at["curve"]))


class _Walk:
    """The steps over all counts, in blocks; where it stands is ``at``, what it has learnt ``arrays``."""

    counts: Counts

    def __init__(self, job: Job, options: GloveOptions, vocabulary: Vocabulary) -> None:
        self.job, self.options, self.vocabulary = job, options, vocabulary
        self.checkpoint = job.checkpoint(options)
        self._whole = True  # the arrays are those of a moment between two blocks
        self.at: dict[str, Any] = {"epoch": 0, "first": 0, "loss": 0.0, "steps": 0, "seconds": 0.0, "curve": []}
        n, rng = options.dim, np.random.default_rng([options.seed, 2])
        size = len(vocabulary)
        sides = [np.zeros((size, padded(n) + 4), np.float32) for _ in range(2)]
        for side in sides:
            side[:, :n] = rng.uniform(-0.5 / n, 0.5 / n, (size, n))
        self.arrays = dict(zip(_SIDES, (*sides, *map(np.ones_like, sides)), strict=True))
        if self.checkpoint is not None and self.checkpoint.load():
            self.at, self.arrays = self.checkpoint.numbers, self.checkpoint.arrays

    def run(self) -> None:
        """Count, and walk to the end; Ctrl-C stops between two blocks, after the state is written."""
        with Interrupts() as signals:
            try:
                self.counts = co_occurrences(self.job, self.vocabulary, self.options, signals.check)
                while self.at["epoch"] < self.options.epochs:
                    random = np.random.default_rng([self.options.seed, 3, self.at["epoch"]])
                    order = random.permutation(len(self.counts))
                    for first in range(self.at["first"], len(self.counts), _BLOCK):
                        signals.check()
                        self._block(order, first)
                        if self.checkpoint is not None and self.checkpoint.due:
                            self._write()
                    self._end_epoch()
            except KeyboardInterrupt:
                if self._whole:
                    self._write()
                raise
        self._write()

    def _block(self, order: NDArray[np.int64], first: int) -> None:
        options, counts, at, started = self.options, self.counts, self.at, time.perf_counter()
        last = min(first + _BLOCK, len(counts))
        self._whole = False
        target, context, squares, context_squares = (self.arrays[name].reshape(-1) for name in _SIDES)
        loss, steps = train_counts(
            order, first, last, counts.pairs, counts.weights, counts.bits, target, context, squares, context_squares,
            np.uint64(padded(options.dim)), np.float32(options.rate), options.most, options.power,
        )  # fmt: skip
        seconds = at["seconds"] + time.perf_counter() - started
        self.at = {**at, "first": last, "loss": at["loss"] + loss, "steps": at["steps"] + steps, "seconds": seconds}
        self._whole = True
        if not np.isfinite(self.at["loss"]):
            raise DivergenceError(f"GloVe diverged in epoch {at['epoch'] + 1}: lower the rate (now {options.rate})")
        done, total = at["epoch"] * len(counts) + last, options.epochs * len(counts)
        self.job.progress(
            Progress(
                "training", done, total, "co-occurrences", speed=done / max(seconds, 1e-9), seconds=seconds,
                left=seconds * (total - done) / max(done, 1), epoch=at["epoch"] + 1, epochs=options.epochs,
                loss=loss / max(steps, 1), rate=options.rate,
            )
        )  # fmt: skip

    def _end_epoch(self) -> None:
        at, epoch = self.at, self.at["epoch"] + 1
        loss = at["loss"] / max(at["steps"], 1)
        row = {"epoch": epoch, "training_loss": loss, "seconds": round(at["seconds"], 2)}
        curve = [*at["curve"], row]
        self.at = {**at, "epoch": epoch, "first": 0, "loss": 0.0, "steps": 0, "curve": curve}

    def _write(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(self.at, self.arrays)
