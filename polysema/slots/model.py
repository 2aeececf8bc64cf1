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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composition, Kind, Negation
from polysema.composition.operators import compress
from polysema.composition.phrases import Read
from polysema.composition.trees import Leaf, Tree, nodes, postorder, with_paths
from polysema.density import DensityMatrix
from polysema.errors import InputError
from polysema.meanings.meanings import Matrices
from polysema.meanings.parts import SlotFillers
from polysema.slots.relations import SPACES, filler_space, head_space
from polysema.vectors import units

Array = NDArray[np.float64]

SHARPNESS = 8.0  # τ, chosen on WordNet's examples and planted verbs (``docs/measurements/slots.md``)
PLAUSIBILITY = 0.2  # the weight of one nat of plausibility added to the similarity; chosen the same way

PLACES = {"subj": 0, "obj": 1, "mod": 2, "comp": 2}
"""The place of a slot in the direct sum; prepositions share the last."""

PREPOSITION = 3

ALTERNATIVES = 20  # number of other heads in the worldly context of a negated one


def condition(weights: Array, vectors: Array, x: Array) -> tuple[Array, float]:
    """The weights q (k,) of a mixture's vectors (k, n) given a unit vector x, and ln Z."""
    scaled = weights * np.exp(SHARPNESS * (vectors @ x - 1.0))
    total = float(scaled.sum())
    return (scaled / total, float(np.log(total))) if total > 0 else (weights, float("-inf"))


@dataclass(frozen=True)
class Slots:
    """The slots of a lexicon's words."""

    lexicon: Matrices  # made by ``train --model slots``
    fillers: SlotFillers

    @classmethod
    def of(cls, lexicon: Matrices) -> Slots:
        """The slots of a lexicon; one without slots is an error."""
        if lexicon.parts.slots is None:
            raise InputError("this lexicon has no slots: make one with polysema train NAME.parsed --model slots")
        return cls(lexicon, lexicon.parts.slots)

    @property
    def dim(self) -> int:
        """d, the dimension of each space."""
        return self.lexicon.n // len(SPACES)

    def vectors(self, rows: NDArray[np.integer], space: str) -> Array:
        """Unit vectors of words as one part of speech, (k, d); zero where a word is never that."""
        number = SPACES.index(space)
        part = self.lexicon.array[rows, number * self.dim : (number + 1) * self.dim, number].astype(np.float64)
        return units(part)

    def vector(self, word: str, space: str) -> Array:
        """The unit vector of one word as one part of speech, (d,)."""
        return np.asarray(self.vectors(np.array([self.lexicon.vocabulary.index(word)]), space)[0])

    def mixture(self, word: str, slot: str) -> tuple[Array, Array]:
        """The weights (k,) and vectors (k, d) of what fills a slot; k is 0 if nothing is known."""
        base = slot.removesuffix(" of")
        space = filler_space(base) if base == slot else head_space(base)
        rows, weights = self.fillers.of(self.lexicon.vocabulary.index(word), slot)
        return weights.astype(np.float64), self.vectors(rows, space)

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
        here = (word, slot, filler, filler_space(slot)), (filler, f"{slot} of", word, head_space(slot))
        for owner, name, other, space in here:
            weights, vectors = self.mixture(owner, name)
            x = self.vector(other, space)
            if len(weights) and x.any():
                found.append(condition(weights, vectors, x)[1])
        return float(np.mean(found)) if found else float("nan")


# ------------------------------------------------------------------------------------------------------------ phrases


@dataclass(frozen=True, slots=True)
class Filled:
    """A head and what fills its slots."""

    head: Leaf
    slots: tuple[tuple[str, tuple[Leaf, ...]], ...] = ()  # the name of each filled slot, the heads of its fillers
    negated: bool = False
    weight: float = 1.0  # the probability of the reading that it belongs to


Heads = tuple[Filled, ...]  # a phrase; it has several heads if they are coordinated


def filled(tree: Tree, modifying: Mapping[int, str] | None = None) -> dict[int, Heads]:
    """The filled slots at every node of a tree, by the id of the node.

    A verb takes its object from the right and its subject from the left; a modifier fills the slot ``mod`` of what it
    modifies; each of several coordinated words is filled, and fills. A negated filler negates the head that it fills.

    Args:
        modifying: the slots of modifiers that do not fill ``mod``, such as a preposition, by the modifier's position.
    """
    found: dict[int, Heads] = {}
    for node in postorder(tree):
        if isinstance(node, Leaf):
            found[id(node)] = (Filled(node),)
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


def modifying_slots(read: Read) -> dict[int, str]:
    """The slots that modifiers of a parsed sentence fill: a preposition's name, or ``comp``; by their positions."""
    found = {}
    for token, leaf in zip(read.tokens, read.leaf_of, strict=True):
        if leaf is not None and token.label == "pobj":
            found[leaf.position] = read.tokens[token.head].lemma.lower()
        elif leaf is not None and token.label == "compound":
            found[leaf.position] = "comp"
    return found


