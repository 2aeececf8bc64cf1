"""Training on a GPU, on synthetic text: python benchmarks/gpu.py [check] [speed] [growth] [stream]

check     the held-out loss of every model and optimiser, trained on the processor and on the GPU
speed     raw corpus words a second, beside the released research scripts on the same kind of GPU (57 k words/s for
          multi-sense Word2DM, 61 k for Word2DM, measured once on an H200 with their bug fixed)
growth    words a second against the vocabulary, n and m
stream    the same corpus resident in the GPU's memory, and streamed through 3 GB of it

The words are drawn by Zipf's law, in sentences of 20; ``check`` has sentences of one topic each.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from measure import table

from polysema.training.cpu import CpuBackend
from polysema.training.cuda import CudaBackend
from polysema.training.models import MODELS
from polysema.training.run import Run, new_state
from polysema.training.text import TrainingText
from polysema.vocabulary import Vocabulary

RELEASED, RELEASED_WORD2DM = 57e3, 61e3
CHUNK = 1 << 27  # words drawn at once
MODELS_CHECKED: tuple[dict[str, Any], ...] = (
    {"model": "ms-word2dm", "form": "window", "senses": 3},
    {"model": "ms-word2dm", "form": "pair", "senses": 3},
    {"model": "word2vec", "dim": 17},
    {"model": "word2dm", "dim": 8, "senses": 8},
)
WORDS, VOCABULARY = 1_000_000_000, 400_000  # of the text of speed and stream
GROWN = 300_000_000  # words of the text of growth
MEMORY = 3e9  # bytes of the GPU that a streamed run may use


class Synthetic:
    """A corpus in memory, of words drawn by Zipf's law: on the GPU where there are many."""

    path, config = Path("synthetic"), {}

    def __init__(self, tokens: int, size: int, seed: int = 1) -> None:
        xp: Any = np
        if tokens > 10_000_000:
            import cupy as xp
        share = 1.0 / np.arange(1, size + 1)
        ends = xp.asarray(np.cumsum(share / share.sum()).astype(np.float32))
        rng = xp.random.default_rng(seed)
        drawn = np.empty(tokens, np.int32)
        for start in range(0, tokens, CHUNK):
            count = min(CHUNK, tokens - start)
            ids = xp.minimum(xp.searchsorted(ends, rng.random(count, dtype=np.float32)), size - 1).astype(np.int32)
            drawn[start : start + count] = ids if xp is np else ids.get()
        free_gpu()
        seen = np.maximum(np.bincount(drawn[:CHUNK], minlength=size), 1) * (tokens / min(tokens, CHUNK))
        self.take(drawn, np.append(np.arange(0, tokens, 20), tokens), seen.astype(np.int64))

    def take(self, tokens: Any, sentences: Any, counts: Any) -> None:
        """Hold what an encoded corpus holds."""
        self.tokens, self.sentences, self.counts = tokens, sentences, counts
        self.vocabulary = Vocabulary(self.words(), counts)

    def words(self) -> Iterator[str]:
        """The words of the vocabulary, by id."""
        return (f"w{i}" for i in range(len(self.counts)))

    def __len__(self) -> int:
        return len(self.sentences) - 1


def free_gpu() -> None:
    """Give back what CuPy holds of the GPU's memory, if CuPy is in use."""
    if "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()


def prepared(corpus: Any, **options: Any) -> tuple[TrainingText, Any]:
    """A text and a fresh state for a synthetic corpus."""
    given = {"model": "ms-word2dm", "min_count": 1, "subsample": 1e-5, "epochs": 1, "held_out": 0.0, **options}
    chosen = MODELS[given.pop("model")].chosen(given).settled(corpus)
    text = TrainingText(corpus, corpus.vocabulary, chosen)
    return text, new_state(chosen, len(corpus.vocabulary))


FIGURES = ["M words/s", "spread", "GB estimated", "GB used"]


@dataclass(frozen=True)
class Figures:
    """Words a second, the median and all; bytes estimated and used; the held-out loss, if some text is held out."""

    speed: float
    speeds: list[float]
    needs: float
    used: float
    loss: float

    def row(self) -> list[str]:
        """The cells under FIGURES."""
        spread = f"{min(self.speeds) / 1e6:.0f}–{max(self.speeds) / 1e6:.0f}"
        return [f"{self.speed / 1e6:.4g}", spread, f"{self.needs / 1e9:.1f}", f"{self.used / 1e9:.1f}"]


def measured(corpus: Any, limit: float | None = None, text: TrainingText | None = None, **options: Any) -> Figures:
    """Three epochs after the first, which brings the corpus to the GPU."""
    import cupy as cp

    text = text or prepared(corpus, **options)[0]
    state = new_state(text.options, len(text.vocabulary))
    before = cp.cuda.runtime.memGetInfo()[0]
    engine = CudaBackend(text, state, limit)
    rates = np.full(len(engine.rounds) - 1, 0.025, np.float32)
    speeds = []
    for i in range(4):
        cp.cuda.Device().synchronize()
        started = time.perf_counter()
        engine.train(0, len(rates), rates, np.uint64(i + 1))
        cp.cuda.Device().synchronize()
        speeds.append(len(corpus.tokens) / (time.perf_counter() - started))
    used = before - cp.cuda.runtime.memGetInfo()[0]
    engine.pull()
    loss = Run(text, state, engine).loss() if text.options.held_out else float("nan")
    engine.close()
    found = Figures(statistics.median(speeds[1:]), speeds[1:], engine.needs, used, loss)
    del engine, state
    free_gpu()
    return found


