"""Complete a copy of the default model: how new words are placed, and the part of speech of each sense.

    python tools/default_model.py CORPUS … --placing [--output FOLDER]
    python tools/default_model.py CORPUS … --speech [--output FOLDER]

The senses of the model that ships were found with an encoder on a GPU, by code that is no longer part of polysema: they
cannot be made again from this tree. What was added afterwards can be. ``--placing`` learns how words are placed by
little text and writes ``placing.safetensors`` for ``polysema adapt``. ``--speech`` finds the part of speech of each
sense with spaCy. CORPUS is text or a folder of ``polysema corpus build``, for ``--speech`` with its capitals
(``--keep-case --digits``). FOLDER is the model to complete, by default that of the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polysema
from polysema import Corpus, build_corpus
from polysema.corpus.corpus import is_corpus
from polysema.corpus.normalisation import Normalisation
from polysema.lexicon.formats.folder import PLACING
from polysema.lexicon.lexicon import DEFAULT, with_matrices
from polysema.parsing.sentences import parser as pipeline
from polysema.progress import progress_report
from polysema.senses.adapt import learn_placing
from polysema.senses.speech import parts_of_speech

TAGGED = 20
"""Occurrences of each sense that are tagged, at most."""


def main() -> None:
    """Do one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--placing", action="store_true")
    how.add_argument("--speech", action="store_true")
    parser.add_argument("--output", type=Path, default=DEFAULT)
    arguments = parser.parse_args()
    corpus = arguments.corpus if len(arguments.corpus) > 1 else arguments.corpus[0]
    (place if arguments.placing else tag)(arguments.output, corpus)


def place(output: Path, corpus: Any) -> None:
    """Learn how words are placed, and write it beside the model."""
    model = with_matrices(polysema.load(output), "the default model")
    with progress_report() as show:
        learn_placing(model, corpus, progress=show).save(model, output)
    print(f"{output / PLACING}: {(output / PLACING).stat().st_size:,} bytes")


def tag(output: Path, corpus: Any) -> None:
    """Find the part of speech of each sense, and write it with the model."""
    model = with_matrices(polysema.load(output), "the default model")
    with progress_report() as show, TemporaryDirectory() as folder:
        if isinstance(corpus, str) and is_corpus(corpus):
            cased = Corpus(corpus)
        else:
            cased = build_corpus(corpus, Path(folder) / "cased", normalisation=Normalisation(lower=False, digits=True))
        speech = parts_of_speech(model, cased, each=TAGGED, progress=show)
    tagger = pipeline().meta
    facts = {"tagger": f"{tagger['lang']}_{tagger['name']} {tagger['version']}", "occurrences_of_a_sense": TAGGED}
    tagged = model.with_parts(speech=speech, metadata={**model.metadata, "parts_of_speech": facts})
    tagged.save(output, dtype="float16", overwrite=True)
    print(f"{output}: {speech!r}")


if __name__ == "__main__":
    main()
