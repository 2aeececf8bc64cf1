"""What evaluation asks of a model; how a lexicon answers, and how sentence encoders do: BERT, InferSent, today's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from polysema import measures
from polysema.composition.compose import Composer, Method, fold
from polysema.composition.methods import method_named
from polysema.composition.occurrences import Span, counted_word
from polysema.composition.phrases import read_tree
from polysema.density import DensityMatrix, unit_trace
from polysema.encoders.contextual import CONTEXTUAL
from polysema.errors import InputError, check_choice, chosen, needing
from polysema.evaluation.datasets import WORD, EvaluationSet
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, with_matrices
from polysema.vectors import Vector, cosine
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float64]
Kind = Literal["matrices", "vectors", "sentences"]


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model says of the k items of a set under one method."""

    similarity: Array  # of each pair, (k,); NaN where the model lacks a word or the composition is zero
    entropy: Array | None  # of the first phrase of each pair, (k,), NaN likewise; None where there is no density matrix
    covered: NDArray[np.bool_]  # whether the model knows all words of each pair, (k,)


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


@dataclass
class LexiconModel:
    """A lexicon of matrices or vectors."""

    lexicon: AnyLexicon  # the lexicon
    name: str = "model"  # what to call it
    policy: str = "skip"  # what to do with words it lacks: a name of :data:`POLICIES`
    own: Mapping[str, Composer] = field(default_factory=dict)  # methods of a user's own, by name
    _rows: dict[tuple[str, str], int] = field(default_factory=dict, init=False, repr=False)

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
        offered = {**self.lexicon.methods, **{n: method for n, method in self.own.items() if method.on == self.kind}}
        if CONTEXTUAL.name in offered:
            from polysema.encoders.contextual import is_offered

            if not isinstance(self.lexicon, Lexicon) or not is_offered(self.lexicon):
                del offered[CONTEXTUAL.name]
        return tuple(offered)

    def scores(self, items: EvaluationSet, method: str) -> Scores:
        """Compose every distinct phrase of the set once, all together along their one tree, and compare."""
        chosen = self.own.get(method) or method_named("verb" if items.is_words else method, self.lexicon.methods)
        if chosen is CONTEXTUAL:
            return self._in_context(items)
        phrases, pairs = items.distinct
        rows = np.array([[self.row(w, r) for w, r in zip(p, items.roles, strict=True)] for p in phrases])
        known = np.asarray((rows >= 0).all(axis=1))
        covered = np.asarray(known[pairs].all(axis=0))
        if not isinstance(chosen, Method):
            return self._one_by_one(items, chosen, rows, covered)
        similarity, entropy = np.full(len(items), np.nan), np.full(len(items), np.nan)
        if covered.any():
            words, positions = np.unique(rows[known], return_inverse=True)
            positions = positions.reshape(-1, len(items.roles))
            unit = np.asarray(self.lexicon.array[words], dtype=np.float64)  # vectors keep the length they have
            unit = unit_trace(unit) if self.kind == "matrices" else unit
            composed = fold(items.tree(phrases[0]), lambda leaf: unit[positions[:, leaf.position]], chosen)[-1]
            valid = np.broadcast_to(composed.valid, len(positions))
            first, second = (np.cumsum(known) - 1)[pairs[:, covered]]
            scores = _similarity(_taken(composed.meaning, first), _taken(composed.meaning, second))
            similarity[covered] = np.where(valid[first] & valid[second], scores, np.nan)
            if isinstance(composed.meaning, DensityMatrix):
                entropy[covered] = np.where(valid, measures.entropy(composed.meaning), np.nan)[first]
        return Scores(similarity, entropy if self.kind == "matrices" else None, covered)

    def _one_by_one(
        self, items: EvaluationSet, method: Composer, rows: NDArray[np.int64], covered: NDArray[np.bool_]
    ) -> Scores:
        """Compose phrase by phrase; ``slots+plausibility`` adds how well the words of the substitute go together.

        A set puts several verbs in the place of one: the side with more distinct phrases holds the substitutes (in the
        files of GS2012 and KS2013 that is the column named ``verb``, in ML2008 and GS2011 ``landmark``).
        """
        from polysema.slots.model import PLAUSIBILITY, PhraseMatrix, phrase_plausibility

        words = self.lexicon.vocabulary.words
        pairs = items.distinct[1]
        meanings: dict[int, Any] = {}
        fits = np.full(len(rows), np.nan)
        for phrase in np.unique(pairs[:, covered]).tolist():
            tree = items.tree([words[row] for row in rows[phrase]])
            found = method.compose(self.lexicon, read_tree(tree)).meaning
            if isinstance(found, PhraseMatrix):
                fits[phrase] = phrase_plausibility(with_matrices(self.lexicon, method.name).slots, found.heads)
            meanings[phrase] = found
        usual = float(np.mean(fits[np.isfinite(fits)])) if np.isfinite(fits).any() else 0.0
        substitutes = pairs[1] if len(set(pairs[1])) >= len(set(pairs[0])) else pairs[0]
        similarity, entropy = np.full(len(items), np.nan), np.full(len(items), np.nan)
        for item in np.flatnonzero(covered):
            first, second = (meanings[phrase] for phrase in pairs[:, item].tolist())
            similarity[item] = float(_similarity(first, second))
            entropy[item] = float(measures.entropy(first)) if isinstance(first, DensityMatrix) else np.nan
            if method.name == "slots+plausibility":
                fit = fits[substitutes[item]]
                similarity[item] += PLAUSIBILITY * (fit if np.isfinite(fit) else usual)
        return Scores(similarity, entropy if self.kind == "matrices" else None, covered)

    def _in_context(self, items: EvaluationSet) -> Scores:
        """Compare the heads of the phrases as the encoder sees them in sentences; it knows every word."""
        from polysema.encoders.contextual import heads_in_context

        phrases, pairs = items.distinct
        meanings = heads_in_context(with_matrices(self.lexicon, "contextual"), [items.tree(p) for p in phrases])
        first, second = meanings[pairs[0]], meanings[pairs[1]]
        covered = np.ones(len(items), dtype=bool)
        return Scores(_similarity(first, second), np.asarray(measures.entropy(first)), covered)


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
    "skip": ("leave the item out, as the paper does", lambda word, role: []),
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
    """A sentence encoder to evaluate."""

    encoder: SentenceEncoder  # the encoder
    name: str = "encoder"  # what to call it
    ways: tuple[str, ...] = ("cls", "mean", "target")  # the ways to take a vector; see :data:`ENCODER_METHODS`
    layer: Any = None  # for ``target``, the layer, as the encoder names it
    metadata: Mapping[str, Any] = field(default_factory=dict)  # how it was made

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
        phrases, pairs = items.distinct
        texts = [items.sentence(phrase) for phrase in phrases]
        if method == "target":
            if "verb" not in items.roles:
                raise InputError(f"{items.name}: its pattern {items.pattern!r} has no verb whose vector could be taken")
            verb = items.roles.index("verb")
            spans = [counted_word(text, verb, phrase[verb]) for text, phrase in zip(texts, phrases, strict=True)]
            vectors = self.encoder.words(texts, spans, self.layer)
        else:
            vectors = self.encoder.sentences(texts, "mean" if method == "own" else method)
        first, second = np.asarray(vectors, dtype=np.float64)[pairs]
        covered = np.ones(len(items), dtype=bool)
        return Scores(np.atleast_1d(cosine(Vector(first), Vector(second))), None, covered)
