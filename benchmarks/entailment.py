"""Which measure tells a hyponym from its hypernym: 32 pairs, written before the first run; and subtrees of WordNet.

    python benchmarks/entailment.py [LEXICON] [--smoothing 0.1]
    python benchmarks/entailment.py [LEXICON] --wordnet /usr/share/wordnet [--pairs 200] [--seed 1]

``right`` counts pairs for which A ⊑ B scores higher than B ⊑ A (relative entropy: lower); ``tied`` those for which both
are the same, as 0 and 0, or ∞ and ∞. ``AUC`` is the chance that a pair scores higher than its first word with the
hypernym of another pair: whether the measure sees kinship at all, whatever the direction.

With WordNet, a noun's matrix is the mixture of the glosses of what lies below it, as the encoder of the dictionary
reads them, a synset with N tagged occurrences weighed by √(N + ½). A pair is an inner node A and one of its hypernyms
B, whose mixture leaves out the whole branch that leads to A. Controls of a pair are (B, A), A with a sibling, and A
with another inner node of B's depth that is about as large. The score

    ln cos(A, B) + S₂(B) − S₂(A) ,      S₂(ρ) = −ln tr ρ² ,      cos(A, B) = tr AB / √(tr A² tr B²)

asks for kinship, and for B to be the broader. ``direction`` is the share of pairs that score higher than (B, A); AUC
is the chance that a pair scores higher than a control, of all kinds and of each. ``entropy``, ``occurrences`` and
``depth`` score a pair by the difference of these alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import auc, options, table
from numpy.typing import NDArray

import polysema as ps
from polysema.density import DensityMatrix
from polysema.senses.dictionary import Dictionary
from polysema.senses.wordnet_files import WordNet, read_wordnet

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
    args = options(__doc__, "[lexicon]", smoothing=0.1, wordnet=Path, pairs=200, seed=1)
    lexicon = ps.load(args.lexicon)
    if args.wordnet:
        return subtrees(lexicon.dictionary, read_wordnet(args.wordnet), args.pairs, np.random.default_rng(args.seed))
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


LARGEST = 2000
"""Synsets below an inner node at most; of each :data:`READ` are read."""

READ = 40


class Node(NamedTuple):
    """An inner node."""

    matrix: NDArray[np.float64]  # ρ, (n, n)
    occurrences: float
    depth: int

    @property
    def purity(self) -> float:
        """tr ρ²."""
        return float((self.matrix**2).sum())


def cosine(a: Node, b: Node) -> float:
    """tr AB / √(tr A² tr B²)."""
    return float((a.matrix * b.matrix).sum() / np.sqrt(a.purity * b.purity))


SCORES: dict[str, Callable[[Node, Node], float]] = {
    "ln cos + S₂(B) − S₂(A)": lambda a, b: float(np.log(max(cosine(a, b), 1e-9) * a.purity / b.purity)),
    "cos": cosine,
    "k_E": lambda a, b: float(ps.k_e(DensityMatrix.from_matrix(a.matrix), DensityMatrix.from_matrix(b.matrix))),
    "k_BA": lambda a, b: float(ps.k_ba(DensityMatrix.from_matrix(a.matrix), DensityMatrix.from_matrix(b.matrix))),
    "entropy": lambda a, b: a.purity - b.purity,
    "occurrences": lambda a, b: b.occurrences - a.occurrences,
    "depth": lambda a, b: a.depth - b.depth,
}


def subtrees(dictionary: Dictionary, wordnet: WordNet, count: int, rng: np.random.Generator) -> None:
    """Ask about inner nodes of WordNet's nouns with the branch of one left out of the other."""
    tree = Tree(wordnet)
    pairs = list(islice(tree.pairs(rng), count))
    chosen = {name for pair in pairs for names, _ in pair for name in names}
    drawn = {name: gloss for name, gloss in zip(wordnet.synsets, wordnet.gloss_texts(), strict=True) if name in chosen}
    vectors = dict(zip(drawn, dictionary.encoder.glosses([*drawn.values()]), strict=True))
    counts = Counter[str]()
    for key in wordnet.keys:
        counts[key.synset] += key.count
    scores: dict[str, list[list[float]]] = {name: [] for name in SCORES}
    for pair in pairs:
        a, b, sibling, other = (node(vectors, counts, *found) for found in pair)
        for name, score in SCORES.items():
            scores[name].append([score(a, b), score(b, a), score(a, sibling), score(a, other)])
    rows = []
    for name, found in scores.items():
        x = np.array(found)
        kinds = [auc(np.append(x[:, 0], x[:, k].ravel()), np.arange(x[:, [0]].size + x[:, k].size) < len(x))
                 for k in (slice(1, None), 1, 2, 3)]  # fmt: skip
        rows.append([name, f"{(x[:, 0] > x[:, 1]).mean():.2f}", *(f"{value:.2f}" for value in kinds)])
    print(f"{len(pairs)} pairs")
    print(table(["score", "direction", "AUC", "reversed", "sibling", "another"], rows))


