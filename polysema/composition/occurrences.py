"""The words of a text, the places of a word in it, and phrases as texts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from polysema.composition.trees import Leaf, Tree, head, leaves, nodes, shown
from polysema.errors import InputError, check_choice, needing

LONGEST = 2000  # the most characters without a space that are parsed: spaCy's time grows with their square

OVERLONG = re.compile(rf"\S{{{LONGEST},}}")

Span = tuple[int, int]  # the place of a word in a text: its first character, and the one after its last

_RUN_OF_LETTERS = re.compile(r"[^\W\d_]+")
_ARTICLES = ("the", "a", "an")


class Token(NamedTuple):
    """A word of a text. What a parser gives is empty in a text that was not parsed."""

    text: str
    lemma: str  # its dictionary form; without a parser the word itself
    start: int = 0  # its first character in the text
    pos: str = ""  # its part of speech, by Universal Dependencies
    label: str = ""  # its dependency on its head
    head: int = 0  # the index of its head; its own, for a root

    @property
    def span(self) -> Span:
        """Its place in the text."""
        return self.start, self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A word at its place in a text."""

    text: str  # the sentence, or the phrase as it was written
    span: Span
    lemma: str  # its dictionary form if the text was parsed; else the word itself
    leaf: Leaf | None  # its leaf of the tree; None if it has none
    tree: Tree | None  # the tree of the text; None if it was not parsed
    around: tuple[str, ...]  # the other words of the text, in order
    before: int = 0  # how many of them precede it

    @property
    def form(self) -> str:
        """The word as it is written in the text."""
        return self.text[slice(*self.span)]


def find_occurrences(text: str, word: str, tokens: Sequence[Token] = ()) -> list[Span]:
    """Every place of a word in a text, from left to right.

    It is found by its spelling, in any case, and by the lemmas of the tokens. If that finds nothing, other forms of it
    are found: by regular endings and then, with the extra ``encoders``, by ``lemminflect``.

    Args:
        word: one word, or several with a space between them.
        tokens: the words of the text, from a parser. A place then begins and ends with a token; only if there is none,
            the word is also found inside a token, as *mail* in *e-mail*.

    >>> find_occurrences("The bank by the river bank.", "bank"), find_occurrences("Two families ran it.", "family")
    ([(4, 8), (22, 26)], [(4, 12)])
    """
    if not word:
        return []
    wanted = word.lower()
    spelled = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]
    whole = set(spelled)
    if tokens:
        starts, ends = ({token.span[side] for token in tokens} for side in (0, 1))
        whole = {(start, end) for start, end in spelled if start in starts and end in ends}
        whole |= {token.span for token in tokens if token.lemma.lower() == wanted}
    if whole:
        return sorted(whole)
    words, forms = tokens or tokenised(text).tokens, _regular_forms(wanted)
    return (
        [token.span for token in words if token.text.lower() in forms]
        or [token.span for token in words if _is_form_of(token.text.lower(), wanted)]
        or spelled
    )


def first_choice(text: str, word: str, spans: Sequence[Span]) -> int:
    """The place of a word that is taken by default: the first as spelled, else in another case, else the first."""
    forms = [text[start:end] for start, end in spans]
    lower = [form.lower() for form in forms]
    return forms.index(word) if word in forms else lower.index(word.lower()) if word.lower() in lower else 0


def span_of(text: str, word: str | Span) -> Span:
    """The place of one word in a text: by its spelling, its dictionary form, or its span.

    >>> span_of("The family runs the hotel.", "run")
    (11, 15)
    """
    if not isinstance(word, str):
        return word
    spans = Tokenised(text, ()).places(word)
    return spans[first_choice(text, word, spans)]


def counted_word(text: str, position: int, word: str) -> Span:
    """The place of a phrase's word in a sentence that was made of the phrase by hand.

    The sentences of the paper's sets add articles and inflect (*family run hotel*: *The family runs the hotel.*), some
    with typing errors (*expresss*), so the words are counted, not compared. *win-over* is two words there.

    >>> text = "The family runs the hotel."
    >>> text[slice(*counted_word(text, 1, "run"))]
    'runs'
    """
    found = [match for match in re.finditer(r"[\w'-]+", text) if match.group().lower() not in _ARTICLES]
    if len(found) <= position:
        raise InputError(f"{text!r} has no word {position + 1} for {word!r}")
    last = position + (word.count("-") if "-" not in found[position].group() else 0)
    return found[position].start(), found[min(last, len(found) - 1)].end()


