"""What a lexicon answers with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Neighbour(NamedTuple):
    """A word and how similar it is."""

    word: str
    similarity: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"word": self.word, "similarity": self.similarity}

    def __repr__(self) -> str:
        return f"Neighbour({self.word!r}, {self.similarity:.3f})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sense:
    """One sense of a word.

    Attributes:
        id: the number of its column in the word's factor (of its eigenvector, where columns are not senses): it stays
            the same whatever order senses are listed in.
        weight: its share of the word's trace; the weights of all senses sum to one.
        vector: its direction, a unit vector (n,).
        neighbours: the words nearest to it.
    """

    id: int
    weight: float
    vector: NDArray[np.float64]
    neighbours: list[Neighbour]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the vector."""
        return {"id": self.id, "weight": self.weight, "neighbours": [item.to_dict() for item in self.neighbours]}

    def __repr__(self) -> str:
        return f"Sense({self.id}, weight={self.weight:.2f}, {' '.join(item.word for item in self.neighbours[:4])})"


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """How ambiguous a word is.

    Attributes:
        word: the word.
        entropy: its von Neumann entropy.
        effective_senses: exp of that.
        count: how often the word was seen; 0 where that is not known.
    """

    word: str
    entropy: float
    effective_senses: float
    count: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"Ambiguity({self.word!r}, entropy={self.entropy:.3f})"
