"""Lexicons: words with their meanings, and everything that users ask of them.

A :class:`Lexicon` holds density matrices, a :class:`VectorLexicon` the vectors of the baselines. Both are thin: the
words and their meanings are :class:`~polysema.meanings.meanings.Meanings`, and what reads sentences lies in the rooms
below, which take these as an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema import measures
from polysema.composition.compose import Composer, Composition
from polysema.composition.methods import METHODS, VECTOR_METHODS, method_named, word_method
from polysema.composition.phrases import Phrase, SpacyParse, is_word
from polysema.density import DensityMatrix
from polysema.encoders.contextual import CONTEXTUAL
from polysema.errors import Failed, FormatError, InputError, PolysemaError, check_choice
from polysema.lexicon import formats
from polysema.lexicon.formats import flat
from polysema.meanings.ambiguity import Ambiguity, Ranking
from polysema.meanings.meanings import COMMON, HasMeaning, Meanings, Query, from_matrices, nearest
from polysema.meanings.results import Neighbour, Results
from polysema.parsing.sentences import read_phrases
from polysema.senses import asking
from polysema.senses.answers import Disambiguation, Sense
from polysema.senses.asking import Context, Narrowed, Which, Word
from polysema.senses.dictionary import Dictionary
from polysema.senses.negation import with_negation
from polysema.slots.model import SLOTS, PhraseMatrix, Slots, stand_ins
from polysema.storage import recover
from polysema.vectors import Vector
from polysema.vocabulary import Vocabulary

M = TypeVar("M", DensityMatrix, Vector)

COMPOSERS: dict[str, Composer] = {**METHODS, CONTEXTUAL.name: CONTEXTUAL, **{each.name: each for each in SLOTS}}
"""Every way to compose density matrices: the methods, ``contextual`` for lexicons made with an encoder, and ``slots``
for lexicons of slots."""

CANDIDATES = 40
"""How many words are looked at for those that could stand for the head of a phrase."""

DEFAULT = Path(__file__).parents[1] / "models" / "default"
"""The model that comes with polysema."""


class LexiconOf(Meanings[M]):
    """What lexicons of matrices and of vectors have in common."""

    @property
    def methods(self) -> Mapping[str, Composer]:
        """The ways to compose that it offers, by name."""
        return VECTOR_METHODS

    @property
    def default_method(self) -> str:
        """The name of the method that phrases are composed with where none is named."""
        return "add"

    def knows(self, word: str) -> bool:
        """Whether it can answer about a word."""
        return word in self

    def meaning(self, query: Query) -> M:
        """The density matrix (or vector) of anything that can be asked about."""
        is_known = isinstance(query, str) and (query in self or is_word(query))
        if not is_known and not isinstance(query, DensityMatrix | Vector | HasMeaning):
            query = self.compose(query)
        return Meanings.meaning(self, query)

    @overload
    def compose(
        self, phrase: list[Any], method: str | Composer = "", pattern: str | None = None, *, negation: str = "",
        readings: bool = False, nlp: Any = None,
    ) -> list[Composition | Failed]: ...  # fmt: skip
    @overload
    def compose(
        self, phrase: Phrase, method: str | Composer = "", pattern: str | None = None, *, negation: str = "",
        readings: bool = False, nlp: Any = None,
    ) -> Composition: ...  # fmt: skip
    def compose(
        self, phrase: Phrase | list[Any], method: str | Composer = "", pattern: str | None = None, *,
        negation: str = "", readings: bool = False, nlp: Any = None,
    ) -> Composition | list[Composition | Failed]:  # fmt: skip
        """Compose a phrase along its tree.

        Args:
            phrase: a sentence in plain English (needs the extra ``parse``), brackets such as
                ``(bob (likes (old cars)))``, a tree, words that a pattern gives roles to (a string or a tuple), or a
                Doc or Span of spaCy; a Token stands for the phrase that it heads. Or a list of these: one result each,
                in order, :class:`~polysema.errors.Failed` where there is none; sentences are parsed in batches.
            method: a name in :attr:`methods`, or a composer of your own; by default :attr:`default_method`.
            pattern: the roles of the words, such as ``adj subj verb adj obj``.
            negation: what *not* does, a name in :data:`polysema.senses.negation.NEGATIONS`; by default
                ``conversational``.
            readings: whether a sentence that can be parsed in several ways is the mixture of all of them.
            nlp: the spaCy pipeline to parse with, or its name; by default the one that is found.
        """
        composer = with_negation(self._composer(method), negation)
        many = isinstance(phrase, list)
        phrases: list[Any] = phrase if isinstance(phrase, list) else [phrase]
        results: list[Composition | Failed] = []
        for item, read in zip(phrases, read_phrases(phrases, pattern, self, nlp, readings), strict=True):
            try:
                if isinstance(read, PolysemaError):
                    raise read
                results.append(composer.compose(self, read))
            except PolysemaError as error:
                results.append(Failed(item, error))
        return results if many else _sound(results[0])

    def _composer(self, method: str | Composer) -> Composer:
        if isinstance(method, str):
            return method_named(method or self.default_method, self.methods)
        if not hasattr(method, "compose"):
            raise InputError(f"a method is a name or a polysema.Method, not {type(method).__name__}: see Method.by")
        if method.on != self.kind:
            raise InputError(f"{method.name} works on {method.on}: this lexicon holds {self.kind}")
        return method

    def save(self, path: str | Path, *, dtype: str = "float32", overwrite: bool = False) -> None:
        """Write it; the format follows from the name, a folder where it has no suffix.

        Args:
            dtype: ``float32`` or ``float16``, for a folder.
            overwrite: whether a lexicon that is there may be replaced.
        """
        formats.write(self, Path(path), dtype=dtype, overwrite=overwrite)

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Write the lexicon to ``user/name`` of the Hugging Face hub, with its card; ``ps.load("hf://user/name")``.

        For the options see :func:`polysema.integrations.hub.push_to_hub`.
        """
        from polysema.integrations.hub import push_to_hub

        return push_to_hub(self, name, **options)

    def to_gensim(self, *, senses: bool = False, words: int | None = None) -> Any:
        """gensim ``KeyedVectors``, counts included: the vectors, or the n×n matrices flattened to n² numbers.

        The cosine of two flattened matrices is their trace similarity, so every gensim tool works on them.

        Args:
            senses: whether each sense has a key of its own beside the word's: ``bank#2``.
            words: take this many of the most frequent words only: n² numbers a word are many.
        """
        if senses:
            return flat.to_gensim(flat.with_senses(with_matrices(self, "a key for every sense"), words))
        return flat.to_gensim(self if words is None else flat.most_frequent(self, words))


