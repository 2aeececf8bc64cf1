"""What evaluation asks of a model; how a lexicon answers, and how sentence encoders do: BERT, InferSent, today's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema import measures
from polysema.composition.compose import Method, fold
from polysema.composition.methods import CONTEXTUAL, BySlots, method_named
from polysema.composition.occurrences import Span, counted_word
from polysema.composition.trees import Leaf
from polysema.density import DensityMatrix, unit_trace
from polysema.errors import InputError, check_choice, chosen, needing
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.records import WORD
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, with_matrices
from polysema.vectors import Vector, cosine
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float64]
Kind = Literal["matrices", "vectors", "sentences"]


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model says of the k items of a set under one method.

    Attributes:
        similarity: of each pair, (k,); NaN where the model lacks a word or the composition comes to nothing.
        entropy: of the first phrase of each pair, (k,), NaN likewise; None where there is no density matrix.
        covered: whether the model knows all words of each pair, (k,).
    """

    similarity: Array
    entropy: Array | None
    covered: NDArray[np.bool_]


class Model(Protocol):
    """What evaluation asks of a model."""

    @property
    def name(self) -> str:
        """What it is called in tables."""

    @property
    def kind(self) -> Kind:
        """Whether it has density matrices, or is one of the baselines: vectors of words, vectors of sentences."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """How it was made."""

    def methods(self, items: EvaluationSet) -> tuple[str, ...]:
        """The methods it can score a set with: of composition, or ways to take a sentence's vector."""

    def scores(self, items: EvaluationSet, method: str) -> Scores:
        """The similarity of each pair of a set."""


@dataclass(frozen=True, slots=True)
class _Stack:
    """The distinct phrases of a set, ready to be composed all at once.

    Attributes:
        known: which items have no unknown word, (k,).
        unit: the meanings of the distinct words, (w, n, m) or (w, n).
        positions: the words of each of the p distinct phrases, rows of ``unit``, (p, words).
        pairs: of each known item its first and its second phrase, (2, known).
    """

    known: NDArray[np.bool_]
    unit: Array
    positions: NDArray[np.int64]
    pairs: NDArray[np.int64]

    def meaning_of(self, leaf: Leaf) -> Array:
        return self.unit[self.positions[:, leaf.position]]


