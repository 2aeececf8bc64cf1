"""What lexicons have in common: words that are looked up, compared, ranked and composed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from polysema.composition.compose import Composer, Composition, Kind
from polysema.composition.methods import negating
from polysema.composition.phrases import Phrase, Read, read_phrases
from polysema.composition.trees import Tree
from polysema.density import DensityMatrix
from polysema.errors import Failed, InputError, PolysemaError
from polysema.meanings.ambiguity import Ranking
from polysema.meanings.results import Ambiguity, InContext, Neighbour, Results
from polysema.registry import provider
from polysema.vectors import Vector
from polysema.vocabulary import Vocabulary

Query = str | Tree | Composition | InContext | DensityMatrix | Vector
"""What can be asked about: a word, a phrase in brackets or in plain English, a tree, a composition, a word in a context
(a disambiguation), a density matrix or a vector."""

Recall = Callable[..., Read]
"""What earlier sentences of a text told of its words; see :mod:`polysema.senses.memory`."""

C = TypeVar("C", bound=Composition)


class Model(ABC, Generic[C]):
    """Words with their meanings.

    Attributes:
        vocabulary: the words, with their counts.
        metadata: what is known of its making.
    """

    vocabulary: Vocabulary
    metadata: dict[str, Any]

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Whether it holds density matrices, ``matrices``, or ``vectors``."""

    @property
    @abstractmethod
    def methods(self) -> Mapping[str, Composer]:
        """The ways to compose that it offers, by name."""

    @abstractmethod
    def composer(self, method: str | Composer = "") -> Composer:
        """The composer of a name, by default the usual one; one that works on the other kind is an error."""

    @abstractmethod
    def _composed(self, read: Read, composer: Composer, recall: Recall | None) -> C:
        """A phrase that was read, composed."""

    @abstractmethod
    def _nearest(self, queries: Sequence[Query], top: int, common: int | None) -> list[Results[Neighbour]]:
        """The words most similar to each of one or more queries."""

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def neighbours(self, query: Query, top: int = 10, common: int | None = None) -> Results[Neighbour]:
        """The words most similar to a word, a phrase or any density matrix; a word is not its own neighbour.

        Args:
            common: look among this many of the most frequent words only, where counts are known; by default among all.
        """
        return self.neighbours_of([query], top, common)[0]

    def neighbours_of(
        self, queries: Sequence[Query], top: int = 10, common: int | None = None
    ) -> list[Results[Neighbour]]:
        """The words most similar to each of many queries: far quicker than one by one."""
        if top < 0:
            raise InputError(f"top is how many neighbours to give, not {top}")
        return self._nearest(queries, top, common) if queries else []

    def compose(self, phrase: Phrase, method: str | Composer = "", pattern: str | None = None, **options: Any) -> C:
        """Compose a phrase along its tree.

        Args:
            phrase: a sentence in plain English (needs the extra ``parse``), brackets such as
                ``(bob (likes (old cars)))``, a tree, words that a pattern gives roles to, or a Doc or Span of spaCy; a
                Token stands for the phrase that it heads.
            method: a name in :attr:`methods`, or a composer of your own; by default ``phaser``, and ``add`` for
                vectors.
            pattern: the roles of the words, such as ``adj subj verb adj obj``.
            options: the other arguments of :meth:`compose_all`.
        """
        (result,) = self.compose_all([phrase], method, pattern, **options)
        if isinstance(result, Failed):
            raise result.error
        return result

    def compose_all(
        self,
        phrases: Iterable[Phrase],
        method: str | Composer = "",
        pattern: str | None = None,
        *,
        negation: str = "",
        memory: bool = False,
        readings: bool = False,
        nlp: Any = None,
    ) -> list[C | Failed]:
        """Compose many phrases, sentences parsed in batches: one result each, in the order given.

        Args:
            negation: what *not* does, a name in :data:`polysema.NEGATIONS`; by default ``conversational``.
            memory: whether what a sentence of a text tells of a word holds in the sentences after it; see
                :mod:`polysema.senses.memory`.
            readings: whether a sentence that can be parsed in several ways is the mixture of all of them.
            nlp: the spaCy pipeline to parse with, or its name; by default the one that is found.
        """
        composer = negating(self.composer(method), negation)
        recall = provider("memory") if memory else None
        phrases = list(phrases)
        results: list[C | Failed] = []
        for phrase, read in zip(phrases, read_phrases(phrases, pattern, self, nlp, readings), strict=True):
            try:
                if isinstance(read, PolysemaError):
                    raise read
                results.append(self._composed(read, composer, recall))
            except PolysemaError as error:
                results.append(Failed(phrase, error))
        return results

    def save(self, path: str | Path, *, dtype: str = "float32", overwrite: bool = False) -> None:
        """Write it; the format follows from the name, a folder where it has no suffix.

        Args:
            dtype: ``float32`` or ``float16``, for a folder.
            overwrite: whether what is there already may be replaced.
        """
        from polysema.lexicon.formats import write
        from polysema.lexicon.lexicon import known

        write(known(self), Path(path), dtype=dtype, overwrite=overwrite)


class Ranked(ABC):
    """Words of density matrices, by how ambiguous they are."""

    @property
    @abstractmethod
    def ranking(self) -> Ranking:
        """How ambiguous every word is, by every measure there is, and how it stands among words of like frequency."""

    @overload
    def ambiguity(
        self,
        words: None = None,
        *,
        by: str = "",
        top: int | None = None,
        min_count: int = 0,
        function_words: bool = False,
    ) -> Results[Ambiguity]: ...
    @overload
    def ambiguity(self, words: Iterable[str], *, by: str = "") -> Results[Ambiguity | Failed]: ...
    def ambiguity(
        self,
        words: Iterable[str] | None = None,
        *,
        by: str = "",
        top: int | None = None,
        min_count: int = 0,
        function_words: bool = False,
    ) -> Results[Ambiguity] | Results[Ambiguity | Failed]:
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
            return Results(self.ranking.listed(by, top, min_count, function_words))
        return Results(self.ranking.looked_up(words, by))
