"""What a cluster costs and gives: python benchmarks/cluster.py quality|cost … (docs/measurements/speed.md).

quality CORPUS   held-out loss and word similarity against the number of replicas, and how long they learn apart
cost CORPUS TEXT words/s of the engines ray and local with as many workers, in turns
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import ranged, table

import polysema as ps
from polysema.engine import engine_named
from polysema.evaluation.evaluate import evaluate, load_all
from polysema.training.replicas import ReplicaBackend

BASE: dict[str, Any] = {"dim": 17, "senses": 5, "epochs": 3, "threads": 1}
SETS = ("WS", "SL", "MEN")


def trained(corpus: ps.Corpus, data: Any, seed: int, **options: Any) -> dict[str, float]:
    """Train once; the held-out loss, the mean word similarity, and the seconds."""
    backends: list[Any] = []
    started = time.perf_counter()
    noted = lambda run: backends.append(run.backend)  # noqa: E731
    lexicon = ps.train(corpus, seed=seed, on_epoch=noted, **{**BASE, **options})
    seconds = time.perf_counter() - started
    figures = evaluate(lexicon, data)
    similarity = float(np.mean([figures[name].spearman for name in SETS]))
    found = {"loss": lexicon.metadata["curve"][-1]["held_out_loss"], "similarity": similarity, "seconds": seconds}
    if isinstance(backends[-1], ReplicaBackend):
        found["in_turn"] = backends[-1].in_turn
    return found


def quality(arguments: argparse.Namespace) -> None:
    """A row for each setting: mean ± standard deviation over seeds."""
    corpus, data = ps.Corpus(arguments.corpus), {name: load_all(arguments.data)[name] for name in SETS}
    settings: list[dict[str, Any]] = [{}]
    settings += [{"replicas": r, "apart": arguments.apart[0]} for r in arguments.replicas]
    settings += [{"replicas": arguments.at, "apart": apart} for apart in arguments.apart[1:]]
    rows = []
    for options in settings:
        seeds = range(1, arguments.seeds + 1)
        runs = [trained(corpus, data, seed, epochs=arguments.epochs, **options) for seed in seeds]
        print(json.dumps({**options, "runs": runs}), file=sys.stderr, flush=True)
        cells = [str(options.get(name, "–")) for name in ("replicas", "apart")]
        cells.append(f"{runs[0]['in_turn']:.3f}" if options else "–")
        for name in ("loss", "similarity"):
            values = [run[name] for run in runs]
            cells.append(f"{np.mean(values):.4f} ± {np.std(values):.4f}")
        rows.append([*cells, f"{statistics.mean(run['seconds'] for run in runs):.1f}"])
    heads = ["R", "g", "learnt in turn", "held-out loss", "word similarity", "s"]
    print(table(heads, rows))


def processor_seconds() -> float:
    """Of this process and all that it has started, Ray's among them."""
    import psutil

    here = psutil.Process()
    total = 0.0
    for process in (here, *here.children(recursive=True)):
        try:
            spent = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += spent.user + spent.system
    return total


def cost(arguments: argparse.Namespace) -> None:
    """Speed of both engines, in turns in one process, after a first run of each.

    Words a second of the clock, and words a second of processors: the second says more where others use them, too.
    """
    text, corpus, workers = arguments.text, ps.Corpus(arguments.corpus), arguments.workers

    def build(engine: Any, folder: str) -> int:
        return int(ps.build_corpus(text, Path(folder) / "corpus", engine=engine, workers=workers).config["tokens"])

    def learn(engine: Any, threads: int) -> int:
        options = {**BASE, "threads": threads, "epochs": 1, "replicas": workers, "apart": arguments.apart}
        lexicon = ps.train(corpus, engine=engine, quiet=True, **options)
        return int(lexicon.metadata["curve"][-1]["words"])

    def speed(work: Any, *given: Any) -> tuple[float, float]:
        begun, spent = time.perf_counter(), processor_seconds()
        words = work(*given)
        return words / (time.perf_counter() - begun), words / (processor_seconds() - spent)

    names = ("build local", "build ray", "train local", "train ray")
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with engine_named(arguments.engine, arguments.address, workers) as ray:
        for turn in range(arguments.repeats + 1):
            with TemporaryDirectory() as a, TemporaryDirectory() as b:
                found = [speed(build, "local", a), speed(build, ray, b), speed(learn, "local", workers)]
                found.append(speed(learn, ray, 1))
            if turn:
                for name, value in zip(names, found, strict=True):
                    speeds[name].append(value)
    rows = []
    for work in ("build", "train"):
        for i, of in enumerate(("the clock", "processors")):
            local, spread = ([value[i] for value in speeds[f"{work} {engine}"]] for engine in ("local", "ray"))
            ratios = [b / a for a, b in zip(local, spread, strict=True)]
            here, there = (statistics.median(values) / 1e6 for values in (local, spread))
            rows.append([f"{work}, s of {of}", f"{here:.2f}", f"{there:.2f}", ranged(ratios, 2)])
    print(table(["", "local, M words/s", "ray, M words/s", "ray / local"], rows))


def main() -> None:
    """Choose what to measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("quality")
    part.set_defaults(do=quality)
    part.add_argument("corpus")
    part.add_argument("--data", type=Path)
    part.add_argument("--seeds", type=int, default=3)
    part.add_argument("--replicas", type=int, nargs="*", default=[2, 4, 8, 16])
    part.add_argument("--at", type=int, default=8, help="replicas of the rows that vary the rest")
    part.add_argument("--epochs", type=int, default=BASE["epochs"])
    part.add_argument("--apart", type=float, nargs="+", default=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2])
    part = parts.add_parser("cost")
    part.set_defaults(do=cost)
    part.add_argument("corpus")
    part.add_argument("text")
    part.add_argument("--workers", type=int, default=2)
    part.add_argument("--repeats", type=int, default=3)
    part.add_argument("--apart", type=float, default=0.005)
    part.add_argument("--engine", default="ray")
    part.add_argument("--address")
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
