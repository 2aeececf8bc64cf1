"""A vocabulary with the meanings of its words: look up, compare, find neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Generic, Literal, Protocol, Self, TypeVar, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema import measures
from polysema.composition.trees import Tree
from polysema.density import DensityMatrix, factorise, stack
from polysema.errors import Failed, InputError, MatrixError, PolysemaError
from polysema.meanings.neighbours import NeighbourIndex, blocks, cosines
from polysema.meanings.parts import Parts
from polysema.meanings.results import Neighbour, Results
from polysema.vectors import Vector, cosine
from polysema.vocabulary import Vocabulary

M = TypeVar("M", DensityMatrix, Vector)

COMMON = 10_000  # how many of the most frequent words the names of senses are taken from


@runtime_checkable
class HasMeaning(Protocol):
    """A composition, or a word in a context."""

    @property
    def meaning(self) -> DensityMatrix | Vector:
        """Its density matrix or vector."""


Query = str | Tree | HasMeaning | DensityMatrix | Vector
"""What can be asked about: a word, a phrase in brackets or in plain English, a tree, a composition, a word in a context
(a disambiguation), a density matrix or a vector. Phrases need a :class:`~polysema.Lexicon`, which composes them."""


class Meanings(Generic[M]):
    """Words and their density matrices, factors (V, n, m), or vectors (V, n); see :class:`~polysema.Lexicon`."""

    _holds = ""  # the kind that a lexicon holds; either, if empty

    def __init__(
        self,
        words: Vocabulary | Iterable[str],
        array: ArrayLike,
        *,
        parts: Parts | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words)
        given = array if isinstance(array, np.ndarray) else np.asarray(array)
        self.array: NDArray[Any] = given
        if given.dtype not in (np.float16, np.float32, np.float64):
            self.array = given.astype(np.float64)
        if given.ndim not in (2, 3) or len(given) != len(self.vocabulary) or 0 in given.shape[1:]:
            raise InputError(f"{len(self.vocabulary)} words and an array of shape {given.shape}: give a row a word")
        if self._holds and self.kind != self._holds:
            raise InputError(
                f"{len(self)} words and an array of shape {given.shape}: factors (words, n, m) make a Lexicon, "
                "vectors (words, n) a VectorLexicon"
            )
        self.parts = parts or Parts()
        self.parts.check(self.array.shape)
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._indices: dict[int, tuple[NeighbourIndex, NDArray[np.int64]]] = {}

    @property
    def kind(self) -> Literal["matrices", "vectors"]:
        """Whether it holds density ``matrices`` or ``vectors``."""
        return "matrices" if self.array.ndim == 3 else "vectors"

    @property
    def _type(self) -> type[M]:
        return cast("type[M]", DensityMatrix if self.kind == "matrices" else Vector)

    @property
    def n(self) -> int:
        """The dimension of the space."""
        return int(self.array.shape[1])

    @property
    def m(self) -> int:
        """The number of columns of a factor; 1 for vectors."""
        return int(self.array.shape[2]) if self.kind == "matrices" else 1

    def with_parts(self, **changes: Any) -> Self:
        """A copy with other parts, by the names of :class:`~polysema.meanings.parts.Parts`.

        ``words``, ``array`` and ``metadata`` may be given, too.
        """
        words, array = changes.pop("words", self.vocabulary), changes.pop("array", self.array)
        metadata = changes.pop("metadata", self.metadata)
        unknown = set(changes) - {field.name for field in fields(Parts)}
        if unknown:
            raise InputError(f"a lexicon has no part {', '.join(sorted(unknown))}")
        return type(self)(words, array, parts=replace(self.parts, **changes), metadata=metadata)

    # ------------------------------------------------------------------------------------------------------- look-up

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __getitem__(self, word: str) -> M:
        """The word's density matrix, or vector; one that is not there as it is written is looked up in lower case."""
        row = self.vocabulary.index(word)
        return self._type(self.array[row], self.vocabulary.words[row])

    def stack(self, words: Sequence[str]) -> M:
        """The density matrices (or vectors) of many words as one stack."""
        rows = self.array[[self.vocabulary.index(word) for word in words]]
        try:
            return self._type(rows)
        except MatrixError:
            for word in words:
                self[word]  # one of these raises, with the word's name
            raise

    def meaning(self, query: Query) -> M:
        """The density matrix (or vector) of anything that can be asked about."""
        found = query.meaning if isinstance(query, HasMeaning) else self[query] if isinstance(query, str) else query
        if not isinstance(found, self._type):
            raise InputError(f"this lexicon holds {self.kind}, the query is a {type(found).__name__}")
        return found

    # ---------------------------------------------------------------------------------------------------- comparison

    def similarity(self, a: Query, b: Query) -> float:
        """tr(ρσ) / √(tr ρ² · tr σ²) of two words or phrases; the cosine, for vectors."""
        return float(self._compare(*self.meanings([a, b])))

    def meanings(self, queries: Sequence[Query]) -> list[M]:
        """The meanings of several queries, in one space where there is one for all."""
        return [self.meaning(query) for query in queries]

    def similarities(self, rows: Sequence[Query], columns: Sequence[Query] | None = None) -> NDArray[np.float64]:
        """The similarity of every one of a list to every one of another (by default, of the list to itself)."""
        both = [*rows, *(rows if columns is None else columns)]
        if not both:
            return np.empty((0, 0))
        array = self._array_of(both)
        return np.clip(cosines(array[: len(rows)], array[len(rows) :]), -1.0, 1.0)

    @overload
    def neighbours(
        self, query: list[Any], top: int = 10, common: int | None = None
    ) -> list[Results[Neighbour] | Failed]: ...
    @overload
    def neighbours(self, query: Query, top: int = 10, common: int | None = None) -> Results[Neighbour]: ...
    def neighbours(
        self, query: Query | list[Any], top: int = 10, common: int | None = None
    ) -> Results[Neighbour] | list[Results[Neighbour] | Failed]:
        """The words most similar to a word, a phrase or any density matrix; a word is not its own neighbour.

        Args:
            query: one, or a list: one answer each, in order, :class:`~polysema.errors.Failed` where there is none. A
                list is far quicker than one by one.
            common: look among this many of the most frequent words only, where counts are known; by default among all.
        """
        if top < 0:
            raise InputError(f"top is how many neighbours to give, not {top}")
        if not isinstance(query, list):
            own = self._stand_ins(query, top, common)
            return nearest(self, self._array_of([query]), top, common, [query])[0] if own is None else own
        done: dict[int, Results[Neighbour] | Failed] = {}
        meanings: list[Any] = []
        rest: list[int] = []
        for i, item in enumerate(query):
            try:
                if (own := self._stand_ins(item, top, common)) is not None:
                    done[i] = own
                else:
                    meanings.append(self.meaning(item))
                    rest.append(i)
            except PolysemaError as error:
                done[i] = Failed(item, error)
        if rest:
            found = nearest(self, self._array_of(meanings), top, common, [query[i] for i in rest])
            done |= dict(zip(rest, found, strict=True))
        return [done[i] for i in range(len(query))]

    def _stand_ins(self, query: Query, top: int, common: int | None) -> Results[Neighbour] | None:
        """The neighbours of what lives in a space of its own; None for all else."""
        return None

    def _compare(self, a: Any, b: Any) -> Any:
        return measures.similarity(a, b) if self.kind == "matrices" else cosine(a, b)

    def _array_of(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """The meanings of queries as one array: factors (k, n, m), or vectors (k, n)."""
        words = [query for query in queries if isinstance(query, str) and query in self.vocabulary]
        if len(words) == len(queries):
            return self.stack(words).parts[0]
        found: list[Any] = self.meanings(queries)
        return stack(found).factor if self.kind == "matrices" else np.stack([vector.dense() for vector in found])

    @property
    def _hidden(self) -> Collection[str]:
        """Words that are no neighbours of others."""
        return ()

    def _check(self, rows: NDArray[np.int64]) -> None:
        """Refuse meanings that are zero or not finite, with the word's name."""
        for part in blocks(len(rows)):
            try:
                self._type(self.array[rows[part]])
            except MatrixError:
                self.stack([self.vocabulary.words[row] for row in rows[part].tolist()])
                raise

    def _searched(self, common: int | None) -> tuple[NeighbourIndex, NDArray[np.int64]]:
        """The words to search, all or the most frequent, and their rows. The last number of frequent words is kept."""
        counts = self.vocabulary.counts
        size = len(self) if common is None or not counts.any() else min(max(common, 0), len(self))
        if size not in self._indices:
            rows = np.arange(len(self)) if size == len(self) else np.argsort(-counts, kind="stable")[:size]
            rows = np.setdiff1d(rows, [self.vocabulary.find(word) for word in self._hidden])
            self._check(rows)
            index = NeighbourIndex(self.array if len(rows) == len(self) else self.array[rows])
            self._indices = {key: kept for key, kept in self._indices.items() if key == len(self)}
            self._indices[size] = index, rows
        return self._indices[size]


def nearest(
    model: Meanings[M], array: NDArray[np.float64], top: int, common: int | None = None, asked: Sequence[Any] = ()
) -> list[Results[Neighbour]]:
    """The words most similar to each of some meanings, factors (k, n, m) or vectors (k, n).

    Args:
        asked: what was asked for each; a word is not its own neighbour.
    """
    if array.shape[1] != model.n:
        raise InputError(f"a query of dimension {array.shape[1]} is not comparable with words of dimension {model.n}")
    index, rows = model._searched(common)
    where = rows[index.top(array, top + 1)[0]]
    exact = np.asarray(model._compare(model._type(array[:, None]), model._type(model.array[where])))
    own = [model.vocabulary.find(query) if isinstance(query, str) else -1 for query in asked] or [-1] * len(array)
    exact[where == np.asarray(own)[:, None]] = -np.inf  # last, and cut off
    order = np.argsort(-exact, axis=1, kind="stable")
    where, exact = np.take_along_axis(where, order, 1), np.take_along_axis(exact, order, 1)
    words = model.vocabulary.words
    return [
        Results([Neighbour(words[i], s) for i, s in zip(near, scores, strict=True) if s > -np.inf][:top])
        for near, scores in zip(where.tolist(), exact.tolist(), strict=True)
    ]


Matrices = Meanings[DensityMatrix]  # words and their density matrices


def from_matrices(words: Vocabulary | Iterable[str], matrices: ArrayLike, tolerance: float | None = None) -> Matrices:
    """Words with dense matrices (V, n, n): symmetric, positive, of any trace.

    Args:
        tolerance: how far entries may be off, see :meth:`DensityMatrix.from_matrix`.
    """
    vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words)
    array = np.asarray(matrices)
    if array.ndim != 3 or len(array) != len(vocabulary):
        raise InputError(f"{len(vocabulary)} words and matrices of shape {array.shape}: give (words, n, n)")
    factors = factorise(array, vocabulary.words, tolerance)
    numbers = factors.astype(array.dtype if array.dtype.kind == "f" else np.float64)
    return Meanings(vocabulary, numbers, parts=Parts(columns="eigen"))
