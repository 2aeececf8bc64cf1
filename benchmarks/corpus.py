"""Text to an encoded corpus, against gensim's vocabulary scan and collections.Counter.

    python benchmarks/corpus.py TEXT … [--repeats 3]
    python benchmarks/corpus.py --distinct 20000000

The peers only count words separated by white space; polysema splits sentences, tokenises, lower-cases, counts *and*
encodes. All read the same plain text; packed files are unpacked first, and timed packed as well. With --distinct: text
of so many words that are all different, and what the builder's memory comes to.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from measure import in_turns, machine, ranged, table

from polysema.corpus.readers import read_blocks

OURS = """
import pathlib, resource, tempfile, time
from polysema.corpus.build import build_corpus
with tempfile.TemporaryDirectory() as folder:
    build_corpus([["warm", "up", "the", "compiled", "kernels"]] * 3, folder + "/warm-lists")
    pathlib.Path(folder, "warm").write_text("Warm up. The kernels.")
    build_corpus(folder + "/warm", folder + "/warm-text")
    start = time.perf_counter()
    corpus = build_corpus(arguments["paths"], folder + "/corpus", workers=WORKERS)
    took = time.perf_counter() - start
    print(json.dumps({"seconds": took, "words": len(corpus.tokens), "types": len(corpus.counts),
                      "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
PEER = """
import resource, time
IMPORTS
start = time.perf_counter()
COUNT
print(json.dumps({"seconds": time.perf_counter() - start, "words": words, "types": 0,
                  "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
GENSIM = PEER.replace(
    "IMPORTS", "from gensim.models import Word2Vec; from gensim.models.word2vec import LineSentence"
).replace("COUNT", 'words, _ = Word2Vec(min_count=1).scan_vocab(corpus_iterable=LineSentence(arguments["plain"]))')
COUNTER = PEER.replace("IMPORTS", "from collections import Counter").replace(
    "COUNT",
    """with open(arguments["plain"]) as lines:
    words = Counter(word for line in lines for word in line.split()).total()""",
)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--distinct", type=int)
    options = parser.parse_args()
    if options.distinct:
        memory(options.distinct)
        return
    if not options.text:
        parser.error("name some text, or give --distinct")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        plain = folder / "plain.txt"
        with open(plain, "wb") as file:
            for path in options.text:
                for block in read_blocks(path):
                    file.write(block.data)
        ours = {
            "polysema, 1 core": (OURS.replace("WORKERS", "1"), 1),
            "polysema, 2 cores": (OURS.replace("WORKERS", "2"), 2),
        }
        peers = {"gensim scan_vocab, 1 core": (GENSIM, 1), "Counter, 1 core": (COUNTER, 1)}
        timings = in_turns({**ours, **peers}, options.repeats, {"paths": [str(plain)], "plain": str(plain)})
        packed = in_turns(
            {"polysema, 2 cores, as given": ours["polysema, 2 cores"]}, 1, {"paths": [str(p) for p in options.text]}
        )
        base = timings["gensim scan_vocab, 1 core"]
        rows = []
        for name, timing in {**timings, **packed}.items():
            speed = [run["words"] / run["seconds"] / 1e6 for run in timing.runs]
            ratios = [s / (b["words"] / b["seconds"] / 1e6) for s, b in zip(speed, base.runs, strict=False)]
            rows.append(
                [
                    name,
                    f"{timing.median('words') / timing.median('seconds') / 1e6:.1f}",
                    f"{min(speed):.1f}–{max(speed):.1f}",
                    f"{plain.stat().st_size / timing.median('seconds') / 1e6:.0f}",
                    ranged(ratios),
                    f"{timing.median('rss'):.0f}",
                ]
            )
        print(machine("gensim", "numba"))
        print(f"{plain.stat().st_size / 1e6:.0f} MB of plain text, {options.repeats} repeats in turns")
        print(table(["", "M words/s", "spread", "MB/s", "× gensim", "peak MB"], rows))


def memory(count: int, letters: int = 8) -> None:
    """Build a corpus of so many different words of eight letters, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "distinct.txt"
        with open(path, "wb") as file:
            for start in range(0, count, 1 << 20):
                numbers = np.arange(start, min(count, start + (1 << 20)), dtype=np.uint64) * np.uint64(1103515245)
                rows = np.full((len(numbers), letters + 1), 32, np.uint8)
                for place in range(letters):
                    rows[:, place] = 97 + numbers % np.uint64(26**letters) // np.uint64(26**place) % np.uint64(26)
                rows[7::8, letters] = 10
                file.write(rows.tobytes())
        (run,) = in_turns({"build": (OURS.replace("WORKERS", "2"), 2)}, 1, {"paths": [str(path)]})["build"].runs
    bound = 1024 + 40 * run["types"] / 2**20
    print(machine("numba"))
    print(
        f"{run['types']:,} distinct words: {run['seconds']:.0f} s, peak {run['rss']:.0f} MiB "
        f"of the {bound:.0f} MiB that 1 GiB + 40 bytes a word allow"
    )


if __name__ == "__main__":
    main()
