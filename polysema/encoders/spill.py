"""Vectors on disk while a run lasts: written and read one after the other, never held in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Spill:
    """A file of vectors (rows, d) beside a file of their positions in the corpus (rows,).

    Args:
        folder: where.
        rows: how many of those already there to keep; the rest is cut off.
    """

    def __init__(self, folder: Path, width: int, dtype: str, rows: int = 0) -> None:
        self.folder, self.width, self.dtype, self.rows = folder, width, np.dtype(dtype), rows
        folder.mkdir(parents=True, exist_ok=True)
        for path, size in ((self._vectors, self.width * self.dtype.itemsize), (self._positions, 8)):
            with open(path, "ab") as file:
                file.truncate(rows * size)

    @property
    def _vectors(self) -> Path:
        return self.folder / "vectors.bin"

    @property
    def _positions(self) -> Path:
        return self.folder / "positions.i64"

    def append(self, positions: NDArray[np.int64], vectors: NDArray[Any]) -> None:
        """Write vectors (k, d) at the end."""
        for path, array in ((self._vectors, vectors.astype(self.dtype, copy=False)), (self._positions, positions)):
            with open(path, "ab") as file:
                file.write(np.ascontiguousarray(array).data)
        self.rows += len(positions)

    def blocks(self, size: int = 64 << 20) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """All vectors with their positions, about ``size`` bytes at a time."""
        step = max(1, size // (self.width * 4))
        with open(self._vectors, "rb") as vectors, open(self._positions, "rb") as positions:
            for start in range(0, self.rows, step):
                count = min(step, self.rows - start)
                rows = np.fromfile(vectors, self.dtype, count * self.width).reshape(count, self.width)
                yield np.fromfile(positions, np.int64, count), rows.astype(np.float32, copy=False)

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.rows = 0
