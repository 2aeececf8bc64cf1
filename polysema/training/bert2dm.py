"""BERT2DM: a word's density matrix from its vectors in every sentence (paper, §3.1.1, algorithm 1).

    ρ_w ∝ Σᵢ Vᵀ(xᵢ − μ)(xᵢ − μ)ᵀV  over the occurrences i of w

with xᵢ (d,) the encoder's vector of the occurrence and V (d, n) the projection of PCA, or of SVD with μ = 0. V needs
all vectors, so these are read twice: from a file on disk where they fit, else by running the encoder again. Clustered,
the centroids of k-means on a word's vectors (k of the best silhouette) take the place of the occurrences, also in V.

Memory does not grow with the text: d² numbers for V, n(n + 1)/2 a word for the sums, a batch of sentences.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import Checkpoint, WorkingFolder
from polysema.encoders.huggingface import PRECISIONS, Encoder, PieceTable
from polysema.engine import Local
from polysema.errors import InputError
from polysema.kernels.clusters import add_outer
from polysema.kernels.sampling import stream_key
from polysema.lexicon.lexicon import Lexicon
from polysema.machine import ahead
from polysema.meanings.parts import EncoderPart, Parts, SenseClusters
from polysema.options import option
from polysema.progress import Progress, Report, silent
from polysema.training.job import Job
from polysema.training.sample import Ids, SampleOptions, SentenceBlock, TextSample
from polysema.training.streams import REDUCTIONS, Clusters, Moments, Projection, Spill, clusters_of_each

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]  # the centroids (k, d) of some vectors, and how many vectors each has
BUDGET = 1 << 29  # bytes for sums of words, or for the vectors of words to be clustered, at a time
TOGETHER = 64  # batches whose sentences are sorted by length together; between them the state can be saved

MEAN_SENTENCES = 1000
"""How many sentences the means and spreads of layers are taken from, which contextual matrices are centred by."""


KEPT_SENSES = 5
"""Clusters of a word's reduced vectors that an unclustered lexicon keeps as its senses. Five told homographs apart in
87 % of sentences, the number of the best silhouette, which is mostly two, in 78 % (``docs/encoders.md``)."""

SENSE_SIZE = 5  # vectors that such a cluster has at least, on average: rarer words have fewer clusters


STORES = {
    "auto": "disk if the vectors fit, else again",
    "disk": "keep the vectors on disk between the two passes",
    "again": "keep nothing: run the encoder twice",
}


@dataclass(frozen=True)
class BERT2DMOptions(SampleOptions):
    """How to make density matrices from an encoder's vectors."""

    model: ClassVar[str] = "bert2dm"
    dim: int = option(17, "n, the dimension", least=1, most=10_000)
    reduction: str = option("svd", "", choices=REDUCTIONS)
    cluster: bool = option(False, "cluster a word's vectors first")
    rank: int = option(0, "m, columns of a factor that are kept, of the largest eigenvalues; 0 for all", least=0)
    store: str = option("auto", "", choices=STORES)
    encoder: Encoder | str | Path | None = option(None, "the encoder: a folder or a name on the hub; must be given")
    layers: str | int | None = option(
        None, "last, all, a number, 3-11 or 1,2,6: their mean is taken", by_default="last"
    )
    precision: str | None = option(
        None, "of the encoder", choices=PRECISIONS, by_default="float16 on a GPU, else float32"
    )
    batch_size: int | None = option(None, "sentences in a batch", least=1, by_default="32, 512 on a GPU")


_OF_ENCODER = ("layers", "precision", "batch_size")


def train(job: Job, options: BERT2DMOptions) -> Lexicon:
    """Density matrices of a corpus's words from an encoder's vectors.

    The folder of the state keeps the vectors: a run that was stopped goes on where it was, and another variant on the
    same text and encoder does not encode again. The result depends neither on threads nor on the engine.
    """
    encoder = _encoder(job, options)  # refused before the text is read
    if options.dim > encoder.width:
        raise InputError(f"this encoder's vectors have {encoder.width} numbers: dim cannot be {options.dim}")
    sample = TextSample(job.corpus, options, job.keep)
    with ExitStack() as stack:
        state = job.state or Path(stack.enter_context(TemporaryDirectory(prefix="polysema-")))
        run = _Run(job, encoder, sample, options, WorkingFolder(state).make())
        factors, projection, senses = run.clustered() if options.cluster else run.unclustered()
        statistics = run.layer_statistics()
    left_out = ("store", "encoder", *_OF_ENCODER)
    return Lexicon(
        sample.vocabulary,
        factors,
        metadata={
            "model": options.model,
            "options": {name: value for name, value in options.as_dict().items() if name not in left_out},
            "corpus": sample.facts,
            "encoder": encoder.facts(encoder.name),
        },
        parts=Parts(
            columns="senses" if options.cluster else "eigen",
            encoder=EncoderPart(
                encoder.name,
                ",".join(map(str, encoder.layers)),
                projection=projection.basis.astype(np.float32),
                projection_mean=projection.mean.astype(np.float32),
                **statistics,
            ),
            clusters=SenseClusters(**senses) if senses else None,
        ),
    )


