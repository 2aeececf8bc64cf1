"""Slots as density matrices, conditioned on the words that fill them.

    ρ_slot = Σ_w p_w n_w n_wᵀ                                           what may fill the slot
    ρ_{slot|x} = Σ_w q_w n_w n_wᵀ ,   q_w ∝ p_w exp(τ cos(n_w, x))      the part of it that is similar to x
    ln Z(x) = ln Σ_w p_w exp(τ (cos(n_w, x) − 1))                       how well x fits

This is the formula of disambiguation, with fillers for senses: a mixture is conditioned on its context.

A phrase is the direct sum of its head and of the head's slots, each divided by its Hilbert–Schmidt norm, so that the
trace similarity of two phrases is the mean of the similarity of their heads and that of their slots, slot by slot:

    sim = ½ ⟨v|v'⟩² + ½ · mean_slots tr(ρ_s ρ'_s) / √(tr ρ_s² · tr ρ'_s²)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composition, Kind, Negation
from polysema.composition.methods import METHODS, word_method
from polysema.composition.operators import compress
from polysema.composition.phrases import Read
from polysema.composition.trees import Leaf, Tree, head, nodes, postorder, with_paths, words_of
from polysema.density import DensityMatrix
from polysema.errors import InputError
from polysema.meanings.context_model import directions_of_words
from polysema.meanings.meanings import Matrices
from polysema.meanings.parts import SlotFillers
from polysema.meanings.results import Neighbour, Results
from polysema.measures import similarity
from polysema.senses.forms import Forms
from polysema.slots.relations import INVERSE, SPACES, filler_space, head_space
from polysema.slots.stored import read_slots
from polysema.vectors import units
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float64]

SHARPNESS = 8.0  # τ, chosen on WordNet's examples and planted verbs (``docs/measurements/slots.md``)
PLAUSIBILITY = 0.2  # the weight of one nat of plausibility added to the similarity; chosen the same way

PLACES = {"subj": 0, "obj": 1, "mod": 2, "comp": 2}
"""The place of a slot in the direct sum; prepositions share the last."""

PREPOSITION = 3

ALTERNATIVES = 20  # number of other heads in the worldly context of a negated one
KEPT = 16  # number of fillers of a slot that are kept, the weightiest: no worse, and quicker


def condition(weights: Array, vectors: Array, x: Array) -> tuple[Array, float]:
    """The weights q (k,) of a mixture's vectors (k, n) given a unit vector x, and ln Z."""
    scaled = weights * np.exp(SHARPNESS * (vectors @ x - 1.0))
    total = float(scaled.sum())
    return (scaled / total, float(np.log(total))) if total > 0 else (weights, float("-inf"))


