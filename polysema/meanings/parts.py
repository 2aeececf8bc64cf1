"""What a lexicon may hold beside its matrices, each part with the names of its arrays on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class EncoderPart:
    """The encoder that a lexicon was made with, and what it takes to read new sentences with it.

    Attributes:
        name: the name of the encoder, or its folder.
        layers: which layers the word vectors were taken from, such as ``last`` or ``1,2``.
        layer_means: (depth + 1, d), the mean vector of each layer; None where they are not known.
        layer_spreads: (depth + 1, d), the standard deviations of the same; None where they are not known.
        projection: (d, n), from the encoder's space to the lexicon's; None where it is not known.
        projection_mean: (d,), what is taken from a vector before it is projected; None where it is not known.
    """

    name: str
    layers: str
    layer_means: NDArray[Any] | None = None
    layer_spreads: NDArray[Any] | None = None
    projection: NDArray[Any] | None = None
    projection_mean: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"EncoderPart({self.name!r}, layers={self.layers!r})"

    def projected(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """The encoder's vectors (k, d) in the lexicon's space, (k, n)."""
        if self.projection is None or self.projection_mean is None:
            raise InputError("this lexicon does not say how its encoder's vectors become its own: make it again")
        return np.asarray((vectors - self.projection_mean) @ self.projection)


@dataclass(frozen=True, eq=False, repr=False)
class SenseClusters:
    """Clusters of each word's occurrences: the senses that a sentence can mean.

    Attributes:
        starts: (V + 1,), where the clusters of each word start.
        counts: (K,), how many occurrences are in each cluster.
        vectors: (K, n), the mean vector of each cluster.
    """

    starts: NDArray[np.int64]
    counts: NDArray[Any]
    vectors: NDArray[Any]

    def of(self, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (k,) of a word's clusters, falling, and their unit vectors (k, n)."""
        own = slice(int(self.starts[row]), int(self.starts[row + 1]))
        counts, vectors = np.asarray(self.counts[own], np.float64), np.asarray(self.vectors[own], np.float64)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        order = np.argsort(-counts, kind="stable")
        return (counts / counts.sum())[order], (vectors / np.where(length > 0, length, 1.0))[order]

    def __repr__(self) -> str:
        return f"SenseClusters({len(self.vectors)} of {len(self.starts) - 1} words)"


@dataclass(frozen=True, eq=False)
class ContextModel:
    """How the context vectors of a lexicon tell the senses of its words apart.

    With v_k the unit vector of sense k, p_k its weight and x_j the context vector of the word at distance j,

        p(k | c) ∝ p_k exp(β s cos(u_k, c)) ,      c = Σ_j g_j a_j x_j ,      s = K / (K + κ)

    Attributes:
        sharpness: β.
        little: κ, with how much evidence K it counts half; 0 counts all evidence in full.
        centred: whether u_k is v_k less the weighted mean of the word's senses; otherwise it is v_k.
        subsampled: whether a_j is the chance that the word survives subsampling, and K the sum of these. Otherwise
            a_j = 1, context vectors say by their length how much they count, and K = |c|.
        distance_weights: (2W,), g at the distances −W … −1, 1 … W; None takes the whole sentence, g = 1.
        flatness: f; in the word's matrix in context, senses weigh p_k (p(k | c) / p_k)^(1/f), scaled to sum to one.
        pull: b; in the word's matrix in context, sense k has the direction v_k + b μ̂, with μ̂ the unit mean of the
            directions of the content words around, rare ones counting more.
    """

    sharpness: float
    little: float = 0.0
    centred: bool = False
    subsampled: bool = False
    distance_weights: NDArray[Any] | None = None
    flatness: float = 1.0
    pull: float = 0.0

    def __post_init__(self) -> None:
        weights = self.distance_weights
        if weights is not None and (weights.ndim != 1 or len(weights) % 2 or not np.isfinite(weights).all()):
            raise InputError(f"distance weights of shape {weights.shape}: give (2W,) numbers, for −W … −1, 1 … W")
        if not (self.sharpness >= 0 and self.little >= 0 and self.flatness > 0 and self.pull >= 0):
            raise InputError(f"sharpness, little, flatness and pull must not be negative: {self!r}")

    @property
    def settings(self) -> dict[str, Any]:
        """All but the array, for JSON."""
        names = ("sharpness", "little", "centred", "subsampled", "flatness", "pull")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False, repr=False)