def _encoder(job: Job, options: BERT2DMOptions) -> Encoder:
    """The encoder that was named, or handed in."""
    encoder = options.encoder
    given = {name: getattr(options, name) for name in _OF_ENCODER if getattr(options, name) is not None}
    if encoder is None:
        raise InputError(
            f"{options.model} reads with an encoder: name one, or the folder of one (--encoder bert-base-uncased)"
        )
    if not isinstance(encoder, Encoder):
        return Encoder.load(encoder, device=job.device, **given)
    if given or job.device not in ("cpu", str(encoder.device).split(":")[0]):
        raise InputError("a loaded encoder has its own layers, precision, batch size and device: leave them out")
    return encoder


class _Run:
    """One run: the passes over the text, and what follows from them."""

    def __init__(self, job: Job, encoder: Encoder, sample: TextSample, options: BERT2DMOptions, folder: Path) -> None:
        self.encoder, self.sample, self.options, self.folder = encoder, sample, options, folder
        self.engine, self.progress, self.checkpoint_seconds = job.workers, job.progress, job.checkpoint_seconds
        self.workers = job.threads
        self.dtype = "float32" if encoder.precision == "float32" else "float16"
        self.step = TOGETHER * encoder.batch_size
        self.identity = {**sample.identity, "words": options.words, "seed": options.seed, **encoder.identity}

    # --------------------------------------------------------------------------------------------------- unclustered

    def unclustered(self) -> tuple[NDArray[np.float32], Projection, Arrays]:
        """Factors (V, n, m) from all occurrences, and the senses of each word."""
        moments, spill = self._read_all()
        projection = moments.projection(self.options.dim, self.options.reduction)
        if spill is not None:
            factors, senses = self._mixed(spill, projection)
            return factors, projection, senses
        name = f"reduced-{self.options.reduction}-{self.options.dim}"
        spill = self._encode(name, "reducing", projection=projection)
        assert spill is not None
        factors, senses = self._mixed(spill, Projection(np.eye(self.options.dim), np.zeros(self.options.dim)))
        return factors, projection, senses

    def _mixed(self, spill: Spill, projection: Projection) -> tuple[NDArray[np.float32], Arrays]:
        """Σ of x xᵀ over each word's reduced vectors, as factors, and the clusters of those that were drawn.

        Words are taken in groups that fit the memory budget.
        """
        n, count = self.options.dim, len(self.sample.vocabulary)
        rank = min(self.options.rank or n, n)
        factors = np.empty((count, n, rank), np.float32)
        step = max(1, BUDGET // (8 * n * (n + 1) // 2 + 4 * n * self.options.occurrences))
        upper = np.triu_indices(n)
        starts, positions = self.sample.drawn(self.options.occurrences)
        reduced = partial(self._reduced, projection, *_by_position(positions))
        found = []
        for low in range(0, count, step):
            high = min(low + step, count)
            sums = np.zeros((high - low, len(upper[0])))
            drawn = np.zeros((starts[high] - starts[low], n), np.float32)
            done, begun = 0, time.perf_counter()
            for slots, rows, vectors in spill.each(reduced, self.workers):
                add_outer(sums, np.where(rows < high, rows - low, -1), vectors)
                hit = (slots >= starts[low]) & (slots < starts[high])
                drawn[slots[hit] - starts[low]] = vectors[hit]
                done += len(rows)
                self.progress(Progress("mixing", done, spill.rows, speed=done / (time.perf_counter() - begun)))
            own = starts[low : high + 1] - starts[low]
            found.append(self._clustered(low, drawn, own, KEPT_SENSES, SENSE_SIZE))
            for start in range(0, high - low, 4096):
                dense = np.zeros((min(4096, high - low - start), n, n))
                dense[:, *upper] = sums[start : start + 4096]
                dense[:, upper[1], upper[0]] = dense[:, *upper]
                values, axes = np.linalg.eigh(dense)
                top = axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
                factors[low + start : low + start + len(top)] = top[:, :, ::-1][:, :, :rank]
        senses: Arrays = {
            "vectors": np.concatenate([clusters.means for clusters in found]),
            "counts": np.concatenate([clusters.sizes for clusters in found]),
            "starts": np.cumsum(np.concatenate([[0], *(clusters.counts for clusters in found)])),
        }
        return factors, senses

    def _reduced(
        self, projection: Projection, rising: Ids, order: Ids, positions: Ids, vectors: NDArray[Any]
    ) -> tuple[Ids, Ids, NDArray[Any]]:
        """Some occurrences: their places in the sample (−1 if not drawn), their words, their reduced vectors."""
        reduced = projection(vectors.astype(np.float32, copy=False))
        rows = np.asarray(self.sample.rows[self.sample.corpus.tokens[positions]])
        return _slots(positions, rising, order), rows, reduced

    def _clustered(self, low: int, vectors: NDArray[Any], starts: Ids, most: int, least: int = 0) -> Clusters:
        """The clusters of the vectors of some words, from the word ``low`` on; see :func:`clusters_of_each`."""
        count, begun, done = len(self.sample.vocabulary), time.perf_counter(), 0
        keys = np.array([stream_key(self.options.seed, 3, low + word) for word in range(len(starts) - 1)], np.uint64)
        found = []
        for clusters in clusters_of_each(vectors, starts, keys, most, least, self.workers):
            found.append(clusters)
            done += len(clusters.counts)
            self.progress(Progress("clustering", low + done, count, speed=done / (time.perf_counter() - begun)))
        return Clusters(*(np.concatenate([getattr(part, name) for part in found]) for name in Clusters.__slots__))

    def _read_all(self) -> tuple[Moments, Spill | None]:
        """Every occurrence's vector: their moments, and the file they are in if they are kept."""
        occurrences, store = self.sample.occurrences, self.options.store
        need, free = self._bytes(occurrences), self._free("all")
        if store == "auto" and need > 0.9 * free:
            store = "again"
        if store == "disk" and need > free:
            raise InputError(
                f"{occurrences:,} vectors take {_size(need)} and {self.folder} has {_size(free)} free: "
                "give another folder for the state, read fewer words, or choose the store 'again'"
            )
        reduced = occurrences * (4 * self.options.dim + 8)
        kept = f"{_size(need)} of vectors on disk"
        if store == "again":
            kept = f"{_size(reduced)} of reduced vectors on disk: the encoder runs twice"
        self._tell(
            f"{occurrences:,} occurrences of {len(self.sample.vocabulary):,} words in {self.sample.tokens:,} words of "
            f"text; {self.folder} ({_size(free)} free) will hold {kept}"
        )
        moments = self._no_moments()
        return moments, self._encode("all", "encoding", moments, keep=store != "again")

    # ---------------------------------------------------------------------------------------------------- clustered

    def clustered(self) -> tuple[NDArray[np.float32], Projection, Arrays]:
        """Factors (V, n, senses) from the centroids of each word's clusters, which are its senses."""
        centroids, sizes = self._centroids()
        moments = self._no_moments()
        for some in centroids.each(lambda _, vectors: Moments.of(vectors), self.workers):
            moments.add(some)
        projection = moments.projection(self.options.dim, self.options.reduction)
        owners = np.concatenate([rows for rows, _ in centroids.blocks()])
        columns = np.arange(len(owners)) - np.searchsorted(owners, owners)
        scales = np.sqrt(sizes if self.options.weights == "size" else np.ones(len(owners)))
        factors = np.zeros((len(self.sample.vocabulary), self.options.dim, int(columns.max()) + 1), np.float32)
        at = 0
        for rows, vectors in centroids.blocks():
            here = slice(at, at + len(rows))
            factors[rows, :, columns[here]] = projection(vectors) * scales[here, None]
            at += len(rows)
        return factors, projection, {}

    def _centroids(self) -> tuple[Spill, Ids]:
        """The centroids of every word's clusters, a file of them with their words, and their sizes."""
        name = f"centroids-{self.options.occurrences}-{self.options.senses}"
        saved = Checkpoint(self.folder / f"{name}.safetensors", self.identity, self.checkpoint_seconds)
        saved.numbers, saved.arrays = {"next": 0, "rows": 0}, {"sizes": np.empty(0, np.int64)}
        saved.load()
        centroids = Spill(WorkingFolder(self.folder).file(name), self.encoder.width, "float32", saved.numbers["rows"])
        sizes, first, count = saved.arrays["sizes"], int(saved.numbers["next"]), len(self.sample.vocabulary)
        if first == count:
            return centroids, sizes
        starts, positions = self.sample.drawn(self.options.occurrences)
        for low, high, heap in self._heaps(starts, positions, first):
            vectors = np.empty((starts[high] - starts[low], self.encoder.width), heap.dtype)
            for slots, rows in heap.blocks():
                vectors[slots - starts[low]] = rows
            found = self._clustered(low, vectors, starts[low : high + 1] - starts[low], self.options.senses)
            centroids.append(np.repeat(np.arange(low, high), found.counts), found.means)
            sizes = np.concatenate([sizes, found.sizes])
            heap.remove()
            saved.save({"next": high, "rows": centroids.rows}, {"sizes": sizes})
        shutil.rmtree(self.folder / "heaps")
        return centroids, sizes

    def _heaps(self, starts: Ids, positions: Ids, first: int) -> list[tuple[int, int, Spill]]:
        """The drawn vectors of the words from ``first`` on, sorted into files of neighbouring words that memory holds.

        Args:
            starts, positions: of :meth:`TextSample.drawn`.

        Returns:
            the first word of each file, the one after its last, and the file: vectors with their places in positions.
        """
        edges, room = [first], BUDGET // 2 // (self.encoder.width * np.dtype(self.dtype).itemsize)
        while edges[-1] < len(starts) - 1:
            edges.append(max(edges[-1] + 1, int(np.searchsorted(starts, starts[edges[-1]] + room, side="right")) - 1))
        spill = self._drawn(positions)
        folder, kind = WorkingFolder(self.folder).file("heaps"), (self.encoder.width, self.dtype)
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was stopped
        heaps = [Spill(folder / str(index), *kind) for index in range(len(edges) - 1)]
        rising, order = _by_position(positions)
        limits = starts[edges]

        def sorted_out(found: Ids, vectors: NDArray[Any]) -> tuple[Ids, NDArray[Any], Ids]:
            """Of some vectors those drawn, with their slots, sorted by slot, and the range of each heap."""
            slots = _slots(found, rising, order)
            rows = np.flatnonzero(slots >= limits[0])
            rows = rows[np.argsort(slots[rows])]
            return slots[rows], vectors[rows], np.searchsorted(slots[rows], limits)

        done, begun = 0, time.perf_counter()
        for slots, vectors, cuts in spill.each(sorted_out, self.workers):
            for heap, low, high in zip(heaps, cuts[:-1], cuts[1:], strict=True):
                if low < high:
                    heap.append(slots[low:high], vectors[low:high])
            done += len(slots)
            speed = done / (time.perf_counter() - begun)
            self.progress(Progress("sorting", done, int(starts[-1] - starts[first]), speed=speed))
        return [(*pair, heap) for pair, heap in zip(pairwise(edges), heaps, strict=True)]

    def _drawn(self, positions: Ids) -> Spill:
        """A file that holds the vectors at some positions: that of all vectors, if there is one."""
        whole, name = self._saved("all").numbers, f"drawn-{self.options.occurrences}"
        every = whole["finished"] and whole["kept"]
        need, free = self._bytes(len(positions)) * (1 if every else 2), self._free(name)  # once more when sorted
        if need > free:
            raise InputError(
                f"{len(positions):,} vectors take {_size(need)} and {self.folder} has {_size(free)} free: "
                "give another folder for the state, or cluster fewer occurrences"
            )
        self._tell(f"{self.folder} ({_size(free)} free) will hold {_size(need)} of vectors on disk")
        if every:
            spill = self._encode("all", "encoding", self._no_moments())
        else:
            spill = self._encode(name, "encoding", among=np.sort(positions))
        assert spill is not None
        return spill

    # ------------------------------------------------------------------------------------------- passes over the text

    def _saved(self, name: str) -> Checkpoint:
        """The state of a pass, for its checkpoint."""
        saved = Checkpoint(self.folder / f"{name}.safetensors", self.identity, self.checkpoint_seconds)
        saved.numbers = {"next": 0, "rows": 0, "words": 0, "count": 0, "kept": True, "finished": False}
        saved.load()
        return saved

    def _no_moments(self) -> Moments:
        return Moments(0, np.zeros(self.encoder.width), np.zeros((self.encoder.width, self.encoder.width)))

    def _bytes(self, occurrences: int) -> int:
        """What so many vectors take on disk, with their positions."""
        return occurrences * (self.encoder.width * np.dtype(self.dtype).itemsize + 8)

    def _free(self, name: str) -> int:
        """The disk space for a pass: what is free, and what its own file takes already."""
        return shutil.disk_usage(self.folder).free + self._bytes(self._saved(name).numbers["rows"])

    def _tell(self, note: str) -> None:
        log.info(note)
        self.progress(Progress("encoding", 0, self.sample.tokens, note=note))

    def _encode(
        self,
        name: str,
        stage: str,
        moments: Moments | None = None,
        *,
        keep: bool = True,
        among: Ids | None = None,
        projection: Projection | None = None,
    ) -> Spill | None:
        """One pass of the encoder over the text, from where it was stopped.

        Args:
            name: of the files of this pass.
            moments: gets the moments of the vectors.
            keep: write the vectors to a file.
            among: the positions whose vectors are wanted, rising; by default all.
            projection: what the vectors go through before they are written.

        Returns:
            the file, if there is one.
        """
        saved, spill = self._saved(name), None
        if moments is not None and saved.arrays:
            moments.add(Moments(saved.numbers["count"], saved.arrays["total"], saved.arrays["second"]))
        if keep and saved.numbers["kept"]:
            width, dtype = (self.options.dim, "float32") if projection else (self.encoder.width, self.dtype)
            spill = Spill(WorkingFolder(self.folder).file(name), width, dtype, saved.numbers["rows"])
        first, words = int(saved.numbers["next"]), int(saved.numbers["words"])
        before, begun = words, time.perf_counter()

        def tell(at: Progress) -> None:
            speed = (words + at.done - before) / (time.perf_counter() - begun)
            done = min(words + at.done, self.sample.tokens)
            self.progress(Progress(stage, done, self.sample.tokens, speed=speed, detail=self.engine.status()))

        reading = Reading.by(self.encoder, self.table, moments is not None, spill and spill.dtype.name, projection)
        local, cards = isinstance(self.engine, Local), int(reading.device == "cuda")
        if not local and Path(reading.name).is_dir():
            self.engine.see([reading.name])
        starts = range(first, len(self.sample.sentences), self.step)
        shared, groups = self.engine.put(reading), self._groups(first, among)
        encoded = self.engine.map(encode_group, shared, groups, gpus=cards, progress=tell if local else silent)
        with ThreadPoolExecutor(1) as writer:
            written: Future[None] | None = None
            for start, found in zip(starts, encoded, strict=True):
                if moments is not None and found.moments is not None:
                    if not np.isfinite(found.moments.total).all():
                        raise InputError(f"{self.encoder} gives vectors that are not finite: choose precision float32")
                    moments.add(found.moments)
                if written is not None:
                    written.result()
                if spill is not None:  # while the next group is encoded
                    written = writer.submit(spill.append, found.positions, found.vectors)
                words += found.words
                if not local:
                    tell(Progress(stage, 0))
                last = start + self.step >= len(self.sample.sentences)
                if last or saved.due:
                    if written is not None:
                        written.result()
                    numbers = {
                        "next": start + self.step, "rows": spill.rows if spill else 0, "words": words,
                        "count": moments.count if moments else 0, "kept": spill is not None, "finished": last,
                    }  # fmt: skip
                    saved.save(numbers, {} if moments is None else {"total": moments.total, "second": moments.second})
        return spill

    def _groups(self, first: int, among: Ids | None) -> Iterator[Group]:
        """Groups of sentences from one on, and the words of them whose vectors are wanted."""
        for start in range(first, len(self.sample.sentences), self.step):
            part = self.sample.part(self.sample.sentences[start : start + self.step])
            wanted = part.rows >= 0
            if among is not None:
                at = np.minimum(np.searchsorted(among, part.positions), len(among) - 1)
                wanted &= among[at] == part.positions
            yield Group(part, wanted)

    def layer_statistics(self) -> Arrays:
        """The mean and the standard deviation of each layer's vectors, (depth + 1, d), over some sentences."""
        saved = Checkpoint(self.folder / "layer-statistics.safetensors", self.identity)
        if saved.load():
            return dict(saved.arrays)
        count = len(self.sample.sentences)
        chosen = np.unique(np.linspace(0, count - 1, min(MEAN_SENTENCES, count)).astype(np.int64))
        part = self.sample.part(self.sample.sentences[chosen])
        total, squares = np.zeros((2, self.encoder.depth + 1, self.encoder.width))
        seen, every = 0, range(self.encoder.depth + 1)
        for batch in ahead(self.encoder.batches(part.tokens, part.bounds, self.table, part.rows >= 0)):
            vectors = self.encoder.vectors(batch, every, True)
            exact = vectors.double()
            total += exact.sum(0).cpu().numpy()
            squares += exact.square().sum(0).cpu().numpy()
            seen += len(vectors)
            self.progress(Progress("centring", seen, int((part.rows >= 0).sum())))
        mean = total / max(seen, 1)
        spread = np.sqrt(np.maximum(squares / max(seen, 1) - mean**2, 0.0))
        saved.save({}, {"layer_means": mean.astype(np.float32), "layer_spreads": spread.astype(np.float32)})
        return dict(saved.arrays)

    @cached_property
    def table(self) -> PieceTable:
        """The word pieces of the sample's words."""
        return self.encoder.piece_table(self.sample.words_read)


def _by_position(positions: Ids) -> tuple[Ids, Ids]:
    """Drawn positions in rising order, and the place of each among those drawn."""
    order = np.argsort(positions)
    return positions[order], order


def _slots(found: Ids, rising: Ids, order: Ids) -> Ids:
    """The place of each found position among those drawn; −1 where it was not."""
    at = np.minimum(np.searchsorted(rising, found), len(rising) - 1)
    return np.where(rising[at] == found, order[at], -1)


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


# ------------------------------------------------------------------------------------------------------------ tasks


@dataclass
class Reading:
    """How sentences are read: by which encoder, and what becomes of its vectors."""

    name: str  # of the encoder
    layers: str
    precision: str
    batch_size: int
    device: str
    table: PieceTable  # the word pieces of the text's words
    sums: bool  # whether the moments of the vectors are wanted
    dtype: str | None  # of the vectors that are wanted; None for none
    projection: Projection | None  # what they go through first

    @classmethod
    def by(cls, encoder: Encoder, *rest: Any) -> Reading:
        """With an encoder that is loaded here; workers load their own."""
        layers = ",".join(map(str, encoder.layers))
        reading = cls(encoder.name, layers, encoder.precision, encoder.batch_size, encoder.device.type, *rest)
        reading.__dict__["encoder"] = encoder
        return reading

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "encoder"}

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
    """Vectors with their positions in the corpus, the moments of all, and how many words were read."""

    positions: Ids
    vectors: NDArray[Any]
    moments: Moments | None
    words: int