@dataclass(frozen=True, eq=False, repr=False)
class Slots:
    """The words of a lexicon of slots as nouns, verbs and adjectives, and what fills their slots.

    A lexicon with matrices of its own that has slots, too, lends each word the mean direction of its senses:

        n_w = (s_w ⊕ Σ_k p_k v_k / ‖Σ_k p_k v_k‖) / √2

    A word that the slots lack has the second part alone, and the slots of the word most like it.
    """

    lexicon: Matrices

    vocabulary: Vocabulary
    shares: NDArray[Any]  # (V, 3), how much of a word's uses is each part of speech
    spaces: tuple[NDArray[Any], ...]  # for each part of speech the unit vectors (k, d) of the k words that have a share
    fillers: SlotFillers
    _rows: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, lexicon: Matrices) -> Slots:
        """The slots of a lexicon; one without slots is an error."""
        parts = lexicon.parts
        if parts.phrases is not None:
            vocabulary, shares, stored, fillers = read_slots(parts.phrases)
            lent = directions(lexicon, vocabulary.words)
            both = (np.concatenate([units(own), lent[k > 0]], axis=1) for own, k in zip(stored, shares.T, strict=True))
            return cls(lexicon, vocabulary, shares, tuple(units(v).astype(np.float32) for v in both), fillers)
        if parts.slots is None:
            raise InputError("this lexicon has no slots: make one with polysema train NAME.parsed --model slots")
        d = lexicon.n // len(SPACES)
        columns = [np.asarray(lexicon.array[:, k * d : (k + 1) * d, k], np.float64) for k in range(len(SPACES))]
        squares = np.stack([(column**2).sum(axis=1) for column in columns], axis=1)
        known = squares > 0
        vectors = tuple(units(column[own]) for column, own in zip(columns, known.T, strict=True))
        return cls(lexicon, lexicon.vocabulary, squares / squares.sum(axis=1, keepdims=True), vectors, parts.slots)

    @property
    def dim(self) -> int:
        """d, the dimension of each space."""
        return int(self.spaces[0].shape[1])

    @property
    def lent(self) -> bool:
        """Whether the lexicon has matrices of its own, which phrases are composed of, too."""
        return self.lexicon.vocabulary is not self.vocabulary

    @cached_property
    def word_method(self) -> str:
        """The name of the method that the words of phrases are composed with."""
        return word_method(self.lexicon.array)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """(V, 3), where each word's vectors lie; −1 where it has none."""
        known = self.shares > 0
        return np.where(known, np.cumsum(known, axis=0) - 1, -1)

    @cached_property
    def _forms(self) -> Forms:
        known, letters = self.vocabulary.indices, np.array([space[0] for space in SPACES])
        return Forms(lambda word: letters[self.shares[known[word]] > 0].tolist() if word in known else ())

    def row(self, word: str, space: str = "") -> int:
        """The row of a word or of its lemma, as a part of speech if it has that; −1 where it is not here.

        Where nothing lends directions, an unknown word is an error.
        """
        if (word, space) not in self._rows:
            spellings = [word, *(base for base, _ in self._forms.lemmas(word.lower(), space[:1] or "nva"))]
            found = [row for row in map(self.vocabulary.find, spellings) if row >= 0]
            fits = (row for row in found if not space or self.shares[row, SPACES.index(space)] > 0)
            row = next(fits, found[0] if found else -1)
            self._rows[word, space] = row if row >= 0 or self.lent else self.vocabulary.index(word)
        return self._rows[word, space]

    def usual_space(self, word: str) -> str:
        """The part of speech that a word mostly is."""
        row = self.row(word)
        return SPACES[int(np.argmax(self.shares[row]))] if row >= 0 else SPACES[0]

    def vectors(self, rows: NDArray[np.integer], space: str) -> Array:
        """Unit vectors of words as one part of speech, (k, d); zero where a word is never that."""
        number = SPACES.index(space)
        where = self._places[rows, number]
        return np.asarray(self.spaces[number][where] * (where >= 0)[:, None], np.float64)

    def vector(self, word: str, space: str) -> Array:
        """The unit vector of one word as one part of speech, (d,)."""
        row = self.row(word, space)
        if row >= 0:
            return np.asarray(self.vectors(np.array([row]), space)[0])
        lent = directions(self.lexicon, [self.lexicon.vocabulary.words[self.lexicon.vocabulary.index(word)]])[0]
        return np.concatenate([np.zeros(self.dim - len(lent)), lent])

    def mixture(self, word: str, slot: str) -> tuple[Array, Array]:
        """The weights (k,) and vectors (k, d) of what fills a slot; k is 0 if nothing is known."""
        own = head_space(slot)
        row = self.row(word, own)
        if row < 0 and (word, slot) not in self._rows:
            number = SPACES.index(own)
            nearest = int(np.argmax(self.spaces[number] @ self.vector(word, own)))
            self._rows[word, slot] = int(np.flatnonzero(self._places[:, number] == nearest)[0])
        rows, weights = self.fillers.of(self._rows.get((word, slot), row), slot)
        return weights.astype(np.float64), self.vectors(rows, filler_space(slot))

    def slot(self, word: str, slot: str, filler: str | None = None) -> DensityMatrix:
        """The density matrix of a slot, by default not conditioned on a filler."""
        weights, vectors = self.mixture(word, slot)
        if not len(weights):
            raise InputError(f"{word!r} was never seen with its slot {slot!r} filled")
        if filler is not None:
            weights, _ = condition(weights, vectors, self.vector(filler, filler_space(slot)))
        return DensityMatrix.mixture(weights, vectors, name=f"{word}.{slot}")

    def plausibility(self, word: str, slot: str, filler: str) -> float:
        """How well a word fits a slot: the mean of ln Z of the filler in the slot, and of the head among its heads.

        NaN if neither is known.
        """
        found = []
        here = (word, slot, filler, filler_space(slot)), (filler, slot + INVERSE, word, head_space(slot))
        for owner, name, other, space in here:
            weights, vectors = self.mixture(owner, name)
            x = self.vector(other, space)
            if len(weights) and x.any():
                found.append(condition(weights, vectors, x)[1])
        return float(np.mean(found)) if found else float("nan")


def directions(lexicon: Matrices, words: Sequence[str]) -> Array:
    """The mean direction (k, n) of the senses of each word; zero for words that are not there."""
    rows = np.array([lexicon.vocabulary.find(word) for word in words])
    return directions_of_words(lexicon.array[rows]) * (rows >= 0)[:, None]


