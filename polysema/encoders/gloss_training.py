"""Trains a small encoder so that a word in its sentence lies near the gloss of its sense.

The vector c of a word is the mean of the last layer over its pieces, the vector g of a synset the mean over the pieces
of its gloss; each goes through a linear head to n numbers and is made unit. For a tagged word with senses S,

    p(s | c) = exp(τ⟨g_s, c⟩) / Σ_{r ∈ S} exp(τ⟨g_r, c⟩),        loss = −ln Σ_{right s} p(s | c).

The loss is the mean of two: S holds the senses of every part of speech of the spelling, and those of the right one.

**Few glosses are read in a step.** A sentence costs 25 pieces and the glosses of its words 1000. So the pooled vectors
of glosses are computed before the first step and kept; with them every sense stands in the softmax, and their head
learns. All senses of a few spellings of each batch are read again, g′, with gradient and together, so that no sense is
favoured by being newer. Added to the loss are the loss of these words by g′, and

    1 − ⟨g, g′⟩

with g by the pooled vector kept, so that the encoder does not move away from the glosses that are not read. Then the
new pooled vectors are kept.

Needs torch (the extra ``encoders``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.gloss_encoder import GlossEncoder, Shape
from polysema.encoders.tagged_text import TaggedSentence
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import FormatError, InputError, needing
from polysema.senses.wordnet_files import WordNet

Ids = NDArray[np.int32]
Report = Callable[[str], None]

MINILM = Shape(layers=6, heads=12)
"""The shape of all-MiniLM-L6-v2, the encoder that training starts from; its width is 384."""


@dataclass(frozen=True, slots=True)
class GlossTraining:
    """Options of a training run.

    Attributes:
        minutes, steps: how long to train, whichever ends first; the learning rate falls to zero over this time.
        rate, head_rate: highest learning rates of the encoder and of the two heads.
        sentences: sentences of a batch.
        read_again: glosses of a batch that are read again, about.
        read_weight, kept_weight: how much their loss, and their distance from the vectors kept, count.
        dimension: n, the numbers of a sense vector.
        scale: τ.
        longest, longest_gloss: pieces of a sentence and of a gloss at most.
        prefixes: share of the sentences that end early, so that the encoder can read word by word.
        joined: share of the sentences that are read together with the next one of their document.
        usual: tagged occurrences up to which each of a word's occurrences counts fully; beyond, (usual / N)^¼.
        source_weights: how likely an occurrence is drawn, by source.
        frozen_layers: layers from below that stay as they are, as the embeddings always do.
        device: of torch: ``cpu``, ``cuda`` …
        threads: of torch; 0 leaves it as it is.
    """

    minutes: float = 25.0
    steps: int | None = None
    rate: float = 1.2e-4
    head_rate: float = 1e-3
    sentences: int = 64
    read_again: int = 64
    read_weight: float = 0.5
    kept_weight: float = 0.3
    dimension: int = 128
    scale: float = 20.0
    longest: int = 64
    longest_gloss: int = 36
    prefixes: float = 0.1
    joined: float = 0.25
    usual: float = 100.0
    source_weights: dict[str, float] = field(default_factory=lambda: {"semcor": 1.0, "glosses": 0.3, "examples": 0.6})
    frozen_layers: int = 0
    device: str = "cpu"
    threads: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.minutes <= 0 or (self.steps is not None and self.steps <= 0):
            raise InputError(f"a run of {self.minutes} minutes and {self.steps} steps trains nothing: give more")


@dataclass(slots=True)
class TaggedWord:
    """A tagged word of a sentence, in pieces."""

    start: int
    end: int
    spelling: int
    right: tuple[int, ...]


@dataclass(slots=True)
class TaggedPieces:
    """A sentence as pieces, without the special ones, and its tagged words of several senses."""

    ids: Ids
    words: list[TaggedWord]
    weight: float = 1.0
    document: str = ""


class SenseTable:
    """Spellings and their senses as rows.

    Attributes:
        spellings: row of each spelling that has several synsets.
        senses: the synset rows of each such spelling.
        synsets: row of each synset id.
        of_key: synset row of each sense key.
        pos: (synsets,) the letter of each part of speech.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self.synsets = {name: row for row, name in enumerate(wordnet.synsets)}
        self.of_key = {key.key: self.synsets[key.synset] for key in wordnet.keys}
        self.pos = np.array([name[-1] for name in self.synsets])
        self.spellings: dict[str, int] = {}
        self.senses: list[NDArray[np.int64]] = []
        for spelling, keys in wordnet.senses().items():
            rows = list(dict.fromkeys(self.synsets[key.synset] for key in keys))
            if len(rows) > 1:
                self.spellings[spelling] = len(self.senses)
                self.senses.append(np.array(rows))

    def encode(self, sentences: Iterable[TaggedSentence], reader: WordPiece) -> list[TaggedPieces]:
        """Sentences with at least one tagged word of several senses, as pieces."""
        found = []
        for sentence in sentences:
            pieces = reader.read(sentence.text)
            words = []
            for target in sentence.targets:
                spelling = self.spellings.get(target.lemma)
                if spelling is None:
                    continue
                start = int(np.searchsorted(pieces.ends, target.start, side="right"))
                end = int(np.searchsorted(pieces.starts, target.end, side="left"))
                right = tuple(dict.fromkeys(self.of_key[key] for key in target.keys if key in self.of_key))
                if end > start and right:
                    words.append(TaggedWord(start, end, spelling, right))
            if words:
                found.append(TaggedPieces(pieces.ids, words, document=sentence.document))
        return found


