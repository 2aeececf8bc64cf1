"""Words with their meanings: look up, compare, find neighbours, tell senses apart, compose.

There are two kinds, with one interface (:class:`LexiconOf`): a :class:`Lexicon` holds density matrices, a
:class:`VectorLexicon` the vectors of the baselines. Entropy and senses belong to density matrices.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema import measures
from polysema.composition.compose import Composer, Composition, Kind, Meaning
from polysema.composition.methods import CONTEXTUAL, METHODS, SLOTS, VECTOR_METHODS, method_named
from polysema.composition.phrases import Read, is_word
from polysema.density import DensityMatrix, factorise, stack
from polysema.errors import Failed, InputError, MatrixError
from polysema.lexicon.model import Model, Query, Ranked, Recall
from polysema.meanings.ambiguity import Ranking
from polysema.meanings.descriptions import SenseDescription, SenseDescriptions
from polysema.meanings.neighbours import NeighbourIndex, blocks, cosines
from polysema.meanings.parts import (
    PARTS_OF_SPEECH,
    SLOT_COLUMNS,
    ContextModel,
    EncoderPart,
    Information,
    Inventory,
    PartOfSpeech,
    SenseClusters,
    SlotFillers,
    Speech,
)
from polysema.meanings.results import InContext, Neighbour, Results, Sense
from polysema.registry import provider
from polysema.vectors import Vector, cosine
from polysema.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polysema.composition.phrases import SpacyParse
    from polysema.senses.disambiguation import Context, Disambiguation, Word

Columns = Literal["senses", "eigen"]
M = TypeVar("M", DensityMatrix, Vector)

COMMON = 10_000
"""How many of the most frequent words the names of senses are taken from."""


class LexiconOf(Model[Composition], Generic[M]):
    """What lexicons of matrices and of vectors have in common.

    Attributes:
        vocabulary: the words, with their counts.
        array: (V, n, m), the factors of density matrices, or (V, n), vectors.
        contexts: what each word predicts where it is the context, (V, n) or (V, n, m); None where it is not known.
        metadata: what is known of the model's making.
        kind: ``matrices`` or ``vectors``.
    """

    kind: ClassVar[Kind]
    _type: type[M]

    def __init__(
        self,
        words: Vocabulary | Iterable[str],
        array: ArrayLike,
        metadata: Mapping[str, Any] | None,
        contexts: NDArray[Any] | None,
    ) -> None:
        self.vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words)
        given = array if isinstance(array, np.ndarray) else np.asarray(array)
        self.array: NDArray[Any] = given
        if given.dtype not in (np.float16, np.float32, np.float64):
            self.array = given.astype(np.float64)
        if len(given) != len(self.vocabulary) or 0 in given.shape[1:]:
            raise InputError(f"{len(self.vocabulary)} words and an array of shape {given.shape}: give a row a word")
        if contexts is not None and (contexts.ndim not in (2, 3) or contexts.shape[:2] != self.array.shape[:2]):
            raise InputError(f"context vectors of shape {contexts.shape}: give {self.array.shape[:2]}, a row a word")
        self.contexts = contexts
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._common: tuple[int, NeighbourIndex, NDArray[np.int64]] | None = None

    # ------------------------------------------------------------------------------------------------------- look-up

    @property
    def n(self) -> int:
        """The dimension of the space."""
        return int(self.array.shape[1])

    @property
    def default_method(self) -> str:
        """How phrases are composed where no method is named."""
        return "add"

    @abstractmethod
    def _compare(self, a: M, b: M) -> Any:
        """The similarity of two meanings, or of stacks of them."""

    @abstractmethod
    def _stacked(self, meanings: Sequence[M]) -> NDArray[np.float64]:
        """Single meanings as one array, (k, n, m) or (k, n)."""

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
        found: Meaning
        if isinstance(query, DensityMatrix | Vector):
            found = query
        elif isinstance(query, str) and (query in self or is_word(query)):
            return self[query]
        elif isinstance(query, Composition | InContext):
            found = query.meaning
        else:
            found = self.compose(query).meaning
        if not isinstance(found, self._type):
            raise InputError(f"this lexicon holds {self.kind}, the query is a {type(found).__name__}")
        return found

    # ---------------------------------------------------------------------------------------------------- comparison

    def similarity(self, a: Query, b: Query) -> float:
        """tr(ρσ) / √(tr ρ² · tr σ²) of two words or phrases; the cosine, for vectors."""
        return float(self._compare(self.meaning(a), self.meaning(b)))

    def similarities(self, rows: Sequence[Query], columns: Sequence[Query] | None = None) -> NDArray[np.float64]:
        """The similarity of every one of a list to every one of another (by default, of the list to itself)."""
        both = [*rows, *(rows if columns is None else columns)]
        if not both:
            return np.empty((0, 0))
        array = self.asked(both)
        return np.clip(cosines(array[: len(rows)], array[len(rows) :]), -1.0, 1.0)

    def _nearest(self, queries: Sequence[Query], top: int, common: int | None) -> list[Results[Neighbour]]:
        asked = self.asked(queries)
        if asked.shape[1] != self.n:
            raise InputError(
                f"a query of dimension {asked.shape[1]} is not comparable with words of dimension {self.n}"
            )
        index, rows = self._searched(common)
        where = rows[index.top(asked, top + 1)[0]]
        exact = self.similarities_to(asked, where)
        own = [self.vocabulary.find(query) if isinstance(query, str) else -1 for query in queries]
        exact[where == np.asarray(own)[:, None]] = -np.inf  # last, and cut off
        order = np.argsort(-exact, axis=1, kind="stable")
        where, exact = np.take_along_axis(where, order, 1), np.take_along_axis(exact, order, 1)
        words = self.vocabulary.words
        return [
            Results([Neighbour(words[i], s) for i, s in zip(near, scores, strict=True) if s > -np.inf][:top])
            for near, scores in zip(where.tolist(), exact.tolist(), strict=True)
        ]

    def asked(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """What the queries mean as one array: factors (k, n, m), or vectors (k, n)."""
        words = [query for query in queries if isinstance(query, str) and query in self.vocabulary]
        if len(words) == len(queries):
            return self.stack(words).parts[0]
        return self._stacked([self.meaning(query) for query in queries])

    def similarities_to(self, asked: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The similarity of each query, (q, n, m) or (q, n), to words of its own, by their rows (q, k)."""
        return np.asarray(self._compare(self._type(asked[:, None]), self._type(self.array[rows])))

    @cached_property
    def neighbour_index(self) -> NeighbourIndex:
        """All words, ready to be searched; what is not finite or zero is refused, with the word's name."""
        for part in blocks(len(self)):
            self._check(np.arange(part.start, part.stop))
        return NeighbourIndex(self.array)

    def _check(self, rows: NDArray[np.int64]) -> None:
        """Refuse what is not finite or zero, with the word's name."""
        try:
            self._type(self.array[rows])
        except MatrixError:
            self.stack([self.vocabulary.words[row] for row in rows.tolist()])
            raise

    def _searched(self, common: int | None) -> tuple[NeighbourIndex, NDArray[np.int64]]:
        """The words to search, all or the most frequent, and their rows. The last number of frequent words is kept."""
        counts = self.vocabulary.counts
        size = len(self) if common is None or not counts.any() else min(max(common, 0), len(self))
        if size == len(self):
            return self.neighbour_index, np.arange(size)
        if self._common is None or self._common[0] != size:
            rows = np.sort(np.argsort(-counts, kind="stable")[:size])
            for part in blocks(size):
                self._check(rows[part])
            self._common = size, NeighbourIndex(self.array[rows]), rows
        return self._common[1:]

    # ---------------------------------------------------------------------------------------------------- composition

    def _composed(self, read: Read, composer: Composer, recall: Recall | None) -> Composition:
        return composer.compose(self, read if recall is None else recall(self, read, composer))

    def composer(self, method: str | Composer = "") -> Composer:
        """The composer of a name, by default the usual one; one that works on the other kind is an error."""
        if isinstance(method, str):
            return method_named(method or self.default_method, self.methods)
        if method.on != self.kind:
            raise InputError(f"{method.name} works on {method.on}: this lexicon holds {self.kind}")
        return method

    # --------------------------------------------------------------------------------------------------------- on disk

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Write the lexicon to ``user/name`` of the Hugging Face hub, with its card; ``ps.load("hf://user/name")``.

        For the options see :func:`polysema.integrations.hub.push_to_hub`.
        """
        return str(provider("push to hub")(self, name, **options))

    def to_gensim(self, *, senses: bool = False, words: int | None = None) -> Any:
        """gensim ``KeyedVectors``, counts included: the vectors, or the n×n matrices flattened to n² numbers.

        The cosine of two flattened matrices is their trace similarity, so every gensim tool works on them.

        Args:
            senses: whether each sense has a key of its own beside the word's: ``bank#2``.
            words: take this many of the most frequent words only: n² numbers a word are many.
        """
        from polysema.lexicon.formats.flat import most_frequent, to_gensim, with_senses

        if senses:
            return to_gensim(with_senses(with_matrices(self, "a key for every sense"), words))
        return to_gensim(known(self) if words is None else most_frequent(known(self), words))


class VectorLexicon(LexiconOf[Vector]):
    """Words and their vectors.

    Args:
        words: the vocabulary, or the words alone.
        vectors: (V, n), of any length.
        metadata: what is known of the model's making: anything that JSON can hold.
        contexts: the context vectors, (V, n).

    >>> vectors = VectorLexicon(["run", "walk", "bank"], [[1, 0.2], [1, 0], [0, 1]])
    >>> vectors.neighbours("run", 1)
    [Neighbour('walk', 0.981)]
    """

    kind = "vectors"
    _type = Vector

    def __init__(
        self,
        words: Vocabulary | Iterable[str],
        vectors: ArrayLike,
        *,
        metadata: Mapping[str, Any] | None = None,
        contexts: NDArray[Any] | None = None,
    ) -> None:
        super().__init__(words, vectors, metadata, contexts)
        if self.array.ndim != 2:
            raise InputError(f"vectors of shape {self.array.shape}: give (words, n)")

    @property
    def vectors(self) -> NDArray[Any]:
        """(V, n), a row a word."""
        return self.array

    @property
    def methods(self) -> Mapping[str, Composer]:
        """The methods for vectors."""
        return VECTOR_METHODS

    def _compare(self, a: Vector, b: Vector) -> Any:
        return cosine(a, b)

    def _stacked(self, meanings: Sequence[Vector]) -> NDArray[np.float64]:
        return np.stack([meaning.dense() for meaning in meanings])

    def __repr__(self) -> str:
        return f"VectorLexicon({len(self)} words, n={self.n})"


class Lexicon(LexiconOf[DensityMatrix], Ranked):
    """Words and their density matrices.

    Args:
        words: the vocabulary, or the words alone.
        factors: (V, n, m), the factor of each word's density matrix, which need not be normalised.
        columns: what the columns of a factor are: the word's ``senses``, as trained, or nothing by themselves, so that
            senses are taken from the ``eigen`` decomposition.
        metadata: what is known of the model's making: anything that JSON can hold.
        contexts: the context vectors, (V, n), or under Word2DM the factors (V, n, m) of the context side.
        norms: the Frobenius norms of the factors as they were trained, (V,).
        encoder: the encoder that the lexicon was made with.
        clusters: clusters of each word's occurrences.
        context_model: how the context vectors tell senses apart; by default as for multi-sense Word2DM.
        information: how ambiguous each word is, by its contexts.
        inventory: which columns are senses; by default all of them.
        speech: the part of speech of each sense.
        descriptions: what the senses look like in use.
        slots: what fills the slots of each word.

    Attributes:
        folder: where it lies on disk; None where it was not read from a folder.

    >>> lexicon = Lexicon(["shiny", "clever", "bright"], [[[1, 0], [0, 0]], [[0, 0], [1, 0]], [[0.8, 0], [0, 0.6]]])
    >>> lexicon.similarity("bright", "shiny") > lexicon.similarity("bright", "clever")
    True
    >>> round(lexicon.entropy("bright"), 3)
    0.653
    """

    kind = "matrices"
    _type = DensityMatrix

    def __init__(
        self,
        words: Vocabulary | Iterable[str],
        factors: ArrayLike,
        *,
        columns: Columns = "senses",
        metadata: Mapping[str, Any] | None = None,
        contexts: NDArray[Any] | None = None,
        norms: NDArray[Any] | None = None,
        encoder: EncoderPart | None = None,
        clusters: SenseClusters | None = None,
        context_model: ContextModel | None = None,
        information: Information | None = None,
        inventory: Inventory | None = None,
        speech: Speech | None = None,
        descriptions: SenseDescriptions | None = None,
        slots: SlotFillers | None = None,
    ) -> None:
        super().__init__(words, factors, metadata, contexts)
        if self.array.ndim != 3:
            raise InputError(
                f"{len(self)} words and an array of shape {self.array.shape}: give factors (words, n, m); "
                "vectors (words, n) make a VectorLexicon"
            )
        if norms is not None and norms.shape != (len(self),):
            raise InputError(f"norms of shape {norms.shape}: give one number a word, ({len(self)},)")
        if norms is not None and not np.isfinite(norms).all():
            raise InputError("norms that are not finite (NaN or infinity)")
        if clusters is not None and (len(clusters.starts) != len(self) + 1 or clusters.vectors.shape[1:] != (self.n,)):
            raise InputError(
                f"{clusters!r} in {clusters.vectors.shape[1:]} dimensions do not fit {len(self)} words in {self.n}"
            )
        if information is not None and information.values.shape != (len(self),):
            raise InputError(f"information of shape {information.values.shape}: give one number a word, ({len(self)},)")
        if inventory is not None:
            shapes = inventory.senses.shape, inventory.weights.shape, inventory.least.shape
            if shapes != ((len(self), self.m), (len(self), self.m), (len(self),)):
                raise InputError(f"an inventory of shapes {shapes} does not fit {len(self)} words of {self.m} columns")
            if inventory.senses.size and not -1 <= inventory.senses.min() <= inventory.senses.max() < self.m:
                raise InputError(f"an inventory with senses that are none of {self.m} columns")
        if speech is not None:
            if speech.tags.shape != (len(self), self.m) or speech.shares.shape != speech.tags.shape:
                raise InputError(f"{speech!r} do not fit {len(self)} words of {self.m} columns")
            if int(np.max(speech.tags, initial=0)) > len(PARTS_OF_SPEECH):
                raise InputError(f"a part of speech that is none of {len(PARTS_OF_SPEECH)}")
        self.columns = columns
        if slots is not None and len(slots.keys):
            rows = int(slots.keys[-1]) // len(slots.names), int(np.max(slots.fillers, initial=0))
            if max(rows) >= len(self) or slots.starts[-1] != len(slots.fillers):
                raise InputError(f"{slots!r} of {max(rows) + 1} words do not fit {len(self)} words")
        self.norms, self.encoder, self.clusters, self.slots = norms, encoder, clusters, slots
        self.context_model, self.information, self.inventory = context_model, information, inventory
        self.speech, self.descriptions = speech, descriptions
        self.folder: Path | None = None

    def with_parts(self, **parts: Any) -> Lexicon:
        """The same lexicon with other parts, by the names of the arguments above."""
        own = {"words": self.vocabulary, "factors": self.array} | {
            name: getattr(self, name)
            for name in (
                "columns", "metadata", "contexts", "norms", "encoder", "clusters",
                "context_model", "information", "inventory", "speech", "descriptions", "slots",
            )
        }  # fmt: skip
        return Lexicon(**{**own, **parts})

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

    @property
    def subsample(self) -> float:
        """The threshold that words were subsampled with when the lexicon was trained; 1e-5 where that is not known."""
        made = self.metadata.get("options", {})
        return float((made.get("subsample") if isinstance(made, dict) else None) or 1e-5)

    @cached_property
    def tokens(self) -> int:
        """How much text the counts of its words add up to."""
        return int(self.vocabulary.counts.sum())

    @property
    def factors(self) -> NDArray[Any]:
        """(V, n, m), the factor of each word's density matrix."""
        return self.array

    @property
    def m(self) -> int:
        """The number of columns of a factor."""
        return int(self.array.shape[2])

    @property
    def methods(self) -> Mapping[str, Composer]:
        """The methods for density matrices; with an encoder ``contextual`` too, with slots ``slots``."""
        found: dict[str, Composer] = dict(METHODS)
        if self.encoder is not None:
            found[CONTEXTUAL.name] = CONTEXTUAL
        if self.slots is not None:
            found |= {composer.name: composer for composer in SLOTS}
        return found

    @cached_property
    def default_method(self) -> str:
        """``phaser``; ``smooth`` where most words are pure states.

        By a pure state ρ = v vᵀ Phaser makes ρ^½ σ ρ^½ ∝ ρ of every σ: the phrase is its functor, whatever it acts on.
        """
        some = self.array[:: max(1, len(self) // 1000)].astype(np.float32)
        columns = (np.einsum("vnm,vnm->vm", some, some) > 0).sum(axis=1)
        return "smooth" if len(some) and np.median(columns) == 1 and self.m > 1 else "phaser"

    def _compare(self, a: DensityMatrix, b: DensityMatrix) -> Any:
        return measures.similarity(a, b)

    def _stacked(self, meanings: Sequence[DensityMatrix]) -> NDArray[np.float64]:
        return stack(meanings).factor

    def __repr__(self) -> str:
        return f"Lexicon({len(self)} words, n={self.n}, m={self.m})"

    # ------------------------------------------------------------------------------------------------------ ambiguity

    def entropy(self, query: Query) -> float:
        """The von Neumann entropy of a word or a phrase."""
        return float(measures.entropy(self.meaning(query)))

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """The von Neumann entropy of every word, (V,)."""
        found = np.empty(len(self))
        for part in blocks(len(self), 8192):
            found[part] = measures.entropy(self.stack(self.vocabulary.words[part]))
        return found

    @cached_property
    def ranking(self) -> Ranking:
        """How ambiguous every word is, by every measure there is, and how it stands among words of like frequency."""
        return Ranking(self.vocabulary, self.entropies, None if self.information is None else self.information.values)

    def senses(self, word: str, top: int = 10, min_weight: float = 0.01, common: int | None = COMMON) -> Results[Sense]:
        """The senses of a word, the weightiest first.

        Args:
            top: how many neighbours to give for each.
            min_weight: leave out senses that weigh less.
            common: take neighbours from this many of the most frequent words; None takes them from all. A sense is a
                pure state, and the words nearest to one are rare: those that were seen in one kind of context only.
        """
        weights, vectors = self.sense_vectors(word, min_weight)
        ids = self.sense_ids(word, min_weight).tolist()
        near = self.sense_names(word, vectors, top, common)
        return Results(
            Sense(
                number,
                weight,
                vector,
                named,
                self.sense_description(word, number),
                *self.sense_part(word, number),
            )
            for number, weight, vector, named in zip(ids, weights.tolist(), vectors, near, strict=True)
        )

    def sense_vectors(self, word: str, min_weight: float = 0.01) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (k,) of a word's senses, falling, and their unit vectors (k, n)."""
        weights, vectors = self._columns_of(word)
        order = _heaviest(weights, min_weight)
        return weights[order], vectors.T[order]

    def sense_ids(self, word: str, min_weight: float = 0.01) -> NDArray[np.int64]:
        """The number of each of those senses, (k,): its column in the word's factor, or its eigenvector."""
        return _heaviest(self._columns_of(word)[0], min_weight)

    def sense_names(
        self, word: str, vectors: NDArray[np.float64], top: int = 10, common: int | None = COMMON
    ) -> list[list[Neighbour]]:
        """The words nearest to each of a word's senses, unit vectors (k, n), without the word itself."""
        own = self.vocabulary.words[self.vocabulary.index(word)]
        near = self.neighbours_of([DensityMatrix(vector[:, None]) for vector in vectors], top + 1, common)
        return [[item for item in items if item.word != own][:top] for items in near]

    def _columns_of(self, word: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (m,) of a word's senses as they are numbered, and their unit vectors as columns (n, m)."""
        meaning = self[word]
        if self.columns == "eigen":
            weights, vectors = meaning.eigen()
        else:
            weights = (meaning.factor**2).sum(axis=0)
            vectors = meaning.factor / np.sqrt(np.where(weights > 0, weights, 1.0))
            if self.inventory is not None:
                weights, vectors = self.inventory.of(self.vocabulary.index(word), vectors) or (weights, vectors)
        return weights, vectors

    def _spelled(self, word: str) -> str:
        """The word as the vocabulary spells it."""
        return self.vocabulary.words[self.vocabulary.index(word)]

    def sense_description(self, word: str, sense: int) -> SenseDescription | None:
        """What a sense looks like in use; None where it was not described."""
        return None if self.descriptions is None else self.descriptions.get(self._spelled(word), {}).get(sense)

    def sense_part(self, word: str, sense: int) -> tuple[PartOfSpeech | None, float | None]:
        """The part of speech of a sense, and its share of the sense's occurrences where that is known."""
        face = self.sense_description(word, sense)
        if face is not None and face.part is not None:
            return face.part, face.part_share
        if self.slots is not None and sense < len(SLOT_COLUMNS):
            return SLOT_COLUMNS[sense], 1.0
        known = None if self.speech is None else self.speech.of(self.vocabulary.index(word), sense)
        return known or (None, None)

    def disambiguate(self, word: Word, context: Context | None = None, **options: Any) -> Disambiguation:
        """Which sense of a word is meant in a context; see :func:`polysema.senses.disambiguation.disambiguate`."""
        from polysema.senses.disambiguation import disambiguate

        return disambiguate(self, word, context, **options)

    def disambiguate_all(
        self, pairs: Iterable[tuple[Word, Context | None] | SpacyParse], **options: Any
    ) -> Results[Disambiguation | Failed]:
        """Many words in their contexts, or Tokens of spaCy: one result each, in the order given."""
        from polysema.senses.disambiguation import disambiguate_all

        return disambiguate_all(self, pairs, **options)

    def disambiguate_every(self, word: str, context: Context, **options: Any) -> Results[Disambiguation]:
        """Which sense is meant at every occurrence of a word in a context, from left to right."""
        from polysema.senses.disambiguation import disambiguate_every

        return disambiguate_every(self, word, context, **options)

    def read(self, text: str | SpacyParse, **options: Any) -> Results[Disambiguation]:
        """Every ambiguous content word of a text with the sense that is meant, from left to right."""
        from polysema.senses.disambiguation import read

        return read(self, text, **options)


AnyLexicon = Lexicon | VectorLexicon
"""A lexicon of either kind."""


def known(lexicon: object) -> AnyLexicon:
    """A lexicon as one of the two kinds."""
    assert isinstance(lexicon, Lexicon | VectorLexicon)
    return lexicon


def with_matrices(model: object, what: str) -> Lexicon:
    """A lexicon of density matrices as itself; for all else an error that says what needs one."""
    if isinstance(model, Lexicon):
        return model
    raise InputError(f"this lexicon holds vectors: {what} needs density matrices")


def _heaviest(weights: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """Which weights are at least this large, the largest first; where none is, all that are not zero."""
    order = np.argsort(-weights, kind="stable")
    return order[weights[order] >= least] if (weights >= least).any() else order[weights[order] > 0]
