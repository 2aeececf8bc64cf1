"""Complete a copy of the default model: its slots, its dictionary, how new words are placed, parts of speech of senses.

    python tools/default_model.py --slots SLOTS [--output FOLDER]
    python tools/default_model.py --dictionary DICTIONARY [--tagged TAGGED] [--output FOLDER]
    python tools/default_model.py CORPUS … --placing [--output FOLDER]
    python tools/default_model.py CORPUS … --speech [--output FOLDER]

``--dictionary`` puts the folder that ``tools/sense_dictionary.py`` made into the model. With ``--tagged``, text that
``polysema tag`` read with it, words are ranked by what contexts tell of their senses there. What was learnt from text is
made smaller: numbers have 5 bits of mantissa, and rare words, which were placed without the encoder, say nothing about
their neighbours.

``--slots`` puts the slots of a lexicon into the model, as ``slots.safetensors``: phrases are composed by them. SLOTS is
made from text by

    polysema corpus parse TEXT -o text.parsed
    polysema train text.parsed --model slots --min-count 5 --set dim=50 --set fillers=100 -o SLOTS

The senses found in text were found with an encoder on a GPU, by code that is no longer part of polysema: they
cannot be made again from this tree. What was added afterwards can be. ``--placing`` learns how words are placed by
little text and writes ``placing.safetensors`` for ``polysema adapt``. ``--speech`` finds the part of speech of each
sense with spaCy. CORPUS is text or a folder of ``polysema corpus build``, for ``--speech`` with its capitals
(``--keep-case --digits``). FOLDER is the model to complete, by default that of the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polysema
from polysema import Corpus, Lexicon, build_corpus
from polysema.corpus.corpus import is_corpus
from polysema.corpus.normalisation import Normalisation
from polysema.lexicon.formats.folder import PLACING, SLOTS
from polysema.lexicon.lexicon import DEFAULT, with_matrices
from polysema.meanings.parts import Information
from polysema.parsing.sentences import parser as pipeline
from polysema.progress import progress_report
from polysema.senses.adapt import learn_placing
from polysema.senses.dictionary import Dictionary
from polysema.senses.inventory import holevo
from polysema.senses.speech import parts_of_speech
from polysema.slots.stored import write_slots
from polysema.use.tagged import opened

FEWEST = 20
"""Uses of a word that is ranked by what contexts tell, at least."""

PLACED = 80
"""Words seen less often were placed."""

TAGGED = 20
"""Occurrences of each sense that are tagged, at most."""


def main() -> None:
    """Do one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="*")
    parser.add_argument("--tagged", type=Path)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--dictionary", type=Path)
    how.add_argument("--slots", type=Path)
    how.add_argument("--placing", action="store_true")
    how.add_argument("--speech", action="store_true")
    parser.add_argument("--output", type=Path, default=DEFAULT)
    arguments = parser.parse_args()
    if arguments.dictionary is not None:
        join(arguments.output, arguments.dictionary, arguments.tagged)
        return
    if arguments.slots is not None:
        compose_by(arguments.output, arguments.slots)
        return
    if not arguments.corpus:
        parser.error("name the text")
    corpus = arguments.corpus if len(arguments.corpus) > 1 else arguments.corpus[0]
    (place if arguments.placing else tag)(arguments.output, corpus)


def join(output: Path, folder: Path, tagged: Path | None) -> None:
    """Put a dictionary into the model, and rank its words."""
    model, dictionary = with_matrices(polysema.load(output), "the default model"), Dictionary.load(folder)
    parts: dict[str, Any] = {"dictionary": folder}
    if model.parts.contexts is not None:
        frequent = model.vocabulary.counts >= PLACED
        parts["contexts"] = rounded(np.where(frequent[:, None], model.parts.contexts, 0))
    if tagged is not None:
        parts["information"] = Information(resolved(dictionary, tagged, model.vocabulary.words))
    model = model.with_parts(**parts)
    model = Lexicon(model.vocabulary, rounded(model.array), parts=model.parts, metadata=model.metadata)
    model.save(output, dtype="float16", overwrite=True)
    print(f"{output}: {model!r}, {dictionary!r}")


def rounded(numbers: NDArray[Any]) -> NDArray[np.float16]:
    """Numbers with 5 bits of mantissa."""
    mantissa, exponent = np.frexp(np.asarray(numbers, np.float32))
    return np.ldexp(np.rint(mantissa * 64) / 64, exponent).astype(np.float16)


def resolved(dictionary: Dictionary, tagged: Path, words: Sequence[str]) -> NDArray[np.float32]:
    """χ of the lexeme of each word, by its uses in tagged text; not a number where these are fewer than :data:`FEWEST`."""
    corpus = opened(tagged, [], dictionary)
    corpus.index()
    known: dict[str, float] = {}
    for word, count in corpus.counts.items():
        if count >= FEWEST:
            uses = corpus.uses(word)
            known[word] = holevo(uses.p, dictionary.file.unit_vectors(uses.rows).astype(np.float64))
    found = (dictionary.find(word) for word in words)
    return np.array([known.get(item.entry.word, np.nan) if item else np.nan for item in found], np.float32)


def compose_by(output: Path, folder: Path) -> None:
    """Write the slots of a lexicon beside the model."""
    slots = with_matrices(polysema.load(folder), "a model that composes by slots").slots
    write_slots(output / SLOTS, (slots.vocabulary, slots.shares, slots.spaces, slots.fillers))
    print(
        f"{output / SLOTS}: {(output / SLOTS).stat().st_size:,} bytes, {len(slots.vocabulary):,} words, {slots.fillers!r}"
    )


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
