"""A small corpus that holds every word of a list: short sentences, so many of each word where there are so many.

    python benchmarks/short_sentences.py CORPUS WORDS OUT [--each 8] [--seed 1]

For trying an encoder on a CPU. Every listed word is favoured, so figures on sets made of these words say how good the
vectors are, and nothing about how well running text covers the words.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus


def main() -> None:
    """Draw the sentences and encode them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("words", type=Path)
    parser.add_argument("out")
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    corpus = Corpus(arguments.corpus)
    listed = np.zeros(len(corpus.counts), bool)
    for word in arguments.words.read_text(encoding="utf-8").split():
        if word in corpus.vocabulary:
            listed[corpus.vocabulary.index(word)] = True
    bounds, tokens = np.asarray(corpus.sentences), np.asarray(corpus.tokens)
    length = np.diff(bounds)
    candidates = np.flatnonzero((length >= 5) & (length <= 13))
    np.random.default_rng(arguments.seed).shuffle(candidates)
    seen: Counter[int] = Counter()
    chosen = []
    for sentence in candidates.tolist():
        words = [word for word in tokens[bounds[sentence] : bounds[sentence + 1]].tolist() if listed[word]]
        if any(seen[word] < arguments.each for word in words):
            chosen.append(sentence)
            seen.update(words)
    print(build_corpus([corpus.sentence(sentence) for sentence in sorted(chosen)], arguments.out))


if __name__ == "__main__":
    main()
