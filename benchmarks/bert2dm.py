"""All four variants of BERT2DM from one encoding, timed by stage, with the peak memory, scored on the nine sets.

    python benchmarks/bert2dm.py CORPUS ENCODER -o FOLDER [--words 20000000] [--keep FILE] [--data DATA]
        [--variants svd pca svd+cluster pca+cluster] [--store disk|again|auto] [--layers last]

CORPUS is a folder of ``polysema corpus build``; ENCODER a folder or a name. The lexicons and ``figures.json`` go to
FOLDER; the encoder's vectors stay in FOLDER/state until the end, so that all variants share them. Every ten seconds a
line says how far it is and how much memory the process has taken at most so far, its own and the GPU's.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polysema as ps
from polysema.encoders.bert2dm import bert2dm
from polysema.evaluation.evaluate import evaluate
from polysema.evaluation.results import Evaluation
from polysema.progress import Progress

VARIANTS = {
    "svd": {"reduction": "svd"},
    "pca": {"reduction": "pca"},
    "svd+cluster": {"reduction": "svd", "cluster": True},
    "pca+cluster": {"reduction": "pca", "cluster": True},
}


class Watch:
    """Prints how far a run is, and adds up the seconds of each stage."""

    def __init__(self, every: float = 10.0) -> None:
        self.begun = self.told = self.turned = time.perf_counter()
        self.every, self.stage = every, ""
        self.seconds: dict[str, float] = {}

    def __call__(self, progress: Progress) -> None:
        """Take notice of where a run is."""
        now = time.perf_counter()
        if progress.note:
            self.say(progress.note)
            return
        if progress.stage != self.stage:
            self.turn(progress.stage)
        if now - self.told >= self.every:
            self.told = now
            self.say(f"{progress.stage} {progress.done:,} of {progress.total:,}, {progress.speed:,.0f}/s; {memory()}")

    def turn(self, stage: str) -> None:
        """Another stage begins."""
        now = time.perf_counter()
        if self.stage:
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.turned
        self.stage, self.turned = stage, now

    def say(self, line: str) -> None:
        """Print a line with the time."""
        print(f"[{time.perf_counter() - self.begun:6.1f}] {line}", flush=True)


def peaks() -> dict[str, float]:
    """The most memory taken so far, in GB: of the machine, and of the GPU if there is one."""
    import torch

    found = {"host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.max_memory_reserved() / 1e9
    return found


def memory() -> str:
    """The same in words."""
    return "peak " + ", ".join(f"{gigabytes:.2f} GB {where}" for where, gigabytes in peaks().items())


def main() -> None:
    """Make the lexicons, score them, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("encoder")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--words", type=int, default=20_000_000, help="of text; 0 for all of it")
    parser.add_argument("--min-count", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="a file of words that get a matrix though they are rare")
    parser.add_argument("--layers", default="last")
    parser.add_argument("--store", default="disk")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-size", type=int, default=0)
    parser.add_argument("--data", help="the folder of the data sets; without it nothing is scored")
    arguments = parser.parse_args()
    watch = Watch()
    arguments.output.mkdir(parents=True, exist_ok=True)
    corpus = ps.Corpus(arguments.corpus)
    encoder = ps.Encoder.load(
        arguments.encoder, layers=arguments.layers, device=arguments.device, batch_size=arguments.batch_size
    )
    keep = arguments.keep.read_text(encoding="utf-8").split() if arguments.keep else ()
    watch.say(f"{corpus}, {encoder}; {memory()}")
    figures: dict[str, Any] = {"encoder": repr(encoder), "words": arguments.words}
    for name in arguments.variants:
        watch.turn(f"{name}: preparing")
        started, watch.seconds = time.perf_counter(), {}
        lexicon = bert2dm(
            corpus, encoder, keep=keep, words=arguments.words, min_count=arguments.min_count, store=arguments.store,
            state=arguments.output / "state", progress=watch, **VARIANTS[name],
        )  # fmt: skip
        watch.turn("")
        seconds = time.perf_counter() - started
        lexicon.save(arguments.output / name.replace("+", "-"), overwrite=True)
        figures[name] = {"seconds": seconds, "stages": watch.seconds, "peak_gb": peaks()}
        figures[name] |= lexicon.metadata["corpus"]
        stages = ", ".join(f"{stage} {spent:.1f}" for stage, spent in watch.seconds.items())
        watch.say(f"{name}: {lexicon} in {seconds:.1f} s ({stages}); {memory()}")
        if arguments.data:
            result = evaluate(lexicon, arguments.data, methods=list(ps.METHODS), name=name)
            figures[name]["evaluation"] = result.to_json()
            for line in lines(result):
                watch.say(f"{name}: {line}")
        (arguments.output / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    shutil.rmtree(arguments.output / "state")
    watch.say(memory())


def lines(result: Evaluation) -> Iterable[str]:
    """What came out, a line for each set."""
    for key, items in result.sets.items():
        rows = list(result.of(name=key).values())
        scores = (f"{row.method} {row.spearman:.3f}" for row in rows)
        yield f"{key} ({int(rows[0].best.covered.sum())} of {len(items)}) {' '.join(scores)}"


if __name__ == "__main__":
    main()
