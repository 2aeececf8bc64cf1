"""What a lexicon may hold beside its matrices, each part with the names of its arrays on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
