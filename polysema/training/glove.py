"""GloVe vectors (Pennington, Socher & Manning 2014), from the same vocabulary, window and subsampling as the rest.

A word's vector is the sum of its two sides. They are trained on co-occurrence counts of the text,

    X[a, b] = Σ 1/d   over all places where a and b survive one draw of subsampling, d apart, in one window,

which are counted in bounded memory, by all threads. A pair is one number: its smaller row, its larger row. The pairs
of a part of the text are sorted, and equal ones added: a *run*. Runs are kept until they take a share of the memory
budget, then merged and written to a nameless file; at the end the written ones are merged. Weights are added as whole
multiples of 1/unit, so the sums are exact and do not depend on how many threads there are or on where a run ends. One
thread trains on the counts, in an order drawn from the seed.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, OutputError
from polysema.interrupts import Interrupts
from polysema.kernels.glove import merge_runs, train_counts, weighed_pairs
from polysema.kernels.sampling import gather, stream_key, thresholds
from polysema.kernels.simd import padded
from polysema.lexicon.lexicon import VectorLexicon
from polysema.machine import in_turn
from polysema.options import option
from polysema.progress import Progress
from polysema.training.job import Job
from polysema.training.objectives import TextOptions
from polysema.training.run import DivergenceError
from polysema.training.text import model_rows, trained_vocabulary
from polysema.vocabulary import Vocabulary

MEMORY = 1 << 29  # bytes of runs that are held before they are written. Each thread works on another 150 MB.

_PART = 3_000_000  # pairs that are counted at once, about
_PIECE = 2_000_000  # counts that are merged at once

Numbers = NDArray[np.uint64]
Run = tuple[Numbers, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Pairs of rows, sorted, and how often they occur together, each weighed by 1/distance."""

    pairs: Numbers  # (k,) uint64: the smaller row · 2^bits + the larger one; in memory, or mapped from a nameless file
    weights: NDArray[np.float32]  # (k,)
    bits: int  # that a row takes

    def __len__(self) -> int:
        return len(self.pairs)


def co_occurrences(
    job: Job, vocabulary: Vocabulary, options: TextOptions, between: Callable[[], None] = lambda: None
) -> Counts:
    """The upper triangle of the counts; the options must be settled.

    Args:
        between: called now and then from this thread, to stop at.
    """
    text = _PairReader(job, vocabulary, options)
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(job.threads))
        spilled = _Spill(stack, job.state)
        kept: list[Run] = []
        for done, run in in_turn(pool, text.run, text.parts(), job.threads + 1):
            between()
            job.progress(Progress("counting", done, len(job.corpus.tokens)))
            kept.append(run)
            if sum(len(pairs) for pairs, _ in kept) * 16 > MEMORY:
                spilled.add(_merged(pool, kept, job.threads))
                kept = []
        if not spilled.runs:
            pieces = [*text.weighed(_merged(pool, kept, job.threads))]
            pairs, weights = (np.concatenate(side) for side in zip(*pieces, strict=True))
            return Counts(pairs, weights, text.bits)
        if kept:
            spilled.add(_merged(pool, kept, job.threads))
        return Counts(*spilled.add(text.weighed(_merged(pool, [*spilled.runs], job.threads))), text.bits)


class _PairReader:
    """The text as pairs are read from it."""

    def __init__(self, job: Job, vocabulary: Vocabulary, options: TextOptions) -> None:
        assert options.subsample is not None
        self.window, self.bits = options.window, max(len(vocabulary) - 1, 1).bit_length()
        if 2 * self.bits + options.window.bit_length() > 64:
            raise InputError(
                f"{len(vocabulary)} words and a window of {options.window} are too many to count pairs: lower max_size"
            )
        self.keep = thresholds(vocabulary.keep_probabilities(options.subsample))
        self.rows, self.key = model_rows(job.corpus, vocabulary), stream_key(options.seed, 1, 0)
        self.tokens, self.sentences = np.asarray(job.corpus.tokens), np.asarray(job.corpus.sentences)
        # unit / d for every distance d: whole numbers where the least common multiple is small, else rounded
        unit = min(math.lcm(*range(1, self.window + 1)), 1 << 32)
        self.weights = np.array([0] + [round(unit / d) for d in range(1, self.window + 1)], np.uint64)

    def parts(self) -> Iterator[tuple[int, int]]:
        """Whole sentences, from the first to before the second, of about as many words each."""
        start, end, words = 0, len(self.sentences) - 1, 2 * _PART // (self.window + 1)
        while start < end:
            stop = int(np.searchsorted(self.sentences, self.sentences[start] + words, side="right")) - 1
            stop = min(max(stop, start + 1), end)
            yield start, stop
            start = stop

    def run(self, part: tuple[int, int]) -> tuple[int, Run]:
        """Where a part ends, and its pairs, sorted and added."""
        first, last = part
        places = int(self.sentences[last] - self.sentences[first])
        ids = np.empty(places, np.uint32)
        hashes, lows, highs = (np.empty(places, np.uint64) for _ in range(3))
        count = gather(
            self.tokens, self.sentences, first, last, self.rows, self.keep, self.key, self.window, 0, ids, hashes,
            lows, highs,
        )  # fmt: skip
        del hashes, highs
        packed = np.empty(int((np.arange(count, dtype=np.uint64) - lows[:count]).sum()), np.uint64)
        units = self.window.bit_length()
        weighed_pairs(ids, lows, count, self.bits, units, packed)
        packed.sort()
        weights = self.weights[packed & np.uint64((1 << units) - 1)]
        return int(self.sentences[last]), _added(packed >> np.uint64(units), weights)

    def weighed(self, pieces: Iterable[Run]) -> Iterator[Run]:
        """The same with weights in units of one, at least one piece."""
        none = np.empty(0, np.uint64)
        for pairs, weights in chain([(none, none)], pieces):
            yield pairs, (weights / self.weights[1]).astype(np.float32)


