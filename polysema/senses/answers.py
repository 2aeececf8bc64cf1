"""What is said about the senses of a word, alone and in a context.

A sense comes from a dictionary, which names it (key, gloss, synonyms …), or was found in text, where it is a column of
the word's factor with the words near to it. Both are the same kind of answer; what one of them lacks is empty.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from polysema.composition.occurrences import Span
from polysema.composition.trees import Tree
from polysema.density import DensityMatrix
from polysema.meanings.descriptions import PartOfSpeech, SenseDescription
from polysema.meanings.results import Neighbour, Results, plain


@dataclass(frozen=True, slots=True, repr=False)
class Sense:
    """One sense of a word.

    Attributes:
        id: its number among the word's senses, from 0: the same in every context and whatever the order.
        weight: its share of the word: p_s of a dictionary; of the word's occurrences or of its trace, where it was
            found in text. The weights of all senses sum to one.
        vector: its direction, a unit vector: of the gloss, or of the column of the word's factor.
        label: what to call it: synonyms and the head of the gloss; or words that tell it from the word's other senses,
            else those nearest to it.
        part: its part of speech (Universal Dependencies), such as ``NOUN``; None where that is not known.
        part_share: how many of its occurrences are that; None where that is not known.
        neighbours: the words nearest to it; none for a sense of the dictionary.
        description: what it looks like in use; None where the lexicon was not described from a corpus.
        key: WordNet's sense key, such as ``bank%1:17:01::``; empty for a sense found in text, as all that follows.
        gloss: the definition.
        synset: offset and part of speech, such as ``09213565-n``.
        synonyms: the words of the synset, the word itself included.
        examples: sentences that the dictionary gives.
        field: the lexical field, such as ``animal``.
        keys: the keys that a coarse sense holds, ``key`` the first; of a fine sense its own.
        count: occurrences in the tagged corpus that the weight comes from.
        offensive: whether the dictionary calls it a slur, disparaging or obscene.
    """

    id: int
    weight: float
    vector: NDArray[Any] = dataclasses.field(compare=False)
    label: str = ""
    part: PartOfSpeech | None = None
    part_share: float | None = None
    neighbours: list[Neighbour] = dataclasses.field(default_factory=list, hash=False)
    description: SenseDescription | None = dataclasses.field(default=None, hash=False)
    key: str = ""
    gloss: str = ""
    synset: str = ""
    synonyms: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    field: str = ""
    keys: tuple[str, ...] = ()
    count: int = 0
    offensive: bool = False

    @property
    def lemma(self) -> str:
        """The word that its key belongs to: *see* for a sense of *saw*; empty for a sense found in text."""
        return self.key.partition("%")[0].replace("_", " ")

    @property
    def caption(self) -> str:
        """What it is called in full: three synonyms and the gloss; the label of a sense found in text."""
        if not self.gloss:
            return self.label
        others = ", ".join([word for word in self.synonyms if word.lower() != self.lemma][:3])
        return f"{'(offensive) ' * self.offensive}{others}{': ' * bool(others)}{self.gloss}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the vector. What a description knows stands beside the rest."""
        names = [each.name for each in dataclasses.fields(self) if each.name not in ("vector", "description")]
        described = {} if self.description is None else self.description.to_dict()
        own = {name: plain(getattr(self, name)) for name in names}
        return {**own, **described, "part": self.part, "part_share": self.part_share}

    def to_row(self) -> dict[str, Any]:
        """For a table."""
        return {name: getattr(self, name) for name in ("id", "weight", "label", "part", "key", "gloss")}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id}, weight={self.weight:.2f}, {self._named})"

    @property
    def _named(self) -> str:
        return f"{self.key} {self.gloss!r}" if self.key else self.label


@dataclass(frozen=True, slots=True, repr=False)
class SenseInContext(Sense):
    """One sense of a word in a context.

    Attributes:
        probability: p(k | context), by all that is known.
        by_context: its probability by the words around alone.
        by_composition: its probability by composition alone; None where there is no tree.
    """

    probability: float = 0.0
    by_context: float = 0.0
    by_composition: float | None = None

    def to_row(self) -> dict[str, Any]:
        """For a table."""
        return {"id": self.id, "probability": self.probability, **Sense.to_row(self)}

    def __repr__(self) -> str:
        return f"SenseInContext({self.id}, probability={self.probability:.2f}, {self._named})"


@dataclass(frozen=True, slots=True, repr=False)
class Disambiguation:
    """A word in a context.

    Attributes:
        word: the word that was asked about, as the lexicon or the dictionary spells it.
        context: the text it stands in.
        span: where it stands there, in characters.
        occurrence: which of its occurrences there this is, from 0.
        occurrences: how many there are.
        senses: its senses, the most probable first.
        meaning: the word's density matrix in this context.
        entropy_before: the von Neumann entropy of the word without a context.
        entropy_after: that of its meaning here.
        tree: the tree that composition followed; None for a text that was not parsed, or that an encoder read.
        no_tree: why there is no tree; empty where there is, or where an encoder read the text.
        fits: whether one of the senses fits: False says that none of these is likely meant; None where that is not
            known.
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
    tree: Tree | None = None
    no_tree: str = ""
    fits: bool | None = None

    @property
    def sense(self) -> SenseInContext:
        """The most probable sense."""
        return self.senses[0]

    @property
    def form(self) -> str:
        """The word as it stands in the context."""
        return self.context[slice(*self.span)]

    @property
    def only_sense(self) -> bool:
        """Whether no other sense of the word is known: then its probability says nothing."""
        return len(self.senses) == 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; without the density matrix."""
        names = (
            "word", "context", "form", "span", "occurrence", "occurrences", "tree", "no_tree", "fits", "only_sense",
            "entropy_before", "entropy_after", "senses",
        )  # fmt: skip
        tree = None if self.tree is None else str(self.tree)
        return {name: tree if name == "tree" else plain(getattr(self, name)) for name in names}

    def to_row(self) -> dict[str, Any]:
        """For a table: the word, where it stands, and the sense that is meant."""
        place = {"word": self.word, "form": self.form, "start": self.span[0], "end": self.span[1]}
        names = ("probability", "part", "label", "key", "gloss")
        sense = {"sense": self.sense.id, **{name: getattr(self.sense, name) for name in names}}
        own = ("fits", "only_sense", "entropy_before", "entropy_after")
        return {**place, **sense, **{name: getattr(self, name) for name in own}}

    def to_frame(self, library: str = "pandas") -> Any:
        """A row a sense, the most probable first."""
        return Results(self.senses).to_frame(library)

    def __repr__(self) -> str:
        sense = self.sense
        near = sense.key or " ".join(item.word for item in sense.neighbours[:3])
        known = "the only sense known" if self.only_sense else f"{sense.probability:.2f}"
        doubt = ", none of these?" if self.fits is False else ""
        return f"Disambiguation({self.word!r} at {self.span}: sense {sense.id} ({near}) {known}{doubt})"

    def __str__(self) -> str:
        lines = [f"{self.word}: {self.context}", f"entropy {self.entropy_before:.3f} → {self.entropy_after:.3f}"]
        if self.only_sense:
            lines.append(f"  the only sense known: {self.sense.gloss or self.sense.label}")
            return "\n".join(lines)
        for sense in self.senses:
            name = f"{sense.key}  {sense.gloss}" if sense.key else sense.label
            lines.append(f"  {sense.probability:.2f}  (before {sense.weight:.2f})  {name}")
        if self.fits is False:
            lines.append("  none of these?")
        return "\n".join(lines)
