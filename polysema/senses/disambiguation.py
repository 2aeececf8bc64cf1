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
pulled towards the words around: see :class:`~polysema.meanings.parts.ContextModel`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema import registry
from polysema.composition.compose import Composer, Composition, Method, fold
from polysema.composition.methods import InContext as ByEncoder
from polysema.composition.occurrences import (
    Occurrence,
    Span,
    Token,
    Tokenised,
    find_occurrences,
    first_choice,
    sentences,
    tokenised,
)
from polysema.composition.phrases import (
    Phrase,
    PlainText,
    Read,
    SpacyParse,
    is_brackets,
    is_parsed,
    read_phrases,
    read_tree,
)
from polysema.composition.sentences import as_sentence
from polysema.composition.trees import Leaf, Tree
from polysema.corpus.normalisation import STOP_WORDS
from polysema.density import DensityMatrix
from polysema.errors import Failed, InputError, PolysemaError
from polysema.lexicon.lexicon import COMMON, Lexicon
from polysema.meanings.context_model import (
    USUAL,
    context_vectors,
    directions,
    evidence_weights,
    log_evidence,
    mean_direction,
    softmax,
)
from polysema.meanings.neighbours import blocks
from polysema.meanings.parts import SLOT_COLUMNS, ContextModel, PartOfSpeech
from polysema.meanings.results import Neighbour, Results, label
from polysema.measures import mixture_entropies

Array = NDArray[np.float64]
Context = Phrase | Composition
"""What a word stands in: plain text, brackets, a tree, words with a pattern, a composition, or what spaCy parsed."""

Word = str | SpacyParse
"""A word, or a Token of spaCy (a Span stands for its root), which brings its context: the sentence it stands in."""

SHARPNESS = USUAL.sharpness
"""β, for lexicons that do not say. It, κ and τ were chosen on planted senses: pairs of words made one and told apart
again (``docs/measurements/senses.md``)."""

LITTLE = USUAL.little
"""κ: with this much evidence around, counted in words that surely survive subsampling, it counts half."""

TREE_WEIGHT = 0.15
"""τ: the weight of composition, whose evidence is not independent of that of the words."""


_TOGETHER = 1024  # places that are weighed together


MOST_NAMED = 5000
"""The names of the senses of this many words are kept, so that a word is not looked up again at every call."""


class SenseInContext(NamedTuple):
    """One sense of a word in a context.

    Attributes:
        id: its number among the word's senses, the same in every context and whatever the order.
        probability: p(k | context), by all that is known.
        weight: its share of the word without a context.
        by_context: its probability by the words around alone.
        by_composition: its probability by composition alone; None where there is no tree.
        neighbours: the words nearest to it.
        label: what to call it: words that tell it from the others, else those nearest to it.
        part: its part of speech (Universal Dependencies), such as ``NOUN``; None where that is not known.
        part_share: how many of its occurrences are that; None where that is not known.
    """

    id: int
    probability: float
    weight: float
    by_context: float
    by_composition: float | None
    neighbours: list[Neighbour]
    label: str = ""
    part: PartOfSpeech | None = None
    part_share: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**self._asdict(), "neighbours": [near.to_dict() for near in self.neighbours]}