def check() -> None:
    """Every model and optimiser, on the processor and on the GPU: the held-out loss after three epochs."""
    corpus = Topics()
    rows = []
    for own, optimiser in product(MODELS_CHECKED, ("sgd", "adam")):
        losses, rate = [], 0.002 if own["model"] == "word2dm" and optimiser == "sgd" else None
        for gpu in (False, True):
            text, state = prepared(
                corpus, optimiser=optimiser, subsample=0.0, held_out=0.02, epochs=3, rate=rate, **own
            )
            run = Run(text, state, CudaBackend(text, state) if gpu else CpuBackend(text, state, 2))
            start = run.loss()
            run.run()
            losses.append(state.curve[-1]["held_out_loss"])
        rows.append([own["model"], own.get("form", "–"), optimiser, *(f"{loss:.4f}" for loss in (start, *losses))])
    print(table(["model", "form", "optimiser", "at the start", "processor", "GPU"], rows), flush=True)


class Topics(Synthetic):
    """A small corpus with something to learn: every sentence is of one topic."""

    def __init__(self) -> None:
        topics, size, sentences = 40, 50, 40_000
        rng = np.random.default_rng(0)
        topic = rng.integers(topics, size=(sentences, 1))
        tokens = (topic * size + rng.integers(size, size=(sentences, 12))).astype(np.int32).reshape(-1)
        self.take(tokens, np.arange(0, len(tokens) + 1, 12), np.bincount(tokens, minlength=topics * size))


def speed() -> None:
    """The sizes of the paper and larger ones."""
    rows = []
    corpus = Synthetic(WORDS, VOCABULARY)
    for name, options in (
        ("17×5, window", {}),
        ("17×5, pairs", {"form": "pair"}),
        ("100×5, window", {"dim": 100}),
        ("17×10, window", {"senses": 10}),
        ("word2vec 85, skip-gram", {"model": "word2vec", "dim": 85}),
    ):
        figures = measured(corpus, **options)
        rows.append([name, *figures.row(), f"{figures.speed / RELEASED:,.0f}×"])
    del corpus
    figures = measured(Synthetic(WORDS // 10, VOCABULARY), model="word2dm", optimiser="sgd", rate=0.001)
    rows.append(["word2dm 17×17", *figures.row(), f"{figures.speed / RELEASED_WORD2DM:,.0f}×"])
    print(table(["model", *FIGURES, "to the released scripts"], rows), flush=True)


def growth() -> None:
    """Words a second against the vocabulary, the dimension and the senses."""
    corpora = {size: Synthetic(GROWN, size) for size in (10_000, 100_000, 400_000, 1_000_000)}
    usual = 100_000
    settings: list[tuple[str, int, dict[str, Any]]] = [(f"V = {size:,}", size, {}) for size in corpora]
    settings += [(f"n = {n}", usual, {"dim": n}) for n in (17, 50, 100, 300)]
    settings += [(f"m = {m}", usual, {"senses": m}) for m in (1, 5, 10)]
    rows = [[name, *measured(corpora[size], **options).row()] for name, size, options in settings]
    print(table([f"17×5, V = {usual:,} but for", *FIGURES], rows), flush=True)


def stream() -> None:
    """The same corpus resident and streamed, in turns: speed, memory, and whether the same is learnt.

    At a small rate the order of updates does not matter: an epoch must move the model alike. "moves differ" is the size
    of the difference to the first run's moves, to their size.
    """
    corpus = Synthetic(WORDS, VOCABULARY)
    text, _ = prepared(corpus, held_out=min(0.02, 2000 / len(corpus)))
    rows, first, medians = [], np.zeros(0, np.float32), []
    for limit in (None, MEMORY) * 3:
        state = new_state(text.options, len(text.vocabulary))
        start = state.target.copy()
        engine = CudaBackend(text, state, limit)
        rounds = len(engine.rounds) - 1
        engine.train(0, rounds, np.full(rounds, 1e-5, np.float32), np.uint64(1))
        engine.pull()
        engine.close()
        moves = (state.target - start).ravel()
        first = first if len(first) else moves
        difference = np.linalg.norm(moves - first) / np.linalg.norm(first)
        del engine
        free_gpu()
        figures = measured(corpus, limit, text)
        medians.append(figures.speed)
        name = f"streamed, {limit / 1e9:.0f} GB allowed" if limit else "resident"
        rows.append([name, f"{difference:.1e}", *figures.row(), f"{figures.loss:.4f}"])
    print(table(["corpus", "moves differ", *FIGURES, "held-out loss"], rows))
    resident, streamed = (statistics.median(medians[i::2]) for i in (0, 1))
    print(f"streamed to resident: {streamed / resident:.2f}")


def main() -> None:
    """Run the named parts."""
    parts: dict[str, Callable[[], None]] = {"check": check, "speed": speed, "growth": growth, "stream": stream}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    given = parser.parse_args()
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    print(f"{properties['name'].decode()}, CuPy {cupy.__version__}\n")
    for part in given.parts or parts:
        print(f"\n## {part}\n", flush=True)
        parts[part]()


if __name__ == "__main__":
    main()
