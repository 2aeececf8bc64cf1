"""Questions about senses: the dictionary answers where it has the word, else the senses found in text.

The encoder of a dictionary reads plain text. Brackets, trees and words with a pattern are read as their words in order;
no method of composition takes part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from polysema.composition.compose import Composer, Composition
from polysema.composition.occurrences import Span, tokenised
from polysema.composition.phrases import SpacyParse, is_brackets, is_parsed, read_phrase
from polysema.composition.trees import words_of
from polysema.errors import Failed, InputError, PolysemaError
from polysema.meanings.meanings import COMMON, Matrices
from polysema.meanings.results import Results
from polysema.senses import reading, senses
from polysema.senses.answers import Disambiguation, Sense
from polysema.senses.dictionary import Dictionary
from polysema.senses.entries import UNIVERSAL, Found, Place
from polysema.senses.reading import Context, Question, Which
from polysema.senses.senses import LEAST_WEIGHT

AMBIGUOUS = 0.1
"""A word of a text is ambiguous if two of its senses found in text weigh at least this much."""

Answer = Disambiguation | Failed


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
    model: Matrices,
    dictionary: Dictionary | None,
    word: str,
    narrowed: Narrowed,
    *,
    top: int = 10,
    min_weight: float | None = None,
    common: int | None = COMMON,
) -> Results[Sense]:
    """The senses of a word, the weightiest first; see :meth:`polysema.Lexicon.senses`."""
    if dictionary is not None and _answers(dictionary, model, word):
        found = dictionary.senses(word, pos=narrowed.pos, lemma=narrowed.lemma, fine=narrowed.fine)
        return Results(sense for sense in found if sense.weight >= (min_weight or 0.0))
    narrowed.check(word)
    return senses.list_senses(model, word, top, LEAST_WEIGHT if min_weight is None else min_weight, common)


def disambiguate(
    model: Matrices,
    dictionary: Dictionary | None,
    questions: Sequence[Question],
    composer: Composer | None,
    otherwise: Composer,
    narrowed: Narrowed,
    *,
    pattern: str | None = None,
    top: int = 8,
    which: Which = None,
    nlp: Any = None,
) -> Results[Answer]:
    """Which sense is meant of each of some words in their contexts; see :meth:`polysema.Lexicon.disambiguate`.

    Args:
        composer: the method that was asked for; None for the usual one, which is ``otherwise``.
    """
    answers: list[list[Answer]] = [[] for _ in questions]
    places: list[tuple[int, Place]] = []
    left: list[int] = []
    for i, question in enumerate(questions):
        try:
            word = _word(question)
            if dictionary is None or not _answers(dictionary, model, word):
                narrowed.check(word)
                left.append(i)
                continue
            if composer is not None:
                raise InputError(
                    f"{word!r} is read by the encoder of the dictionary, which follows no method: leave out the method"
                )
            places += [(i, place) for place in _places(dictionary, question, narrowed, pattern, which)]
        except PolysemaError as error:
            answers[i].append(Failed(question, error))
    if places:
        assert dictionary is not None
        known = dictionary.answers([place for _, place in places], narrowed.fine)
        for (i, _), one in zip(places, known, strict=True):
            answers[i].append(one)
    groups = [[i] for i in left] if which == "all" else [left] if left else []  # all occurrences may be many answers
    for group in groups:
        asked = [questions[i] for i in group]
        found = reading.disambiguate(
            model, asked, composer or otherwise, pattern=pattern, top=top, which=which, nlp=nlp
        )
        for i, answer in zip(group * len(found) if which == "all" else group, found, strict=True):
            answers[i].append(answer)
    return Results(chain.from_iterable(answers))


def read(
    model: Matrices,
    dictionary: Dictionary | None,
    texts: Sequence[str | SpacyParse],
    composer: Composer | None,
    otherwise: Composer,
    fine: bool = False,
    *,
    top: int = 8,
    min_weight: float | None = None,
    memory: bool = False,
    every: bool = False,
    nlp: Any = None,
) -> list[Results[Disambiguation]]:
    """Every ambiguous content word of some texts with the sense that is meant; see :meth:`polysema.Lexicon.read`."""
    least = AMBIGUOUS if min_weight is None else min_weight
    how: dict[str, Any] = {"top": top, "min_weight": least, "every": every}
    for text in texts:
        if not isinstance(text, str) and not is_parsed(text):
            raise InputError(f"a text is a string, or what spaCy has parsed, not {type(text).__name__}")
    if dictionary is None:
        return [reading.read(model, text, composer or otherwise, memory=memory, nlp=nlp, **how) for text in texts]
    for name, value in (("method", composer), ("memory", memory)):
        if value:
            raise InputError(f"texts are read by the encoder of the dictionary, which has no {name}: leave it out")
    known = [_read_places(dictionary, text) for text in texts]
    asked = [[place for place in own if every or _is_ambiguous(place, fine, min_weight)] for own in known]
    answers = iter(dictionary.answers([place for own in asked for place in own], fine))
    results = []
    for text, own, chosen in zip(texts, known, asked, strict=True):
        found = [next(answers) for _ in chosen]
        outside = _outside(model, str(getattr(text, "text", text)), [place.span for place in own])
        if outside:
            found += reading.read(model, text, otherwise, nlp=False, only=outside, **how)
        results.append(Results(sorted(found, key=lambda answer: answer.span)))
    return results


def _answers(dictionary: Dictionary, model: Matrices, word: str) -> bool:
    """Whether the dictionary answers about a word: it has it, or neither has."""
    return word in dictionary or not (word in model or word.lower() in model)


def _word(question: Any) -> str:
    """The word that a question asks about."""
    if is_parsed(question):
        return str(getattr(question, "root", question).text)
    word = question[0]
    return str(getattr(word, "root", word).text) if is_parsed(word) else word


def _places(
    dictionary: Dictionary, question: Any, narrowed: Narrowed, pattern: str | None, which: Which
) -> list[Place]:
    """Where a question asks: at the word's occurrences in the context, or where a Token stands in its Doc."""
    word, context = (question, None) if is_parsed(question) else question
    if not is_parsed(word):
        if context is None:
            raise InputError(f"no context for {word!r}: give the sentence that it stands in")
        return dictionary.places(
            word, plain_text(context, pattern), dictionary.look_up(word, narrowed.pos, narrowed.lemma), which
        )
    if context is not None or not (hasattr(word, "root") or hasattr(word, "i")):
        raise InputError(f"{word!r}: ask about a word in a context, or about a Token or a Span of spaCy alone")
    token: Any = getattr(word, "root", word)
    found = dictionary.look_up(token.text, narrowed.pos, narrowed.lemma)
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


def _read_places(dictionary: Dictionary, text: str | SpacyParse) -> list[Place]:
    """The entries of a text, narrowed by the tags of a Doc, with the number of each occurrence."""
    places = dictionary.entries_of(str(getattr(text, "text", text)))
    if is_parsed(text):
        start = getattr(text, "start_char", 0)
        tokens: Any = text if hasattr(text, "__iter__") else ()
        tags = {token.idx - start: token.pos_ for token in tokens}
        for i, place in enumerate(places):
            found = _tagged(Found(place.entry, place.kept), tags.get(place.span[0], ""))
            places[i] = place._replace(kept=found.kept)
    number, seen = Counter(place.entry.word for place in places), Counter[str]()
    for i, place in enumerate(places):
        word = place.entry.word
        places[i] = place._replace(occurrence=seen[word], occurrences=number[word])
        seen[word] += 1
    return places


def _is_ambiguous(place: Place, fine: bool, min_weight: float | None) -> bool:
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
        if (at == len(spans) or token.span[1] <= spans[at][0]) and reading.content_word(model, token) is not None:
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
