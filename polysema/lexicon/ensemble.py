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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composed, Composer, Composition, Kind
from polysema.composition.phrases import Read, is_text
from polysema.composition.trees import LeftOut, Tree
from polysema.errors import InputError
from polysema.lexicon.ambiguity import Ranking
from polysema.lexicon.lexicon import AnyLexicon, with_matrices
from polysema.lexicon.model import Model, Query, Ranked, Recall
from polysema.lexicon.neighbours import blocks
from polysema.lexicon.results import Neighbour, Results
from polysema.vocabulary import Vocabulary

_QUERIES = 64  # queries whose similarity to every word is held at a time


class Ensemble(Model["EnsembleComposition"], Ranked):
    """Lexicons of one kind, asked together; its words are those that all members know.

    An ensemble has no density matrix and no senses of a word: those belong to the space of one member.

    Args:
        members: the lexicons; ensembles among them give their own members.
        metadata: what is known of its making.

    Attributes:
        members: the lexicons.
        vocabulary: the words that all members know, with the counts of the first.

    >>> from polysema.lexicon.lexicon import Lexicon
    >>> rng = np.random.default_rng(0)
    >>> seeds = [Lexicon(["run", "move"], rng.normal(size=(2, 3, 2))) for _ in range(4)]
    >>> both = Ensemble(seeds)
    >>> bool(np.isclose(both.similarity("run", "move"), np.mean([s.similarity("run", "move") for s in seeds])))
    True
    """

    def __init__(self, members: Sequence[AnyLexicon | Ensemble], metadata: Mapping[str, Any] | None = None) -> None:
        self.members: list[AnyLexicon] = []
        for member in members:
            self.members += member.members if isinstance(member, Ensemble) else [member]
        if not self.members:
            raise InputError("an ensemble needs at least one lexicon")
        if len({member.kind for member in self.members}) > 1:
            raise InputError("an ensemble holds matrices or vectors, not both: its members differ")
        self.vocabulary = _common(self.members)
        self.metadata: dict[str, Any] = dict(metadata or {})

    @property
    def kind(self) -> Kind:
        """Whether its members hold density matrices or vectors."""
        return self.members[0].kind

    @property
    def methods(self) -> Mapping[str, Composer]:
        """The ways to compose that its members offer, by name."""
        return self.members[0].methods

    def __repr__(self) -> str:
        return f"Ensemble({len(self.members)} members, {len(self)} words, {self.kind})"

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

    def _nearest(self, queries: Sequence[Query], top: int, common: int | None) -> list[Results[Neighbour]]:
        found: list[Results[Neighbour]] = []
        for some in blocks(len(queries), _QUERIES):
            found += self._highest(queries[some], min(top, len(self)), common)
        return found

    def _highest(self, queries: Sequence[Query], top: int, common: int | None) -> list[Results[Neighbour]]:
        """The words with the highest mean similarity to each of a block of queries."""
        arrays = [member.asked(asked) for member, asked in zip(self.members, self._asked_of(queries), strict=True)]
        total = np.zeros((len(queries), len(self)))
        for member, rows, asked in zip(self.members, self._rows, arrays, strict=True):
            index = member.neighbour_index
            total += index.scores(index.pack(asked), len(asked))[:, rows]
        if common is not None and self.vocabulary.counts.any():
            total[:, np.argsort(-self.vocabulary.counts, kind="stable")[common:]] = -np.inf
        for i, query in enumerate(queries):
            own = self.vocabulary.find(query) if isinstance(query, str) else -1
            if own >= 0:
                total[i, own] = -np.inf
        near = np.argsort(-total, axis=1, kind="stable")[:, : top + 1]  # single precision; one more, to be sure
        exact = np.mean(
            [
                member.similarities_to(asked, rows[near])
                for member, rows, asked in zip(self.members, self._rows, arrays, strict=True)
            ],
            axis=0,
        )
        exact[np.isneginf(np.take_along_axis(total, near, 1))] = -np.inf
        order = np.argsort(-exact, axis=1, kind="stable")
        words = self.vocabulary.words
        return [
            Results([Neighbour(words[near[i, j]], float(exact[i, j])) for j in order[i] if exact[i, j] > -np.inf][:top])
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
        asked = zip(self.members, self._asked(query), strict=True)
        return float(np.mean([with_matrices(member, "entropy").entropy(own) for member, own in asked]))

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """The mean entropy of every word, (V,)."""
        known = zip(self.members, self._rows, strict=True)
        return np.asarray(np.mean([with_matrices(m, "entropy").entropies[rows] for m, rows in known], axis=0))

    @cached_property
    def ranking(self) -> Ranking:
        """How ambiguous every word is, by mean entropy."""
        return Ranking(self.vocabulary, self.entropies)

    # ---------------------------------------------------------------------------------------------------- composition

    def composer(self, method: str | Composer = "") -> Composer:
        """The composer of a name, by default the usual one; one that works on the other kind is an error."""
        return self.members[0].composer(method)

    def _composed(self, read: Read, composer: Composer, recall: Recall | None) -> EnsembleComposition:
        members = tuple(member._composed(read, composer, recall) for member in self.members)
        return EnsembleComposition(read.tree, composer.name, members, read.left_out)


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleComposition(Composed):
    """A phrase as every member of an ensemble composes it; its entropies are the means of theirs.

    Attributes:
        tree: the phrase as a tree.
        method: the name of the composition method.
        members: the members' compositions, each with a meaning in its own space.
        left_out: the words of a sentence that are not in the tree, and why.
    """

    tree: Tree
    method: str
    members: tuple[Composition, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def entropy(self) -> float | None:
        """The mean of the members' entropies; None for vectors."""
        return self.entropy_at("")

    def entropy_at(self, path: str) -> float | None:
        """The same of the node at the end of a path."""
        found = [member.entropy_at(path) for member in self.members]
        known = [entropy for entropy in found if entropy is not None]
        return float(np.mean(known)) if known else None


def _common(members: Sequence[AnyLexicon]) -> Vocabulary:
    """The words that all members know, with the counts of the first."""
    first, *others = members
    common = [word for word in first if all(word in member for member in others)]
    if not common:
        raise InputError("the members of the ensemble have no word in common")
    if len(common) == len(first):
        return first.vocabulary
    return Vocabulary(common, first.vocabulary.counts[[first.vocabulary.indices[word] for word in common]])
