"""A small BERT in NumPy whose words lie near the glosses of their senses.

The weights are 8-bit integers with one scale a row. Sentences are laid end to end, so that every linear layer is one
matrix product without padding; only attention goes sentence by sentence, and sentences of one length go together.

The vector of a word is the mean of the last layer over its pieces, through a linear head, made unit:

    c = (W_c h̄ + b_c) / ‖…‖,   g = (W_g h̄ + b_g) / ‖…‖,   both (n,).

:mod:`polysema.encoders.gloss_training` trains it. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.wordpiece import Pieces, WordPiece
from polysema.errors import FormatError, InputError
from polysema.storage import check_regular

Floats = NDArray[np.float32]
Span = tuple[int, int]

WEIGHTS, PIECES = "encoder.safetensors", "pieces.txt"
FORMAT = "polysema-gloss-encoder-1"
MOST_PIECES = 2048  # of one pass: the activations stay in the cache of a core


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of an encoder.

    Attributes:
        layers, heads: of the transformer.
        window, overlap: a longer text is read in windows of so many pieces that share so many.
        epsilon: of the layer norms.
    """

    layers: int
    heads: int
    window: int = 128
    overlap: int = 48
    epsilon: float = 1e-12


class GlossEncoder:
    """Reads words in their sentences, and glosses, as unit vectors of one space.

    Args:
        tensors: by name, as :func:`polysema.encoders.torch_encoder.read_minilm` and a training run give them.
        reader: cuts text into word pieces.
    """

    def __init__(self, tensors: dict[str, NDArray[Any]], reader: WordPiece, shape: Shape) -> None:
        try:
            self._embeddings = quantised(tensors["embeddings.word"], tensors.get("embeddings.word.scale"))
            self._tensors = {
                name: _floats(tensors, name)
                for name in tensors
                if name != "embeddings.word" and not name.endswith(".scale")
            }
            self.dimension = len(self._tensors["context.bias"])
        except KeyError as error:
            raise FormatError(f"not a gloss encoder: it lacks the tensor {error}") from None
        if len(self._embeddings[0]) != len(reader.pieces):
            raise FormatError(
                f"the encoder has {len(self._embeddings[0])} pieces and the vocabulary {len(reader.pieces)}"
            )
        self.reader, self.shape = reader, shape

    @classmethod
    def load(cls, folder: str | Path) -> GlossEncoder:
        """An encoder from its folder."""
        from safetensors import SafetensorError, safe_open

        path = Path(folder) / WEIGHTS
        if path.exists():
            check_regular(path)
        try:
            with safe_open(path, "np") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != FORMAT:
                    raise FormatError(f"{path} is not a gloss encoder: its format is {metadata.get('format')!r}")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            shape = Shape(**json.loads(metadata["shape"]))
        except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
            raise FormatError(f"{path} is not a gloss encoder: {error}") from None
        return cls(tensors, WordPiece.load(Path(folder) / PIECES), shape)

    def save(self, folder: str | Path) -> None:
        """Write ``encoder.safetensors`` (8 bits, a scale a row) and ``pieces.txt`` into a folder."""
        from safetensors.numpy import save_file

        tensors: dict[str, NDArray[Any]] = {"embeddings.word": self._embeddings[0]}
        tensors["embeddings.word.scale"] = self._embeddings[1]
        for name, value in self._tensors.items():
            if value.ndim == 1:
                tensors[name] = value
            else:
                tensors[name], tensors[f"{name}.scale"] = quantised(value)
        Path(folder).mkdir(parents=True, exist_ok=True)
        metadata = {"format": FORMAT, "shape": json.dumps(asdict(self.shape))}
        save_file(tensors, Path(folder) / WEIGHTS, metadata)
        (Path(folder) / PIECES).write_text("\n".join(self.reader.pieces) + "\n", encoding="utf-8")

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Every tensor by name, as the constructor takes them."""
        codes, scales = self._embeddings
        return {**self._tensors, "embeddings.word": codes, "embeddings.word.scale": scales}

    def contexts(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Floats:
        """The vectors of words in their texts: (words, n), in the order given.

        Args:
            spans: of each text, the (first character, end) of each word.
        """
        return self._head(self.pooled_words(texts, spans), "context")

    def pooled_words(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Floats:
        """The vectors of words in their texts below the head: (words, width)."""
        sequences, wanted, order = [], [], []
        row = 0
        for text, places in zip(texts, spans, strict=True):
            pieces = self.reader.read(text)
            inside = [_pieces_of(pieces, span, text) for span in places]
            for first, size, chosen in windows(len(pieces.ids), inside, self.shape.window, self.shape.overlap):
                sequences.append(pieces.ids[first : first + size])
                wanted.append([(inside[k][0] - first, min(inside[k][1] - first, size)) for k in chosen])
                order += [row + k for k in chosen]
            row += len(places)
        found = np.empty((row, self._embeddings[0].shape[1]), np.float32)
        found[order] = self.pooled(sequences, wanted)
        return found

    def glosses(self, texts: Sequence[str]) -> Floats:
        """The vectors of glosses: (texts, n). :func:`polysema.senses.wordnet_files.gloss_text` writes their text."""
        ids = [self.reader.read(text).ids[: self.shape.window] for text in texts]
        empty = [text for text, found in zip(texts, ids, strict=True) if not len(found)]
        if empty:
            raise InputError(f"a gloss holds no word: {empty[0]!r}")
        return self._head(self.pooled(ids, [[(0, len(found))] for found in ids]), "gloss")

    def _head(self, pooled: Floats, name: str) -> Floats:
        vectors = pooled @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"]
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)

    def pooled(self, sequences: Sequence[NDArray[np.int32]], spans: Sequence[Sequence[Span]]) -> Floats:
        """Means of the last layer over spans of pieces: (spans, width), in the order given.

        Args:
            sequences: pieces without the special ones.
            spans: of each sequence, (first piece, end).
        """
        where = np.cumsum([0, *(len(found) for found in spans)])
        found = np.empty((int(where[-1]), self._embeddings[0].shape[1]), np.float32)
        kept = [i for i in range(len(sequences)) if spans[i]]
        for batch in _batches(sorted(kept, key=lambda i: len(sequences[i])), sequences):
            lengths = [len(sequences[i]) + 2 for i in batch]
            starts = np.cumsum([0, *lengths])
            flat = [(starts[b] + 1 + a, starts[b] + 1 + z) for b, i in enumerate(batch) for a, z in spans[i]]
            rows = np.concatenate([np.arange(a, z) for a, z in flat])
            hidden = self._hidden([sequences[i] for i in batch], rows)
            sizes = np.array([z - a for a, z in flat])
            edges = np.cumsum([0, *sizes[:-1]])
            places = np.concatenate([np.arange(where[i], where[i + 1]) for i in batch])
            found[places] = np.add.reduceat(hidden, edges, axis=0) / sizes[:, None]
        return found

    def _hidden(self, sequences: Sequence[NDArray[np.int32]], wanted: NDArray[np.int64]) -> Floats:
        """The last layer of some pieces: (wanted, width). ``wanted`` counts with the two special pieces a sentence."""
        t, reader = self._tensors, self.reader
        ids = np.concatenate([[reader.start, *sequence, reader.end] for sequence in sequences])
        lengths = np.array([len(sequence) + 2 for sequence in sequences])
        places = np.concatenate([np.arange(length) for length in lengths])
        codes, scales = self._embeddings
        x = codes[ids] * scales[ids, None]
        x += t["embeddings.position"][places]
        _norm(x, t["embeddings.norm.weight"], t["embeddings.norm.bias"], self.shape.epsilon)
        for layer in range(self.shape.layers):
            name = f"layer.{layer}."
            mixed = self._attention(_linear(x, t, name + "qkv"), lengths)
            if layer == self.shape.layers - 1:
                x, mixed = x[wanted], mixed[wanted]  # nothing reads the other pieces any more
            x = np.add(x, _linear(mixed, t, name + "out"), dtype=np.float32)
            _norm(x, t[name + "norm1.weight"], t[name + "norm1.bias"], self.shape.epsilon)
            up = _linear(x, t, name + "up")
            _gelu(up)
            x += _linear(up, t, name + "down")
            _norm(x, t[name + "norm2.weight"], t[name + "norm2.bias"], self.shape.epsilon)
        return np.asarray(x, np.float32)

    def _attention(self, qkv: Floats, lengths: NDArray[np.int64]) -> Floats:
        """softmax(QKᵀ/√d) V of each sentence and head: (pieces, width). Sentences of equal length go together."""
        heads = self.shape.heads
        depth = qkv.shape[1] // (3 * heads)
        mixed = np.empty((len(qkv), heads * depth), np.float32)
        bounds = np.flatnonzero(np.diff(lengths, prepend=-1, append=-1))
        at = 0
        for first, last in pairwise(bounds.tolist()):
            length, count = int(lengths[first]), last - first
            stop = at + length * count
            q, k, v = qkv[at:stop].reshape(count, length, 3, heads, depth).transpose(2, 0, 3, 1, 4)
            scores = (q * np.float32(depth**-0.5)) @ k.swapaxes(2, 3)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed[at:stop] = (scores @ v).transpose(0, 2, 1, 3).reshape(stop - at, heads * depth)
            at = stop
        return mixed


def quantised(matrix: NDArray[Any], scale: NDArray[Any] | None = None) -> tuple[NDArray[np.int8], Floats]:
    """A matrix (r, c) as 8-bit integers and one scale a row: matrix ≈ codes · scale[:, None].

    >>> codes, scale = quantised(np.array([[1.0, -0.5], [0.0, 0.0]], np.float32))
    >>> codes.tolist()
    [[127, -64], [0, 0]]
    """
    if matrix.dtype == np.int8 and scale is not None:
        return matrix, np.asarray(scale, np.float32)
    largest = np.abs(matrix).max(axis=1)
    scale = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def windows(count: int, spans: Sequence[Span], size: int, overlap: int) -> Iterator[tuple[int, int, list[int]]]:
    """Cut a text of ``count`` pieces into overlapping windows: (first piece, pieces, the spans read there).

    Each span is read in the window in which it stands nearest to the middle; a window without spans is left out.

    >>> list(windows(10, [(0, 1), (5, 6), (9, 10)], size=6, overlap=2))
    [(0, 6, [0]), (4, 6, [1, 2])]
    """
    if count <= size:
        if spans:
            yield 0, count, list(range(len(spans)))
        return
    firsts = [*range(0, count - size, size - overlap), count - size]
    middles = np.array(firsts) + size / 2
    best = [int(np.abs(middles - (a + z) / 2).argmin()) for a, z in spans]
    for row, first in enumerate(firsts):
        chosen = [k for k, window in enumerate(best) if window == row]
        if chosen:
            yield first, size, chosen


def _pieces_of(pieces: Pieces, span: Span, text: str) -> Span:
    start = int(np.searchsorted(pieces.ends, span[0], side="right"))
    end = int(np.searchsorted(pieces.starts, span[1], side="left"))
    if not 0 <= span[0] < span[1] <= len(text) or end <= start:
        raise InputError(f"characters {span[0]} to {span[1]} are not a word of a text of {len(text)} characters")
    return start, end


def _batches(order: Sequence[int], sequences: Sequence[NDArray[np.int32]]) -> Iterator[list[int]]:
    batch: list[int] = []
    total = 0
    for i in order:
        size = len(sequences[i]) + 2
        if batch and total + size > MOST_PIECES:
            yield batch
            batch, total = [], 0
        batch.append(i)
        total += size
    if batch:
        yield batch


def _floats(tensors: dict[str, NDArray[Any]], name: str) -> Floats:
    value = np.asarray(tensors[name], np.float32)
    scale = tensors.get(f"{name}.scale")
    if scale is not None:
        value *= np.asarray(scale, np.float32)[:, None]
    return value


def _linear(x: Floats, t: dict[str, Floats], name: str) -> Floats:
    y = x @ t[name + ".weight"].T
    y += t[name + ".bias"]
    return np.asarray(y, np.float32)


def _norm(x: Floats, weight: Floats, bias: Floats, epsilon: float) -> None:
    """(x − mean) / √(variance + ε) · weight + bias of each row, in place."""
    x -= x.mean(axis=1, keepdims=True)
    variance = np.einsum("tw,tw->t", x, x) / np.float32(x.shape[1])
    x *= (1 / np.sqrt(variance + np.float32(epsilon)))[:, None]
    x *= weight
    x += bias


def _gelu(x: Floats) -> None:
    """½x(1 + tanh(√(2/π)(x + 0.044715x³))), in place."""
    inner = x * x
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= x
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    x *= inner
    x *= np.float32(0.5)
