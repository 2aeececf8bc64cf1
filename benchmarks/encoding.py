"""Words a second of the encoding step, against a plain loop over ``transformers`` with the same model and batch size.

    python benchmarks/encoding.py CORPUS ENCODER [--sentences 2000] [--batch-size 32] [--repeats 3]

Both give the last layer's vector of every content word, its pieces averaged. The plain loop takes the sentences as they
come: tokenises, pads and reads a batch, copies the states to NumPy, averages by word. CORPUS is a folder of ``polysema
corpus build``; ENCODER a folder or a name. Each run is a process of its own; the figures are the medians, with the
least and the largest, and the largest difference of any number between the two.
"""

from __future__ import annotations

import argparse

from measure import in_turns, machine, table

COMMON = """
import time, numpy as np, torch
from polysema.contexts.sample import Sample
from polysema.corpus.corpus import Corpus
from polysema.encoders.huggingface import Encoder
torch.set_num_threads(arguments["threads"])
corpus = Corpus(arguments["corpus"])
encoder = Encoder.load(arguments["encoder"], batch_size=arguments["batch_size"], precision=arguments["precision"])
share = arguments["sentences"] / len(corpus)
sample = Sample(corpus, words=max(1, int(share * len(corpus.tokens))), seed=1)
"""

PLAIN = (
    COMMON
    + """
rows = sample.rows
bounds = [(corpus.sentences[s], corpus.sentences[s + 1]) for s in sample.sentences.tolist()]
sentences = [np.asarray(corpus.tokens[first:last]) for first, last in bounds]
texts = [[corpus.vocabulary.words[i] for i in sentence] for sentence in sentences]
total, words, started = np.zeros(encoder.width), 0, time.perf_counter()
for first in range(0, len(texts), encoder.batch_size):
    batch = texts[first : first + encoder.batch_size]
    read = encoder.tokenizer(
        batch, is_split_into_words=True, padding=True, truncation=True, max_length=512, return_tensors="pt"
    )
    with torch.inference_mode():
        states = encoder.model(**read.to(encoder.device)).last_hidden_state.float().cpu().numpy()
    for i, sentence in enumerate(sentences[first : first + encoder.batch_size]):
        owners = np.array([-1 if owner is None else owner for owner in read.word_ids(i)])
        for w, token in enumerate(sentence):
            if rows[token] >= 0 and (owners == w).any():
                total += states[i][owners == w].mean(axis=0)
        words += len(sentence)
seconds = time.perf_counter() - started
print(json.dumps({"speed": words / seconds, "sum": total.tolist()}))
"""
)

OURS = (
    COMMON
    + """
started = time.perf_counter()
table = encoder.piece_table(sample.words_read)
total, step = torch.zeros(encoder.width, dtype=torch.float64, device=encoder.device), 64 * encoder.batch_size
for first in range(0, len(sample.sentences), step):
    part = sample.part(sample.sentences[first : first + step])
    for _, vectors in encoder.encode(part.tokens, part.bounds, table, part.rows >= 0):
        total += vectors.double().sum(0)
total = total.cpu().numpy()
seconds = time.perf_counter() - started
print(json.dumps({"speed": sample.tokens / seconds, "sum": total.tolist()}))
"""
)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("encoder")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = vars(parser.parse_args())
    tasks = {"plain loop": (PLAIN, arguments["threads"]), "polysema": (OURS, arguments["threads"])}
    timings = in_turns(tasks, arguments["repeats"], arguments)
    plain = timings["plain loop"].median("speed")
    rows = [
        [name, f"{timing.median('speed'):,.0f}", timing.spread("speed"), f"{timing.median('speed') / plain:.2f}×"]
        for name, timing in timings.items()
    ]
    print(table(["", "words/s", "spread", "ratio"], rows))
    a, b = (timing.runs[0]["sum"] for timing in timings.values())
    largest = max(abs(x) for x in a)
    print(f"\nsums of all vectors differ by {max(abs(x - y) for x, y in zip(a, b, strict=True)) / largest:.1e}")
    print(f"{arguments['batch_size']} sentences a batch, {arguments['threads']} threads")
    print(machine("torch", "transformers"))


if __name__ == "__main__":
    main()
