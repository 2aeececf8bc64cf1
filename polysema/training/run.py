"""Training by negative sampling: the loop over epochs and rounds, what it shows, how it stops and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import Checkpoint, Interrupts
from polysema.errors import PolysemaError
from polysema.kernels.rounds import LONGEST
from polysema.kernels.sampling import stream_key
from polysema.progress import Progress, Report, silent
from polysema.training.objectives import NegativeSamplingOptions
from polysema.training.state import State
from polysema.training.text import HeldOut, TrainingText

_RUN_AWAY = 0.5  # of all rows at the bound: some may, in text that repeats itself
_BLOCK = 0.3  # seconds between two looks at the clock, the loss and Ctrl-C
_DIVERGED = 6.0  # nats a positive sample; a model that knows nothing has log 2 = 0.69
_JUDGED = 100_000  # words of an epoch that the loss is judged by, at least, or all of them


class DivergenceError(PolysemaError):
    """Training diverged."""


class Backend(Protocol):
    """Runs rounds of training, on a processor or a GPU."""

    @property
    def rounds(self) -> NDArray[np.int64]:
        """How many sentences are read before each round of an epoch, and in all."""

    def train(self, first: int, last: int, rates: NDArray[np.float32], key: np.uint64) -> float:
        """Do rounds ``first`` to ``last`` of an epoch, each at its rate; returns the loss of some of their samples."""

    def pull(self) -> None:
        """Copy the parameters into the state."""

    def close(self) -> None:
        """Release resources."""


class Run:
    """One run of training.

    Args:
        text: what is trained on, with the options.
        state: where the run starts, and what it learns.
        backend: what does the work.
        progress: called several times a second.
        on_epoch: called after every epoch with the run; its ``state`` is what was learnt so far.
        checkpoint: where the state is written; None: nowhere.
        status: who does what, where several workers learn.
        held_out: what the loss is taken of; by default windows of the text.
    """

    def __init__(
        self,
        text: TrainingText,
        state: State,
        backend: Backend,
        *,
        progress: Report = silent,
        on_epoch: Callable[[Run], None] | None = None,
        checkpoint: Checkpoint | None = None,
        held_out: HeldOut | None = None,
        status: Callable[[], str] = lambda: "",
    ) -> None:
        self.text, self.options, self.state, self.backend = text, text.options, state, backend
        self.progress, self.on_epoch, self.checkpoint = progress, on_epoch, checkpoint
        self.status = status
        self.epochs = self.options.epochs or 0
        self.tokens = int(text.text.sentences[-1])
        self.held_out = held_out if held_out is not None else HeldOut(text)
        self._block = 16 if self.options.replicas == 1 else 1  # rounds
        self._losses = np.zeros(2)  # of this epoch so far: their sum, and of how many words
        self._whole = True  # the state is that of a moment between two blocks: it can be gone on from

    def run(self) -> State:
        """Train to the end.

        Ctrl-C and SIGTERM wait for the end of the block that is being learnt, a moment, and then stop the run after its
        state is written. A second one stops it without that: the state that was written last is still there. Blocks are
        done by a thread of their own, which signals never reach: what has begun is finished.
        """
        worker = ThreadPoolExecutor(1)
        with Interrupts() as signals:
            try:
                while self.state.epoch < self.epochs:
                    signals.check()
                    self._learn(worker)
                    if self.checkpoint is not None and self.checkpoint.due:
                        self.write()
            except KeyboardInterrupt:
                if self._whole:
                    self.write()
                raise
            finally:
                worker.shutdown()
                self.backend.pull()
                self.backend.close()
        return self.state

    def _learn(self, worker: ThreadPoolExecutor) -> None:
        """Learn from a block of rounds, about as many as a moment takes, and say so."""
        state, end = self.state, len(self.backend.rounds) - 1
        if state.round == end:  # the run was stopped between the last round of an epoch and its loss
            return self._end_epoch()
        first, last = state.round, min(state.round + self._block, end)
        words = self._words_at(last) - self._words_at(first)
        key = stream_key(self.options.seed, 1, state.epoch)
        started = time.perf_counter()
        self._whole = False
        loss = worker.submit(self.backend.train, first, last, self._rates(first, last), key).result()
        seconds = time.perf_counter() - started
        state.round, state.step = last, state.step + last - first
        state.words, state.seconds = state.words + words, state.seconds + seconds
        self._whole = True
        if first == 0:
            self._losses[:] = 0
        self._losses += loss * words, words
        total, judged = self._losses  # a block may be one odd sentence, on a slow machine
        if np.isinf(loss) or (total > _DIVERGED * judged and (judged >= _JUDGED or last == end)):
            self._diverged()
        self._block = max(1, int(min(self._block * min(2.0, _BLOCK / max(seconds, 1e-3)), end + 1)))
        if last == end:
            self._end_epoch()
        self._show(words / max(seconds, 1e-9), loss)

    def _words_at(self, round: int) -> int:
        return int(self.text.text.sentences[self.backend.rounds[round]])

    def _rates(self, first: int, last: int) -> NDArray[np.float32]:
        """The learning rates of some rounds of the epoch."""
        starts = self.text.text.sentences[self.backend.rounds[first:last]]
        return rates(self.options, self.state.epoch, starts / max(self.tokens, 1))

    def _end_epoch(self) -> None:
        state = self.state
        self.backend.pull()
        ends = self.options.optimiser == "sgd" and state.epoch + 1 == self.epochs  # before, rows may still come back
        for side in (state.target, state.context):
            rows = side.reshape(-1, self.options.width)
            if not np.isfinite(np.dot(side.reshape(-1), side.reshape(-1))) or (ends and _run_away(rows) > _RUN_AWAY):
                self._diverged()
        facts = {"words": state.words, "seconds": round(state.seconds, 2)}
        row = {"epoch": state.epoch + 1, "held_out_loss": self.loss(), **facts}
        self._whole = False
        state.epoch, state.round = state.epoch + 1, 0
        state.curve.append(row)
        self._whole = True
        if self.on_epoch is not None:
            self.on_epoch(self)

    def loss(self) -> float | None:
        """The mean of −J on the held-out windows; None where nothing is held out."""
        return self.held_out.loss(self.options, self.state.target, self.state.context)

    def _diverged(self) -> None:
        options = self.options
        raise DivergenceError(
            f"training diverged in epoch {min(self.state.epoch + 1, self.epochs)} after {self.state.words:,} words: "
            f"lower the rate (now {options.rate}) or the round (now {options.round or 'automatic'})"
        )

    def _show(self, speed: float, loss: float) -> None:
        state, total = self.state, self.tokens * self.epochs
        left = max(total - state.epoch * self.tokens - self._words_at(state.round), 0)
        rate = float(self._rates(state.round, state.round + 1)[0]) if state.epoch < self.epochs else 0.0
        self.progress(
            Progress(
                "training", total - left, total, speed=speed, seconds=state.seconds,
                left=left * state.seconds / max(state.words, 1), epoch=min(state.epoch + 1, self.epochs),
                epochs=self.epochs, loss=loss, held_out=state.curve[-1]["held_out_loss"] if state.curve else None,
                rate=rate, loss_name="loss of true words", detail=self.status(),
            )
        )  # fmt: skip

    def write(self) -> None:
        """Write the state, where it was asked for."""
        if self.checkpoint is not None:
            self.backend.pull()
            self.state.save(self.checkpoint)


def rates(options: NegativeSamplingOptions, epoch: int, done: NDArray[np.float64]) -> NDArray[np.float32]:
    """The learning rates where some shares of an epoch are done: falling linearly to (almost) zero, but for Adam."""
    assert options.rate is not None
    if options.optimiser == "adam":
        return np.full(len(done), options.rate, np.float32)
    falling: NDArray[np.float64] = options.rate * np.maximum(1e-4, 1 - (epoch + done) / (options.epochs or 1))
    return falling.astype(np.float32)


def _run_away(rows: NDArray[np.float32]) -> float:
    """The share of rows at the bound."""
    return float(np.mean(np.einsum("vn,vn->v", rows, rows) > 0.99 * LONGEST**2))
