"""One training over many machines: replicas that start from one state, learn apart, and are put together again.

The text is cut into R regions. In every *leg* each replica starts from the common state S, learns from its own region
for some rounds, and gives back its step δᵣ = Sᵣ − S. The steps are combined in a fixed order, and all go on from

    S ← S + max(w, 1/c) Σ δᵣ,

row by row: c replicas have moved the row, and w between 0 and 1 says how far steps add up (:func:`weights`).

What replicas learn apart is at most a share g of what was learnt before (``apart``): a young model moves fast, and
steps from one old state do not make up for moves that build on each other. So legs grow, in proportion to what is
learnt; and while a leg would be less than a round a replica, replicas learn in turn (:func:`legs`).

R is part of the configuration, the number of workers is not: a replica's step depends on S, r and the leg only, so the
result is the same to the bit for any number of workers. All replicas share one history. Models that were started apart
must not be added: ρ = B Bᵀ is the same for B Q, and columns permute.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.engine import Engine, Local, Placed
from polysema.errors import InputError
from polysema.kernels.rounds import LONGEST
from polysema.kernels.simd import padded
from polysema.machine import processors
from polysema.progress import Progress, Report
from polysema.training.cpu import CpuBackend, auto_round
from polysema.training.objectives import NegativeSamplingOptions
from polysema.training.run import State, rates
from polysema.training.text import TrainingText
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float32]
Step = tuple[NDArray[np.int64], Array, NDArray[np.int32]]
"""Rows that moved, by how much in all, and how many replicas moved each; of the rows (V · m, n) of a model's side."""


KEPT = 64  # replicas that a process keeps ready at once

PULL = 0.05
"""The share of its way that a word goes in one move, over the rate; chosen by held-out loss (docs/cluster.md)."""

_IN_TURN = 0.5  # of the text, above which it is said that this is little text for so many replicas
_LOG = logging.getLogger(__name__)


@dataclass
class Learner:
    """What a worker needs to learn from any region of a text; it opens the text itself."""

    path: Path
    vocabulary: Vocabulary
    options: NegativeSamplingOptions
    threads: int

    _at: tuple[int, int] | None = None  # the leg whose start the worker's state holds

    @cached_property
    def regions(self) -> Regions:
        """The regions of the text, in a state of the worker's own."""
        options, size, n = self.options, len(self.vocabulary), padded(self.options.dim)
        state = State(np.empty((size, options.m, n), np.float32), np.empty((size, options.context_rows, n), np.float32))
        return Regions(TrainingText(Corpus(self.path), self.vocabulary, options), state, self.threads)

    def step(self, leg: Leg) -> tuple[float, tuple[Step, Step]]:
        """Train one replica: its mean loss, and its step on both sides.

        What it learns in is afterwards put back, row by row, to what it started from: the next replica's start.
        """
        start, own = State(*leg.state()), self.regions.state
        if self._at != (leg.epoch, leg.first):
            np.copyto(own.target, start.target)
            np.copyto(own.context, start.context)
        self._at = None
        loss = self.regions.learn(leg.replica, leg.first, leg.last, leg.epoch, leg.key)
        target, context = (
            _step(before.reshape(-1, self.options.width), after.reshape(-1, self.options.width))
            for before, after in ((start.target, own.target), (start.context, own.context))
        )
        self._at = (leg.epoch, leg.first)
        return loss, (target, context)


