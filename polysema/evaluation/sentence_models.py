"""Sentence encoders as models: the paper's baselines BERT and InferSent, and those of today.

They read full sentences (*The family runs the hotel.*); a method is the way the sentence becomes a vector:

- ``cls``: the vector of the first piece, as the paper takes it from BERT,
- ``mean``: the mean over all pieces,
- ``own``: the encoder's own sentence vector, as InferSent has one,
- ``target``: the vector of the verb itself inside the sentence, at a chosen layer; none where a pattern has no verb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.composition.occurrences import Span, counted_word
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.models import Kind, Scores
from polysema.vectors import Vector, cosine

METHODS = ("cls", "mean", "own", "target")


class SentenceEncoder(Protocol):
    """What is asked of an encoder."""

    def sentences(self, texts: Sequence[str], pooling: str) -> NDArray[Any]:
        """A vector for each sentence, (k, d)."""

    def words(self, sentences: Sequence[str], targets: Sequence[Span], layer: Any = None) -> NDArray[Any]:
        """The vector of one word in each sentence, (k, d)."""


@dataclass
class EncoderModel:
    """A sentence encoder to evaluate.

    Attributes:
        encoder: the encoder.
        name: what to call it.
        ways: the ways to take a vector; see :data:`METHODS`.
        layer: for ``target``, the layer, as the encoder names it.
        metadata: how it was made.
    """

    encoder: SentenceEncoder
    name: str = "encoder"
    ways: tuple[str, ...] = ("cls", "mean", "target")
    layer: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """Sentences."""
        return "sentences"

    def methods(self, items: EvaluationSet) -> tuple[str, ...]:
        """Its ways to take a vector; none for pairs of words, which are no sentences."""
        if items.is_words:
            return ()
        return tuple(way for way in self.ways if way != "target" or "verb" in items.roles)

    def scores(self, items: EvaluationSet, method: str) -> Scores:
        """The cosine of each pair of sentences, or of their verbs; every distinct sentence is read once.

        It covers all items: an encoder knows every spelling.
        """
        if method not in METHODS:
            raise UnknownChoiceError("way to take a sentence's vector", method, METHODS)
        distinct = list(dict.fromkeys((*items.first, *items.second)))
        texts = [items.sentence(phrase) for phrase in distinct]
        if method == "target":
            if "verb" not in items.roles:
                raise InputError(f"{items.name}: its pattern {items.pattern!r} has no verb whose vector could be taken")
            verb = items.roles.index("verb")
            spans = [counted_word(text, verb, phrase[verb]) for text, phrase in zip(texts, distinct, strict=True)]
            vectors = self.encoder.words(texts, spans, self.layer)
        else:
            vectors = self.encoder.sentences(texts, "mean" if method == "own" else method)
        row = {phrase: index for index, phrase in enumerate(distinct)}
        array = np.asarray(vectors, dtype=np.float64)
        first, second = (array[[row[phrase] for phrase in side]] for side in (items.first, items.second))
        covered = np.ones(len(items), dtype=bool)
        return Scores(np.atleast_1d(cosine(Vector(first), Vector(second))), None, covered)