@dataclass
class LexiconModel:
    """A lexicon of matrices or vectors.

    Attributes:
        lexicon: the lexicon.
        name: what to call it.
        policy: what to do with words it lacks; see :mod:`polysema.evaluation.models`.
    """

    lexicon: AnyLexicon
    name: str = "model"
    policy: str = "skip"
    _rows: dict[tuple[str, str], int] = field(default_factory=dict, init=False, repr=False)
    _stack: tuple[EvaluationSet, _Stack] | None = field(default=None, init=False, repr=False)

    @property
    def kind(self) -> Kind:
        """Matrices or vectors."""
        return self.lexicon.kind

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The lexicon's."""
        return self.lexicon.metadata

    @cached_property
    def _resolve(self) -> Resolver:
        return resolver(self.lexicon.vocabulary, self.policy)

    def row(self, word: str, role: str = "") -> int:
        """The row of a word; -1 where the lexicon lacks it, or its numbers make no density matrix or vector."""
        key = (word, role)
        if key not in self._rows:
            row = self._resolve(word, role)
            usable = row >= 0 and bool(np.isfinite(self.lexicon.array[row]).all() and self.lexicon.array[row].any())
            self._rows[key] = row if usable else -1
        return self._rows[key]

    def methods(self, items: EvaluationSet) -> tuple[str, ...]:
        """``word`` for pairs of words; else the composition methods, ``contextual`` where its encoder is at hand."""
        if items.is_words:
            return (WORD,)
        offered = dict(self.lexicon.methods)
        if CONTEXTUAL.name in offered:
            from polysema.encoders.contextual import is_offered

            if not isinstance(self.lexicon, Lexicon) or not is_offered(self.lexicon):
                del offered[CONTEXTUAL.name]
        return tuple(offered)

    def scores(self, items: EvaluationSet, method: str) -> Scores:
        """Compose every distinct phrase of the set once, all together along their one tree, and compare."""
        chosen = method_named("verb" if items.is_words else method, self.lexicon.methods)
        if isinstance(chosen, BySlots):
            return self._by_slots(items, chosen)
        if not isinstance(chosen, Method):
            return self._in_context(items)
        stack = self._prepared(items)
        similarity = np.full(len(items), np.nan)
        entropy = np.full(len(items), np.nan)
        if stack.known.any():
            composed = fold(items.tree(items.first[0]), stack.meaning_of, chosen)[-1]
            valid = np.broadcast_to(composed.valid, len(stack.positions))
            first, second = stack.pairs
            scores = _similarity(_taken(composed.meaning, first), _taken(composed.meaning, second))
            similarity[stack.known] = np.where(valid[first] & valid[second], scores, np.nan)
            if isinstance(composed.meaning, DensityMatrix):
                entropy[stack.known] = np.where(valid, measures.entropy(composed.meaning), np.nan)[first]
        return Scores(similarity, entropy if self.kind == "matrices" else None, stack.known)

    def _by_slots(self, items: EvaluationSet, method: BySlots) -> Scores:
        """Compare phrases by their slots; ``slots+plausibility`` adds how well the words of the substitute go together.

        A set puts several verbs in the place of one: the side with more distinct phrases holds the substitutes (in the
        files of GS2012 and KS2013 that is the column named ``verb``, in ML2008 and GS2011 ``landmark``).
        """
        from polysema.slots.model import PLAUSIBILITY, Slots, filled, phrase_matrix, phrase_plausibility

        slots = Slots.of(with_matrices(self.lexicon, method.name))
        known = self._prepared(items).known
        matrices: dict[tuple[str, ...], DensityMatrix] = {}
        fits: dict[tuple[str, ...], float] = {}
        words = self.lexicon.vocabulary.words
        for item in np.flatnonzero(known):
            for phrase in (items.first[item], items.second[item]):
                if phrase not in matrices:
                    rows = [self.row(word, role) for word, role in zip(phrase, items.roles, strict=True)]
                    tree = items.tree([words[row] for row in rows])
                    state = filled(tree)[id(tree)]
                    matrices[phrase], fits[phrase] = phrase_matrix(slots, state), phrase_plausibility(slots, state)
        substitutes = items.second if len(set(items.second)) >= len(set(items.first)) else items.first
        similarity, entropy = np.full(len(items), np.nan), np.full(len(items), np.nan)
        usual = float(np.nanmean([*fits.values()])) if np.isfinite([*fits.values()]).any() else 0.0
        for item in np.flatnonzero(known):
            first, second = items.first[item], items.second[item]
            similarity[item] = float(_similarity(matrices[first], matrices[second]))
            entropy[item] = float(measures.entropy(matrices[first]))
            if method.name == "slots+plausibility":
                fit = fits[substitutes[item]]
                similarity[item] += PLAUSIBILITY * (fit if np.isfinite(fit) else usual)
        return Scores(similarity, entropy, known)

    def _in_context(self, items: EvaluationSet) -> Scores:
        """Compare the heads of the phrases as the encoder sees them in sentences; it knows every word."""
        from polysema.encoders.contextual import heads_in_context

        distinct = list(dict.fromkeys((*items.first, *items.second)))
        trees = [items.tree(phrase) for phrase in distinct]
        meanings = heads_in_context(with_matrices(self.lexicon, "contextual"), trees)
        row = {phrase: index for index, phrase in enumerate(distinct)}
        first, second = (meanings[[row[phrase] for phrase in side]] for side in (items.first, items.second))
        covered = np.ones(len(items), dtype=bool)
        return Scores(_similarity(first, second), np.asarray(measures.entropy(first)), covered)

    def _prepared(self, items: EvaluationSet) -> _Stack:
        """The phrases of a set as a stack; kept, since every method needs it."""
        if self._stack is None or self._stack[0] is not items:
            roles = items.roles
            rows = np.array(
                [[self.row(w, r) for w, r in zip(p, roles, strict=True)] for p in (*items.first, *items.second)],
                dtype=np.int64,
            ).reshape(2, len(items), len(roles))
            known = np.asarray((rows >= 0).all(axis=(0, 2)))
            phrases, pairs = np.unique(rows[:, known].reshape(-1, len(roles)), axis=0, return_inverse=True)
            words, positions = np.unique(phrases, return_inverse=True)
            unit = self._unit(words) if len(words) else np.empty((0, 1, 1))
            self._stack = (items, _Stack(known, unit, positions.reshape(phrases.shape), pairs.reshape(2, -1)))
        return self._stack[1]

    def _unit(self, rows: NDArray[np.int64]) -> Array:
        """Unit factors (k, n, m), or vectors (k, n) at the length they have."""
        array = np.asarray(self.lexicon.array[rows], dtype=np.float64)
        return unit_trace(array) if self.kind == "matrices" else array


