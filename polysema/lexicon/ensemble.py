"""Several lexicons as one model: an ensemble, such as the seeds of one configuration.

Spaces of separately trained models share no axes, so their matrices cannot be averaged; what can be is everything that
is asked of them. With members i = 1…k

    similarity(a, b) = 1/k Σᵢ similarityᵢ(a, b),        entropy(a) = 1/k Σᵢ Sᵢ(a),

for words and for phrases, which each member composes in its own space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composition, Meaning, Step
from polysema.composition.methods import Method
from polysema.composition.phrases import Phrase, Read, is_text
from polysema.composition.trees import LeftOut, Tree
from polysema.errors import InputError, PolysemaError
from polysema.lexicon.lexicon import COMMON, Lexicon, Neighbour, Query, Sense, _cosines_to
from polysema.lexicon.neighbours import blocks
from polysema.vocabulary import Vocabulary

_QUERIES = 64  # queries whose similarity to every word is held at a time


class Ensemble(Lexicon):
    """Lexicons of one kind, asked together; its words are those that all members know.

    Args:
        members: the lexicons; ensembles among them give their own members.
        metadata: what is known of its making.

    Attributes:
        members: the lexicons.
        factors: those of the first member, for their sizes only.

    >>> rng = np.random.default_rng(0)
    >>> seeds = [Lexicon(["run", "move"], rng.normal(size=(2, 3, 2))) for _ in range(4)]
    >>> both = Ensemble(seeds)
    >>> bool(np.isclose(both.similarity("run", "move"), np.mean([s.similarity("run", "move") for s in seeds])))
    True
    """

    members: list[Lexicon]

    def __init__(self, members: Sequence[Lexicon], metadata: Mapping[str, Any] | None = None) -> None:
        found: list[Lexicon] = []
        for member in members:
            found += member.members if isinstance(member, Ensemble) else [member]
        if not found:
            raise InputError("an ensemble needs at least one lexicon")
        kinds = {member.kind for member in found}
        if len(kinds) > 1:
            raise InputError("an ensemble holds matrices or vectors, not both: its members differ")
        self.members = found
        first = found[0]
        common = [word for word in first if all(word in member for member in found[1:])]
        if not common:
            raise InputError("the members of the ensemble have no word in common")
        if len(common) == len(first):
            vocabulary, factors = first.vocabulary, first.factors
        else:
            rows = [first.vocabulary.index(word) for word in common]
            vocabulary, factors = Vocabulary(common, first.vocabulary.counts[rows]), first.factors[rows]
        super().__init__(vocabulary, factors, columns=first.columns, metadata=metadata)

    def __repr__(self) -> str:
        return f"Ensemble({len(self.members)} members, {len(self)} words, {self.kind})"

    def __getitem__(self, word: str) -> NoReturn:
        """No single density matrix stands for a word: an error that says so."""
        self.vocabulary.index(word)
        raise InputError(f"{word!r}: an ensemble has no single density matrix for a word: ask one of its members")

    def stack(self, words: Sequence[str]) -> NoReturn:
        """As for a single word: an error."""
        raise InputError("an ensemble has no single density matrix for a word: ask one of its members")

    def meaning(self, query: Query) -> Meaning:
        """As for a single word: an error."""
        raise InputError("an ensemble has no single density matrix for a word or a phrase: ask one of its members")

    # ---------------------------------------------------------------------------------------------------- comparison

    def similarity(self, a: Query, b: Query) -> float:
        """The mean of the members' similarities."""
        found = [
            member.similarity(x, y) for member, x, y in zip(self.members, self._asked(a), self._asked(b), strict=True)
        ]
        return float(np.mean(found))

    def similarities(self, rows: Sequence[Query], columns: Sequence[Query] | None = None) -> NDArray[np.float64]:
        """The similarity of every one of a list to every one of another, by default to itself."""
        left, right = self._asked_of(rows), self._asked_of(rows if columns is None else columns)
        tables = [member.similarities(a, b) for member, a, b in zip(self.members, left, right, strict=True)]
        return np.asarray(np.mean(tables, axis=0))

    def neighbours_of(
        self, queries: Sequence[Query], top: int = 10, common: int | None = None
    ) -> list[list[Neighbour]]:
        """The words with the highest mean similarity to each query; a word is not its own neighbour."""
        if top < 0:
            raise InputError(f"top is how many neighbours to give, not {top}")
        found: list[list[Neighbour]] = []
        for some in blocks(len(queries), _QUERIES):
            found += self._nearest(queries[some], min(top, len(self)), common)
        return found

    def _nearest(self, queries: Sequence[Query], top: int, common: int | None) -> list[list[Neighbour]]:
        arrays = [member._array(asked) for member, asked in zip(self.members, self._asked_of(queries), strict=True)]
        total = np.zeros((len(queries), len(self)))
        for member, rows, asked in zip(self.members, self._rows, arrays, strict=True):
            index, _ = member._index(None)
            total += index.scores(index.pack(asked), len(asked))[:, rows]
        if common is not None and self.vocabulary.counts.any():
            total[:, np.argsort(-self.vocabulary.counts, kind="stable")[common:]] = -np.inf
        for i, query in enumerate(queries):
            if isinstance(query, str) and query in self:
                total[i, self.vocabulary.index(query)] = -np.inf
        near = np.argsort(-total, axis=1, kind="stable")[:, : top + 1]  # single precision; one more, to be sure
        exact = np.mean(
            [
                _cosines_to(asked, member.factors[rows[near]])
                for member, rows, asked in zip(self.members, self._rows, arrays, strict=True)
            ],
            axis=0,
        )
        exact[np.isneginf(np.take_along_axis(total, near, 1))] = -np.inf
        order = np.argsort(-exact, axis=1, kind="stable")
        words = self.vocabulary.words
        return [
            [Neighbour(words[near[i, j]], float(exact[i, j])) for j in order[i] if exact[i, j] > -np.inf][:top]
            for i in range(len(queries))
        ]

    @cached_property
    def _rows(self) -> list[NDArray[np.int64]]:
        """Where each member keeps the common words."""
        return [np.array([member.vocabulary.indices[word] for word in self]) for member in self.members]

    def _asked(self, query: Query) -> list[Query]:
        """A query as each member understands it."""
        if isinstance(query, EnsembleComposition):
            if len(query.members) != len(self.members):
                raise InputError(f"{query.phrase!r} was composed by another ensemble")
            return list(query.members)
        if isinstance(query, str) and is_text(query) and query not in self:
            return list(self.compose(query).members)
        if isinstance(query, str) and "(" not in query:
            self.vocabulary.index(query)
        if not isinstance(query, str | Tree):
            raise InputError("an ensemble is asked about words, phrases in brackets or what it composed itself")
        return [query] * len(self.members)

    def _asked_of(self, queries: Sequence[Query]) -> list[list[Query]]:
        """Queries as each member understands them, member by member."""
        return [list(column) for column in zip(*map(self._asked, queries), strict=True)] or [[] for _ in self.members]

    # ------------------------------------------------------------------------------------------------------ ambiguity

    def entropy(self, query: Query) -> float:
        """The mean of the members' entropies."""
        return float(np.mean([m.entropy(asked) for m, asked in zip(self.members, self._asked(query), strict=True)]))

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """The mean entropy of every word, (V,)."""
        found = [member.entropies[rows] for member, rows in zip(self.members, self._rows, strict=True)]
        return np.asarray(np.mean(found, axis=0))

    def senses(self, word: str, top: int = 10, min_weight: float = 0.01, common: int | None = COMMON) -> list[Sense]:
        """Senses belong to one space: an error that says so."""
        return list(self.sense_vectors(word))

    def sense_vectors(self, word: str, min_weight: float = 0.01) -> NoReturn:
        """As for the senses: an error."""
        raise InputError(f"{word!r}: the senses of separately trained models do not match up: ask one of the members")

    # ---------------------------------------------------------------------------------------------------- composition

    def compose(self, phrase: Phrase, method: str = "", pattern: str | None = None) -> EnsembleComposition:
        """Compose a phrase in every member."""
        composed = super().compose(phrase, method, pattern)
        assert isinstance(composed, EnsembleComposition)
        return composed

    def _composed(self, read: Read, method: Method) -> Composition | PolysemaError:
        try:
            members = [member.compose(read.tree, method.name) for member in self.members]
        except PolysemaError as error:
            return error
        return EnsembleComposition(members, read.left_out)

    # --------------------------------------------------------------------------------------------------------- on disk

    def save(self, path: str | Path, *, dtype: str = "float32", overwrite: bool = False) -> None:
        """Write a folder with all members in it, which ``polysema.load`` opens."""
        super().save(path, dtype=dtype, overwrite=overwrite)

    def to_gensim(self) -> NoReturn:
        """As for a single word: an error."""
        raise InputError("an ensemble has no single matrix for a word that gensim could hold: convert its members")


