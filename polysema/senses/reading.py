"""Words where they stand in texts, with the sense that is meant: one word, many, or every ambiguous word of a text.

With *memory*, what a sentence says of a word holds in the sentences after it. A word starts as its density matrix.
With p_k the weights of its senses and e_k(s) the evidence of sentence s,

    p(k | s₁ … s_t) ∝ p(k | s₁ … s_{t−1}) · e_k(s_t) ,        ρ_t = Σ_k p(k | s₁ … s_{t−1}) v_k v_kᵀ

so that the *bank* of the second sentence is what the first has made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composer, Composition, Method
from polysema.composition.occurrences import (
    Span,
    Token,
    Tokenised,
    find_occurrences,
    first_choice,
    sentences,
    tokenised,
)
from polysema.composition.phrases import Phrase, PlainText, Read, SpacyParse, is_brackets, is_parsed, read_tree
from polysema.corpus.normalisation import STOP_WORDS
from polysema.density import DensityMatrix
from polysema.errors import Failed, InputError, PolysemaError
from polysema.meanings.meanings import Matrices
from polysema.meanings.results import Results
from polysema.parsing.sentences import read_phrases
from polysema.senses.answers import Disambiguation
from polysema.senses.disambiguation import Disambiguator, Place

Array = NDArray[np.float64]
T = TypeVar("T")

Context = Phrase | Composition
"""What a word stands in: plain text, brackets, a tree, words with a pattern, a composition, or what spaCy parsed."""

Word = str | SpacyParse
"""A word, or a Token of spaCy (a Span stands for its root), which brings its context: the sentence it stands in."""

Question = tuple[Word, Context | None] | SpacyParse
Which = int | Literal["all"] | None
_Read = tuple[Tokenised, str]
"""A context as read, and why it has no tree; empty where it has one."""


def disambiguate(
    model: Matrices,
    questions: Sequence[Question],
    composer: Composer,
    *,
    pattern: str | None = None,
    top: int = 8,
    which: Which = None,
    nlp: Any = None,
) -> Results[Disambiguation | Failed]:
    """Which sense is meant of each of some words in their contexts; see :meth:`polysema.Lexicon.disambiguate`."""
    rule = Disambiguator(model, composer, top)
    asked = [_attempt(_asked, model, question) for question in questions]
    contexts = [item[1] for item in asked if isinstance(item, tuple)]
    reads = iter(_read(contexts, model, pattern, nlp))
    found: list[list[Place] | PolysemaError] = []
    for item in asked:
        found.append(item if isinstance(item, PolysemaError) else _attempt(_places, model, item, next(reads), which))
    answers = rule.answers([place for places in found if isinstance(places, list) for place in places])
    results: Results[Disambiguation | Failed] = Results()
    for question, places in zip(questions, found, strict=True):
        for answer in [places] if isinstance(places, PolysemaError) else [next(answers) for _ in places]:
            results.append(Failed(question, answer) if isinstance(answer, PolysemaError) else answer)
    return results


def read(
    model: Matrices,
    text: str | SpacyParse,
    composer: Composer,
    *,
    top: int = 8,
    min_weight: float = 0.1,
    memory: bool = False,
    every: bool = False,
    only: Collection[Span] | None = None,
    nlp: Any = None,
) -> Results[Disambiguation]:
    """Every ambiguous content word of a text with the sense that is meant; see :meth:`polysema.Lexicon.read`.

    Args:
        only: the places to answer about; by default all.
    """
    rule = Disambiguator(model, composer, top)
    (found,) = _read([PlainText(text) if isinstance(text, str) else text], model, None, nlp)
    whole, no_tree = _sound(found)
    parts = [(whole, no_tree)]
    if memory:
        parts = [(part, "a sentence at a time is read by its words") for part in sentences(whole)]
    places = [
        Place(word, part, why, token.span)
        for part, why in parts
        for token in part.tokens
        if (only is None or token.span in only)
        and (word := content_word(model, token)) is not None
        and (every or int((rule.senses(word).weights >= min_weight).sum()) > 1)
    ]
    number, seen = Counter(place.word for place in places), Counter[str]()
    for i, place in enumerate(places):
        places[i] = place._replace(occurrence=seen[place.word], occurrences=number[place.word])
        seen[place.word] += 1
    if not memory:
        return Results(_sound(answer) for answer in rule.answers(places))
    known: dict[str, Array] = {}
    return Results(_in_turn(rule, place, known) for place in places)


def _in_turn(rule: Disambiguator, place: Place, known: dict[str, Array]) -> Disambiguation:
    """The answer at a place, with the evidence that earlier ones gave for its word; ``known`` then holds all of it."""
    (answer,) = rule.answers([place._replace(earlier=known.get(place.word))])
    known[place.word] = rule.evidence_in(_sound(answer))
    return _sound(answer)


def recalled(model: Matrices, read: Read, composer: Composer) -> Read:
    """A text as read, with what earlier sentences say of its words; brackets and trees are one sentence."""
    if not isinstance(composer, Method):
        raise InputError(f"memory goes with methods that compose word by word, not with {composer.name}")
    if not read.is_text:
        return read
    rule = Disambiguator(model, composer, 1)
    leaf_at = {token.span: leaf for token, leaf in zip(read.tokens, read.leaf_of, strict=True) if leaf is not None}
    known: dict[str, Array] = {}
    found: dict[int, DensityMatrix] = {}
    for part in sentences(read):
        before = dict(known)
        for token in part.tokens:
            leaf = leaf_at.get(token.span)
            if leaf is None or len(rule.senses(leaf.word).ids) < 2:
                continue
            if leaf.word in before:
                found[leaf.position] = rule.meaning(leaf.word, before[leaf.word])
            _in_turn(rule, Place(leaf.word, part, "", token.span), known)
    return replace(read, recalled=found)


def content_word(model: Matrices, token: Token) -> str | None:
    """A token as a content word of the lexicon, as it stands, in lower case or by its lemma; None where it is none."""
    if token.text.lower() in STOP_WORDS or not token.text[:1].isalpha():
        return None
    tried = (token.text, token.text.lower(), token.lemma, token.lemma.lower())
    return next((word for word in tried if word in model), None)


# ------------------------------------------------------------------------------------------------ contexts and places


def _asked(model: Matrices, question: Any) -> tuple[str, Context, Span | None]:
    """A word, its context, and where it stands there; a Token is the word that the lexicon holds of it."""
    word, context = (question, None) if is_parsed(question) else question
    if isinstance(word, str):
        if context is None:
            raise InputError(f"no context for {word!r}: give the sentence that it stands in")
        return word, context, None
    if not is_parsed(word) or context is not None or not (hasattr(word, "root") or hasattr(word, "i")):
        raise InputError(f"{word!r}: ask about a word in a context, or about a Token or a Span of spaCy alone")
    token: Any = getattr(word, "root", word)
    sentence = token.sent if token.doc.has_annotation("SENT_START") else token.doc[:]
    start = token.idx - sentence.start_char
    tried = (token.text, token.text.lower(), token.lemma_, token.lemma_.lower())
    held = next((form for form in tried if form and form in model), token.text)
    return held, sentence, (start, start + len(token.text))


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


def _places(
    model: Matrices, asked: tuple[str, Context, Span | None], read: _Read | PolysemaError, which: Which
) -> list[Place]:
    """A word at its occurrences in a context: the one of a number, all, or the one that is most likely meant."""
    (word, _, span), (words, no_tree) = asked, _sound(read)
    if span is not None:
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


def _attempt(function: Any, *arguments: Any) -> Any:
    """What a function returns, or the error it raises."""
    try:
        return function(*arguments)
    except PolysemaError as error:
        return error


def _sound(answer: T | PolysemaError) -> T:
    if isinstance(answer, PolysemaError):
        raise answer
    return answer
