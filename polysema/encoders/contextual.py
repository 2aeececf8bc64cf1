"""Contextual density matrices: a word as it is meant in its sentence.

    ρ = 1/(|L| |R|) Σ_{l ∈ L, r ∈ R} u_lr u_lrᵀ ,   u_lr = z_lr / ‖z_lr‖ ,   z_lr = (x_lr − μ_l) / s_l

with x_lr (d,) the encoder's vector of the word at layer l in reading r, μ_l and s_l the mean and the spread of each of
that layer's d numbers over a corpus: a few of them are so much larger than the rest that they alone would decide. A
sentence is one reading; a phrase is read in several tenses. The mixture says what layers and readings agree on; its
entropy, how much they do not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composition, Kind
from polysema.composition.occurrences import TENSES, Span, as_sentence, span_of
from polysema.composition.phrases import Read
from polysema.composition.trees import Leaf, Tree, head, leaves, with_paths
from polysema.density import DensityMatrix
from polysema.encoders.huggingface import Encoder
from polysema.errors import InputError
from polysema.meanings.context_model import softmax
from polysema.meanings.meanings import Matrices
from polysema.meanings.parts import EncoderPart
from polysema.senses.senses import WordSenses, senses_of
from polysema.vectors import units

Reading = tuple[str, str | Span]
"""A sentence, and the word that is meant: its spelling there, its dictionary form, or where it stands."""

SHARPNESS = 8.0  # β of P(sense | sentence), by log loss on homographs and planted senses


class Contextual:
    """An encoder that gives density matrices of words in sentences.

    Args:
        encoder: the encoder.
        means: (depth + 1, d), the mean vector of each layer, that vectors are centred by.
        spreads: (depth + 1, d), the standard deviations that they are then divided by; None where they are not known.

    The layers that are mixed are those from a quarter of the depth to the last but one (3–11 of 12).
    """

    def __init__(self, encoder: Encoder, means: NDArray[Any], spreads: NDArray[Any] | None = None) -> None:
        if means.shape != (encoder.depth + 1, encoder.width):
            raise InputError(
                f"means of shape {means.shape} do not belong to {encoder}: they are of another encoder's layers"
            )
        first = max(1, encoder.depth // 4)
        self.encoder, self.means = encoder, np.asarray(means, np.float64)
        self.spreads = np.ones(means.shape) if spreads is None else np.asarray(spreads, np.float64)
        self.spreads = np.maximum(self.spreads, 0.1 * np.median(self.spreads, axis=1, keepdims=True))
        self.layers = tuple(range(first, max(encoder.depth, first + 1)))

    def matrices(self, sentences: Sequence[str], targets: Sequence[str | Span]) -> DensityMatrix:
        """The density matrix of one word in each sentence: a stack of k, n the encoder's width.

        Args:
            targets: the word of each sentence: its spelling there, its dictionary form, or where it stands.
        """
        return self.mixed([[pair] for pair in zip(sentences, targets, strict=True)])

    def mixed(self, readings: Sequence[Sequence[Reading]]) -> DensityMatrix:
        """Density matrices of words that are each read in as many sentences: a stack of k."""
        texts = [text for each in readings for text, _ in each]
        targets = [span_of(text, at) for each in readings for text, at in each]
        chosen = list(self.layers)
        vectors = self.encoder.word_states(texts, targets, chosen).astype(np.float64)
        unit = units((vectors - self.means[chosen]) / self.spreads[chosen])
        return DensityMatrix(unit.reshape(len(readings), -1, self.encoder.width).mT)


def as_readings(tree: Tree, word: Leaf) -> list[Reading]:
    """A phrase as a sentence in each tense, and where one of its words stands there."""
    sentences = [as_sentence(tree, tense) for tense in TENSES]
    return [(text, spans[word.position]) for text, spans in sentences]


_OPEN: WeakKeyDictionary[EncoderPart, Contextual] = WeakKeyDictionary()  # encoders that are loaded


def contextual(lexicon: Matrices) -> Contextual:
    """The contextual matrices that a lexicon of an encoder offers.

    The encoder is loaded by the name that the lexicon keeps, or from the folder that POLYSEMA_ENCODER names.
    """
    part = lexicon.parts.encoder
    if part is None or part.layer_means is None:
        raise InputError("this lexicon was not made with an encoder (--model bert2dm): it has no contextual meanings")
    if part not in _OPEN:
        name = _name(part)
        if not _may_be_here(name):
            raise InputError(f"the encoder {name!r} of this lexicon is not here: set POLYSEMA_ENCODER to its folder")
        encoder = Encoder.load(name, layers=part.layers)
        _OPEN[part] = Contextual(encoder, np.asarray(part.layer_means), part.layer_spreads)
    return _OPEN[part]


def is_offered(lexicon: Matrices) -> bool:
    """Whether a lexicon has contextual meanings, and its encoder seems to be at hand."""
    part = lexicon.parts.encoder
    if part is None or part.layer_means is None:
        return False
    return part in _OPEN or _may_be_here(_name(part))


def _name(part: EncoderPart) -> str:
    """The name or folder of a lexicon's encoder."""
    return os.environ.get("POLYSEMA_ENCODER") or part.name