@dataclass(frozen=True, slots=True)
class Tokenised:
    """A text as it was written, and its words in order, without a tree."""

    source: str
    tokens: tuple[Token, ...]

    def places(self, word: str) -> list[Span]:
        """Every place of a word; an error if there is none."""
        found = find_occurrences(self.source, word, self.tokens)
        if not found:
            raise InputError(f"{word!r} is not in {shown(self.source)}")
        return found

    def at(self, span: Span) -> Occurrence:
        """The word at a place."""
        first = bisect_left(self.tokens, span[0] + 1, key=lambda token: token.span[1])
        last = bisect_left(self.tokens, span[1], key=lambda token: token.start)
        around = tuple(token.text for token in (*self.tokens[:first], *self.tokens[last:]))
        lemma = self.tokens[first].lemma if last - first == 1 else self.source[slice(*span)]
        return Occurrence(self.source, span, lemma, None, None, around, first)


def tokenised(text: str) -> Tokenised:
    """A text that was not parsed; its words are its runs of letters.

    >>> [token.text for token in tokenised("The bank's (1975) rate.").tokens]
    ['The', 'bank', 's', 'rate']
    """
    found = _RUN_OF_LETTERS.finditer(text)
    return Tokenised(text, tuple(Token(match.group(), match.group(), match.start()) for match in found))


def _regular_forms(word: str) -> set[str]:
    """A word with the regular endings of English nouns and verbs."""
    forms = {word + ending for ending in ("s", "es", "ed", "ing")}
    if word.endswith("e"):
        forms |= {word + "d", word[:-1] + "ing"}
    if word.endswith("y"):
        forms |= {word[:-1] + ending for ending in ("ies", "ied")}
    return forms


def _is_form_of(form: str, word: str) -> bool:
    """Whether a form belongs to a word by the tables of ``lemminflect``; False if that is not installed."""
    try:
        import lemminflect
    except ImportError:
        return False
    lemmas = {lemma for listed in lemminflect.getAllLemmas(form).values() for lemma in listed}
    return word in lemmas or any(form in listed for listed in lemminflect.getAllInflections(word).values())


# ----------------------------------------------------------------------------------------------- phrases as sentences

TENSES = {
    "present": ("", "", "VBZ", "VBP"),
    "past": ("", "", "VBD", "VBD"),
    "progressive": ("is", "are", "VBG", "VBG"),
    "future": ("will", "will", "VB", "VB"),
}
"""By name: the auxiliary after a singular and a plural subject, and the verb's form (Penn tag) after each."""


def as_sentence(tree: Tree, tense: str = "present") -> tuple[str, dict[int, Span]]:
    """A phrase as an English sentence, and the place of each of its words there; forms of words by ``lemminflect``.

    So the paper made sentences of its phrases by hand. A verb agrees with its subject, a noun phrase begins with *the*.
    A phrase without a verb stays a phrase.

    >>> from polysema.composition.trees import from_pattern
    >>> as_sentence(from_pattern("adj subj verb adj obj", ["local", "family", "run", "small", "hotel"]))[0]
    'The local family runs the small hotel.'

    Args:
        tense: a name in ``TENSES``.
    """
    check_choice("tense", tense, TENSES)
    verbs = {head(node.functor).position for node in nodes(tree, "argument")}
    of_verbs = [node for node in nodes(tree, "modifier") if head(node.argument).position in verbs]
    adverbs = {leaf.position for node in of_verbs for leaf in leaves(node.functor)}
    text, subject, opening = "", "", True
    spans: dict[int, Span] = {}
    for leaf in leaves(tree):
        before, form = "", leaf.word
        if leaf.position in verbs:
            before, form = inflected(leaf.word, subject, tense)
            opening = True
        elif leaf.position not in adverbs:
            before = "the" if opening else ""
            subject, opening = leaf.word, False
        text += f"{before} " if before else ""
        spans[leaf.position] = (len(text), len(text) + len(form))
        text += f"{form} "
    return text[:1].upper() + text[1:-1] + ".", spans


def inflected(verb: str, subject: str, tense: str = "present") -> tuple[str, str]:
    """The auxiliary (or an empty string) and the form of a verb in a tense, agreeing with its subject.

    >>> inflected("run", "family"), inflected("run", "people"), inflected("win-over", "speaker", "progressive")
    (('', 'runs'), ('', 'run'), ('is', 'winning over'))
    >>> [inflected("run", noun)[1] for noun in ("children", "child", "glass")]
    ['run', 'runs', 'runs']
    """
    with needing("forms of words", "encoders"):
        import lemminflect
    lemmas = lemminflect.getAllLemmas(subject, upos="NOUN").get("NOUN", (subject,))
    plural = subject in ("people", "police", "cattle") or subject not in lemmas
    verb, dash, rest = verb.partition("-")
    forms = lemminflect.getInflection(verb, tag=TENSES[tense][2 + plural])
    return TENSES[tense][plural], (str(forms[0]) if forms else verb) + (f" {rest}" if dash else "")
