"""Vectors on disk while a run lasts: written and read one after the other, never held in memory."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

BLOCK = 1 << 20
"""Bytes of vectors that are read at a time."""


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

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """All vectors with their positions, block by block."""
        for start, count in self._cuts():
            yield self._read(start, count)

    def each(self, function: Callable[[NDArray[np.int64], NDArray[Any]], T], workers: int) -> Iterator[T]:
        """What a function makes of the positions and the vectors of each block, in order, by so many threads.

        Each thread multiplies on its own, so that the bits do not depend on their number.
        """
        from threadpoolctl import threadpool_limits

        with ThreadPoolExecutor(workers) as pool, threadpool_limits(1, "blas"):
            ahead: deque[Future[T]] = deque()
            for cut in self._cuts():
                ahead.append(pool.submit(lambda cut: function(*self._read(*cut)), cut))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """The first row of each block, and how many rows it has."""
        step = max(1, BLOCK // (self.width * self.dtype.itemsize))
        for start in range(0, self.rows, step):
            yield start, min(step, self.rows - start)

    def _read(self, start: int, count: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        wide = self.width * self.dtype.itemsize
        positions = np.fromfile(self._positions, np.int64, count, offset=start * 8)
        vectors = np.fromfile(self._vectors, self.dtype, count * self.width, offset=start * wide)
        return positions, vectors.reshape(count, self.width)

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.rows = 0