class VectorLexicon(LexiconOf[Vector]):
    """Words and their vectors.

    Args:
        words: the vocabulary, or the words alone.
        array: (V, n), vectors of any length.
        parts: what else is known, such as the context vectors.
        metadata: how it was made: anything that JSON can hold.

    >>> vectors = VectorLexicon(["run", "walk", "bank"], [[1, 0.2], [1, 0], [0, 1]])
    >>> vectors.neighbours("run", 1)
    [Neighbour('walk', 0.981)]
    """

    _holds = "vectors"

    @property
    def vectors(self) -> NDArray[Any]:
        """(V, n), a row a word."""
        return self.array

    def __repr__(self) -> str:
        return f"VectorLexicon({len(self)} words, n={self.n})"


class Lexicon(LexiconOf[DensityMatrix]):
    """Words and their density matrices.

    Args:
        words: the vocabulary, or the words alone.
        array: (V, n, m), the factor of each word's density matrix, which need not be normalised.
        parts: what else is known; see :class:`~polysema.meanings.parts.Parts`.
        metadata: how it was made: anything that JSON can hold.

    >>> lexicon = Lexicon(["shiny", "clever", "bright"], [[[1, 0], [0, 0]], [[0, 0], [1, 0]], [[0.8, 0], [0, 0.6]]])
    >>> lexicon.similarity("bright", "shiny") > lexicon.similarity("bright", "clever")
    True
    >>> round(lexicon.entropy("bright"), 3)
    0.653
    """

    _holds = "matrices"

    @classmethod
    def from_matrices(
        cls, words: Vocabulary | Iterable[str], matrices: ArrayLike, tolerance: float | None = None
    ) -> Lexicon:
        """A lexicon from dense matrices (V, n, n): symmetric, positive, of any trace.

        Args:
            tolerance: how far entries may be off, see :meth:`DensityMatrix.from_matrix`.
        """
        found = from_matrices(words, matrices, tolerance)
        return cls(found.vocabulary, found.array, parts=found.parts)

    @property
    def factors(self) -> NDArray[Any]:
        """(V, n, m), the factor of each word's density matrix."""
        return self.array

    @property
    def methods(self) -> Mapping[str, Composer]:
        """The ways to compose; with an encoder ``contextual`` too, with slots ``slots``."""
        found: dict[str, Composer] = dict(METHODS)
        if self.parts.encoder is not None:
            found[CONTEXTUAL.name] = CONTEXTUAL
        if self._composes_by_slots:
            found |= {composer.name: composer for composer in SLOTS}
        return found

    @property
    def _composes_by_slots(self) -> bool:
        return self.parts.phrases is not None or self.parts.slots is not None

    @cached_property
    def slots(self) -> Slots:
        """What fills the slots of words; a lexicon without it is an error."""
        return Slots.of(self)

    @cached_property
    def default_method(self) -> str:
        """The name of the usual method: ``slots`` where there are slots; else that of its words."""
        return SLOTS[0].name if self._composes_by_slots else word_method(self.array)

    def meanings(self, queries: Sequence[Query]) -> list[DensityMatrix]:
        """The meanings of several queries in one space: beside a phrase composed by slots, a word has none."""
        found = super().meanings(queries)
        size = next((one.n for one in found if isinstance(one, PhraseMatrix)), self.n)
        below = (0, size - self.n), (0, 0)
        return [DensityMatrix(np.pad(one.factor, below)) if one.n == self.n < size else one for one in found]

    def _stand_ins(self, query: Query, top: int, common: int | None) -> Results[Neighbour] | None:
        """The words that could stand for the head of a phrase composed by slots; None for all else."""
        if not self._composes_by_slots or (isinstance(query, str) and (query in self or is_word(query))):
            return None
        found = self.meaning(query)
        if not isinstance(found, PhraseMatrix):
            return None
        near = nearest(self, found.words.factor[None], max(top, CANDIDATES), common)[0]
        return stand_ins(self.slots, found, [item.word for item in near], top)

    def __repr__(self) -> str:
        return f"Lexicon({len(self)} words, n={self.n}, m={self.m})"

    # ------------------------------------------------------------------------------------------------------ ambiguity

    def entropy(self, query: Query) -> float:
        """The von Neumann entropy of a word or a phrase; of a word of the dictionary that of its senses there."""
        known = self.dictionary.entropy(query) if isinstance(query, str) and self.dictionary is not None else None
        return float(measures.entropy(self.meaning(query))) if known is None else known

    @cached_property
    def _ranking(self) -> Ranking:
        """How ambiguous every word is, by every measure there is, and how it stands among words of like frequency."""
        return Ranking(self, self.dictionary)

    @overload
    def ambiguity(
        self, words: None = None, *, by: str = "", top: int | None = None, min_count: int = 0,
        function_words: bool = False,
    ) -> Results[Ambiguity]: ...  # fmt: skip
    @overload
    def ambiguity(self, words: Iterable[str], *, by: str = "") -> Results[Ambiguity | Failed]: ...
    def ambiguity(
        self, words: Iterable[str] | None = None, *, by: str = "", top: int | None = None, min_count: int = 0,
        function_words: bool = False,
    ) -> Results[Ambiguity] | Results[Ambiguity | Failed]:  # fmt: skip
        """How ambiguous words are.

        Args:
            words: which: one result each, in the order given. By default the whole vocabulary, from the most ambiguous
                to the least.
            by: ``information``, how much of a word's meaning contexts tell; ``entropy``, how mixed its matrix is; or
                ``percentile``, the first among words of like frequency. By default by information where the lexicon
                knows it, see ``polysema describe``, else by entropy.
            top: of the whole vocabulary, how many to give; by default all.
            min_count: of the whole vocabulary, leave out words seen less often: their figures say little.
            function_words: of the whole vocabulary, whether function words are listed.
        """
        if words is None:
            return Results(self._ranking.listed(by, top, min_count, function_words))
        return Results(self._ranking.looked_up(words, by))

    # --------------------------------------------------------------------------------------------------------- senses

    @cached_property
    def dictionary(self) -> Dictionary | None:
        """Senses with keys and glosses, and the encoder that reads them in text; None for senses found in text."""
        return Dictionary.of(self.parts)

    def knows(self, word: str) -> bool:
        """Whether it can answer about a word: it holds the word, or its dictionary has a form of it."""
        return word in self or (self.dictionary is not None and word in self.dictionary)

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """Slurs and obscene words of the dictionary, which are no neighbours of other words."""
        return self.dictionary.hidden if self.dictionary is not None else frozenset()

    def senses(
        self,
        word: str,
        top: int = 10,
        min_weight: float | None = None,
        common: int | None = COMMON,
        *,
        pos: str | None = None,
        lemma: str | None = None,
        fine: bool = False,
    ) -> Results[Sense]:
        """The senses of a word, the weightiest first: of the dictionary, else those found in text.

        Args:
            top: how many neighbours to give for each sense found in text.
            min_weight: leave out senses that weigh less; by default 0.01 of those found in text.
            common: take neighbours from this many of the most frequent words; None takes them from all. A sense is a
                pure state, and the words nearest to one are rare: those that were seen in one kind of context only.
            pos: of the dictionary, the senses of a part of speech: ``noun``, ``verb``, ``adj`` or ``adv``.
            lemma: of the dictionary, the senses of a lemma: *see* for the form *saw*.
            fine: all senses that the dictionary tells apart; by default at most eight, as coarse as people think.
        """
        return asking.list_senses(
            self, self.dictionary, word, Narrowed(pos, lemma, fine), top=top, min_weight=min_weight, common=common
        )

    @overload
    def disambiguate(
        self, word: list[Any], context: None = None, *, method: str | Composer = "",
        pattern: str | None = None, top: int = 8, which: Which = None, nlp: Any = None, pos: str | None = None,
        lemma: str | None = None, fine: bool = False,
    ) -> Results[Disambiguation | Failed]: ...  # fmt: skip
    @overload
    def disambiguate(
        self, word: Word, context: Context | None = None, *, method: str | Composer = "",
        pattern: str | None = None, top: int = 8, which: int | None = None, nlp: Any = None, pos: str | None = None,
        lemma: str | None = None, fine: bool = False,
    ) -> Disambiguation: ...  # fmt: skip
    @overload
    def disambiguate(
        self, word: Word, context: Context | None = None, *, method: str | Composer = "",
        pattern: str | None = None, top: int = 8, which: Literal["all"], nlp: Any = None, pos: str | None = None,
        lemma: str | None = None, fine: bool = False,
    ) -> Results[Disambiguation]: ...  # fmt: skip
    def disambiguate(
        self, word: Word | list[Any], context: Context | None = None, *, method: str | Composer = "",
        pattern: str | None = None, top: int = 8, which: Which = None, nlp: Any = None, pos: str | None = None,
        lemma: str | None = None, fine: bool = False,
    ) -> Disambiguation | Results[Disambiguation] | Results[Disambiguation | Failed]:  # fmt: skip
        """Which sense of a word is meant in a context: of the dictionary, else of those found in text.

        Args:
            word: the word; any of its forms is found in the context. A Token of spaCy is asked about where it stands.
                Or a list of pairs of a word and its context, or of Tokens: one answer each, in order,
                :class:`~polysema.errors.Failed` where there is none; texts are read in batches.
            context: plain text of any length, brackets such as ``(bank (raised rates))``, a tree, words for a pattern,
                or a Doc or Span of spaCy. A Token needs none. The encoder of a dictionary reads the words in order.
                Senses found in text are chosen by the words around and, with the extra ``parse``, by composition.
            method: how to compose, for senses found in text; by default ``phaser``.
            pattern: the roles of the words, such as ``adj subj verb adj obj``.
            top: how many neighbours to name each sense found in text by.
            which: which occurrence of the word to answer, from 0 on the left, or ``"all"``: a list of all from left to
                right. By default the first that is spelled like the word; the result says how many there are.
            nlp: the spaCy pipeline to parse with, or its name; by default the one that is found. False: do not parse.
            pos, lemma, fine: as :meth:`senses` takes them.
        """
        many = isinstance(word, list)
        questions: Any = word if many else [(word, context)]
        found = asking.disambiguate(
            self,
            self.dictionary,
            questions,
            self._composer(method) if method else None,
            self.methods["phaser"],
            Narrowed(pos, lemma, fine),
            pattern=pattern,
            top=top,
            which=which,
            nlp=nlp,
        )
        if many:
            return found
        answers = Results(_sound(answer) for answer in found)
        return answers if which == "all" else answers[0]

    def same_use(
        self, word: str, first: str, second: str, *, pos: str | None = None, lemma: str | None = None
    ) -> float:
        """How alike two uses of a word are: the trace similarity of its matrices in two texts, 0 to 1."""
        if self.dictionary is not None and word in self.dictionary:
            return self.dictionary.same_use(word, first, second, pos=pos, lemma=lemma)
        a, b = (self.disambiguate(word, text, pos=pos, lemma=lemma) for text in (first, second))
        return self.similarity(a, b)

    @overload
    def read(
        self, text: list[Any], *, method: str | Composer = "", top: int = 8, min_weight: float | None = None,
        every: bool = False, fine: bool = False, nlp: Any = None,
    ) -> list[Results[Disambiguation]]: ...  # fmt: skip
    @overload
    def read(
        self, text: str | SpacyParse, *, method: str | Composer = "", top: int = 8, min_weight: float | None = None,
        every: bool = False, fine: bool = False, nlp: Any = None,
    ) -> Results[Disambiguation]: ...  # fmt: skip
    def read(
        self, text: str | SpacyParse | list[Any], *, method: str | Composer = "", top: int = 8,
        min_weight: float | None = None, every: bool = False, fine: bool = False, nlp: Any = None,
    ) -> Results[Disambiguation] | list[Results[Disambiguation]]:  # fmt: skip
        """Every ambiguous content word of a text with the sense that is meant, from left to right.

        Function words are left out. With a dictionary, words of several senses there are given, *ice cream* as one, and
        words that it lacks where the lexicon holds them; else words that the lexicon holds as they stand, in lower case
        or by their lemma.

        Args:
            text: of any length; or a list of texts, one result each, which is far quicker than one by one.
            min_weight: a word is ambiguous if two of its senses weigh at least this much; by default 0.1 for senses
                found in text, and anything for those of a dictionary.
            every: whether content words that are not ambiguous are given, too.
            fine: as :meth:`senses` takes it.
            nlp: the spaCy pipeline to parse with, or its name; by default the one that is found. False: do not parse.
        """
        found = asking.read(
            self,
            self.dictionary,
            text if isinstance(text, list) else [text],
            self._composer(method) if method else None,
            self.methods["phaser"],
            fine,
            top=top,
            min_weight=min_weight,
            every=every,
            nlp=nlp,
        )
        return found if isinstance(text, list) else found[0]

    def read_steps(self, text: str, *, every: bool = False, fine: bool = False) -> list[Results[Disambiguation]]:
        """:meth:`read` after each word of a text: what its words mean to a reader who has come so far."""
        if not isinstance(text, str):
            raise InputError(f"a text is a string, not {type(text).__name__}")
        return self.read(asking.beginnings(text), every=every, fine=fine, nlp=False)


