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

import argparse
import time
from pathlib import Path

from measure import table

from polysema.encoders.tagged_text import read_all_words, with_neighbours
from polysema.senses.calibration import Scored, accuracy, first_sense, reliability, score
from polysema.senses.dictionary import Dictionary

SETS = ("semeval2007", "senseval2", "senseval3", "semeval2013", "semeval2015", "ALL")
POS = ("noun", "verb", "adj", "adv")


def main() -> None:
    """Score, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dictionary", type=Path)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="folders of EVALUATION_DATASETS")
    parser.add_argument("--any-pos", action="store_true", help="senses of every part of speech compete")
    parser.add_argument("--alone", action="store_true", help="read each sentence without its neighbours")
    options = parser.parse_args()
    dictionary = Dictionary.load(options.dictionary)
    c = dictionary.calibration
    rows: list[list[str]] = []

    def add(name: str, words: list[Scored], asked: int) -> None:
        found = [accuracy(words, prior, c.sharpness, asked) for prior in (0.0, c.prior)]
        rows.append([name, str(asked), *(f"{value:.3f}" for value in [*found, first_sense(words, dictionary, asked)])])

    begin, sentences_read, stated = time.perf_counter(), 0, ""
    for name in options.sets:
        sentences = list(read_all_words(options.datasets, name))
        texts = sentences if options.alone else with_neighbours(sentences)
        words = score(dictionary, texts, known_pos=not options.any_pos)
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
