"""Lexicons as rows of plain numbers: a vector a word, or a matrix row by row."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError, MatrixError, needing
from polysema.meanings.meanings import Matrices, Meanings, from_matrices
from polysema.meanings.parts import Parts
from polysema.senses.senses import senses_of
from polysema.vocabulary import Vocabulary

TEXT_TOLERANCE = 1e-4  # how far matrices written as text may be from symmetric and positive: their decimals are few


def from_rows(vocabulary: Vocabulary, rows: NDArray[Any], kind: str = "auto", where: str = "") -> Meanings[Any]:
    """A lexicon from (V, d) numbers: vectors, or flattened n×n matrices where d = n².

    Args:
        kind: "vectors", "matrices", or "auto": matrices when all of a sample are symmetric with no negative diagonal.
        where: what to call the source in messages.
    """
    width = rows.shape[1]
    n = isqrt(width)
    if kind == "auto":
        kind = "matrices" if n > 1 and n * n == width and _looks_symmetric(rows[:200].reshape(-1, n, n)) else "vectors"
    if kind == "vectors":
        bad = ~np.isfinite(rows).all(axis=1)
        if bad.any():
            word = vocabulary.words[int(np.argmax(bad))]
            raise FormatError(f"{where}{word!r}: its vector is not finite (NaN or infinity)")
        return Meanings(vocabulary, rows)
    if n * n != width:
        raise FormatError(
            f"{where}{width} numbers a word are no n×n matrix: {width} is not a square "
            f"(the nearest are {n}² = {n * n} and {n + 1}² = {(n + 1) ** 2})"
        )
    try:
        return from_matrices(vocabulary, rows.reshape(-1, n, n), TEXT_TOLERANCE)
    except MatrixError as error:
        raise MatrixError(f"{where}{error}") from None


def to_rows(lexicon: Meanings[Any], start: int, stop: int) -> NDArray[np.float32]:
    """Words ``start`` … ``stop`` as rows: vectors as they are, matrices of unit trace row by row."""
    if lexicon.kind == "vectors":
        return np.asarray(lexicon.array[start:stop], dtype=np.float32)
    if start == stop:
        return np.empty((0, lexicon.n**2), dtype=np.float32)
    dense = lexicon.stack(lexicon.vocabulary.words[start:stop]).dense()
    return np.asarray(dense.reshape(stop - start, -1), dtype=np.float32)


def stored_as(numbers: NDArray[Any], dtype: str, words: Sequence[str]) -> NDArray[Any]:
    """Numbers (V, …) as they are written; an error that names the word where the type cannot hold them.

    Half precision ends at 65504 and has hardly a digit below 6·10⁻⁵: a word whose numbers would be infinite, or be off
    by more than a hundredth of their length, is refused. Factors at unit trace always fit.
    """
    with np.errstate(over="ignore"):
        rounded = numbers.astype(dtype)
    if numbers.dtype.itemsize <= rounded.dtype.itemsize:
        return rounded
    for start in range(0, len(numbers), 8192):
        exact = numbers[start : start + 8192].reshape(len(numbers[start : start + 8192]), -1).astype(np.float64)
        error = np.linalg.norm(exact - rounded[start : start + 8192].reshape(exact.shape), axis=1)
        bad = ~(error <= 0.01 * np.linalg.norm(exact, axis=1))
        if bad.any():
            row = int(np.argmax(bad))
            largest = float(np.abs(exact[row]).max())
            raise InputError(f"{words[start + row]!r}: numbers up to {largest:.3g} do not fit {dtype}: use float32")
    return rounded


def from_gensim(vectors: Any, kind: str = "auto") -> Meanings[Any]:
    """A lexicon from gensim ``KeyedVectors``: vectors, or flattened matrices as :func:`to_gensim` makes them."""
    counts = vectors.expandos["count"] if "count" in getattr(vectors, "expandos", {}) else None
    return from_rows(Vocabulary(vectors.index_to_key, counts), vectors.vectors, kind)


def most_frequent(lexicon: Meanings[Any], words: int) -> Meanings[Any]:
    """A lexicon of the most frequent words alone, in their order, without its parts."""
    rows = np.sort(np.argsort(-lexicon.vocabulary.counts, kind="stable")[:words])
    kept = Vocabulary([lexicon.vocabulary.words[row] for row in rows], lexicon.vocabulary.counts[rows])
    return Meanings(kept, lexicon.array[rows], metadata=lexicon.metadata)


def with_senses(lexicon: Matrices, words: int | None = None) -> Matrices:
    """A key for every sense beside its word: ``bank``, ``bank#0``, ``bank#2`` …, by the numbers of the senses.

    A sense is the pure state v vᵀ; its count is its share of the word's. Words of one sense have no further key.

    Args:
        words: take this many of the most frequent words only.
    """
    own = lexicon.vocabulary
    rows = np.sort(np.argsort(-own.counts, kind="stable")[:words])
    keys, counts, factors = [], [], []
    for row in rows.tolist():
        word, count = own.words[row], int(own.counts[row])
        keys.append(word)
        counts.append(count)
        factors.append(lexicon[word].factor)
        senses = senses_of(lexicon, word)
        if len(senses.ids) > 1:
            for number, weight, vector in zip(senses.ids.tolist(), senses.weights, senses.vectors, strict=True):
                keys.append(f"{word}#{number}")
                counts.append(round(float(weight) * count))
                factors.append(np.pad(vector[:, None], ((0, 0), (0, lexicon.m - 1))))
    words_and_senses = Vocabulary(keys, counts).checked()
    parts = Parts(columns=lexicon.parts.columns)
    return Meanings(words_and_senses, np.array(factors, np.float32), parts=parts, metadata=lexicon.metadata)


def to_gensim(lexicon: Meanings[Any]) -> Any:
    """gensim ``KeyedVectors`` with the rows of a lexicon."""
    with needing("converting to gensim", "gensim"):
        from gensim.models import KeyedVectors
    rows = to_rows(lexicon, 0, len(lexicon))
    vectors = KeyedVectors(rows.shape[1])
    vectors.add_vectors(lexicon.vocabulary.words, rows)
    for word, count in zip(lexicon.vocabulary.words, lexicon.vocabulary.counts, strict=True):
        vectors.set_vecattr(word, "count", int(count))
    return vectors


def _looks_symmetric(matrices: NDArray[Any]) -> bool:
    if not len(matrices) or not np.isfinite(matrices).all():
        return False
    scale = np.abs(matrices).max(axis=(-2, -1))
    skew = np.abs(matrices - matrices.transpose(0, 2, 1)).max(axis=(-2, -1))
    diagonal = np.diagonal(matrices, axis1=1, axis2=2).min(axis=-1)
    return bool((skew <= TEXT_TOLERANCE * scale).all() and (diagonal >= -TEXT_TOLERANCE * scale).all())
