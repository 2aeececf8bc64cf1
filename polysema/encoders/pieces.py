"""Sentences of word ids as batches of word pieces: cut to the encoder's window, sorted by length.

The pieces of a word do not depend on its neighbours, so each distinct word is cut into pieces once, and a sentence is a
look-up in that table instead of another run of the tokeniser.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The word pieces of every word of a vocabulary, and what frames a sentence of them.

    Attributes:
        pieces: the pieces of all words, one after the other.
        starts: (V + 1,) where each word's begin, and where the last end.
        before, after: the special pieces at the start and the end of every sentence.
        padding: the piece that fills up a batch.
        limit: how many pieces the encoder can read at once, beside the special ones.
    """

    pieces: Ids
    starts: Ids
    before: tuple[int, ...]
    after: tuple[int, ...]
    padding: int
    limit: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Some sentences for the encoder, and where the wanted words stand in them.

    Attributes:
        ids: (B, T) pieces, filled up with padding.
        mask: (B, T) 1 for pieces and 0 for padding.
        tokens: (W,) the place of each wanted word among the tokens handed in.
        places: (P,) the pieces of those words as places in the flattened (B · T).
        owners: (P,) which of the W words each piece belongs to.
        words: how many words the sentences hold in all.
    """

    ids: Ids
    mask: Ids
    tokens: Ids
    places: Ids
    owners: Ids
    words: int


def batches(
    tokens: NDArray[Any],
    bounds: NDArray[Any],
    table: PieceTable,
    wanted: NDArray[np.bool_],
    size: int,
    most: int,
) -> Iterator[Batch]:
    """Cut sentences into batches of nearly equal length, the longest first.

    Args:
        tokens: (N,) word ids.
        bounds: (S + 1,) where each sentence starts in them, and where the last ends.
        wanted: (N,) the tokens whose vectors are wanted; sentences without any are left out.
        size: sentences in a batch at most.
        most: pieces in a batch at most, padding included.
    """
    lengths = np.minimum(table.starts[tokens + 1] - table.starts[tokens], table.limit)
    edges = np.zeros(len(tokens) + 1, np.int64)  # where each token's pieces start
    np.cumsum(lengths, out=edges[1:])
    within = np.arange(edges[-1]) - np.repeat(edges[:-1], lengths)
    pieces = table.pieces[np.repeat(table.starts[tokens], lengths) + within]
    token_of = np.repeat(np.arange(len(tokens)), lengths)

    first, last = _segments(bounds, edges, table.limit)
    found = np.concatenate([[0], np.cumsum(wanted)])
    useful = found[last] > found[first]
    first, last = first[useful], last[useful]
    size_of = edges[last] - edges[first]
    order = np.argsort(-size_of, kind="stable")
    framed = len(table.before) + len(table.after)
    at = 0
    while at < len(order):
        width = int(size_of[order[at]]) + framed
        rows = order[at : at + max(1, min(size, most // width))]
        at += len(rows)
        yield _batch(first[rows], last[rows], edges, pieces, token_of, table, wanted, width)


def _batch(
    first: Ids, last: Ids, edges: Ids, pieces: Ids, token_of: Ids, table: PieceTable, wanted: Any, width: int
) -> Batch:
    length = edges[last] - edges[first]
    column = np.arange(width - len(table.before) - len(table.after))
    inside = column < length[:, None]
    source = (edges[first][:, None] + column)[inside]
    ids = np.full((len(first), width), table.padding, np.int64)
    start = len(table.before)
    ids[:, :start] = table.before
    ids[:, start : start + len(column)][inside] = pieces[source]
    for offset, special in enumerate(table.after):
        ids[np.arange(len(first)), start + length + offset] = special
    mask = (np.arange(width) < (length + start + len(table.after))[:, None]).astype(np.int64)

    places = (np.arange(len(first))[:, None] * width + start + column)[inside]
    owner = token_of[source]
    kept = wanted[owner]
    places, owner = places[kept], owner[kept]
    begins = np.concatenate([[True], owner[1:] != owner[:-1]]) if len(owner) else np.empty(0, bool)
    return Batch(ids, mask, owner[begins], places, np.cumsum(begins) - 1, int((last - first).sum()))


def _segments(bounds: NDArray[Any], edges: Ids, limit: int) -> tuple[Ids, Ids]:
    """The first and last token of each sentence; one with too many pieces is cut, between words, into several."""
    first, last = np.asarray(bounds[:-1], np.int64), np.asarray(bounds[1:], np.int64)
    long = np.flatnonzero(edges[last] - edges[first] > limit)
    if not len(long):
        return first, last
    starts, stops = [first], [last.copy()]
    for index in long:
        cuts = [int(first[index])]
        while edges[last[index]] - edges[cuts[-1]] > limit:
            cuts.append(int(np.searchsorted(edges, edges[cuts[-1]] + limit, side="right")) - 1)
        stops[0][index] = cuts[1]
        starts.append(np.array(cuts[1:]))
        stops.append(np.array([*cuts[2:], last[index]]))
    return np.concatenate(starts), np.concatenate(stops)
