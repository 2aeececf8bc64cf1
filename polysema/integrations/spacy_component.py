"""The component ``polysema`` of a spaCy pipeline: ``nlp.add_pipe("polysema")`` finds it by spaCy's entry points.

=====================  ==============================================================================================
``token._.senses``     the senses of the word, without a context
``token._.sense``      the sense in this context, with key and gloss where a dictionary has the word; None for function
                       words and words that are not in the lexicon
``token._.ambiguity``  the ambiguity of the word; None for words that are not in the lexicon
``span._.meaning``     the density matrix (or vector) of the phrase; None if it has no word to compose
``doc._.composition``  the text composed, with the entropy at every node; None if it has no word to compose
=====================  ==============================================================================================

All are computed on first access and kept as long as the Doc. The Doc itself only stores which component it went
through, so that it can be written to disk and sent between processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from spacy.language import Language
from spacy.tokens import Doc, Span, Token

from polysema.composition.compose import Composition
from polysema.composition.methods import method_named
from polysema.corpus.normalisation import STOP_WORDS
from polysema.errors import Failed, InputError
from polysema.lexicon.lexicon import AnyLexicon, load, with_matrices
from polysema.meanings.ambiguity import Ambiguity
from polysema.senses.answers import Disambiguation, Sense, SenseInContext

_KEY = "polysema"
_COMPONENTS: WeakValueDictionary[str, PolysemaComponent] = WeakValueDictionary()


class PolysemaComponent:
    """Adds senses to the tokens and meanings to the spans of a Doc.

    Args:
        lexicon: a name, folder or file that :func:`polysema.load` takes.
        method: composition method; by default the lexicon's own.
        top: how many neighbours of each sense to list.
    """

    def __init__(self, lexicon: str = "default", method: str = "", top: int = 8) -> None:
        self.source, self.method, self.top = lexicon, method, top
        self.key = uuid4().hex
        self._lexicon: AnyLexicon | None = None
        self._found: WeakKeyDictionary[Doc, dict[Any, Any]] = WeakKeyDictionary()
        _COMPONENTS[self.key] = self

    @property
    def lexicon(self) -> AnyLexicon:
        """The lexicon; it can be replaced."""
        if self._lexicon is None:
            self._lexicon = load(self.source)
            method_named(self.method or self._lexicon.default_method, self._lexicon.methods)
        return self._lexicon

    @lexicon.setter
    def lexicon(self, lexicon: AnyLexicon) -> None:
        self._lexicon = lexicon
        self._found.clear()

    def __call__(self, doc: Doc) -> Doc:
        """Store in the Doc which component it went through."""
        _ = self.lexicon  # so that a wrong name is an error here
        doc.user_data[_KEY] = self.key
        return doc

    def __reduce__(self) -> tuple[Any, ...]:  # another process opens the lexicon by its name
        return _unpickled, (self.source, self.method, self.top, self.key)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the lexicon with the pipeline, unless it is the default model."""
        if self._lexicon is not load():
            Path(path).mkdir(parents=True, exist_ok=True)
            self.lexicon.save(Path(path) / "lexicon", overwrite=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> PolysemaComponent:
        """Use the lexicon that was written with the pipeline."""
        if (Path(path) / "lexicon").is_dir():
            self.source = str(Path(path) / "lexicon")
            self._lexicon = None
            self._found.clear()
        return self

    def kept(self, doc: Doc, key: Any, make: Callable[[], Any]) -> Any:
        """A value kept for a Doc; computed the first time."""
        known = self._found.setdefault(doc, {})
        if key not in known:
            known[key] = make()
        return known[key]

    def spelled(self, token: Token) -> str | None:
        """The token as the lexicon spells it: as it is, in lower case, or its lemma; None if it is not there."""
        tried = (token.text, token.lower_, token.lemma_, token.lemma_.lower())
        return next((form for form in tried if form and self.lexicon.knows(form)), None)

    def senses(self, token: Token) -> list[Sense]:
        """The senses of a token without its context."""
        word = self.spelled(token)
        return [] if word is None else with_matrices(self.lexicon, "a list of senses").senses(word, self.top)

    def sense(self, token: Token) -> SenseInContext | None:
        """The sense of a token in its context; all tokens of the Doc are disambiguated at once."""

        def disambiguated() -> dict[int, Disambiguation | Failed]:
            lexicon = with_matrices(self.lexicon, "a choice of senses")
            content = [t for t in token.doc if t.text[:1].isalpha() and t.lower_ not in STOP_WORDS and self.spelled(t)]
            method = self.method if lexicon.dictionary is None else ""
            found = lexicon.disambiguate(content, method=method, top=self.top)
            return {known.i: item for known, item in zip(content, found, strict=True)}

        found = self.kept(token.doc, "senses", disambiguated).get(token.i)
        return found.sense if isinstance(found, Disambiguation) else None

    def ambiguity(self, token: Token) -> Ambiguity | None:
        """The ambiguity of a token."""
        word = self.spelled(token)
        found = None if word is None else with_matrices(self.lexicon, "ambiguity").ambiguity([word])[0]
        return found if isinstance(found, Ambiguity) else None

    def composition(self, phrase: Doc | Span) -> Composition | None:
        """A phrase composed along its dependencies."""
        key = (phrase.start, phrase.end) if isinstance(phrase, Span) else "composition"
        (result,) = self.kept(phrase.doc, key, lambda: self.lexicon.compose([phrase], self.method))
        if isinstance(result, Failed):
            if phrase.doc.has_annotation("DEP"):
                return None
            raise result.error
        return result  # type: ignore[no-any-return]

    def meaning(self, span: Span) -> Any:
        """The density matrix or vector of a phrase."""
        found = self.composition(span)
        return None if found is None else found.meaning


def _unpickled(lexicon: str, method: str, top: int, key: str) -> PolysemaComponent:
    component = PolysemaComponent(lexicon, method, top)
    component.key = key
    _COMPONENTS[key] = component
    return component


def _getter(method: Callable[[PolysemaComponent, Any], Any]) -> Callable[[Any], Any]:
    """An attribute of tokens, spans or Docs, given by the component that the Doc went through."""

    def get(item: Doc | Span | Token) -> Any:
        found = _COMPONENTS.get(item.doc.user_data.get(_KEY, ""))
        if found is None:
            raise InputError('this Doc did not go through polysema: nlp.add_pipe("polysema") before nlp(text)')
        return method(found, item)

    return get


Token.set_extension("senses", getter=_getter(PolysemaComponent.senses), force=True)
Token.set_extension("sense", getter=_getter(PolysemaComponent.sense), force=True)
Token.set_extension("ambiguity", getter=_getter(PolysemaComponent.ambiguity), force=True)
Span.set_extension("meaning", getter=_getter(PolysemaComponent.meaning), force=True)
Doc.set_extension("composition", getter=_getter(PolysemaComponent.composition), force=True)


@Language.factory(
    "polysema",
    default_config={"lexicon": "default", "method": "", "top": 8},
    assigns=["token._.senses", "token._.sense", "token._.ambiguity", "span._.meaning", "doc._.composition"],
)
def make(nlp: Language, name: str, lexicon: str, method: str, top: int) -> PolysemaComponent:
    """The component, from the configuration of a pipeline."""
    return PolysemaComponent(lexicon, method, top)
