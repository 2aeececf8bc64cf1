"""Vectors of nouns, verbs and adjectives from the slots they take part in.

    M[w, f] = max(ln P(w, f) / (P(w) P_α(f)), 0) ,   M ≈ U S Vᵀ ,   v_w = U_w S^½ ,  centred, of length one

over features f such as *object of run* for a noun and *has the object hotel* for a verb; P_α is smoothed by the power
0.75 (Levy, Goldberg & Dagan 2015). Each part of speech has a space of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, MissingExtraError
from polysema.slots.parsed import Parsed

SPACES = ("noun", "verb", "adjective")
"""The spaces that words have vectors in, in their order."""

NOUN_SLOTS = frozenset({"mod", "comp", "of"})
"""Slots of nouns; all others are slots of verbs."""

SMOOTHING = 0.75

Ints = NDArray[np.int64]


def filler_space(slot: str) -> str:
    """The part of speech that fills a slot."""
    return "adjective" if slot == "mod" else "noun"


def head_space(slot: str) -> str:
    """The part of speech that has a slot."""
    return "noun" if slot in NOUN_SLOTS else "verb"


def uses(parsed: Parsed, space: str) -> Ints:
    """How often each word took part in a relation as this part of speech, (words,)."""
    word, _, count = _features(parsed, space)
    return np.bincount(word, count, len(parsed.words)).astype(np.int64)


def vectors_of(parsed: Parsed, space: str, dim: int, chosen: Ints, seed: int = 1) -> NDArray[np.float32]:
    """Unit vectors of chosen words, (len(chosen), dim); zero for a word without a feature that is left."""
    try:
        from scipy.sparse.linalg import svds
    except ImportError:
        raise MissingExtraError("training slots", "parse") from None
    word, feature, count = _features(parsed, space)
    row = np.full(len(parsed.words), -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    known = row[word] >= 0
    word, count = row[word[known]], count[known]
    _, column = np.unique(feature[known], return_inverse=True)
    matrix = positive_pmi(word, column.ravel(), count, (len(chosen), int(column.max(initial=-1)) + 1))
    rank = min(dim, min(matrix.shape) - 1)
    if rank < 1:
        raise InputError(f"{len(chosen)} words are too few for vectors: parse more text, or lower --min-count")
    start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
    left, values, right = svds(matrix, k=rank, v0=start)
    order = np.argsort(-values)
    signs = np.sign(right[np.arange(rank), np.abs(right).argmax(axis=1)])[order]
    scaled = left[:, order] * signs * np.sqrt(np.maximum(values[order], 0.0))
    found = np.zeros((len(chosen), dim))
    found[:, :rank] = scaled
    some = found.any(axis=1)
    units = _unit(found)
    units[some] -= units[some].mean(axis=0)
    return _unit(units).astype(np.float32)


def positive_pmi(row: Ints, column: Ints, count: NDArray[np.float64], shape: tuple[int, int]) -> Any:
    """max(ln P(r, c) / (P(r) P_α(c)), 0) as a sparse matrix of SciPy's."""
    from scipy.sparse import csr_matrix

    table = csr_matrix((count, (row, column)), shape).tocoo()
    of_row = np.bincount(table.row, table.data, shape[0])
    of_column = np.bincount(table.col, table.data, shape[1]) ** SMOOTHING
    share = of_column / of_column.sum()
    pmi = np.log(table.data / (of_row[table.row] * share[table.col]))
    kept = pmi > 0
    return csr_matrix((pmi[kept], (table.row[kept], table.col[kept])), shape)


def _features(parsed: Parsed, space: str) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The words of a part of speech, their features as numbers, and how often they go together."""
    slots, size = len(parsed.slots), len(parsed.words)
    as_head = np.array([head_space(slot) == space for slot in parsed.slots])[parsed.slot]
    as_filler = np.array([filler_space(slot) == space for slot in parsed.slots])[parsed.slot]
    head, slot, filler = (array.astype(np.int64) for array in (parsed.head, parsed.slot, parsed.filler))
    word = np.concatenate([head[as_head], filler[as_filler]])
    feature = np.concatenate(
        [slot[as_head] * size + filler[as_head], (slots + slot[as_filler]) * size + head[as_filler]]
    )
    return word, feature, np.concatenate([parsed.count[as_head], parsed.count[as_filler]]).astype(np.float64)


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0), np.float64)
