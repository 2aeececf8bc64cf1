"""Training on a GPU: python benchmarks/gpu.py [check] [speed] [growth] [large] [stream] [pipeline --text FILE …]

check     the held-out loss of every model and optimiser, trained on the processor and on the GPU
speed     raw corpus words a second, beside the released research scripts on the same kind of GPU (57 k words/s,
          measured once on an H200 with their bug fixed)
growth    words a second against the vocabulary, n and m
large     2.8 G words, 4 epochs, from ids in memory to matrices on disk
stream    the same corpus resident in the GPU's memory, and streamed through 3 GB of it
pipeline  real text to matrices on disk, by stage; each run is a process of its own, the first with empty caches of
          compiled kernels; leaves the corpus in --work

All but pipeline use synthetic text: words drawn by Zipf's law, sentences of 20. Without a name: all but pipeline.
--toy: tiny sizes, to see that every part runs; the figures mean nothing.
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
CHUNK = 1 << 27  # words drawn at once
FORMS = (
    ("ms-word2dm", "window"), ("ms-word2dm", "pair"), ("word2vec", "skip-gram"), ("word2vec", "cbow"),
    ("word2dm", "pair"),
)  # fmt: skip
OPTIMISERS = ("sgd", "adam")


@dataclass(frozen=True)
class Sizes:
    """How much each part does.

    Attributes:
        speed, growth, large, stream: words of text of the part of that name.
        vocabulary: words of the vocabulary.
        vocabularies, dims, senses: what growth goes through.
        memory: bytes of the GPU that a streamed run may use.
        checked: the models, forms and optimisers of check.
        topics: topics, words a topic and sentences of the corpus of check.
        pinned: bytes of a copy to the GPU.
    """

    speed: int = 1_000_000_000
    growth: int = 300_000_000
    large: int = 2_800_000_000
    stream: int = 1_000_000_000
    vocabulary: int = 400_000
    vocabularies: tuple[int, ...] = (10_000, 100_000, 400_000, 1_000_000)
    dims: tuple[int, ...] = (17, 50, 100, 300)
    senses: tuple[int, ...] = (1, 5, 10)
    memory: float = 3e9
    checked: tuple[tuple[str, str, str], ...] = tuple((*form, optimiser) for form in FORMS for optimiser in OPTIMISERS)
    topics: tuple[int, int, int] = (40, 50, 40_000)
    pinned: int = 1 << 28


TOY = Sizes(
    speed=4_000, growth=2_000, large=2_000, stream=10_000, vocabulary=200, vocabularies=(100, 200), dims=(17,),
    senses=(5,), memory=1.25e5, checked=((*FORMS[0], "sgd"), (*FORMS[-1], "adam")), topics=(4, 10, 100), pinned=1 << 12,
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


def epoch_speeds(engine: CudaEngine, tokens: int, repeats: int = 3) -> list[float]:
    """Words a second of whole epochs; the first, which brings the corpus to the GPU, is not counted."""
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
    free_gpu()
    return statistics.median(speeds), f"{min(speeds) / 1e6:.0f}–{max(speeds) / 1e6:.0f}", needs / 1e9, used / 1e9


def check(sizes: Sizes) -> None:
    """Every model and optimiser, on the processor and on the GPU: the held-out loss after three epochs."""
    corpus = Topics(*sizes.topics)
    rows = []
    for model, form, optimiser in sizes.checked:
        losses = []
        for gpu in (False, True):
            own = {"word2vec": {"form": form}, "word2dm": {"senses": 8}}.get(model, {"form": form, "senses": 3})
            text, state = prepared(
                corpus, model=model, optimiser=optimiser, subsample=0.0, held_out=0.02, epochs=3,
                dim=8 if model == "word2dm" else 17,
                rate=0.002 if model == "word2dm" and optimiser == "sgd" else None,
                **own,
            )  # fmt: skip
            engine = CudaEngine(text, state) if gpu else CpuEngine(text, state, 2)
            run = Run(text, state, engine)
            start = run.loss()
            run.run()
            losses.append(state.curve[-1]["held_out_loss"])
        rows.append([model, form, optimiser, *(f"{loss:.4f}" for loss in (start, *losses))])
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
        median, spread, needs, used = measured(corpus, **options)
        rows.append([name, f"{median / 1e6:.0f}", spread, f"{median / RELEASED:,.0f}×", f"{needs:.1f}", f"{used:.1f}"])
    del corpus
    corpus = Synthetic(sizes.speed // 10, sizes.vocabulary)
    median, spread, needs, used = measured(corpus, model="word2dm", optimiser="sgd", rate=0.001)
    rows.append(
        ["word2dm 17×17", f"{median / 1e6:.1f}", spread, f"{median / 61e3:,.0f}×", f"{needs:.1f}", f"{used:.1f}"]
    )
    heads = ["model", "M words/s", "spread", "to the released scripts", "GB estimated", "GB used"]
    print(table(heads, rows), flush=True)


def growth(sizes: Sizes) -> None:
    """Words a second against the vocabulary, the dimension and the senses."""
    rows = []
    for size in sizes.vocabularies:
        corpus = Synthetic(sizes.growth, size)
        median, spread, *_ = measured(corpus)
        rows.append([f"V = {size:,}", f"{median / 1e6:.0f}", spread])
    corpus = Synthetic(sizes.growth, sizes.vocabularies[1])
    for n in sizes.dims:
        median, spread, *_ = measured(corpus, dim=n)
        rows.append([f"n = {n}", f"{median / 1e6:.0f}", spread])
    for m in sizes.senses:
        median, spread, *_ = measured(corpus, senses=m)
        rows.append([f"m = {m}", f"{median / 1e6:.0f}", spread])
    print(table([f"17×5, V = {sizes.vocabularies[1]:,} but for", "M words/s", "spread"], rows), flush=True)


def large(sizes: Sizes) -> None:
    """From ids in host memory to matrices on disk, by stage."""
    corpus = Synthetic(sizes.large, sizes.vocabulary)
    stages = []
    started = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal started
        stages.append([name, f"{time.perf_counter() - started:.1f}"])
        started = time.perf_counter()

    text, state = prepared(corpus, epochs=4)
    stage("vocabulary, noise table, random start")
    engine = CudaEngine(text, state)
    stage("kernels compiled, model on the GPU")
    Run(text, state, engine).run()
    stage(f"4 epochs over {sizes.large / 1e9:.1f} G words ({'resident' if engine.resident else 'streamed'})")
    folder = Path(tempfile.mkdtemp())
    learnt_lexicon(state, text.options, corpus.vocabulary, {}).save(folder / "lexicon")
    stage("matrices on disk")
    shutil.rmtree(folder)
    stages.append(["in all", f"{sum(float(row[1]) for row in stages):.1f}"])
    print(table(["stage", "seconds"], stages), flush=True)


def stream(sizes: Sizes) -> None:
    """The same corpus resident and streamed: speed, memory, and whether the same is learnt.

    At a small rate the order of updates does not matter: an epoch must move the model alike. "moves differ" is the size
    of the difference to the first run's moves, to their size.
    """
    import cupy as cp

    memory, corpus = sizes.memory, Synthetic(sizes.stream, sizes.vocabulary)
    text, _ = prepared(corpus, held_out=min(0.02, 2000 / len(corpus)))
    rows, first, medians = [], np.zeros(0, np.float32), []
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
        free_gpu()
        state = new_state(text.options, len(text.vocabulary))
        before = cp.cuda.runtime.memGetInfo()[0]
        engine = CudaEngine(text, state, limit)
        speeds = epoch_speeds(engine, sizes.stream)
        used = before - cp.cuda.runtime.memGetInfo()[0]
        engine.pull()
        loss = Run(text, state, engine).loss()
        rate = copy_rate(engine)
        engine._copiers.shutdown()
        engine._copiers = ThreadPoolExecutor(1)
        alone = copy_rate(engine)
        engine.close()
        medians.append(statistics.median(speeds))
        rows.append(
            [
                "resident" if engine.resident else f"streamed, {memory / 1e9:.0f} GB allowed", f"{difference:.1e}",
                f"{medians[-1] / 1e6:.0f}", f"{min(speeds) / 1e6:.0f}–{max(speeds) / 1e6:.0f}",
                f"{loss:.4f}", f"{engine.needs / 1e9:.1f}", f"{used / 1e9:.1f}", f"{rate / 1e9:.1f}",
                f"{alone / 1e9:.1f}",
            ]
        )  # fmt: skip
        del engine
        free_gpu()
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
    resident, streamed = (statistics.median(medians[i::2]) for i in (0, 1))
    print(f"streamed to resident: {streamed / resident:.2f}; a pinned buffer: {pinned_rate(sizes.pinned):.1f} GB/s")


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
    """Bytes a second of a segment's way to the GPU, while nothing else happens there."""
    engine._copies.synchronize()
    place = engine._held[0 if 0 in engine._held else next(iter(engine._held))].result()
    started = time.perf_counter()
    engine._loader.submit(engine._load, 0, place).result()
    engine._copies.synchronize()
    segment = engine._segments[0]
    return (4 * segment.tokens + 8 * segment.sentences) / (time.perf_counter() - started)


