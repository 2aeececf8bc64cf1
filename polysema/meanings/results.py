"""What a lexicon answers with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from polysema.errors import check_choice, needing

T = TypeVar("T")


class Results(list[T]):
    """A list of answers that shows itself as a table in a notebook and becomes a DataFrame with one call."""

    def to_frame(self, library: str = "pandas") -> Any:
        """A row an answer, in the order given; see :func:`polysema.frame`."""
        return frame(self, library)

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [plain(item) for item in self]


class Record:
    """A frozen dataclass, or a NamedTuple, whose JSON is its fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: plain(getattr(self, name)) for name in self.__match_args__}  # type: ignore[attr-defined]


def plain(value: Any) -> Any:
    """A value for JSON: answers and named tuples as dictionaries, other tuples as lists."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, tuple):
        return dict(zip(value._fields, value, strict=True)) if hasattr(value, "_fields") else [plain(v) for v in value]
    return value


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


class Neighbour(NamedTuple):
    """A word and how similar it is."""

    word: str
    similarity: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return self._asdict()

    def __repr__(self) -> str:
        return f"Neighbour({self.word!r}, {self.similarity:.3f})"


def clean(value: Any) -> Any:
    """What JSON can hold of a value: numbers that are not finite become null, what it does not know becomes text."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value if isinstance(value, str | int | bool) or value is None else str(value)