def node(vectors: Mapping[str, NDArray[np.float32]], counts: Counter[str], names: list[str], depth: int) -> Node:
    """The mixture of synsets."""
    weight = np.sqrt([counts[name] + 0.5 for name in names])
    x = np.stack([vectors[name] for name in names]).astype(np.float64)
    return Node((x.T * (weight / weight.sum())) @ x, sum(counts[name] for name in names), depth)


class Tree:
    """WordNet's nouns by hyponymy."""

    def __init__(self, wordnet: WordNet) -> None:
        nouns = [synset for synset in wordnet.synsets.values() if synset.pos == "noun"]
        self.up = {s.id: [name for symbol, name in s.relations if symbol in ("@", "@i")] for s in nouns}
        self.down = {s.id: [name for symbol, name in s.relations if symbol in ("~", "~i")] for s in nouns}
        self._below: dict[str, frozenset[str]] = {}

    def below(self, name: str) -> frozenset[str]:
        """A synset and all below it."""
        if name not in self._below:
            self._below[name] = frozenset((name,)).union(*map(self.below, self.down[name]))
        return self._below[name]

    def depth(self, name: str) -> int:
        """Steps to the top."""
        return 1 + self.depth(self.up[name][0]) if self.up[name] else 0

    def pairs(self, rng: np.random.Generator) -> Iterator[tuple[tuple[list[str], int], ...]]:
        """(A, B without A's branch, a sibling of A, another node) in random order: synsets, and the depth."""
        inner = [name for name in self.down if 4 <= len(self.below(name)) <= LARGEST]
        for a in rng.permutation(inner).tolist():
            above = [name for name in self._path(a) if self.depth(name) > 1 and len(self.below(name)) <= 2 * LARGEST][
                :4
            ]
            if not above:
                continue
            b = above[rng.integers(len(above))]
            rest = self.below(b).difference(*(self.below(child) for child in self.down[b] if a in self.below(child)))
            siblings = [name for name in self.down[self.up[a][0]]
                        if len(self.below(name)) >= 4 and not self.below(name) & self.below(a)]  # fmt: skip
            others = [name for name in inner
                      if self.depth(name) == self.depth(b) and 0.4 < len(self.below(name)) / len(rest) < 2.5
                      and name != b and not self.below(name) & self.below(a)]  # fmt: skip
            if len(rest) >= 5 and siblings and others:
                sibling, other = (own[rng.integers(len(own))] for own in (siblings, others))
                found = ((a, self.below(a)), (b, rest), (sibling, self.below(sibling)), (other, self.below(other)))
                yield tuple((rng.permutation(sorted(names))[:READ].tolist(), self.depth(name)) for name, names in found)

    def _path(self, name: str) -> Iterator[str]:
        while self.up[name]:
            name = self.up[name][0]
            yield name


if __name__ == "__main__":
    main()
