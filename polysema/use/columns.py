"""Every content word of some sentences with its senses, as columns of numbers.

For N words in S sentences, n the dimension of the dictionary and :data:`KEPT` the senses that are kept of a word:

==========  =================  ============================================================================
``count``   (S,) uint16        words of each sentence
``start``   (N,) uint16        first character in the sentence
``end``     (N,) uint16        and the one after the last
``sense``   (N, KEPT) int32    rows of the likeliest senses in the dictionary, −1 where there are fewer
``p``       (N, KEPT) uint16   their probabilities p(s | c), of 65535
``fits``    (N,) uint8         1 if one of its senses fits, 0 where that is in doubt
``vector``  (N, n) int8        the word in its sentence, c, its largest number ±127; left out if not wanted
==========  =================  ============================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence, Set
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.senses.dictionary import Dictionary
from polysema.senses.doubt import features

KEPT = 4
PARTS = 65535
TYPES = {
    "count": "<u2", "start": "<u2", "end": "<u2", "sense": "<i4", "p": "<u2", "fits": "|u1", "vector": "|i1"
}  # fmt: skip
"""The type of each column."""

Columns = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def entries(dictionary: Dictionary, text: str) -> list[tuple[int, int, Rows]]:
    """(first character, end, sense rows) of the words of a text that the dictionary knows, the longest entries."""
    found = []
    for place in dictionary.entries_of(text):
        rows = place.entry.rows if place.kept is None else place.entry.rows[place.kept]
        found.append((*place.span, rows))
    return found


def rows_of(dictionary: Dictionary, word: str, pos: str | None = None) -> Rows:
    """The sense rows of a word, by part of speech; an error where there are none."""
    entry, kept = dictionary.look_up(word, pos)
    return np.sort(entry.rows if kept is None else entry.rows[kept])


def posterior(dictionary: Dictionary, rows: Rows, contexts: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """p(s | c) and ⟨g_s, c⟩ of s senses in N contexts (N, n): (N, s) each."""
    c = dictionary.calibration
    similarities = (contexts @ dictionary.file.unit_vectors(rows).T).astype(np.float64)
    logits = c.sharpness * similarities + c.prior * np.log(dictionary.file.frequencies(rows, c.source))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True), similarities


def read_sentences(
    dictionary: Dictionary, texts: Sequence[str], wanted: Set[int] | None = None, vectors: bool = True
) -> Columns:
    """The words of sentences as columns.

    Args:
        wanted: keep the words that may have one of these sense rows; by default all.
        vectors: whether to keep the vectors.
    """
    found = [entries(dictionary, text) for text in texts]
    if wanted is not None:
        found = [[each for each in own if not wanted.isdisjoint(each[2].tolist())] for own in found]
    flat = [each for own in found for each in own]
    contexts = dictionary.encoder.contexts(texts, [[(a, z) for a, z, _ in own] for own in found])
    size = len(flat)
    sense, p = np.full((size, KEPT), -1, np.int32), np.zeros((size, KEPT), np.uint16)
    nearest, surest, known = np.empty(size), np.empty(size), np.empty(size)
    groups: dict[bytes, list[int]] = {}
    for i, (_, _, rows) in enumerate(flat):
        groups.setdefault(rows.tobytes(), []).append(i)
    for own in groups.values():
        rows = flat[own[0]][2]
        share, similarities = posterior(dictionary, rows, contexts[own])
        best = np.argsort(-share, axis=1, kind="stable")[:, :KEPT]
        sense[own, : best.shape[1]] = rows[best]
        p[own, : best.shape[1]] = np.rint(np.take_along_axis(share, best, 1) * PARTS)
        nearest[own], surest[own], known[own] = similarities.max(axis=1), share.max(axis=1), len(rows)
    columns: Columns = {
        "count": np.array([len(own) for own in found], np.uint16),
        "start": np.array([a for a, _, _ in flat], np.uint16), "end": np.array([z for _, z, _ in flat], np.uint16),
        "sense": sense, "p": p, "fits": (~doubted(dictionary, contexts, nearest, surest, known)).astype(np.uint8),
    }  # fmt: skip
    if vectors:
        largest = np.maximum(np.abs(contexts).max(axis=1, keepdims=True, initial=0), 1e-12)
        columns["vector"] = np.rint(contexts / largest * 127).astype(np.int8)
    return columns


def doubted(
    dictionary: Dictionary, contexts: NDArray[np.float32], nearest: Floats, p: Floats, senses: Floats
) -> NDArray[np.bool_]:
    """Where no sense fits (:mod:`polysema.senses.doubt`): (N,).

    Args:
        nearest: (N,) the largest ⟨g_s, c⟩, ``p`` the largest p(s | c), of so many ``senses``.
    """
    doubt = dictionary.doubt
    if doubt is None:
        return np.zeros(len(contexts), bool)
    *w, constant = doubt.weights
    return np.asarray(features(contexts @ doubt.background.T, nearest, p, senses) @ np.array(w) + constant > 0)


def unit(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    """Stored vectors as unit vectors."""
    found = vectors.astype(np.float32)
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12), np.float32)


def ranges(starts: Rows, counts: Rows) -> Rows:
    """start, start + 1 … of each range, one after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(starts - before, counts) + np.arange(int(counts.sum())), np.int64)


def digest(dictionary: Dictionary) -> str:
    """What tells one dictionary with its encoder from another: its senses, weights and calibration."""
    found = hashlib.sha256(json.dumps(asdict(dictionary.calibration), sort_keys=True).encode())
    tensors = {**dictionary.file.tensors, **dictionary.encoder.tensors()}
    for name in sorted(tensors):
        found.update(np.ascontiguousarray(tensors[name]).data)
    return found.hexdigest()[:16]
