"""The vocabulary on a plane: words of like meaning lie together.

A word stands for its matrix, by the features a_dᵀ ρ a_d with random a_d, along their first principal axes; where the
columns of factors are senses, for the mean of its senses. Its nearest words are found by trees of random cuts. The
plane pulls neighbours together and pushes random pairs apart, as LargeVis and UMAP do: with d² = |y_i − y_j|²,

    pull  −2 / (1 + d²) · (y_i − y_j),        push  1 / ((ε + d²)(1 + d²)) · (y_i − y_j).
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema.explorer.listing import Facts, listing
from polysema.lexicon.lexicon import AnyLexicon, Lexicon

Array = NDArray[np.float32]

MOST = 50_000
"""Words on a map at most, the most frequent content words."""

_GRID = 8191  # places across


def features(lexicon: AnyLexicon, rows: NDArray[np.int64], kept: int = 32, drawn: int = 512) -> Array:
    """What words mean along the first principal axes, (V, kept)."""
    own = np.asarray(lexicon.array[rows], np.float32)
    if isinstance(lexicon, Lexicon) and lexicon.parts.columns == "senses":  # [√p_k v_k], (V, n, m)
        own = (own * np.linalg.norm(own, axis=1, keepdims=True)).sum(axis=2)
    elif isinstance(lexicon, Lexicon):
        drawing = np.random.default_rng(0).standard_normal((lexicon.n, drawn), np.float32)
        own = np.stack([((factor.T @ drawing) ** 2).sum(axis=0) for factor in own])
    own = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12)
    own -= own.mean(axis=0)
    _, axes = np.linalg.eigh(own.T @ own)
    return np.ascontiguousarray(own @ axes[:, ::-1][:, :kept])


def near_ones(points: Array, count: int = 4, trees: int = 3, leaf: int = 160) -> NDArray[np.int64]:
    """The nearest of each point among those in the same leaf of each tree of random cuts, (V, trees · count).

    A neighbour that several trees find stands there as often, and is pulled as much harder.
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(trees):
        leaves = [np.arange(len(points))]
        while len(leaves[0]) > leaf:
            cuts = [points[some] @ rng.standard_normal(points.shape[1], np.float32) for some in leaves]
            orders = [some[np.argsort(cut)] for some, cut in zip(leaves, cuts, strict=True)]
            leaves = [half for some in orders for half in (some[: len(some) // 2], some[len(some) // 2 :])]
        near = np.empty((len(points), min(count, len(leaves[-1]) - 1, len(leaves[0]) - 1)), np.int64)
        for some in leaves:
            own = points[some]
            alike = 2 * own @ own.T - (own**2).sum(axis=1)  # |x|² − |x − y|²
            np.fill_diagonal(alike, -np.inf)
            near[some] = some[np.argpartition(-alike, near.shape[1] - 1, axis=1)[:, : near.shape[1]]]
        found.append(near)
    return np.concatenate(found, axis=1)


def plane(points: Array, rounds: int = 200) -> Array:
    """Places on a plane, (V, 2)."""
    rng = np.random.default_rng(2)
    at = points[:, :2] / max(float(points[:, :2].std()), 1e-9) * 10
    if len(points) < 8:
        return at
    near = near_ones(points)
    a, b = np.repeat(np.arange(len(points)), near.shape[1]), near.ravel()
    for step in range(rounds):
        apart = at[a] - at[b]
        pull = -2 * apart / (1 + (apart**2).sum(axis=1, keepdims=True))
        move = np.stack([np.bincount(a, one, len(at)) - np.bincount(b, one, len(at)) for one in pull.T], axis=1)
        for _ in range(4):
            apart = at - at[rng.permutation(len(at))]
            far = (apart**2).sum(axis=1, keepdims=True)
            move += 200 * apart / ((0.05 + far) * (1 + far))
        at += np.asarray(0.15 * (1 - step / rounds) * np.clip(move, -20, 20), np.float32)
    return at


maps: WeakKeyDictionary[AnyLexicon, Facts] = WeakKeyDictionary()
"""The maps that are drawn."""
_drawing = Lock()


def drawn(lexicon: AnyLexicon) -> Facts:
    """The map of a lexicon, made once.

    Returns:
        ``words``, the most frequent first; ``x`` and ``y`` of each, whole numbers from 0 to 8191; ``ambiguity``, its
        percentile among words of like frequency, −1 where that is not known.
    """
    with _drawing:
        if lexicon not in maps:
            known = listing(lexicon)
            order = known.order("count")
            rows = order[known.content[order]][:MOST]
            at = plane(features(lexicon, rows))
            low, high = np.quantile(at, (0.001, 0.999), axis=0)  # strays lie on the edge
            places = np.clip((at - low) / np.maximum(high - low, 1e-9), 0, 1) * _GRID
            percentiles = np.nan_to_num(known.values.get("percentile", np.full(len(order), np.nan))[rows], nan=-1.0)
            maps[lexicon] = {
                "words": [lexicon.vocabulary.words[row] for row in rows.tolist()],
                "x": places[:, 0].round().astype(int).tolist(),
                "y": places[:, 1].round().astype(int).tolist(),
                "ambiguity": percentiles.round().astype(int).tolist(),
            }
    return maps[lexicon]
