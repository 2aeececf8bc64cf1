"""Which sense is meant: a hundred everyday sentences of 45 words, written before the first run.

    python benchmarks/everyday.py [LEXICON] [--answers]

``everyday.tsv`` gives for each sentence the sense keys of WordNet that a person would accept. ``fine`` is the share of
sentences whose best key is one of them, ``coarse`` the share whose best coarse sense holds one, ``stated`` the mean
probability of the coarse answers. No part of speech is given. ``first`` always answers with WordNet's first sense as a
noun, or the first there is.
"""

from __future__ import annotations

import numpy as np
from measure import everyday, options, table

import polysema as ps


def main() -> None:
    """Ask, compare, print."""
    args = options(__doc__, "[lexicon]", answers=False)
    lexicon = ps.load(args.lexicon)
    rows = everyday()
    asked = [(row["word"], row["sentence"]) for row in rows]
    fine, coarse = lexicon.disambiguate(asked, fine=True), lexicon.disambiguate(asked)
    accepted = [set(row["keys"].split()) for row in rows]
    hits = [answer.sense.key in keys for answer, keys in zip(fine, accepted, strict=True)]
    groups = [bool(keys & set(answer.sense.keys)) for answer, keys in zip(coarse, accepted, strict=True)]
    dictionary = lexicon.dictionary
    first = [dictionary.file.key(int(dictionary.file.senses(row["word"])[0])) for row in rows]
    if args.answers:
        shown = [
            [row["word"], row["sentence"], "" if hit else "coarse" if group else "wrong", f"{a.sense.probability:.2f}",
             a.sense.gloss[:60]]
            for row, a, hit, group in zip(rows, fine, hits, groups, strict=True)
        ]  # fmt: skip
        print(table(["word", "sentence", "", "p", "sense that came first"], shown), "\n")
    stated = np.mean([answer.sense.probability for answer in coarse])
    firsts = np.mean([key in keys for key, keys in zip(first, accepted, strict=True)])
    figures = [str(len(rows)), *(f"{value:.2f}" for value in (np.mean(hits), np.mean(groups), stated, firsts))]
    print(table(["sentences", "fine", "coarse", "stated", "first"], [figures]))


if __name__ == "__main__":
    main()
