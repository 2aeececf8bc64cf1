"""Questions about senses: which one is meant of one word, of many, or of every ambiguous word of a text.

The dictionary answers where it has the word, else the senses found in text. The encoder of a dictionary reads plain
text: of brackets, trees and words with a pattern the words in order. No method of composition takes part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composer, Composition
from polysema.composition.occurrences import (
    Span,
    Token,
    Tokenised,
    find_occurrences,
    first_choice,
    tokenised,
)
from polysema.composition.phrases import (
    Phrase,
    PlainText,
    SpacyParse,
    is_brackets,
    is_parsed,
    read_phrase,
    read_tree,
)
from polysema.composition.trees import words_of
from polysema.corpus.normalisation import STOP_WORDS
from polysema.errors import Failed, InputError, PolysemaError
from polysema.meanings.meanings import COMMON, Matrices
from polysema.meanings.results import Results
from polysema.parsing.sentences import read_phrases
from polysema.senses import entries, senses
from polysema.senses.answers import Disambiguation, Sense
from polysema.senses.dictionary import Dictionary
from polysema.senses.disambiguation import Disambiguator, Place
from polysema.senses.entries import UNIVERSAL, Found
from polysema.senses.senses import LEAST_WEIGHT

AMBIGUOUS = 0.1
"""A word of a text is ambiguous if two of its senses found in text weigh at least this much."""

Array = NDArray[np.float64]
Answer = Disambiguation | Failed
T = TypeVar("T")

Context = Phrase | Composition
"""What a word stands in: plain text, brackets, a tree, words with a pattern, a composition, or what spaCy parsed."""

Word = str | SpacyParse
"""A word, or a Token of spaCy (a Span stands for its root), which brings its context: the sentence it stands in."""

Question = tuple[Word, Context | None] | SpacyParse
Which = int | Literal["all"] | None
_Read = tuple[Tokenised, str]
"""A context as read, and why it has no tree; empty where it has one."""


class Narrowed(NamedTuple):
    """Which senses of the dictionary to choose from."""

    pos: str | None = None  # ``noun``, ``verb``, ``adj`` or ``adv``
    lemma: str | None = None  # *see* for the form *saw*
    fine: bool = False  # whether senses are told apart that people would not

    def check(self, word: str) -> None:
        """Refuse to narrow senses found in text."""
        for name, value in (("pos", self.pos), ("lemma", self.lemma)):
            if value is not None:
                raise InputError(f"{name} narrows senses of a dictionary: those of {word!r} were found in text")


def list_senses(
    model: Matrices, dictionary: Dictionary | None, word: str, narrowed: Narrowed, *, top: int = 10,
    min_weight: float | None = None, common: int | None = COMMON,
) -> Results[Sense]:  # fmt: skip
    """The senses of a word, the weightiest first; see :meth:`polysema.Lexicon.senses`."""
    if dictionary is not None and _answers(dictionary, model, word):
        found = dictionary.senses(word, **narrowed._asdict())
        return Results(sense for sense in found if sense.weight >= (min_weight or 0.0))
    narrowed.check(word)
    return senses.list_senses(model, word, top, LEAST_WEIGHT if min_weight is None else min_weight, common)


def disambiguate(
    model: Matrices, dictionary: Dictionary | None, questions: Sequence[Question], composer: Composer | None,
    otherwise: Composer, narrowed: Narrowed, *, pattern: str | None = None, top: int = 8, which: Which = None,
    nlp: Any = None,
) -> Results[Answer]:  # fmt: skip
    """Which sense is meant of each of some words in their contexts; see :meth:`polysema.Lexicon.disambiguate`.

    Args:
        composer: the method that was asked for; None for the usual one, which is ``otherwise``.
    """
    answers: list[list[Answer]] = [[] for _ in questions]
    looked_up: list[tuple[int, entries.Place]] = []
    left: dict[int, _Asked] = {}
    for i, question in enumerate(questions):
        try:
            asked = _asked(question)
            if dictionary is None or not _answers(dictionary, model, asked.word):
                narrowed.check(asked.word)
                left[i] = asked
                continue
            if composer is not None:
                raise InputError(
                    f"{asked.word!r} is read by the encoder of the dictionary, which follows no method: "
                    "leave out the method"
                )
            looked_up += [(i, place) for place in _looked_up(dictionary, asked, narrowed, pattern, which)]
        except PolysemaError as error:
            answers[i].append(Failed(question, error))
    if looked_up and dictionary is not None:
        known = dictionary.answers([place for _, place in looked_up], narrowed.fine)
        for (i, _), one in zip(looked_up, known, strict=True):
            answers[i].append(one)
    if left:
        reads = _read([asked.context for asked in left.values()], model, pattern, nlp)
        found: dict[int, list[Place]] = {}
        for (i, asked), read in zip(left.items(), reads, strict=True):
            try:
                found[i] = _places(model, asked, _sound(read), which)
            except PolysemaError as error:
                answers[i].append(Failed(questions[i], error))
        told = Disambiguator(model, composer or otherwise, top).answers([*chain.from_iterable(found.values())])
        for i, own in found.items():
            for answer in (next(told) for _ in own):
                answers[i].append(Failed(questions[i], answer) if isinstance(answer, PolysemaError) else answer)
    return Results(chain.from_iterable(answers))


def read(
    model: Matrices, dictionary: Dictionary | None, texts: Sequence[str | SpacyParse], composer: Composer | None,
    otherwise: Composer, fine: bool = False, *, top: int = 8, min_weight: float | None = None, every: bool = False,
    nlp: Any = None,
) -> list[Results[Disambiguation]]:  # fmt: skip
    """Every ambiguous content word of some texts with the sense that is meant; see :meth:`polysema.Lexicon.read`."""
    least = AMBIGUOUS if min_weight is None else min_weight
    how: dict[str, Any] = {"top": top, "min_weight": least, "every": every}
    for text in texts:
        if not isinstance(text, str) and not is_parsed(text):
            raise InputError(f"a text is a string, or what spaCy has parsed, not {type(text).__name__}")
    if dictionary is None:
        return [_read_found(model, text, composer or otherwise, nlp=nlp, **how) for text in texts]
    if composer is not None:
        raise InputError("texts are read by the encoder of the dictionary, which has no method: leave it out")

    def wanted(place: entries.Place) -> bool:
        return every or _is_ambiguous(place, fine, min_weight)

    known = _read_places(dictionary, texts, wanted)
    asked = [[place for place in own if wanted(place)] for own in known]
    answers = iter(dictionary.answers([place for own in asked for place in own], fine))
    results = []
    for text, own, chosen in zip(texts, known, asked, strict=True):
        found = [next(answers) for _ in chosen]
        outside = _outside(model, str(getattr(text, "text", text)), [place.span for place in own])
        if outside:
            found += _read_found(model, text, otherwise, nlp=False, only=outside, **how)
        results.append(Results(sorted(found, key=lambda answer: answer.span)))
    return results


def _read_found(
    model: Matrices, text: str | SpacyParse, composer: Composer, *, top: int, min_weight: float, every: bool,
    only: Collection[Span] | None = None, nlp: Any = None,
) -> Results[Disambiguation]:  # fmt: skip
    """:func:`read` with senses found in text: of the content words at some places; by default at all."""
    rule = Disambiguator(model, composer, top)
    (found,) = _read([PlainText(text) if isinstance(text, str) else text], model, None, nlp)
    whole, no_tree = _sound(found)
    places = [
        Place(word, whole, no_tree, token.span)
        for token in whole.tokens
        if (only is None or token.span in only)
        and (word := content_word(model, token)) is not None
        and (every or int((rule.senses(word).weights >= min_weight).sum()) > 1)
    ]
    return Results(_sound(answer) for answer in rule.answers(_numbered(places, lambda place: place.word)))


def content_word(model: Matrices, token: Token) -> str | None:
    """A token as a content word of the lexicon, as it stands, in lower case or by its lemma; None where it is none."""
    if token.text.lower() in STOP_WORDS or not token.text[:1].isalpha():
        return None
    tried = (token.text, token.text.lower(), token.lemma, token.lemma.lower())
    return next((word for word in tried if word in model), None)


def _numbered(places: list[T], word_of: Callable[[T], str]) -> list[T]:
    """Places with the number of each occurrence of their words, and how many there are."""
    number, seen, found = Counter(map(word_of, places)), Counter[str](), []
    for place in places:
        word = word_of(place)
        found.append(place._replace(occurrence=seen[word], occurrences=number[word]))  # type: ignore[attr-defined]
        seen[word] += 1
    return found


# ------------------------------------------------------------------------------------------------ contexts and places


class _Asked(NamedTuple):
    """A word, what it stands in, and the Token of spaCy that was asked about, whose sentence is the context."""

    word: str
    context: Context
    token: Any = None


def _asked(question: Any) -> _Asked:
    word, context = (question, None) if is_parsed(question) else question
    if not is_parsed(word):
        if context is None:
            raise InputError(f"no context for {word!r}: give the sentence that it stands in")
        return _Asked(word, context)
    if context is not None or not (hasattr(word, "root") or hasattr(word, "i")):
        raise InputError(f"{word!r}: ask about a word in a context, or about a Token or a Span of spaCy alone")
    token: Any = getattr(word, "root", word)
    return _Asked(str(token.text), token.sent if token.doc.has_annotation("SENT_START") else token.doc[:], token)


def _read(contexts: Sequence[Context], model: Matrices, pattern: str | None, nlp: Any) -> list[_Read | PolysemaError]:
    """Each context as read; a text that cannot be parsed still has its words."""
    texts = [
        pattern is None and (is_parsed(context) or (isinstance(context, str) and not is_brackets(context)))
        for context in contexts
    ]
    phrases: list[Phrase] = []
    for context, is_text in zip(contexts, texts, strict=True):
        if not isinstance(context, Composition) and not (is_text and nlp is False):
            phrases.append(PlainText(context) if is_text and isinstance(context, str) else context)
    reads = iter(read_phrases(phrases, pattern, model, nlp))
    results: list[_Read | PolysemaError] = []
    for context, is_text in zip(contexts, texts, strict=True):
        if isinstance(context, Composition):
            results.append((read_tree(context.tree, context.phrase), ""))
            continue
        read = InputError("no parser was asked for") if is_text and nlp is False else next(reads)
        if isinstance(read, PolysemaError):
            results.append((tokenised(str(context)), str(read)) if is_text else read)
        else:
            results.append((read, ""))
    return results


def _places(model: Matrices, asked: _Asked, read: _Read, which: Which) -> list[Place]:
    """A word at its occurrences in a context: the one of a number, all, or the one that is most likely meant."""
    (word, context, token), (words, no_tree) = asked, read
    if token is not None:
        tried = (token.text, token.text.lower(), token.lemma_, token.lemma_.lower())
        word = next((form for form in tried if form and form in model), word)
        start = token.idx - getattr(context, "start_char", 0)
        span = start, start + len(token.text)
        spans = sorted({*find_occurrences(words.source, word, words.tokens), span})
        chosen = [spans.index(span)]
    else:
        spans = words.places(word)
        chosen = [*range(len(spans))] if which == "all" else [first_choice(words.source, word, spans)]
        if isinstance(which, int):
            chosen = [which]
    if not 0 <= chosen[0] < len(spans):
        raise InputError(f"{word!r} stands {len(spans)} times in the context: there is no occurrence {which}")
    spelled = word if word in model or word.lower() not in model else word.lower()
    model.vocabulary.index(spelled)  # an unknown word is an error
    return [Place(spelled, words, no_tree, spans[number], number, len(spans)) for number in chosen]


def _answers(dictionary: Dictionary, model: Matrices, word: str) -> bool:
    """Whether the dictionary answers about a word: it has it, or neither has."""
    return word in dictionary or not (word in model or word.lower() in model)


def _looked_up(
    dictionary: Dictionary, asked: _Asked, narrowed: Narrowed, pattern: str | None, which: Which
) -> list[entries.Place]:
    """Where a question asks: at the word's occurrences in the context, or where a Token stands in its Doc."""
    found, token = dictionary.look_up(asked.word, narrowed.pos, narrowed.lemma), asked.token
    if token is None:
        return dictionary.places(asked.word, plain_text(asked.context, pattern), found, which)
    text, span = token.doc.text, (token.idx, token.idx + len(token.text))
    spans = dictionary.spans(token.text, text)
    number = spans.index(span) if span in spans else 0
    return [dictionary.place(_tagged(found, token.pos_), text, span, number, max(len(spans), 1))]


