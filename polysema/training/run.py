"""Training by negative sampling: the loop over epochs and rounds, what it shows, how it stops and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.errors import PolysemaError
from polysema.kernels.rounds import LONGEST
from polysema.kernels.sampling import stream_key
from polysema.training.checkpoint import save_state
from polysema.training.held_out import HeldOut
from polysema.training.state import State
from polysema.training.text import TrainingText

_RUN_AWAY = 0.5  # of all rows at the bound: some may, in text that repeats itself
_BLOCK = 0.3  # seconds between two looks at the clock, the loss and Ctrl-C
_DIVERGED = 6.0  # nats a positive sample; a model that knows nothing has log 2 = 0.69


class DivergenceError(PolysemaError):
    """Training ran away."""


class Engine(Protocol):
    """What does the rounds: a processor or a card.

    Attributes:
        rounds: how many sentences were read before each round of an epoch, and in all (about so many words, at least).
    """

    rounds: NDArray[np.int64]

    def train(self, first: int, last: int, rates: NDArray[np.float32], key: np.uint64) -> float:
        """Do rounds ``first`` to ``last`` of an epoch, each at its rate; returns the loss of some of their samples."""

    def pull(self) -> None:
        """Bring what was learnt into the state."""

    def close(self) -> None:
        """Give back what was taken."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        epoch, epochs: which of how many, from 1.
        words, total: words read, and to be read in all.
        words_per_second: of the last moments.
        loss: of a sample of the training text's last positive samples, −log σ(score).
        held_out: mean −J on held-out windows after the last whole epoch; None where there is none yet.
        rate: the learning rate.
        seconds, seconds_left: spent, and to go.
    """

    epoch: int
    epochs: int
    words: int
    total: int
    words_per_second: float
    loss: float
    held_out: float | None
    rate: float
    seconds: float
    seconds_left: float


class Run:
    """One run of training.

    Args:
        text: what is trained on, with the options.
        state: where the run starts, and what it learns.
        engine: what does the work.
        progress: called several times a second.
        on_epoch: called after every epoch with the run; its ``state`` is what was learnt so far.
        checkpoint: a folder, and what the state belongs to; None: nothing is written.
        checkpoint_seconds: how often.
    """

    def __init__(
        self,
        text: TrainingText,
        state: State,
        engine: Engine,
        *,
        progress: Callable[[Progress], None] | None = None,
        on_epoch: Callable[[Run], None] | None = None,
        checkpoint: tuple[Path, dict[str, Any]] | None = None,
        checkpoint_seconds: float = 600.0,
    ) -> None:
        self.text, self.options, self.state, self.engine = text, text.options, state, engine
        self.progress, self.on_epoch = progress, on_epoch
        self._checkpoint, self._checkpoint_seconds = checkpoint, checkpoint_seconds
        self.epochs = self.options.epochs or 0
        self.tokens = int(text.text.sentences[-1])
        self.held_out = HeldOut(text, self.options.pairs)

    def run(self) -> State:
        """Train to the end. Ctrl-C is obeyed within a moment, after the state is written where it should be."""
        state, rounds = self.state, self.engine.rounds
        written = time.perf_counter()
        block = 16
        try:
            while state.epoch < self.epochs:
                first, last = state.round, min(state.round + block, len(rounds) - 1)
                started = time.perf_counter()
                words = self._words_at(last) - self._words_at(first)
                try:
                    key = stream_key(self.options.seed, 1, state.epoch)
                    loss = self.engine.train(first, last, self._rates(first, last), key)
                finally:
                    seconds = time.perf_counter() - started
                    state.round, state.step = last, state.step + last - first
                    state.words, state.seconds = state.words + words, state.seconds + seconds
                if loss > _DIVERGED or np.isinf(loss):
                    self._diverged()
                block = max(1, int(min(block * min(2.0, _BLOCK / max(seconds, 1e-3)), len(rounds))))
                if last == len(rounds) - 1:
                    self._end_epoch()
                self._show(words / max(seconds, 1e-9), loss)
                if time.perf_counter() - written > self._checkpoint_seconds:
                    self.write()
                    written = time.perf_counter()
        except KeyboardInterrupt:
            self.write()
            raise
        finally:
            self.engine.pull()
            self.engine.close()
        return state

    def _words_at(self, round: int) -> int:
        return int(self.text.text.sentences[self.engine.rounds[round]])

    def _rates(self, first: int, last: int) -> NDArray[np.float32]:
        """The learning rates of some rounds of the epoch: falling linearly to (almost) zero, but for Adam."""
        assert self.options.rate is not None
        if self.options.optimiser == "adam":
            return np.full(last - first, self.options.rate, np.float32)
        starts = self.text.text.sentences[self.engine.rounds[first:last]]
        done = (self.state.epoch + starts / max(self.tokens, 1)) / self.epochs
        rates: NDArray[np.float64] = self.options.rate * np.maximum(1e-4, 1 - done)
        return rates.astype(np.float32)

    def _end_epoch(self) -> None:
        state = self.state
        state.epoch, state.round = state.epoch + 1, 0
        self.engine.pull()
        bounded = self.options.optimiser == "sgd" and state.epoch == self.epochs  # before, rows may still come back
        for side in (state.target, state.context):
            rows = side.reshape(len(side), -1) if self.options.model == "word2dm" else side.reshape(-1, side.shape[2])
            if not np.isfinite(_square(side)) or (bounded and _run_away(rows) > _RUN_AWAY):
                self._diverged()
        state.curve.append(
            {
                "epoch": state.epoch,
                "held_out_loss": self.loss(),
                "words": state.words,
                "seconds": round(state.seconds, 2),
            }
        )
        if self.on_epoch is not None:
            self.on_epoch(self)

    def loss(self) -> float | None:
        """The mean of −J on the held-out windows; None where nothing is held out."""
        if not len(self.held_out):
            return None
        target, context = self.state.target, self.state.context
        if self.options.model == "word2dm":
            return self.held_out.word2dm(target, context)
        if self.options.form == "cbow":
            return self.held_out.cbow(target[:, 0], context[:, 0])
        return self.held_out.ms_word2dm(target, context[:, 0], self.options.select == "cosine")

    def _diverged(self) -> None:
        options = self.options
        raise DivergenceError(
            f"training diverged in epoch {min(self.state.epoch + 1, self.epochs)} after {self.state.words:,} words: "
            f"lower the rate (now {options.rate}) or the round (now {options.round or 'automatic'})"
        )

    def _show(self, words_per_second: float, loss: float) -> None:
        if self.progress is None:
            return
        state = self.state
        total = self.tokens * self.epochs
        left = max(total - state.epoch * self.tokens - self._words_at(state.round), 0)
        speed = state.words / max(state.seconds, 1e-9)
        held_out = state.curve[-1]["held_out_loss"] if state.curve else None
        epoch = min(state.epoch + 1, self.epochs)
        rate = float(self._rates(state.round, state.round + 1)[0]) if state.epoch < self.epochs else 0.0
        self.progress(
            Progress(
                epoch, self.epochs, total - left, total, words_per_second, loss, held_out, rate, state.seconds,
                left / max(speed, 1e-9),
            )
        )  # fmt: skip

    def write(self) -> None:
        """Write the state, where it was asked for."""
        if self._checkpoint is not None:
            self.engine.pull()
            save_state(self._checkpoint[0], self.state, self._checkpoint[1])


def _run_away(rows: NDArray[np.float32]) -> float:
    """The share of rows that are as long as rows can get."""
    return float(np.mean(np.einsum("vn,vn->v", rows, rows) > 0.99 * LONGEST**2))


def _square(array: NDArray[np.float32]) -> float:
    flat = array.reshape(-1)
    return float(np.dot(flat, flat))
