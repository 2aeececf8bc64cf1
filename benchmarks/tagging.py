"""Tagging: words a second; on held-out SemCor shares of senses, search by a gloss, entries of several words.

    python benchmarks/tagging.py DICTIONARY --text FILE.txt [--workers 1 2] [--engines local ray]
    python benchmarks/tagging.py DICTIONARY --semcor SEMCOR [--role choose calibrate]

SEMCOR is SemCor 3.0 in its original form, of which the held-out documents are used. Settings are chosen with the roles
``choose`` and ``calibrate``; ``report`` is for reporting. Each word with two senses and six uses there is asked about:

* shares by the best sense of every use, by the mean of p(s | c), and as ``frequencies`` estimates them, against those
  of the right senses: Pearson's r, mean absolute error; and how often the intervals (95 %) hold the right share;
* the uses ranked by the gloss of each sense (``concordance --like``): precision among the first 20, or among as many as
  there are right ones, beside a ranking by chance;
* spans of several words that have an entry: those taken for one word against those that SemCor tags as one (recall),
  and against those whose words it tags one by one (precision), beside taking the longest entry always.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from change import held_out_sentences, held_out_uses
from measure import options, table
from numpy.typing import NDArray

from polysema.encoders.tagged_text import TaggedSentence
from polysema.evaluation.statistics import pearson
from polysema.senses.dictionary import Dictionary
from polysema.use.frequencies import with_interval
from polysema.use.tag import tag
from polysema.use.tagged import Uses


def main() -> None:
    """Measure, print."""
    args = options(
        __doc__, "dictionary", semcor=Path, role=["choose", "calibrate"], text=Path, workers=[1, 2], engines=["local"]
    )
    dictionary = Dictionary.load(Path(args.dictionary))
    if args.text:
        speed(dictionary, args.text, args.engines, args.workers)
    if args.semcor:
        used = held_out_uses(dictionary, args.semcor, args.role)
        chosen = {
            w: (u, r) for w, (u, r) in used.items() if len(u) >= 6 and len(u.rows) > 1 and len(set(r.tolist())) > 1
        }
        report_shares(chosen)
        report_search(chosen)
        report_several_words(dictionary, held_out_sentences(dictionary, args.semcor, args.role))


def speed(dictionary: Dictionary, text: Path, engines: list[str], workers: list[int]) -> None:
    """Words a second, and whether the bytes agree."""
    words, rows, contents = len(text.read_text(encoding="utf-8").split()), [], set()
    for engine in engines:
        for count in workers:
            with TemporaryDirectory() as folder:
                begin = time.perf_counter()
                tag(text, Path(folder) / "tagged", dictionary, workers=count, engine=engine)
                seconds = time.perf_counter() - begin
                files = sorted((Path(folder) / "tagged").glob("*.npy"))
                contents.add(b"".join(file.read_bytes() for file in files))
            rows.append([engine, str(count), f"{words / seconds:,.0f}", f"{seconds:.1f}"])
    print(table(["engine", "workers", "words/s", "seconds"], rows))
    print(f"{words:,} words; {'the same bytes' if len(contents) == 1 else 'DIFFERENT BYTES'} in all runs")


def report_shares(used: dict[str, tuple[Uses, NDArray[Any]]]) -> None:
    """Shares of senses against the right ones."""
    found: dict[str, list[NDArray[Any]]] = {"best sense": [], "mean p": [], "frequencies": []}
    true, inside, width = [], [], []
    for uses, right in used.values():
        keys = [uses.corpus.dictionary.file.key(row) for row in uses.rows.tolist()]
        share = np.array([(right == key).mean() for key in keys])
        estimate, low, high = with_interval(uses, resamples=100)
        best = np.bincount(uses.p.argmax(axis=1), minlength=len(keys)) / len(uses)
        for name, values in (("best sense", best), ("mean p", uses.p.mean(axis=0)), ("frequencies", estimate)):
            found[name].append(values)
        true.append(share)
        inside.append((low <= share) & (share <= high))
        width.append(high - low)
    flat, shown = np.concatenate(true), np.concatenate(true) >= 0.05
    rows = [
        [name, f"{pearson(np.concatenate(v), flat):.3f}", f"{np.abs(np.concatenate(v) - flat).mean():.3f}"]
        for name, v in found.items()
    ]
    print(f"\nShares of {len(flat)} senses of {len(used)} words")
    print(table(["estimate", "r", "mean error"], rows))
    hits = np.concatenate(inside)
    print(f"intervals hold {hits.mean():.3f} of the right shares, {hits[shown].mean():.3f} of those of .05 and more; "
          f"mean width {np.concatenate(width).mean():.2f}")  # fmt: skip


def report_search(used: dict[str, tuple[Uses, NDArray[Any]]]) -> None:
    """Precision of uses ranked by a gloss."""
    precision, chance = [], []
    for uses, right in used.values():
        file = uses.corpus.dictionary.file
        assert uses.vectors is not None
        for row in uses.rows.tolist():
            is_right = right == file.key(row)
            if 3 <= is_right.sum() < len(uses):
                ranked = np.argsort(-(uses.vectors @ file.unit_vectors(np.array([row]))[0]))
                precision.append(is_right[ranked][: min(20, is_right.sum())].mean())
                chance.append(is_right.mean())
    print(f"\nSearch by {len(precision)} glosses: precision {np.mean(precision):.3f}, by chance {np.mean(chance):.3f}")


def report_several_words(dictionary: Dictionary, sentences: list[TaggedSentence]) -> None:
    """Which entries of several words are taken."""
    one, apart, always, taken = 0, 0, [0, 0], [0, 0]
    chosen = dictionary.entries_of([sentence.text for sentence in sentences])
    for sentence, places in zip(sentences, chosen, strict=True):
        spans, until = {place.span for place in places}, 0
        tagged = {(target.start, target.end) for target in sentence.targets}
        for beginning in dictionary.candidates(sentence.text):
            for count, place in beginning:
                start, end = place.span
                is_one = place.span in tagged
                if count > 1 and (is_one or any(start <= a and z <= end for a, z in tagged)):
                    one, apart = one + is_one, apart + (not is_one)
                    always[is_one] += start >= until
                    taken[is_one] += place.span in spans
                if start >= until:
                    until = end
    rows = [
        [name, f"{right / max(wrong + right, 1):.3f}", f"{right / max(one, 1):.3f}"]
        for name, (wrong, right) in (("always", always), ("where they fit", taken))
    ]
    print(f"\n{one} spans tagged as one word, {apart} word by word")
    print(table(["entries of several words", "precision", "recall"], rows))


if __name__ == "__main__":
    main()