def _tagged(found: Found, tag: str) -> Found:
    """The senses of the part of speech that a tagger gives; all where there are none of it."""
    tag = {"PROPN": "NOUN", "AUX": "VERB"}.get(tag, tag)
    if tag not in UNIVERSAL:
        return found
    kept = found.entry.parts == UNIVERSAL.index(tag)
    kept = kept if found.kept is None else kept & found.kept
    return Found(found.entry, kept) if kept.any() and not kept.all() else found


def _read_places(
    dictionary: Dictionary, texts: Sequence[str | SpacyParse], wanted: Callable[[entries.Place], bool]
) -> list[list[entries.Place]]:
    """The entries of texts, narrowed by the tags of a Doc, with the number of each occurrence."""
    found = dictionary.entries_of([str(getattr(text, "text", text)) for text in texts], wanted)
    for text, places in zip(texts, found, strict=True):
        if is_parsed(text):
            start = getattr(text, "start_char", 0)
            tokens: Any = text if hasattr(text, "__iter__") else ()
            tags = {token.idx - start: token.pos_ for token in tokens}
            for i, place in enumerate(places):
                narrowed = _tagged(Found(place.entry, place.kept), tags.get(place.span[0], ""))
                places[i] = place._replace(kept=narrowed.kept)
    return [_numbered(places, lambda place: place.entry.word) for places in found]


