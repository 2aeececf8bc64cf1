"""Build the default model, the folder ``polysema/models/default``, from a lexicon of senses and a corpus.

    python tools/default_model.py CORPUS … --taught LEXICON [--data DATA] [--output O]
    python tools/default_model.py CORPUS … --placing [--output O]
    python tools/default_model.py CORPUS … --speech [--output O]

CORPUS is text or a folder of ``polysema corpus build``. LEXICON holds senses that an encoder found. Words that it lacks
are placed by their text (``polysema adapt``). At the end it is learnt on the same text how words are placed by little
text, for ``polysema adapt``, and spaCy tells the part of speech of each sense; ``--placing`` and ``--speech`` do one of
these alone, for the model that is there. Text is read with its capitals for the latter; a corpus should have kept them
(``--keep-case --digits``). DATA holds the nine evaluation sets, whose results go on the card.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polysema
from polysema import Corpus, Lexicon, build_corpus
from polysema.corpus.corpus import is_corpus
from polysema.corpus.normalisation import Normalisation
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import load_all
from polysema.lexicon.lexicon import with_matrices
from polysema.models import DEFAULT
from polysema.parsing.sentences import parser as pipeline
from polysema.progress import progress_report
from polysema.senses.adapt import learn_placing
from polysema.senses.ridge import FILE, Ridge
from polysema.senses.speech import parts_of_speech

PULL = 0.25
"""How far context words pull a sense in the word's matrix in context, chosen on WordNet's example sentences."""

PLACED: dict[str, Any] = {"min_count": 20, "weights": False}
"""Options of ``polysema adapt`` for its rarer words."""

TAGGED = 20
"""Occurrences of each sense that are tagged, at most."""

CASED = Normalisation(lower=False, digits=True)
"""How text is read to be tagged."""

GOOD_FOR = (
    "The senses of English words by how they are used, which of them a sentence means, how ambiguous a word is, and "
    "how similar words are; what a phrase is about and how ambiguous it is, by Phaser. No encoder and no GPU is "
    "needed. To compare verbs in sentences, Phaser is not enough here (KS2013 .04): use slots (polysema train --model "
    "slots; KS2013 .56) or, with the encoder installed, contextual."
)

LIMITS = (
    "Encyclopaedic English; lower-cased word forms, of letters only, seen at least 20 times. Words seen fewer than 80 "
    "times were placed by their contexts and letters, without the encoder: they have one sense, no figure of how "
    "ambiguous they are, and a similarity of about .5 to where the encoder would put them. Senses of the others are "
    "those that an encoder tells apart in Wikipedia: one that is rare there may be missing, such as the match that "
    "lights a fire, or share a cluster with another, such as the crane that lifts and the crane that flies; names "
    "count as senses. A word has five at most. Which sense is meant is told by the ten words to each side and how far "
    "off they stand, not by syntax. The part of speech of a sense is what a small tagger calls most of its "
    "occurrences in Wikipedia, where many words stand in names (PROPN). Negation is by rule, not learnt. It repeats "
    "what Wikipedia says and how, biases included."
)

LICENCE = (
    "The text is Wikipedia's, under CC BY-SA: the model holds statistics of it and no sentences. The senses were found "
    "with the encoder {encoder}, whose weights are not part of the model and have their own licence."
)


def main() -> None:
    """Train, evaluate, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--taught", type=Path, help="a lexicon of senses that an encoder found")
    how.add_argument("--speech", action="store_true", help="only find parts of speech, for the model that is there")
    how.add_argument(
        "--placing", action="store_true", help="only learn how words are placed, for the model that is there"
    )
    parser.add_argument("--data", type=Path, help="the folder with the nine evaluation sets")
    parser.add_argument("--output", type=Path, default=DEFAULT)
    arguments = parser.parse_args()
    sets = load_all(arguments.data) if arguments.data else {}
    corpus = arguments.corpus if len(arguments.corpus) > 1 else arguments.corpus[0]
    if arguments.placing:
        return learn(arguments.output, corpus)
    if arguments.speech:
        return tag(arguments.output, corpus)
    with progress_report() as show:
        taught = with_matrices(polysema.load(arguments.taught), "the default model")
        assert taught.context_model is not None
        taught = taught.with_parts(context_model=replace(taught.context_model, pull=PULL))
        model = polysema.adapt(taught, corpus, progress=show, **PLACED)
    encoder = model.metadata["encoder"]["name"]
    names = " ".join(Path(path).name for path in arguments.corpus)
    rebuild = f"{model.metadata['rebuild']} Then: python tools/default_model.py {names} --taught LEXICON"
    model.metadata |= {
        **({"results": results(model, sets)} if sets else {}),
        "good_for": GOOD_FOR,
        "limits": LIMITS,
        "licence": LICENCE.format(encoder=encoder),
        "rebuild": rebuild.strip(),
    }
    model.save(arguments.output, dtype="float16", overwrite=True)
    learn(arguments.output, corpus)
    tag(arguments.output, corpus)
    size = sum(path.stat().st_size for path in arguments.output.iterdir())
    print(f"{arguments.output}: {model!r}, {size:,} bytes")
    for row in model.metadata.get("results", []):
        print(*row.values())


def learn(output: Path, corpus: Any) -> None:
    """Learn how words are placed, and write it beside the model."""
    model = with_matrices(polysema.load(output), "the default model")
    with progress_report() as show:
        learn_placing(model, corpus, progress=show).save(model, output)
    print(f"{output / FILE}: {(output / FILE).stat().st_size:,} bytes")


def tag(output: Path, corpus: Any) -> None:
    """Find the part of speech of each sense, and write that with the model."""
    model = with_matrices(polysema.load(output), "the default model")
    ridge = Ridge.beside(model)
    with progress_report() as show, TemporaryDirectory() as folder:
        if isinstance(corpus, str) and is_corpus(corpus):
            cased = Corpus(corpus)
        else:
            cased = build_corpus(corpus, Path(folder) / "cased", normalisation=CASED)
        speech = parts_of_speech(model, cased, each=TAGGED, progress=show)
    tagger = pipeline().meta
    facts = {"tagger": f"{tagger['lang']}_{tagger['name']} {tagger['version']}", "occurrences_of_a_sense": TAGGED}
    tagged = model.with_parts(speech=speech, metadata={**model.metadata, "limits": LIMITS, "parts_of_speech": facts})
    tagged.save(output, dtype="float16", overwrite=True)
    if ridge is not None:
        ridge.save(tagged, output)
    print(f"{output}: {speech!r}")


def results(model: Lexicon, sets: dict[str, EvaluationSet]) -> list[dict[str, Any]]:
    """Spearman's ρ on each set with its 95 % interval; the phrases' by Phaser, and by the verb alone to compare."""
    evaluation = polysema.evaluate(model, sets, methods=["verb", "phaser"], bootstraps=1000, name="default")
    return [_row(row) for row in evaluation.rows]


def _row(row: Any) -> dict[str, Any]:
    low, high = row.interval or (float("nan"),) * 2
    return {
        "set": row.items.name,
        "method": "–" if row.items.is_words else row.method,
        "spearman": round(row.spearman, 3),
        "interval": f"{low:.3f} to {high:.3f}",
        "covered": f"{int(row.best.covered.sum())} of {len(row.items)}",
    }


if __name__ == "__main__":
    main()
