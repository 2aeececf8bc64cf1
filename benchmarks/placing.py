"""How well words are placed by a text of one's own, against training on that text from nothing.

    python benchmarks/placing.py TEXT DATA [LEXICON] [--corpus CORPUS] [--megabytes 1 5 20] [--skip BYTES]

The words of the word-similarity sets in DATA that stand in the first megabytes of TEXT (after BYTES) are taken out of
the lexicon, every other one or all of them, and placed again by the text (`polysema adapt`). Spearman's ρ over the
pairs of all five sets whose two words both stand in the text, each set ranked by itself and weighted by its pairs:

- ``taught``: the lexicon as it was, which is the most that can be hoped for;
- ``placed``: every such word placed, none of them known;
- ``half placed``: every second of them placed;
- ``ms-word2dm``, ``word2vec``: trained on the text alone.

With CORPUS, much text that the lexicon was made from, words are placed by a regression that is learnt on it, as those
of the model that ships are, but never from the words that are taken out.

Nothing here was used to choose a setting; TEXT should be new to the lexicon.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from measure import machine, options, table

import polysema as ps
from polysema.corpus.corpus import Corpus
from polysema.evaluation.evaluate import load_all
from polysema.evaluation.statistics import ranks
from polysema.lexicon.lexicon import AnyLexicon, with_matrices
from polysema.meanings.parts import Information, Inventory, Parts
from polysema.senses.adapt import learn_placing
from polysema.vocabulary import Vocabulary


def main() -> None:
    """Print a table: a row a size of the text."""
    args = options(
        __doc__, "text", "data", "[lexicon]", corpus=Path, skip=0, megabytes=[1.0, 5.0, 20.0], min_count=5, seed=1
    )
    lexicon = with_matrices(ps.load(args.lexicon), "placing")
    sets = {name: data for name, data in load_all(Path(args.data)).items() if data.is_words}
    print(machine(), "\n")
    rows = []
    for size in args.megabytes:
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "text.txt"
            with open(args.text, "rb") as whole:
                whole.seek(args.skip)
                text.write_bytes(whole.read(int(size * 1e6)).partition(b"\n")[2].rpartition(b"\n")[0])
            corpus = ps.build_corpus(text, Path(folder) / "corpus")
            counts = dict(zip(corpus.vocabulary.words, np.asarray(corpus.counts).tolist(), strict=True))
            pairs = {
                name: [(a[0], b[0], y) for a, b, y in zip(data.first, data.second, data.gold.tolist(), strict=True)]
                for name, data in sets.items()
            }
            seen = {
                name: [(a, b, y) for a, b, y in listed if min(counts.get(w, 0) for w in (a, b)) >= args.min_count]
                for name, listed in pairs.items()
            }
            seen = {name: [p for p in listed if p[0] in lexicon and p[1] in lexicon] for name, listed in seen.items()}
            hidden = sorted({word for listed in seen.values() for pair in listed for word in pair[:2]})
            known = without(lexicon, hidden)
            ridge = None if args.corpus is None else learn_placing(known, Corpus(args.corpus), seed=args.seed)
            settings = {"min_count": args.min_count, "seed": args.seed, "placing": ridge, "weights": False}
            begun = time.process_time()
            placed = ps.adapt(known, corpus, **settings)
            spent = time.process_time() - begun
            half = ps.adapt(without(lexicon, hidden[::2]), corpus, **settings)
            rows.append(
                [
                    f"{size:g} MB",
                    str(len(hidden)),
                    str(sum(map(len, seen.values()))),
                    *(
                        f"{agreement(model, seen):.3f}"
                        for model in (
                            lexicon,
                            half,
                            placed,
                            ps.train(corpus, min_count=args.min_count, seed=args.seed),
                            ps.train(corpus, "word2vec", min_count=args.min_count, seed=args.seed),
                        )
                    ),
                    str(placed.metadata["adapted"][-1]["words"] - len(hidden)),
                    f"{placed.metadata['adapted'][-1]['among_ten_nearest']:.2f}",
                    f"{spent:.0f}",
                ]
            )
            print(rows[-1], flush=True)
    heads = ["text", "words placed", "pairs", "taught", "half placed", "placed", "ms-word2dm", "word2vec"]
    print(table([*heads, "other new words", "back among ten", "processor s"], rows))


def without(lexicon: ps.Lexicon, words: list[str]) -> ps.Lexicon:
    """The lexicon without some words."""
    gone = set(words)
    rows = [row for row, word in enumerate(lexicon.vocabulary.words) if word not in gone]
    vocabulary, inventory, information = lexicon.vocabulary, lexicon.parts.inventory, lexicon.parts.information
    return ps.Lexicon(
        Vocabulary([vocabulary.words[row] for row in rows], vocabulary.counts[rows]),
        lexicon.factors[rows],
        metadata=lexicon.metadata,
        parts=Parts(
            contexts=None if lexicon.parts.contexts is None else lexicon.parts.contexts[rows],
            context_model=lexicon.parts.context_model,
            information=None if information is None else Information(information.values[rows], information.measure),
            inventory=None
            if inventory is None
            else Inventory(inventory.senses[rows], inventory.weights[rows], inventory.least[rows]),
        ),
    )


def agreement(model: AnyLexicon, pairs: dict[str, list[tuple[str, str, float]]]) -> float:
    """Spearman's ρ with the ratings, the mean over sets by their pairs; sets of fewer than 20 are left out."""
    found = []
    for listed in pairs.values():
        if len(listed) >= 20:
            similarity = [model.similarity(a, b) for a, b, _ in listed]
            rho = np.corrcoef(ranks(np.array(similarity)), ranks(np.array([y for *_, y in listed])))[0, 1]
            found.append((rho, len(listed)))
    return float(np.average([rho for rho, _ in found], weights=[size for _, size in found])) if found else float("nan")


if __name__ == "__main__":
    main()