def _is_ambiguous(place: entries.Place, fine: bool, min_weight: float | None) -> bool:
    """Whether there are two senses to choose from, each of at least this weight."""
    entry = place.entry
    rows = range(len(entry)) if place.kept is None else np.flatnonzero(place.kept).tolist()
    weights = Counter[int]()
    for k in rows:
        weights[k if fine else entry.coarse[k]] += float(entry.frequency[k])  # type: ignore[assignment]
    return sum(weight >= (min_weight or 0.0) for weight in weights.values()) > 1


def _outside(model: Matrices, text: str, spans: Sequence[Span]) -> set[Span]:
    """The content words of the lexicon that stand outside of all spans, which lie from left to right."""
    found, at = set(), 0
    for token in tokenised(text).tokens:
        while at < len(spans) and spans[at][1] <= token.start:
            at += 1
        if (at == len(spans) or token.span[1] <= spans[at][0]) and content_word(model, token) is not None:
            found.add(token.span)
    return found


def plain_text(context: Context, pattern: str | None = None) -> str:
    """A context as the text that an encoder reads: brackets, trees and words with a pattern as their words in order."""
    if isinstance(context, Composition):
        return context.phrase
    if is_parsed(context):
        token: Any = context
        return str(token.doc[token.left_edge.i : token.right_edge.i + 1].text if hasattr(token, "i") else token.text)
    if isinstance(context, str) and pattern is None and not is_brackets(context):
        return str(context)
    if isinstance(context, list | tuple) and pattern is None and all(isinstance(word, str) for word in context):
        return " ".join(context)
    return words_of(read_phrase(context, pattern).tree)


def beginnings(text: str) -> list[str]:
    """A text up to each of its words.

    >>> beginnings("The old man.")
    ['The', 'The old', 'The old man']
    """
    return [text[: token.span[1]] for token in tokenised(text).tokens]


def _sound(answer: T | PolysemaError) -> T:
    if isinstance(answer, PolysemaError):
        raise answer
    return answer
