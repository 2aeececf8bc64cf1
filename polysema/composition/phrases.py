"""What a user writes as a phrase, as trees: brackets, words with a pattern, plain sentences, many at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING

from polysema.composition.compose import Array, Composition
from polysema.composition.methods import Method
from polysema.composition.trees import Leaf, Node, Tree, from_pattern, is_bracketed, parse_brackets
from polysema.errors import InputError, PolysemaError

if TYPE_CHECKING:
    from polysema.parsing.sentences import Parse

Phrase = str | Tree | Sequence[str]


def is_sentence(phrase: Phrase) -> bool:
    """Whether a phrase is several words of plain English: neither brackets, nor a word, nor a tree."""
    return isinstance(phrase, str) and len(phrase.split()) > 1 and not is_bracketed(phrase)


def as_tree(phrase: Phrase, pattern: str | None = None) -> Tree:
    """The tree that brackets, words with a pattern, or a tree itself stand for."""
    if pattern is not None:
        if isinstance(phrase, Leaf | Node):
            raise InputError("a pattern goes with words, not with a tree")
        return from_pattern(pattern, phrase.split() if isinstance(phrase, str) else list(phrase))
    if isinstance(phrase, str):
        return parse_brackets(phrase)
    if isinstance(phrase, Leaf | Node):
        return phrase
    raise InputError("a list of words needs a pattern, such as 'adj subj verb adj obj'")


def compose_phrases(
    phrases: Iterable[Phrase],
    pattern: str | None,
    method: Method,
    known: Container[str],
    meaning_of: Callable[[Leaf], Array],
) -> list[Composition | PolysemaError]:
    """Each phrase composed, or what went wrong with it; plain sentences are parsed in one batch.

    Args:
        known: the words there are meanings for; in sentences the others are left out.
    """
    phrases = list(phrases)
    sentences = [i for i, phrase in enumerate(phrases) if pattern is None and is_sentence(phrase)]
    parses: dict[int, Parse | PolysemaError] = {}
    if sentences:
        from polysema.parsing.sentences import parse_sentences

        texts = [str(phrases[i]) for i in sentences]
        parses = dict(zip(sentences, parse_sentences(texts, known), strict=True))
    results: list[Composition | PolysemaError] = []
    for i, phrase in enumerate(phrases):
        try:
            if i not in parses:
                composed = Composition(as_tree(phrase, pattern), method, meaning_of)
            else:
                parse = parses[i]
                if isinstance(parse, PolysemaError):
                    raise parse
                composed = Composition(parse.tree, method, meaning_of, parse.left_out)
            results.append(composed)
        except PolysemaError as error:
            results.append(error)
    return results
