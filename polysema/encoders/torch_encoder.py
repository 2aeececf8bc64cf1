"""A BERT or MPNet in torch, by the names of the NumPy encoder's tensors.

Needs torch (the extra ``encoders``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.gloss_encoder import GlossEncoder, Shape
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import FormatError, needing

Ids = NDArray[np.int32]

MINILM = Shape(layers=6, heads=12)
"""The shape of all-MiniLM-L6-v2, the encoder that training starts from; its width is 384."""

MPNET = Shape(layers=12, heads=12, epsilon=1e-5)
"""The shape of all-mpnet-base-v2, which can teach the small one; its width is 768."""


class TorchEncoder:
    """The tensors of :class:`~polysema.encoders.gloss_encoder.GlossEncoder` in torch, by the same names.

    The tensor ``relative`` (buckets, heads), where there is one, is MPNet's bias by distance: a head adds
    r_{b(j − i)} to the score by which the piece i looks at the piece j.

    Args:
        tensors: by name; see :func:`read_minilm` and :func:`read_mpnet`.
        half: compute in bfloat16; the tensors stay in float32.
        dropout: share of the numbers that each layer adds which are left out in training.
    """

    def __init__(
        self,
        tensors: dict[str, NDArray[Any]],
        reader: WordPiece,
        shape: Shape = MINILM,
        *,
        half: bool = True,
        frozen_layers: int = 0,
        dropout: float = 0.0,
        device: str = "cpu",
    ) -> None:
        with needing("training an encoder", "encoders"):
            import torch
        self.torch = torch
        self.reader, self.shape, self.frozen_layers, self.dropout = reader, shape, frozen_layers, dropout
        self.device, self.card = device, device != "cpu"
        self.kind = torch.bfloat16 if half else torch.float32
        self.tensors = {
            name: torch.from_numpy(np.array(value, np.float32)).to(device) for name, value in tensors.items()
        }
        self._rounded: dict[str, Any] = {}

    def trained(self) -> dict[str, Any]:
        """Every tensor but the embeddings and the frozen layers, which stay as they are."""
        kept = ("embeddings", *(f"layer.{layer}." for layer in range(self.frozen_layers)))
        return {name: value for name, value in self.tensors.items() if not name.startswith(kept)}

    def on_device(self, array: NDArray[Any]) -> Any:
        """An array as a tensor on this encoder's device."""
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def pooled(self, sequences: Sequence[Ids], spans: Sequence[Sequence[tuple[int, int]]]) -> Any:
        """Means of the last layer over spans of pieces: (spans, width), in the order given.

        Args:
            spans: of each sequence, (first piece, end) without the special pieces.
        """
        torch, most = self.torch, 16384 if self.card else 2600  # pieces of one pass, padding included
        order = sorted((i for i in range(len(sequences)) if spans[i]), key=lambda i: len(sequences[i]))
        where = np.cumsum([0, *(len(found) for found in spans)])
        rows: list[Any] = []
        places: list[int] = []
        at = 0
        while at < len(order):
            stop = at + 1
            while stop < len(order) and (len(sequences[order[stop]]) + 2) * (stop + 1 - at) <= most:
                stop += 1
            chosen = order[at:stop]
            at = stop
            hidden = self.hidden([sequences[i] for i in chosen])
            width = hidden.shape[1]
            flat = [(row * width + 1 + a, row * width + 1 + z) for row, i in enumerate(chosen) for a, z in spans[i]]
            picked = self.on_device(np.concatenate([np.arange(a, z) for a, z in flat]))
            owner = self.on_device(np.repeat(np.arange(len(flat)), [z - a for a, z in flat]))
            values = hidden.reshape(-1, hidden.shape[2])[picked].float()
            sums = torch.zeros(len(flat), hidden.shape[2], device=self.device).index_add(0, owner, values)
            rows.append(sums / torch.bincount(owner)[:, None])
            places += [int(where[i]) + k for i in chosen for k in range(len(spans[i]))]
        return torch.cat(rows)[self.on_device(np.argsort(places))]

    def hidden(self, sequences: Sequence[Ids]) -> Any:
        """The last layer: (B, T, width), special pieces and padding included."""
        width = max(len(ids) for ids in sequences) + 2
        lengths = np.array([len(ids) + 2 for ids in sequences])
        table = np.full((len(sequences), width), self.reader.padding, np.int64)
        table[:, 0] = self.reader.start
        for row, ids in enumerate(sequences):
            table[row, 1 : len(ids) + 1] = ids
            table[row, len(ids) + 1] = self.reader.end
        outside = (
            self.on_device(np.arange(width) >= lengths[:, None])[:, None, None, :] if lengths.min() < width else None
        )
        return self.layers(self.on_device(table), outside)

    def layers(self, table: Any, outside: Any = None) -> Any:
        """The last layer of sequences of pieces: (B, T, width).

        Args:
            table: (B, T) pieces, the special ones included.
            outside: (B, 1, 1, T) true where a sequence is padded.
        """
        f, t, width = self.torch.nn.functional, self.tensors, table.shape[1]
        x = t["embeddings.word"][table] + t["embeddings.position"][:width]
        x = f.layer_norm(x, x.shape[-1:], t["embeddings.norm.weight"], t["embeddings.norm.bias"], self.shape.epsilon)
        x = x.to(self.kind)
        bias = None
        if "relative" in t:
            near = self.on_device(distance_buckets(width, len(t["relative"])))
            bias = t["relative"][near].permute(2, 0, 1)[None]
        if outside is not None:
            bias = (0.0 if bias is None else bias) + outside * -1e4
        for layer in range(self.shape.layers):
            x = self._layer(x, f"layer.{layer}.", None if bias is None else bias.to(self.kind))
        return x

    def _layer(self, x: Any, name: str, bias: Any) -> Any:
        f = self.torch.nn.functional
        batch, length, width = x.shape
        heads, depth = self.shape.heads, width // self.shape.heads
        dropped = self.dropout if self.torch.is_grad_enabled() else 0.0

        def linear(value: Any, part: str) -> Any:
            return f.linear(value, self._weight(name + part + ".weight"), self._weight(name + part + ".bias"))

        def norm(value: Any, part: str) -> Any:
            weight, bias = self._weight(name + part + ".weight"), self._weight(name + part + ".bias")
            return f.layer_norm(value, (width,), weight, bias, self.shape.epsilon)

        q, k, v = linear(x, "qkv").view(batch, length, 3, heads, depth).permute(2, 0, 3, 1, 4)
        if self.card:
            mixed = f.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        else:  # on a processor fused attention is slow to differentiate
            scores = q.float() @ k.float().transpose(2, 3) * depth**-0.5
            scores = scores if bias is None else scores + bias
            mixed = (scores.softmax(-1) @ v.float()).to(self.kind)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        x = norm(x + f.dropout(linear(mixed, "out"), dropped), "norm1")
        return norm(x + f.dropout(linear(f.gelu(linear(x, "up"), approximate="tanh"), "down"), dropped), "norm2")

    def _weight(self, name: str) -> Any:
        """A tensor in the precision of the computation; kept until :meth:`new_step`."""
        if name not in self._rounded:
            self._rounded[name] = self.tensors[name].to(self.kind)
        return self._rounded[name]

    def new_step(self) -> None:
        """Forget the rounded tensors: to be called when the tensors changed."""
        self._rounded = {}

    def head(self, pooled: Any, name: str) -> Any:
        """Unit sense vectors (N, n) from pooled vectors; ``name`` is ``context`` or ``gloss``."""
        f = self.torch.nn.functional
        return f.normalize(f.linear(pooled, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]), dim=-1)

    def glosses(self, pieces: Sequence[Ids]) -> Any:
        """Unit vectors of glosses: (N, n)."""
        return self.head(self.pooled(pieces, [[(0, len(ids))] for ids in pieces]), "gloss")

    def contexts(self, sequences: Sequence[Ids], spans: Sequence[Sequence[tuple[int, int]]]) -> Any:
        """Unit vectors of words: (spans, n)."""
        return self.head(self.pooled(sequences, spans), "context")

    def finished(self) -> GlossEncoder:
        """The same encoder in NumPy."""
        tensors = {name: value.detach().cpu().numpy().copy() for name, value in self.tensors.items()}
        return GlossEncoder(tensors, self.reader, self.shape)