def _similarity(a: Any, b: Any) -> Array:
    """Similarities to 40 bits: those that are equal but for rounding must tie when they are ranked."""
    found = np.asarray(measures.similarity(a, b) if isinstance(a, DensityMatrix) else cosine(a, b))
    mantissa, exponent = np.frexp(found)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40))


def _taken(meaning: DensityMatrix | Vector, rows: NDArray[np.int64]) -> DensityMatrix | Vector:
    """Some of a stack; a part that is the same for all phrases has no stack to take from."""
    if isinstance(meaning, DensityMatrix):
        return meaning[rows]
    return Vector.product([part[rows] for part in meaning.parts])


# ------------------------------------------------------------------------------------------ words that a lexicon lacks

Resolver = Callable[[str, str], int]
"""From a word and its role in the phrase, or "", to its index in the vocabulary; -1 where it is not there."""

_UNIVERSAL = {"verb": "VERB", "noun": "NOUN", "subj": "NOUN", "obj": "NOUN", "adj": "ADJ", "adv": "ADV"}


def _none(word: str, role: str) -> list[str]:
    return []


def _inflections(word: str, role: str) -> list[str]:
    from lemminflect import getAllInflections, getAllInflectionsOOV

    upos = _UNIVERSAL.get(role)
    forms = getAllInflections(word, upos=upos)
    if not forms and upos:
        forms = getAllInflectionsOOV(word, upos=upos)
    return [form for group in forms.values() for form in group]


def _lemmas(word: str, role: str) -> list[str]:
    from lemminflect import getAllLemmas

    found = getAllLemmas(word, upos=_UNIVERSAL.get(role))
    return [lemma for group in found.values() for lemma in group]


POLICIES: dict[str, tuple[str, Callable[[str, str], list[str]]]] = {
    "skip": ("leave the item out, as the paper does", _none),
    "inflected": ("use the word's most frequent inflected form that the model knows", _inflections),
    "lemma": ("use the word's lemma", _lemmas),
}
"""Out-of-vocabulary policies by name: what they do, and the spellings they offer for a word in its role."""


def resolver(vocabulary: Vocabulary, policy: str = "skip") -> Resolver:
    """How words are looked up in a vocabulary under a policy."""
    _, offered = chosen("out-of-vocabulary policy", policy, POLICIES)
    indices = vocabulary.indices

    def resolve(word: str, role: str) -> int:  # first as it is written, then lower-cased
        for spelling in (word, word.lower()):
            if spelling in indices:
                return indices[spelling]
        with needing(f"the out-of-vocabulary policy {policy!r}", "lemmas"):
            known = [indices[form] for form in offered(word.lower(), role) if form in indices]
        return max(known, key=lambda index: (vocabulary.counts[index], -index), default=-1)

    return resolve


# ------------------------------------------------------------------------------------------------- sentence encoders

ENCODER_METHODS = ("cls", "mean", "own", "target")
"""How a full sentence (*The family runs the hotel.*) becomes a vector: ``cls``, the vector of the first piece, as the
paper takes it from BERT; ``mean``, over all pieces; ``own``, the encoder's own, as InferSent has one; ``target``, that
of the verb itself, at a chosen layer; none where a pattern has no verb."""


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
        ways: the ways to take a vector; see :data:`ENCODER_METHODS`.
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
        check_choice("way to take a sentence's vector", method, ENCODER_METHODS)
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
