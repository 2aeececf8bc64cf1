"""One training over many machines: replicas that start from one state, learn apart, and are put together again.

The text is cut into R regions. In every *leg* each replica starts from the common state S, learns from its own region
for some rounds, and gives back its step δᵣ = Sᵣ − S. The steps are combined in a fixed order, and all go on from

    S ← S + max(w, 1/c) Σ δᵣ,

row by row: c replicas have moved the row, and w between 0 and 1 says how far steps add up (:func:`weights`).

R is part of the configuration, the number of workers is not: a replica's step depends on S, r and the leg only, so the
result is the same to the bit for any number of workers. All replicas share one history. Models that were started apart
must not be added: ρ = B Bᵀ is the same for B Q, and columns permute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.engine.engine import Engine, Placed
from polysema.errors import InputError
from polysema.files.progress import Report
from polysema.kernels.combine import add_steps, find_steps
from polysema.kernels.simd import padded
from polysema.training.cpu import CpuEngine, auto_round
from polysema.training.options import NegativeSamplingOptions
from polysema.training.run import rates
from polysema.training.state import State
from polysema.training.text import TrainingText
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float32]
Step = tuple[NDArray[np.int64], Array]
"""Rows that moved, and how; of the rows (V · m, n) of one side of a model."""


KEPT = 64
"""So many replicas a process is ready for at once."""

PULL = 0.05
"""The share of its way that a word goes in one move, over the rate; chosen by held-out loss (docs/cluster.md)."""


@dataclass
class Learner:
    """What a worker needs to learn from any region of a text; it opens the text itself."""

    path: Path
    vocabulary: Vocabulary
    options: NegativeSamplingOptions
    threads: int

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # workers make the rest again

    def __setstate__(self, known: dict[str, Any]) -> None:
        self.__dict__.update(known)
        self.__post_init__()

    def __post_init__(self) -> None:
        self._own: State | None = None
        self._at: tuple[int, int] | None = None
        self._engines: dict[int, CpuEngine] = {}

    @cached_property
    def text(self) -> TrainingText:
        """The text, mapped."""
        return TrainingText(Corpus(self.path), self.vocabulary, self.options)

    @cached_property
    def rounds(self) -> NDArray[np.int64]:
        """(R, rounds + 1) where each round of each replica begins; as many rounds for each."""
        replicas, sentences = self.options.replicas, self.text.text.sentences
        whole = len(self.text.rounds(auto_round(self.options, self.text))) - 1
        each = -(-whole // replicas)
        if len(sentences) - 1 < replicas * each:
            raise InputError(f"{self.path}: too little text for {replicas} replicas: choose fewer")
        marks = int(sentences[-1]) * np.arange(replicas * each + 1) // (replicas * each)
        found = np.searchsorted(sentences, marks)
        found[-1] = len(sentences) - 1
        return np.asarray(found[np.arange(replicas)[:, None] * each + np.arange(each + 1)], np.int64)

    @property
    def width(self) -> int:
        """How many numbers are one row: a sense, or a whole factor of Word2DM."""
        n = padded(self.options.dim)
        return n * self.options.m if self.options.model == "word2dm" else n

    def step(self, leg: Leg) -> tuple[Step, Step, float]:
        """The step of a replica on both sides, and the loss on the way.

        What it learns in is afterwards put back, row by row, to what it started from: the next replica's start.
        """
        start = State(*leg.state())
        if self._own is None:
            self._own = State(np.empty_like(start.target), np.empty_like(start.context))
        if self._at != (leg.epoch, leg.first):
            np.copyto(self._own.target, start.target)
            np.copyto(self._own.context, start.context)
        self._at = None
        engine = self._engine(leg.replica, self._own)
        done = np.arange(leg.first, leg.last) / (len(engine.rounds) - 1)
        loss = engine.train(leg.first, leg.last, rates(self.options, leg.epoch, done), np.uint64(leg.key))
        target, context = (
            _step(before.reshape(-1, self.width), after.reshape(-1, self.width))
            for before, after in ((start.target, self._own.target), (start.context, self._own.context))
        )
        self._at = (leg.epoch, leg.first)
        return target, context, loss

    def _engine(self, replica: int, own: State) -> CpuEngine:
        """What learns from the region of a replica; some are kept."""
        if replica not in self._engines:
            if len(self._engines) == KEPT:
                self._engines.pop(next(iter(self._engines))).close()
            self._engines[replica] = CpuEngine(self.text, own, self.threads, self.rounds[replica])
        return self._engines[replica]


@dataclass(frozen=True, slots=True)
class Leg:
    """A task: what a replica learns from a state."""

    replica: int
    first: int
    last: int
    epoch: int
    key: int
    state: Placed[tuple[Array, Array]]


def learn(learner: Learner, leg: Leg, _: Report) -> tuple[Step, Step, float]:
    """A task; see :meth:`Learner.step`."""
    return learner.step(leg)


def _step(before: Array, after: Array) -> Step:
    """The rows that differ and by how much; ``after`` is put back."""
    rows, steps = np.empty(len(before), np.int64), np.empty_like(before)
    found = find_steps(before, after, rows, steps)
    return rows[:found].copy(), steps[:found].copy()


class ReplicaEngine:
    """Does legs of training; a leg is a round to the run (:class:`polysema.training.run.Engine`).

    Attributes:
        rounds: where each leg begins, were the text read in order; and the end.
        legs, sent, merging: how many legs were done, the bytes of states and steps that were sent for them, and the
            seconds that it took to place and to combine these, beside the learning.
    """

    def __init__(self, text: TrainingText, state: State, engine: Engine, threads: int) -> None:
        options = text.options
        if options.optimiser != "sgd":
            raise InputError(f"replicas learn by sgd, not by {options.optimiser}: choose --optimiser sgd")
        self.text, self.state, self.engine, self.threads = text, state, engine, threads
        engine.see([text.corpus.path, *text.corpus.path.glob("*.npy")])
        learner = Learner(text.corpus.path, text.vocabulary, options, threads)
        learner.__dict__["text"] = text  # here; workers open their own
        self._each = learner.rounds.shape[1] - 1
        words = int(text.text.sentences[-1]) / options.replicas / self._each
        self._leg = max(1, round(self._each / options.merges))
        legs = -(-self._each // self._leg)
        marks = np.minimum(np.arange(legs + 1) * self._leg, self._each) / self._each
        self.rounds = np.round(marks * (len(text.text.sentences) - 1)).astype(np.int64)
        self._moves = moves(text, self._leg * words)
        self._width = learner.width
        self._learner = engine.put(learner)
        self.legs, self.sent, self.merging = 0, 0, 0.0

    def train(self, first: int, last: int, _: NDArray[np.float32], key: np.uint64) -> float:
        """Do some legs; returns the mean loss of the replicas in the last."""
        loss = float("nan")
        for leg in range(first, last):
            loss = self._train(leg * self._leg, min((leg + 1) * self._leg, self._each), int(key))
        return loss

    def _train(self, first: int, last: int, key: int) -> float:
        state, options = self.state, self.text.options
        started = time.perf_counter()
        placed = self.engine.put((state.target, state.context))
        self.merging += time.perf_counter() - started
        legs = [Leg(r, first, last, state.epoch, key, placed) for r in range(options.replicas)]
        targets, contexts, losses = zip(*self.engine.map(learn, self._learner, legs, cores=self.threads), strict=True)
        started = time.perf_counter()
        rate = float(rates(options, state.epoch, np.array([(first + last) / 2 / self._each]))[0])
        for side, steps, moved in zip((state.target, state.context), (targets, contexts), self._moves, strict=True):
            rows = side.reshape(-1, self._width)
            _add(rows, steps, np.repeat(weights(moved, rate, options), len(rows) // len(moved)))
        self.merging += time.perf_counter() - started
        self.legs += 1
        self.sent += len(legs) * (state.target.nbytes + state.context.nbytes)
        self.sent += sum(step[0].nbytes + step[1].nbytes for step in (*targets, *contexts))
        known = [loss for loss in losses if not np.isnan(loss)]
        return float(np.mean(known)) if known else float("nan")

    def pull(self) -> None:
        """Bring what was learnt into the state: it is there already."""

    def close(self) -> None:
        """Nothing to give back: the engine is the caller's."""