class Regions:
    """Learns from any region of a text, in one state; a process is ready for some regions at once.

    Attributes:
        rounds: (R, rounds + 1) where each round of each region begins; as many rounds for each.
    """

    def __init__(self, text: TrainingText, state: State, threads: int) -> None:
        self.text, self.state, self.threads = text, state, threads
        self._engines: dict[int, CpuBackend] = {}
        replicas, sentences = text.options.replicas, text.text.sentences
        whole = len(text.rounds(auto_round(text.options, text))) - 1
        each = -(-whole // replicas)
        if len(sentences) - 1 < replicas * each:
            raise InputError(f"{text.corpus.path}: too little text for {replicas} replicas: choose fewer")
        marks = int(sentences[-1]) * np.arange(replicas * each + 1) // (replicas * each)
        found = np.searchsorted(sentences, marks)
        found[-1] = len(sentences) - 1
        self.rounds = np.asarray(found[np.arange(replicas)[:, None] * each + np.arange(each + 1)], np.int64)

    def learn(self, replica: int, first: int, last: int, epoch: int, key: int) -> float:
        """Learn from some rounds of a region; returns the loss on the way."""
        if replica not in self._engines:
            if len(self._engines) == KEPT:
                self._engines.pop(next(iter(self._engines))).close()
            self._engines[replica] = CpuBackend(self.text, self.state, self.threads, self.rounds[replica])
        done = np.arange(first, last) / (self.rounds.shape[1] - 1)
        rate = rates(self.text.options, epoch, done)
        return self._engines[replica].train(first, last, rate, np.uint64(key))

    def close(self) -> None:
        """End all threads."""
        while self._engines:
            self._engines.popitem()[1].close()


@dataclass(frozen=True, slots=True)
class Leg:
    """A task: what a replica learns from a state."""

    replica: int
    first: int
    last: int
    epoch: int
    key: int
    state: Placed[tuple[Array, Array]]


def learn(learner: Learner, leg: Leg, report: Report) -> tuple[float, tuple[Step, Step]]:
    """A task; see :meth:`Learner.step`."""
    regions = learner.regions
    first, last = regions.rounds[leg.replica, [leg.first, leg.last]]
    report(Progress("training", int(np.diff(regions.text.text.sentences[[first, last]])[0])))
    return learner.step(leg)


def _step(before: Array, after: Array) -> Step:
    """The rows that differ and by how much; ``after`` is put back."""
    rows = np.flatnonzero((before != after).any(axis=1))
    steps = after[rows] - before[rows]
    after[rows] = before[rows]
    return rows, steps, np.ones(len(rows), np.int32)


def merge(parts: list[tuple[Step, Step]]) -> tuple[Step, Step]:
    """The steps of replicas that follow each other, summed."""
    return _summed([part[0] for part in parts]), _summed([part[1] for part in parts])


def _summed(steps: list[Step]) -> Step:
    rows = np.unique(np.concatenate([moved for moved, _, _ in steps]))
    sums, counts = np.zeros((len(rows), steps[0][1].shape[1]), np.float32), np.zeros(len(rows), np.int32)
    for moved, by, times in steps:
        at = np.searchsorted(rows, moved)
        sums[at] += by
        counts[at] += times
    return rows, sums, counts


def add_steps(state: Array, step: Step, weights: Array) -> None:
    """state_v += max(w_v, 1/c_v) Σ_r δ_rv, where c_v replicas r moved row v; bounded as all rows are."""
    rows, sums, counts = step
    moved = state[rows] + np.maximum(weights[rows], np.float32(1) / counts.astype(np.float32))[:, None] * sums
    length = np.linalg.norm(moved, axis=1)
    state[rows] = moved * np.minimum(1, np.float32(LONGEST) / np.maximum(length, np.float32(1)))[:, None]


def legs(each: int, epoch: int, apart: float) -> NDArray[np.int64]:
    """Where the legs of an epoch begin, among the rounds of a replica; and the end.

    When a replica has learnt from t rounds, a leg is g t rounds; 1 where that is less, and replicas learn in turn.
    """
    marks = [0]
    while marks[-1] < each:
        marks.append(min(each, marks[-1] + max(1, int(apart * (epoch * each + marks[-1])))))
    return np.array(marks)


class ReplicaBackend:
    """Does legs of training; a leg is a round to the run (:class:`polysema.training.run.Backend`).

    Attributes:
        in_turn: the share of the training that is too early for replicas to learn apart.
    """

    def __init__(self, text: TrainingText, state: State, engine: Engine, threads: int) -> None:
        options = text.options
        if options.optimiser != "sgd":
            raise InputError(f"replicas learn by sgd, not by {options.optimiser}: choose the optimiser sgd")
        self.text, self.state, self.engine, self.threads = text, state, engine, threads
        engine.see([text.corpus.path, *text.corpus.path.glob("*.npy")])
        self._here = Regions(text, state, threads if isinstance(engine, Local) else processors())
        self._each = self._here.rounds.shape[1] - 1
        self._moves = moves(text, int(text.text.sentences[-1]) / options.replicas / self._each)
        self._learner = engine.put(Learner(text.corpus.path, text.vocabulary, options, threads))
        self._legs: tuple[int, NDArray[np.int64]] = (-1, np.empty(0, np.int64))
        self.in_turn = min(1.0, 1 / (options.apart * self._each * max(options.epochs or 0, 1)))
        if self.in_turn > _IN_TURN:
            words = int(text.text.sentences[-1]) * self.in_turn / _IN_TURN
            _LOG.warning(
                f"{options.replicas} replicas learn {self.in_turn:.0%} of this text in turn, not apart: "
                f"so many are for {words:,.0f} words and more; choose fewer"
            )

    @property
    def _marks(self) -> NDArray[np.int64]:
        """Where the legs of this epoch begin."""
        epoch = self.state.epoch
        if self._legs[0] != epoch:
            self._legs = (epoch, legs(self._each, epoch, self.text.options.apart))
        return self._legs[1]

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The sentence at which each leg of this epoch begins, were the text read in order; and the end."""
        return np.asarray(np.round(self._marks / self._each * (len(self.text.text.sentences) - 1)), np.int64)

    def train(self, first: int, last: int, _: NDArray[np.float32], key: np.uint64) -> float:
        """Do some legs; returns the mean loss of the replicas in the last."""
        marks = self._marks.tolist()
        losses = [float("nan")]
        for leg in range(first, last):
            begin, end = marks[leg], marks[leg + 1]
            if self.text.options.apart * (self.state.epoch * self._each + begin) < 1:
                replicas = range(self.text.options.replicas)
                losses = [self._here.learn(r, begin, end, self.state.epoch, int(key)) for r in replicas]
            else:
                self._here.close()
                losses = self._apart(begin, end, int(key))
        known = [loss for loss in losses if not np.isnan(loss)]
        return float(np.mean(known)) if known else float("nan")

    def _apart(self, first: int, last: int, key: int) -> list[float]:
        """A leg of all replicas at once, and the merge of what they learnt; returns their losses."""
        state, options = self.state, self.text.options
        placed = self.engine.put((state.target, state.context))
        tasks = [Leg(r, first, last, state.epoch, key, placed) for r in range(options.replicas)]
        losses, parts = self.engine.merged(learn, self._learner, tasks, merge, cores=self.threads)
        rate = float(rates(options, state.epoch, np.array([(first + last) / 2 / self._each]))[0])
        for side, step, moved in zip((state.target, state.context), merge(parts), self._moves, strict=True):
            rows, weight = side.reshape(-1, options.width), weights(moved * (last - first), rate, options)
            add_steps(rows, step, np.repeat(weight, len(rows) // len(moved)))
        return losses

    def pull(self) -> None:
        """Nothing to copy: merges update the state."""

    def close(self) -> None:
        """End the threads here; the engine is the caller's."""
        self._here.close()


def moves(text: TrainingText, words: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(V,) how often each word is moved while so many words of text are read, about; on the target and context side."""
    options, vocabulary = text.options, text.vocabulary
    survivors = vocabulary.counts * vocabulary.keep_probabilities(options.subsample or 0.0)
    targets = survivors / max(vocabulary.counts.sum(), 1) * words
    windows = targets * (options.window + 1)  # of which it is a word, on average
    samples = windows if options.pairs else targets
    noise = options.negatives * samples.sum() * vocabulary.noise_distribution(options.noise_power)
    return samples, windows + noise


def weights(moved: NDArray[np.float64], rate: float, options: NegativeSamplingOptions) -> Array:
    """(V,) how far the steps of R replicas add up, from 0, their mean, to 1, their sum.

    The steps of a rare word add up as if one replica had learnt after the other. Those of a frequent word do not: each
    has brought it to where it wants it already. Let a word go the share 1 − e^−x of its way in k moves, with
    x = PULL · rate · k. One after the other, R replicas go 1 − e^−Rx, so the sum of their steps is taken times

        w = (1 − e^−Rx) / R (1 − e^−x).

    Args:
        moved: (V,) how often a replica moves each word between two merges.
    """
    x = np.maximum(PULL * rate * moved, 1e-9)
    return np.asarray(np.expm1(-options.replicas * x) / (options.replicas * np.expm1(-x)), np.float32)