def phrase_matrix(
    slots: Slots,
    state: Heads,
    open_slots: Mapping[int, tuple[str, ...]] | None = None,
    negation: Negation | None = None,
) -> DensityMatrix:
    """The density matrix of a phrase.

    Args:
        open_slots: by the position of a head, slots that the whole sentence fills; those that this part of it does not
            fill are not conditioned.
        negation: what *not* does; None: nothing.
    """
    parts = []
    for item in state:
        wanted = (open_slots or {}).get(item.head.position, ())
        part = _factor(slots, item, wanted)
        if item.negated and negation is not None and negation.apply is not None:
            part = negation.apply(part, negation.context and _other_heads(slots, item, wanted))
        parts.append(np.sqrt(item.weight) / np.linalg.norm(part) * part)
    return DensityMatrix(np.concatenate(parts, axis=1))


def _other_heads(slots: Slots, item: Filled, wanted: Iterable[str]) -> Array:
    """The worldly context of a negated phrase: the phrase with the words most like its head, weighted (1 + cos) / 2."""
    lexicon, word = slots.lexicon, item.head.word
    roles = [*dict(item.slots), *wanted]
    shares = (lexicon[word].factor ** 2).sum(axis=0)  # of the parts of speech
    space = head_space(roles[0]) if roles else SPACES[int(np.argmax(shares))]
    every = slots.vectors(np.arange(len(lexicon)), space)
    near = np.where(every.any(axis=1), (1 + every @ slots.vector(word, space)) / 2, 0.0)
    near[lexicon.vocabulary.index(word)] = 0.0
    best = [row for row in np.argsort(-near, kind="stable")[:ALTERNATIVES] if near[row] > 0]
    if not best:
        raise InputError(f"no word is like {word!r}, to say what is meant instead: use negation 'logical'")
    others = [replace(item, head=Leaf(lexicon.vocabulary.words[row], item.head.position)) for row in best]
    factors = [np.sqrt(near[row]) * _factor(slots, other, wanted) for row, other in zip(best, others, strict=True)]
    return compress(np.concatenate(factors, axis=1))


def _factor(slots: Slots, item: Filled, wanted: Iterable[str]) -> Array:
    """The factor (n + 4d, columns) of a head with its slots, of unit trace."""
    d, n, word = slots.dim, slots.lexicon.n, item.head.word
    given = dict(item.slots)
    roles = sorted({*given, *wanted}, key=lambda role: (PLACES.get(role, PREPOSITION), role))
    head = np.asarray(slots.lexicon[word].factor)
    if roles and (own := slots.vector(word, head_space(roles[0]))).any():
        number = SPACES.index(head_space(roles[0]))
        head = np.zeros((n, 1))
        head[number * d : (number + 1) * d, 0] = own
    blocks = [(0, head)]
    for role in roles:
        weights, vectors = slots.mixture(word, role)
        if not len(weights):
            continue
        if role in given:
            x = np.mean([slots.vector(leaf.word, filler_space(role)) for leaf in given[role]], axis=0)
            if (length := np.linalg.norm(x)) > 0:
                weights, _ = condition(weights, vectors, x / length)
        blocks.append((n + PLACES.get(role, PREPOSITION) * d, compress(vectors.T * np.sqrt(weights))))
    columns = []
    for at, block in blocks:
        share = (len(blocks) - 1) ** -0.25 if at else 1.0  # the slots together weigh as much as the head
        placed = np.zeros((n + (PREPOSITION + 1) * d, block.shape[1]))
        placed[at : at + len(block)] = share / np.sqrt(np.linalg.norm(block.T @ block)) * block
        columns.append(placed)
    factor = np.concatenate(columns, axis=1)
    return np.asarray(factor / np.linalg.norm(factor))


def phrase_plausibility(slots: Slots, state: Heads) -> float:
    """How well the words of a phrase go together: the mean plausibility over the filled slots of its heads.

    In a sentence only the verb's slots count; NaN if none is known.
    """
    known = [
        slots.plausibility(item.head.word, slot, leaf.word)
        for item in state
        for slot, leaves in item.slots
        if slot != "mod" or all(name == "mod" for name, _ in item.slots)
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
        """At every node its head, with the slots that are filled there conditioned."""
        slots, states = Slots.of(words), filled(read.tree, modifying_slots(read))
        whole: dict[int, tuple[str, ...]] = {}  # the slots of each head that the whole sentence fills
        for item in (item for state in states.values() for item in state):
            names = [*whole.get(item.head.position, ()), *dict(item.slots)]
            whole[item.head.position] = tuple(dict.fromkeys(names))
        silent = {id(node.functor) for node in nodes(read.tree, "negation")}
        meanings = {
            path: phrase_matrix(slots, states[id(node)], whole, self.negation)
            for path, node in with_paths(read.tree)
            if id(node) not in silent
        }
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
    slots = Slots.of(lexicon)
    said, other = (x if isinstance(x, Composition) else lexicon.compose(x, "slots") for x in (phrase, by))
    fit = phrase_plausibility(slots, filled(other.tree)[id(other.tree)])
    return float(lexicon.similarity(said, other)) + PLAUSIBILITY * fit


SLOTS = (
    BySlots(),
    BySlots("slots+plausibility", "as slots; compared, with 0.2 ln Z of the substitute: do its words go together?"),
)
