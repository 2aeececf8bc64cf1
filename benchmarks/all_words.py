"""All-words disambiguation: F1 on the sets of Raganato, Camacho-Collados and Navigli (2017).

    python benchmarks/all_words.py DICTIONARY EVALUATION_DATASETS [--sets semeval2007 …] [--any-pos] [--alone]

DICTIONARY is a folder with ``dictionary.safetensors`` and ``encoder.safetensors``, read by the 8-bit NumPy encoder:
each sentence with the one before and the one after it (``--alone``: by itself). EVALUATION_DATASETS holds a folder of
each set. SemEval-2007 is the development set; the others are for reporting. ``first`` always answers with WordNet's
first sense. Every word is answered, so F1 is the share of right answers. The lemma and, without ``--any-pos``, the
part of speech are given, as in the published results.

The sets of Maru, Conia, Bevilacqua and Navigli (2022) have the same form: give ``wsd_hard_benchmark`` of their
repository as EVALUATION_DATASETS, and ``--sets 42D hardEN softEN``.
"""

from __future__ import annotations

import time
from pathlib import Path

from measure import options, table

from polysema.encoders.tagged_text import read_all_words, with_neighbours
from polysema.senses.calibration import Scored, accuracy, first_sense, reliability, score
from polysema.senses.dictionary import Dictionary

SETS = ("semeval2007", "senseval2", "senseval3", "semeval2013", "semeval2015", "ALL")
POS = ("noun", "verb", "adj", "adv")


def main() -> None:
    """Score, compare, print."""
    args = options(__doc__, "dictionary", "datasets", sets=list(SETS), any_pos=False, alone=False)
    dictionary = Dictionary.load(Path(args.dictionary))
    c = dictionary.calibration
    rows: list[list[str]] = []

    def add(name: str, words: list[Scored], asked: int) -> None:
        found = [accuracy(words, prior, c.sharpness, asked) for prior in (0.0, c.prior)]
        rows.append([name, str(asked), *(f"{value:.3f}" for value in [*found, first_sense(words, dictionary, asked)])])

    begin, sentences_read, stated = time.perf_counter(), 0, ""
    for name in args.sets:
        sentences = list(read_all_words(Path(args.datasets), name))
        texts = sentences if args.alone else with_neighbours(sentences)
        words = score(dictionary, texts, known_pos=not args.any_pos)
        sentences_read += len(sentences)
        add(name, words, sum(len(sentence.targets) for sentence in sentences))
        if name == "ALL":
            kept = [word for word in words if not word.target.id.startswith("semeval2007")]
            asked = [t for s in sentences for t in s.targets if not t.id.startswith("semeval2007")]
            add("ALL without semeval2007", kept, len(asked))
            for pos in POS:
                add(f"ALL, {pos}", [word for word in words if word.target.part_of_speech == pos],
                    sum(t.part_of_speech == pos for s in sentences for t in s.targets))  # fmt: skip
            stated = f"expected calibration error on ALL, words of several senses: {reliability(words, c).error:.3f}"
    seconds = time.perf_counter() - begin
    print(table(["set", "words", "glosses", "with frequencies", "first"], rows))
    print(f"\n{stated}\n{sentences_read} sentences in {seconds:.1f} s")


if __name__ == "__main__":
    main()
