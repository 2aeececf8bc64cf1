"""Training on the processor: the compiled kernels, their buffers, their threads."""

from __future__ import annotations

import mmap
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.kernels.rounds import Adam, Buffers, Parameters, bounds, largest_share, new_adam, new_meeting
from polysema.training.objectives import NegativeSamplingOptions
from polysema.training.run import State
from polysema.training.text import TrainingText

_SHARES = 32  # of a round at most
_TARGETS = 32  # of a share at least; Word2DM's are so large that an eighth will do
_ROOM = 1 << 29  # bytes of address space for what a round notes


def auto_round(options: NegativeSamplingOptions, text: TrainingText) -> int | None:
    """How many targets make a round; None for Adam, whose rounds are batches of sentences."""
    if options.optimiser == "adam":
        return None
    return options.round or int(options.objective.targets(max(text.busiest, 1e-9), len(text.vocabulary)))


def _sparse(shape: tuple[int, int], kind: np.dtype[Any]) -> NDArray[Any]:
    """Zeros, of which only what is used takes memory: in small pages, since every share begins a new place."""
    size = shape[0] * shape[1]
    room = mmap.mmap(-1, max(size * kind.itemsize, 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        room.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(room, kind, size).reshape(shape)


def forget(mapped: NDArray[Any], start: int, stop: int) -> None:
    """Let the system reclaim the memory of part of a mapped file; it is read again when needed."""
    room = getattr(mapped, "_mmap", None)
    if room is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    page = mmap.PAGESIZE // mapped.itemsize
    start, stop = (mark // page * mmap.PAGESIZE for mark in (start, stop))
    if stop > start:
        room.madvise(mmap.MADV_DONTNEED, start, stop - start)


class CpuBackend:
    """Runs rounds of training on the processor.

    Attributes:
        rounds: the sentence that each round of an epoch has come to, were they read one after the other; and the end.
        threads: how many; the result does not depend on it.

    Args:
        rounds: where they are a part of the text's, the first sentence of each and the end; by default the whole text.
    """

    def __init__(self, text: TrainingText, state: State, threads: int, rounds: NDArray[np.int64] | None = None) -> None:
        self.text, self.state, self.threads = text, state, threads
        options = text.options
        self.rounds = text.rounds(auto_round(options, text)) if rounds is None else rounds
        # many shares, so that threads can be evened out, but each worth the taking
        targets = text.kept * float(self._words()) / max(len(self.rounds) - 1, 1)
        shares = int(max(1, min(_SHARES, options.objective.cost * targets / _TARGETS)))
        self._train_rounds = options.objective.kernel.train_rounds
        self._cut(shares)
        m, n = state.target.shape[1:]
        sample = (
            4 * (options.negatives + 1) * (options.width if options.objective.whole else 4) + 12 * n
        )  # bytes, about
        while shares > 1 and shares * self._slots * sample > _ROOM:
            shares //= 2  # long sentences
            self._cut(shares)
        self._buffers = self._new_buffers()
        self._model = Parameters(
            state.target.reshape(-1), state.context.reshape(-1), n, m, options.cosine and m > 1,
            options.pairs, options.width,
        )  # fmt: skip
        self._adams = (self._new_adam("target", state.target), self._new_adam("context", state.context))
        self._pool = ThreadPoolExecutor(threads)
        forget(text.corpus.sentences, 0, len(text.corpus.sentences))  # all were looked at to cut rounds
        nothing = self._work(0, np.empty(0, np.float32), np.uint64(0))
        self._train_rounds(0, 1, new_meeting(1), *nothing)  # compiles, where Ctrl-C still stops at once

    def _words(self) -> int:
        """How many words an epoch has."""
        return int(self.text.text.sentences[self.rounds[-1]] - self.text.text.sentences[self.rounds[0]])

    def _cut(self, shares: int) -> None:
        """Give each share a region of the text, about as many words each."""
        options, sentences = self.text.options, self.text.text.sentences
        start = int(sentences[self.rounds[0]])
        regions = np.searchsorted(sentences, start + self._words() * np.arange(shares + 1) // shares)
        regions[0], regions[-1] = self.rounds[0], self.rounds[-1]
        self._regions = regions.astype(np.int64)
        self._places = int(largest_share(sentences, self._regions, len(self.rounds) - 1, options.optimiser != "adam"))
        self._slots = self._places * (2 * options.window if options.pairs else 1)

    def _new_buffers(self) -> Buffers:
        """Room for a round; what is not used takes no memory."""
        places, slots, negatives = self._places, self._slots, self.text.options.negatives
        shares = len(self._regions) - 1
        m, n = self.state.target.shape[1:]
        vectors, target_steps, work, bits = self.text.options.objective.kernel.sizes(places, slots, negatives, m, n)
        room = np.array([places, slots, slots * (negatives + 1)], np.uint64)

        def empty(length: int, kind: Any) -> NDArray[Any]:
            return _sparse((shares, length), np.dtype(kind))

        return Buffers(
            ids=empty(places, np.uint32),
            hashes=empty(places, np.uint64),
            lows=empty(places, np.uint64),
            highs=empty(places, np.uint64),
            slots=empty(places, np.uint64),
            noise=empty((slots + 4) * negatives, np.uint32),  # what is fetched ahead may be beyond the last
            window_steps=empty(places * n, np.float32),
            target_steps=empty(target_steps, np.float32),
            vectors=empty(vectors, np.float32),
            coefficients=empty(slots * (negatives + 1) if bits == 0 else slots << bits, np.float32),
            window_moves=empty(self.threads * places, np.uint64),
            target_moves=empty(self.threads * slots, np.uint64),
            scaled_moves=empty(self.threads * slots * (negatives + 1), np.uint64),
            window_ends=empty(self.threads, np.uint64),
            target_ends=empty(self.threads, np.uint64),
            scaled_ends=empty(self.threads, np.uint64),
            room=room,
            bits=bits,
            work=empty(work + 16, np.float32),
            loss=empty(16, np.float64),
            regions=self._regions,
        )

    def _new_adam(self, side: str, array: NDArray[np.float32]) -> Adam | None:
        """Adam's state of a side; None for plain steps."""
        options = self.text.options
        if options.optimiser != "adam":
            return None
        width = options.width
        rows = array.size // width
        most = min(rows, (len(self._regions) - 1) * (self._slots * (options.negatives + 1) + self._places))
        adam = new_adam(rows, width, self.threads, most)
        for name, values in (("mean", adam.mean), ("square", adam.square)):
            known = self.state.moments.get(f"{side}_{name}")
            if known is not None:
                values[:] = known
            self.state.moments[f"{side}_{name}"] = values
        return adam

    def train(self, first: int, last: int, rates: NDArray[np.float32], key: np.uint64) -> float:
        """Do some rounds of an epoch; returns the mean loss of the samples that were asked for it.

        Not to be called in a thread that signals reach: a kernel thread waits for the others, so all must be started.
        """
        buffers = self._buffers
        buffers.loss[:] = 0
        meeting = new_meeting(self.threads)
        futures = [
            self._pool.submit(self._train_rounds, thread, self.threads, meeting, *self._work(first, rates, key))
            for thread in range(self.threads)
        ]
        for future in futures:
            future.result()
        self._release(first, last)
        loss, count = buffers.loss[:, :2].sum(axis=0)
        return float(loss / count) if count else float("nan")

    def _work(self, first: int, rates: NDArray[np.float32], key: np.uint64) -> tuple[Any, ...]:
        """What the kernels of some rounds are called with, besides the thread."""
        return (
            self.text.text, self._buffers, first, len(self.rounds) - 1, rates, key, self._model, *self._adams,
            self.state.step,
        )  # fmt: skip

    def _release(self, first: int, last: int) -> None:
        """Tell the system which parts of the mapped corpus will not be needed for a while."""
        corpus, rounds, apart = self.text.corpus, len(self.rounds) - 1, self.text.options.optimiser != "adam"
        for share in range(len(self._regions) - 1):
            begin, end = (
                int(bounds.py_func(share, self._regions, r, rounds, apart)[i]) for i, r in enumerate((first, last - 1))
            )
            forget(corpus.tokens, int(self.text.text.sentences[begin]), int(self.text.text.sentences[end]))
            forget(corpus.sentences, begin, end)

    def pull(self) -> None:
        """Nothing to copy: the kernels update the state."""

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
