"""Groups of sentences as tasks: a worker loads the encoder once, and gives the vectors of a group and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.huggingface import Encoder
from polysema.encoders.pieces import PieceTable
from polysema.encoders.sample import Ids, SentenceBlock
from polysema.encoders.streams import Projection
from polysema.progress import Progress, Report


@dataclass
class EncoderTask:
    """How sentences are read: by which encoder, and what becomes of its vectors.

    Attributes:
        name, layers, precision, batch_size, device: of the encoder.
        table: the word pieces of the text's words.
        sums: whether the moments of the vectors are wanted.
        dtype: of the vectors that are wanted; "" for none.
        projection: what they go through first.
    """

    name: str
    layers: str
    precision: str
    batch_size: int
    device: str
    table: PieceTable
    sums: bool
    dtype: str
    projection: Projection | None

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, loaded by the worker."""
        return Encoder.load(
            self.name, layers=self.layers, device=self.device, precision=self.precision, batch_size=self.batch_size
        )


@dataclass(frozen=True, slots=True)
class Group:
    """A task: some sentences, and the words of which vectors are wanted."""

    part: SentenceBlock
    wanted: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors with their positions in the corpus, their number, their sum and second moments; the words read."""

    positions: Ids
    vectors: NDArray[Any]
    count: int
    total: NDArray[np.float64] | None
    second: NDArray[np.float64] | None
    words: int


def encode_group(reading: EncoderTask, group: Group, report: Report) -> Encoded:
    """Read a group; sums are taken in double precision, batch after batch."""
    import torch

    encoder, part = reading.encoder, group.part
    total = second = None
    positions, kept, count, words = [np.empty(0, np.int64)], [], 0, 0
    with torch.inference_mode():
        for batch in encoder.batches(part.tokens, part.bounds, reading.table, group.wanted):
            vectors = encoder.vectors(batch)
            exact = vectors.double() if reading.sums or reading.projection else vectors
            if reading.sums:
                summed, squared = exact.sum(0), exact.T @ exact
                total = summed if total is None else total + summed
                second = squared if second is None else second + squared
                count += len(exact)
            if reading.dtype:
                if reading.projection is not None:
                    basis, mean = (
                        torch.from_numpy(np.array(a)).to(encoder.device)
                        for a in (reading.projection.basis, reading.projection.mean)
                    )
                    vectors = (exact - mean) @ basis
                kept.append(vectors.to(getattr(torch, reading.dtype)).cpu().numpy())
                positions.append(part.positions[batch.tokens])
            words += batch.words
    report(Progress("encoding", words))
    width = len(reading.projection.basis.T) if reading.projection is not None else encoder.width
    vectors = np.concatenate([np.empty((0, width), reading.dtype or "float32"), *kept])
    summed, squares = (None if sums is None else sums.cpu().numpy() for sums in (total, second))
    return Encoded(np.concatenate(positions), vectors, count, summed, squares, words)
