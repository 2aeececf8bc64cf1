"""An encoder's vectors of drawn occurrences, in few dimensions, in a file that is mapped into memory.

The sentences are read twice. The first time, the same number of occurrences of every word gives the mean μ and the
principal axes V of

    C = E_w E_i (x_i − μ)(x_i − μ)ᵀ ,

the second time every drawn occurrence is written as z_i = Vᵀ(x_i − μ), N half-precision numbers each. Vectors of the
encoder's own width are never held beyond a batch.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.contexts.sample import Ids, Sample
from polysema.encoders.huggingface import Encoder
from polysema.encoders.pieces import PieceTable
from polysema.encoders.streams import Moments, Projection
from polysema.errors import InputError
from polysema.files.checkpoint import Checkpoint
from polysema.files.progress import Progress, Report
from polysema.files.working import WorkingFolder

MOMENTS = 300_000
"""About how many occurrences the projection is taken from."""

TOGETHER = 64
"""Batches whose sentences are sorted by length together; between them the state can be saved."""


@dataclass(frozen=True)
class Reading:
    """Reads occurrences with an encoder.

    Attributes:
        encoder: whose vectors are taken.
        sample: the text and the words.
        folder: where vectors and the state of the passes are kept.
        identity: what must agree for a stopped pass to go on.
        progress: told how far it has come.
        checkpoint_seconds: how often the state is written.
    """

    encoder: Encoder
    sample: Sample
    folder: Path
    identity: dict[str, Any]
    progress: Report
    checkpoint_seconds: float

    def projection(self, dim: int, least: int) -> Projection:
        """The principal axes (d, dim) of the same number of occurrences of each word.

        Args:
            least: how many occurrences nearly every word has, which is the most that is taken of each.
        """
        saved = self._saved("projection")
        moments = Moments(self.encoder.width)
        if "total" in saved.arrays:
            moments.add_sums(saved.numbers["count"], saved.arrays["total"], saved.arrays["second"])
        each = max(1, min(MOMENTS // len(self.sample.vocabulary), least))
        _, positions = self.sample.drawn(each)
        for after, _, vectors in self._vectors("averaging", positions, saved.numbers["next"]):
            if vectors is not None:
                exact = vectors.double()
                moments.add_sums(len(exact), exact.sum(0).cpu().numpy(), (exact.T @ exact).cpu().numpy())
            elif saved.due:
                self._save(saved, after, moments)
        if not np.isfinite(moments.total).all():
            raise InputError(f"{self.encoder} gives vectors that are not finite: choose the precision float32")
        self._save(saved, len(self.sample.sentences), moments)
        return moments.projection(dim, "pca")

    def projected(self, positions: Ids, projection: Projection) -> NDArray[np.float16]:
        """z (R, N) of the occurrences at some positions, in their order, as a file mapped into memory."""
        import torch

        saved = self._saved("projected")
        path = WorkingFolder(self.folder).file("projected.f16")
        shape = (len(positions), projection.basis.shape[1])
        need, free = 2 * shape[0] * shape[1], shutil.disk_usage(self.folder).free
        fits = path.is_file() and path.stat().st_size == need
        if need > free and not fits:
            raise InputError(
                f"the vectors of {shape[0]:,} occurrences take {need / 1e9:.1f} GB and {self.folder} has "
                f"{free / 1e9:.1f} GB free: give another folder for the state, or draw fewer occurrences a word"
            )
        found = np.memmap(path, np.float16, "r+" if fits else "w+", shape=shape)
        axes = torch.from_numpy(projection.basis).float().to(self.encoder.device)
        shift = torch.from_numpy(projection.mean @ projection.basis).float().to(self.encoder.device)
        for after, slots, vectors in self._vectors("encoding", positions, saved.numbers["next"] if fits else 0):
            if vectors is not None:
                found[slots] = (vectors @ axes - shift).half().cpu().numpy()
            elif saved.due:
                found.flush()
                self._save(saved, after)
        found.flush()
        self._save(saved, len(self.sample.sentences))
        return found

    def _vectors(self, stage: str, positions: Ids, first: int) -> Iterator[tuple[int, Ids, Any]]:
        """The vectors of the occurrences at some positions, from a sentence that holds one on.

        Yields:
            how many such sentences are behind, the places (k,) of a batch's occurrences among the positions, and their
            vectors (k, d); after some batches, when all before is finished, no vectors but None.
        """
        order = np.argsort(positions)
        rising = positions[order]
        holding = np.unique(np.searchsorted(self.sample.corpus.sentences, rising, side="right") - 1)
        step, begun, done = TOGETHER * self.encoder.batch_size, time.perf_counter(), 0
        for start in range(first, len(holding), step):
            part = self.sample.part(holding[start : start + step])
            place = np.minimum(np.searchsorted(rising, part.positions), len(rising) - 1)
            wanted = rising[place] == part.positions
            for batch, vectors in self.encoder.encode(part.tokens, part.bounds, self.table, wanted):
                yield start, order[place[batch.tokens]], vectors
            after = min(start + step, len(holding))
            done += after - start
            speed = done / (time.perf_counter() - begun)
            self.progress(Progress(stage, after, len(holding), "sentences", speed))
            yield after, order[:0], None

    def _saved(self, name: str) -> Checkpoint:
        saved = Checkpoint(self.folder / f"{name}.safetensors", self.identity, self.checkpoint_seconds)
        saved.numbers = {"next": 0}
        saved.load()
        return saved

    def _save(self, saved: Checkpoint, after: int, moments: Moments | None = None) -> None:
        numbers = {"next": after, "count": 0 if moments is None else moments.count}
        saved.save(numbers, {} if moments is None else {"total": moments.total, "second": moments.second})

    @cached_property
    def table(self) -> PieceTable:
        """The word pieces of the sample's words."""
        return self.encoder.piece_table(self.sample.words_read)
