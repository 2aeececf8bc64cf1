"""Training on a GPU, on synthetic text: python benchmarks/gpu.py [check] [speed] [growth] [stream] [--toy]

check     the held-out loss of every model and optimiser, trained on the processor and on the GPU
speed     raw corpus words a second, beside the released research scripts on the same kind of GPU (57 k words/s for
          multi-sense Word2DM, 61 k for Word2DM, measured once on an H200 with their bug fixed)
growth    words a second against the vocabulary, n and m
stream    the same corpus resident in the GPU's memory, and streamed through 3 GB of it

The words are drawn by Zipf's law, in sentences of 20; ``check`` has sentences of one topic each. --toy: tiny sizes, to
see that every part runs; the figures mean nothing.
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
CHECKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ms-word2dm", {"form": "window", "senses": 3}),
    ("ms-word2dm", {"form": "pair", "senses": 3}),
    ("word2vec", {"dim": 17}),
    ("word2dm", {"dim": 8, "senses": 8}),
)


@dataclass(frozen=True)
class Sizes:
    """How much each part does.

    Attributes:
        speed, growth, stream: words of text of the part of that name.
        vocabulary: words of the vocabulary.
        vocabularies, dims, senses: what growth goes through.
        memory: bytes of the GPU that a streamed run may use.
        checked, optimisers: the models of check with their options, and the optimisers.
        topics: topics, words a topic and sentences of the corpus of check.
    """

    speed: int = 1_000_000_000
    growth: int = 300_000_000
    stream: int = 1_000_000_000
    vocabulary: int = 400_000
    vocabularies: tuple[int, ...] = (10_000, 100_000, 400_000, 1_000_000)
    dims: tuple[int, ...] = (17, 50, 100, 300)
    senses: tuple[int, ...] = (1, 5, 10)
    memory: float = 3e9
    checked: tuple[tuple[str, dict[str, Any]], ...] = CHECKED
    topics: tuple[int, int, int] = (40, 50, 40_000)
    optimisers: tuple[str, ...] = ("sgd", "adam")


TOY = Sizes(
    speed=4_000, growth=2_000, stream=10_000, vocabulary=200, vocabularies=(100, 200), dims=(17,), senses=(5,),
    memory=1.25e5, checked=CHECKED[:1], topics=(4, 10, 100), optimisers=("adam",),
)  # fmt: skip


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


def check(sizes: Sizes) -> None:
    """Every model and optimiser, on the processor and on the GPU: the held-out loss after three epochs."""
    corpus = Topics(*sizes.topics)
    rows = []
    for (model, own), optimiser in product(sizes.checked, sizes.optimisers):
        losses = []
        for gpu in (False, True):
            text, state = prepared(
                corpus, model=model, optimiser=optimiser, subsample=0.0, held_out=0.02, epochs=3,
                rate=0.002 if model == "word2dm" and optimiser == "sgd" else None, **own,
            )  # fmt: skip
            run = Run(text, state, CudaBackend(text, state) if gpu else CpuBackend(text, state, 2))
            start = run.loss()
            run.run()
            losses.append(state.curve[-1]["held_out_loss"])
        rows.append([model, own.get("form", "–"), optimiser, *(f"{loss:.4f}" for loss in (start, *losses))])
    print(table(["model", "form", "optimiser", "at the start", "processor", "GPU"], rows), flush=True)


class Topics(Synthetic):
    """A small corpus with something to learn: every sentence is of one topic."""

    def __init__(self, topics: int = 40, size: int = 50, sentences: int = 40_000) -> None:
        rng = np.random.default_rng(0)
        topic = rng.integers(topics, size=(sentences, 1))
        tokens = (topic * size + rng.integers(size, size=(sentences, 12))).astype(np.int32).reshape(-1)
        self.take(tokens, np.arange(0, len(tokens) + 1, 12), np.bincount(tokens, minlength=topics * size))


def speed(sizes: Sizes) -> None:
    """The sizes of the paper and larger ones."""
    rows = []
    corpus = Synthetic(sizes.speed, sizes.vocabulary)
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
    figures = measured(Synthetic(sizes.speed // 10, sizes.vocabulary), model="word2dm", optimiser="sgd", rate=0.001)
    rows.append(["word2dm 17×17", *figures.row(), f"{figures.speed / RELEASED_WORD2DM:,.0f}×"])
    print(table(["model", *FIGURES, "to the released scripts"], rows), flush=True)


def growth(sizes: Sizes) -> None:
    """Words a second against the vocabulary, the dimension and the senses."""
    corpora = {size: Synthetic(sizes.growth, size) for size in sizes.vocabularies}
    usual = sizes.vocabularies[1]
    settings = [(f"V = {size:,}", size, {}) for size in sizes.vocabularies]
    settings += [(f"n = {n}", usual, {"dim": n}) for n in sizes.dims]
    settings += [(f"m = {m}", usual, {"senses": m}) for m in sizes.senses]
    rows = [[name, *measured(corpora[size], **options).row()] for name, size, options in settings]
    print(table([f"17×5, V = {usual:,} but for", *FIGURES], rows), flush=True)


def stream(sizes: Sizes) -> None:
    """The same corpus resident and streamed, in turns: speed, memory, and whether the same is learnt.

    At a small rate the order of updates does not matter: an epoch must move the model alike. "moves differ" is the size
    of the difference to the first run's moves, to their size.
    """
    corpus = Synthetic(sizes.stream, sizes.vocabulary)
    text, _ = prepared(corpus, held_out=min(0.02, 2000 / len(corpus)))
    rows, first, medians = [], np.zeros(0, np.float32), []
    for limit in (None, sizes.memory) * 3:
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
    parts: dict[str, Callable[[Sizes], None]] = {"check": check, "speed": speed, "growth": growth, "stream": stream}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see that every part runs")
    given = parser.parse_args()
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    print(f"{properties['name'].decode()}, CuPy {cupy.__version__}\n")
    for part in given.parts or parts:
        print(f"\n## {part}\n", flush=True)
        parts[part](TOY if given.toy else Sizes())


if __name__ == "__main__":
    main()
