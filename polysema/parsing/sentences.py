"""Sentences in plain English as composition trees: spaCy parses them, one or a batch, or has parsed them already."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Any, overload

from polysema.composition.occurrences import LONGEST, OVERLONG, Token
from polysema.composition.phrases import Phrase, Read, is_parsed, is_text, read_phrase
from polysema.composition.trees import Tree, either, leaves, shown
from polysema.corpus.normalisation import STOP_WORDS
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
            these, parsed in batches: one result each, in order, :class:`~polysema.errors.Failed` if there is none.
        known: the words that have meanings, such as a lexicon. A word is looked up as it is written, then in lower
            case, then by its lemma; if it is not known, it is left out. By default all words are known.
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
    """The composition trees of sentences, parsed in batches; one that fails gives its error.

    Args:
        readings: whether the tree of a sentence with several parses holds all of them; see
            :mod:`polysema.parsing.rules`.
    """
    texts = list(texts)
    plain = [text for text in texts if not is_parsed(text)]
    parsed = iter(_parsed(plain, parser(nlp) if nlp is None or isinstance(nlp, str) else nlp) if plain else ())
    results: list[Read | PolysemaError] = []
    for text in texts:
        source, tokens = text, None if is_parsed(text) else next(parsed)
        if tokens is None:
            doc = text.doc[text.left_edge.i : text.right_edge.i + 1] if hasattr(text, "left_edge") else text
            source, tokens = doc.text, _tokens(doc)
        foreign = "" if source is not text or isinstance(tokens, PolysemaError) else not_english(tokens, known)
        if foreign and nlp is None:
            tokens = InputError(f"{shown(source)}: {foreign}; brackets compose any words")
        results.append(tokens if isinstance(tokens, PolysemaError) else _read(source, tokens, known, readings))
    return results


def read_phrases(
    phrases: Iterable[Phrase], pattern: str | None, known: Container[str], nlp: Any = None, readings: bool = False
) -> list[Read | PolysemaError]:
    """Phrases as read; one that cannot be read gives its error. Plain texts are parsed in one batch, each once.

    Args:
        known: the words that have meanings; in plain text the others are left out.
        nlp: the spaCy pipeline to parse with, or its name; by default the one that is installed.
        readings: whether a text with several parses is read in all of them.
    """
    phrases = list(phrases)
    texts: dict[int, Any] = {}
    for i, phrase in enumerate(phrases):
        if pattern is None and (is_parsed(phrase) or is_text(phrase)):
            texts[i] = phrase if is_parsed(phrase) else str(phrase)
    distinct = list(dict.fromkeys(texts.values()))
    parsed: dict[Any, Read | PolysemaError] = {}
    if distinct:
        try:
            parsed = dict(zip(distinct, parse_sentences(distinct, known, nlp, readings), strict=True))
        except MissingExtraError as error:
            parsed = dict.fromkeys(distinct, error)
    results: list[Read | PolysemaError] = []
    for i, phrase in enumerate(phrases):
        try:
            results.append(parsed[texts[i]] if i in texts else read_phrase(phrase, pattern))
        except PolysemaError as error:
            results.append(error)
    return results


def _read(text: str, tokens: list[Token], known: Container[str] | None, readings: bool) -> Read | PolysemaError:
    """The tree of a parsed sentence."""
    of_lemmas = getattr(getattr(known, "parts", None), "slots", None) is not None  # such a lexicon holds lemmas

    def spelling(token: Token) -> str | None:
        if known is None:
            return token.text.lower()
        tried = [token.text, token.text.lower(), token.lemma, token.lemma.lower()]
        return next((word for word in (reversed(tried) if of_lemmas else tried) if word in known), None)

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


def _parsed(texts: Sequence[Any], nlp: Any) -> list[list[Token] | PolysemaError]:
    """The words of each text with their dependencies, or an error."""
    refused = [_refused(text, nlp) for text in texts]
    good = ["" if error else text for text, error in zip(texts, refused, strict=True)]
    try:
        docs: list[Any] = list(nlp.pipe(good, batch_size=256))
    except Exception:  # of one text: parse them one by one
        docs = [_attempt(text, nlp) for text in good]
    results: list[list[Token] | PolysemaError] = []
    for error, doc in zip(refused, docs, strict=True):
        found = error or (doc if isinstance(doc, PolysemaError) else _tokens(doc))
        results.append(found if isinstance(found, PolysemaError) else _with_a_verb(found, nlp))
    return results


def _refused(text: Any, nlp: Any) -> InputError | None:
    if not isinstance(text, str):
        return InputError(f"a sentence is text, not {type(text).__name__}")
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


def _tokens(doc: Any) -> list[Token] | PolysemaError:
    """The words of a Doc or a Span; a word whose head is not in the span is a root of it."""
    if len(doc) and not doc[0].doc.has_annotation("DEP"):
        return InputError("this spaCy pipeline gives no dependencies: hand in one that has a parser")
    found = []
    for i, t in enumerate(doc):
        head = t.head.i - doc[0].i
        pos = "SCONJ" if t.tag_ == "WRB" else t.pos_
        start = t.idx - doc[0].idx
        found.append(Token(t.text, t.lemma_ or t.text, start, pos, t.dep_, head if 0 <= head < len(doc) else i))
    return found


def _with_a_verb(tokens: list[Token], nlp: Any) -> list[Token]:
    """A full sentence has a verb: if the parser found none, find the word that must be the verb.

    Small models take *The voice throbs.* for a noun phrase. Each word after a noun is tried as the verb, first those
    that agree with the noun in number, by putting an unambiguous verb in its place (*The voice eats.*). The first that
    becomes a root with a subject gives the sentence its dependencies.
    """
    if len(tokens) < 3 or tokens[-1].text not in (".", "!", "?") or getattr(nlp, "lang", "en") != "en":
        return tokens
    root = next(token for i, token in enumerate(tokens) if token.head == i)
    imperative = root.pos == "VERB" and root.text.lower() == root.lemma
    if imperative or root.pos == "AUX" or any(token.label in SUBJECTS for token in tokens):
        return tokens
    from spacy.tokens import Doc

    words = [token.text for token in tokens]
    nouns = [token.pos in ("NOUN", "PROPN") for token in tokens]
    tried = [
        i
        for i in range(1, len(tokens) - 1)
        if (nouns[i] or tokens[i].pos == "VERB") and (nouns[i - 1] or tokens[i - 1].label == "compound")
    ]
    for i in sorted(tried, key=lambda i: words[i].endswith("s") == words[i - 1].endswith("s")):
        verb = "eats" if words[i].endswith("s") else "eat"
        doc = nlp(Doc(nlp.vocab, words=[*words[:i], verb, *words[i + 1 :]]))
        changed = _tokens(doc)
        if doc[i].dep_ == "ROOT" and any(child.dep_ in SUBJECTS for child in doc[i].children):
            assert isinstance(changed, list)
            found = [new._replace(start=old.start) for new, old in zip(changed, tokens, strict=True)]
            found[i] = found[i]._replace(text=words[i], lemma=lemma(words[i], "VERB", nlp))
            return found
    return tokens


def lemma(word: str, pos: str, nlp: Any) -> str:
    """The dictionary form of a word as a part of speech; the word itself if the pipeline has no lemmatizer."""
    from spacy.tokens import Doc

    if "lemmatizer" not in getattr(nlp, "component_names", ()):  # those that are switched off, too
        return word
    (token,) = Doc(nlp.vocab, words=[word], pos=[pos])
    return str(nlp.get_pipe("lemmatizer").lemmatize(token)[0])


_DOWNLOAD = "python -m spacy download en_core_web_sm"
_SIZES = ("sm", "md", "lg", "trf")  # of spaCy's own pipelines


@lru_cache(maxsize=2)
def parser(name: str | None = None) -> Any:
    """A pipeline of spaCy, without its named-entity recognizer.

    Args:
        name: the name of an installed pipeline, or its folder; by default the smallest English one that is installed
            and has a dependency parser. ``POLYSEMA_PARSER`` in the environment names another default.
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
    if name:
        try:
            return spacy.load(name, exclude=["ner"])
        except (OSError, ValueError) as error:
            raise InputError(f"no pipeline of spaCy: {name}: {str(error).splitlines()[0]}") from None

    def size(name: str) -> tuple[int, str]:  # small pipelines first
        return next((i for i, size in enumerate(_SIZES) if size in name.split("_")), len(_SIZES)), name

    for candidate in sorted(map(str, spacy.util.get_installed_models()), key=size):
        try:
            if candidate.startswith("en_") and (nlp := spacy.load(candidate, exclude=["ner"])).has_pipe("parser"):
                return nlp
        except (OSError, ValueError):  # of another version of spaCy
            continue
    raise MissingExtraError(
        "parsing plain text (spaCy is installed, but no English pipeline is; nlp= takes any other)",
        "parse",
        _DOWNLOAD,
    )


