"""The nine figures against the amount of text: python benchmarks/curve.py CORPUS --words 12e6 25e6 … [--device cuda]

Trains multi-sense Word2DM 17×5 with the recommended settings on the beginning of a corpus, several seeds a size;
Spearman's ρ on the word similarity sets, and Phaser on the disambiguation sets: mean ± standard deviation. Words of the
sets are trained whatever their count, so that all sizes are judged by the same items.

--json FILE    every figure of every seed; a run that was stopped goes on from there
--read FILE …  draw what is in such files instead of training, and fit a line in log words (± its standard error)
--plot FILE    the curves beside the paper's figures at 2.8 G words; --note TEXT stands below
--seeds-of FILE.json --plot FILE  the distribution of Phaser on the four sets over the seeds of a file that this or
               benchmarks/quality.py wrote (of the size with most seeds), beside the paper's single figures
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import table
from quality import PHRASES, WORDS, spread

import polysema as ps
from polysema.evaluation.datasets import words_of
from polysema.evaluation.evaluate import evaluate, load_all
from polysema.files.atomic import atomic_file
from polysema.reproduction.published import DISAMBIGUATION, METHODS, WORD_SIMILARITY

PAPER_WORDS = 2.8e9
ROW = "MS-Word2DM cos 5"
PAPER = dict(zip(WORDS, WORD_SIMILARITY[ROW], strict=True)) | {
    name: DISAMBIGUATION[name][ROW][METHODS.index("phaser")] for name in PHRASES
}


def main() -> None:
    """Train and evaluate, or read; then print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--words", nargs="*", type=float, default=[12e6, 25e6, 50e6, 100e6])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--read", nargs="*", default=[])
    parser.add_argument("--seeds-of")
    parser.add_argument("--plot")
    parser.add_argument("--note", default="")
    arguments = parser.parse_args()
    if arguments.seeds_of:
        read = json.loads(Path(arguments.seeds_of).read_text())
        found = [point["runs"] for point in read] if isinstance(read, list) else list(read.values())
        return seeds([run.get("figures", run) for run in max(found, key=len)], arguments.plot)
    points: list[dict[str, Any]] = [p for file in arguments.read for p in json.loads(Path(file).read_text())]
    if arguments.corpus:
        points += trained(arguments)
    points.sort(key=lambda point: point["words"])
    rows = [[f"{point['words'] / 1e6:,.0f} M", *(spread(values(point, key)) for key in PAPER)] for point in points]
    fits = {key: line(points, key) for key in PAPER}
    rows.append(
        [
            "2,800 M, by the line",
            *(f"{a + b * np.log10(PAPER_WORDS):.3f} ± {error:.2f}" for a, b, error in fits.values()),
        ]
    )
    rows.append(["gain when text is doubled", *(f"{b * np.log10(2):+.3f}" for _, b, _ in fits.values())])
    rows.append(["the paper, 2.8 G words", *(f"{figure:.3f}" for figure in PAPER.values())])
    print(table(["words", *PAPER], rows))
    if arguments.plot:
        curve(points, fits, arguments.plot, arguments.note)


