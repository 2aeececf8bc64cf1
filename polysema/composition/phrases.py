"""What a user writes as a phrase, as trees: brackets, words with a pattern, plain sentences, many at once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from polysema.composition.trees import Leaf, LeftOut, Node, Tree, from_pattern, is_bracketed, parse_brackets
from polysema.errors import InputError, PolysemaError

if TYPE_CHECKING:
    from polysema.parsing.sentences import Parse

Phrase = str | Tree | Sequence[str]
"""A plain sentence, brackets, a tree, or words that a pattern gives roles to."""


class Read(NamedTuple):
    """A phrase as read.

    Attributes:
        tree: its tree.
        left_out: the words of a sentence that are not in the tree, and why.
        text: the sentence, where it is one.
    """

    tree: Tree
    left_out: tuple[LeftOut, ...] = ()
    text: str | None = None


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
    raise InputError("words without brackets need a pattern, such as 'adj subj verb adj obj'")


def read_phrases(phrases: Iterable[Phrase], pattern: str | None, known: Container[str]) -> list[Read | PolysemaError]:
    """Each phrase as a tree, or what is wrong with it; plain sentences are parsed in one batch.

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
    return [_read(phrase, pattern, parses.get(i)) for i, phrase in enumerate(phrases)]


def _read(phrase: Phrase, pattern: str | None, parse: Parse | PolysemaError | None) -> Read | PolysemaError:
    if isinstance(parse, PolysemaError):
        return parse
    if parse is not None:
        return Read(parse.tree, parse.left_out, str(phrase))
    try:
        return Read(as_tree(phrase, pattern))
    except PolysemaError as error:
        return error
