"""Which sense is meant: 40 homographs, two meanings each, two sentences a meaning, all written before the first run.

    python benchmarks/homographs.py [LEXICON] [--answers] [--parse]

Senses have no names, so sentences are compared: of the six pairs of a word's sentences two have the same meaning and
four have different ones. ``right`` is the balanced accuracy of "the same sense comes first in both"; chance is .5, and
always naming a word's heaviest sense has .5 as well. ``AUC`` is that of the overlap Σ_k p(k | a) p(k | b), over all
pairs. ``parted`` is the share of words whose two meanings never share a first sense.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from measure import auc, homographs, options, table

import polysema as ps


def main() -> None:
    """Ask, compare, print."""
    args = options(__doc__, "[lexicon]", answers=False, parse=False)
    lexicon = ps.load(args.lexicon)
    rows = [row for row in homographs() if row["word"] in lexicon]
    asked = [(row["word"], row["sentence"]) for row in rows]
    found = lexicon.disambiguate(asked, nlp=None if args.parse else False)
    shown: list[list[str]] = []
    by_word: dict[str, list[tuple[str, dict[int, float]]]] = {}
    for row, answer in zip(rows, found, strict=True):
        by_word.setdefault(row["word"], []).append((row["meaning"], {s.id: s.probability for s in answer.senses}))
        if args.answers:
            best = answer.senses[0]
            known_by = " ".join(best.label.split()[:4])
            shown.append(
                [row["word"], row["meaning"], row["sentence"], f"{best.id}: {known_by}", f"{best.probability:.2f}"]
            )
    same, overlap, parted = [], [], []
    for answers in by_word.values():
        firsts: dict[str, set[int]] = {}
        for meaning, shares in answers:
            firsts.setdefault(meaning, set()).add(max(shares, key=shares.__getitem__))
        parted.append(not set.intersection(*firsts.values()))
        for (meaning, a), (other, b) in combinations(answers, 2):
            same.append((meaning == other, max(a, key=a.__getitem__) == max(b, key=b.__getitem__)))
            overlap.append((meaning == other, sum(share * b.get(key, 0.0) for key, share in a.items())))
    if args.answers:
        print(table(["word", "meant", "sentence", "sense that came first", "p"], shown), "\n")
    alike, judged = np.array(same).T
    right = (judged[alike].mean() + 1 - judged[~alike].mean()) / 2
    truth, score = (np.array(column) for column in zip(*overlap, strict=True))
    figures = [f"{right:.3f}", f"{auc(score, truth):.3f}", f"{np.mean(parted):.3f}"]
    print(table(["words", "sentences", "right", "AUC", "parted"], [[str(len(by_word)), str(len(rows)), *figures]]))


if __name__ == "__main__":
    main()
