"""Do intervals and tests keep their level? Random lexicons have nothing to find, so each finding is a false alarm.

python benchmarks/levels.py DATA

For the equivalence test (TOST) a false alarm is to call two lexicons equivalent that differ by the margin. So one of
each pair is helped: as much of the gold scores is added to its own as raises ρ by the margin, on average over all.
"""

from __future__ import annotations

import argparse

import numpy as np

from polysema.evaluation.comparison import random_evaluations
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import load_all
from polysema.evaluation.records import DISAMBIGUATION
from polysema.evaluation.statistics import LEVEL, MARGIN, bootstrap, interval, paired_test, spearman

METHODS = ("verb", "mult", "add", "tensor", "phaser")


def main() -> None:
    """Print the shares of false alarms, a row a set and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the folder with the nine evaluation sets")
    parser.add_argument("--draws", type=int, default=200, help="random lexicons")
    parser.add_argument("--size", type=int, nargs=2, default=(8, 3), help="n and m of their matrices")
    parser.add_argument("--resamples", type=int, default=300)
    arguments = parser.parse_args()
    sets = {name: items for name, items in load_all(arguments.data).items() if name in DISAMBIGUATION}
    scores: dict[tuple[str, str], list[np.ndarray]] = {}
    for found in random_evaluations(sets, *arguments.size, METHODS, arguments.draws):
        for row in found.rows:
            scores.setdefault((row.items.name, row.method), []).append(row.best.scores)
    print(
        "| set, method | items: interval without 0 | clusters: above 0 | below 0 | p better ≤ .05 | p worse ≤ .05 "
        f"| equivalent, {MARGIN:g} apart |\n|---|---|---|---|---|---|---|"
    )
    for (name, method), rows in scores.items():
        items, drawn, resamples = sets[name], np.stack(rows), arguments.resamples
        shares = []
        for clusters in (None, items.clusters):
            groups = len(set(clusters or range(len(items))))
            resampled = bootstrap(items.gold, drawn, resamples, 1, clusters)
            pairs = zip(drawn, resampled, strict=True)
            bounds = np.array([interval(spearman(items.gold, row), values, groups) for row, values in pairs])
            shares.append(((bounds[:, 0] > 0).mean(), (bounds[:, 1] < 0).mean()))
        tests = [
            paired_test(items.gold, a, b, clusters=items.clusters, resamples=resamples, seed=seed)
            for seed, (a, b) in enumerate(zip(drawn, np.roll(drawn, 1, axis=0), strict=True))
        ]
        better, worse = np.mean([test.p <= 0.05 for test in tests]), np.mean([test.p_worse <= 0.05 for test in tests])
        figures = (sum(shares[0]), *shares[1], better, worse, equivalent(items, drawn, resamples))
        print(f"| {name} {method} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")


def equivalent(items: EvaluationSet, drawn: np.ndarray, resamples: int) -> float:
    """How often a lexicon is called equivalent to one that is better by the margin."""
    own = np.nanstd(drawn, axis=1, keepdims=True)
    scores = (drawn - np.nanmean(drawn, axis=1, keepdims=True)) / np.where(own > 0, own, 1)
    gold = (items.gold - items.gold.mean()) / items.gold.std()
    start = np.mean([spearman(items.gold, row) for row in scores])
    low, high = 0.0, 1.0
    for _ in range(20):
        share = (low + high) / 2
        gain = np.mean([spearman(items.gold, row) for row in scores + share * gold]) - start
        low, high = (share, high) if gain < MARGIN else (low, share)
    helped = scores + share * gold
    tests = [
        paired_test(items.gold, a, b, clusters=items.clusters, resamples=resamples, seed=seed)
        for seed, (a, b) in enumerate(zip(scores, np.roll(helped, 1, axis=0), strict=True))
    ]
    return float(np.mean([test.p_equivalent <= LEVEL for test in tests]))


if __name__ == "__main__":
    main()