# ------------------------------------------------------------------------------------------------------------ phrases


@dataclass(frozen=True, slots=True)
class Filled:
    """A head and what fills its slots."""

    head: Leaf
    slots: tuple[tuple[str, tuple[Leaf, ...]], ...] = ()  # the name of each filled slot, the heads of its fillers
    negated: bool = False
    weight: float = 1.0  # the probability of the reading that it belongs to


Heads = tuple[Filled, ...]  # a phrase; it has several heads if they are coordinated


def filled(
    tree: Tree, modifying: Mapping[int, str] | None = None, lemmas: Mapping[int, str] | None = None
) -> dict[int, Heads]:
    """The filled slots at every node of a tree, by the id of the node.

    A verb takes its object from the right and its subject from the left; a modifier fills the slot ``mod`` of what it
    modifies; each of several coordinated words is filled, and fills. A negated filler negates the head that it fills.

    Args:
        modifying: the slots of modifiers that do not fill ``mod``, such as a preposition, by the modifier's position.
        lemmas: the words to look up in place of those of the tree, by position.
    """
    found: dict[int, Heads] = {}
    for node in postorder(tree):
        if isinstance(node, Leaf):
            found[id(node)] = (Filled(Leaf((lemmas or {}).get(node.position, node.word), node.position)),)
            continue
        functor, argument = found[id(node.functor)], found[id(node.argument)]
        if node.kind == "coordination":
            heads = (*functor, *argument)
        elif node.kind == "readings":
            heads = (*_scaled(functor, node.weight), *_scaled(argument, 1 - node.weight))
        elif node.kind == "negation":
            heads = tuple(replace(item, negated=not item.negated) for item in argument)
        else:
            slot, owner, other = "obj" if node.functor_first else "subj", functor, argument
            if node.kind == "modifier":
                owner, other = argument, functor
                slot = (modifying or {}).get(other[0].head.position, "mod")
            filling = slot, tuple(item.head for item in other)
            no = any(item.negated for item in other)
            heads = tuple(replace(item, slots=(*item.slots, filling), negated=item.negated ^ no) for item in owner)
        found[id(node)] = heads
    return found


def _scaled(heads: Heads, share: float) -> Heads:
    total = sum(item.weight for item in heads)
    return tuple(replace(item, weight=item.weight * share / total) for item in heads)


def modifying_slots(read: Read, slots: Slots) -> dict[int, str]:
    """The slots that modifiers fill, by their positions: a preposition's name, ``comp``, or for others of a verb none.

    Where no parser says it, a modifier that is mostly a noun is one of a compound: *river bank*.
    """
    tokens = {leaf.position: token for token, leaf in zip(read.tokens, read.leaf_of, strict=True) if leaf is not None}
    verbs = {head(node.functor).position for node in nodes(read.tree, "argument")} - set(predicates(read))
    verbs |= {position for position, token in tokens.items() if token.pos == "VERB"}
    found = {}
    for node in nodes(read.tree, "modifier"):
        leaf = head(node.functor)
        token = tokens[leaf.position]
        if token.label == "pobj":
            found[leaf.position] = read.tokens[token.head].lemma.lower()
        elif head(node.argument).position in verbs:
            found[leaf.position] = ""
        elif token.label == "compound" or (not token.label and slots.usual_space(leaf.word) == SPACES[0]):
            found[leaf.position] = "comp"
    return found


def predicates(read: Read) -> dict[int, tuple[str, bool]]:
    """By the position of a noun or an adjective of a parsed text, the slot that a subject fills there, and whether.

    What *is poisonous* is what *poisonous* modifies; what *is a mammal* leaves what mammals do as it is.
    """
    pairs = zip(read.tokens, read.leaf_of, strict=True)
    slot_of = {"ADJ": ("mod" + INVERSE, True), "NOUN": ("subj" + INVERSE, False), "PROPN": ("subj" + INVERSE, False)}
    return {leaf.position: slot_of[token.pos] for token, leaf in pairs if leaf is not None and token.pos in slot_of}


def heads_of(slots: Slots, read: Read) -> dict[int, Heads]:
    """The filled slots at every node of a phrase as read, by lemmas where a parser gave them."""
    pairs = zip(read.tokens, read.leaf_of, strict=True) if read.is_text else ()
    lemmas = {leaf.position: token.lemma.lower() for token, leaf in pairs if leaf is not None}
    known = {position: lemma for position, lemma in lemmas.items() if lemma in slots.vocabulary}
    states, changed = filled(read.tree, modifying_slots(read, slots), known), predicates(read)

    def own(item: Filled) -> Filled:
        slot, fills = changed.get(item.head.position, ("subj", True))
        return replace(
            item, slots=tuple((slot, by if fills else ()) if at == "subj" else (at, by) for at, by in item.slots)
        )

    return {key: tuple(map(own, heads)) for key, heads in states.items()}


