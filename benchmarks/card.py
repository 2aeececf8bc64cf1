"""Training on a card: python benchmarks/card.py [check] [speed] [growth] [large] (all, when none is named).

check: every model learns on the card what it learns on the processor. speed: raw corpus words a second, beside the
released research scripts on the same kind of card (57 k words/s, measured once on an H200 with their bug fixed) and the
memory bound. growth: words a second against the vocabulary, n and m. large: 2.8 G words, 4 epochs, from ids in memory
to matrices on disk. Text is synthetic: words drawn by Zipf's law, sentences of 20.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import table

from polysema.training.cpu import CpuEngine
from polysema.training.cuda import CudaEngine
from polysema.training.options import Options
from polysema.training.run import Run
from polysema.training.state import learnt_lexicon, new_state
from polysema.training.text import TrainingText
from polysema.vocabulary import Vocabulary

RELEASED = 57e3


class Synthetic:
    """A corpus in memory, of words drawn by Zipf's law."""

    path, config = Path("synthetic"), {}

    def __init__(self, tokens: int, size: int, seed: int = 1) -> None:
        import cupy as cp

        share = 1.0 / np.arange(1, size + 1)
        ends = cp.asarray(np.cumsum(share / share.sum()).astype(np.float32))
        rng = cp.random.default_rng(seed)
        self.tokens = np.empty(tokens, np.int32)
        for start in range(0, tokens, 1 << 27):
            count = min(1 << 27, tokens - start)
            drawn = cp.searchsorted(ends, rng.random(count, dtype=cp.float32))
            self.tokens[start : start + count] = cp.minimum(drawn, size - 1).astype(cp.int32).get()
        cp.get_default_memory_pool().free_all_blocks()
        self.sentences = np.append(np.arange(0, tokens, 20), tokens)
        self.counts = np.maximum(np.bincount(self.tokens[: 1 << 27], minlength=size), 1) * (
            tokens / min(tokens, 1 << 27)
        )
        self.counts = self.counts.astype(np.int64)
        self.vocabulary = Vocabulary([f"w{i}" for i in range(size)], self.counts)

    def __len__(self) -> int:
        return len(self.sentences) - 1


def prepared(corpus: Any, **options: Any) -> tuple[TrainingText, Any]:
    """A text and a fresh state for a synthetic corpus."""
    chosen = Options(**{"min_count": 1, "subsample": 1e-5, "epochs": 1, "held_out": 0.0, **options})
    chosen = chosen.settled(len(corpus.tokens), len(corpus))
    text = TrainingText(corpus, corpus.vocabulary, chosen)
    return text, new_state(chosen, len(corpus.vocabulary))


def epoch_speeds(engine: CudaEngine, tokens: int, repeats: int = 3) -> list[float]:
    """Words a second of whole epochs; the first, which brings the corpus to the card, is not counted."""
    import cupy as cp

    rates = np.full(len(engine.rounds) - 1, 0.025, np.float32)
    speeds = []
    for i in range(repeats + 1):
        cp.cuda.Device().synchronize()
        started = time.perf_counter()
        engine.train(0, len(rates), rates, np.uint64(i + 1))
        cp.cuda.Device().synchronize()
        speeds.append(tokens / (time.perf_counter() - started))
    return speeds[1:]


def measured(corpus: Any, **options: Any) -> tuple[float, str, float, float]:
    """Median words a second, the spread, gigabytes estimated and used."""
    import cupy as cp

    text, state = prepared(corpus, **options)
    before = cp.cuda.runtime.memGetInfo()[0]
    engine = CudaEngine(text, state)
    speeds = epoch_speeds(engine, len(corpus.tokens))
    used = before - cp.cuda.runtime.memGetInfo()[0]
    needs = engine.needs
    engine.close()
    del engine, text, state
    cp.get_default_memory_pool().free_all_blocks()
    return statistics.median(speeds), f"{min(speeds) / 1e6:.0f}–{max(speeds) / 1e6:.0f}", needs / 1e9, used / 1e9


def check() -> None:
    """Every model and optimiser, on the processor and on the card: the held-out loss after three epochs."""
    corpus = Topics()
    rows = []
    for model, form in (
        ("ms-word2dm", "window"), ("ms-word2dm", "pair"), ("word2vec", "skip-gram"), ("word2vec", "cbow"),
        ("word2dm", "pair"),
    ):  # fmt: skip
        for optimiser in ("sgd", "adam"):
            losses = []
            for card in (False, True):
                text, state = prepared(
                    corpus, model=model, form=form, optimiser=optimiser, subsample=0.0, held_out=0.02, epochs=3,
                    senses={"word2vec": 1, "word2dm": 8}.get(model, 3), dim=8 if model == "word2dm" else 17,
                    rate=0.002 if model == "word2dm" and optimiser == "sgd" else None,
                )  # fmt: skip
                engine = CudaEngine(text, state) if card else CpuEngine(text, state, 2)
                run = Run(text, state, engine)
                start = run.loss()
                run.run()
                losses.append(state.curve[-1]["held_out_loss"])
            rows.append([model, form, optimiser, *(f"{loss:.4f}" for loss in (start, *losses))])
    print(table(["model", "form", "optimiser", "at the start", "processor", "card"], rows), flush=True)


