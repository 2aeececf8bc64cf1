"""Sentences parsed by spaCy into composition trees, one or a batch; what spaCy has parsed already is taken as it is."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, overload

from polysema.composition.occurrences import LONGEST, OVERLONG, Token
from polysema.composition.phrases import Phrase, Read, is_parsed, is_text, read_phrase
from polysema.composition.trees import Tree, either, leaves, shown
from polysema.errors import Failed, InputError, MissingExtraError, PolysemaError, install_command
from polysema.parsing.dependencies import composition_tree
from polysema.parsing.rules import SUBJECTS, other_readings


@overload
def parse_sentence(text: list[Any], known: Container[str] | None = None, nlp: Any = None) -> list[Read | Failed]: ...
@overload
def parse_sentence(text: Any, known: Container[str] | None = None, nlp: Any = None) -> Read: ...
def parse_sentence(
    text: Any | list[Any], known: Container[str] | None = None, nlp: Any = None
) -> Read | list[Read | Failed]:
    """The composition tree of a sentence.

    Args:
        text: plain text, or what spaCy has parsed: a Doc, a Span, or a Token for the phrase that it heads. Or a list of
            these, parsed in batches: one result each, in order, :class:`~polysema.errors.Failed` where there is none.
        known: the words there are meanings for, such as a lexicon. A word is looked up as it stands, then in lower
            case, then by its lemma; one that is not there is left out. By default all words are known.
        nlp: a spaCy pipeline with a dependency parser, or the name of one; see :func:`parser`.
    """
    if isinstance(text, list):
        found = zip(text, parse_sentences(text, known, nlp), strict=True)
        return [Failed(item, read) if isinstance(read, PolysemaError) else read for item, read in found]
    (result,) = parse_sentences([text], known, nlp)
    if isinstance(result, PolysemaError):
        raise result
    return result


def parse_sentences(
    texts: Iterable[Any], known: Container[str] | None = None, nlp: Any = None, readings: bool = False
) -> list[Read | PolysemaError]:
    """The composition trees of many sentences, parsed in batches; where one fails, its error stands in its place.

    Args:
        readings: whether the tree of a sentence that can be parsed in several ways holds all of them; see
            :mod:`polysema.parsing.rules`.
    """
    texts = list(texts)
    plain = [text for text in texts if not is_parsed(text)]
    parsed = iter(_parsed(plain, parser(nlp) if nlp is None or isinstance(nlp, str) else nlp) if plain else ())
    results: list[Read | PolysemaError] = []
    for text in texts:
        source, tokens = _taken(text) if is_parsed(text) else (text, next(parsed))
        results.append(_read(source, tokens, known, readings))
    return results


def read_phrases(
    phrases: Iterable[Phrase], pattern: str | None, known: Container[str], nlp: Any = None, readings: bool = False
) -> list[Read | PolysemaError]:
    """Each phrase as read, or what is wrong with it; plain texts are parsed in one batch, each distinct one once.

    Args:
        known: the words there are meanings for; in plain text the others are left out.
        nlp: the spaCy pipeline to parse with, or its name; by default the one that is found.
        readings: whether a text that can be parsed in several ways is read in all of them.
    """
    phrases = list(phrases)
    keys: dict[int, Any] = {}
    for i, phrase in enumerate(phrases):
        if pattern is None and (is_parsed(phrase) or is_text(phrase)):
            keys[i] = phrase if is_parsed(phrase) else str(phrase)
    distinct = list(dict.fromkeys(keys.values()))
    parsed: dict[Any, Read | PolysemaError] = {}
    if distinct:
        try:
            parsed = dict(zip(distinct, parse_sentences(distinct, known, nlp, readings), strict=True))
        except MissingExtraError as error:
            parsed = dict.fromkeys(distinct, error)
    results: list[Read | PolysemaError] = []
    for i, phrase in enumerate(phrases):
        try:
            results.append(parsed[keys[i]] if i in keys else read_phrase(phrase, pattern))
        except PolysemaError as error:
            results.append(error)
    return results


def _taken(parsed: Any) -> tuple[str, list[Token] | PolysemaError]:
    """The text and the words of a Doc, a Span, or the phrase that a Token heads, as they were parsed."""
    if hasattr(parsed, "left_edge"):
        parsed = parsed.doc[parsed.left_edge.i : parsed.right_edge.i + 1]
    if len(parsed) and not parsed.doc.has_annotation("DEP"):
        return parsed.text, _NO_PARSE
    return parsed.text, _tokens(parsed)


def _read(
    text: str, tokens: list[Token] | PolysemaError, known: Container[str] | None, readings: bool
) -> Read | PolysemaError:
    if isinstance(tokens, PolysemaError):
        return tokens

    of_lemmas = getattr(known, "slots", None) is not None  # lexicons of slots are made of lemmas

    def spelling(token: Token) -> str | None:
        if known is None:
            return token.text.lower()
        tried = [token.text, token.text.lower(), token.lemma, token.lemma.lower()]
        if of_lemmas:
            tried = tried[::-1]
        return next((word for word in tried if word in known), None)

    tree, left_out = composition_tree(tokens, spelling)
    if tree is None:
        why = "; ".join(f"{item.word}: {item.why}" for item in left_out[:5]) or "it is empty"
        return InputError(f"no word of {shown(text)} is left to compose ({why})")
    if readings:
        odds: dict[Tree, float] = {tree: 1.0}
        for share, changed in other_readings(tokens):
            other, _ = composition_tree(changed, spelling)
            if other is not None:
                odds[other] = odds.get(other, 0.0) + share
        tree = either([*odds], [*odds.values()])
    by_position = {leaf.position: leaf for leaf in leaves(tree)}
    leaf_of = tuple(by_position.get(i) for i in range(len(tokens)))
    return Read(text, tuple(tokens), tree, leaf_of, tuple(left_out), is_text=True)


def _parsed(texts: Sequence[str], nlp: Any) -> Iterator[list[Token] | PolysemaError]:
    """Each text's words with their dependencies, or what went wrong."""
    good = [text if isinstance(text, str) and not _too_long(text, nlp) else "" for text in texts]
    try:
        results: list[Any] = list(nlp.pipe(good, batch_size=256))
    except Exception:  # one text upset the batch: take them one by one
        results = [_attempt(text, nlp) for text in good]
    for text, doc in zip(texts, results, strict=True):
        if not isinstance(text, str):
            yield InputError(f"a sentence is text, not {type(text).__name__}")
        elif error := _too_long(text, nlp):
            yield error
        elif isinstance(doc, PolysemaError):
            yield doc
        elif len(doc) and not doc.has_annotation("DEP"):
            yield _NO_PARSE
        else:
            yield _with_a_verb(_tokens(doc), nlp)