class PhraseMatrix(DensityMatrix):
    """The density matrix of a phrase that was composed by slots, and what it was made of."""

    __slots__ = ("heads", "words")

    heads: Heads  # with what fills their slots
    words: DensityMatrix  # the part of it that can be compared with words


def phrase_matrix(
    slots: Slots, heads: Heads, words: DensityMatrix | None = None, negation: Negation | None = None
) -> PhraseMatrix:
    """The density matrix of a phrase.

    Args:
        words: the phrase as its words make it; by default its heads alone.
        negation: what *not* does to slots; None: nothing.
    """
    parts = []
    for item in heads:
        part = _factor(slots, item, words, negation)
        parts.append(np.sqrt(item.weight) / np.linalg.norm(part) * part)
    factor = np.concatenate(parts, axis=1)
    found = PhraseMatrix(factor)
    found.heads, found.words = heads, DensityMatrix(factor[: slots.lexicon.n]) if words is None else words
    return found


def stand_ins(slots: Slots, phrase: PhraseMatrix, near: Sequence[str], top: int) -> Results[Neighbour]:
    """Of some words those that could best stand for the head of a phrase.

    The phrase is compared with each word that has the same slots, filled by the same words.
    """
    first = phrase.heads[0]
    found = []
    for word in near:
        alone = slots.lexicon[word] if slots.lent else None
        other = phrase_matrix(slots, (replace(first, head=Leaf(word, first.head.position)),), alone)
        found.append(Neighbour(word, float(similarity(phrase, other))))
    return Results(sorted(found, key=lambda item: -item.similarity)[:top])


def _factor(slots: Slots, item: Filled, words: DensityMatrix | None, negation: Negation | None = None) -> Array:
    """The factor (n + 4 d, columns) of a head, or of the words of a phrase, and of the slots of the head."""
    below = _slots_factor(slots, item)
    part = _joined(_head(slots, item), below) if words is None else below
    if item.negated and negation is not None and negation.apply is not None and part.any():
        part = negation.apply(part / np.linalg.norm(part), negation.context and _other_heads(slots, item, words))
    return part if words is None else _joined(words.factor, part)


def _joined(above: Array, below: Array) -> Array:
    """Two parts of a direct sum, each of Hilbert–Schmidt norm 1 if it is not zero."""
    norms = [max(float(np.linalg.norm(part.T @ part)), 1e-300) ** 0.5 for part in (above, below)]
    return np.block([
        [above / norms[0], np.zeros((len(above), below.shape[1]))],
        [np.zeros((len(below), above.shape[1])), below / norms[1]],
    ])  # fmt: skip


def _roles(item: Filled) -> list[str]:
    return sorted((role for role, _ in item.slots if role), key=lambda role: (PLACES.get(role, PREPOSITION), role))


def _head(slots: Slots, item: Filled) -> Array:
    """The factor (n, columns) of a head as the part of speech that has its slots; without slots of all that it is."""
    roles, d = _roles(item), slots.dim
    if roles and (own := slots.vector(item.head.word, head_space(roles[0]))).any():
        number = SPACES.index(head_space(roles[0]))
        return np.pad(own[:, None], ((number * d, (len(SPACES) - 1 - number) * d), (0, 0)))
    return np.asarray(slots.lexicon[item.head.word].factor)


def _slots_factor(slots: Slots, item: Filled) -> Array:
    """The factor (4 d, columns) of the slots of a head; zero where nothing is known of them."""
    d, fillers = slots.dim, dict(item.slots)
    columns = [np.zeros(((PREPOSITION + 1) * d, 1))]
    for role in _roles(item):
        weights, vectors = slots.mixture(item.head.word, role)
        if len(weights):
            x = np.sum([slots.vector(leaf.word, filler_space(role)) for leaf in fillers[role]], axis=0)
            if (length := np.linalg.norm(x)) > 0:
                weights, _ = condition(weights, vectors, x / length)
            most = np.argsort(-weights, kind="stable")[:KEPT]
            block = vectors[most].T * np.sqrt(weights[most])
            at = PLACES.get(role, PREPOSITION) * d
            placed = np.zeros((len(columns[0]), len(most)))
            placed[at : at + d] = block / np.sqrt(np.linalg.norm(block.T @ block))
            columns.append(placed)
    return np.concatenate(columns, axis=1)