@dataclass(frozen=True, slots=True, repr=False)
class Disambiguation:
    """A word in a context.

    Attributes:
        word: the word that was asked about, as the lexicon spells it.
        context: the text it stands in.
        span: where it stands there, in characters.
        occurrence: which of its occurrences there this is, from 0.
        occurrences: how many there are.
        senses: its senses, the most probable first.
        meaning: the word's density matrix in this context.
        entropy_before: the von Neumann entropy of the word without a context.
        entropy_after: that of its meaning here.
        tree: the tree that composition followed; None for a text that was not parsed.
        no_tree: why there is no tree; empty where there is.
        fits: whether one of the senses fits: False says that the context is further from all of them than nearly all of
            the word's own occurrences are; None where the lexicon does not know.
    """

    word: str
    context: str
    span: Span
    occurrence: int
    occurrences: int
    senses: tuple[SenseInContext, ...]
    meaning: DensityMatrix
    entropy_before: float
    entropy_after: float
    tree: Tree | None
    no_tree: str
    fits: bool | None = None

    @property
    def sense(self) -> SenseInContext:
        """The most probable sense."""
        return self.senses[0]

    @property
    def form(self) -> str:
        """The word as it stands in the context."""
        return self.context[slice(*self.span)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; without the density matrix."""
        return {
            "word": self.word,
            "context": self.context,
            "form": self.form,
            "span": list(self.span),
            "occurrence": self.occurrence,
            "occurrences": self.occurrences,
            "tree": None if self.tree is None else str(self.tree),
            "no_tree": self.no_tree,
            "fits": self.fits,
            "entropy_before": self.entropy_before,
            "entropy_after": self.entropy_after,
            "senses": [sense.to_dict() for sense in self.senses],
        }

    def to_row(self) -> dict[str, Any]:
        """For a table: the word, where it stands, and the sense that is meant."""
        return {
            "word": self.word,
            "form": self.form,
            "start": self.span[0],
            "end": self.span[1],
            "sense": self.sense.id,
            "probability": self.sense.probability,
            "part": self.sense.part,
            "label": self.sense.label,
            "fits": self.fits,
            "entropy_before": self.entropy_before,
            "entropy_after": self.entropy_after,
        }

    def to_frame(self, library: str = "pandas") -> Any:
        """A row a sense, the most probable first."""
        return Results(self.senses).to_frame(library)

    def __repr__(self) -> str:
        near = " ".join(item.word for item in self.sense.neighbours[:3])
        found = f"sense {self.sense.id} ({near}) {self.sense.probability:.2f}"
        return f"Disambiguation({self.word!r} at {self.span}: {found})"

    def __str__(self) -> str:
        lines = [f"{self.word}: {self.context}", f"entropy {self.entropy_before:.3f} → {self.entropy_after:.3f}"]
        for sense in self.senses:
            near = " ".join(item.word for item in sense.neighbours)
            lines.append(f"  {sense.probability:.2f}  (before {sense.weight:.2f})  {near}")
        return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------- the calls


def disambiguate(
    lexicon: Lexicon,
    word: Word,
    context: Context | None = None,
    *,
    method: str = "phaser",
    pattern: str | None = None,
    top: int = 8,
    which: int | None = None,
    nlp: Any = None,
) -> Disambiguation:
    """Which sense of a word is meant in a context.

    Args:
        word: the word; any of its forms is found in the context. A Token of spaCy is asked about where it stands.
        context: plain text, brackets such as ``(bank (raised rates))``, a tree, words for a pattern, or a Doc or Span
            of spaCy. Without the extra ``parse``, a plain text tells by its words alone. A Token needs none.
        method: how to compose.
        pattern: the roles of the words, such as ``adj subj verb adj obj``.
        top: how many neighbours to name each sense by.
        which: which occurrence of the word to answer, from 0 on the left; by default the first that is spelled like
            the word. The result says how many there are; :func:`disambiguate_every` answers all.
        nlp: the spaCy pipeline to parse with, or its name; by default the one that is found. False: do not parse.
    """
    evidence = Evidence(lexicon, method, top)
    asked = evidence.asked(word, context)
    (read,) = _read([asked.context], lexicon, pattern, nlp)
    (answer,) = evidence.answers([evidence.place(asked.word, read, which, asked.span)])
    return _sound(answer)


def disambiguate_every(
    lexicon: Lexicon,
    word: str,
    context: Context,
    *,
    method: str = "phaser",
    pattern: str | None = None,
    top: int = 8,
    nlp: Any = None,
) -> Results[Disambiguation]:
    """Which sense is meant at every occurrence of a word in a context, from left to right."""
    evidence = Evidence(lexicon, method, top)
    (read,) = _read([context], lexicon, pattern, nlp)
    first = evidence.place(word, read, 0)
    others = [evidence.place(word, read, which) for which in range(1, first.number)]
    return Results(_sound(answer) for answer in evidence.answers([first, *others]))


def disambiguate_all(
    lexicon: Lexicon,
    pairs: Iterable[tuple[Word, Context | None] | SpacyParse],
    *,
    method: str = "phaser",
    pattern: str | None = None,
    top: int = 8,
    nlp: Any = None,
) -> Results[Disambiguation | Failed]:
    """Many words in their contexts, or Tokens: one result each, in the order given, texts parsed in batches."""
    pairs = list(pairs)
    evidence = Evidence(lexicon, method, top)
    asked = [evidence.attempt(pair) for pair in pairs]
    reads = iter(_read([item.context for item in asked if isinstance(item, _Asked)], lexicon, pattern, nlp))
    places: list[Place | PolysemaError] = []
    for item in asked:
        try:
            if isinstance(item, PolysemaError):
                raise item
            places.append(evidence.place(item.word, next(reads), None, item.span))
        except PolysemaError as error:
            places.append(error)
    answers = evidence.answers([place for place in places if isinstance(place, Place)])
    found = [next(answers) if isinstance(place, Place) else place for place in places]
    return Results(
        Failed(pair, answer) if isinstance(answer, PolysemaError) else answer
        for pair, answer in zip(pairs, found, strict=True)
    )


def read(
    lexicon: Lexicon,
    text: str | SpacyParse,
    *,
    method: str = "phaser",
    top: int = 8,
    min_weight: float = 0.1,
    memory: bool = False,
    every: bool = False,
    nlp: Any = None,
) -> Results[Disambiguation]:
    """Every ambiguous content word of a text with the sense that is meant, from left to right.

    Function words are left out, and words that the lexicon does not hold as they stand, in lower case or by their
    lemma.

    Args:
        min_weight: a word is ambiguous if two of its senses weigh at least this much.
        memory: whether each sentence is a context of its own, and what it tells of a word holds in those after it; by
            default the whole text is the context.
        every: whether content words that are not ambiguous are given, too.
        nlp: the spaCy pipeline to parse with, or its name; by default the one that is found. False: do not parse.
    """
    if not isinstance(text, str) and not is_parsed(text):
        raise InputError(f"a text is a string, or what spaCy has parsed, not {type(text).__name__}")
    evidence = Evidence(lexicon, method, top)
    (found,) = _read([PlainText(text) if isinstance(text, str) else text], lexicon, None, nlp)
    assert isinstance(found, ReadContext)
    contexts = [found]
    if memory:
        contexts = [ReadContext(part, "a sentence at a time is read by its words") for part in sentences(found.words)]
    words = [(evidence.content_word(token), token.span, at) for at in contexts for token in at.words.tokens]
    ambiguous = [
        (word, span, at)
        for word, span, at in words
        if word is not None and (every or evidence.is_ambiguous(word, min_weight))
    ]
    number = Counter(word for word, _, _ in ambiguous)
    seen: Counter[str] = Counter()
    places = []
    for word, span, at in ambiguous:
        places.append(Place(word, at, span, seen[word], number[word]))
        seen[word] += 1
    if not memory:
        return Results(_sound(answer) for answer in evidence.answers(places))
    evidence.name_all(place.word for place in places)
    told: dict[str, Array] = {}
    results: Results[Disambiguation] = Results()
    for place in places:
        item = evidence.answer(place._replace(told=told.get(place.word)))
        told[place.word] = evidence.told_by(item)
        results.append(item)
    return results


def _sound(answer: Disambiguation | PolysemaError) -> Disambiguation:
    if isinstance(answer, PolysemaError):
        raise answer
    return answer


# ----------------------------------------------------------------------------------------------------------- contexts


class ReadContext(NamedTuple):
    """A context as read.

    Attributes:
        words: its words, with the tree where there is one.
        no_tree: why there is none; empty where there is.
    """

    words: Tokenised
    no_tree: str = ""


def _read(
    contexts: Sequence[Context], lexicon: Lexicon, pattern: str | None, nlp: Any
) -> list[ReadContext | PolysemaError]:
    """Each context as read; a text that cannot be parsed still has its words."""
    texts = [
        pattern is None and (is_parsed(context) or (isinstance(context, str) and not is_brackets(context)))
        for context in contexts
    ]
    asked: list[Phrase] = []
    for context, is_text in zip(contexts, texts, strict=True):
        if not isinstance(context, Composition) and not (is_text and nlp is False):
            asked.append(PlainText(context) if is_text and isinstance(context, str) else context)
    reads = iter(read_phrases(asked, pattern, lexicon, nlp))
    results: list[ReadContext | PolysemaError] = []
    for context, is_text in zip(contexts, texts, strict=True):
        if isinstance(context, Composition):
            results.append(ReadContext(read_tree(context.tree, context.phrase)))
            continue
        unparsed = is_text and nlp is False
        read = InputError("no parser was asked for") if unparsed else next(reads)
        if isinstance(read, PolysemaError):
            results.append(ReadContext(tokenised(str(context)), str(read)) if is_text else read)
        else:
            results.append(ReadContext(read))
    return results


# ----------------------------------------------------------------------------------------------------------- evidence


class _Asked(NamedTuple):
    """A word, its context, and where it stands there, where that is known."""

    word: str
    context: Context
    span: Span | None


class Place(NamedTuple):
    """Where to ask: a word as the lexicon spells it, its context, its span, which occurrence it is, of how many.

    ``told`` is ln of the evidence of earlier sentences for each of its senses, (k,).
    """

    word: str
    read: ReadContext
    span: Span
    which: int
    number: int
    told: Array | None = None


@dataclass(frozen=True, eq=False)
class _Senses:
    """The senses of a word to choose from.

    Attributes:
        ids: (k,).
        weights: (k,), falling.
        vectors: (k, n), unit vectors.
        directions: (k, n), what a context is held against.
    """

    ids: NDArray[np.int64]
    weights: Array
    vectors: Array
    directions: Array

    @cached_property
    def overlaps(self) -> Array:
        """⟨v_j, v_k⟩, (k, k)."""
        return np.asarray(self.vectors @ self.vectors.T)

    @cached_property
    def listed(self) -> tuple[list[int], list[float]]:
        """Ids and weights as plain numbers."""
        return self.ids.tolist(), self.weights.tolist()


def _padded(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Arrays (k, …) of several lengths as one, (B, K, …), with zeros behind."""
    found = np.zeros((len(arrays), *shape))
    for row, array in zip(found, arrays, strict=True):
        row[tuple(map(slice, array.shape))] = array
    return found


_Named = tuple[list[Neighbour], str, PartOfSpeech | None, float | None]
"""What a sense is known by: the last fields of :class:`SenseInContext`."""


@dataclass
class _Facts:
    """What a lexicon says of its words, looked up once and kept for as long as the lexicon is.

    Attributes:
        formula: how contexts tell senses apart.
        keep: how much each word says about the words around it, (V,).
        senses: of words that were asked about: their senses, by whether an encoder tells them.
        names: of those the neighbours, what to call them, and their parts of speech with
            shares, by how many neighbours.
        entropies: the entropy of those words.
    """

    formula: ContextModel
    keep: Array
    senses: dict[tuple[str, bool], _Senses] = field(default_factory=dict)
    names: dict[tuple[str, bool, int], list[_Named]] = field(default_factory=dict)
    entropies: dict[str, float] = field(default_factory=dict)


_FACTS: WeakKeyDictionary[Lexicon, _Facts] = WeakKeyDictionary()


class Evidence:
    """What a lexicon knows, ready to be asked about many occurrences."""

    def __init__(self, lexicon: Lexicon, method: str, top: int) -> None:
        self.lexicon, self.top = lexicon, top
        self.composer: Composer = lexicon.composer(method)
        self.by_reading = isinstance(self.composer, ByEncoder)
        self.formula = lexicon.context_model or replace(USUAL, sharpness=SHARPNESS, little=LITTLE)
        known = _FACTS.get(lexicon)
        if known is None or known.formula.settings != self.formula.settings:
            keep = evidence_weights(lexicon.vocabulary, self.formula, lexicon.subsample)
            known = _FACTS[lexicon] = _Facts(self.formula, keep)
        self.facts = known
        contexts = lexicon.contexts
        self.contexts = contexts if contexts is not None and contexts.ndim == 2 else None

    def asked(self, word: Word, context: Context | None) -> _Asked:
        """What is asked: a Token is the word that the lexicon holds of it, in its sentence."""
        if isinstance(word, str):
            if context is None:
                raise InputError(f"no context for {word!r}: give the sentence that it stands in")
            return _Asked(word, context, None)
        if not is_parsed(word) or context is not None or not (hasattr(word, "root") or hasattr(word, "i")):
            raise InputError(f"{word!r}: ask about a word in a context, or about a Token or a Span of spaCy alone")
        token: Any = getattr(word, "root", word)
        sentence = token.sent if token.doc.has_annotation("SENT_START") else token.doc[:]
        start = token.idx - sentence.start_char
        tried = (token.text, token.text.lower(), token.lemma_, token.lemma_.lower())
        held = next((form for form in tried if form and form in self.lexicon), token.text)
        return _Asked(held, sentence, (start, start + len(token.text)))

    def attempt(self, pair: Any) -> _Asked | PolysemaError:
        """A word with its context, or a Token alone; what is wrong with it, where something is."""
        try:
            return self.asked(pair, None) if is_parsed(pair) else self.asked(*pair)
        except PolysemaError as error:
            return error

    def place(
        self, word: str, read: ReadContext | PolysemaError, which: int | None = None, span: Span | None = None
    ) -> Place:
        """A word at one of its occurrences in a context: at a span, or the one of a number."""
        if isinstance(read, PolysemaError):
            raise read
        if span is not None:
            spans = sorted({*find_occurrences(read.words.source, word, read.words.tokens), span})
            which, places = spans.index(span), spans
        else:
            places = read.words.places(word)
        source = read.words.source
        chosen = first_choice(source, word, places) if which is None else which
        if not 0 <= chosen < len(places):
            raise InputError(f"{word!r} stands {len(places)} times in the context: there is no occurrence {which}")
        spelled = self.spelled(word)
        self.lexicon.vocabulary.index(spelled)  # an unknown word is an error
        return Place(spelled, read, places[chosen], chosen, len(places))

    def answer(self, place: Place) -> Disambiguation:
        """Bayes' rule at one place."""
        (found,) = self.answers([place])
        return _sound(found)

    def answers(self, places: Sequence[Place]) -> Iterator[Disambiguation | PolysemaError]:
        """Bayes' rule at many places: one answer each, in order."""
        self.name_all(place.word for place in places)
        for part in blocks(len(places), _TOGETHER):
            yield from self._weighed(places[part])

    def _weighed(self, places: Sequence[Place]) -> Iterator[Disambiguation | PolysemaError]:
        """A batch of B places: all arrays are padded to the largest number of senses, K."""
        senses = [self.senses_of(place.word) for place in places]
        founds = [place.read.words.at(place.span) for place in places]
        most, n = max(len(own.ids) for own in senses), senses[0].vectors.shape[1]
        weights = _padded([own.weights for own in senses], (most,))
        vectors = _padded([own.vectors for own in senses], (most, n))
        overlaps = _padded([own.overlaps for own in senses], (most, most))
        prior = np.log(np.where(weights > 0, weights, 1.0)) + np.where(weights > 0, 0.0, -np.inf)
        by_words = np.zeros_like(weights)
        nearest: list[float | None] = [None] * len(places)
        errors: dict[int, PolysemaError] = {}
        if self.by_reading:
            for i, (place, found) in enumerate(zip(places, founds, strict=True)):
                by_words[i, : len(senses[i].ids)] = self.by_encoder(place.word, place.read, found)
            by_words -= np.where(weights > 0, prior, 0.0)
        elif self.lexicon.slots is not None:
            for i, place in enumerate(places):
                by_words[i, : len(senses[i].ids)] = by_part_of_speech(senses[i].ids, place)
        elif self.contexts is not None:
            by_words, nearest = self.by_contexts(senses, founds)
        else:
            for i, found in enumerate(founds):
                by_words[i, : len(senses[i].ids)] = self.by_mixture(senses[i].vectors, found)
        told = _padded([np.zeros(0) if place.told is None else place.told for place in places], (most,))
        by_tree = np.zeros_like(weights)
        by_trees = isinstance(self.composer, Method) and self.lexicon.slots is None
        parsed = [found.leaf is not None and by_trees for found in founds]
        for i in np.flatnonzero(parsed).tolist():
            try:
                by_tree[i, : len(senses[i].ids)] = self.by_composition(senses[i].vectors, founds[i])
            except PolysemaError as error:
                errors[i] = error
        before = prior + told
        total, words_alone = softmax(before + by_words + TREE_WEIGHT * by_tree), softmax(before + by_words)
        tree_alone = softmax(before + by_tree) if any(parsed) else by_tree
        f = self.formula.flatness
        flat = (
            total if f == 1.0 else softmax(prior + (np.log(np.maximum(total, 1e-300)) - np.maximum(prior, -700.0)) / f)
        )
        if self.formula.pull > 0:
            vectors = self.pulled(vectors, founds)
            overlaps = vectors @ vectors.mT
        factors = (np.sqrt(flat)[..., None] * vectors).transpose(0, 2, 1)
        after = mixture_entropies(flat, overlaps)
        order = np.argsort(-total, axis=1, kind="stable").tolist()
        rows = [numbers.tolist() for numbers in (total, words_alone, tree_alone)]
        for i, (place, found, own) in enumerate(zip(places, founds, senses, strict=True)):
            if i in errors:
                yield errors[i]
                continue
            count, names = len(own.ids), self.named(place.word)
            ids, shares = own.listed
            chances, alone, by_composition = (numbers[i] for numbers in rows)
            answered = tuple(
                SenseInContext(
                    ids[k],
                    chances[k],
                    shares[k],
                    alone[k],
                    by_composition[k] if parsed[i] else None,
                    *names[k],
                )
                for k in order[i]
                if k < count
            )
            yield Disambiguation(
                word=place.word,
                context=place.read.words.source,
                span=place.span,
                occurrence=place.which,
                occurrences=place.number,
                senses=answered,
                meaning=DensityMatrix.of_unit_factors([factors[i, :, :count]], place.word),
                entropy_before=self.entropy_of(place.word),
                entropy_after=float(after[i]),
                tree=found.tree,
                no_tree="" if parsed[i] else place.read.no_tree,
                fits=self.fits(place.word, nearest[i]),
            )

    def meaning(self, word: str, told: Array) -> DensityMatrix:
        """The word given ln of the evidence for each of its senses, (k,)."""
        own = self.senses_of(word)
        flat = softmax(np.log(own.weights) + told / self.formula.flatness)
        return DensityMatrix.mixture(flat, own.vectors, word)

    def told_by(self, item: Disambiguation) -> Array:
        """ln of all the evidence that a word in its context came with, (k,), in the order of its senses."""
        own = self.senses_of(item.word)
        found = {sense.id: sense.probability for sense in item.senses}
        return np.asarray(np.log([max(found[number], 1e-300) for number in own.ids.tolist()]) - np.log(own.weights))

    # what the lexicon says of a word, looked up once

    def spelled(self, word: str) -> str:
        """The word as the lexicon spells it: as it is, or in lower case."""
        return word if word in self.lexicon or word.lower() not in self.lexicon else word.lower()

    def senses_of(self, word: str) -> _Senses:
        """Its senses, to choose from."""
        known, key = self.facts.senses, (word, self.by_reading)
        if key not in known:
            if self.by_reading:
                weights, vectors = registry.provider("senses to tell")(self.lexicon, word)
                ids = np.arange(len(weights))
            else:
                ids, (weights, vectors) = self.lexicon.sense_ids(word), self.lexicon.sense_vectors(word)
            known[key] = _Senses(ids, weights, vectors, directions(weights, vectors, self.formula))
        return known[key]

    def named(self, word: str) -> list[_Named]:
        """What each of its senses is known by."""
        known, key = self.facts.names, (word, self.by_reading, self.top)
        if key not in known:
            self.name_all([word])
        return known[key]

    def name_all(self, words: Iterable[str]) -> None:
        """Find what to call the senses of many words at once; words that are not known are passed over."""
        known = self.facts.names
        if len(known) > MOST_NAMED:
            known.clear()
        missing = {
            word: self.senses_of(word)
            for word in map(self.spelled, dict.fromkeys(words))
            if word in self.lexicon and (word, self.by_reading, self.top) not in known
        }
        vectors = [DensityMatrix(vector[:, None]) for senses in missing.values() for vector in senses.vectors]
        near = iter(self.lexicon.neighbours_of(vectors, self.top + 1, COMMON))
        for word, senses in missing.items():
            own: list[_Named] = []
            for sense in senses.ids.tolist():
                items = [item for item in next(near) if item.word != word][: self.top]
                if self.by_reading:
                    own.append((items, label(items, None), None, None))
                    continue
                face = self.lexicon.sense_description(word, sense)
                own.append((items, label(items, face), *self.lexicon.sense_part(word, sense)))
            known[word, self.by_reading, self.top] = own

    def entropy_of(self, word: str) -> float:
        """Its entropy without a context."""
        known = self.facts.entropies
        if word not in known:
            known[word] = self.lexicon.entropy(word)
        return known[word]

    def content_word(self, token: Token) -> str | None:
        """A token as a content word of the lexicon; None where it is none."""
        if token.text.lower() in STOP_WORDS or not token.text[:1].isalpha():
            return None
        tried = (token.text, token.text.lower(), token.lemma, token.lemma.lower())
        return next((word for word in tried if word in self.lexicon), None)

    def is_ambiguous(self, word: str, min_weight: float) -> bool:
        """Whether two of its senses weigh at least this much."""
        return int((self.senses_of(word).weights >= min_weight).sum()) > 1

    # ln of the evidence for each sense, (k,)

    def by_contexts(self, senses: Sequence[_Senses], founds: Sequence[Occurrence]) -> tuple[Array, list[float | None]]:
        """Of the words around, β s cos(u_k, c), (B, K), and the cosine of the nearest sense at each place."""
        assert self.contexts is not None
        rows = [[self._index(word) for word in found.around] for found in founds]
        for i, found in enumerate(founds):
            if not any(map(_tells, found.around)):  # *the bank* is any bank
                rows[i] = []
        befores = [found.before for found in founds]
        c, amounts = context_vectors(rows, befores, self.formula, self.facts.keep, self.contexts)
        length = np.linalg.norm(c, axis=1)
        unit = c / np.where(length > 0, length, 1.0)[:, None]
        most = max(len(own.ids) for own in senses)
        held = _padded([own.directions for own in senses], (most, c.shape[1]))
        cosine = (held @ unit[:, :, None])[..., 0]
        nearest: list[float | None] = [
            float((own.vectors @ way).max()) if far > 0 else None
            for own, way, far in zip(senses, unit, length.tolist(), strict=True)
        ]
        return log_evidence(cosine, amounts, self.formula), nearest

    def pulled(self, vectors: Array, founds: Sequence[Occurrence]) -> Array:
        """The directions (B, K, n) of senses where they stand, pulled by the content words around."""
        around = [[self._index(word) for word in found.around if _tells(word)] for found in founds]
        pull = np.stack([mean_direction(self.lexicon, [row for row in rows if row is not None]) for rows in around])
        left = vectors + self.formula.pull * pull[:, None, :] * (vectors != 0).any(axis=2, keepdims=True)
        length = np.linalg.norm(left, axis=2, keepdims=True)
        return np.asarray(left / np.where(length > 0, length, 1.0))

    def by_mixture(self, vectors: Array, found: Occurrence) -> Array:
        """Of the words around, without context vectors: s ln ⟨v_k|ρ_c|v_k⟩, (k,)."""
        rows = [self._index(word) for word in found.around] if any(map(_tells, found.around)) else []
        indices = [row for row in rows if row is not None and self.facts.keep[row] > 0]
        if not indices:
            return np.zeros(len(vectors))
        keep = self.facts.keep[indices]
        words = DensityMatrix(self.lexicon.factors[indices])
        overlaps = ((vectors @ words.factor) ** 2).sum(axis=-1)  # (words, k)
        strength = keep.sum() / (keep.sum() + self.formula.little)
        return np.asarray(strength * np.log(np.maximum(keep @ overlaps / keep.sum(), 1e-12)))

    def fits(self, word: str, nearest: float | None) -> bool | None:
        """Whether the nearest sense is as near as it is at nearly all of the word's own occurrences."""
        if nearest is None or self.lexicon.inventory is None:
            return None
        least = float(self.lexicon.inventory.least[self.lexicon.vocabulary.index(word)])
        return None if least <= -1 else nearest >= least

    def by_composition(self, vectors: Array, found: Occurrence) -> Array:
        """Of composition: ln of the trace that is left when the sense stands in the word's place."""
        assert found.tree is not None
        assert isinstance(self.composer, Method)

        def meaning_of(leaf: Leaf) -> Array:
            if leaf == found.leaf:
                return vectors[:, :, None]
            return self.lexicon[leaf.word].parts[0]

        root = fold(found.tree, meaning_of, self.composer)[-1]
        return np.broadcast_to(root.log_trace, len(vectors))

    def by_encoder(self, word: str, read: ReadContext, found: Occurrence) -> Array:
        """Of the encoder: ln P(sense k | sentence), by the word's vector where it stands."""
        sentence, span = found.text, found.span
        if isinstance(read.words, Read) and not read.words.is_text and found.leaf is not None:
            sentence, spans = as_sentence(read.words.tree)
            span = spans[found.leaf.position]
        probabilities = registry.provider("sense probabilities")(self.lexicon, word, sentence, span)
        return np.asarray(np.log(np.maximum(probabilities, 1e-12)))

    def _index(self, word: str) -> int | None:
        indices = self.lexicon.vocabulary.indices
        return indices.get(word, indices.get(word.lower()))


def by_part_of_speech(ids: NDArray[np.int64], place: Place) -> Array:
    """The columns of a lexicon of slots are nouns, verbs, adjectives: which is meant is what the parser says."""
    pos = next((token.pos for token in place.read.words.tokens if token.span == place.span), "")
    part = "NOUN" if pos == "PROPN" else pos
    return np.where(ids == SLOT_COLUMNS.index(part), 0.0, -30.0) if part in SLOT_COLUMNS else np.zeros(len(ids))


def _tells(word: str) -> bool:
    """Whether a word around is a content word."""
    return word.lower() not in STOP_WORDS