class Topics(Synthetic):
    """A small corpus with something to learn: every sentence is of one topic."""

    def __init__(self, topics: int = 40, size: int = 50, sentences: int = 40_000) -> None:
        rng = np.random.default_rng(0)
        topic = rng.integers(topics, size=(sentences, 1))
        self.tokens = (topic * size + rng.integers(size, size=(sentences, 12))).astype(np.int32).reshape(-1)
        self.sentences = np.arange(0, len(self.tokens) + 1, 12)
        self.counts = np.bincount(self.tokens, minlength=topics * size)
        self.vocabulary = Vocabulary([f"w{i}" for i in range(topics * size)], self.counts)


def speed(tokens: int = 1_000_000_000) -> None:
    """The sizes of the paper and a larger one, V = 400 k."""
    rows = []
    corpus = Synthetic(tokens, 400_000)
    for name, options in (
        ("17×5, window", {}),
        ("17×5, pairs", {"form": "pair"}),
        ("100×5, window", {"dim": 100}),
        ("17×10, window", {"senses": 10}),
        ("word2vec 85, skip-gram", {"model": "word2vec", "dim": 85}),
    ):
        median, spread, needs, used = measured(corpus, **options)
        rows.append([name, f"{median / 1e6:.0f}", spread, f"{median / RELEASED:,.0f}×", f"{needs:.1f}", f"{used:.1f}"])
    del corpus
    corpus = Synthetic(tokens // 10, 400_000)
    median, spread, needs, used = measured(corpus, model="word2dm", optimiser="sgd", rate=0.001)
    rows.append(
        ["word2dm 17×17", f"{median / 1e6:.1f}", spread, f"{median / 61e3:,.0f}×", f"{needs:.1f}", f"{used:.1f}"]
    )
    heads = ["model", "M words/s", "spread", "to the released scripts", "GB estimated", "GB used"]
    print(table(heads, rows), flush=True)


def growth(tokens: int = 300_000_000) -> None:
    """Words a second against the vocabulary, the dimension and the senses."""
    rows = []
    for size in (10_000, 100_000, 400_000, 1_000_000):
        corpus = Synthetic(tokens, size)
        median, spread, *_ = measured(corpus)
        rows.append([f"V = {size:,}", f"{median / 1e6:.0f}", spread])
    corpus = Synthetic(tokens, 100_000)
    for n in (17, 50, 100, 300):
        median, spread, *_ = measured(corpus, dim=n)
        rows.append([f"n = {n}", f"{median / 1e6:.0f}", spread])
    for m in (1, 5, 10):
        median, spread, *_ = measured(corpus, senses=m)
        rows.append([f"m = {m}", f"{median / 1e6:.0f}", spread])
    print(table(["17×5, V = 100,000 but for", "M words/s", "spread"], rows), flush=True)


def large(tokens: int = 2_800_000_000) -> None:
    """From ids in host memory to matrices on disk, by stage."""
    corpus = Synthetic(tokens, 400_000)
    stages = []
    started = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal started
        stages.append([name, f"{time.perf_counter() - started:.1f}"])
        started = time.perf_counter()

    text, state = prepared(corpus, epochs=4)
    stage("vocabulary, noise table, random start")
    engine = CudaEngine(text, state)
    stage("kernels compiled, model on the card")
    Run(text, state, engine).run()
    stage(f"4 epochs over {tokens / 1e9:.1f} G words ({'resident' if engine.resident else 'streamed'})")
    folder = Path(tempfile.mkdtemp())
    learnt_lexicon(state, text.options, corpus.vocabulary, {}).save(folder / "lexicon")
    stage("matrices on disk")
    shutil.rmtree(folder)
    stages.append(["in all", f"{sum(float(row[1]) for row in stages):.1f}"])
    print(table(["stage", "seconds"], stages), flush=True)


if __name__ == "__main__":
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    print(f"{properties['name'].decode()}, CuPy {cupy.__version__}\n")
    parts = {"check": check, "speed": speed, "growth": growth, "large": large}
    for part in sys.argv[1:] or parts:
        print(f"\n## {part}\n", flush=True)
        parts[part]()