class FastEncoder(GlossEncoder):
    """The same encoder computed by torch in bfloat16, on a graphics card or several times faster on a processor.

    Vectors differ from those of NumPy in the third digit.
    """

    def __init__(self, encoder: GlossEncoder, device: str = "cpu") -> None:
        tensors = encoder.tensors()
        super().__init__(tensors, encoder.reader, encoder.shape)
        scale = tensors.pop("embeddings.word.scale")
        tensors["embeddings.word"] = tensors["embeddings.word"] * scale[:, None]
        self._fast = TorchEncoder(tensors, encoder.reader, encoder.shape, device=device)

    def pooled(self, sequences: Sequence[Ids], spans: Sequence[Sequence[tuple[int, int]]]) -> NDArray[np.float32]:
        """Means of the last layer over spans of pieces: (spans, width), in the order given."""
        with self._fast.torch.no_grad():
            found = [self._fast.pooled(sequences[a : a + 512], spans[a : a + 512]).cpu().numpy()
                     for a in range(0, len(sequences), 512) if any(map(len, spans[a : a + 512]))]  # fmt: skip
        return np.concatenate(found) if found else np.empty((0, self._embeddings[0].shape[1]), np.float32)


@lru_cache(maxsize=256)
def distance_buckets(length: int, buckets: int = 32, farthest: int = 128) -> NDArray[np.int64]:
    """MPNet's bucket of the distance from each piece to each other: (T, T).

    Half of the buckets are for pieces to the right; of each half the first half are distances one by one, the others
    grow as their logarithm up to ``farthest``.

    >>> distance_buckets(4)[1].tolist()
    [1, 0, 17, 18]
    """
    half = buckets // 2
    exact = half // 2
    distance = np.arange(length)[None, :] - np.arange(length)[:, None]
    away = np.abs(distance)
    far = exact + (np.log(np.maximum(away, 1) / exact) / np.log(farthest / exact) * (half - exact)).astype(np.int64)
    return np.asarray(half * (distance > 0) + np.where(away < exact, away, np.minimum(far, half - 1)))


