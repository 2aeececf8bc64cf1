"""What *not apple* is near to: WordNet's siblings of the word, other words, or the word itself.

    python benchmarks/negation.py DICT [LEXICON] [--words 400] [--seed 1] [--settings]

For a noun of the lexicon's 10,000 most frequent words, by its first synset in WordNet: *siblings* are other lemmas
below the same hypernym, *others* as many words with another lexicographer's file. By similarity to ¬word:

- **alternatives**: the share of pairs in which a sibling is nearer to ¬word than another word is (AUC);
- **itself**: the share of siblings that are nearer to ¬word than the word itself is.

*Siblings* is the conversational negation made of one half of the siblings and measured on the other half. DICT is the
folder with WordNet 3.0's data.noun and index.noun. Words are split in two halves by the seed: settings are looked at on
the first, with ``--settings`` those of the conversational negation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measure import options
from wordnet import read_index, read_synsets

from polysema.composition.operators import negated
from polysema.composition.trees import Leaf
from polysema.density import DensityMatrix
from polysema.lexicon.lexicon import COMMON, Lexicon, load, with_matrices
from polysema.measures import similarity
from polysema.senses.negation import NEGATIONS, mixture_of_words, neighbourhood


def items(lexicon: Lexicon, folder: Path, seed: int) -> list[tuple[str, list[str], list[str]]]:
    """Words with four siblings at least, and as many other words."""
    synsets = read_synsets(folder, "noun")
    first = {noun: synsets[offsets[0]] for noun, offsets in read_index(folder, "noun").items()}
    over = {noun: [offset for symbol, offset in synset.pointers if symbol == "@"] for noun, synset in first.items()}
    order = np.argsort(-lexicon.vocabulary.counts, kind="stable")[:COMMON]
    nouns = [word for word in (lexicon.vocabulary.words[i] for i in order) if word in first and len(word) > 2]
    below: dict[int, list[str]] = {}
    for noun in nouns:
        for hypernym in over[noun]:
            below.setdefault(hypernym, []).append(noun)
    rng = np.random.default_rng(seed)
    found = []
    for noun in nouns:
        alike = {other for hypernym in over[noun] for other in below[hypernym]}
        siblings = sorted(alike - {*first[noun].lemmas, noun})
        if len(siblings) >= 4:
            siblings = [siblings[i] for i in rng.permutation(len(siblings))[:10]]
            drawn = (nouns[i] for i in rng.permutation(len(nouns))[:60])
            others = [other for other in drawn if first[other].file != first[noun].file]
            found.append((noun, siblings, others[: len(siblings)]))
    return [found[i] for i in rng.permutation(len(found))]


def measured(lexicon: Lexicon, chosen: list[tuple[str, list[str], list[str]]], negate: object) -> tuple[float, ...]:
    """Alternatives and itself, each the mean over words, with their standard errors."""
    table = []
    for word, siblings, others in chosen:
        half = siblings[len(siblings) // 2 :]
        rho = DensityMatrix(negate(lexicon, word, siblings[: len(siblings) // 2]))  # type: ignore[operator]
        near = np.asarray(similarity(rho, lexicon.stack([*half, *others, word])))
        a, b = near[: len(half)], near[len(half) : -1]
        table.append([(a[:, None] > b).mean(), (a > near[-1]).mean()])
    return tuple(np.array([np.mean(table, axis=0), np.std(table, axis=0) / np.sqrt(len(table))]).T.ravel().tolist())


def main() -> None:
    """Measure every negation, and settings of the conversational one."""
    args = options(__doc__, "dict", "[lexicon]", words=400, seed=1, settings=False)
    lexicon = with_matrices(load(args.lexicon), "negation")
    chosen = items(lexicon, Path(args.dict), args.seed)[: 2 * args.words]
    first, second = chosen[::2], chosen[1::2]
    rows: dict[str, object] = {
        "the word itself": lambda lexicon, word, _: lexicon[word].factor,
        **{
            name: lambda lexicon, word, _, name=name: NEGATIONS[name].on(lexicon)(lexicon[word].factor, Leaf(word))
            for name in NEGATIONS
            if name != "none"
        },
        "siblings": lambda lexicon, word, some: negated(
            lexicon[word].factor, mixture_of_words(lexicon, some, np.ones(len(some)))
        ),
    }
    if args.settings:
        for size in (10, 25, 50, 100, 200):
            rows[f"conversational, {size} neighbours"] = lambda lexicon, word, _, size=size: negated(
                lexicon[word].factor, neighbourhood(lexicon, lexicon[word].factor, Leaf(word), size)
            )
    print(f"{len(first)} and {len(second)} words")
    for name, negate in rows.items():
        parts = [measured(lexicon, half, negate) for half in (first, second)]
        print(f"{name:32}", *(f"{a:.3f} ± {s:.3f}  itself {b:.3f} ± {t:.3f}   " for a, s, b, t in parts))


if __name__ == "__main__":
    main()
