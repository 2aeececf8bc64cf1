"""Sentence encoders as models: the paper's baselines BERT and InferSent, and those of today.

They read full sentences (*The family runs the hotel.*); a method is the way the sentence becomes a vector:

- ``cls``: the vector of the first piece, as the paper takes it from BERT,
- ``mean``: the mean over all pieces; of InferSent, its own pooling,
- ``target``: the vector of the verb itself inside the sentence, at a chosen layer; none where a pattern has no verb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema.composition.occurrences import Span, counted_word
from polysema.errors import UnknownChoiceError
from polysema.evaluation.datasets import PhrasePairs
from polysema.evaluation.models import Array, Kind, PhraseScores
from polysema.vectors import Vector, cosine

METHODS = ("cls", "mean", "target")


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
        methods: the ways to take a vector; see :data:`METHODS`.
        layer: for ``target``, the layer, as the encoder names it.
        metadata: how it was made.
    """

    encoder: SentenceEncoder
    name: str = "encoder"
    methods: tuple[str, ...] = METHODS
    layer: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """Sentences."""
        return "sentences"

    def words(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Nothing: a sentence encoder has no vectors of words out of sentences."""
        return np.full(len(pairs), np.nan)

    def covers(self, data: PhrasePairs) -> NDArray[np.bool_]:
        """All: an encoder knows every spelling."""
        return np.ones(len(data), dtype=bool)

    def phrases(self, data: PhrasePairs, method: str) -> PhraseScores:
        """The cosine of each pair of sentences, or of their verbs; every distinct sentence is read once."""
        if method not in METHODS:
            raise UnknownChoiceError("way to take a sentence's vector", method, METHODS)
        distinct = list(dict.fromkeys((*data.first, *data.second)))
        texts = [data.sentence(phrase) for phrase in distinct]
        if method == "target":
            if "verb" not in data.roles:
                return PhraseScores(np.full(len(data), np.nan))
            verb = data.roles.index("verb")
            spans = [counted_word(text, verb, phrase[verb]) for text, phrase in zip(texts, distinct, strict=True)]
            vectors = self.encoder.words(texts, spans, self.layer)
        else:
            vectors = self.encoder.sentences(texts, method)
        row = {phrase: index for index, phrase in enumerate(distinct)}
        array = np.asarray(vectors, dtype=np.float64)
        first, second = (array[[row[phrase] for phrase in side]] for side in (data.first, data.second))
        return PhraseScores(np.atleast_1d(cosine(Vector(first), Vector(second))))
