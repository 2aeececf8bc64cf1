"""Speed of the three questions with a lexicon: how ambiguous, which senses, which one here.

    python benchmarks/questions.py [LEXICON] [--words 200] [--sentences 10000]

Seconds of the clock and of the processor, without a parser: on a machine that does other work, too, the processor's say
more. Words are drawn by a seed from the 20,000 most frequent content words, each asked about for the first time. The
batch is the sentences of ``homographs.tsv``, over and over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import homographs, machine, options, seconds, table

from polysema.corpus.normalisation import is_content
from polysema.lexicon.lexicon import default_path, load, with_matrices


def main() -> None:
    """Print a table: a row a question."""
    chosen = options(__doc__, "[lexicon]", words=200, sentences=10_000)
    path = chosen.lexicon or str(default_path())
    lexicon = with_matrices(load(path), "questions")
    opened = seconds(lambda: load(path))
    content = np.flatnonzero(is_content(lexicon.vocabulary.words))[:20_000]
    drawn = np.random.default_rng(1).permutation(content)[: 2 * chosen.words]
    words = [lexicon.vocabulary.words[row] for row in drawn.tolist()]
    rows = [(row["word"], row["sentence"]) for row in homographs()]
    batch = [row for row in rows if row[0] in lexicon] * (chosen.sentences // len(rows) + 1)
    batch = batch[: chosen.sentences]
    lexicon.senses("bank" if "bank" in lexicon else words[0])
    half = chosen.words
    senses = np.array([seconds(lambda w=w: lexicon.senses(w)) for w in words[:half]])
    asked = [(w, f"They saw the {w} near the old river in the city.") for w in words[half:]]
    single = np.array([seconds(lambda p=p: lexicon.disambiguate(*p, nlp=False)) for p in asked])
    lexicon.disambiguate(batch[:200], nlp=False)
    many = seconds(lambda: lexicon.disambiguate(batch, nlp=False))
    ranked = seconds(lexicon.ambiguity)

    def row(name: str, values: Any, scale: float, unit: str) -> list[str]:
        clock, processor = np.atleast_2d(values).T * scale
        spread = [
            f"{np.median(x):.3g} (up to {np.max(x):.3g})" if len(x) > 1 else f"{x[0]:.3g}" for x in (clock, processor)
        ]
        return [name, *spread, unit]

    print(f"{lexicon!r}; {machine()}\n")
    found = [
        row("open", opened, 1e3, "ms"),
        row("senses of a new word", senses, 1e3, "ms"),
        row("disambiguate, a new word", single, 1e3, "ms"),
        ["disambiguate, a batch", *(f"{len(batch) / spent:,.0f}" for spent in many), "sentences a second"],
        row("ambiguity of all words", ranked, 1.0, "s"),
    ]
    print(table(["question", "by the clock", "by the processor", ""], found))


if __name__ == "__main__":
    main()
