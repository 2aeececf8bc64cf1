"""What a lexicon may hold beside its words and their meanings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.meanings.context_model import ContextModel
from polysema.meanings.descriptions import PARTS_OF_SPEECH, PartOfSpeech, SenseDescriptions
from polysema.vectors import units


class Part:
    """Arrays that belong together; it shows itself by their shapes."""

    def __repr__(self) -> str:
        shapes = (f"{name} {array.shape}" for name, array in vars(self).items() if isinstance(array, np.ndarray))
        return f"{type(self).__name__}({', '.join(shapes)})"


@dataclass(frozen=True, eq=False, repr=False)
class EncoderPart:
    """The encoder that a lexicon was made with, and what it takes to read new sentences with it; None: not known."""

    name: str  # the name of the encoder, or its folder
    layers: str  # which layers the word vectors were taken from, such as ``last`` or ``1,2``
    layer_means: NDArray[Any] | None = None  # (depth + 1, d), the mean vector of each layer
    layer_spreads: NDArray[Any] | None = None  # (depth + 1, d), the standard deviations of the same
    projection: NDArray[Any] | None = None  # (d, n), from the encoder's space to the lexicon's
    projection_mean: NDArray[Any] | None = None  # (d,), what is taken from a vector before it is projected

    def __repr__(self) -> str:
        return f"EncoderPart({self.name!r}, layers={self.layers!r})"

    def projected(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """The encoder's vectors (k, d) in the lexicon's space, (k, n)."""
        if self.projection is None or self.projection_mean is None:
            raise InputError("this lexicon does not say how its encoder's vectors become its own: make it again")
        return np.asarray((vectors - self.projection_mean) @ self.projection)


@dataclass(frozen=True, eq=False, repr=False)
class SenseClusters(Part):
    """Clusters of each word's occurrences: the senses that a sentence can mean."""

    starts: NDArray[np.int64]  # (V + 1,), where the clusters of each word start
    counts: NDArray[Any]  # (K,), how many occurrences are in each cluster
    vectors: NDArray[Any]  # (K, n), the mean vector of each cluster

    def of(self, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (k,) of a word's clusters, falling, and their unit vectors (k, n)."""
        own = slice(int(self.starts[row]), int(self.starts[row + 1]))
        counts, vectors = np.asarray(self.counts[own], np.float64), np.asarray(self.vectors[own], np.float64)
        order = np.argsort(-counts, kind="stable")
        return (counts / counts.sum())[order], units(vectors)[order]


@dataclass(frozen=True, eq=False, repr=False)
class Information(Part):
    """How ambiguous each word is: how much of its meaning its contexts tell."""

    values: NDArray[Any]  # (V,), not a number where the word was not seen often enough
    measure: str = "holevo"  # what they are, such as ``holevo``


@dataclass(frozen=True, eq=False, repr=False)
class Inventory(Part):
    """Which columns of a word's factor are its senses."""

    # (V, m), the id of the sense that each column belongs to, which is the first of its columns; −1 for a column that
    # no occurrence chooses
    senses: NDArray[Any]
    # (V, m), each column's share of the word's occurrences; all zero for words that were not looked at
    weights: NDArray[Any]
    least: NDArray[Any]  # (V,), the cosine below which no sense fits a context; −1 where that is not known

    def of(self, row: int, vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The weights (m,) of a word's senses by their ids, and their unit vectors (n, m); None where not known.

        Args:
            vectors: (n, m), the unit columns.
        """
        shares = np.asarray(self.weights[row], np.float64)
        if not np.isfinite(shares).all() or not shares.any():
            return None
        return grouped(np.asarray(self.senses[row], np.int64), shares, vectors)


SLOT_COLUMNS: tuple[PartOfSpeech, ...] = ("NOUN", "VERB", "ADJ")  # what the columns of a lexicon of slots are


@dataclass(frozen=True, eq=False, repr=False)
class Speech(Part):
    """The part of speech of each sense: what most of its occurrences are."""

    # (V, m), the place in :data:`PARTS_OF_SPEECH`, from 1, by the sense's id; 0 where it is not known
    tags: NDArray[Any]
    shares: NDArray[Any]  # (V, m), how many of the sense's occurrences are that, in percent

    def of(self, row: int, sense: int) -> tuple[PartOfSpeech, float] | None:
        """The part of speech of a sense, and its share of the sense's occurrences; None where that is not known."""
        tag = int(self.tags[row, sense])
        return (PARTS_OF_SPEECH[tag - 1], int(self.shares[row, sense]) / 100) if tag else None


def grouped(
    owner: NDArray[np.int64], weights: NDArray[np.float64], vectors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns of one sense joined: weights (m,) are added, unit vectors (n, m) averaged by weight.

    Args:
        owner: (m,), the sense id of each column, −1 if dropped.
    """
    joined, mean = np.zeros_like(weights), np.zeros_like(vectors)
    for column in np.flatnonzero(owner >= 0):
        joined[owner[column]] += weights[column]
        mean[:, owner[column]] += weights[column] * vectors[:, column]
    return joined / max(joined.sum(), 1e-300), units(mean, 0)


@dataclass(frozen=True, eq=False, repr=False)
class SlotFillers(Part):
    """What fills the slots of each word, with weights; see :mod:`polysema.slots`."""

    names: tuple[str, ...]  # the names of the slots; ``obj of`` holds the verbs that a noun is an object of
    keys: NDArray[np.int64]  # (E,), row · len(names) + slot of every slot that something fills, rising
    starts: NDArray[np.int64]  # (E + 1,), where the fillers of each start
    fillers: NDArray[Any]  # (F,), rows of words, the weightiest of a slot first
    weights: NDArray[Any]  # (F,), their weights, which sum to one a slot

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


class Stored(Protocol):
    """What is written into the folder of a lexicon as files of its own."""

    def save(self, folder: str | Path, /) -> None:
        """Write the files."""


Columns = Literal["senses", "eigen"]


@dataclass(frozen=True, eq=False)
class Parts:
    """What a lexicon may hold beside its words and their meanings; None means not known."""

    # what the columns of a factor are: the word's ``senses``, as trained, or nothing by themselves, so that senses are
    # taken from the ``eigen`` decomposition
    columns: Columns = "senses"
    # context vectors, (V, n), or under Word2DM the factors (V, n, m) of the context side: what each word predicts where
    # it is the context
    contexts: NDArray[Any] | None = None
    norms: NDArray[Any] | None = None  # the Frobenius norms of the factors as they were trained, (V,)
    encoder: EncoderPart | None = None  # the encoder that the lexicon was made with
    clusters: SenseClusters | None = None  # clusters of each word's occurrences
    # how context vectors choose among senses; by default as for multi-sense Word2DM
    context_model: ContextModel | None = None
    information: Information | None = None  # how ambiguous each word is, by its contexts
    inventory: Inventory | None = None  # which columns are senses; by default all of them
    speech: Speech | None = None  # the part of speech of each sense
    descriptions: SenseDescriptions | None = None  # what the senses look like in use
    slots: SlotFillers | None = None  # what fills the slots of each word
    # senses with keys and glosses, and the encoder that reads them in text; or the folder that holds both
    dictionary: Path | Stored | None = None
    phrases: Path | None = None  # the file with the slots that phrases are composed with; see :mod:`polysema.slots`
    placing: Path | None = None  # the file with the regression that :func:`polysema.adapt` places new words with

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse parts that do not fit the meanings of a lexicon: vectors (V, n), or factors (V, n, m)."""
        size, n, m = (*shape, 1)[:3]
        contexts, norms, clusters, information = self.contexts, self.norms, self.clusters, self.information
        if contexts is not None and (contexts.ndim not in (2, 3) or contexts.shape[:2] != (size, n)):
            raise InputError(f"context vectors of shape {contexts.shape}: give {(size, n)}, a row a word")
        if norms is not None and norms.shape != (size,):
            raise InputError(f"norms of shape {norms.shape}: give one number a word, ({size},)")
        if norms is not None and not np.isfinite(norms).all():
            raise InputError("norms that are not finite (NaN or infinity)")
        if clusters is not None and (len(clusters.starts) != size + 1 or clusters.vectors.shape[1:] != (n,)):
            raise InputError(f"{clusters!r} do not fit {size} words in {n} dimensions")
        if information is not None and information.values.shape != (size,):
            raise InputError(f"information of shape {information.values.shape}: give one number a word, ({size},)")
        if (inventory := self.inventory) is not None:
            shapes = inventory.senses.shape, inventory.weights.shape, inventory.least.shape
            if shapes != ((size, m), (size, m), (size,)):
                raise InputError(f"an inventory of shapes {shapes} does not fit {size} words of {m} columns")
            if inventory.senses.size and not -1 <= inventory.senses.min() <= inventory.senses.max() < m:
                raise InputError(f"an inventory with senses that are none of {m} columns")
        if (speech := self.speech) is not None:
            if speech.tags.shape != (size, m) or speech.shares.shape != (size, m):
                raise InputError(f"{speech!r} do not fit {size} words of {m} columns")
            if int(np.max(speech.tags, initial=0)) > len(PARTS_OF_SPEECH):
                raise InputError(f"a part of speech that is none of {len(PARTS_OF_SPEECH)}")
        if (slots := self.slots) is not None and len(slots.keys):
            rows = int(slots.keys[-1]) // len(slots.names), int(np.max(slots.fillers, initial=0))
            if max(rows) >= size or slots.starts[-1] != len(slots.fillers):
                raise InputError(f"{slots!r} of {max(rows) + 1} words do not fit {size} words")