@dataclass(frozen=True, slots=True)
class EnsembleStep(Step):
    """A node of a phrase, with the entropy of each member there."""

    entropies: tuple[float, ...] = ()

    @property
    def entropy(self) -> float | None:
        """The mean of the members' entropies; None for vectors."""
        return float(np.mean(self.entropies)) if self.entropies else None


class EnsembleComposition(Composition):
    """A phrase as every member of an ensemble composes it.

    Attributes:
        members: the members' compositions.
        meaning: the first member's; there is none for the ensemble.
    """

    def __init__(self, members: Sequence[Composition], left_out: tuple[LeftOut, ...] = ()) -> None:
        self.members = list(members)
        self.tree = members[0].tree
        self.method = members[0].method
        self.meaning = members[0].meaning
        self.left_out = left_out

    @property
    def entropy(self) -> float | None:
        """The mean of the members' entropies; None for vectors."""
        found = [member.entropy for member in self.members if member.entropy is not None]
        return float(np.mean(found)) if found else None

    @property
    def steps(self) -> list[Step]:
        """Every node of the tree from the root down, with the mean entropy."""
        steps = []
        for step, *others in zip(*(member.steps for member in self.members), strict=True):
            known = tuple(s.entropy for s in (step, *others) if s.entropy is not None)
            steps.append(EnsembleStep(step.tree, step.phrase, step.meaning, step.path, known))
        return list(steps)
