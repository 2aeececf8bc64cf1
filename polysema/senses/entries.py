"""The entries of a dictionary: a word with its senses, fine and coarse, and what is looked up once for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.composition.occurrences import Span
from polysema.meanings.descriptions import PartOfSpeech
from polysema.measures import mixture_entropies
from polysema.senses.answers import Sense, SenseInContext
from polysema.senses.dictionary_files import DictionaryFile

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

MOST_SHOWN = 8
"""Coarse senses that are shown of a word; all of its fine ones are shown when they are asked for."""

UNIVERSAL: tuple[PartOfSpeech, ...] = ("NOUN", "VERB", "ADJ", "ADV")
"""The parts of speech of a dictionary by their names in Universal Dependencies."""

_LONGEST_HEAD = 60  # characters of a gloss in a label


class Entry:
    """A word with its K senses, the most frequent first.

    A *fine* sense is a key of the dictionary, numbered by its place here. A *coarse* sense is a group of them that
    people do not tell apart, numbered by its share of the word; the likeliest of its keys stands for it.

    Args:
        word: the lemma; or a form of several lemmas, such as *saw*, with the senses of all.
        bases: the lemma of each sense.
        rows: (K,) of the senses in the file.
        frequency: (K,) p_s, falling.
        counts: (K,) tagged occurrences.
        hidden: words that are never shown as synonyms of others.
    """

    def __init__(
        self,
        file: DictionaryFile,
        word: str,
        bases: Sequence[str],
        rows: NDArray[np.int64],
        frequency: NDArray[np.float64],
        counts: NDArray[np.integer],
        hidden: frozenset[str],
    ) -> None:
        self.word, self.bases, self.rows, self.frequency = word, tuple(bases), rows, frequency
        self.synsets = file.synset_of[rows]
        self.parts = file.pos[self.synsets]
        self.vectors = file.unit_vectors(rows)
        self.logarithms = np.log(frequency)
        self._file, self._hidden = file, hidden
        self.counts = counts
        groups: dict[tuple[str, int], list[int]] = {}
        for k, (base, group) in enumerate(zip(bases, file.group[rows].tolist(), strict=True)):
            groups.setdefault((base, group), []).append(k)
        members = sorted(groups.values(), key=lambda own: -float(frequency[own].sum()))
        self.coarse = [0] * len(rows)
        for number, own in enumerate(members):
            for k in own:
                self.coarse[k] = number
        self._fine: dict[int, Sense] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def overlaps(self) -> NDArray[np.float64]:
        """⟨g_j, g_k⟩, (K, K)."""
        vectors = self.vectors.astype(np.float64)
        return np.asarray(vectors @ vectors.T)

    @cached_property
    def entropy(self) -> float:
        """S(ρ_w) of the mixture by frequencies."""
        return float(mixture_entropies(self.frequency, self.overlaps))

    @cached_property
    def is_name(self) -> bool:
        """Whether all of its senses are spelled with a capital."""
        words = (self._file.text(int(synset)).words for synset in self.synsets)
        return all(base not in own for base, own in zip(self.bases, words, strict=True))

    def sense(self, k: int) -> Sense:
        """A fine sense."""
        if k in self._fine:
            return self._fine[k]
        file, synset = self._file, int(self.synsets[k])
        text, (name, field), key = file.text(synset), file.synset(synset), file.key(int(self.rows[k]))
        is_own = {word: word.lower() == self.bases[k] for word in text.words}
        offensive = file.is_offensive(synset)
        synonyms = [w for w in text.words if is_own[w] or not (offensive or w.lower() in self._hidden)]
        head = text.gloss.split(";")[0].strip()
        if len(head) > _LONGEST_HEAD:
            head = head[:_LONGEST_HEAD].rpartition(" ")[0] + " …"
        others = ", ".join([word for word in synonyms if not is_own[word]][:3])
        self._fine[k] = Sense(
            k, float(self.frequency[k]), self.vectors[k], f"{others}: {head}" if others else head,
            UNIVERSAL[self.parts[k]], key=key, gloss=text.gloss, synset=name, synonyms=tuple(synonyms),
            examples=text.examples, field=field, keys=(key,), count=int(self.counts[k]), offensive=offensive,
        )  # fmt: skip
        return self._fine[k]

    def shown(
        self, p: Sequence[float], kept: Mask | None = None, fine: bool = False, most: int | None = MOST_SHOWN
    ) -> list[SenseInContext]:
        """The senses with their probabilities, the most probable first.

        Args:
            p: (K,) of the fine senses.
            kept: (K,) which senses to choose from; by default all.
            fine: whether to show fine senses, all of them.
            most: coarse senses to show.
        """
        weights: list[float] = self.frequency.tolist()
        rows = range(len(self)) if kept is None else np.flatnonzero(kept).tolist()
        if kept is not None:
            total = sum(weights[k] for k in rows)
            weights = [weight / total for weight in weights]
        ranked = sorted(rows, key=lambda k: -p[k])
        groups: dict[int, list[int]] = {}
        for k in ranked:
            groups.setdefault(k if fine else self.coarse[k], []).append(k)
        chances = {number: sum(p[k] for k in own) for number, own in groups.items()}
        order = sorted(groups, key=lambda number: -chances[number])[: None if fine else most]
        return [self._in_context(number, groups[number], weights, chances[number]) for number in order]

    def _in_context(self, number: int, own: list[int], weights: list[float], chance: float) -> SenseInContext:
        """A sense that stands for some fine ones, the first of them the likeliest."""
        s = self.sense(own[0])
        keys = s.keys if len(own) == 1 else tuple(self.sense(k).key for k in own)
        weight, count = sum(weights[k] for k in own), int(self.counts[own].sum())
        return SenseInContext(
            number, weight, s.vector, s.label, s.part, None, [], None, s.key, s.gloss, s.synset, s.synonyms,
            s.examples, s.field, keys, count, s.offensive, chance, chance, None,
        )  # fmt: skip

    def listed(self, kept: Mask | None = None, fine: bool = False) -> list[Sense]:
        """The senses without a context, the weightiest first."""
        p = self.frequency if kept is None else np.where(kept, self.frequency, 0.0)
        names = Sense.__match_args__
        return [Sense(*(getattr(s, name) for name in names)) for s in self.shown(p.tolist(), kept, fine)]


class Found(NamedTuple):
    """The entry of a form, and which of its senses the form can have."""

    entry: Entry
    kept: Mask | None = None  # (K,), None means all


class Place(NamedTuple):
    """Where to ask: an entry at its place in a text."""

    entry: Entry
    kept: Mask | None  # (K,), the senses to choose from; None means all
    text: str
    span: Span
    occurrence: int = 0
    occurrences: int = 1
    vector: Floats | None = None  # (n,) the word in its text, c; None where it was not read yet
