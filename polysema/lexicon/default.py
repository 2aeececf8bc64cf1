"""Questions to the default model: the one that comes with polysema, opened once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polysema.composition.phrases import Parsed
from polysema.errors import Failed
from polysema.lexicon.disambiguation import Context, Disambiguation, Word
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon, with_matrices
from polysema.lexicon.results import Results


def disambiguate(
    word: Word, context: Context | None = None, lexicon: Lexicon | None = None, **options: Any
) -> Disambiguation:
    """Which sense of a word is meant in a context, by a lexicon, or by default the model that comes with polysema.

    For the options see :func:`polysema.lexicon.disambiguation.disambiguate`.
    """
    return _chosen(lexicon).disambiguate(word, context, **options)


def disambiguate_all(
    pairs: Iterable[tuple[Word, Context | None] | Parsed], lexicon: Lexicon | None = None, **options: Any
) -> Results[Disambiguation | Failed]:
    """The same for many words in their contexts: one result each, in the order given."""
    return _chosen(lexicon).disambiguate_all(pairs, **options)


def disambiguate_every(
    word: str, context: Context, lexicon: Lexicon | None = None, **options: Any
) -> Results[Disambiguation]:
    """The same at every occurrence of the word in the context, from left to right."""
    return _chosen(lexicon).disambiguate_every(word, context, **options)


def read(text: str | Parsed, lexicon: Lexicon | None = None, **options: Any) -> Results[Disambiguation]:
    """Every ambiguous content word of a text with the sense that is meant, from left to right."""
    return _chosen(lexicon).read(text, **options)


def _chosen(lexicon: Lexicon | None) -> Lexicon:
    return load() if lexicon is None else with_matrices(lexicon, "a choice of senses")
