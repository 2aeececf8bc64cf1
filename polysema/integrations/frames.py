"""Columns of pandas and polars: one question per row, answers as a column or a DataFrame.

A column is a Series of pandas or polars, or any sequence. The result belongs to the same library (pandas for plain
sequences) and has the same index and order. Missing values stay missing, and so do words that are not in the lexicon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from polysema.errors import Failed, InputError
from polysema.lexicon.lexicon import Lexicon, load, ranking, with_matrices
from polysema.meanings.results import frame as frame
from polysema.meanings.results import framed, pandas_library, to_rows


def entropy(words: Any, lexicon: Lexicon | None = None) -> Any:
    """The von Neumann entropy of each word, as a column of numbers."""
    known = _lexicon(lexicon)
    rows = [known.vocabulary.find(word) if isinstance(word, str) else -1 for word in _values(words)]
    return _column([None if row < 0 else float(ranking(known).entropies[row]) for row in rows], words, "entropy")


def ambiguity(words: Any, lexicon: Lexicon | None = None, *, by: str = "") -> Any:
    """The ambiguity of each word: a frame of ``entropy``, ``effective_senses``, ``information`` …, one row per word.

    Args:
        by: as :meth:`Lexicon.ambiguity <polysema.Lexicon.ambiguity>` takes it.
    """
    known = _lexicon(lexicon)
    return _answers(words, [_values(words)], lambda rows: known.ambiguity([word for (word,) in rows], by=by))


def disambiguate(words: Any, contexts: Any, lexicon: Lexicon | None = None, **options: Any) -> Any:
    """The sense of each word in its context: a frame of ``sense``, ``probability``, ``label`` …, one row per pair.

    Where a row failed, such as for a word that is not in its sentence, the column ``error`` says why.

    Args:
        words: a column, or one word for all contexts.
        options: as :meth:`Lexicon.disambiguate <polysema.Lexicon.disambiguate>` takes them.
    """
    known, sentences = _lexicon(lexicon), _values(contexts)
    asked = [words] * len(sentences) if isinstance(words, str) else _values(words)
    if len(asked) != len(sentences):
        raise InputError(f"{len(asked)} words and {len(sentences)} contexts: give one context per word")
    return _answers(contexts, [asked, sentences], lambda pairs: known.disambiguate(pairs, **options))


def _answers(column: Any, columns: list[list[Any]], ask: Any) -> Any:
    """A frame with one row per row of the columns; rows with a missing value are not asked about."""
    given = list(zip(*columns, strict=True))
    whole = [i for i, row in enumerate(given) if not any(_is_missing(value) for value in row)]
    found: list[Any] = [None] * len(given)
    for i, answer in zip(whole, ask([given[i] for i in whole]), strict=True):
        found[i] = answer
    known = [item for item in found if item is not None and not isinstance(item, Failed)]
    names = list(to_rows(known)[0]) if known else []
    rows = []
    for item in found:
        row = dict.fromkeys(names) if item is None or isinstance(item, Failed) else to_rows([item])[0]
        rows.append({**row, "error": str(item.error) if isinstance(item, Failed) else None})
    return framed(rows, _library(column), _index(column))


def _lexicon(lexicon: Lexicon | None) -> Lexicon:
    return load() if lexicon is None else with_matrices(lexicon, "a column")


def _is_missing(value: Any) -> bool:
    nan = isinstance(value, float) and math.isnan(value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def _library(column: Any) -> str:
    return "polars" if type(column).__module__.startswith("polars") else "pandas"


def _values(column: Any) -> list[Any]:
    if isinstance(column, str):
        raise InputError(f"a column of words is expected, not the word {column!r} alone")
    return list(column.to_list() if hasattr(column, "to_list") else column)


def _column(values: Iterable[float | None], like: Any, name: str) -> Any:
    if _library(like) == "polars":
        import polars

        return polars.Series(name, list(values), dtype=polars.Float64)
    return pandas_library().Series(list(values), index=_index(like), name=name, dtype="float64")


def _index(column: Any) -> Any:
    index = getattr(column, "index", None)  # a method, of lists
    return None if callable(index) else index
