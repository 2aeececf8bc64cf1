"""Training on an NVIDIA GPU: the whole epoch stays there; a corpus larger than its memory streams through it.

The kernels are CUDA C++ (``polysema/kernels/cuda``), compiled for the sizes at hand when training starts, by the
run-time compiler that comes with CuPy's wheels: nothing else has to be installed. Updates are atomic additions, so the
last digits of two runs differ.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, needing
from polysema.kernels.rounds import LONGEST
from polysema.kernels.simd import padded
from polysema.machine import processors
from polysema.training.objectives import NegativeSamplingOptions
from polysema.training.run import State
from polysema.training.text import TrainingText

_BLOCK = 256  # threads
_CAPACITY = 128  # targets a warp gathers at once
_RUN = 8  # sentences a warp takes at once
_ROUND = 4_000_000  # tokens a launch at most
_LAUNCHES = 16  # an epoch at least: the rate falls from launch to launch
_SEGMENT = 64_000_000  # tokens that travel to the GPU together
_PINNED = 1 << 25  # bytes of a buffer that the GPU reads from
_COPIERS = 8  # threads that fill such a buffer: one alone is slower than the GPU
_SPARE = 1 << 29  # bytes that are left free
_TO_CARD = 1  # cudaMemcpyHostToDevice


class Segment(NamedTuple):
    """A part of the corpus: the first sentence and token, and how many of both."""

    sentence: int
    sentences: int
    token: int
    tokens: int


class SegmentRoom(NamedTuple):
    """Room for a segment on the GPU."""

    rows: Any  # its tokens, as rows of the model
    marks: Any  # where its sentences start, counted from the start of the corpus
    arrived: Any  # the event of its arrival, in the stream of copies
    read: Any  # the event that the last kernel has read it, in the stream of kernels: others may be put in its place


def model_bytes(options: NegativeSamplingOptions, size: int) -> int:
    """How much of the GPU's memory the model takes, with Adam's state."""
    n, m = padded(options.dim), options.m
    numbers = size * n * m + size * n * options.context_rows
    return 4 * numbers * (4 if options.optimiser == "adam" else 1) + 12 * size * (m + 1)


def _place_bytes(segments: list[Segment]) -> int:
    """How much memory a place takes that any of the segments fits in."""
    return 4 * max((s.tokens for s in segments), default=0) + 8 * max((s.sentences + 1 for s in segments), default=0)


class CudaBackend:
    """Runs rounds of training on the current CUDA device.

    A corpus that fits stays on the GPU, every segment in a place of its own. One that does not has two places: while
    the GPU learns from the segment in one, a thread brings the next segment into the other. Two streams, kernels and
    copies, wait for each other's events, the processor for neither.

    Args:
        memory: bytes of the GPU that may be used; by default what is free.

    Attributes:
        rounds: the first sentence of each launch of an epoch, and the end.
        needs: bytes of the GPU's memory, as estimated before anything is put there.
        resident: whether the whole corpus stays on the GPU.
    """

    def __init__(self, text: TrainingText, state: State, memory: float | None = None) -> None:
        self.text, self.state = text, state
        options = text.options
        if options.objective.whole and options.dim > 32:
            raise InputError(f"word2dm on a GPU has at most 32 dimensions, not {options.dim}: train it with device cpu")
        self._cp = cp = _cupy()
        sentences = text.text.sentences
        self._lazy = options.optimiser == "adam"
        tokens = int(sentences[-1])
        marks = np.arange(0, tokens, max(1, min(_ROUND, -(-tokens // _LAUNCHES))))
        end = len(sentences) - 1
        self.rounds = text.rounds(None) if self._lazy else np.unique(
            np.append(np.minimum(np.searchsorted(sentences, marks), end), end)
        )  # fmt: skip
        self._segments = self._cut(memory)
        self._functions = self._compiled()
        self._target, self._context = cp.asarray(state.target), cp.asarray(state.context)
        self._text = {name: cp.asarray(getattr(text.text, name)) for name in ("keep", "alias", "rows")}
        self._next, self._loss = cp.zeros(1, cp.uint32), cp.zeros(2, cp.float64)
        self._sides = self._new_sides()
        self._held: dict[int, Future[SegmentRoom]] = {}
        self._free = self._new_places()
        self._copies = cp.cuda.Stream(non_blocking=True)
        self._pinned = [np.frombuffer(cp.cuda.alloc_pinned_memory(_PINNED), np.uint8, _PINNED) for _ in range(2)]
        self._sent = [cp.cuda.Event(block=True, disable_timing=True) for _ in self._pinned]
        self._turn = 0
        self._use = cp.cuda.Device().use  # a thread has a current device of its own
        self._loader = ThreadPoolExecutor(1, initializer=self._use)
        self._copiers = ThreadPoolExecutor(min(_COPIERS, processors()))
        self._next[:], self._loss[:] = 0, 0  # compiled on first use, so now
        cp.cuda.get_current_stream().synchronize()  # the other streams may read all this from now on

    # ----------------------------------------------------------------------------------------------------------- memory

    def _cut(self, memory: float | None) -> list[Segment]:
        """The corpus in segments of whole rounds, as the memory allows; a model that does not fit is an error."""
        free, whole = self._cp.cuda.runtime.memGetInfo()
        allowed = free if memory is None else min(memory, free)
        options, size = self.text.options, len(self.text.vocabulary)
        model = model_bytes(options, size) + 4 * len(self.text.text.rows) + _SPARE
        tokens = _SEGMENT
        segments = self._of_size(tokens)
        while 2 * _place_bytes(segments) > allowed - model and tokens > _ROUND:
            tokens //= 2
            segments = self._of_size(tokens)
        place, count = _place_bytes(segments), len(segments)
        self.resident = count * place <= allowed - model
        self.needs = model + (count if self.resident else min(2, count)) * place
        if self.needs > allowed:
            raise InputError(
                f"the GPU has {free / 1e9:.1f} GB free of {whole / 1e9:.1f}"
                f"{'' if memory is None else f', of which {memory / 1e9:.1f} may be used'}; the model needs "
                f"{self.needs / 1e9:.1f}: lower the dimension (now {options.dim}), the senses (now {options.m}) "
                f"or the vocabulary (now {size:,} words; see min count and max size)"
            )
        return segments

    def _of_size(self, tokens: int) -> list[Segment]:
        """Segments of at most so many tokens, but of one round at least."""
        sentences = self.text.text.sentences
        at = sentences[self.rounds]
        segments = []
        first = 0
        while first < len(self.rounds) - 1:
            last = max(int(np.searchsorted(at, at[first] + tokens, side="right")) - 1, first + 1)
            segments.append(
                Segment(
                    int(self.rounds[first]), int(self.rounds[last] - self.rounds[first]), int(at[first]),
                    int(at[last] - at[first]),
                )
            )  # fmt: skip
            first = last
        return segments

    def _new_places(self) -> list[SegmentRoom]:
        """One for every segment, or two; any segment fits in any."""
        cp, segments = self._cp, self._segments
        tokens = max((segment.tokens for segment in segments), default=0)
        marks = max((segment.sentences + 1 for segment in segments), default=0)
        return [
            SegmentRoom(
                cp.empty(tokens, cp.uint32), cp.empty(marks, cp.int64),
                *(cp.cuda.Event(disable_timing=True) for _ in range(2)),
            )
            for _ in range(len(segments) if self.resident else 2)
        ]  # fmt: skip

    def _segment(self, number: int) -> SegmentRoom:
        """Where a segment is, or will be when its event comes; the next one is sent for."""
        following = (number + 1) % len(self._segments)
        for wanted in (number, following):
            if wanted in self._held:
                continue
            if not self._free:
                other = next(key for key in self._held if key not in (number, following))
                self._free.append(self._held.pop(other).result())
                self._free[-1].read.record(self._cp.cuda.get_current_stream())
            self._held[wanted] = self._loader.submit(self._load, wanted, self._free.pop())
        return self._held[number].result()

    def _load(self, number: int, place: SegmentRoom) -> SegmentRoom:
        """Bring a segment to its place on the GPU and turn its words into rows. Runs in a thread of its own."""
        text, segment = self.text.text, self._segments[number]
        with self._copies:
            self._copies.wait_event(place.read)
            self._send(text.tokens[segment.token : segment.token + segment.tokens], place.rows)
            self._send(text.sentences[segment.sentence : segment.sentence + segment.sentences + 1], place.marks)
            blocks = max(1, min(4096, segment.tokens // _BLOCK))
            self._functions["to_rows"](
                (blocks,), (_BLOCK,), (place.rows, np.uint64(segment.tokens), self._text["rows"])
            )
            place.arrived.record(self._copies)
        return place

    def _send(self, array: NDArray[Any], there: Any) -> None:
        """Copy an array to the GPU. Two pinned buffers take turns: filling one overlaps with sending the other."""
        source = array.view(np.uint8)
        for start in range(0, len(source), _PINNED):
            self._turn = 1 - self._turn
            buffer, sent = self._pinned[self._turn], self._sent[self._turn]
            sent.synchronize()
            part = source[start : start + _PINNED]
            step = -(-len(part) // _COPIERS)
            pieces = [slice(i, min(i + step, len(part))) for i in range(0, len(part), step)]
            list(self._copiers.map(np.copyto, [buffer[i] for i in pieces], [part[i] for i in pieces]))
            self._cp.cuda.runtime.memcpyAsync(
                there.data.ptr + start, buffer.ctypes.data, len(part), _TO_CARD, self._copies.ptr
            )
            sent.record(self._copies)

    def _new_sides(self) -> dict[str, Any]:
        """What the kernels write to: the model itself, or with Adam gradients, marks and lists of touched rows."""
        cp, options = self._cp, self.text.options
        sides: dict[str, Any] = {"counts": cp.zeros(2, cp.uint32)}
        for name, values in (("target", self._target), ("context", self._context)):
            rows = values.size // options.width if self._lazy else 1
            sides[name] = {
                "values": values,
                "moved": cp.zeros_like(values) if self._lazy else values,
                "marks": cp.zeros(rows, cp.uint32),
                "touched": cp.zeros(rows, cp.uint32),
                "width": values.size // rows if self._lazy else 0,
            }
            if self._lazy:
                for moment in ("mean", "square"):
                    known = self.state.moments.get(f"{name}_{moment}")
                    sides[name][moment] = (
                        cp.zeros_like(values) if known is None else cp.asarray(known).reshape(values.shape)
                    )
        return sides

    # --------------------------------------------------------------------------------------------------------- training

    def _compiled(self) -> dict[str, Any]:
        """The kernels, compiled for the sizes of this model."""
        options = self.text.options
        m, n = self.state.target.shape[1:]
        constants = {
            "N": n, "DIM": options.dim, "M": m, "K": options.negatives, "WINDOW": options.window,
            "COSINE": int(options.cosine and m > 1), "PAIRS": int(options.pairs),
            "WORD2DM": int(options.objective.whole), "ADAM": int(self._lazy),
            "BLOCK": _BLOCK, "CAPACITY": _CAPACITY, "LONGEST": f"{LONGEST}f",
        }  # fmt: skip
        flags = ("--std=c++17", *(f"-D{name}={value}" for name, value in constants.items()))
        source = (files("polysema.kernels") / "cuda" / "negative_sampling.cu").read_text(encoding="utf-8")
        module = self._cp.RawModule(code=source, options=flags, backend="nvrtc")
        names = ["to_rows", "train", "adam" if self._lazy else "bound"]
        return {name: module.get_function(name) for name in names}

    def _blocks(self) -> int:
        """How many blocks work at once: as many as the GPU holds, fewer where a word would meet itself too often."""
        device = self._cp.cuda.Device()
        held = device.attributes["MultiProcessorCount"] * max(1, 2048 // _BLOCK)
        in_flight = min(1000 / max(self.text.busiest, 1e-9), 2 * len(self.text.vocabulary))
        n4 = self.state.target.shape[2] // 4
        group = 32 if self.text.options.objective.whole else next(g for g in (4, 8, 16, 32) if n4 <= g or g == 32)
        return int(max(1, min(held, in_flight // (_BLOCK // group))))

    def train(self, first: int, last: int, rates: NDArray[np.float32], key: np.uint64) -> float:
        """Do some rounds of an epoch; returns the mean loss of the samples that were asked for it."""
        self._use()
        cp, text, sides = self._cp, self.text.text, self._sides
        self._loss[:] = 0
        starts = [segment.sentence for segment in self._segments]
        blocks = self._blocks()
        target, context = sides["target"], sides["context"]
        run = 1 if self._lazy else _RUN
        for r in range(first, last):
            number = int(np.searchsorted(starts, self.rounds[r], side="right")) - 1
            segment, place = self._segments[number], self._segment(number)
            cp.cuda.get_current_stream().wait_event(place.arrived)
            begin, end = (int(self.rounds[i]) - segment.sentence for i in (r, r + 1))
            self._next[:] = 0
            warps = -(-(end - begin) // run)
            self._functions["train"](
                (min(blocks, -(-warps // (_BLOCK // 32))),), (_BLOCK,),
                (
                    place.rows, place.marks, np.uint64(segment.token), np.uint64(segment.sentence), np.uint32(begin),
                    np.uint32(end), np.uint32(run), self._next, self._text["keep"], self._text["alias"],
                    np.uint32(len(text.alias)), np.uint64(key), np.uint64(text.held_out),
                    np.float32(1.0) if self._lazy else rates[r - first], self._loss, target["values"],
                    context["values"], target["moved"], context["moved"], target["marks"], context["marks"],
                    target["touched"], context["touched"], sides["counts"],
                ),
            )  # fmt: skip
            if self._lazy:
                self._adam(rates[r - first], self.state.step + r - first + 1)
        if not self._lazy:
            self._bound()
        loss, count = self._loss.get()
        return float(loss / count) if count else float("nan")

    def _bound(self) -> None:
        """Shorten rows that have got longer than ``LONGEST``.

        The processor does so after every round. Here steps are taken one by one, so a row grows slowly, and reading the
        whole model after every launch would halve the speed: once a call, a fraction of a second, is enough.
        """
        grid = 8 * self._cp.cuda.Device().attributes["MultiProcessorCount"]
        width = self.text.options.width
        for values in (self._target, self._context):
            self._functions["bound"]((grid,), (_BLOCK,), (values, np.uint64(values.size // width), np.int32(width)))

    def _adam(self, rate: np.float32, step: int) -> None:
        """Move the rows that the last launch gave gradients to."""
        for i, name in enumerate(("target", "context")):
            side = self._sides[name]
            self._functions["adam"](
                (64,), (_BLOCK,),
                (
                    side["values"], side["moved"], side["mean"], side["square"], side["marks"], side["touched"],
                    self._sides["counts"][i:], np.int32(side["width"]), rate, np.float32(1 / (1 - 0.9**step)),
                    np.float32(1 / (1 - 0.999**step)),
                ),
            )  # fmt: skip
        self._sides["counts"][:] = 0

    def pull(self) -> None:
        """Copy the parameters from the GPU into the state."""
        self._target.get(out=self.state.target)
        self._context.get(out=self.state.context)
        if self._lazy:
            for name in ("target", "context"):
                for moment in ("mean", "square"):
                    self.state.moments[f"{name}_{moment}"] = self._sides[name][moment].get().reshape(-1)

    def close(self) -> None:
        """Release the corpus on the GPU."""
        for threads in (self._loader, self._copiers):
            threads.shutdown()
        self._copies.synchronize()
        self._held.clear()
        self._free.clear()


def _cupy() -> Any:
    """CuPy with a working device, or an error that says what is missing."""
    with needing("training on a GPU", "cuda"):
        import cupy
    try:
        if cupy.cuda.runtime.getDeviceCount() > 0:
            return cupy
        reason = "no CUDA device is there"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        reason = str(error)
        if "insufficient" in reason.lower():
            built = cupy.cuda.runtime.runtimeGetVersion()
            reason = f"the driver is too old for CUDA {built // 1000}.{built % 1000 // 10}, which this CuPy needs"
    raise InputError(f"no GPU can be used: {reason}; train with device cpu")