def _added(pairs: Numbers, weights: Numbers) -> Run:
    """Sorted pairs, equal ones added."""
    if not len(pairs):
        return pairs, weights
    first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    return pairs[first], np.add.reduceat(weights, first)


def _merged(pool: ThreadPoolExecutor, runs: Sequence[Run], threads: int) -> Iterator[Run]:
    """Sorted runs as one, in pieces: each the pairs between two bounds, of all runs."""
    total = sum(len(pairs) for pairs, _ in runs)
    every = max(1, _PIECE // max(len(runs), 1))
    sample = np.sort(np.concatenate([pairs[::every] for pairs, _ in runs])) if runs else np.empty(0, np.uint64)
    bounds = sample[:: max(1, len(sample) * _PIECE // max(total, 1))]
    cuts = [np.concatenate([[0], np.searchsorted(pairs, bounds[1:]), [len(pairs)]]) for pairs, _ in runs]

    def merge(piece: int) -> Run:
        cut = [slice(found[piece], found[piece + 1]) for found in cuts]
        parts = [(pairs[part], weights[part]) for (pairs, weights), part in zip(runs, cut, strict=True)]
        while len(parts) > 1:
            (one, other), parts = parts[:2], parts[2:]
            pairs, weights = (np.empty(len(one[0]) + len(other[0]), np.uint64) for _ in range(2))
            size = merge_runs(*one, *other, pairs, weights)
            parts.append((pairs[:size], weights[:size]))
        return parts[0]

    yield from in_turn(pool, merge, range(len(bounds)), threads)


class _Spill:
    """Runs in two files without a name, which vanish with the process."""

    def __init__(self, stack: ExitStack, folder: Path | None) -> None:
        self._stack, self._folder, self.runs = stack, folder, list[Run]()

    def add(self, pieces: Iterable[Run]) -> Run:
        """Write a run, piece by piece; it is then mapped."""
        try:
            files = [self._stack.enter_context(self._file()) for _ in range(2)]
            for piece in pieces:
                for file, side in zip(files, piece, strict=True):
                    file.write(side.data)
            for file in files:
                file.flush()
        except OSError as error:
            raise OutputError(f"co-occurrence counts cannot be written: {error.strerror or error}") from error
        kinds = (np.dtype(np.uint64), piece[1].dtype)
        mapped = [np.asarray(np.memmap(file, kind, "r")) for file, kind in zip(files, kinds, strict=True)]
        self.runs.append((mapped[0], mapped[1]))
        return self.runs[-1]

    def _file(self) -> IO[bytes]:
        folder = self._folder if self._folder is not None and self._folder.is_dir() else None
        return tempfile.TemporaryFile(dir=folder)


_BLOCK = 400_000  # counts between two looks at the clock and at Ctrl-C
_SIDES = ("target", "context", "target_squares", "context_squares")


@dataclass(frozen=True)
class GloveOptions(TextOptions):
    """How GloVe is trained."""

    model: ClassVar[str] = "glove"
    dim: int = option(100, "n, the dimension", least=1, most=10_000)
    epochs: int = option(15, "how many times to go through the counts", least=0, most=1_000_000)
    rate: float = option(0.05, "the learning rate of AdaGrad", above=0, most=10)
    most: float = option(10.0, "counts of this and more have full weight", above=0)
    power: float = option(0.75, "smaller counts x weigh (x / most) to this power", least=0, most=5)


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
                self._write()
            except KeyboardInterrupt:
                if self._whole:
                    self._write()
                raise

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