def _may_be_here(name: str) -> bool:
    """A folder that holds an encoder, or the name of something on the hub."""
    path = Path(name)
    return (path / "config.json").is_file() if path.is_dir() else not (path.is_absolute() or name.startswith("."))


def heads_in_context(lexicon: Matrices, trees: Sequence[Tree]) -> DensityMatrix:
    """The head of each phrase as it is meant in the whole: a stack of k, what :class:`InContext` composes."""
    return contextual(lexicon).mixed([as_readings(tree, head(tree)) for tree in trees])


@dataclass(frozen=True, slots=True)
class InContext:
    """The composer that reads the whole sentence with the encoder that the lexicon was made with.

    A phrase that is no sentence is read in those that :func:`as_readings` makes of its tree.
    """

    name: str = "contextual"
    formula: str = "the head as the encoder sees it in the whole sentence"
    on: Kind = "matrices"

    def compose(self, words: Any, read: Read) -> Composition:
        """Each word as it is meant in the whole sentence; a part means what its head does."""
        tree, text, spans = read.tree, read.text, read.spans
        every = leaves(tree)
        readings = [as_readings(tree, leaf) if text is None else [(text, spans[leaf.position])] for leaf in every]
        stack = contextual(words).mixed(readings)
        of_leaf: dict[Leaf, DensityMatrix] = {leaf: stack[i] for i, leaf in enumerate(every)}
        return Composition(tree, self.name, {path: of_leaf[head(n)] for path, n in with_paths(tree)}, read.left_out)


CONTEXTUAL = InContext()


def senses_in_context(lexicon: Matrices, word: str) -> WordSenses:
    """The senses of a word that a sentence can mean, the weightiest first.

    They are the clusters of its occurrences: the columns of a clustered lexicon, else those kept beside the matrices. A
    lexicon that has neither gives the eigenvectors of the word's matrix.
    """
    clusters = lexicon.parts.clusters
    weights, vectors = senses_of(lexicon, word)[1:] if clusters is None else clusters.of(lexicon.vocabulary.index(word))
    return WordSenses(np.arange(len(weights)), weights, vectors)


def sense_probabilities(lexicon: Matrices, word: str, sentence: str, span: Span | None = None) -> NDArray[np.float64]:
    """P(sense k | sentence) of each sense of a word, (k,), in the order of :func:`senses_in_context`.

    With u the word's unit vector in the sentence, at the layers and through the projection that made the lexicon, v_k
    the unit vectors of its senses and v̄ their mean by weight,

        P(k) ∝ exp(β cos(v_k − v̄, u − v̄))

    so only what separates the senses of a word counts, not what they share, nor how frequent they are. Eigenvectors
    have no sign: for these P(k) ∝ ⟨v_k|ρ|v_k⟩ with ρ = uuᵀ.

    Args:
        span: where the word stands in the sentence; by default its first occurrence.
    """
    parts = lexicon.parts
    vectors = contextual(lexicon).encoder.words([sentence], [span or span_of(sentence, word)])
    assert parts.encoder is not None  # or there would be no reader
    (u,) = units(parts.encoder.projected(vectors)).astype(np.float64)
    _, weights, senses = senses_in_context(lexicon, word)
    if parts.columns == "senses" or parts.clusters is not None:
        return posterior_of(weights, senses, u)
    overlaps = (senses @ u) ** 2
    return np.asarray(overlaps / overlaps.sum())


def posterior_of(weights: NDArray[Any], senses: NDArray[Any], u: NDArray[Any]) -> NDArray[np.float64]:
    """exp(β cos(v_k − v̄, u − v̄)) of weights (k,), unit vectors (k, n) and u (…, n), as shares of one: (…, k)."""
    middle = weights @ senses / weights.sum()
    return softmax(SHARPNESS * units(u - middle) @ units(senses - middle).T)