def _add(side: Array, steps: Sequence[Step], weights: Array) -> None:
    """Add the steps of replicas to rows (V · m, n) of a side, in the order of the replicas."""
    ends = np.cumsum([len(rows) for rows, _ in steps])
    starts = ends - [len(rows) for rows, _ in steps]
    rows, values = (np.concatenate([step[i] for step in steps]) for i in (0, 1))
    add_steps(side, rows, values, starts, ends, weights, np.empty(side.shape[1], np.float32))


def moves(text: TrainingText, words: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(V,) how often each word is moved while so many words of text are read, about; on the target and context side."""
    options, vocabulary = text.options, text.vocabulary
    survivors = vocabulary.counts * vocabulary.keep_probabilities(options.subsample or 0.0)
    targets = survivors / max(vocabulary.counts.sum(), 1) * words
    windows = targets * (options.window + 1)  # of which it is a word, on average
    samples = windows if options.pairs else targets
    noise = options.negatives * samples.sum() * vocabulary.noise_distribution(options.noise_power)
    return (windows, targets + noise) if options.cbow else (samples, windows + noise)


def weights(moved: NDArray[np.float64], rate: float, options: NegativeSamplingOptions) -> Array:
    """(V,) how far the steps of R replicas add up, from 0, their mean, to 1, their sum.

    The steps of a rare word add up as if one replica had learnt after the other. Those of a frequent word do not: each
    has brought it to where it wants it already. Let a word go the share 1 − e^−x of its way in k moves, with
    x = PULL · rate · k. One after the other, R replicas go 1 − e^−Rx, so the sum of their steps is taken times

        w = (1 − e^−Rx) / R (1 − e^−x).

    Args:
        moved: (V,) how often a replica moves each word between two merges.
    """
    if options.combine != "counts":
        return np.full(len(moved), options.combine == "sum", np.float32)
    x = np.maximum(PULL * rate * moved, 1e-9)
    return np.asarray(np.expm1(-options.replicas * x) / (options.replicas * np.expm1(-x)), np.float32)