# -------------------------------------------------------------------------------------------------- is it English?

OF_LANGUAGES = {
    language: frozenset(words.split())
    for language, words in {
        "French": "le la les un une des du de et est sur dans que qui pour pas ne au aux avec il elle ils je nous vous",
        "German": "der die das den dem des ein eine einen und ist nicht auf mit von zu im in für sich er sie es war",
        "Spanish": "el la los las un una de del y es en que por con para no se su al lo más pero sus está yo",
        "Italian": "il lo la i gli le un una di del della e è che in per con non si da al sono era nel alla",
        "Portuguese": "o a os as um uma de do da dos e é que em no na por com para não se mais ao foi ele ela",
        "Dutch": "de het een en van is dat niet op in met voor zijn te aan er die was hij zij naar door bij",
        "Polish": "i w na z do nie się to jest że o jak po za od przez dla być ale są był",
        "Swedish": "och en ett det som på är av för med den till inte om har de i var jag han hon sig från",
    }.items()
}
"""The most frequent function words of some languages."""

KNOWN = 1 / 3
"""A text of at least :data:`FEWEST` words of which a smaller share is known is not taken for English."""

FEWEST = 4


def not_english(tokens: Sequence[Token], known: Container[str] | None) -> str:
    """Why a parsed text is not taken for English, with the number of known words; empty where it may be.

    Another language is named where at least two words of the text are function words of that language and not of
    English, and more than the English ones.
    """
    tokens = [token for token in tokens if token.text.isalpha()]
    words = [token.text.lower() for token in tokens]
    found = [
        word
        for word, token in zip(words, tokens, strict=True)
        if word in STOP_WORDS or known is None or any(form in known for form in (word, token.text, token.lemma))
    ]
    share = f"{len(found)} of its {len(words)} words are known"
    counts = {
        language: len({word for word in words if word in listed and word not in STOP_WORDS})
        for language, listed in OF_LANGUAGES.items()
    }
    language = max(counts, key=counts.__getitem__)
    english = {word for word in words if word in STOP_WORDS and word not in OF_LANGUAGES[language]}
    if counts[language] >= 2 and counts[language] > len(english):
        return f"it looks {language}, and only English is parsed ({share})"
    if len(words) >= FEWEST and len(found) < KNOWN * len(words):
        return f"it does not look English: {share}"
    return ""
