"""Which measure tells a hyponym from its hypernym: 32 pairs, written before the first run.

    python benchmarks/entailment.py [LEXICON] [--smoothing 0.1]

``right`` counts pairs for which A ⊑ B scores higher than B ⊑ A (relative entropy: lower); ``tied`` those for which both
are the same, as 0 and 0, or ∞ and ∞. ``AUC`` is the chance that a pair scores higher than its first word with the
hypernym of another pair: whether the measure sees kinship at all, whatever the direction.
"""

from __future__ import annotations

import numpy as np
from measure import options, table

import polysema as ps

PAIRS = """
dog animal, cat animal, horse animal, rose flower, tulip flower, oak tree, pine tree, salmon fish, eagle bird,
sparrow bird, apple fruit, banana fruit, carrot vegetable, hammer tool, chair furniture, table furniture,
shirt clothing, violin instrument, piano instrument, car vehicle, truck vehicle, gold metal, iron metal,
football sport, tennis sport,
doctor person, teacher person, red colour, blue colour, paris city, france country, beer drink
"""
MEASURES = {
    "k_BA": (ps.k_ba, False, 1),
    "k_E": (ps.k_e, False, 1),
    "k_hyp": (ps.k_hyp, False, 1),
    "k_hyp, smoothed": (ps.k_hyp, True, 1),
    "relative entropy": (ps.relative_entropy, False, -1),
    "relative entropy, smoothed": (ps.relative_entropy, True, -1),
}


def main() -> None:
    """Ask both ways, count."""
    args = options(__doc__, "[lexicon]", smoothing=0.1)
    lexicon = ps.load(args.lexicon)
    pairs = [tuple(pair.split()) for pair in PAIRS.replace("\n", " ").split(",")]
    pairs = [(a, b) for a, b in pairs if a in lexicon and b in lexicon]
    rows = []
    for name, (measure, smooth, sign) in MEASURES.items():
        extra = {"smoothing": args.smoothing} if smooth else {}
        both = [
            (float(measure(lexicon[a], lexicon[b], **extra)), float(measure(lexicon[b], lexicon[a], **extra)))
            for a, b in pairs
        ]
        right = sum(sign * there > sign * back for there, back in both)
        tied = sum(there == back for there, back in both)
        broader = sorted({b for _, b in pairs})
        wins = []
        for (a, b), (there, _) in zip(pairs, both, strict=True):
            others = [float(measure(lexicon[a], lexicon[other], **extra)) for other in broader if other != b]
            wins += [(sign * there > sign * other) + (there == other) / 2 for other in others]
        rows.append([name, str(len(pairs)), str(right), str(tied), f"{np.mean(wins):.2f}"])
    print(table(["measure", "pairs", "right", "tied", "AUC"], rows))


if __name__ == "__main__":
    main()