def _too_long(text: str, nlp: Any) -> InputError | None:
    if len(text) > nlp.max_length:
        return InputError(f"{shown(text)}: {len(text):,} characters are too many for one sentence")
    if OVERLONG.search(text):
        return InputError(f"{shown(text)}: {LONGEST:,} characters without a space and more are too many for the parser")
    return None


def _attempt(text: str, nlp: Any) -> Any:
    try:
        return nlp(text)
    except Exception as error:
        return InputError(f"the parser failed on {shown(text)}: {type(error).__name__}: {error}")


_NO_PARSE = InputError("this spaCy pipeline gives no dependencies: hand in one that has a parser")


def _tokens(doc: Any) -> list[Token]:
    """The words of a Doc or a Span; a word whose head is not in the span is a root of it."""
    first = doc[0].i if len(doc) else 0
    start = doc[0].idx if len(doc) else 0
    found = []
    for i, t in enumerate(doc):
        head = t.head.i - first
        pos = "SCONJ" if t.tag_ == "WRB" else t.pos_
        found.append(Token(t.text, t.lemma_ or t.text, t.idx - start, pos, t.dep_, head if 0 <= head < len(doc) else i))
    return found


def _with_a_verb(tokens: list[Token], nlp: Any) -> list[Token]:
    """A full sentence has a verb: where the parser saw none, the word that must be it is found out.

    Small models take *The voice throbs.* for a noun phrase. Each word that follows a noun is tried as the verb, those
    that agree with that noun in number first, by putting an unmistakable verb in its place (*The voice eats.*). The
    first that is then the root and has a subject gives the sentence its dependencies.
    """
    if len(tokens) < 3 or tokens[-1].text not in (".", "!", "?") or getattr(nlp, "lang", "en") != "en":
        return tokens
    root = next(token for i, token in enumerate(tokens) if token.head == i)
    imperative = root.pos == "VERB" and root.text.lower() == root.lemma
    if imperative or root.pos == "AUX" or any(token.label in SUBJECTS for token in tokens):
        return tokens
    words = [token.text for token in tokens]
    tried = [i for i in range(1, len(tokens) - 1) if tokens[i].pos in _NOUNS + _VERBS and _is_noun(tokens[i - 1])]
    for i in sorted(tried, key=lambda i: words[i].endswith("s") == words[i - 1].endswith("s")):
        verb = "eats" if words[i].endswith("s") else "eat"
        doc = nlp(_document([*words[:i], verb, *words[i + 1 :]], nlp))
        if doc[i].dep_ == "ROOT" and any(child.dep_ in SUBJECTS for child in doc[i].children):
            found = [new._replace(start=old.start) for new, old in zip(_tokens(doc), tokens, strict=True)]
            found[i] = found[i]._replace(text=words[i], lemma=_verb_lemma(words[i], nlp))
            return found
    return tokens


