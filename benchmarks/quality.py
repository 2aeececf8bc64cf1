"""What settings do to quality: python benchmarks/quality.py CORPUS [--seeds N] [--device cuda] [--only NAME …].

Each setting changes the first, and is trained with several seeds; word similarity, the held-out loss and Phaser on the
four disambiguation sets (Add for vectors), mean ± standard deviation. Settings are to be chosen by the first two, never
by the last: those sets are what the paper tests on.

--json FILE keeps every figure of every seed; a run that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import table

import polysema as ps
from polysema.evaluation.evaluate import evaluate, load_all
from polysema.files.atomic import atomic_file

BASE = {"min_count": 50, "subsample": 1e-5, "epochs": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "17×5, 4 epochs": {},
    "rate 0.025": {"rate": 0.025},
    "rate 0.05": {"rate": 0.05},
    "init uniform": {"init": "uniform"},
    "init word2vec": {"init": "word2vec"},
    "8 epochs": {"epochs": 8},
    "16 epochs": {"epochs": 16},
    "window 3": {"window": 3},
    "window 10": {"window": 10},
    "10 noise words": {"negatives": 10},
    "subsample 1e-4": {"subsample": 1e-4},
    "subsample 3e-6": {"subsample": 3e-6},
    "min count 5": {"min_count": 5},
    "min count 20": {"min_count": 20},
    "min count 200": {"min_count": 200},
    "n = 10": {"dim": 10},
    "n = 32": {"dim": 32},
    "n = 50": {"dim": 50},
    "n = 100": {"dim": 100},
    "m = 1": {"senses": 1},
    "m = 2": {"senses": 2},
    "m = 10": {"senses": 10},
    "n = 32, window 3, 8 epochs": {"dim": 32, "window": 3, "epochs": 8},
    "select dot": {"select": "dot"},
    "pair form": {"form": "pair"},
    "rounds of 4096": {"round": 4096},
    "rounds of 256": {"round": 256},
    "adam": {"optimiser": "adam"},
    "the paper's": {"preset": "paper", "init": "paper"},
    "skip-gram, 17": {"model": "word2vec"},
    "skip-gram, 85": {"model": "word2vec", "dim": 85},
    "CBOW, 85": {"model": "word2vec", "form": "cbow", "dim": 85},
    "Word2DM 17×17": {"model": "word2dm"},
    "Word2DM 17×17, sgd": {"model": "word2dm", "optimiser": "sgd", "rate": 0.005},
}
WORDS, PHRASES = ("RG", "WS", "MC", "SL", "MEN"), ("ML2008", "GS2011", "GS2012", "KS2013")


def main() -> None:
    """Train, evaluate, print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data")
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    corpus, data = ps.Corpus(arguments.corpus), load_all(arguments.data)
    everything: dict[str, list[dict[str, Any]]] = {}
    if arguments.json and arguments.json.is_file():
        everything = json.loads(arguments.json.read_text(encoding="utf-8"))
    rows = []
    for name in arguments.only or SETTINGS:
        options = {**BASE, **SETTINGS[name]}
        model = options.pop("model", "ms-word2dm")
        runs = everything.setdefault(name, [])
        for seed in range(len(runs) + 1, arguments.seeds + 1):
            started = time.perf_counter()
            lexicon = ps.train(corpus, model, seed=seed, device=arguments.device, **options)
            figures: dict[str, Any] = {"figures": evaluate(lexicon, data, name="model").figures()["model"]}
            figures["loss"] = lexicon.metadata["curve"][-1]["held_out_loss"]
            figures["seconds"] = time.perf_counter() - started
            runs.append(figures)
            if arguments.json:
                with atomic_file(arguments.json, overwrite=True, owner=lambda path: None) as file:
                    file.write(json.dumps(everything).encode())
        rows.append(row(name, runs))
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(table(["", "loss", *WORDS, "mean", *PHRASES], rows))


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A line of the table."""
    losses = [run["loss"] for run in runs if run["loss"] is not None]
    words = [[run["figures"][key]["word"] for run in runs] for key in WORDS]
    phrases = []
    for key in PHRASES:
        method = "phaser" if "phaser" in runs[0]["figures"][key] else "add"
        phrases.append([run["figures"][key][method] for run in runs])
    mean = np.mean(words, axis=0).tolist()
    return [name, spread(losses, 3), *map(spread, [*words, mean, *phrases])]


def spread(values: list[float], digits: int = 2) -> str:
    """Mean ± standard deviation."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits + 1}f}"
    return f"{np.mean(values):.{digits + 1}f} ± {np.std(values, ddof=1):.{digits}f}"


if __name__ == "__main__":
    main()