def cropped(sentence: TaggedPieces, longest: int, around: TaggedWord, stop: int | None = None) -> TaggedPieces:
    """At most ``longest`` pieces around a word, ending before the piece ``stop``."""
    size = min(len(sentence.ids), stop or len(sentence.ids))
    first = 0
    if size > longest:
        first = min(max(0, (around.start + around.end - longest) // 2), size - longest)
        size = first + longest
    if first == 0 and size == len(sentence.ids):
        return sentence
    words = [
        TaggedWord(word.start - first, word.end - first, word.spelling, word.right)
        for word in sentence.words
        if word.start >= first and word.end <= size
    ]
    return TaggedPieces(sentence.ids[first:size], words, sentence.weight, sentence.document)


def joined(first: TaggedPieces, second: TaggedPieces) -> TaggedPieces:
    """Two sentences as one text."""
    shift = len(first.ids)
    moved = [TaggedWord(word.start + shift, word.end + shift, word.spelling, word.right) for word in second.words]
    return TaggedPieces(np.concatenate([first.ids, second.ids]), first.words + moved, first.weight, first.document)


class TorchEncoder:
    """A BERT in torch: the tensors of :class:`~polysema.encoders.gloss_encoder.GlossEncoder`, by the same names.

    Args:
        tensors: by name; see :func:`read_minilm`.
        half: compute in bfloat16; the tensors stay in float32.
    """

    def __init__(
        self,
        tensors: dict[str, NDArray[Any]],
        reader: WordPiece,
        shape: Shape = MINILM,
        *,
        half: bool = True,
        frozen_layers: int = 0,
        device: str = "cpu",
    ) -> None:
        with needing("training an encoder", "encoders"):
            import torch
        self.torch = torch
        self.reader, self.shape, self.frozen_layers, self.device = reader, shape, frozen_layers, device
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

    def pooled(self, sequences: Sequence[Ids], spans: Sequence[Sequence[tuple[int, int]]], most: int = 2600) -> Any:
        """Means of the last layer over spans of pieces: (spans, width), in the order given.

        Args:
            spans: of each sequence, (first piece, end) without the special pieces.
            most: pieces of one pass, padding included.
        """
        torch = self.torch
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
        f, t = self.torch.nn.functional, self.tensors
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
        x = t["embeddings.word"][self.on_device(table)] + t["embeddings.position"][:width]
        x = f.layer_norm(x, x.shape[-1:], t["embeddings.norm.weight"], t["embeddings.norm.bias"], self.shape.epsilon)
        x = x.to(self.kind)
        for layer in range(self.shape.layers):
            x = self._layer(x, f"layer.{layer}.", outside)
        return x

    def _layer(self, x: Any, name: str, outside: Any) -> Any:
        f = self.torch.nn.functional
        batch, length, width = x.shape
        heads, depth = self.shape.heads, width // self.shape.heads

        def linear(value: Any, part: str) -> Any:
            return f.linear(value, self._weight(name + part + ".weight"), self._weight(name + part + ".bias"))

        def norm(value: Any, part: str) -> Any:
            weight, bias = self._weight(name + part + ".weight"), self._weight(name + part + ".bias")
            return f.layer_norm(value, (width,), weight, bias, self.shape.epsilon)

        q, k, v = linear(x, "qkv").view(batch, length, 3, heads, depth).permute(2, 0, 3, 1, 4)
        scores = (
            q.float() @ k.float().transpose(2, 3) * depth**-0.5
        )  # torch's fused attention goes back slowly on a CPU
        if outside is not None:
            scores = scores.masked_fill(outside, -1e4)
        mixed = (scores.softmax(-1) @ v.float()).to(self.kind).transpose(1, 2).reshape(batch, length, width)
        x = norm(x + linear(mixed, "out"), "norm1")
        return norm(x + linear(f.gelu(linear(x, "up"), approximate="tanh"), "down"), "norm2")

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

    def contexts(self, sentences: Sequence[TaggedPieces]) -> Any:
        """Unit vectors of the tagged words of sentences: (N, n)."""
        spans = [[(word.start, word.end) for word in sentence.words] for sentence in sentences]
        return self.head(self.pooled([sentence.ids for sentence in sentences], spans), "context")

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


def read_minilm(folder: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors of a 6 × 384 BERT in Hugging Face's files, by this module's names."""
    from safetensors.numpy import load_file

    path = folder / "model.safetensors"
    if not path.is_file():
        raise FormatError(f"{folder} holds no model.safetensors: give the folder of all-MiniLM-L6-v2")
    found = {name.removeprefix("bert."): value for name, value in load_file(path).items()}
    try:
        tensors = {
            "embeddings.word": found["embeddings.word_embeddings.weight"],
            "embeddings.position": found["embeddings.position_embeddings.weight"]
            + found["embeddings.token_type_embeddings.weight"][0],
            "embeddings.norm.weight": found["embeddings.LayerNorm.weight"],
            "embeddings.norm.bias": found["embeddings.LayerNorm.bias"],
        }
        for layer in range(MINILM.layers):
            new, old = f"layer.{layer}.", f"encoder.layer.{layer}."
            for kind in ("weight", "bias"):
                qkv = [found[f"{old}attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
                tensors[f"{new}qkv.{kind}"] = np.concatenate(qkv)
                tensors[f"{new}out.{kind}"] = found[f"{old}attention.output.dense.{kind}"]
                tensors[f"{new}norm1.{kind}"] = found[f"{old}attention.output.LayerNorm.{kind}"]
                tensors[f"{new}up.{kind}"] = found[f"{old}intermediate.dense.{kind}"]
                tensors[f"{new}down.{kind}"] = found[f"{old}output.dense.{kind}"]
                tensors[f"{new}norm2.{kind}"] = found[f"{old}output.LayerNorm.{kind}"]
    except KeyError as error:
        raise FormatError(f"{path} is no 6 × 384 BERT: it lacks {error}") from None
    return {name: np.asarray(value, np.float32) for name, value in tensors.items()}


class Choices(NamedTuple):
    """The senses that W tagged words are chosen among, padded to the largest number K."""

    senses: NDArray[np.int64]  # (W, K) synset rows
    valid: NDArray[np.bool_]  # (W, K) false where padded
    right: NDArray[np.bool_]  # (W, K)
    same_pos: NDArray[np.bool_]  # (W, K) of the right part of speech
    weight: NDArray[np.float32]  # (W,)

    def of(self, words: NDArray[np.int64]) -> Choices:
        """Those of some words."""
        return Choices(
            self.senses[words], self.valid[words], self.right[words], self.same_pos[words], self.weight[words]
        )


class GlossTrainer:
    """One training run.

    Args:
        encoder: the encoder, changed in place.
        glosses: (S,) the pieces of every gloss.
        table: the senses of every spelling.
        sentences: training sentences, those of a document in order.
    """

    def __init__(
        self,
        encoder: TorchEncoder,
        glosses: Sequence[Ids],
        table: SenseTable,
        sentences: Sequence[TaggedPieces],
        options: GlossTraining,
    ) -> None:
        if not sentences:
            raise InputError("no sentence has a tagged word of several senses: check the sense keys")
        self.encoder, self.sentences, self.options, self.pos = encoder, sentences, options, table.pos
        self.glosses = [ids[: options.longest_gloss] for ids in glosses]
        self.random, self.torch = np.random.default_rng(options.seed), encoder.torch
        if options.threads:
            self.torch.set_num_threads(options.threads)
        self._counts = np.array([len(rows) for rows in table.senses])
        self._senses = np.zeros((len(table.senses), self._counts.max()), np.int64)
        for row, own in zip(self._senses, table.senses, strict=True):
            row[: len(own)] = own
        spellings = np.array([word.spelling for s in sentences for word in s.words])
        seen = np.bincount(spellings, [s.weight for s in sentences for _ in s.words], len(table.senses))
        self._weights = np.minimum(1, (np.maximum(seen, 1) / options.usual) ** -0.25).astype(np.float32)
        used = np.unique(np.concatenate([table.senses[spelling] for spelling in np.unique(spellings)]))
        self._used = used
        self._chances = np.array([s.weight for s in sentences]) / sum(s.weight for s in sentences)
        if "context.weight" not in encoder.tensors:
            self._start_heads()
        for tensor in encoder.trained().values():
            tensor.requires_grad_(True)
        self.optimizer = self._optimizer()
        width = encoder.tensors["embeddings.norm.bias"].shape[0]
        self.pooled = self.torch.zeros(len(glosses), width, device=encoder.device)
        self._known = np.zeros(len(glosses), bool)
        self._pool(used)

    def _optimizer(self) -> Any:
        groups: dict[str, list[Any]] = {"heads": [], "matrices": [], "vectors": []}
        for name, tensor in self.encoder.trained().items():
            kind = "heads" if not name.startswith("layer") else "matrices" if tensor.ndim > 1 else "vectors"
            groups[kind].append(tensor)
        o = self.options
        tops = {"heads": o.head_rate, "matrices": o.rate, "vectors": o.rate}
        return self.torch.optim.AdamW(
            [
                {"params": tensors, "lr": tops[kind], "top": tops[kind], "weight_decay": 0.01 * (kind == "matrices")}
                for kind, tensors in groups.items()
                if tensors
            ],
            betas=(0.9, 0.98),
        )

    def _start_heads(self) -> None:
        """Both heads start as the principal directions of gloss and context vectors, each centred."""
        torch, n, encoder = self.torch, self.options.dimension, self.encoder
        with torch.no_grad():
            encoder.new_step()
            pieces = [self.glosses[i] for i in self.random.choice(len(self.glosses), 3000)]
            g = encoder.pooled(pieces, [[(0, len(ids))] for ids in pieces])
            chosen = [self.sentences[i] for i in self.random.choice(len(self.sentences), 600)]
            chosen = [cropped(s, self.options.longest, s.words[0]) for s in chosen]
            c = encoder.pooled([s.ids for s in chosen], [[(w.start, w.end) for w in s.words] for s in chosen])
            _, _, directions = torch.linalg.svd(torch.cat([g - g.mean(0), c - c.mean(0)]), full_matrices=False)
            if len(directions) < n:
                raise InputError(f"sense vectors of {n} numbers do not fit an encoder of width {len(directions)}")
            for name, vectors in (("gloss", g), ("context", c)):
                encoder.tensors[f"{name}.weight"] = directions[:n].clone().contiguous()
                encoder.tensors[f"{name}.bias"] = -(directions[:n] @ vectors.mean(0))

    def batch(self) -> list[TaggedPieces]:
        """Sentences drawn by their weights; some are joined to the next one, some end early."""
        o = self.options
        chosen = self.random.choice(len(self.sentences), min(o.sentences, len(self.sentences)), replace=False,
                                    p=self._chances)  # fmt: skip
        found = []
        for i in chosen.tolist():
            sentence, stop = self.sentences[i], None
            around = sentence.words[int(self.random.integers(len(sentence.words)))]
            after = self.sentences[min(i + 1, len(self.sentences) - 1)]
            if self.random.random() < o.joined and after is not sentence and after.document == sentence.document:
                sentence = joined(sentence, after)
            if self.random.random() < o.prefixes:
                stop = int(self.random.integers(around.end, len(sentence.ids) + 1))
            found.append(cropped(sentence, o.longest, around, stop))
        return found

    def choices(self, sentences: Sequence[TaggedPieces]) -> Choices:
        """What the tagged words of sentences are chosen among."""
        words = [word for sentence in sentences for word in sentence.words]
        spelling = np.array([word.spelling for word in words])
        counts = self._counts[spelling]
        senses = self._senses[spelling][:, : counts.max()]
        valid = np.arange(senses.shape[1]) < counts[:, None]
        known = np.full((len(words), max(len(word.right) for word in words)), -1)
        for row, word in zip(known, words, strict=True):
            row[: len(word.right)] = word.right
        right = (senses[:, :, None] == known[:, None, :]).any(axis=2) & valid
        same = (self.pos[senses] == self.pos[known[:, 0]][:, None]) & valid
        return Choices(senses, valid, right, same, self._weights[spelling])

    def loss(self, c: Any, table: Any, choices: Choices) -> tuple[Any, float]:
        """The loss of a batch, and the share of its words whose best sense of all parts of speech is right.

        Args:
            c: (W, n) vectors of the tagged words.
            table: (G, n) gloss vectors; ``choices.senses`` are rows of it.
        """
        torch, on_device = self.torch, self.encoder.on_device
        logits = self.options.scale * torch.einsum("wn,wsn->ws", c, table[on_device(choices.senses)])
        total = 0.0
        for among in (choices.valid, choices.same_pos):
            kept = torch.log_softmax(logits.masked_fill(on_device(~among), -1e4), dim=1)
            right = torch.logsumexp(kept.masked_fill(on_device(~(choices.right & among)), -1e4), dim=1)
            weight = on_device(choices.weight * (among.sum(axis=1) > 1))
            total = total - 0.5 * (right.clamp(min=-50) * weight).sum() / weight.sum().clamp(min=1)
        best = logits.detach().masked_fill(on_device(~choices.valid), -1e4).argmax(1).cpu().numpy()
        return total, float(choices.right[np.arange(len(best)), best].mean())

    def _pool(self, rows: NDArray[np.int64]) -> None:
        """Read glosses that were not read, without gradient."""
        rows = rows[~self._known[rows]]
        for part in np.array_split(rows[np.argsort([len(self.glosses[i]) for i in rows])], len(rows) // 512 + 1):
            if len(part):
                with self.torch.no_grad():
                    spans = [[(0, len(self.glosses[i]))] for i in part]
                    found = self.encoder.pooled([self.glosses[i] for i in part], spans)
                self.pooled[self.encoder.on_device(part)] = found
        self._known[rows] = True

    def _gloss_vectors(self, rows: NDArray[np.int64]) -> Any:
        return self.encoder.head(self.pooled[self.encoder.on_device(rows)], "gloss")

    def step(self) -> tuple[float, float]:
        """One step of the optimizer: the loss and the share of right answers of its batch."""
        encoder = self.encoder
        sentences = [sentence for sentence in self.batch() if sentence.words]
        encoder.new_step()
        c, choices = encoder.contexts(sentences), self.choices(sentences)
        rows = np.unique(choices.senses)
        places = choices._replace(senses=np.searchsorted(rows, choices.senses))
        kept = self._gloss_vectors(rows)
        loss, right = self.loss(c, kept, places)
        words, again = self._read_again(choices)
        pooled = encoder.pooled([self.glosses[i] for i in again], [[(0, len(self.glosses[i]))] for i in again])
        read = encoder.head(pooled, "gloss")
        own = choices.of(words)
        own = own._replace(senses=np.searchsorted(again, np.where(own.valid, own.senses, again[0])))
        by_read = self.loss(c[encoder.on_device(words)], read, own)[0]
        known = kept[encoder.on_device(np.searchsorted(rows, again))].detach()
        moved = (1 - (read * known).sum(1)).mean()
        o = self.options
        (loss + o.read_weight * by_read + o.kept_weight * moved).backward()
        self.torch.nn.utils.clip_grad_norm_(list(encoder.trained().values()), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.pooled[encoder.on_device(again)] = pooled.detach()
        return float(loss.detach()), right

    def _read_again(self, choices: Choices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Words of a few spellings, drawn at random, and all of their senses, sorted."""
        again = set[int]()
        for word in self.random.permutation(len(choices.senses)).tolist():
            again |= set(choices.senses[word, choices.valid[word]].tolist())
            if len(again) >= self.options.read_again:
                break
        rows = np.array(sorted(again))
        inside = (np.isin(choices.senses, rows) | ~choices.valid).all(axis=1)
        return np.flatnonzero(inside), rows

    def accuracy(self, sentences: Sequence[TaggedPieces], batch: int = 128) -> float:
        """The share of the tagged words of other sentences whose best sense is right, whatever its part of speech."""
        self.encoder.new_step()
        right: list[tuple[float, int]] = []
        for first in range(0, len(sentences), batch):
            part = sentences[first : first + batch]
            choices = self.choices(part)
            rows = np.unique(choices.senses)
            self._pool(rows)
            with self.torch.no_grad():
                places = choices._replace(senses=np.searchsorted(rows, choices.senses))
                share = self.loss(self.encoder.contexts(part), self._gloss_vectors(rows), places)[1]
            right.append((share, len(places.weight)))
        return sum(share * count for share, count in right) / max(sum(count for _, count in right), 1)

    def run(self, report: Report = lambda _: None, every: float = 600.0) -> Iterator[int]:
        """Train until time or steps are over; yields the number of steps every so many seconds, and at the end.

        Between two yields the weights change; where it yields, they can be saved or evaluated.

        Args:
            report: takes a line of progress, twice a minute.
        """
        o = self.options
        begin = last = said = time.monotonic()
        steps, recent = 0, list[tuple[float, float]]()
        while True:
            elapsed = time.monotonic() - begin
            share = max(elapsed / (60 * o.minutes), steps / o.steps if o.steps else 0.0)
            if share >= 1:
                break
            factor = (1 - share) * min(1.0, (steps + 1) / 100)
            for group in self.optimizer.param_groups:
                group["lr"] = group["top"] * factor
            recent = [*recent[-39:], self.step()]
            steps += 1
            now = time.monotonic()
            if now - said > 30:
                said = now
                loss, right = np.mean(recent, axis=0)
                speed = steps * o.sentences / (now - begin)
                report(
                    f"step {steps}, {now - begin:.0f} s, loss {loss:.3f}, right {right:.3f}, {speed:.0f} sentences/s"
                )
            if now - last > every:
                last = now
                yield steps
        yield steps