_NOUNS, _VERBS = ("NOUN", "PROPN"), ("VERB",)


def _is_noun(token: Token) -> bool:
    return token.pos in _NOUNS or token.label == "compound"


def _document(words: list[str], nlp: Any, pos: list[str] | None = None) -> Any:
    from spacy.tokens import Doc

    return Doc(nlp.vocab, words=words, pos=pos)


def _verb_lemma(word: str, nlp: Any) -> str:
    if not hasattr(nlp, "get_pipe") or "lemmatizer" not in nlp.pipe_names:
        return word
    (token,) = _document([word], nlp, pos=["VERB"])
    return str(nlp.get_pipe("lemmatizer").lemmatize(token)[0])


_DOWNLOAD = "python -m spacy download en_core_web_sm"


@lru_cache(maxsize=2)
def parser(name: str | None = None) -> Any:
    """A pipeline of spaCy, without what finds named entities.

    Args:
        name: of a pipeline that is installed, or its folder; by default an English one with a dependency parser, the
            smallest of those that are installed. ``POLYSEMA_PARSER`` in the environment names another default.
    """
    try:
        import spacy
    except ImportError:
        raise MissingExtraError(
            "parsing plain text (spaCy is not installed; brackets need none)",
            "parse",
            f"{install_command('parse')} && {_DOWNLOAD}",
        ) from None
    name = name or os.environ.get("POLYSEMA_PARSER")
    found = [name] if name else sorted(map(str, spacy.util.get_installed_models()), key=_size)
    for candidate in found:
        if name or candidate.startswith("en_"):
            try:
                nlp = spacy.load(candidate, exclude=["ner"])
            except (OSError, ValueError) as error:
                if name:
                    raise InputError(f"no pipeline of spaCy: {candidate}: {str(error).splitlines()[0]}") from None
                continue
            if name or nlp.has_pipe("parser"):
                return nlp
    raise MissingExtraError(
        "parsing plain text (spaCy is installed, but no English pipeline is; nlp= takes any other)",
        "parse",
        _DOWNLOAD,
    )


_SIZES = ("sm", "md", "lg", "trf")  # of spaCy's own pipelines


def _size(name: str) -> tuple[int, str]:
    """Small pipelines first."""
    return next((i for i, size in enumerate(_SIZES) if size in name.split("_")), len(_SIZES)), name
