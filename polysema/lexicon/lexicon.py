"""A vocabulary with its meanings: look up, compare, find neighbours, tell senses apart, compose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema import measures
from polysema.composition.compose import Composition, Meaning
from polysema.composition.methods import CONTEXTUAL, METHODS, VECTOR_METHODS, Method, method_named
from polysema.composition.phrases import Phrase, Read, is_word, read_phrases
from polysema.composition.trees import Leaf, Tree
from polysema.density import DensityMatrix, factorise, stack
from polysema.errors import InputError, MatrixError, PolysemaError
from polysema.lexicon.neighbours import NeighbourIndex, blocks, cosines
from polysema.vectors import Vector, cosine
from polysema.vocabulary import Vocabulary

Query = str | Tree | Composition | DensityMatrix | Vector
"""What can be asked about: a word, a phrase in brackets or in plain English, a tree, a composition, a density matrix or
a vector."""

Columns = Literal["senses", "eigen"]

COMMON = 10_000
"""Among so many of the most frequent words the names of senses are looked for."""


class Neighbour(NamedTuple):
    """A word and how similar it is."""

    word: str
    similarity: float


class Sense(NamedTuple):
    """One sense of a word.

    Attributes:
        weight: its share of the word's trace; the weights of all senses sum to one.
        vector: its direction, a unit vector (n,).
        neighbours: the words nearest to it.
    """

    weight: float
    vector: NDArray[np.float64]
    neighbours: list[Neighbour]


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """How ambiguous a word is.

    Attributes:
        word: the word.
        entropy: its von Neumann entropy.
        effective_senses: exp of that.
        count: how often the word was seen; 0 where that is not known.
    """

    word: str
    entropy: float
    effective_senses: float
    count: int


class Lexicon:
    """Words and their density matrices, or their vectors.

    Args:
        words: the vocabulary, or the words alone.
        factors: (V, n, m), the factor of each word's density matrix, which need not be normalised; or (V, n), vectors.
        columns: what the columns of a factor are: the word's ``senses``, as trained, or nothing by themselves, so that
            senses are taken from the ``eigen`` decomposition.
        metadata: what is known of the model's making: anything that JSON can hold.
        arrays: further arrays that belong to the model, by name, such as the context vectors.

    >>> lexicon = Lexicon(["shiny", "clever", "bright"], [[[1, 0], [0, 0]], [[0, 0], [1, 0]], [[0.8, 0], [0, 0.6]]])
    >>> lexicon.similarity("bright", "shiny") > lexicon.similarity("bright", "clever")
    True
    >>> round(measures.entropy(lexicon["bright"]), 3)
    0.653
    """

    def __init__(
        self,
        words: Vocabulary | Iterable[str],
        factors: ArrayLike,
        *,
        columns: Columns = "senses",
        metadata: Mapping[str, Any] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words)
        array = factors if isinstance(factors, np.ndarray) else np.asarray(factors)
        if array.dtype not in (np.float16, np.float32, np.float64):
            array = array.astype(np.float64)
        if array.ndim not in (2, 3) or len(array) != len(self.vocabulary) or 0 in array.shape[1:]:
            raise InputError(
                f"{len(self.vocabulary)} words and an array of shape {array.shape}: "
                "give factors (words, n, m) or vectors (words, n)"
            )
        self.factors = array
        self.columns = columns
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.arrays: dict[str, NDArray[Any]] = dict(arrays or {})
        self._indexes: dict[int, tuple[NeighbourIndex, NDArray[np.int64]]] = {}

    @classmethod
    def from_matrices(
        cls, words: Vocabulary | Iterable[str], matrices: ArrayLike, tolerance: float | None = None
    ) -> Lexicon:
        """A lexicon from dense matrices (V, n, n): symmetric, positive, of any trace.

        Args:
            tolerance: how far entries may be off, see :meth:`DensityMatrix.from_matrix`.
        """
        vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words)
        array = np.asarray(matrices)
        if array.ndim != 3 or len(array) != len(vocabulary):
            raise InputError(f"{len(vocabulary)} words and matrices of shape {array.shape}: give (words, n, n)")
        factors = factorise(array, vocabulary.words, tolerance)
        return cls(vocabulary, factors.astype(array.dtype if array.dtype.kind == "f" else np.float64), columns="eigen")

    @classmethod
    def from_gensim(cls, vectors: Any, kind: str = "auto") -> Lexicon:
        """A lexicon from gensim ``KeyedVectors``: vectors, or flattened matrices as :meth:`to_gensim` makes them."""
        from polysema.lexicon.formats.flat import from_rows

        counts = None
        if "count" in getattr(vectors, "expandos", {}):
            counts = vectors.expandos["count"]
        return from_rows(Vocabulary(vectors.index_to_key, counts), vectors.vectors, kind)

    # ------------------------------------------------------------------------------------------------------- look-up

    @property
    def kind(self) -> Literal["matrices", "vectors"]:
        """Whether the words have density matrices or plain vectors."""
        return "matrices" if self.factors.ndim == 3 else "vectors"

    @property
    def n(self) -> int:
        """The dimension of the space."""
        return int(self.factors.shape[1])

    @property
    def m(self) -> int:
        """The number of columns of a factor; 1 for vectors."""
        return int(self.factors.shape[2]) if self.factors.ndim == 3 else 1

    @property
    def methods(self) -> dict[str, Method]:
        """The composition methods this lexicon offers, by name."""
        if self.kind == "vectors":
            return VECTOR_METHODS
        return {**METHODS, CONTEXTUAL.name: CONTEXTUAL} if "encoder" in self.metadata else METHODS

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __getitem__(self, word: str) -> Meaning:
        """The word's density matrix, or vector."""
        row = self.factors[self.vocabulary.index(word)]
        return DensityMatrix(row, word) if self.kind == "matrices" else Vector(row, word)

    def stack(self, words: Sequence[str]) -> Meaning:
        """The density matrices (or vectors) of many words as one stack."""
        rows = self.factors[[self.vocabulary.index(word) for word in words]]
        try:
            return DensityMatrix(rows) if self.kind == "matrices" else Vector(rows)
        except MatrixError:
            for word in words:
                self[word]  # one of these raises, with the word's name
            raise

    def meaning(self, query: Query) -> Meaning:
        """The density matrix (or vector) of anything that can be asked about."""
        if isinstance(query, DensityMatrix | Vector):
            if isinstance(query, DensityMatrix) != (self.kind == "matrices"):
                raise InputError(f"this lexicon holds {self.kind}, the query is a {type(query).__name__}")
            return query
        if isinstance(query, str) and (query in self or is_word(query)):
            return self[query]
        return (query if isinstance(query, Composition) else self.compose(query)).meaning

    def _repr_html_(self) -> str:
        from polysema.notebook import lexicon_html

        return lexicon_html(self)

    def __repr__(self) -> str:
        size = f"n={self.n}, m={self.m}" if self.kind == "matrices" else f"n={self.n}"
        return f"Lexicon({len(self)} words, {self.kind}, {size})"

    # ---------------------------------------------------------------------------------------------------- comparison

    def similarity(self, a: Query, b: Query) -> float:
        """tr(ρσ) / √(tr ρ² · tr σ²) of two words or phrases; the cosine, for vectors."""
        first, second = self.meaning(a), self.meaning(b)
        if isinstance(first, DensityMatrix) and isinstance(second, DensityMatrix):
            return float(measures.similarity(first, second))
        assert isinstance(first, Vector)
        assert isinstance(second, Vector)
        return float(cosine(first, second))

    def similarities(self, rows: Sequence[Query], columns: Sequence[Query] | None = None) -> NDArray[np.float64]:
        """The similarity of every one of a list to every one of another (by default, of the list to itself)."""
        both = [*rows, *(rows if columns is None else columns)]
        if not both:
            return np.empty((0, 0))
        array = self._array(both)
        return np.clip(cosines(array[: len(rows)], array[len(rows) :]), -1.0, 1.0)

    def neighbours(self, query: Query, top: int = 10, common: int | None = None) -> list[Neighbour]:
        """The words most similar to a word, a phrase or any density matrix; a word is not its own neighbour.

        Args:
            common: look among so many of the most frequent words only, where counts are known; by default among all.
        """
        return self.neighbours_of([query], top, common)[0]

    def neighbours_of(
        self, queries: Sequence[Query], top: int = 10, common: int | None = None
    ) -> list[list[Neighbour]]:
        """The words most similar to each of many queries: far quicker than one by one."""
        if top < 0:
            raise InputError(f"top is how many neighbours to give, not {top}")
        if not queries:
            return []
        asked = self._array(queries)
        if asked.shape[1] != self.n:
            raise InputError(
                f"a query of dimension {asked.shape[1]} is not comparable with words of dimension {self.n}"
            )
        index, rows = self._index(common)
        where = rows[index.top(asked, top + 1)[0]]
        exact = _cosines_to(asked, self.factors[where])
        own = [self.vocabulary.indices.get(query, -1) if isinstance(query, str) else -1 for query in queries]
        exact[where == np.asarray(own)[:, None]] = -np.inf  # last, and cut off
        order = np.argsort(-exact, axis=1, kind="stable")
        where, exact = np.take_along_axis(where, order, 1), np.take_along_axis(exact, order, 1)
        words = self.vocabulary.words
        return [
            [Neighbour(words[i], s) for i, s in zip(near, scores, strict=True) if s > -np.inf][:top]
            for near, scores in zip(where.tolist(), exact.tolist(), strict=True)
        ]

    def _array(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """What the queries mean as one array: factors (k, n, m), or vectors (k, n)."""
        words = [query for query in queries if isinstance(query, str) and query in self.vocabulary]
        if len(words) == len(queries):
            return self.stack(words).parts[0]
        meanings = [self.meaning(query) for query in queries]
        matrices = [meaning for meaning in meanings if isinstance(meaning, DensityMatrix)]
        if matrices:
            return stack(matrices).factor
        return np.stack([meaning.dense() for meaning in meanings])

    def _index(self, common: int | None) -> tuple[NeighbourIndex, NDArray[np.int64]]:
        """The words to search, all or the most frequent, and their rows."""
        counts = self.vocabulary.counts
        size = len(self) if common is None or not counts.any() else min(max(common, 0), len(self))
        if size not in self._indexes:
            rows = np.sort(np.argsort(-counts, kind="stable")[:size]) if size < len(self) else np.arange(size)
            for part in blocks(size):  # refuses what is not finite or zero, with the word's name
                self.stack([self.vocabulary.words[row] for row in rows[part]])
            self._indexes[size] = NeighbourIndex(self.factors if size == len(self) else self.factors[rows]), rows
        return self._indexes[size]

    # ------------------------------------------------------------------------------------------------------ ambiguity

    def entropy(self, query: Query) -> float:
        """The von Neumann entropy of a word or a phrase."""
        self._needs_matrices("entropy")
        meaning = self.meaning(query)
        assert isinstance(meaning, DensityMatrix)
        return float(measures.entropy(meaning))

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """The von Neumann entropy of every word, (V,)."""
        self._needs_matrices("entropy")
        found = np.empty(len(self))
        for start in range(0, len(self), 8192):
            words = self.vocabulary.words[start : start + 8192]
            meaning = self.stack(words)
            assert isinstance(meaning, DensityMatrix)
            found[start : start + len(words)] = measures.entropy(meaning)
        return found

    def ambiguity(
        self, words: Iterable[str] | None = None, *, top: int | None = None, min_count: int = 0
    ) -> list[Ambiguity]:
        """Words from the most ambiguous to the least, by von Neumann entropy.

        Args:
            words: which; by default the whole vocabulary.
            top: how many to give; by default all.
            min_count: leave out words seen less often: their entropy says little.
        """
        entropies = self.entropies
        if words is None:
            indices = np.flatnonzero(self.vocabulary.counts >= min_count)
        else:
            indices = np.array([self.vocabulary.index(word) for word in words], dtype=np.int64)
        order = indices[np.argsort(-entropies[indices], kind="stable")][:top]
        return [
            Ambiguity(self.vocabulary.words[i], float(s), float(np.exp(s)), int(self.vocabulary.counts[i]))
            for i, s in zip(order, entropies[order], strict=True)
        ]

    def senses(self, word: str, top: int = 10, min_weight: float = 0.01, common: int | None = COMMON) -> list[Sense]:
        """The senses of a word, the weightiest first.

        Args:
            top: how many neighbours to give for each.
            min_weight: leave out senses that weigh less.
            common: take neighbours from so many of the most frequent words; None takes them from all. A sense is a pure
                state, and the words nearest to one are rare: those that were seen in one kind of context only.
        """
        weights, vectors = self.sense_vectors(word, min_weight)
        near = self.neighbours_of([DensityMatrix(vector[:, None]) for vector in vectors], top + 1, common)
        return [
            Sense(weight, vector, [item for item in items if item.word != word][:top])
            for weight, vector, items in zip(weights.tolist(), vectors, near, strict=True)
        ]

    def sense_vectors(self, word: str, min_weight: float = 0.01) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (k,) of a word's senses, falling, and their unit vectors (k, n)."""
        self._needs_matrices("a list of senses")
        meaning = self[word]
        assert isinstance(meaning, DensityMatrix)
        if self.columns == "senses":
            weights = (meaning.factor**2).sum(axis=0)
            vectors = meaning.factor / np.sqrt(np.where(weights > 0, weights, 1.0))
        else:
            weights, vectors = meaning.eigen()
        order = [i for i in np.argsort(-weights, kind="stable") if weights[i] >= min_weight]
        return weights[order], vectors.T[order]

    def sense_ids(self, word: str, min_weight: float = 0.01) -> NDArray[np.int64]:
        """The number of each of those senses, (k,): its column in the word's factor, or its eigenvector."""
        meaning = self[word]
        assert isinstance(meaning, DensityMatrix)
        weights = (meaning.factor**2).sum(axis=0) if self.columns == "senses" else meaning.eigen()[0]
        return np.array([i for i in np.argsort(-weights, kind="stable") if weights[i] >= min_weight])

    def sense_names(
        self, word: str, vectors: NDArray[np.float64], top: int = 10, common: int | None = COMMON
    ) -> list[list[Neighbour]]:
        """The words nearest to each of a word's senses, unit vectors (k, n), without the word itself."""
        own = self.vocabulary.words[self.vocabulary.index(word)]
        near = self.neighbours_of([DensityMatrix(vector[:, None]) for vector in vectors], top + 1, common)
        return [[item for item in items if item.word != own][:top] for items in near]

    def _needs_matrices(self, what: str) -> None:
        if self.kind != "matrices":
            raise InputError(f"this lexicon holds vectors: {what} needs density matrices")

    # ---------------------------------------------------------------------------------------------------- composition

    def compose(self, phrase: Phrase, method: str = "", pattern: str | None = None) -> Composition:
        """Compose a phrase along its tree.

        Args:
            phrase: a sentence in plain English (needs the extra ``parse``), brackets such as
                ``(bob (likes (old cars)))``, a tree, or words that a pattern gives roles to.
            method: a name in :attr:`methods`; by default ``phaser``, and ``add`` for vectors.
            pattern: the roles of the words, such as ``adj subj verb adj obj``.
        """
        (result,) = self.compose_all([phrase], method, pattern)
        if isinstance(result, PolysemaError):
            raise result
        return result

    def compose_all(
        self, phrases: Iterable[Phrase], method: str = "", pattern: str | None = None
    ) -> list[Composition | PolysemaError]:
        """Compose many phrases, sentences parsed in batches; where one fails, its error stands in its place."""
        chosen = method_named(method or ("phaser" if self.kind == "matrices" else "add"), self.methods)
        return [
            read if isinstance(read, PolysemaError) else self._composed(read, chosen)
            for read in read_phrases(phrases, pattern, self)
        ]

    def _composed(self, read: Read, method: Method) -> Composition | PolysemaError:
        try:
            if method is CONTEXTUAL:
                from polysema.encoders.contextual import compose_in_context

                return compose_in_context(self, read.tree, read.text, read.left_out, read.spans)
            return Composition(read.tree, method, self._meaning_of(), read.left_out)
        except PolysemaError as error:
            return error

    def _meaning_of(self) -> Callable[[Leaf], NDArray[np.float64]]:
        def meaning_of(leaf: Leaf) -> NDArray[np.float64]:
            return self[leaf.word].parts[0]

        return meaning_of

    # --------------------------------------------------------------------------------------------------------- on disk

    def save(self, path: str | Path, *, dtype: str = "float32", overwrite: bool = False) -> None:
        """Write the lexicon; the format follows from the name, a folder where it has no suffix (see ``storage``).

        Args:
            dtype: ``float32`` or ``float16``, for a folder.
            overwrite: whether what is there already may be replaced.
        """
        from polysema.lexicon.formats import write

        write(self, Path(path), dtype=dtype, overwrite=overwrite)

    def to_gensim(self) -> Any:
        """gensim ``KeyedVectors``: the vectors, or the n×n matrices flattened to n² numbers.

        The cosine of two flattened matrices is their trace similarity, so every gensim tool works on them.
        """
        from polysema.lexicon.formats.flat import to_gensim

        return to_gensim(self)


def _cosines_to(asked: NDArray[np.float64], near: NDArray[Any]) -> NDArray[np.float64]:
    """The similarity of each query, (q, n, m) or (q, n), to its own candidates, (q, k, n, m) or (q, k, n)."""
    if asked.ndim == 3:
        return np.asarray(measures.similarity(DensityMatrix(asked[:, None]), DensityMatrix(near)))
    return np.asarray(cosine(Vector(asked[:, None]), Vector(near)))