def encode_group(reading: Reading, group: Group, report: Report) -> Encoded:
    """Read a group; sums are taken in double precision, batch after batch."""
    import torch

    encoder, part, projection = reading.encoder, group.part, reading.projection
    total = second = axes = centre = None
    if projection is not None:
        axes, centre = (torch.tensor(a, device=encoder.device) for a in (projection.basis, projection.mean))
    width = encoder.width if projection is None else projection.basis.shape[1]
    positions, kept, count, words = [np.empty(0, np.int64)], [], 0, 0
    with torch.inference_mode():
        for batch in ahead(encoder.batches(part.tokens, part.bounds, reading.table, group.wanted)):
            vectors = encoder.vectors(batch)
            if reading.sums:
                exact = vectors.double()
                summed, squared = exact.sum(0), exact.T @ exact
                total = summed if total is None else total + summed
                second = squared if second is None else second + squared
                count += len(exact)
            if reading.dtype:
                out = vectors if axes is None else (vectors.double() - centre) @ axes
                kept.append(out.to(getattr(torch, reading.dtype)).to("cpu", non_blocking=True))
                positions.append(part.positions[batch.tokens])
            words += batch.words
            report(Progress("encoding", words))
    if encoder.device.type == "cuda":
        torch.cuda.synchronize()  # all copies have arrived
    found = np.concatenate([np.empty((0, width), reading.dtype or "float32"), *(rows.numpy() for rows in kept)])
    moments = None
    if total is not None and second is not None:
        moments = Moments(count, total.cpu().numpy(), second.cpu().numpy())
    return Encoded(np.concatenate(positions), found, moments, words)
