"""Training by negative sampling: what a model learns, the loop over epochs and rounds, how it stops and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import Checkpoint
from polysema.errors import InputError, PolysemaError
from polysema.interrupts import Interrupts
from polysema.kernels.rounds import LONGEST
from polysema.kernels.sampling import stream_key
from polysema.kernels.simd import padded
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, VectorLexicon
from polysema.meanings.parts import Parts
from polysema.progress import Progress, Report, silent
from polysema.training.objectives import NegativeSamplingOptions, Word2VecOptions
from polysema.training.text import HeldOut, TrainingText
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float32]

_RUN_AWAY = 0.5  # of all rows at the bound: some may, in text that repeats itself
_BLOCK = 0.3  # seconds between two looks at the clock, the loss and Ctrl-C
_DIVERGED = 6.0  # nats a positive sample; a model that knows nothing has log 2 = 0.69
_JUDGED = 100_000  # words of an epoch that the loss is judged by, at least, or all of them
_ROWS = 4096  # drawn at a time


@dataclass
class State:
    """The parameters and the position of a run. Rows are padded with zeros to a multiple of four numbers."""

    target: Array  # (V, m, n), one row a sense, or a column of B. The result.
    context: Array  # (V, 1, n), or (V, m, n) for word2dm
    moments: dict[str, Array] = field(default_factory=dict)  # Adam's, by name, each in the shape of its side
    epoch: int = 0  # what comes next
    round: int = 0
    step: int = 0  # how many rounds are done in all
    words: int = 0  # how many words were read
    seconds: float = 0.0  # how long that took
    curve: list[dict[str, Any]] = field(default_factory=list)  # a record for every epoch

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the state."""
        arrays = {"target": self.target, "context": self.context, **self.moments}
        checkpoint.save({name: getattr(self, name) for name in _NUMBERS}, arrays)


_NUMBERS = ("epoch", "round", "step", "words", "seconds", "curve")


def saved_state(checkpoint: Checkpoint | None) -> State | None:
    """The state of a run that was stopped; None where there is none."""
    if checkpoint is None or not checkpoint.load():
        return None
    arrays = dict(checkpoint.arrays)
    return State(arrays.pop("target"), arrays.pop("context"), arrays, **checkpoint.numbers)


def new_state(options: NegativeSamplingOptions, size: int) -> State:
    """Random numbers of the chosen initialisation, from the seed."""
    n, m = options.dim, options.m
    rng = np.random.default_rng([options.seed, 0])
    target = _random(rng, options, (size, m, n))
    context = _random(rng, options, (size, options.context_rows, n))
    if options.init == "word2vec":
        context[:] = 0
    return State(target, context)


def _random(rng: np.random.Generator, options: NegativeSamplingOptions, shape: tuple[int, int, int]) -> Array:
    n, m = options.dim, options.m
    rows = np.zeros((*shape[:2], padded(n)), np.float32)
    reach = 0.5 / (n * m) if options.init == "paper" else 0.5 / n
    for start in range(0, len(rows), _ROWS):  # a piece at a time, not to need the room twice
        piece = rows[start : start + _ROWS, :, :n]
        if options.init == "unit":
            piece[:] = rng.standard_normal(piece.shape, dtype=np.float32) / np.sqrt(n * m)
        else:
            piece[:] = rng.uniform(-reach, reach, piece.shape)
    return rows


def check_start(options: NegativeSamplingOptions, start: AnyLexicon) -> None:
    """Refuse a lexicon that a model with these options cannot go on from."""
    if start.parts.contexts is None:
        raise InputError("the lexicon to go on from has no context vectors: it was not trained by polysema")
    m = start.m if isinstance(start, Lexicon) else 1
    if (start.n, m) != (options.dim, options.m):
        raise InputError(
            f"the lexicon to go on from has dim {start.n} and {m} senses, not {options.dim} and {options.m}: "
            "leave these options out, they are taken from it"
        )


def grown_state(options: NegativeSamplingOptions, vocabulary: Vocabulary, start: AnyLexicon) -> State:
    """The state for a larger vocabulary: known words from the lexicon, new ones at random."""
    check_start(options, start)
    assert start.parts.contexts is not None
    state = new_state(options, len(vocabulary))
    n = options.dim
    known = np.array([word in start for word in vocabulary])
    rows = [start.vocabulary.index(word) for word in vocabulary if word in start]
    factors = start.array[rows].astype(np.float32)
    if factors.ndim == 2:
        factors = factors[:, :, None]
    elif isinstance(start, Lexicon) and start.parts.norms is not None:
        norms = start.parts.norms[rows].astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused below
            factors = factors * (norms / np.linalg.norm(factors, axis=(1, 2)))[:, None, None]
    state.target[known, :, :n] = factors.transpose(0, 2, 1)
    contexts = start.parts.contexts[rows].astype(np.float32)
    state.context[known, :, :n] = contexts[:, None, :] if contexts.ndim == 2 else contexts.transpose(0, 2, 1)
    if not (np.isfinite(state.target).all() and np.isfinite(state.context).all()):
        raise InputError("the lexicon to go on from holds numbers that are not finite (NaN or infinity)")
    return state


def learnt_lexicon(
    state: State, options: NegativeSamplingOptions, vocabulary: Vocabulary, metadata: dict[str, Any]
) -> AnyLexicon:
    """The trained lexicon, with the context side for continued training."""
    n = options.dim
    contexts = np.ascontiguousarray(state.context[..., :n].transpose(0, 2, 1))
    if isinstance(options, Word2VecOptions):
        vectors = np.ascontiguousarray(state.target[:, 0, :n])
        return VectorLexicon(vocabulary, vectors, metadata=metadata, parts=Parts(contexts=contexts[:, :, 0]))
    factors = np.ascontiguousarray(state.target[..., :n].transpose(0, 2, 1))
    return Lexicon(
        vocabulary,
        factors,
        parts=Parts(
            columns="eigen" if options.objective.whole else "senses",
            contexts=contexts if options.objective.whole else contexts[:, :, 0],
            norms=np.linalg.norm(factors, axis=(1, 2)),
        ),
        metadata=metadata,
    )


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
        status: Callable[[], str] = lambda: "",
    ) -> None:
        self.text, self.options, self.state, self.backend = text, text.options, state, backend
        self.progress, self.on_epoch, self.checkpoint = progress, on_epoch, checkpoint
        self.status = status
        self.epochs = self.options.epochs or 0
        self.tokens = int(text.text.sentences[-1])
        self.held_out = HeldOut(text)
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
            at_the_bound = np.mean(np.einsum("vn,vn->v", rows, rows) > 0.99 * LONGEST**2) if ends else 0.0
            if at_the_bound > _RUN_AWAY or not np.isfinite(np.dot(side.reshape(-1), side.reshape(-1))):
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
