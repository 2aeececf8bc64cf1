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
    left, values = leading(matrix, rank, seed)
    found = np.zeros((len(chosen), dim))
    found[:, :rank] = left * np.sqrt(values)
    some = found.any(axis=1)
    units = _unit(found)
    units[some] -= units[some].mean(axis=0)
    return _unit(units).astype(np.float32)


def leading(matrix: Any, rank: int, seed: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The leading left singular vectors (rows, rank), the largest entry of each positive, and their values (rank,).

    By block Krylov iteration on A = M Mᵀ (Musco & Musco 2015), in single precision: with Q an orthonormal basis of
    [A Y, A² Y, …] they follow from the eigenvectors of Qᵀ A Q. A small matrix is taken as it is.
    """
    rows = matrix.shape[0]
    tall = matrix.astype(np.float32)
    if rows <= rank * ROUNDS:
        basis = np.eye(rows, dtype=np.float32)
        inside = np.asarray((tall @ tall.T).todense())
    else:
        wide = tall.T.tocsr()
        block = np.random.default_rng(seed).standard_normal((rows, rank), np.float32)
        block = tall @ (wide @ block)
        blocks: list[NDArray[np.float32]] = []
        images: list[NDArray[np.float32]] = []
        for _ in range(ROUNDS):
            for known in (*blocks, *blocks):  # twice: once is not enough in single precision
                block -= known @ (known.T @ block)
            block, _ = np.linalg.qr(block)
            blocks.append(block)
            block = tall @ (wide @ block)
            images.append(block.copy())
        basis = np.concatenate(blocks, axis=1)
        inside = basis.T @ np.concatenate(images, axis=1)
    squares, turn = np.linalg.eigh((inside + inside.T).astype(np.float64) / 2)
    left = basis @ turn[:, ::-1][:, :rank]
    left *= np.sign(left[np.abs(left).argmax(axis=0), np.arange(rank)])
    return left, np.sqrt(np.maximum(squares[::-1][:rank], 0.0))


ROUNDS = 6
"""Of block Krylov iteration."""


def positive_pmi(row: Ints, column: Ints, count: NDArray[np.float64], shape: tuple[int, int]) -> Any:
    """max(ln P(r, c) / (P(r) P_α(c)), 0) as a sparse matrix of SciPy's."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise MissingExtraError("training slots", "parse") from None
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
