"""What a user writes as a phrase: brackets, words with a pattern, plain text.

The type of a string says what it is::

    PlainText("the Church Committee (1975) was set up")      Brackets("(bank (raised rates))")

Any other string is text with its punctuation, unless it is unmistakably a tree in brackets: see :func:`is_brackets`.
:mod:`polysema.parsing` parses text with spaCy, and takes what spaCy has parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from polysema.composition.occurrences import Occurrence, Span, Token, Tokenised
from polysema.composition.trees import Leaf, LeftOut, Node, Tree, from_pattern, leaves, parse_brackets
from polysema.errors import InputError, TreeError


class PlainText(str):
    """Plain text, whatever its punctuation."""

    __slots__ = ()


class Brackets(str):
    """A tree in brackets: see :func:`~polysema.composition.trees.parse_brackets`."""

    __slots__ = ()


class SpacyParse(Protocol):
    """What spaCy has parsed: a Doc, a Span, or a Token, which means the phrase that it heads."""

    @property
    def text(self) -> str:
        """The words as they are written."""


Phrase = str | Tree | Sequence[str] | SpacyParse
"""Plain text, brackets, a tree, words with a pattern, or what spaCy has parsed."""


@dataclass(frozen=True, slots=True)
class Read(Tokenised):
    """A phrase as read: its words and its tree."""

    tree: Tree
    leaf_of: tuple[Leaf | None, ...]  # the leaf of each token; None if it is not in the tree
    left_out: tuple[LeftOut, ...] = ()  # the words of a text that are not in the tree, and why
    is_text: bool = False  # whether the source is plain text, not brackets or words with a pattern

    @property
    def text(self) -> str | None:
        """The source if it is plain text."""
        return self.source if self.is_text else None

    @property
    def spans(self) -> dict[int, Span]:
        """The place of each leaf in the source, by the leaf's position."""
        pairs = zip(self.tokens, self.leaf_of, strict=True)
        return {leaf.position: token.span for token, leaf in pairs if leaf is not None}

    def at(self, span: Span) -> Occurrence:
        """The word at a place, with its leaf."""
        own = bisect_left(self.tokens, span[0], key=lambda token: token.start)
        one = own < len(self.tokens) and self.tokens[own].span == span
        return replace(Tokenised.at(self, span), tree=self.tree, leaf=self.leaf_of[own] if one else None)


_PUNCTUATION = frozenset(".,;:?!\"'`…—–-“”„‘’«»[]{}<>/\\")


def is_brackets(phrase: str) -> bool:
    """Whether a string is a tree in brackets: of the type :class:`Brackets`, or unmistakably one.

    That is one pair of brackets from the first character to the last, or several with ``|`` between them, in which
    every bracket holds two sides (or one), and no word begins or ends with punctuation. Marks (``*``, ``~``, ``&``,
    ``|``) are allowed where brackets allow them.

    >>> is_brackets("(bank (raised rates))"), is_brackets("the bank (raised rates)"), is_brackets("(see the next page)")
    (True, False, False)
    """
    if isinstance(phrase, PlainText | Brackets):
        return isinstance(phrase, Brackets)
    text = phrase.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return False
    try:
        parse_brackets(text)
    except TreeError:
        return False
    sides = [0]  # of every open bracket
    for item in re.findall(r"[()]|\|[\d.]*|[^\s()|]+", text):
        if item == ")":
            if sides.pop() > 2:
                return False
        elif item[0] == "|":
            sides[-1] = 0 if len(sides) == 1 else sides[-1]
        elif item not in ("*", "~", "&"):
            sides[-1] += 1
            outermost = len(sides) == 1
            if item == "(":
                sides.append(0)
            elif outermost or item[0] in _PUNCTUATION or item[-1] in _PUNCTUATION:
                return False
            if outermost and sides[0] > 1:
                return False
    return True


def is_parsed(phrase: object) -> bool:
    """Whether it is a :class:`SpacyParse`; this does not load spaCy."""
    return type(phrase).__module__.startswith("spacy.tokens.")


def is_text(phrase: Phrase) -> bool:
    """Whether a phrase is plain text: a :class:`PlainText`, or neither a tree in brackets nor one word alone."""
    if not isinstance(phrase, str) or is_word(phrase):
        return False
    return isinstance(phrase, PlainText) or not is_brackets(phrase)


def is_word(phrase: str) -> bool:
    """Whether a string is one word alone, or none: no white space, no brackets, no :class:`PlainText`."""
    return not isinstance(phrase, PlainText) and len(phrase.split()) < 2 and not any(mark in phrase for mark in "()")


def read_phrase(phrase: Phrase, pattern: str | None = None) -> Read:
    """Brackets, a word, words with a pattern, or a tree as read; plain text is for :mod:`polysema.parsing`."""
    if isinstance(phrase, Leaf | Node):
        if pattern is not None:
            raise InputError("a pattern goes with words, not with a tree")
        return read_tree(phrase)
    if pattern is not None:
        if not isinstance(phrase, str | Sequence):
            raise InputError("a pattern goes with words, not with what spaCy has parsed")
        words = phrase.split() if isinstance(phrase, str) else list(phrase)
        return read_tree(from_pattern(pattern, words), " ".join(words))
    if not isinstance(phrase, str | Sequence):
        raise InputError(f"a phrase is text, brackets or a tree, not {type(phrase).__name__}")
    if not isinstance(phrase, str):
        raise InputError("words without brackets need a pattern, such as 'adj subj verb adj obj'")
    if is_word(phrase) and phrase.strip() and not isinstance(phrase, Brackets):
        return read_tree(Leaf(phrase.strip()), phrase)
    return read_tree(parse_brackets(phrase), phrase)


def read_tree(tree: Tree, source: str = "") -> Read:
    """A tree as read; the source is what was written for it: brackets, or its words in order. By default brackets."""
    source, words, end = source or str(tree), leaves(tree), 0
    tokens = []
    for leaf in words:
        tokens.append(Token(leaf.word, leaf.word, source.index(leaf.word, end)))
        end = tokens[-1].span[1]
    return Read(source, tuple(tokens), tree, tuple(words))