class Information:
    """How ambiguous each word is: how much of its meaning its contexts tell.

    Attributes:
        values: (V,), not a number where the word was not seen often enough.
        measure: what they are, such as ``holevo``.
    """

    values: NDArray[Any]
    measure: str = "holevo"

    def __repr__(self) -> str:
        return f"Information({self.measure!r}, {int(np.isfinite(self.values).sum())} words)"


@dataclass(frozen=True, eq=False, repr=False)
class Inventory:
    """Which columns of a word's factor are its senses.

    Attributes:
        senses: (V, m), the id of the sense that each column belongs to, which is the first of its columns; −1 for a
            column that no occurrence chooses.
        weights: (V, m), each column's share of the word's occurrences; all zero for words that were not looked at.
        least: (V,), the cosine below which no sense fits a context; −1 where that is not known.
    """

    senses: NDArray[Any]
    weights: NDArray[Any]
    least: NDArray[Any]

    def of(self, row: int, vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The weights (m,) of a word's senses by their ids, and their unit vectors (n, m); None where not known.

        Args:
            vectors: (n, m), the unit columns.
        """
        shares = np.asarray(self.weights[row], np.float64)
        if not np.isfinite(shares).all() or not shares.any():
            return None
        return grouped(np.asarray(self.senses[row], np.int64), shares, vectors)

    def __repr__(self) -> str:
        return f"Inventory({len(self.senses)} words)"


PartOfSpeech = Literal[
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
]  # fmt: skip
"""The parts of speech of Universal Dependencies."""

PARTS_OF_SPEECH: tuple[PartOfSpeech, ...] = get_args(PartOfSpeech)


SLOT_COLUMNS: tuple[PartOfSpeech, ...] = ("NOUN", "VERB", "ADJ")
"""What the columns of a lexicon of slots are."""


@dataclass(frozen=True, eq=False, repr=False)
class Speech:
    """The part of speech of each sense: what most of its occurrences are.

    Attributes:
        tags: (V, m), the place in :data:`PARTS_OF_SPEECH`, from 1, by the sense's id; 0 where it is not known.
        shares: (V, m), how many of the sense's occurrences are that, in percent.
    """

    tags: NDArray[Any]
    shares: NDArray[Any]

    def of(self, row: int, sense: int) -> tuple[PartOfSpeech, float] | None:
        """The part of speech of a sense, and its share of the sense's occurrences; None where that is not known."""
        tag = int(self.tags[row, sense])
        return (PARTS_OF_SPEECH[tag - 1], int(self.shares[row, sense]) / 100) if tag else None

    def __repr__(self) -> str:
        return f"Speech({int((self.tags > 0).sum())} senses of {len(self.tags)} words)"


def grouped(
    owner: NDArray[np.int64], weights: NDArray[np.float64], vectors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns put together: weights (m,) are added, unit vectors (n, m) averaged by weight, at the id of their owner.

    Args:
        owner: (m,), whose a column is; negative: nobody's.
    """
    joined, mean = np.zeros_like(weights), np.zeros_like(vectors)
    for column in np.flatnonzero(owner >= 0):
        joined[owner[column]] += weights[column]
        mean[:, owner[column]] += weights[column] * vectors[:, column]
    length = np.linalg.norm(mean, axis=0)
    return joined / max(joined.sum(), 1e-300), mean / np.where(length > 0, length, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class SlotFillers:
    """What fills the slots of each word, with weights; see :mod:`polysema.slots`.

    Attributes:
        names: the names of the slots; ``obj of`` holds the verbs that a noun is an object of.
        keys: (E,), row · len(names) + slot of every slot that something fills, rising.
        starts: (E + 1,), where the fillers of each start.
        fillers: (F,), rows of words, the weightiest of a slot first.
        weights: (F,), their weights, which sum to one a slot.
    """

    names: tuple[str, ...]
    keys: NDArray[np.int64]
    starts: NDArray[np.int64]
    fillers: NDArray[Any]
    weights: NDArray[Any]

    def of(self, row: int, slot: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows (k,) of what fills a slot of a word, and their weights; none where nothing is known."""
        if slot not in self.names:
            return self.fillers[:0], self.weights[:0]
        key = row * len(self.names) + self.names.index(slot)
        at = int(np.searchsorted(self.keys, key))
        if at == len(self.keys) or self.keys[at] != key:
            return self.fillers[:0], self.weights[:0]
        own = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.fillers[own], self.weights[own]

    def __repr__(self) -> str:
        return f"SlotFillers({len(self.keys)} slots, {len(self.fillers)} fillers)"
