"""Which sense of a word is meant: a distribution over its senses, given the words around it.

With p_k the weight of sense k and v_k its unit vector, Bayes' rule takes two kinds of evidence, each tempered so that
the posterior is not surer than it should be,

    p(k | context) ∝ p_k · exp(β s cos(v_k, c)) · t_k^τ ,      s = K / (K + κ) ,   K = Σ_w keep(w)

- the *context vector* c = Σ_w keep(w) x_w, the sum of the context vectors of the content words around, each weighed by
  its chance to survive subsampling: what the sense was trained to predict. Function words and words that nearly never
  survive give no evidence, and little evidence counts little (s): where the context says nothing, the prior stays. A
  lexicon without context vectors takes the mixture ρ_c of the words around, with ⟨v_k|ρ_c|v_k⟩^s for the exponential;
- *composition*: t_k is the trace that is left when the phrase is composed with sense k in the word's place. Under
  Phaser an operator ρ that acts on the word leaves ⟨v_k|ρ|v_k⟩ of its sense k.

In context, the word is the density matrix Σ_k p(k | context) v_k v_kᵀ. A lexicon may say how its context vectors are
to be added up and compared, that this matrix takes evidence less seriously than the posterior, and that senses are
pulled towards the words around: see :class:`~polysema.meanings.context_model.ContextModel`. Lexicons made with an
encoder choose by the word's vector in the sentence (``contextual``), lexicons of slots by its part of speech.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composer, Method, fold
from polysema.composition.occurrences import Occurrence, Span, Tokenised, as_sentence
from polysema.composition.phrases import Read
from polysema.composition.trees import Leaf
from polysema.corpus.normalisation import STOP_WORDS
from polysema.density import DensityMatrix
from polysema.encoders.contextual import InContext, sense_probabilities, senses_in_context
from polysema.errors import PolysemaError
from polysema.meanings.context_model import (
    USUAL,
    context_vectors,
    directions,
    evidence_weights,
    log_evidence,
    mean_direction,
    softmax,
)
from polysema.meanings.meanings import Matrices
from polysema.meanings.neighbours import blocks
from polysema.meanings.parts import SLOT_COLUMNS
from polysema.measures import entropy, mixture_entropies
from polysema.senses.answers import Disambiguation as Disambiguation
from polysema.senses.answers import SenseInContext
from polysema.senses.senses import WordSenses, names_of, senses_of
from polysema.vectors import units

Array = NDArray[np.float64]

TREE_WEIGHT = 0.15
"""τ: the weight of composition, whose evidence is not independent of that of the words; chosen on planted senses
(``docs/measurements/senses.md``), as β and κ were."""

MOST_KEPT = 5000
"""The senses of this many words are kept with their names, so that a word is not looked up again at every call."""

_TOGETHER = 1024  # places weighed together


# ------------------------------------------------------------------------------------------------------- Bayes' rule


class Place(NamedTuple):
    """Where to ask."""

    word: str  # the word, as the lexicon spells it
    read: Tokenised  # its context
    no_tree: str  # why the context has no tree; empty where it has one
    span: Span  # where the word stands there
    occurrence: int = 0  # which of its occurrences there this is, from 0
    occurrences: int = 1  # how many there are


@dataclass(eq=False)
class _Candidates:
    """The senses of a word to choose from, and what is looked up once for each."""

    senses: WordSenses
    directions: Array
    names: list[dict[str, Any]] = field(default_factory=list)  # what each is called, by the names of its attributes
    entropy: float = 0.0

    @cached_property
    def overlaps(self) -> Array:
        """⟨v_j, v_k⟩, (k, k)."""
        return np.asarray(self.senses.vectors @ self.senses.vectors.T)


class _Known(NamedTuple):
    """What is kept of a lexicon: how much each word says about the words around it, (V,), and candidates."""

    keep: Array
    candidates: dict[tuple[str, int, bool], _Candidates]


_KNOWN: WeakKeyDictionary[Matrices, _Known] = WeakKeyDictionary()


class Disambiguator:
    """Bayes' rule for the senses of one lexicon's words.

    Args:
        composer: how to compose contexts that have a tree.
        top: how many neighbours to name each sense by.
    """

    def __init__(self, model: Matrices, composer: Composer, top: int = 8) -> None:
        self.model, self.composer, self.top = model, composer, top
        self.formula = model.parts.context_model or USUAL
        if model not in _KNOWN:
            _KNOWN[model] = _Known(evidence_weights(model.vocabulary, self.formula, model.metadata), {})
        self.known = _KNOWN[model]
        self.by_encoder = isinstance(composer, InContext)

    def answers(self, places: Sequence[Place]) -> Iterator[Disambiguation | PolysemaError]:
        """Bayes' rule at many places: one answer each, in order."""
        for part in blocks(len(places), _TOGETHER):
            own = [self._candidates(place.word) for place in places[part]]
            self._name({place.word: each for place, each in zip(places[part], own, strict=True)})
            yield from self._weighed(places[part], own)

    def senses(self, word: str) -> WordSenses:
        """The senses of a word to choose from."""
        return self._candidates(word).senses

    def _candidates(self, word: str) -> _Candidates:
        key = word, self.top, self.by_encoder
        known = self.known.candidates
        if key not in known:
            if len(known) > MOST_KEPT:
                known.clear()
            own = senses_in_context(self.model, word) if self.by_encoder else senses_of(self.model, word)
            known[key] = _Candidates(own, directions(own.weights, own.vectors, self.formula))
        return known[key]

    def _name(self, words: dict[str, _Candidates]) -> None:
        """Find what to call the senses of many words at once."""
        missing = {word: own for word, own in words.items() if not own.names}
        found = names_of(self.model, [*missing], [own.senses for own in missing.values()], self.top)
        for (word, own), names in zip(missing.items(), found, strict=True):
            own.entropy, own.names = float(entropy(self.model[word])), names
            if self.by_encoder:  # its senses are clusters of occurrences, of which no more is known
                near = [name["neighbours"] for name in names]
                own.names = [{"label": " ".join(item.word for item in own), "neighbours": own} for own in near]

    def _weighed(self, places: Sequence[Place], own: Sequence[_Candidates]) -> Iterator[Disambiguation | PolysemaError]:
        """A batch of B places; arrays are padded to the largest number of senses, K."""
        found = [place.read.at(place.span) for place in places]
        most = max(len(each.senses.ids) for each in own)
        weights = _padded([each.senses.weights for each in own], (most,))
        prior = np.where(weights > 0, np.log(np.where(weights > 0, weights, 1.0)), -np.inf)
        by_words, nearest = self._by_words(places, found, own, most)
        parsed = self.model.parts.slots is None and isinstance(self.composer, Method)
        has_tree = [parsed and item.leaf is not None for item in found]
        by_tree, errors = np.zeros_like(weights), dict[int, PolysemaError]()
        for i in np.flatnonzero(has_tree).tolist():
            try:
                by_tree[i, : len(own[i].senses.ids)] = self._by_composition(own[i].senses.vectors, found[i])
            except PolysemaError as error:
                errors[i] = error
        total, words_alone = softmax(prior + by_words + TREE_WEIGHT * by_tree), softmax(prior + by_words)
        tree_alone = softmax(prior + by_tree) if any(has_tree) else by_tree
        factors, entropies = self._matrices(total, prior, found, own)
        order = np.argsort(-total, axis=1, kind="stable").tolist()
        rows = zip(total.tolist(), words_alone.tolist(), tree_alone.tolist(), strict=True)
        for i, (place, each, (chances, alone, composed)) in enumerate(zip(places, own, rows, strict=True)):
            if i in errors:
                yield errors[i]
                continue
            ids, shares = each.senses.ids.tolist(), each.senses.weights.tolist()
            yield Disambiguation(
                word=place.word,
                context=place.read.source,
                span=place.span,
                occurrence=place.occurrence,
                occurrences=place.occurrences,
                senses=tuple(
                    SenseInContext(
                        ids[k],
                        shares[k],
                        each.senses.vectors[k],
                        **each.names[k],
                        probability=chances[k],
                        by_context=alone[k],
                        by_composition=composed[k] if has_tree[i] else None,
                    )
                    for k in order[i]
                    if k < len(ids)
                ),
                meaning=DensityMatrix.of_unit_factors([factors[i, :, : len(ids)]], place.word),
                entropy_before=each.entropy,
                entropy_after=float(entropies[i]),
                tree=found[i].tree,
                no_tree="" if has_tree[i] else place.no_tree,
                fits=self._fits(place.word, nearest[i]),
            )

    def _matrices(
        self, posterior: Array, prior: Array, found: Sequence[Occurrence], own: Sequence[_Candidates]
    ) -> tuple[Array, Array]:
        """The factors (B, n, K) of the words in their contexts, and their entropies (B,)."""
        f, most = self.formula.flatness, posterior.shape[1]
        if f != 1.0:
            posterior = softmax(prior + (np.log(np.maximum(posterior, 1e-300)) - np.maximum(prior, -700.0)) / f)
        vectors = _padded([each.senses.vectors for each in own], (most, self.model.n))
        if self.formula.pull > 0:
            vectors = self._pulled(vectors, found)
            overlaps = vectors @ vectors.mT
        else:
            overlaps = _padded([each.overlaps for each in own], (most, most))
        factors = (np.sqrt(posterior)[..., None] * vectors).transpose(0, 2, 1)
        return factors, mixture_entropies(posterior, overlaps)

    def _pulled(self, vectors: Array, found: Sequence[Occurrence]) -> Array:
        """The directions (B, K, n) of senses where they stand, pulled by the content words around."""
        counts = self.model.vocabulary.counts
        total = max(int(counts.sum()), 1)
        pull = []
        for item in found:
            rows = [row for word in item.around if _is_content(word) and (row := self._row(word)) is not None]
            pull.append(mean_direction(self.model.array[rows], counts[rows] / total))
        return units(vectors + self.formula.pull * np.stack(pull)[:, None, :] * vectors.any(axis=2, keepdims=True))

    # ln of the evidence for each sense

    def _by_words(
        self, places: Sequence[Place], found: Sequence[Occurrence], own: Sequence[_Candidates], most: int
    ) -> tuple[Array, list[float | None]]:
        """Of the words around, (B, K), and the cosine of the nearest sense at each place where that is known."""
        contexts = self.model.parts.contexts
        if self.by_encoder:  # which says p(k | context), whatever the prior
            rows = [
                self._by_encoder(place, item) - np.log(each.senses.weights)
                for place, item, each in zip(places, found, own, strict=True)
            ]
        elif self.model.parts.slots is not None:
            rows = [by_part_of_speech(each.senses.ids, place) for place, each in zip(places, own, strict=True)]
        elif contexts is not None and contexts.ndim == 2:
            return self._by_contexts(contexts, found, own, most)
        else:
            rows = [self._by_mixture(each.senses.vectors, item) for item, each in zip(found, own, strict=True)]
        return _padded(rows, (most,)), [None] * len(places)

    def _by_contexts(
        self, contexts: NDArray[Any], found: Sequence[Occurrence], own: Sequence[_Candidates], most: int
    ) -> tuple[Array, list[float | None]]:
        """β s cos(u_k, c) of the context vectors of the words around."""
        around = [  # where no content word stands around, there is no evidence: *the bank* is any bank
            [self._row(word) for word in item.around] if any(map(_is_content, item.around)) else [] for item in found
        ]
        befores = [item.before for item in found]
        c, amounts = context_vectors(around, befores, self.formula, self.known.keep, contexts)
        unit = units(c)
        cosine = (_padded([each.directions for each in own], (most, c.shape[1])) @ unit[:, :, None])[..., 0]
        nearest = [
            float((each.senses.vectors @ way).max()) if way.any() else None for each, way in zip(own, unit, strict=True)
        ]
        return log_evidence(cosine, amounts, self.formula), nearest

    def _by_mixture(self, vectors: Array, item: Occurrence) -> Array:
        """s ln ⟨v_k|ρ_c|v_k⟩ of the words around, (k,), where there are no context vectors."""
        rows = [self._row(word) for word in item.around] if any(map(_is_content, item.around)) else []
        indices = [row for row in rows if row is not None and self.known.keep[row] > 0]
        if not indices:
            return np.zeros(len(vectors))
        keep = self.known.keep[indices]
        words = DensityMatrix(self.model.array[indices])
        overlaps = ((vectors @ words.factor) ** 2).sum(axis=-1)  # (words, k)
        strength = keep.sum() / (keep.sum() + self.formula.little)
        return np.asarray(strength * np.log(np.maximum(keep @ overlaps / keep.sum(), 1e-12)))

    def _by_encoder(self, place: Place, item: Occurrence) -> Array:
        """ln P(sense k | sentence) by the word's vector where it stands, (k,)."""
        sentence, span = item.text, item.span
        if isinstance(place.read, Read) and not place.read.is_text and item.leaf is not None:
            sentence, spans = as_sentence(place.read.tree)
            span = spans[item.leaf.position]
        return np.log(np.maximum(sense_probabilities(self.model, place.word, sentence, span), 1e-12))

    def _by_composition(self, vectors: Array, item: Occurrence) -> Array:
        """ln of the trace that is left when each sense stands in the word's place, (k,)."""
        assert item.tree is not None
        assert isinstance(self.composer, Method)

        def meaning_of(leaf: Leaf) -> Array:
            return vectors[:, :, None] if leaf == item.leaf else self.model[leaf.word].parts[0]

        return np.broadcast_to(fold(item.tree, meaning_of, self.composer)[-1].log_trace, len(vectors))

    def _fits(self, word: str, nearest: float | None) -> bool | None:
        """Whether the nearest sense is as near as it is at nearly all of the word's own occurrences."""
        inventory = self.model.parts.inventory
        if nearest is None or inventory is None:
            return None
        least = float(inventory.least[self.model.vocabulary.index(word)])
        return None if least <= -1 else nearest >= least

    def _row(self, word: str) -> int | None:
        indices = self.model.vocabulary.indices
        return indices.get(word, indices.get(word.lower()))


def by_part_of_speech(ids: NDArray[np.int64], place: Place) -> Array:
    """ln of the evidence for the senses of a lexicon of slots, which are parts of speech: what the parser says."""
    pos = next((token.pos for token in place.read.tokens if token.span == place.span), "")
    part = "NOUN" if pos == "PROPN" else pos
    return np.where(ids == SLOT_COLUMNS.index(part), 0.0, -30.0) if part in SLOT_COLUMNS else np.zeros(len(ids))


def _is_content(word: str) -> bool:
    return word.lower() not in STOP_WORDS


def _padded(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Arrays (k, …) of several lengths as one, (B, K, …), with zeros behind."""
    found = np.zeros((len(arrays), *shape))
    for row, array in zip(found, arrays, strict=True):
        row[tuple(map(slice, array.shape))] = array
    return found
