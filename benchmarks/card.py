"""Training on a card: python benchmarks/card.py [check] [speed] [growth] [large] [stream] [pipeline --text FILE …]

check: every model learns on the card what it learns on the processor. speed: raw corpus words a second, beside the
released research scripts on the same kind of card (57 k words/s, measured once on an H200 with their bug fixed) and the
memory bound. growth: words a second against the vocabulary, n and m. large: 2.8 G words, 4 epochs, from ids in memory
to matrices on disk. stream: the same corpus resident, and through 3 GB of the card's memory. The text of these is
synthetic: words drawn by Zipf's law, sentences of 20. pipeline: real text to matrices on disk, by stage, in processes
of their own, the first with nothing compiled beforehand; leaves the corpus in --work. Without a name: all but pipeline.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from measure import table

from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus
from polysema.training.cpu import CpuEngine
from polysema.training.cuda import CudaEngine
from polysema.training.models import MODELS
from polysema.training.options import MSWord2DMOptions
from polysema.training.run import Run
from polysema.training.state import learnt_lexicon, new_state
from polysema.training.text import TrainingText, trained_vocabulary
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
    given = {"model": "ms-word2dm", "min_count": 1, "subsample": 1e-5, "epochs": 1, "held_out": 0.0, **options}
    chosen = MODELS[given.pop("model")].chosen(given).settled(corpus)
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


def stream(tokens: int = 1_000_000_000, memory: float = 3e9) -> None:
    """The same corpus resident and streamed: speed, memory, and whether the same is learnt.

    At a small rate the order of updates does not matter: an epoch must move the model alike. "moves differ" is the size
    of the difference to the first run's moves, to their size.
    """
    import cupy as cp

    corpus = Synthetic(tokens, 400_000)
    text, _ = prepared(corpus, held_out=2000 / len(corpus))
    rows, first = [], np.zeros(0, np.float32)
    for limit in (None, memory) * 3:
        state = new_state(text.options, len(text.vocabulary))
        start = state.target.copy()
        engine = CudaEngine(text, state, limit)
        rounds = len(engine.rounds) - 1
        engine.train(0, rounds, np.full(rounds, 1e-5, np.float32), np.uint64(1))
        engine.pull()
        engine.close()
        moves = (state.target - start).ravel()
        first = first if len(first) else moves
        difference = np.linalg.norm(moves - first) / np.linalg.norm(first)
        del engine
        cp.get_default_memory_pool().free_all_blocks()
        state = new_state(text.options, len(text.vocabulary))
        before = cp.cuda.runtime.memGetInfo()[0]
        engine = CudaEngine(text, state, limit)
        speeds = epoch_speeds(engine, tokens)
        used = before - cp.cuda.runtime.memGetInfo()[0]
        engine.pull()
        loss = Run(text, state, engine).loss()
        rate = copy_rate(engine)
        engine._copiers.shutdown()
        engine._copiers = ThreadPoolExecutor(1)
        alone = copy_rate(engine)
        engine.close()
        rows.append(
            [
                "resident" if engine.resident else f"streamed, {memory / 1e9:.0f} GB allowed", f"{difference:.1e}",
                f"{statistics.median(speeds) / 1e6:.0f}", f"{min(speeds) / 1e6:.0f}–{max(speeds) / 1e6:.0f}",
                f"{loss:.4f}", f"{engine.needs / 1e9:.1f}", f"{used / 1e9:.1f}", f"{rate / 1e9:.1f}",
                f"{alone / 1e9:.1f}",
            ]
        )  # fmt: skip
        del engine
        cp.get_default_memory_pool().free_all_blocks()
    heads = [
        "corpus",
        "moves differ",
        "M words/s",
        "spread",
        "held-out loss",
        "GB estimated",
        "GB used",
        "copies, GB/s",
        "by one thread",
    ]
    print(table(heads, rows))
    resident, streamed = (statistics.median(float(row[2]) for row in rows[i::2]) for i in (0, 1))
    print(f"streamed to resident: {streamed / resident:.2f}; a pinned buffer: {pinned_rate():.1f} GB/s")


def streamed_losses(corpus: Corpus, memory: float = 0.75e9, seeds: int = 5) -> None:
    """The held-out loss on real text, the paper's sizes, the corpus resident and streamed."""
    rows = []
    for limit in (None, memory):
        losses, taken = [], []
        for seed in range(1, seeds + 1):
            options = MSWord2DMOptions(min_count=50, subsample=1e-5, epochs=4, seed=seed).settled(corpus)
            vocabulary = trained_vocabulary(corpus, options)
            text = TrainingText(corpus, vocabulary, options)
            state = new_state(options, len(vocabulary))
            engine = CudaEngine(text, state, limit)
            Run(text, state, engine).run()
            losses.append(state.curve[-1]["held_out_loss"])
            taken.append(state.seconds)
        name = (
            "resident" if engine.resident else f"streamed, {len(engine._segments)} segments, {memory / 1e9} GB allowed"
        )
        spread = f"{statistics.mean(losses):.3f} ± {statistics.stdev(losses):.3f}"
        rows.append([name, spread, f"{statistics.median(taken):.2f}"])
    print(table([f"{len(corpus.tokens):,} tokens, 4 epochs, {seeds} seeds", "held-out loss", "seconds"], rows))