def pinned_rate(size: int) -> float:
    """Gigabytes a second from pinned memory, which nobody fills, to the GPU."""
    import cupy as cp

    here, there = cp.cuda.alloc_pinned_memory(size), cp.empty(size // 4, cp.uint32)
    queue = cp.cuda.Stream(non_blocking=True)
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
    with ThreadPoolExecutor(len(packed)) as pool:
        plain = list(pool.map(_unpack, packed, [work / path.stem for path in packed]))
    print(f"unpacking alone, one thread a file: {time.perf_counter() - started:.1f} s", flush=True)
    runs = [("xz, nothing compiled", packed), ("xz", packed), ("plain", plain)]
    try:
        import zstandard  # noqa: F401
    except ImportError:
        print("no zstandard here")
    else:
        with ThreadPoolExecutor(len(packed)) as pool:
            runs.append(("zst", list(pool.map(_pack, plain))))
    rows: dict[str, list[str]] = {}
    caches = Path(tempfile.mkdtemp(dir=work))
    for i, (name, sources) in enumerate(runs):
        began = time.perf_counter()
        printed = run_stages(work, sources, caches)
        whole = time.perf_counter() - began
        taken = json.loads(printed.strip().splitlines()[-1])
        taken["whole process"] = whole
        for stage, seconds in taken.items():
            rows.setdefault(stage, [""] * len(runs))[i] = f"{seconds:.2f}"
        print(f"{name}: {whole:.1f} s", flush=True)
    print(table(["stage, seconds", *(name for name, _ in runs)], [[stage, *times] for stage, times in rows.items()]))


def run_stages(work: Path, sources: list[Path], caches: Path) -> str:
    """Run the pipeline once in a process of its own, with caches of compiled kernels of its own; what it printed."""
    return subprocess.run(
        [sys.executable, __file__, "stages", "--work", str(work), "--text", *map(str, sources)],
        stdout=subprocess.PIPE, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(caches / "numba"), "CUPY_CACHE_DIR": str(caches / "cupy")},
    ).stdout  # fmt: skip


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

    _cupy().zeros(1, np.float32)
    stage("CuPy imported, GPU woken")

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
    stage("kernels compiled, model on the GPU")
    run = Run(text, state, engine)
    stage("held-out windows")
    run.loss = timed("held-out loss, 4 times", run.loss)  # type: ignore[method-assign]
    engine.train = timed("4 epochs, the corpus's way to the GPU included", engine.train)  # type: ignore[method-assign]
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
    parts: dict[str, Callable[[Sizes], None]] = {
        "check": check, "speed": speed, "growth": growth, "large": large, "stream": stream,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, "pipeline", "stages", []])
    parser.add_argument("--text", nargs="+", default=[], help="files for pipeline, packed with xz")
    parser.add_argument(
        "--corpus", type=Path, help="an encoded corpus, for stream: its held-out loss, five seeds each way"
    )
    parser.add_argument("--work", type=Path, default=Path("gpu-work"), help="folder for pipeline")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see that every part runs")
    given = parser.parse_args()
    sizes = TOY if given.toy else Sizes()
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
            parts[part](sizes)
        if part == "stream" and given.corpus is not None:
            streamed_losses(Corpus(given.corpus))
        print(f"\n({time.perf_counter() - started:.0f} s in all)", flush=True)


if __name__ == "__main__":
    main()
