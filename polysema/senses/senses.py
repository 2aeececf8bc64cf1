"""The senses of a word: the columns of its factor, or its eigenvectors, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.meanings.descriptions import PartOfSpeech, SenseDescription
from polysema.meanings.meanings import COMMON, Matrices
from polysema.meanings.parts import SLOT_COLUMNS
from polysema.meanings.results import Neighbour, Results

LEAST_WEIGHT = 0.01
"""Senses that weigh less are left out, unless all of them do."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sense:
    """One sense of a word.

    Attributes:
        id: the number of its column in the word's factor (of its eigenvector, where columns are not senses): it stays
            the same whatever order senses are listed in.
        weight: its share of the word's occurrences where the lexicon was described from a corpus, else of its trace;
            the weights of all senses sum to one.
        vector: its direction, a unit vector (n,).
        neighbours: the words nearest to it.
        description: what it looks like in use; None where the lexicon was not described from a corpus.
        part: its part of speech (Universal Dependencies), such as ``NOUN``; None where that is not known.
        part_share: how many of its occurrences are that; None where that is not known.
    """

    id: int
    weight: float
    vector: NDArray[np.float64]
    neighbours: list[Neighbour]
    description: SenseDescription | None = None
    part: PartOfSpeech | None = None
    part_share: float | None = None

    @property
    def label(self) -> str:
        """What to call it: the words that tell it from the others, else those nearest to it."""
        return label(self.neighbours, self.description)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the vector."""
        facts = {"id": self.id, "weight": self.weight, "neighbours": [item.to_dict() for item in self.neighbours]}
        described = {} if self.description is None else self.description.to_dict()
        return {**facts, **described, "part": self.part, "part_share": self.part_share}

    def to_row(self) -> dict[str, Any]:
        """For a table."""
        return {"id": self.id, "weight": self.weight, "label": self.label, "part": self.part}

    def __repr__(self) -> str:
        return f"Sense({self.id}, weight={self.weight:.2f}, {self.label})"


def label(neighbours: list[Neighbour], description: SenseDescription | None) -> str:
    """The words to call a sense by."""
    telling = () if description is None else description.words
    return " ".join(telling or (item.word for item in neighbours))


class WordSenses(NamedTuple):
    """The senses of a word, the weightiest first."""

    ids: NDArray[np.int64]  # (k,), the number of each: its column in the word's factor, or its eigenvector
    weights: NDArray[np.float64]  # (k,)
    vectors: NDArray[np.float64]  # (k, n), their unit vectors


def senses_of(model: Matrices, word: str, min_weight: float = LEAST_WEIGHT) -> WordSenses:
    """The senses of a word that weigh at least this much; where none does, all that weigh anything."""
    meaning = model[word]
    if model.parts.columns == "eigen":
        weights, vectors = meaning.eigen()
    else:
        weights = (meaning.factor**2).sum(axis=0)
        vectors = meaning.factor / np.sqrt(np.where(weights > 0, weights, 1.0))
        if model.parts.inventory is not None:
            weights, vectors = model.parts.inventory.of(model.vocabulary.index(word), vectors) or (weights, vectors)
    ids = np.argsort(-weights, kind="stable")
    used = ids[weights[ids] > 0]
    ids = used[weights[used] >= min_weight] if (weights >= min_weight).any() else used
    return WordSenses(ids, weights[ids], vectors.T[ids])


def names_of(
    model: Matrices, words: list[str], senses: list[WordSenses], top: int = 10, common: int | None = COMMON
) -> list[list[list[Neighbour]]]:
    """The words nearest to each sense of some words, without the words themselves."""
    vectors = [vector for own in senses for vector in own.vectors]
    near = iter(model.nearest(np.array(vectors)[:, :, None], top + 1, common) if vectors else ())
    found = []
    for word, own in zip(words, senses, strict=True):
        spelled = model.vocabulary.words[model.vocabulary.index(word)]
        found.append([[item for item in next(near) if item.word != spelled][:top] for _ in own.ids])
    return found


def description_of(model: Matrices, word: str, sense: int) -> SenseDescription | None:
    """What a sense looks like in use; None where it was not described."""
    if model.parts.descriptions is None:
        return None
    return model.parts.descriptions.get(model.vocabulary.words[model.vocabulary.index(word)], {}).get(sense)


def part_of_speech_of(model: Matrices, word: str, sense: int) -> tuple[PartOfSpeech | None, float | None]:
    """The part of speech of a sense, and its share of the sense's occurrences where that is known."""
    description, speech = description_of(model, word, sense), model.parts.speech
    if description is not None and description.part is not None:
        return description.part, description.part_share
    if model.parts.slots is not None and sense < len(SLOT_COLUMNS):
        return SLOT_COLUMNS[sense], 1.0
    return (None if speech is None else speech.of(model.vocabulary.index(word), sense)) or (None, None)


def list_senses(
    model: Matrices, word: str, top: int = 10, min_weight: float = LEAST_WEIGHT, common: int | None = COMMON
) -> Results[Sense]:
    """The senses of a word, the weightiest first; see :meth:`polysema.Lexicon.senses`."""
    own = senses_of(model, word, min_weight)
    (near,) = names_of(model, [word], [own], top, common)
    return Results(
        Sense(
            number,
            weight,
            vector,
            named,
            description_of(model, word, number),
            *part_of_speech_of(model, word, number),
        )
        for number, weight, vector, named in zip(own.ids.tolist(), own.weights.tolist(), own.vectors, near, strict=True)
    )
