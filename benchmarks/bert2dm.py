"""All four variants of BERT2DM from one encoding: seconds by stage, peak memory, the nine sets.

    python benchmarks/bert2dm.py CORPUS ENCODER -o FOLDER [--words 20000000] [--keep FILE] [--data DATA]
        [--variants svd pca svd+cluster pca+cluster] [--store disk|again|auto] [--layers last]

CORPUS is a folder of ``polysema corpus build``; ENCODER a folder or a name. The lexicons and ``figures.json`` go to
FOLDER; the encoder's vectors stay in FOLDER/state until the end, so that all variants share them.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import polysema as ps
from polysema.encoders.huggingface import Encoder
from polysema.progress import Progress
from polysema.training.models import train

VARIANTS = {
    "svd": {"reduction": "svd"},
    "pca": {"reduction": "pca"},
    "svd+cluster": {"reduction": "svd", "cluster": True},
    "pca+cluster": {"reduction": "pca", "cluster": True},
}


class Stages:
    """Adds up the seconds of each stage that progress names."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stage, self.since = "preparing", time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        """Note the time where another stage begins."""
        if progress.stage != self.stage:
            now = time.perf_counter()
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.since
            self.stage, self.since = progress.stage, now


def peaks() -> dict[str, float]:
    """The most memory taken so far, in GB: of the machine, and of the GPU if there is one."""
    import torch

    found = {"host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.max_memory_reserved() / 1e9
    return found


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
    arguments.output.mkdir(parents=True, exist_ok=True)
    corpus = ps.Corpus(arguments.corpus)
    encoder = Encoder.load(
        arguments.encoder, layers=arguments.layers, device=arguments.device, batch_size=arguments.batch_size
    )
    keep = arguments.keep.read_text(encoding="utf-8").split() if arguments.keep else ()
    figures: dict[str, Any] = {"encoder": repr(encoder), "words": arguments.words}
    for name in arguments.variants:
        stages, started = Stages(), time.perf_counter()
        lexicon = train(
            corpus, "bert2dm", encoder=encoder, keep=keep, words=arguments.words, min_count=arguments.min_count,
            store=arguments.store, state=arguments.output / "state", progress=stages, **VARIANTS[name],
        )  # fmt: skip
        stages(Progress("ended", 0))
        seconds = time.perf_counter() - started
        lexicon.save(arguments.output / name.replace("+", "-"), overwrite=True)
        figures[name] = {"seconds": seconds, "stages": stages.seconds, "peak_gb": peaks()} | lexicon.metadata["corpus"]
        spent = ", ".join(f"{stage} {taken:.1f}" for stage, taken in stages.seconds.items())
        print(f"{name}: {lexicon} in {seconds:.1f} s ({spent}); peak {peaks()}", flush=True)
        if arguments.data:
            result = ps.evaluate(lexicon, arguments.data, methods=list(ps.METHODS), name=name)
            figures[name]["evaluation"] = result.to_json()
            for key in result.sets:
                scores = (f"{row.method} {row.spearman:.3f}" for row in result.of(name=key).values())
                print(f"{name}: {key}", *scores, flush=True)
        (arguments.output / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    shutil.rmtree(arguments.output / "state")


if __name__ == "__main__":
    main()
