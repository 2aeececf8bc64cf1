"""A fingerprint of a sequence of sentences that can be taken piece by piece.

Words and ends of sentences are a sequence of numbers x₁ … x_k. With mixed bits h and an odd base B,

    H(x₁ … x_k) = Σᵢ h(xᵢ) · B^(k−i)   mod 2⁶⁴,        H(xy) = H(x) · B^|y| + H(y),

so that pieces are hashed by several threads and joined in order. It tells texts apart that differ by accident; it is
not cryptographic.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.kernels.compiled import compiled
from polysema.kernels.sampling import mixed

_BASE = 0x9E3779B97F4A7C15
_END = np.uint64(1 << 32)  # no word's id


@compiled()
def hashed(tokens: Any, ends: Any, start: Any) -> Any:
    """H of words and of the sentence ends among them; ``ends`` counts from ``start``."""
    base = np.uint64(_BASE)
    h = np.uint64(0)
    i = 0
    for s in range(ends.size):
        while i < ends[s] - start:
            h = h * base + mixed(np.uint64(tokens[i]) + np.uint64(1))
            i += 1
        h = h * base + mixed(_END)
    return h


def plainly_hashed(tokens: Any, ends: Any) -> int:
    """The same by NumPy, for little text: nothing is compiled."""
    codes = np.insert(tokens.astype(np.uint64) + np.uint64(1), ends, _END)
    powers = np.full(len(codes), _BASE, np.uint64)
    powers[:1] = 1
    return int((mixed.py_func(codes) * np.multiply.accumulate(powers)[::-1]).sum(dtype=np.uint64))


def joined(first: int, second: int, length: int) -> int:
    """H of two pieces one after the other, the second of so many words and ends."""
    return (first * pow(_BASE, length, 1 << 64) + second) % (1 << 64)


class Digest:
    """Taken piece by piece, in the order of the text; the result does not depend on where it is cut."""

    def __init__(self) -> None:
        self._hash = self._length = 0

    def add(self, tokens: NDArray[Any], ends: NDArray[Any], start: int = 0) -> None:
        """Whole sentences: their ids, and where each ends, counted from ``start``."""
        self.join(int(hashed(tokens, ends, start)), len(tokens) + len(ends))

    def join(self, piece: int, length: int) -> None:
        """A piece that was hashed elsewhere, of so many words and ends."""
        self._hash = joined(self._hash, piece, length)
        self._length += length

    def text(self, vocabulary: Path) -> str:
        """The digest, once all was added; with the vocabulary's file, whose lines the ids stand for."""
        with open(vocabulary, "rb") as file:
            words = hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.sha256(f"{self._hash:016x} {self._length} {words}".encode()).hexdigest()
