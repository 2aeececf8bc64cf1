"""One kernel in four technologies: python benchmarks/gpu_technologies.py [--tokens N] [--no-gpu] [--toy] [NAME …].

Multi-sense Word2DM, window form, SGD, 17×5, 5 noise words, window 5, subsampling 1e-5, V = 400 k, Zipf's law, sentences
of 20: the shipped kernel (CuPy) and plain versions in Triton, numba-cuda and PyTorch (benchmarks/technologies), each in
a process of its own. All draw the same samples, so at a small rate, where the order of updates does not matter, an
epoch must move the model as the processor does: "differs" is |moves − processor's moves| / |processor's moves|. Then
the loss after three epochs at the usual rate on a small corpus with something to learn, and raw words a second of whole
epochs. --no-gpu: PyTorch on the processor and Triton in its interpreter (TRITON_INTERPRET=1), checked only. --toy: tiny
sizes, to see that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from importlib import import_module
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gpu import TOY, Sizes, Synthetic, Topics, prepared
from measure import table

from polysema.kernels.sampling import stream_key
from polysema.training.cpu import CpuEngine
from polysema.training.run import Run

NAMES = ("cupy", "triton", "numba", "torch", "cupy-single", "cupy-cached", "cupy-both")
WITHOUT = {
    "cupy": [],
    "cupy-single": [("__CUDA_ARCH__ >= 900", "0")],
    "cupy-cached": [("__ldcg(", "*(")],
    "cupy-both": [("__CUDA_ARCH__ >= 900", "0"), ("__ldcg(", "*(")],
}
"""The shipped kernel, whole, and without additions of four numbers at once, or reads past the first cache."""
SMALL_RATE = 1e-4


class Shipped:
    """An engine of the package in the dress of the others."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.pull = engine, engine.pull

    def epoch(self, rate: float, key: int) -> None:
        """All rounds of an epoch."""
        count = len(self.engine.rounds) - 1
        self.engine.train(0, count, np.full(count, rate, np.float32), np.uint64(key))

    def wait(self) -> None:
        """An epoch ends when all is done."""


def trainer(name: str, text: Any, state: Any, gpu: bool = True) -> Any:
    """A trainer of the named technology."""
    if name == "processor":
        return Shipped(CpuEngine(text, state, 1))
    if name in WITHOUT:
        from polysema.training import cuda

        source = (files("polysema.kernels") / "cuda" / "negative_sampling.cu").read_text(encoding="utf-8")
        for old, new in WITHOUT[name]:
            assert old in source
            source = source.replace(old, new)
        cuda._source = lambda: source
        return Shipped(cuda.CudaEngine(text, state))
    made = import_module(f"technologies.with_{name}").Trainer
    return made(text, state) if gpu else made(text, state, "cpu")


def differs(name: str, corpus: Any, gpu: bool) -> float:
    """How far the moves of an epoch at a small rate are from the processor's."""
    moves = []
    for which in ("processor", name):
        text, state = prepared(corpus, init="unit", subsample=1e-3)
        start = [state.target.copy(), state.context.copy()]
        one = trainer(which, text, state, gpu)
        one.epoch(SMALL_RATE, int(stream_key(1)))
        one.pull()
        moves.append(np.append(state.target - start[0], state.context - start[1]))
    return float(np.linalg.norm(moves[1] - moves[0]) / np.linalg.norm(moves[0]))


def learnt_loss(name: str, corpus: Any) -> float:
    """The loss after three epochs with a rate that falls, on windows of a share of the sentences, with fresh noise."""
    text, state = prepared(corpus, init="uniform", subsample=0.0)
    one = trainer(name, text, state)
    for epoch in range(3):
        one.epoch(0.025 * (1 - epoch / 3), int(stream_key(1, 1, epoch)))
    one.pull()
    asked, _ = prepared(corpus, subsample=0.0, held_out=0.02)
    loss = Run(asked, state, CpuEngine(asked, state, 1)).loss()
    assert loss is not None
    return loss


