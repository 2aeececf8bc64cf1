"""Examples of the senses of a word, found in a corpus when they are asked for."""

from __future__ import annotations

import numpy as np

from polysema.corpus.corpus import Corpus
from polysema.errors import InputError, MissingExtraError
from polysema.lexicon.faces import Face
from polysema.lexicon.lexicon import Lexicon
from polysema.senses.faces import FaceMaker
from polysema.senses.occurrences import Occurrences, posteriors
from polysema.senses.speech import Tagger


def find_examples(lexicon: Lexicon, word: str, corpus: Corpus, *, most: int = 500, seed: int = 1) -> dict[int, Face]:
    """What each sense of a word looks like in a corpus, by the sense's id; parts of speech where spaCy is installed.

    Args:
        most: how many occurrences to look at, at most; they are drawn by their hash.
    """
    row = lexicon.vocabulary.index(word)
    seen = Occurrences(lexicon, corpus, most=most, words=np.array([row]), seed=seed)
    (own,) = seen.of(row, row + 1)
    if not len(own.positions):
        raise InputError(f"{word!r} does not stand in {corpus.path}")
    told = posteriors(lexicon, word, own, seen.formula)
    try:
        (parts,) = Tagger(corpus).parts([own], [told], most)
    except MissingExtraError:
        parts = None
    faces = FaceMaker(corpus).faces(own, told, parts)
    return dict(zip(lexicon.sense_ids(word).tolist(), faces, strict=True))
