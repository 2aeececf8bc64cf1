"""How fast training is: python benchmarks/training.py TEXT [--words N] [--repeats R] [--growth].

Raw corpus words a second on one and two threads, in one run and on the same text, vocabulary and subsampling: polysema
17×5 against gensim's skip-gram with as many numbers a word (85), read from a file as gensim does it fastest; Word2DM
17×17 against the released research scripts' 36 k words/s (measured once elsewhere, with their bug fixed). --growth:
words a second against n, m and the vocabulary, the latter on synthetic text of --zipf words. Compilation and reading
the vocabulary are not timed, for neither.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measure import in_turns, machine, options, ranged, table

from polysema.corpus.build import build_corpus

RELEASED = 36e3

OURS = """
import time
from polysema.corpus.corpus import Corpus
from polysema.training.cpu import CpuBackend
from polysema.training.models import MODELS
from polysema.training.run import Run, new_state
from polysema.training.text import TrainingText, trained_vocabulary

corpus = Corpus(arguments["corpus"])
def run(epochs):
    chosen = {"model": "ms-word2dm", "min_count": 5, "subsample": 1e-5, "epochs": epochs, "held_out": 0.0, **{options}}
    options = MODELS[chosen.pop("model")].chosen(chosen).settled(corpus)
    text = TrainingText(corpus, trained_vocabulary(corpus, options), options)
    state = new_state(options, len(text.vocabulary))
    train = Run(text, state, CpuBackend(text, state, {threads}))
    started = time.perf_counter()
    train.run()
    return len(corpus.tokens) * epochs / (time.perf_counter() - started), state
run(1)
speed, state = run({epochs})
model = (state.target.nbytes + state.context.nbytes) / 2**20
with open("/proc/self/status") as status:  # ru_maxrss would hold the peak of the process that started this one, too
    peak = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024
print(json.dumps({"speed": speed, "beyond": peak - model}))
"""

GENSIM = """
import time
from gensim.models import Word2Vec

model = Word2Vec(vector_size=85, window=5, negative=5, sample=1e-5, sg=1, min_count=5, workers={threads})
model.build_vocab(corpus_file=arguments["text"])
started = time.perf_counter()
model.train(corpus_file=arguments["text"], total_words=model.corpus_total_words, epochs=1)
print(json.dumps({"speed": model.corpus_total_words / (time.perf_counter() - started)}))
"""


def ours(options: str, threads: int, epochs: int) -> tuple[str, int]:
    """A timed run of polysema, and the cores it may use."""
    source = OURS.replace("{options}", options).replace("{threads}", str(threads)).replace("{epochs}", str(epochs))
    return source, threads


def against_gensim(corpus: str, text: str, repeats: int) -> str:
    """The table of speeds."""
    models = {
        "17×5, window": ("{}", 8),
        "17×5, pairs": ("{'form': 'pair'}", 4),
        "17×5, window, Adam": ("{'optimiser': 'adam'}", 2),
        "word2vec 85, skip-gram": ("{'model': 'word2vec', 'dim': 85}", 2),
        "word2dm 17×17": ("{'model': 'word2dm', 'optimiser': 'sgd', 'rate': 0.001}", 1),
    }
    tasks: dict[str, tuple[str, int]] = {}
    for threads in (1, 2):
        tasks[f"gensim skip-gram, 85|{threads}"] = (GENSIM.replace("{threads}", str(threads)), threads)
    for name, (chosen, epochs) in models.items():  # one thread and two right after each other: noise comes and goes
        for threads in (1, 2):
            tasks[f"{name}|{threads}"] = ours(chosen, threads, epochs)
    timings = in_turns(tasks, repeats, {"corpus": corpus, "text": text})
    rows = []
    for name, timing in sorted(timings.items(), key=lambda item: item[0].split("|")[1]):
        if not timing.runs:
            continue
        what, threads = name.split("|")
        peer = timings[f"gensim skip-gram, 85|{threads}"].runs
        ratios = [a["speed"] / b["speed"] for a, b in zip(timing.runs, peer, strict=True)]
        second = ""
        if threads == "2":
            pairs = zip(timing.runs, timings[f"{what}|1"].runs, strict=True)
            gains = [a["speed"] / b["speed"] for a, b in pairs]
            second = ranged(gains, 2)
        to_peer = ranged(ratios)
        if what.startswith("word2dm"):
            to_peer += f"; {timing.median('speed') / RELEASED:.1f}× the released scripts"
        beyond = f"{timing.median('beyond'):.0f}" if "beyond" in timing.runs[0] else ""
        rows.append([what, threads, f"{timing.median('speed') / 1e6:.2f}", to_peer, second, beyond])
    return table(["", "threads", "M words/s", "to gensim", "from the second thread", "MB beyond the model"], rows)


def growth(corpus: str, tokens: int) -> str:
    """Words a second against n, m and the vocabulary."""
    settings = {f"n = {n}": f"{{'dim': {n}}}" for n in (17, 50, 100, 300)}
    settings |= {f"m = {m}": f"{{'senses': {m}}}" for m in (1, 5, 10)}
    timings = in_turns({name: ours(options, 1, 1) for name, options in settings.items()}, 2, {"corpus": corpus})
    speeds = {name: timing.median("speed") / 1e6 for name, timing in timings.items()}
    for size in (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            zipf(min(size, tokens), f"{folder}/corpus", tokens)
            source = ours("{}", 1, 1)[0].replace("min_count=5", "min_count=1")
            timing = in_turns({"": (source, 1)}, 2, {"corpus": f"{folder}/corpus"})[""]
            speeds[f"V = {size:,}"] = timing.median("speed") / 1e6
    return table(["17×5 but for", "M words/s"], [[name, f"{speed:.2f}"] for name, speed in speeds.items()])


def zipf(size: int, output: str, tokens: int) -> None:
    """A corpus of words drawn by Zipf's law, sentences of 20."""
    import numpy as np

    share = 1 / np.arange(1, size + 1)
    drawn = np.random.default_rng(1).choice(size, tokens, p=share / share.sum())
    names = ["".join(chr(97 + (i // 26**k) % 26) for k in range(5)) for i in range(size)]
    build_corpus(([names[i] for i in drawn[k : k + 20]] for k in range(0, tokens, 20)), output)


def main() -> None:
    """Cut the text to size, encode it, and measure."""
    args = options(__doc__, "text", words=5_000_000, repeats=3, growth=False, zipf=5_000_000)
    with tempfile.TemporaryDirectory() as folder:
        text, words = Path(folder) / "text.txt", 0
        whole = build_corpus(_lines(Path(args.text), args.words), f"{folder}/corpus")
        with text.open("w", encoding="utf-8") as file:
            for sentence in whole:
                words += len(sentence)
                file.write(" ".join(sentence) + "\n")
        print(f"{words:,} words of {Path(args.text).name}; {machine('numba', 'gensim')}\n")
        print(against_gensim(f"{folder}/corpus", str(text), args.repeats))
        if args.growth:
            print("\n" + growth(f"{folder}/corpus", args.zipf))


def _lines(path: Path, words: int):  # type: ignore[no-untyped-def]
    count = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            sentence = [word.lower() for word in line.split() if word.isalpha()]
            count += len(sentence)
            if len(sentence) > 1:
                yield sentence
            if count >= words:
                return


if __name__ == "__main__":
    main()
