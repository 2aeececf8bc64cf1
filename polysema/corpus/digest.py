"""The digest of a corpus: what tells its text apart from any other."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from polysema.kernels.digest import hashed, joined


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
