"""Lemmas for text that has none: found per distinct word, not per token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import MissingExtraError, UnknownChoiceError

if TYPE_CHECKING:
    from polysema.corpus.table import WordTable


def lemmatised(words: WordTable, language: str) -> tuple[WordTable, NDArray[np.uint32]]:
    """The lemmas of words with the words' counts, and the lemma of each word; the words are used up."""
    from polysema.corpus.table import WordTable, pack

    lemma_of = lemmatiser(language)
    lemmas = WordTable()
    mapping = np.empty(len(words), np.uint32)
    words.forget_slots()
    while len(words):  # from the end, so that the words go as the lemmas come
        start = (len(words) - 1) >> 16 << 16
        some = slice(start, len(words))
        found = [
            lemma_of(word.decode()).encode() for word in words.lines(np.arange(start, len(words))).split(b"\n")[:-1]
        ]
        arena, offsets = pack(found)
        lemmas.add(arena, offsets, 0, len(found), mapping[some])
        np.add.at(lemmas.counts, mapping[some], words.counts[some])
        words.cut(start)
    return lemmas, mapping


def lemmatiser(language: str) -> Any:
    """A function from a word to its lemma, by simplemma."""
    try:
        import simplemma
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    except ImportError:
        raise MissingExtraError("lemmatising", "lemmas") from None
    if language not in SUPPORTED_LANGUAGES:
        raise UnknownChoiceError("language to lemmatise", language, sorted(SUPPORTED_LANGUAGES))

    def lemma_of(word: str) -> str:
        lemma = simplemma.lemmatize(word, lang=language)
        lemma = lemma.lower() if word.islower() else lemma
        return lemma if lemma and not any(character.isspace() for character in lemma) else word

    return lemma_of
