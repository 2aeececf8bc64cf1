"""Which composition method: WordNet's example sentences, whose verb gives way to another; none of the four sets' verbs.

    python benchmarks/composition.py DICT --data DATA [LEXICON]

Phrases are a verb with the nouns in its slots (see ``slots.py``); the substitute is of the verb's synset, or of another
of its synsets. ``AUC`` is how often a substitute of the same synset is more similar, over all pairs, ± bootstrap over
sentences; ``within`` the mean among those of one sentence; ``zero`` the share of phrases whose entropy is below 0.0005.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measure import auc, options, table
from slots import SETS, brackets, within, wordnet_sentences

import polysema as ps
from polysema.composition.compose import Composition
from polysema.evaluation.datasets import load_sets


def main() -> None:
    """Compose every sentence with every substitute by every method."""
    args = options(__doc__, "dict", "[lexicon]", data="data", sentences=100_000, methods=[""])
    lexicon = ps.load(args.lexicon)
    sets, _ = load_sets(SETS, args.data)
    without = {p[s.roles.index("verb")] for s in sets.values() for side in (s.first, s.second) for p in side}
    sentences = wordnet_sentences(Path(args.dict), without, args.sentences, lexicon)
    pairs = [(n, alike, brackets(one, one.verb), brackets(one, other)) for n, one in enumerate(sentences)
             for alike, other in one.substitutes]  # fmt: skip
    number, alike = (np.array(column) for column in list(zip(*pairs, strict=True))[:2])
    groups = {one: np.flatnonzero(number == one) for one in np.unique(number)}
    rng = np.random.default_rng(1)
    resamples = [np.concatenate([groups[i] for i in rng.choice([*groups], len(groups))]) for _ in range(100)]
    phrases = [*dict.fromkeys(phrase for pair in pairs for phrase in pair[2:])]
    rows = []
    usual = [name for name in lexicon.methods if name not in ("contextual", "slots+plausibility")]
    for name in filter(None, args.methods) if any(args.methods) else usual:
        found = dict(zip(phrases, lexicon.compose([*phrases], name), strict=True))
        scores = np.array([
            float(ps.similarity(a.meaning, b.meaning))
            if isinstance(a, Composition) and isinstance(b, Composition) and a.meaning.n == b.meaning.n else 0.0
            for a, b in ((found[first], found[second]) for _, _, first, second in pairs)
        ])  # fmt: skip
        spread = np.std([auc(scores[i], alike[i]) for i in resamples])
        zero = np.mean([(one.entropy or 0.0) < 0.0005 for one in found.values() if isinstance(one, Composition)])
        rows.append([name, f"{auc(scores, alike):.3f} ± {spread:.3f}", f"{within(number, alike, scores):.3f}",
                     f"{zero:.2f}"])  # fmt: skip
    print(f"{len(pairs)} pairs of {len(groups)} sentences")
    print(table(["method", "AUC", "within", "zero"], rows))


if __name__ == "__main__":
    main()