def copy_rate(engine: CudaEngine) -> float:
    """Bytes a second of a segment's way to the card, while nothing else happens there."""
    engine._copies.synchronize()
    place = engine._held[0 if 0 in engine._held else next(iter(engine._held))].result()
    started = time.perf_counter()
    engine._loader.submit(engine._load, 0, place).result()
    engine._copies.synchronize()
    segment = engine._segments[0]
    return (4 * segment.tokens + 8 * segment.sentences) / (time.perf_counter() - started)


def pinned_rate() -> float:
    """Gigabytes a second from pinned memory, which nobody fills, to the card."""
    import cupy as cp

    size = 1 << 28
    here, there, queue = cp.cuda.alloc_pinned_memory(size), cp.empty(size, cp.uint8), cp.cuda.Stream(non_blocking=True)
    for _ in range(2):
        queue.synchronize()
        started = time.perf_counter()
        for _ in range(8):
            cp.cuda.runtime.memcpyAsync(there.data.ptr, here.ptr, size, 1, queue.ptr)
        queue.synchronize()
    return 8 * size / (time.perf_counter() - started) / 1e9


def pipeline(files: list[str], work: Path) -> None:
    """Text to matrices, whole, by stage: packed with nothing compiled, packed again, plain, and packed as zst."""
    work.mkdir(parents=True, exist_ok=True)
    packed = sorted(Path(file) for file in files)
    started = time.perf_counter()
    with Pool(len(packed)) as pool:
        plain = pool.starmap(_unpack, [(path, work / path.stem) for path in packed])
    print(f"unpacking alone, one process a file: {time.perf_counter() - started:.1f} s", flush=True)
    runs = [("xz, nothing compiled", packed), ("xz", packed), ("plain", plain)]
    try:
        import zstandard  # noqa: F401
    except ImportError:
        print("no zstandard here")
    else:
        with Pool(len(packed)) as pool:
            runs.append(("zst", pool.map(_pack, plain)))
    rows: dict[str, list[str]] = {}
    caches = Path(tempfile.mkdtemp(dir=work))
    for i, (name, sources) in enumerate(runs):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, __file__, "stages", "--work", str(work), "--text", *map(str, sources)],
            stdout=subprocess.PIPE, text=True, check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(caches / "numba"), "CUPY_CACHE_DIR": str(caches / "cupy")},
        )  # fmt: skip
        whole = time.perf_counter() - began
        stages = json.loads(done.stdout.strip().splitlines()[-1])
        stages["whole process"] = whole
        for stage, seconds in stages.items():
            rows.setdefault(stage, [""] * len(runs))[i] = f"{seconds:.2f}"
        print(f"{name}: {whole:.1f} s", flush=True)
    print(table(["stage, seconds", *(name for name, _ in runs)], [[stage, *times] for stage, times in rows.items()]))