AnyLexicon = Lexicon | VectorLexicon
"""A lexicon of either kind."""


T = TypeVar("T")


def _sound(answer: T | Failed) -> T:
    if isinstance(answer, Failed):
        raise answer.error
    return answer


def ranking(lexicon: Lexicon) -> Ranking:
    """How ambiguous every word of a lexicon is, by every measure, and how it stands among words of like frequency."""
    return lexicon._ranking


def with_matrices(model: object, what: str) -> Lexicon:
    """A lexicon of density matrices as itself; for all else an error that says what needs one."""
    if isinstance(model, Lexicon):
        return model
    raise InputError(f"this lexicon holds vectors: {what} needs density matrices")


# ------------------------------------------------------------------------------------------------------------- on disk


@overload
def load(path: None = None, kind: str = "auto") -> Lexicon: ...
@overload
def load(path: str | Path | None, kind: str = "auto") -> AnyLexicon: ...
def load(path: str | Path | None = None, kind: str = "auto") -> AnyLexicon:
    """Read a lexicon, in whatever format it is. The default model is read once: every call gives the same object.

    Args:
        path: a folder, or a file (text formats may be compressed with gzip), or ``hf://user/name`` for one of the
            Hugging Face hub; by default the model that comes with polysema, whose name is ``default``.
        kind: in formats that keep plain numbers, whether they are ``vectors`` or flattened ``matrices``; ``auto`` takes
            them for matrices when they are n² numbers a word that make symmetric matrices.
    """
    check_choice("kind", kind, ("auto", "matrices", "vectors"))
    if path is None or (str(path) == "default" and not Path(path).exists()):
        return _default(default_path(), (DEFAULT / "config.json").stat().st_mtime_ns)
    if isinstance(path, str) and path.startswith("hf://"):
        from polysema.integrations.hub import from_hub

        path = from_hub(path)
    path = Path(path)
    if not path.name and str(path) != ".":
        raise FormatError(f"{path}: names no file or folder of its own")
    recover(path)
    return as_lexicon(formats.read(path, kind))


def as_lexicon(found: Meanings[Any]) -> AnyLexicon:
    """Words with their meanings as a lexicon."""
    kind = Lexicon if found.kind == "matrices" else VectorLexicon
    return kind(found.vocabulary, found.array, parts=found.parts, metadata=found.metadata)


def from_gensim(vectors: Any, kind: str = "auto") -> AnyLexicon:
    """A lexicon from gensim ``KeyedVectors``: vectors, or flattened matrices, as ``to_gensim`` makes them."""
    return as_lexicon(flat.from_gensim(vectors, kind))


def default_path() -> Path:
    """The folder of the default model; an error where this copy of polysema has none."""
    if not (DEFAULT / "config.json").is_file():
        raise FormatError(
            "this copy of polysema comes without its default model: name a lexicon (-l on the command line), "
            "or make one with polysema train"
        )
    return DEFAULT


@lru_cache(maxsize=1)
def _default(path: Path, changed: int) -> Lexicon:
    """The default model, read again only where its folder has changed."""
    return with_matrices(load(path), "the default model")
