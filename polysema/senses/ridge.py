"""The ridge regression that places words: from what stands around a word, and its letters, to where it is.

    W = argmin Σ_w ‖t_w − t̄ − W φ_w‖² + penalties

over the words w that a lexicon knows, with features φ_w (:mod:`~polysema.senses.adapt`) and targets t_w, the mean
direction and the context vector of w.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError
from polysema.meanings.meanings import Matrices
from polysema.meanings.neighbours import blocks
from polysema.storage import atomic_file

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

LETTERS = 4096
LETTERS_PENALTY, CONTEXT_PENALTY = 4.0, 0.003
"""Of the ridge: for the letters, and for the words around, a word that is regressed on."""

FILE = "placing.safetensors"
"""The regression that a lexicon brings, in its folder."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """W: from what stands around a word and its letters to where it is.

    Attributes:
        shift, scale: (d,), of the features of the words around, which are standardised.
        by_context: (d, t).
        by_letters: (4096, t).
        mean: (t,), where words are on average.
    """

    shift: Array
    scale: Array
    by_context: Array
    by_letters: Array
    mean: Array

    @classmethod
    def fitted(cls, words: list[str], seen: Ids, around: Array, target: Array, fitted: NDArray[np.bool_]) -> Ridge:
        """The minimum of Σ_w ‖t_w − t̄ − W φ_w‖² + penalties.

        Words that do not stand in the text are regressed on by their letters alone.

        Args:
            words: all V words of the lexicon.
            seen: (k,), the rows of those that stand in the text.
            around: (k, d), what stands around these.
            target: (V, t).
            fitted: (V,), the words to take.
        """
        own = fitted[seen]
        shift, scale = around[own].mean(axis=0), around[own].std(axis=0) + 1e-9
        z = np.zeros((len(words), around.shape[1]), np.float32)
        z[seen] = (around - shift) / scale
        z[~fitted] = 0.0
        chosen = np.flatnonzero(fitted)
        mean = target[chosen].mean(axis=0)
        y = target - mean
        d = z.shape[1]
        gram, right = np.zeros((d + LETTERS, d + LETTERS)), np.zeros((d + LETTERS, y.shape[1]))
        gram[:d, :d], right[:d] = z.T @ z, z.T @ y
        for part in blocks(len(chosen), 2048):
            rows = chosen[part]
            owner, grams, share = hashed_letters([words[i] for i in rows])
            dense = np.zeros((len(rows), LETTERS), np.float32)
            np.add.at(dense, (owner, grams), share)
            gram[d:, :d] += dense.T @ z[rows]
            right[d:] += dense.T @ y[rows].astype(np.float32)
            _add_pairs(gram[d:, d:], owner, grams, share)
        gram[:d, d:] = gram[d:, :d].T
        penalty = np.concatenate([np.full(d, CONTEXT_PENALTY * own.sum()), np.full(LETTERS, LETTERS_PENALTY)])
        gram[np.diag_indices(len(gram))] += penalty
        solved: Array = np.asarray(np.linalg.solve(gram, right))
        return cls(shift, scale, solved[:d], solved[d:], mean)

    def save(self, lexicon: Matrices, folder: Path) -> None:
        """Write it into the folder of the lexicon that it is of, in half precision."""
        from safetensors.numpy import save

        arrays = {name: np.asarray(getattr(self, name)) for name in _ARRAYS}
        halves = {name: array.astype(np.float16 if array.ndim == 2 else np.float32) for name, array in arrays.items()}
        with atomic_file(folder / FILE, overwrite=True, owner=lambda _: None) as file:
            file.write(save(halves, {"lexicon": _fingerprint(lexicon)}))

    @classmethod
    def beside(cls, lexicon: Matrices) -> Ridge | None:
        """That of a lexicon that was read from a folder; None where there is none, or it is of other meanings."""
        from safetensors import SafetensorError, safe_open

        path = lexicon.parts.placing
        if path is None:
            return None
        try:
            with safe_open(path, "numpy") as file:
                known = (lexicon.metadata.get("placing"), _fingerprint(lexicon))
                if (file.metadata() or {})["lexicon"] not in known:
                    return None
                arrays = [file.get_tensor(name).astype(np.float64) for name in _ARRAYS]
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{path}: damaged: {' '.join(str(error).split())}") from None
        d, t = 3 * (lexicon.n + 1), 2 * lexicon.n
        shapes = [(d,), (d,), (d, t), (LETTERS, t), (t,)]
        if [array.shape for array in arrays] != shapes or not all(np.isfinite(array).all() for array in arrays):
            raise FormatError(f"{path}: damaged: not a regression for a lexicon of dimension {lexicon.n}")
        return cls(*arrays)

    def predicted(self, words: list[str], around: Array) -> Array:
        """Where words are, (k, t)."""
        found = (around - self.shift) / self.scale @ self.by_context + self.mean
        for part in blocks(len(words), 2048):
            owner, grams, share = hashed_letters(words[part])
            found[part] += np.add.reduceat(
                share[:, None] * self.by_letters[grams], np.flatnonzero(np.diff(owner, prepend=-1)), axis=0
            )
        return found


_ARRAYS = ("shift", "scale", "by_context", "by_letters", "mean")


def _fingerprint(lexicon: Matrices) -> str:
    """Of the meanings that a regression was learnt for."""
    return sha256(np.ascontiguousarray(lexicon.array).data).hexdigest()


def hashed_letters(words: list[str]) -> tuple[Ids, Ids, NDArray[np.float32]]:
    """The n-grams of words: whose each is, its hash, and 1 / √(how many the word has).

    >>> hashed_letters(["ox"])[0].tolist()
    [0, 0, 0]
    """
    owner, grams, share = [], [], []
    for i, word in enumerate(words):
        marked = f"<{word}>"
        found = {marked[at : at + size] for size in range(3, 7) for at in range(len(marked) - size + 1)} or {marked}
        owner += [i] * len(found)
        grams += sorted(crc32(gram.encode()) % LETTERS for gram in found)
        share += [len(found) ** -0.5] * len(found)
    return np.array(owner, np.int64), np.array(grams, np.int64), np.array(share, np.float32)


def _add_pairs(gram: Array, owner: Ids, grams: Ids, share: NDArray[np.float32]) -> None:
    """Add Σ_w g_w g_wᵀ of sparse rows: every pair of n-grams of a word."""
    counts = np.bincount(owner)
    first = np.repeat(np.arange(len(owner)), counts[owner])
    start = (np.cumsum(counts) - counts)[owner]
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts[owner]) - counts[owner], counts[owner])
    second = np.repeat(start, counts[owner]) + within
    flat = np.bincount(grams[first] * LETTERS + grams[second], share[first] * share[second], LETTERS * LETTERS)
    gram += flat.reshape(LETTERS, LETTERS)
