"""Build the default model, the folder ``polysema/models/default``, from a corpus.

    python tools/default_model.py CORPUS … --data DATA [--set dim=17 --set epochs=8 …] [--output DIR]

CORPUS is text or a folder of ``polysema corpus build``; DATA holds the nine evaluation sets, whose words are kept
whatever their count and whose results go on the card. The most frequent words are kept as far as the size allows.
Stopped, it goes on where it was. A seed gives the same model, bit for bit.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import polysema
from polysema import Lexicon, Vocabulary
from polysema.cli.progress import progress_line
from polysema.evaluation.datasets import EvaluationSet, words_of
from polysema.evaluation.evaluate import load_all
from polysema.models import DEFAULT

SETTINGS: dict[str, Any] = {
    "dim": 32,
    "senses": 5,
    "window": 3,
    "min_count": 20,
    "subsample": 1e-5,
    "epochs": 8,
    "rate": 0.025,
    "seed": 1,
}
"""Options of ``polysema train`` for the model that ships, chosen by word similarity (docs/training.md)."""

BYTES = 14_500_000
"""What the folder may weigh, but for its card."""

LIMITS = (
    "Encyclopaedic English; lower-cased word forms, of letters only. Senses are those that differ in their contexts; "
    "their number is fixed, so rare senses share a column and the last ones of a plain word mean little. "
    "Function words have matrices but say little in composition. Negation is not modelled. "
    "It repeats what Wikipedia says and how: names, dates and biases included."
)


def main() -> None:
    """Train, cut to size, evaluate, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--data", required=True, type=Path, help="the folder with the nine evaluation sets")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another option of training")
    parser.add_argument("--output", type=Path, default=DEFAULT)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    sets = load_all(arguments.data)
    needed = words_of(sets.values())
    options = {**SETTINGS, **dict(map(option, arguments.set))}
    state = arguments.output.with_name("default.training")
    with progress_line("speed") as update:

        def show(at: Any) -> None:
            update(f"epoch {at.epoch} of {at.epochs}", at.done, at.total, speed=f"{at.speed / 1e6:.1f} M/s")

        corpus = arguments.corpus if len(arguments.corpus) > 1 else arguments.corpus[0]
        trained = polysema.train(corpus, keep=needed, state=state, threads=arguments.threads, progress=show, **options)
    model = cut(trained, needed)
    model.metadata["results"] = results(model, sets)
    changes = " ".join(f"--set {shlex.quote(change)}" for change in arguments.set)
    names = " ".join(Path(path).name for path in arguments.corpus)
    model.metadata["rebuild"] = f"python tools/default_model.py {names} --data DATA {changes}".strip()
    model.metadata["limits"] = LIMITS
    model.save(arguments.output, dtype="float16", overwrite=True)
    shutil.rmtree(state, ignore_errors=True)
    size = sum(path.stat().st_size for path in arguments.output.iterdir())
    print(f"{arguments.output}: {model!r}, {size:,} bytes")
    for row in model.metadata["results"]:
        print(*row.values())


def option(text: str) -> tuple[str, Any]:
    """``name=value``, the value a number where it is one."""
    name, _, value = text.partition("=")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


def cut(lexicon: Lexicon, needed: list[str]) -> Lexicon:
    """As many of the most frequent words as fit, and all that are needed; in half precision."""
    words = lexicon.vocabulary.words
    numbers = lexicon.factors[0].size + lexicon.n
    cost = np.array([2 * numbers + 8 + len(word.encode()) + 1 for word in words])
    must = np.array([word in set(needed) for word in words])
    order = np.argsort(~must, kind="stable")  # the needed first, then by count
    kept = np.sort(order[: int(np.searchsorted(np.cumsum(cost[order]), BYTES, side="right"))])
    if len(kept) < 30_000:
        print(f"note: only {len(kept):,} words fit", file=sys.stderr)
    vocabulary = Vocabulary([words[i] for i in kept], lexicon.vocabulary.counts[kept])
    contexts = lexicon.contexts[kept].astype(np.float16)
    factors = lexicon.stack(vocabulary.words).parts[0].astype(np.float16)
    metadata = {**lexicon.metadata, "vocabulary": {"trained": len(lexicon), "kept": len(kept)}}
    return Lexicon(vocabulary, factors, columns=lexicon.columns, metadata=metadata, contexts=contexts)


def results(model: Lexicon, sets: dict[str, EvaluationSet]) -> list[dict[str, Any]]:
    """Spearman's ρ on each set with its 95 % interval; the phrases' by Phaser, and by the verb alone to compare."""
    evaluation = polysema.evaluate(model, sets, methods=["verb", "phaser"], bootstraps=1000, name="default")
    return [_row(row) for row in evaluation.rows]


def _row(row: Any) -> dict[str, Any]:
    low, high = row.interval or (float("nan"),) * 2
    return {
        "set": row.items.name,
        "method": "–" if row.items.is_words else row.method,
        "spearman": round(row.spearman, 3),
        "interval": f"{low:.3f} to {high:.3f}",
        "covered": f"{int(row.best.covered.sum())} of {len(row.items)}",
    }


if __name__ == "__main__":
    main()
