"""Complete a copy of the default model: its slots, its dictionary, how new words are placed, parts of speech of senses.

    python tools/default_model.py --slots SLOTS [--output FOLDER]
    python tools/default_model.py --dictionary DICTIONARY [--tagged TAGGED] [--output FOLDER]
    python tools/default_model.py CORPUS … --placing [--output FOLDER]
    python tools/default_model.py CORPUS … --speech [--output FOLDER]

``--dictionary`` puts the folder that ``tools/sense_dictionary.py`` made into the model. With ``--tagged``, text that
``polysema tag`` read with it, words are ranked by what contexts tell of their senses there. What was learnt from text is
made smaller: numbers have 6 bits of mantissa, context vectors 3, and rare words, which were placed without the encoder, say nothing about
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
from safetensors.numpy import load_file, save_file

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

FEWEST = 10
"""Uses of a word that is ranked by what contexts tell, at least."""

PLACED = 80
"""Words seen less often were placed."""

TAGGED = 20
"""Occurrences of each sense that are tagged, at most."""


CARD = {
    "good_for": "Which senses an English word has, by WordNet's keys and glosses, which of them a text means and how sure "
    "that is; how ambiguous words are; how similar words and phrases are; what a phrase means, by the slots of its head. "
    "It runs on a processor, without torch.",
    "limits": "English. The dictionary has the senses of WordNet 3.0 and no newer ones; verbs are read worst (F1 .66), and "
    "senses that are rare in SemCor and in WordNet's own examples worse than frequent ones. One missing sense in two is "
    "noticed as none of these. Similarity and phrases rest on matrices learnt from Wikipedia: encyclopaedic, lower-cased "
    "forms of letters only; those seen fewer than 80 times were placed by their contexts and letters and have one sense "
    "there, and words that the dictionary lacks, mostly names, have the senses that an encoder told apart in Wikipedia. "
    "Negation is by rule, not learnt. It repeats what its texts say and how, biases included; slurs are marked.",
    "licence": "The dictionary holds WordNet 3.0 (its own licence); the encoder was trained from all-MiniLM-L6-v2 "
    "(Apache-2.0) with SemCor 3.0 and MASC (CC BY 4.0) and the WordNet Gloss Corpus, and is changed in every layer; it was "
    "taught by all-mpnet-base-v2 (Apache-2.0), whose weights are not part of the model, on sentences of Wikipedia and of "
    "books of Project Gutenberg. What was learnt from Wikipedia (CC BY-SA) is statistics, no sentences.",
    "rebuild": "The dictionary: tools/sense_dictionary.py train and build. Slots, dictionary, placing of new words and parts "
    "of speech are put in by tools/default_model.py. The matrices learnt from Wikipedia cannot be made again with this "
    "release: their senses were clusters of an encoder's vectors, found on one H200 by code that is no longer part of "
    "polysema.",
}
"""What the model card says in words."""


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
        parts["contexts"] = rounded(np.where(frequent[:, None], model.parts.contexts, 0), 3)
    if tagged is not None:
        parts["information"] = Information(resolved(dictionary, tagged, model.vocabulary.words))
    model = model.with_parts(**parts)
    metadata = {**model.metadata, **CARD}
    model = Lexicon(model.vocabulary, model.array, parts=model.parts, metadata=metadata)
    model.save(output, dtype="float16", overwrite=True)
    arrays = load_file(output / "lexicon.safetensors")
    arrays["factor_columns"] = rounded(arrays["factor_columns"], 6)  # saving normalises, so it comes after
    save_file(arrays, output / "lexicon.safetensors")
    print(f"{output}: {model!r}, {dictionary!r}")


def rounded(numbers: NDArray[Any], bits: int) -> NDArray[np.float16]:
    """Numbers with so many bits of mantissa."""
    mantissa, exponent = np.frexp(np.asarray(numbers, np.float32))
    return np.ldexp(np.rint(mantissa * 2 ** (bits + 1)) / 2 ** (bits + 1), exponent).astype(np.float16)


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
