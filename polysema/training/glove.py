"""GloVe vectors (Pennington, Socher & Manning 2014), from the same vocabulary, window and subsampling as the rest.

Co-occurrences are counted over the survivors of one draw of subsampling and windows, and weigh 1/distance. A word's
vector is the sum of its two sides. The walk over the counts is one thread's, in an order drawn from the seed.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from polysema.errors import UnknownChoiceError
from polysema.kernels.glove import count_pairs, train_counts
from polysema.kernels.sampling import gather, stream_key
from polysema.kernels.simd import padded
from polysema.lexicon.lexicon import VectorLexicon
from polysema.training.models import Job
from polysema.training.options import Options
from polysema.training.run import DivergenceError, Progress
from polysema.training.text import TrainingText, trained_vocabulary

_CHUNK = 4_000_000  # tokens that are counted at once
_BLOCK = 400_000  # counts between two looks at the clock


@dataclass(frozen=True, slots=True)
class GloveOptions:
    """How GloVe is trained; names as in :class:`~polysema.training.options.Options`.

    Attributes:
        most: counts from this on have full weight.
        power: smaller ones weigh (x / most) to this power.
    """

    dim: int = 100
    window: int = 5
    subsample: float | None = None
    min_count: int | None = None
    max_size: int | None = None
    epochs: int = 15
    rate: float = 0.05
    most: float = 10.0
    power: float = 0.75
    seed: int = 1


def train(job: Job, chosen: dict[str, Any]) -> VectorLexicon:
    """Train GloVe; see :func:`polysema.training.models.train`."""
    names = [field.name for field in dataclasses.fields(GloveOptions)]
    for name in chosen:
        if name not in names:
            raise UnknownChoiceError("option of glove", name, names)
    glove = GloveOptions(**chosen)
    shared = {name: getattr(glove, name) for name in ("dim", "window", "subsample", "min_count", "max_size", "seed")}
    options = Options(**shared, held_out=0.0).settled(len(job.corpus.tokens), len(job.corpus))
    vocabulary = trained_vocabulary(job.corpus, options, job.keep)
    text = TrainingText(job.corpus, vocabulary, options)
    counts = co_occurrences(text).tocoo()
    n = padded(glove.dim)
    rng = np.random.default_rng([glove.seed, 2])
    sides = [np.zeros((len(vocabulary), n + 4), np.float32) for _ in range(2)]
    for side in sides:
        side[:, : glove.dim] = rng.uniform(-0.5 / glove.dim, 0.5 / glove.dim, (len(vocabulary), glove.dim))
    squares = [np.ones_like(side) for side in sides]
    flat = [array.reshape(-1) for array in (*sides, *squares)]
    curve: list[dict[str, Any]] = []
    started = time.perf_counter()
    size = counts.nnz
    for epoch in range(glove.epochs):
        order = np.random.default_rng([glove.seed, 3, epoch]).permutation(size)
        total, taken = 0.0, 0
        for first in range(0, size, _BLOCK):
            loss, steps = train_counts(
                order, first, min(first + _BLOCK, size), counts.row, counts.col, counts.data, flat[0], flat[1],
                flat[2], flat[3], np.uint64(n), np.float32(glove.rate), glove.most, glove.power,
            )  # fmt: skip
            total, taken = total + loss, taken + steps
            if not np.isfinite(total):
                raise DivergenceError(f"GloVe diverged in epoch {epoch + 1}: lower the rate (now {glove.rate})")
            _show(job, glove, epoch, first, size, started, loss / max(steps, 1))
        seconds = round(time.perf_counter() - started, 2)
        curve.append({"epoch": epoch + 1, "training_loss": total / max(taken, 1), "seconds": seconds})
    vectors = sides[0][:, : glove.dim] + sides[1][:, : glove.dim]
    settled = {**dataclasses.asdict(glove), "subsample": options.subsample, "min_count": options.min_count}
    facts = {"sentences": len(job.corpus), "tokens": len(job.corpus.tokens), "co_occurrences": int(size)}
    return VectorLexicon(
        vocabulary, vectors, metadata={"training": {"model": "glove", **settled}, "corpus": facts, "curve": curve}
    )


def _show(job: Job, glove: GloveOptions, epoch: int, done: int, size: int, started: float, loss: float) -> None:
    if job.progress is None:
        return
    tokens = len(job.corpus.tokens)
    share = (epoch + done / size) / glove.epochs
    seconds = time.perf_counter() - started
    words = int(share * tokens * glove.epochs)
    left = seconds * (1 - share) / max(share, 1e-9)
    job.progress(
        Progress(
            epoch + 1, glove.epochs, words, tokens * glove.epochs, words / max(seconds, 1e-9), loss, None, glove.rate,
            seconds, left,
        )
    )  # fmt: skip


def co_occurrences(text: TrainingText) -> csr_array:
    """The upper triangle of the weighted co-occurrence counts, (V, V)."""
    source, size = text.text, len(text.vocabulary)
    sentences = source.sentences
    key = stream_key(text.options.seed, 1, 0)
    total = csr_array((size, size), dtype=np.float32)
    start = 0
    while start < len(sentences) - 1:
        stop = int(np.searchsorted(sentences, sentences[start] + _CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), len(sentences) - 1)
        places = int(sentences[stop] - sentences[start])
        ids = np.empty(places, np.uint32)
        hashes, lows, highs = (np.empty(places, np.uint64) for _ in range(3))
        count = gather(
            source.tokens, sentences, start, stop, source.rows, source.keep, key, source.window, 0, 0, ids, hashes,
            lows, highs,
        )  # fmt: skip
        most = int((np.arange(count) - lows[:count].astype(np.int64)).sum())
        rows, columns = np.empty(most, np.int32), np.empty(most, np.int32)
        weights: NDArray[np.float32] = np.empty(most, np.float32)
        count_pairs(ids, lows, count, rows, columns, weights)
        total = total + coo_array((weights, (rows, columns)), shape=(size, size)).tocsr()
        start = stop
    return total