def trained(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A point a size: its words, and the figures of each seed."""
    whole, data = ps.Corpus(arguments.corpus), load_all(arguments.data)
    points: list[dict[str, Any]] = []
    if arguments.json and arguments.json.is_file():
        points = json.loads(arguments.json.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for words in arguments.words:
            part = beginning(whole, int(words), Path(folder) / f"{words:.0f}")
            runs = next((point["runs"] for point in points if point["words"] == len(part.tokens)), None)
            if runs is None:
                runs = []
                points.append({"words": len(part.tokens), "runs": runs})
            for seed in range(len(runs) + 1, arguments.seeds + 1):
                started = time.perf_counter()
                options = {"min_count": 50, "subsample": 1e-5, "epochs": 4, "seed": seed, "device": arguments.device}
                lexicon = ps.train(part, "ms-word2dm", keep=words_of(data.values()), **options)
                runs.append(evaluate(lexicon, data, name="model", methods=("phaser",)).figures()["model"])
                print(f"{words:.3g} {seed} {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
                if arguments.json:
                    with atomic_file(arguments.json, overwrite=True, owner=lambda path: None) as file:
                        file.write(json.dumps(points).encode())
    return points


def beginning(corpus: ps.Corpus, words: int, folder: Path) -> ps.Corpus:
    """The corpus of the first sentences, of about so many words."""
    if words >= len(corpus.tokens):
        return corpus
    last = int(np.searchsorted(corpus.sentences, words))
    tokens = np.asarray(corpus.tokens[: int(corpus.sentences[last])])
    counts = np.bincount(tokens, minlength=len(corpus.counts))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    rank = np.zeros(len(counts), "<i4")
    rank[order] = np.arange(len(order))
    folder.mkdir()
    rank[tokens].tofile(folder / "tokens.i32")
    np.asarray(corpus.sentences[: last + 1], "<i8").tofile(folder / "sentences.i64")
    counts[order].astype("<i8").tofile(folder / "counts.i64")
    names = corpus.vocabulary.words
    (folder / "vocabulary.txt").write_text("".join(f"{names[i]}\n" for i in order), encoding="utf-8", newline="\n")
    sizes = {"sentences": last, "tokens": len(tokens), "types": len(order)}
    (folder / "config.json").write_text(json.dumps({"format": "polysema-corpus", "version": 1, **sizes}))
    return ps.Corpus(folder)


def values(point: dict[str, Any], key: str) -> list[float]:
    """The figures of one set, a seed each."""
    return [run[key]["word" if key in WORDS else "phaser"] for run in point["runs"]]


def line(points: list[dict[str, Any]], key: str) -> tuple[float, float, float]:
    """Least squares of the figures of all seeds on log₁₀ of the words: level, slope, standard error at 2.8 G words."""
    x = [np.log10(point["words"]) for point in points for _ in point["runs"]]
    y = [value for point in points for value in values(point, key)]
    if len({*x}) < 2:
        return float(np.mean(y)), 0.0, float("nan")
    (slope, level), unscaled = np.polyfit(x, y, 1, cov="unscaled")
    there = np.array([np.log10(PAPER_WORDS), 1.0])
    residual = np.asarray(y) - level - slope * np.asarray(x)
    variance = (residual**2).sum() / (len(x) - 2) if len(x) > 2 else float("nan")
    return float(level), float(slope), float(np.sqrt(there @ unscaled @ there * variance))


def curve(points: list[dict[str, Any]], fits: dict[str, tuple[float, float, float]], file: str, note: str) -> None:
    """A small plot a set."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(9, 7), sharex=True, layout="constrained")
    for axis, (key, paper) in zip(axes.flat, PAPER.items(), strict=True):
        x = [point["words"] / 1e6 for point in points]
        y = [np.mean(values(point, key)) for point in points]
        sd = [np.std(values(point, key), ddof=1) if len(point["runs"]) > 1 else 0 for point in points]
        axis.errorbar(x, y, sd, marker="o", capsize=3, color="#2b6cb0")
        ends = np.array([min(x), PAPER_WORDS / 1e6])
        level, slope, _ = fits[key]
        axis.plot(ends, level + slope * np.log10(ends * 1e6), "--", color="#a0aec0", lw=1)
        axis.plot([PAPER_WORDS / 1e6], [paper], "*", color="#c05621", ms=11)
        axis.set_xscale("log")
        axis.set_title(key if key in WORDS else f"{key}, Phaser", fontsize=10)
        axis.grid(alpha=0.3)
    figure.supxlabel("million words (star: the paper, one run on other text)" + (f"\n{note}" if note else ""))
    figure.supylabel("Spearman's ρ")
    figure.savefig(file, dpi=110)


def seeds(runs: list[dict[str, Any]], file: str | None) -> None:
    """Where the paper's figures lie among many seeds."""
    rows = []
    for key in PHRASES:
        found = np.array([run[key]["phaser"] for run in runs])
        above = int((found >= PAPER[key]).sum())
        low, high = found.min(), found.max()
        rows.append([key, f"{found.mean():.3f}", f"{found.std(ddof=1):.3f}", f"{low:.3f}", f"{high:.3f}",
                     f"{PAPER[key]:.3f}", f"{above} of {len(found)}"])  # fmt: skip
    print(table(["Phaser", "mean", "sd", "least", "most", "the paper", "seeds at or above it"], rows))
    if file is None:
        return
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(8, 5), sharex=True, layout="constrained")
    for axis, key in zip(axes.flat, PHRASES, strict=True):
        found = [run[key]["phaser"] for run in runs]
        axis.hist(found, bins=np.arange(-0.2, 0.61, 0.025), color="#2b6cb0", alpha=0.8)
        axis.axvline(PAPER[key], color="#c05621", lw=2, label=f"the paper, {PAPER[key]:.3f}")
        axis.axvline(float(np.mean(found)), color="black", lw=1, ls="--", label=f"mean, {np.mean(found):.3f}")
        axis.set_title(f"{key}, {len(found)} seeds", fontsize=10)
        axis.legend(fontsize=8)
    figure.supxlabel("Spearman's ρ with Phaser")
    figure.supylabel("seeds")
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
