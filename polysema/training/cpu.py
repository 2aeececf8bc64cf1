"""Training on the processor: the compiled kernels, their buffers, their threads."""

from __future__ import annotations

import mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from polysema.kernels import cbow, ms_word2dm, word2dm
from polysema.kernels.adam import Adam, new_adam
from polysema.kernels.barrier import new_meeting
from polysema.kernels.rounds import Buffers
from polysema.training.options import Options
from polysema.training.state import State
from polysema.training.text import TrainingText


def auto_round(options: Options, text: TrainingText) -> int | None:
    """How many targets make a round; None for Adam, whose rounds are batches of sentences.

    The busiest word should not meet more than a thousand times in a round what was true before it, and a round should
    not outgrow the caches. Word2DM's steps multiply, and CBOW moves both sides at the end, so their rounds are shorter.
    """
    if options.optimiser == "adam":
        return None
    if options.round is not None:
        return options.round
    busiest, size = max(text.busiest, 1e-9), len(text.vocabulary)
    if options.model == "word2dm":
        return int(max(4, min(128, 20 / busiest, size / 8)))
    return int(max(16, min(128 if options.form == "cbow" else 1024, 1000 / busiest, size / 4)))


class CpuEngine:
    """Does rounds of training on the processor.

    Attributes:
        rounds: the first sentence of each round of an epoch, and the end.
        threads: how many; with the parallel mode ``rounds`` the result does not depend on it.
    """

    def __init__(self, text: TrainingText, state: State, threads: int) -> None:
        self.text, self.state, self.threads = text, state, threads
        options = text.options
        self.rounds = text.rounds(auto_round(options, text))
        self._kernel = {"word2dm": word2dm, "cbow": cbow}.get(
            "cbow" if options.form == "cbow" else options.model, ms_word2dm
        )
        self._places = int(np.diff(text.text.sentences[self.rounds]).max(initial=1))
        self._slots = self._places * (2 * options.window if options.pairs else 1)
        listed = threads > 1 and self._kernel is ms_word2dm and options.optimiser == "sgd"
        self._moves = self._slots * (options.negatives + (1 if options.pairs else 2 * options.window)) if listed else 0
        self._buffers = self._new_buffers()
        self._model = ms_word2dm.Model(
            state.target.reshape(-1), state.context.reshape(-1), state.target.shape[2], state.target.shape[1],
            options.select == "cosine" and state.target.shape[1] > 1, options.pairs,
        )  # fmt: skip
        self._adams = (self._new_adam("target", state.target), self._new_adam("context", state.context))
        self._pool = ThreadPoolExecutor(threads)

    def _new_buffers(self) -> Buffers:
        threads, places, slots, negatives = self.threads, self._places, self._slots, self.text.options.negatives
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
            moves=np.empty((threads, self._moves), np.uint64),  # what is not used takes no memory
            starts=np.zeros((threads, threads + 1), np.uint64),
        )

    def _new_adam(self, side: str, array: NDArray[np.float32]) -> Adam:
        options = self.text.options
        on = options.optimiser == "adam"
        rows, width = array.shape[0] * array.shape[1], array.shape[2]
        if self._kernel is word2dm:
            rows, width = array.shape[0], array.shape[1] * array.shape[2]
        most = min(rows, self._slots * (options.negatives + 1) + self._places)
        adam = new_adam(on, rows, width, self.threads, most)
        if on:
            for name, values in (("mean", adam.mean), ("square", adam.square)):
                known = self.state.moments.get(f"{side}_{name}")
                if known is not None:
                    values[:] = known
                self.state.moments[f"{side}_{name}"] = values
        return adam

    def train(self, first: int, last: int, rates: NDArray[np.float32], key: np.uint64) -> float:
        """Do some rounds of an epoch; returns the mean loss of the samples that were asked for it.

        Ctrl-C is raised when the rounds are done, so that the state is one that can be gone on from.
        """
        buffers, options = self._buffers, self.text.options
        buffers.loss[:] = 0
        meeting = new_meeting()
        hogwild = options.parallel == "hogwild" and self.threads > 1
        futures = [
            self._pool.submit(
                self._kernel.train_rounds, thread, self.threads, meeting, self.text.text, buffers,
                self.rounds[first : last + 1], rates, key, self._model, self._adams[0], self._adams[1],
                self.state.step, hogwild,
            )
            for thread in range(self.threads)
        ]  # fmt: skip
        interrupted = False
        for future in futures:
            while True:
                try:
                    future.result()
                    break
                except KeyboardInterrupt:
                    interrupted = True
        self._release(first, last)
        loss, count = buffers.loss[:, :2].sum(axis=0)
        if interrupted:
            raise KeyboardInterrupt
        return float(loss / count) if count else float("nan")

    def _release(self, first: int, last: int) -> None:
        """Tell the system that a part of the mapped corpus will not be needed for a while."""
        tokens = self.text.corpus.tokens
        mapped = getattr(tokens, "_mmap", None)
        if mapped is None or not hasattr(mmap, "MADV_DONTNEED"):
            return
        start, stop = (
            int(self.text.text.sentences[self.rounds[r]]) * tokens.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
            for r in (first, last)
        )
        if stop > start:
            mapped.madvise(mmap.MADV_DONTNEED, start, stop - start)

    def pull(self) -> None:
        """Bring what was learnt into the state: it is there already."""

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
