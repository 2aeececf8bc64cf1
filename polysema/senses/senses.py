"""The senses of a word: the columns of its factor, or its eigenvectors, with what is known of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.meanings.descriptions import PartOfSpeech, SenseDescription
from polysema.meanings.meanings import COMMON, Matrices, nearest
from polysema.meanings.parts import SLOT_COLUMNS
from polysema.meanings.results import Results
from polysema.senses.answers import Sense as Sense

LEAST_WEIGHT = 0.01
"""Senses that weigh less are left out, unless all of them do."""


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
) -> list[list[dict[str, Any]]]:
    """What each sense of some words is called: its label, its part of speech, and the other words nearest to it."""
    vectors = [vector for own in senses for vector in own.vectors]
    near = iter(nearest(model, np.array(vectors)[:, :, None], top + 1, common) if vectors else ())
    found: list[list[dict[str, Any]]] = []
    for word, own in zip(words, senses, strict=True):
        spelled = model.vocabulary.words[model.vocabulary.index(word)]
        found.append([])
        for number in own.ids.tolist():
            others = [item for item in next(near) if item.word != spelled][:top]
            described, (part, share) = description_of(model, word, number), part_of_speech_of(model, word, number)
            telling = (described and described.words) or [item.word for item in others]
            found[-1].append({"label": " ".join(telling), "part": part, "part_share": share, "neighbours": others})
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
    (names,) = names_of(model, [word], [own], top, common)
    rows = zip(own.ids.tolist(), own.weights.tolist(), own.vectors, names, strict=True)
    return Results(
        Sense(number, weight, vector, **name, description=description_of(model, word, number))
        for number, weight, vector, name in rows
    )
