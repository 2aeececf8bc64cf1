"""Training by negative sampling on the CPU: the loop over epochs and rounds, what it shows, how it stops."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import PolysemaError
from polysema.kernels import cbow, ms_word2dm, word2dm
from polysema.kernels.adam import Adam, new_adam
from polysema.kernels.barrier import new_meeting
from polysema.kernels.rounds import Buffers
from polysema.kernels.sampling import stream_key
from polysema.training.checkpoint import save_state
from polysema.training.held_out import HeldOut
from polysema.training.options import Options
from polysema.training.state import State
from polysema.training.text import TrainingText

_BLOCK = 0.3  # seconds between two looks at the clock, the loss and Ctrl-C
_DIVERGED = 6.0  # nats a positive sample; a model that knows nothing has log 2 = 0.69


class DivergenceError(PolysemaError):
    """Training ran away."""


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


def auto_round(options: Options, text: TrainingText) -> int | None:
    """How many targets make a round; None for Adam, whose rounds are batches of sentences.

    The busiest word should not meet more than a thousand times in a round what was true before it, and a round should
    not outgrow the caches. Word2DM's steps multiply, so that its rounds are shorter.
    """
    if options.optimiser == "adam":
        return None
    if options.round is not None:
        return options.round
    busiest, size = max(text.busiest, 1e-9), len(text.vocabulary)
    if options.model == "word2dm":
        return int(max(4, min(128, 20 / busiest, size / 8)))
    most = 1024 if options.form in ("pair", "skip-gram") else 8192
    return int(max(16, min(most, 1000 / busiest, 2 * size)))


class Run:
    """One run of training.

    Args:
        threads: how many; with the parallel mode ``rounds`` the result does not depend on it.
        progress: called several times a second.
        on_epoch: called after every epoch with the run; its ``state`` is what was learnt so far.
        checkpoint: called to write the state; None: nothing is written.
        checkpoint_seconds: how often.
    """

    def __init__(
        self,
        text: TrainingText,
        state: State,
        *,
        threads: int,
        progress: Callable[[Progress], None] | None = None,
        on_epoch: Callable[[Run], None] | None = None,
        checkpoint: tuple[Path, dict[str, Any]] | None = None,
        checkpoint_seconds: float = 600.0,
    ) -> None:
        self.text, self.options, self.state, self.threads = text, text.options, state, threads
        self.progress, self.on_epoch = progress, on_epoch
        self._checkpoint, self._checkpoint_seconds = checkpoint, checkpoint_seconds
        options = self.options
        self.pairs = options.form in ("pair", "skip-gram")
        self.rounds = text.rounds(auto_round(options, text))
        self.epochs = options.epochs or 0
        self.tokens = int(text.text.sentences[-1])
        self.held_out = HeldOut(text, self.pairs)
        self._kernel = {"word2dm": word2dm, "cbow": cbow}.get(
            options.form if options.form == "cbow" else options.model, ms_word2dm
        )
        self._buffers = self._new_buffers()
        self._model = ms_word2dm.Model(
            state.target.reshape(-1), state.context.reshape(-1), state.target.shape[2], state.target.shape[1],
            options.select == "cosine" and state.target.shape[1] > 1, self.pairs,
        )  # fmt: skip
        self._adams = (self._new_adam("target", state.target), self._new_adam("context", state.context))

    # ------------------------------------------------------------------------------------------------------------ room

    @property
    def _places(self) -> int:
        return int(np.diff(self.text.text.sentences[self.rounds]).max(initial=1))

    @property
    def _slots(self) -> int:
        return self._places * (2 * self.options.window if self.pairs else 1)

    def _new_buffers(self) -> Buffers:
        threads, places, slots, negatives = self.threads, self._places, self._slots, self.options.negatives
        m, n = self.state.target.shape[1:]
        used, work = n, n
        if self._kernel is word2dm:
            used, work = (negatives + 1) * m * n, word2dm.work_size(n, m)
        elif self._kernel is cbow:
            used = 2 * n
        return Buffers(
            ids=np.empty(places, np.uint32),
            hashes=np.empty(places, np.uint64),
            lows=np.empty(places, np.uint64),
            highs=np.empty(places, np.uint64),
            mine=np.empty((threads, places), np.uint64),
            slots=np.empty(places, np.uint64),
            noise=np.zeros((slots + 4) * negatives, np.uint32),  # what is fetched ahead may be beyond the last
            used=np.zeros(slots * used, np.float32),  # finite from the start: zero times what is there is zero
            steps=np.empty(slots * (negatives + 1), np.float32),
            work=np.zeros((threads, work + 16), np.float32),
            counts=np.zeros(threads, np.int64),
            loss=np.zeros((threads, 16)),
        )

    def _new_adam(self, side: str, array: NDArray[np.float32]) -> Adam:
        on = self.options.optimiser == "adam"
        rows, width = array.shape[0] * array.shape[1], array.shape[2]
        if self._kernel is word2dm:
            rows, width = array.shape[0], array.shape[1] * array.shape[2]
        most = min(rows, self._slots * (self.options.negatives + 1) + self._places)
        adam = new_adam(on, rows, width, self.threads, most)
        if on:
            for name, values in (("mean", adam.mean), ("square", adam.square)):
                known = self.state.moments.get(f"{side}_{name}")
                if known is not None:
                    values[:] = known
                self.state.moments[f"{side}_{name}"] = values
        return adam

    # ------------------------------------------------------------------------------------------------------------ loop

    def run(self) -> State:
        """Train to the end. Ctrl-C is obeyed within a moment, after the state is written where it should be."""
        state = self.state
        last_written = time.perf_counter()
        block = max(1, min(16, self.threads * 4))
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                while state.epoch < self.epochs:
                    started = time.perf_counter()
                    before = self._words_at(state.round)
                    last = min(state.round + block, len(self.rounds) - 1)
                    loss = self._train(pool, state.round, last)
                    seconds = time.perf_counter() - started
                    words = self._words_at(last) - before
                    self._release(before, before + words)
                    state.round, state.words, state.seconds = last, state.words + words, state.seconds + seconds
                    self._check(loss)
                    block = max(1, int(block * min(2.0, _BLOCK / max(seconds, 1e-3))))
                    if last == len(self.rounds) - 1:
                        self._end_epoch()
                    self._show(words / max(seconds, 1e-9), loss)
                    if time.perf_counter() - last_written > self._checkpoint_seconds:
                        self.write()
                        last_written = time.perf_counter()
            except KeyboardInterrupt:
                self.write()
                raise
        return state

    def _words_at(self, round: int) -> int:
        return int(self.text.text.sentences[self.rounds[round]])

    def _rates(self, first: int, last: int) -> NDArray[np.float32]:
        """The learning rates of some rounds of the epoch: falling linearly to (almost) zero, but for Adam."""
        assert self.options.rate is not None
        if self.options.optimiser == "adam":
            return np.full(last - first, self.options.rate, np.float32)
        starts = self.text.text.sentences[self.rounds[first:last]]
        done = (self.state.epoch + starts / max(self.tokens, 1)) / self.epochs
        rates: NDArray[np.float64] = self.options.rate * np.maximum(1e-4, 1 - done)
        return rates.astype(np.float32)

    def _train(self, pool: ThreadPoolExecutor, first: int, last: int) -> float:
        """Do some rounds; returns the mean loss of their sampled samples."""
        state, buffers = self.state, self._buffers
        buffers.loss[:] = 0
        meeting = new_meeting()
        rounds, rates = self.rounds[first : last + 1], self._rates(first, last)
        key = stream_key(self.options.seed, 1, state.epoch)
        futures = [
            pool.submit(
                self._kernel.train_rounds, thread, self.threads, meeting, self.text.text, buffers, rounds, rates, key,
                self._model, self._adams[0], self._adams[1], state.step,
                self.options.parallel == "hogwild" and self.threads > 1,
            )
            for thread in range(self.threads)
        ]  # fmt: skip
        interrupted = False
        for future in futures:
            while True:
                try:
                    future.result()
                    break
                except KeyboardInterrupt:  # finish the block: the state is then one that can be gone on from
                    interrupted = True
        state.step += last - first
        if interrupted:
            state.words += self._words_at(last) - self._words_at(first)
            state.round = last
            raise KeyboardInterrupt
        loss, count = buffers.loss[:, :2].sum(axis=0)
        return float(loss / count) if count else float("nan")

    def _end_epoch(self) -> None:
        state = self.state
        state.epoch, state.round = state.epoch + 1, 0
        if not (np.isfinite(_square(state.target)) and np.isfinite(_square(state.context))):
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
        if self._kernel is word2dm:
            return self.held_out.word2dm(target, context)
        if self._kernel is cbow:
            return self.held_out.cbow(target[:, 0], context[:, 0])
        return self.held_out.ms_word2dm(target, context[:, 0], self.options.select == "cosine")

    def _check(self, loss: float) -> None:
        if loss > _DIVERGED or np.isinf(loss):
            self._diverged()

    def _diverged(self) -> None:
        options = self.options
        raise DivergenceError(
            f"training diverged in epoch {self.state.epoch + 1} after {self.state.words:,} words: "
            f"lower the rate (now {options.rate}) or the round (now {auto_round(options, self.text)} targets)"
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
            save_state(self._checkpoint[0], self.state, self._checkpoint[1])

    def _release(self, first: int, last: int) -> None:
        """Tell the system that a part of the mapped corpus will not be needed for a while."""
        mapped = getattr(self.text.corpus.tokens, "_mmap", None)
        if mapped is None or not hasattr(mmap, "MADV_DONTNEED"):
            return
        size = self.text.corpus.tokens.itemsize
        start, stop = first * size // mmap.PAGESIZE * mmap.PAGESIZE, last * size // mmap.PAGESIZE * mmap.PAGESIZE
        if stop > start:
            mapped.madvise(mmap.MADV_DONTNEED, start, stop - start)


def _square(array: NDArray[np.float32]) -> float:
    flat = array.reshape(-1)
    return float(np.dot(flat, flat))
