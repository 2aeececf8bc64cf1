"""What a cluster costs and gives: python benchmarks/cluster.py quality|cost|model … (docs/measurements/cluster.md).

quality CORPUS   held-out loss and word similarity against the number of replicas, and against merges an epoch
cost CORPUS TEXT words/s of the engines ray and local with as many workers, in turns; bytes and seconds of a merge
model            time against nodes, from those figures, drawn
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import table

import polysema as ps
from polysema.evaluation.evaluate import evaluate, load_all

BASE: dict[str, Any] = {"dim": 17, "senses": 5, "epochs": 3, "threads": 1}
SETS = ("WS", "SL", "MEN")


def trained(corpus: ps.Corpus, data: Any, seed: int, **options: Any) -> dict[str, float]:
    """Train once; the held-out loss, the mean word similarity, and the seconds."""
    started = time.perf_counter()
    lexicon = ps.train(corpus, seed=seed, **{**BASE, **options})
    seconds = time.perf_counter() - started
    figures = evaluate(lexicon, data, name="model").figures()["model"]
    similarity = float(np.mean([next(iter(figures[name].values())) for name in SETS]))
    return {"loss": lexicon.metadata["curve"][-1]["held_out_loss"], "similarity": similarity, "seconds": seconds}


def quality(arguments: argparse.Namespace) -> None:
    """A row for each setting: mean ± standard deviation over seeds, and the distance from one replica in deviations."""
    corpus, data = ps.Corpus(arguments.corpus), {name: load_all(arguments.data)[name] for name in SETS}
    settings: list[dict[str, Any]] = [{}]
    default = {"merges": arguments.merges[0], "combine": arguments.combine[0]}
    settings += [{"replicas": r, **default} for r in arguments.replicas]
    settings += [{"replicas": arguments.at, **default, "merges": merges} for merges in arguments.merges[1:]]
    settings += [{"replicas": arguments.at, **default, "combine": combine} for combine in arguments.combine[1:]]
    rows, base = [], None
    for options in settings:
        runs = [trained(corpus, data, seed, **options) for seed in range(1, arguments.seeds + 1)]
        print(json.dumps({**options, "runs": runs}), file=sys.stderr, flush=True)
        cells = [str(options.get(name, "–")) for name in ("replicas", "merges", "combine")]
        for name in ("loss", "similarity"):
            values = [run[name] for run in runs]
            cells.append(f"{statistics.mean(values):.4f} ± {statistics.pstdev(values):.4f}")
        base = base or runs
        rows.append([*cells, f"{statistics.mean(run['seconds'] for run in runs):.1f}"])
    print(table(["R", "merges an epoch", "combined by", "held-out loss", "word similarity", "s"], rows))


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
    part.add_argument("--merges", type=int, nargs="+", default=[100, 400, 25, 6])
    part.add_argument("--combine", nargs="+", default=["counts", "sum", "mean"])
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