def read_minilm(folder: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors of a 6 × 384 BERT in Hugging Face's files, by this module's names."""
    found = _tensors(folder, "all-MiniLM-L6-v2", "bert.")
    names = {"qkv": "attention.self.{}", "out": "attention.output.dense", "norm1": "attention.output.LayerNorm"}
    try:
        tensors = _renamed(found, MINILM, names, ("query", "key", "value"))
        tensors["embeddings.word"] = found["embeddings.word_embeddings.weight"]
        tensors["embeddings.position"] = (
            found["embeddings.position_embeddings.weight"] + found["embeddings.token_type_embeddings.weight"][0]
        )
    except KeyError as error:
        raise FormatError(f"{folder} holds no 6 × 384 BERT: it lacks {error}") from None
    return {name: np.asarray(value, np.float32) for name, value in tensors.items()}


def read_mpnet(folder: Path, reader: WordPiece) -> dict[str, NDArray[np.float32]]:
    """The tensors of a 12 × 768 MPNet in Hugging Face's files, for the pieces of BERT.

    MPNet's vocabulary is BERT's after four special pieces, which take the rows of BERT's own.
    """
    found = _tensors(folder, "all-mpnet-base-v2", "mpnet.")
    names = {"qkv": "attention.attn.{}", "out": "attention.attn.o", "norm1": "attention.LayerNorm"}
    try:
        tensors = _renamed(found, MPNET, names, ("q", "k", "v"))
        words = found["embeddings.word_embeddings.weight"]
        tensors["embeddings.word"] = words[4 : 4 + len(reader.pieces)].copy()
        for own, row in ((reader.start, 0), (reader.padding, 1), (reader.end, 2)):
            tensors["embeddings.word"][own] = words[row]
        tensors["embeddings.position"] = found["embeddings.position_embeddings.weight"][2:]
        tensors["relative"] = found["encoder.relative_attention_bias.weight"]
    except KeyError as error:
        raise FormatError(f"{folder} holds no 12 × 768 MPNet: it lacks {error}") from None
    return {name: np.asarray(value, np.float32) for name, value in tensors.items()}


def _tensors(folder: Path, model: str, prefix: str) -> dict[str, NDArray[np.float32]]:
    from safetensors.numpy import load_file

    path = folder / "model.safetensors"
    if not path.is_file():
        raise FormatError(f"{folder} holds no model.safetensors: give the folder of {model}")
    return {name.removeprefix(prefix): value for name, value in load_file(path).items()}


def _renamed(
    found: dict[str, NDArray[np.float32]], shape: Shape, names: dict[str, str], qkv: tuple[str, str, str]
) -> dict[str, NDArray[np.float32]]:
    """The tensors of the layers, and the norm of the embeddings."""
    tensors = {f"embeddings.norm.{kind}": found[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias")}
    names = {**names, "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm"}
    for layer in range(shape.layers):
        for kind in ("weight", "bias"):
            for new, old in names.items():
                parts = [
                    found[f"encoder.layer.{layer}.{old.format(part)}.{kind}"] for part in qkv[: 3 if "{" in old else 1]
                ]
                tensors[f"layer.{layer}.{new}.{kind}"] = np.concatenate(parts)
    return tensors
