"""What a lexicon answers with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polysema.density import DensityMatrix
from polysema.errors import check_choice, needing
from polysema.meanings.descriptions import SenseDescription
from polysema.meanings.parts import PartOfSpeech

T = TypeVar("T")


class Results(list[T]):
    """A list of answers that shows itself as a table in a notebook and becomes a DataFrame with one call."""

    def to_frame(self, library: str = "pandas") -> Any:
        """A row an answer, in the order given; see :func:`polysema.frame`."""
        return frame(self, library)


def to_row(item: Any) -> dict[str, Any]:
    """An answer as one flat row: its own ``to_row``, else what JSON has of it without lists and tables."""
    if hasattr(item, "to_row"):
        return dict(item.to_row())
    return {key: value for key, value in item.to_dict().items() if not isinstance(value, list | tuple | dict)}


def to_rows(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Answers as rows that share their columns; where one has no such figure, it is None."""
    rows = [to_row(item) for item in items]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


LIBRARIES = ("pandas", "polars")


def frame(results: Any, library: str = "pandas") -> Any:
    """Answers as a DataFrame, a row each: senses, neighbours, ambiguities, disambiguations, or a composition's nodes.

    Args:
        library: ``pandas`` or ``polars``.
    """
    check_choice("library", library, LIBRARIES)
    if not isinstance(results, Sequence):  # the nodes of a composition, the senses of a word in context
        results = results.steps if hasattr(results, "steps") else results.senses
    return framed(to_rows(results), library)


def framed(rows: list[dict[str, Any]], library: str, index: Any = None) -> Any:
    """Rows as a DataFrame of a library."""
    if library == "polars":
        with needing("a DataFrame of polars", "frames"):
            import polars
        return polars.DataFrame(rows, infer_schema_length=None)
    return pandas_library().DataFrame(rows, index=index)


def pandas_library() -> Any:
    """The module pandas; an error where it is not installed."""
    with needing("a DataFrame", "frames"):
        import pandas
    return pandas


@runtime_checkable
class InContext(Protocol):
    """A word in a context, whose density matrix there can be compared: a disambiguation."""

    @property
    def meaning(self) -> DensityMatrix:
        """The word's density matrix in this context."""


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
        weight: its share of the word's occurrences where the lexicon was described from a corpus, else of its trace;
            the weights of all senses sum to one.
        vector: its direction, a unit vector (n,).
        neighbours: the words nearest to it.
        face: what it looks like in use; None where the lexicon was not described from a corpus.
        part: its part of speech (Universal Dependencies), such as ``NOUN``; None where that is not known.
        part_share: how many of its occurrences are that; None where that is not known.
    """

    id: int
    weight: float
    vector: NDArray[np.float64]
    neighbours: list[Neighbour]
    description: SenseDescription | None = None
    part: PartOfSpeech | None = None
    part_share: float | None = None

    @property
    def label(self) -> str:
        """What to call it: the words that tell it from the others, else those nearest to it."""
        return label(self.neighbours, self.description)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the vector."""
        facts = {"id": self.id, "weight": self.weight}
        near = [item.to_dict() for item in self.neighbours]
        face = {} if self.description is None else self.description.to_dict()
        return {**facts, "neighbours": near, **face, "part": self.part, "part_share": self.part_share}

    def to_row(self) -> dict[str, Any]:
        """For a table."""
        return {"id": self.id, "weight": self.weight, "label": self.label, "part": self.part}

    def __repr__(self) -> str:
        return f"Sense({self.id}, weight={self.weight:.2f}, {self.label})"


def label(neighbours: list[Neighbour], description: SenseDescription | None) -> str:
    """The words to call a sense by."""
    return " ".join(
        description.words if description is not None and description.words else (item.word for item in neighbours)
    )


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """How ambiguous a word is.

    Attributes:
        word: the word.
        entropy: its von Neumann entropy.
        effective_senses: exp of that.
        count: how often the word was seen; 0 where that is not known.
        information: how much of its meaning contexts tell; None where that is not known.
        percentile: the share, in percent, of words of like frequency that are less ambiguous; None where there are no
            others.
    """

    word: str
    entropy: float
    effective_senses: float
    count: int
    information: float | None = None
    percentile: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        told = "" if self.information is None else f", information={self.information:.3f}"
        return f"Ambiguity({self.word!r}, entropy={self.entropy:.3f}{told})"