def compile_seconds(name: str, sizes: Sizes) -> float:
    """What a first trainer and its first epoch take longer than a second one and its first; imports do not count."""
    text, state = prepared(Synthetic(min(1_000_000, sizes.speed), sizes.vocabulary))
    if name not in WITHOUT:
        import_module(f"technologies.with_{name}")
    times = []
    for _ in range(2):
        started = time.perf_counter()
        other = trainer(name, text, state)
        other.epoch(0.025, 1)
        other.wait()
        times.append(time.perf_counter() - started)
    return times[0] - times[1]


def measured(name: str, tokens: int, sizes: Sizes, repeats: int = 3) -> dict[str, Any]:
    """Words a second."""
    large = Synthetic(tokens, sizes.vocabulary)
    text, state = prepared(large)
    other = trainer(name, text, state)
    shapes = getattr(sys.modules.get(f"technologies.with_{name}"), "SHAPES", [None])
    speeds: dict[Any, list[float]] = {}
    for shape in shapes:
        other.shape = shape
        speeds[shape] = []
        for i in range(repeats + 1):
            other.wait()
            started = time.perf_counter()
            other.epoch(0.025, i + 1)
            other.wait()
            speeds[shape].append(tokens / (time.perf_counter() - started))
        del speeds[shape][0]
    best = max(speeds, key=lambda shape: statistics.median(speeds[shape]))
    return {
        "speed": statistics.median(speeds[best]),
        "spread": f"{min(speeds[best]) / 1e6:.0f}–{max(speeds[best]) / 1e6:.0f}",
        "shape": "" if best is None else "M words/s by targets and warps a program: " + ", ".join(
            f"{shape[0]}, {shape[1]}: {statistics.median(found) / 1e6:.0f}" for shape, found in speeds.items()
        ),
    }  # fmt: skip


def one(name: str, tokens: int, gpu: bool, sizes: Sizes) -> dict[str, Any]:
    """All of one technology."""
    found: dict[str, Any] = {"compiling": compile_seconds(name, sizes)} if gpu else {}
    found["differs"] = differs(name, Topics(8, 20, 200), gpu)
    if gpu:
        found["loss"] = learnt_loss(name, Topics(*sizes.topics))
        found.update(measured(name, tokens, sizes))
    return found


def main() -> None:
    """Run each in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []])
    parser.add_argument("--tokens", type=int, default=200_000_000)
    parser.add_argument("--no-gpu", action="store_true")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--one", action="store_true", help="in this process, and print JSON")
    given = parser.parse_args()
    sizes = TOY if given.toy else Sizes()
    given.tokens = min(given.tokens, sizes.speed)
    gpu = not given.no_gpu
    if given.one:
        print(json.dumps(one(given.names[0], given.tokens, gpu, sizes)))
        return
    names = given.names or (NAMES if gpu else ("torch", "triton"))
    rows, notes = [], []
    for name in names:
        flags = ["--tokens", str(given.tokens), *([] if gpu else ["--no-gpu"]), *(["--toy"] if given.toy else [])]
        with TemporaryDirectory() as empty:
            caches = {"CUPY_CACHE_DIR": empty, "TRITON_CACHE_DIR": empty, "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(
                [sys.executable, __file__, name, "--one", *flags],
                capture_output=True,
                text=True,
                timeout=150,
                env={**os.environ, **caches} | ({} if gpu else {"TRITON_INTERPRET": "1"}),
            )
        if done.returncode:
            print(f"{name} failed:\n{done.stderr[-3000:]}", flush=True)
            continue
        got = json.loads(done.stdout.strip().splitlines()[-1])
        print(name, got, flush=True)
        row = [name, f"{got['differs']:.1e}"]
        if gpu:
            row += [f"{got['loss']:.3f}", f"{got['speed'] / 1e6:.0f}", got["spread"], f"{got['compiling']:.1f}"]
            notes += [f"{name}: {got['shape']}"] if got["shape"] else []
        rows.append(row)
    if gpu:
        rows.append(["the processor", "", f"{learnt_loss('processor', Topics(*sizes.topics)):.3f}", "", "", ""])
    heads = ["technology", "differs"] + (["loss", "M words/s", "spread", "to compile, s"] if gpu else [])
    print(table(heads, rows), *notes, sep="\n", flush=True)


if __name__ == "__main__":
    main()