def _unpack(path: Path, to: Path) -> Path:
    with lzma.open(path) as packed, open(to, "wb") as plain:
        shutil.copyfileobj(packed, plain, 1 << 20)
    return to


def _pack(path: Path) -> Path:
    import zstandard

    to = path.with_suffix(".zst")
    with open(path, "rb") as plain, open(to, "wb") as packed:
        zstandard.ZstdCompressor(level=3).copy_stream(plain, packed)
    return to


def stages(files: list[str], work: Path) -> None:
    """One run of the pipeline; prints seconds by stage as JSON. The paper's sizes, SGD."""
    taken: dict[str, float] = {}
    began = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal began
        taken[name] = time.perf_counter() - began
        began = time.perf_counter()

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                taken[name] = taken.get(name, 0.0) + time.perf_counter() - started

        return call

    from polysema.training.cuda import _cupy

    _cupy().zeros(1)
    stage("CuPy imported, card woken")

    def building(progress: Any) -> None:
        if progress.stage == "writing" and reading not in taken:
            stage(reading)

    reading = "text read, words counted and encoded"
    corpus = build_corpus(files, work / "shared.corpus", overwrite=True, progress=building)
    stage("vocabulary sorted, corpus written")
    options = MSWord2DMOptions(min_count=50, subsample=1e-5, epochs=4).settled(corpus)
    vocabulary = trained_vocabulary(corpus, options)
    text = TrainingText(corpus, vocabulary, options)
    state = new_state(options, len(vocabulary))
    stage("model's vocabulary, noise table, random start")
    engine = CudaEngine(text, state)
    stage("kernels compiled, model on the card")
    run = Run(text, state, engine)
    stage("held-out windows")
    run.loss = timed("held-out loss, 4 times", run.loss)  # type: ignore[method-assign]
    engine.train = timed("4 epochs, the corpus's way to the card included", engine.train)  # type: ignore[method-assign]
    run.run()
    learning = time.perf_counter() - began
    began = time.perf_counter()
    learnt_lexicon(state, options, vocabulary, {}).save(work / "lexicon", overwrite=True)
    stage("matrices on disk")
    taken["(training, all of it)"] = learning
    taken["(first epoch)"] = state.curve[0]["seconds"]
    print(f"{len(corpus.tokens):,} tokens, {len(vocabulary):,} words, {state.curve}", file=sys.stderr)
    print(json.dumps(taken))


def main() -> None:
    """Run the named parts."""
    parts: dict[str, Callable[[], None]] = {
        "check": check, "speed": speed, "growth": growth, "large": large, "stream": stream,
    }  # fmt: skip
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*parts, "pipeline", "stages", []])
    parser.add_argument("--text", nargs="+", default=[], help="files for pipeline, packed with xz")
    parser.add_argument(
        "--corpus", type=Path, help="an encoded corpus, for stream: its held-out loss, five seeds each way"
    )
    parser.add_argument("--work", type=Path, default=Path("card-work"), help="folder for pipeline")
    given = parser.parse_args()
    if given.parts == ["stages"]:
        return stages(given.text, given.work)
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    print(f"{properties['name'].decode()}, CuPy {cupy.__version__}\n")
    for part in given.parts or parts:
        print(f"\n## {part}\n", flush=True)
        started = time.perf_counter()
        if part == "pipeline":
            pipeline(given.text, given.work)
        else:
            parts[part]()
        if part == "stream" and given.corpus is not None:
            streamed_losses(Corpus(given.corpus))
        print(f"\n({time.perf_counter() - started:.0f} s in all)", flush=True)


if __name__ == "__main__":
    main()
