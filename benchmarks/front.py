"""What a newcomer waits for: opening the model, composing, parsing, telling senses apart, the demo.

    python benchmarks/front.py [--lexicon LEXICON] [--sentences FILE] [--repeats 3]

Sentences are a line each; without a file, those below, over and over. One core; wall time, and processor time, which
says more where others use the machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from measure import in_turns, machine, table

SENTENCES = [
    "The local family runs a small hotel.",
    "The bank raised its interest rate for the third time this year.",
    "The boat drifted towards the river bank while the men slept on the deck.",
    "Scientists who study the brain have found that sleep helps people to remember what they have learned.",
    "The old bridge was built by the Romans and restored in the last century.",
    "She did not expect to see so many people at the small station outside the city.",
    "Dogs and cats are often kept as pets, although some people prefer birds.",
    "In the spring the river floods the meadows, and the farmers move their cattle to higher ground.",
]

LOAD = """
import time
start, busy = time.perf_counter(), time.process_time()
import polysema
polysema.load, polysema.Lexicon
imported, imported_cpu = time.perf_counter(), time.process_time()
lexicon = polysema.load(arguments["lexicon"])
lexicon["bank"]
print(json.dumps({"import": imported - start, "import cpu": imported_cpu - busy,
                  "load": time.perf_counter() - imported, "load cpu": time.process_time() - imported_cpu}))
"""
COMPOSE = """
import time
import polysema
lexicon = polysema.load(arguments["lexicon"])
figures = {}
for name, phrase in {"three": "(family (run hotel))", "five": "((local family) (run (small hotel)))"}.items():
    lexicon.compose(phrase)
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(500):
        lexicon.compose(phrase)
    figures[name] = (time.perf_counter() - start) / 500
    figures[name + " cpu"] = (time.process_time() - busy) / 500
print(json.dumps(figures))
"""
PARSE = """
import time
import polysema
lexicon = polysema.load(arguments["lexicon"])
lexicon.compose_all(arguments["sentences"][:8])
start, busy = time.perf_counter(), time.process_time()
done = lexicon.compose_all(arguments["sentences"])
took, took_cpu = time.perf_counter() - start, time.process_time() - busy
failed = sum(isinstance(item, polysema.Failed) for item in done)
pairs = [(item.tree.word if hasattr(item.tree, "word") else item.phrase.split()[0], item) for item in done
         if not isinstance(item, polysema.Failed)]
start, busy = time.perf_counter(), time.process_time()
polysema.disambiguate_all(pairs, lexicon)
told, told_cpu = time.perf_counter() - start, time.process_time() - busy
print(json.dumps({"sentences": len(done) / took, "sentences cpu": len(done) / took_cpu, "failed": failed,
                  "told": len(pairs) / told, "told cpu": len(pairs) / told_cpu}))
"""
DEMO = """
import resource, subprocess, sys, time
start = time.perf_counter()
where = ["-l", arguments["lexicon"]] if arguments["lexicon"] else []
subprocess.run([sys.executable, "-m", "polysema", "demo", *where], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"demo": time.perf_counter() - start, "demo cpu": used.ru_utime + used.ru_stime}))
"""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lexicon", default=None)
    parser.add_argument("--sentences", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    sentences = SENTENCES * 75
    if arguments.sentences:
        sentences = [line for line in arguments.sentences.read_text(encoding="utf-8").splitlines() if line.strip()]
    tasks = {"load": (LOAD, 1), "compose": (COMPOSE, 1), "parse": (PARSE, 1), "demo": (DEMO, 1)}
    timings = in_turns(tasks, arguments.repeats, {"lexicon": arguments.lexicon, "sentences": sentences})
    words = sum(len(sentence.split()) for sentence in sentences) / len(sentences)
    rows = [
        ["import polysema with NumPy", "s", "load", "import"],
        ["open the model and look up a word", "s", "load", "load"],
        ["compose three words in brackets", "s", "compose", "three"],
        ["compose five words in brackets", "s", "compose", "five"],
        [f"parse and compose sentences of {words:.0f} words, in batch", "sentences/s", "parse", "sentences"],
        ["tell which sense is meant, once composed", "words/s", "parse", "told"],
        ["polysema demo", "s", "demo", "demo"],
    ]
    shown = [
        [
            what,
            f"{timings[task].median(key):.3g}",
            timings[task].spread(key),
            f"{timings[task].median(key + ' cpu'):.3g}",
            unit,
        ]
        for what, unit, task, key in rows
    ]
    print(f"{machine('spacy')}, one core; {len(sentences)} sentences\n")
    print(table(["what", "wall, median", "from–to", "processor", ""], shown))


if __name__ == "__main__":
    main()