def _other_heads(slots: Slots, item: Filled, words: DensityMatrix | None) -> Array:
    """The worldly context of a negated phrase: the phrase with the words most like its head, weighted (1 + cos) / 2."""
    roles, own = _roles(item), slots.row(item.head.word)
    space = head_space(roles[0]) if roles else slots.usual_space(item.head.word)
    every = slots.vectors(np.arange(len(slots.vocabulary)), space)
    near = np.where(every.any(axis=1), (1 + every @ slots.vector(item.head.word, space)) / 2, 0.0)
    near[own if own >= 0 else []] = 0.0
    best = [row for row in np.argsort(-near, kind="stable")[:ALTERNATIVES].tolist() if near[row] > 0]
    if not best:
        raise InputError(f"no word is like {item.head.word!r}, to say what is meant instead: use negation 'logical'")
    others = [replace(item, head=Leaf(slots.vocabulary.words[row], item.head.position)) for row in best]
    parts = [_slots_factor(slots, one) if words is not None else _factor(slots, one, None) for one in others]
    unit = [part / max(float(np.linalg.norm(part)), 1e-300) for part in parts]
    return compress(np.concatenate([np.sqrt(near[row]) * part for row, part in zip(best, unit, strict=True)], axis=1))


def phrase_plausibility(slots: Slots, state: Heads) -> float:
    """How well the words of a phrase go together: the mean plausibility over the filled slots of its heads.

    In a sentence only the verb's slots count; NaN if none is known.
    """
    known = [
        slots.plausibility(item.head.word, slot, leaf.word)
        for item in state
        for slot, leaves in item.slots
        if slot and (slot != "mod" or all(name == "mod" for name, _ in item.slots))
        for leaf in leaves
    ]
    known = [value for value in known if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")


@dataclass(frozen=True, slots=True)
class BySlots:
    """The composer that conditions the slots of the head on what fills them."""

    name: str = "slots"
    formula: str = "the head and its slots, Σ p exp(τ cos(n, x)) n nᵀ, each given the word x that fills it"
    on: Kind = "matrices"
    negation: Negation | None = None

    def compose(self, words: Any, read: Read) -> Composition:
        """At every node its head; slots that are filled there are conditioned, others of the whole phrase open."""
        slots: Slots = words.slots
        states = heads_of(slots, read)
        whole: dict[int, dict[str, tuple[Leaf, ...]]] = {}  # the slots of each head that the whole sentence fills
        for item in (item for state in states.values() for item in state):
            whole.setdefault(item.head.position, {}).update({role: () for role, _ in item.slots})
        by_words: Mapping[str, Any] = {}
        if slots.lent:
            by_words = replace(METHODS[slots.word_method], negation=self.negation).compose(words, read).meanings
        silent = {id(node.functor) for node in nodes(read.tree, "negation")}
        meanings = {}
        for path, node in with_paths(read.tree):
            if id(node) not in silent:
                heads = tuple(
                    replace(item, slots=tuple({**whole[item.head.position], **dict(item.slots)}.items()))
                    for item in states[id(node)]
                )
                meanings[path] = phrase_matrix(slots, heads, by_words.get(path), self.negation)
        meanings[""].name = words_of(read.tree)
        return Composition(read.tree, self.name, meanings, read.left_out, read.text or "")


def substitution(lexicon: Any, phrase: Any, by: Any) -> float:
    """How well a phrase is said by another, phrase → by: their similarity + 0.2 · plausibility of the other.

    The direction is the caller's. A phrase that goes together badly is a bad substitute, however alike its verb: *the
    family manages the hotel* for *runs*, not *jogs the hotel*. NaN where no slot of the other is known.

    Args:
        lexicon: one of slots.
        phrase: what is said, as ``lexicon.compose`` takes it, or composed by ``slots``.
        by: what may stand in its place.
    """
    said, other = (x if isinstance(x, Composition) else lexicon.compose(x, "slots") for x in (phrase, by))
    if not isinstance(other.meaning, PhraseMatrix):
        raise InputError(f"{other.phrase!r} is composed by {other.method}: substitution is between phrases by slots")
    fit = phrase_plausibility(lexicon.slots, other.meaning.heads)
    return float(lexicon.similarity(said, other)) + PLAUSIBILITY * fit


SLOTS = (
    BySlots(),
    BySlots("slots+plausibility", "as slots; compared, with 0.2 ln Z of the substitute: do its words go together?"),
)
