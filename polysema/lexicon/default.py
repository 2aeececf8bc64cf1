"""Senses in context with the model that comes with polysema, which is loaded once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from polysema.errors import Failed
from polysema.lexicon import disambiguation
from polysema.lexicon.disambiguation import Context, Disambiguation
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon


@cache
def default_lexicon() -> Lexicon:
    """The model that comes with polysema."""
    return load()


def disambiguate(word: str, context: Context, lexicon: Lexicon | None = None, **options: Any) -> Disambiguation:
    """Which sense of a word is meant in a context.

    Args:
        lexicon: the senses to choose from; by default the model that comes with polysema.
        options: those of :func:`polysema.lexicon.disambiguation.disambiguate`: method, pattern, top, which, nlp.
    """
    return disambiguation.disambiguate(default_lexicon() if lexicon is None else lexicon, word, context, **options)


def disambiguate_every(
    word: str, context: Context, lexicon: Lexicon | None = None, **options: Any
) -> list[Disambiguation]:
    """The same at every occurrence of the word in the context, from left to right."""
    return disambiguation.disambiguate_every(
        default_lexicon() if lexicon is None else lexicon, word, context, **options
    )


def disambiguate_all(
    pairs: Iterable[tuple[str, Context]], lexicon: Lexicon | None = None, **options: Any
) -> list[Disambiguation | Failed]:
    """Many words in their contexts: one result each, in the order given."""
    return disambiguation.disambiguate_all(default_lexicon() if lexicon is None else lexicon, pairs, **options)


def read(text: str, lexicon: Lexicon | None = None, **options: Any) -> list[Disambiguation]:
    """Every ambiguous content word of a text with the sense that is meant, from left to right."""
    return disambiguation.read(default_lexicon() if lexicon is None else lexicon, text, **options)
