"""The nearest words of one query and of many at once, next to gensim's most_similar.

    python benchmarks/neighbours.py [LEXICON] [--words 200000] [--queries 1000] [--repeats 5]

Without a lexicon: random 17×5 matrices. gensim gets vectors with as many numbers a word (85), and takes one query at a
time: it has no call for many. Building what the search needs is timed apart; all else is after the first query.
"""

from __future__ import annotations

from measure import in_turns, machine, options, table

OURS = """
import time
import numpy as np
from polysema import Lexicon, load
if arguments["lexicon"]:
    model = load(arguments["lexicon"])
    count = min(arguments["words"], len(model))
    model = Lexicon(model.vocabulary.words[:count], np.array(model.factors[:count]))
else:
    count = arguments["words"]
    factors = np.random.default_rng(1).normal(size=(count, 17, 5)).astype(np.float32)
    model = Lexicon([f"w{i}" for i in range(count)], factors)
rng = np.random.default_rng(2)
queries = [model.vocabulary.words[i] for i in rng.choice(count, arguments["queries"], replace=False)]
start = time.perf_counter()
model.neighbours(queries[0])
first = time.perf_counter() - start
model.neighbours(queries[:20])  # compiles
single = []
for query in queries[:50]:
    start = time.perf_counter()
    model.neighbours(query)
    single.append(time.perf_counter() - start)
start = time.perf_counter()
model.neighbours(queries)
many = (time.perf_counter() - start) / len(queries)
print(json.dumps({"first": first, "one": float(np.median(single)), "many": many, "words": count,
                  "numbers": int(np.prod(model.factors.shape[1:]))}))
"""
GENSIM = """
import time
import numpy as np
from gensim.models import KeyedVectors
count, numbers = arguments["words"], arguments["numbers"]
vectors = KeyedVectors(numbers)
vectors.add_vectors(
    [f"w{i}" for i in range(count)], np.random.default_rng(1).normal(size=(count, numbers)).astype(np.float32)
)
queries = [f"w{i}" for i in np.random.default_rng(2).choice(count, 100, replace=False)]
start = time.perf_counter()
vectors.most_similar(queries[0])
first = time.perf_counter() - start
single = []
for query in queries:
    start = time.perf_counter()
    vectors.most_similar(query)
    single.append(time.perf_counter() - start)
one = float(np.median(single))
print(json.dumps({"first": first, "one": one, "many": one, "words": count, "numbers": numbers}))
"""


def main() -> None:
    """Measure and print a table."""
    args = options(__doc__, "[lexicon]", words=200_000, queries=1000, repeats=5)
    arguments = {
        "lexicon": str(args.lexicon) if args.lexicon else "",
        "words": args.words,
        "queries": args.queries,
        "numbers": 85,
    }
    tasks = {
        f"{name}, {cores} core{'s' * (cores > 1)}": (source, cores)
        for name, source in (("polysema", OURS), ("gensim most_similar", GENSIM))
        for cores in (1, 2)
    }
    timings = in_turns(tasks, args.repeats, arguments)
    rows = []
    for name, timing in timings.items():
        if not timing.runs:
            continue
        ratios = sorted(run["one"] / run["many"] for run in timing.runs)
        rows.append(
            [
                f"{name}, {timing.runs[0]['numbers']} numbers a word",
                f"{timing.median('first'):.2f}",
                *(_milliseconds([run[key] for run in timing.runs]) for key in ("one", "many")),
                f"{ratios[len(ratios) // 2]:.1f} ({ratios[0]:.1f}–{ratios[-1]:.1f})",
            ]
        )
    print(machine("gensim", "numpy", "numba"))
    words = next(iter(timings.values())).runs[0]["words"]
    print(f"10 nearest of {words:,} words; {args.queries:,} queries at once; {args.repeats} repeats in turns")
    print(table(["", "first, s", "one query, ms", "in a batch, ms a query", "batch gain ×"], rows))


def _milliseconds(seconds: list[float]) -> str:
    ordered = sorted(1e3 * value for value in seconds)
    return f"{ordered[len(ordered) // 2]:.2f} ({ordered[0]:.2f}–{ordered[-1]:.2f})"


if __name__ == "__main__":
    main()
