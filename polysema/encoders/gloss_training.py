"""Trains a small encoder so that a word in its sentence lies near the gloss of its sense.

The vector c of a word is the mean of the last layer over its pieces, the vector g of a synset the mean over the pieces
of its gloss; each goes through a linear head to n numbers and is made unit. For a tagged word with senses S,

    p(s | c) = exp(τ⟨g_s, c⟩) / Σ_{r ∈ S} exp(τ⟨g_r, c⟩),        loss = −ln Σ_{right s} p(s | c),

where S holds the senses of every part of speech that shares the spelling.

**Batches by word.** A sentence costs 25 pieces and the glosses of its words 600, so a batch is built around a few
spellings: their glosses are encoded once, with gradient, beside several sentences of each. The other tagged words of
those sentences are trained against *remembered* gloss vectors, where all of theirs are known. The memory drifts away
from the encoder as it learns; the drift is mostly one linear map, which the freshly encoded glosses show, so every few
batches the remembered vectors are moved by the ridge regression of fresh on remembered ones.

Needs torch (the extra ``encoders``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.gloss_encoder import GlossEncoder, Shape
from polysema.encoders.tagged_text import TaggedSentence
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import FormatError, InputError, check_choice, needing
from polysema.senses.wordnet_files import WordNet

Ids = NDArray[np.int32]
Report = Callable[[str], None]

MINILM = Shape(layers=6, heads=12)
"""The shape of all-MiniLM-L6-v2, the encoder that training starts from; its width is 384."""

BATCHES = ("spellings", "sentences")
"""How a batch is drawn; see :class:`GlossTraining`."""


@dataclass(frozen=True, slots=True)
class GlossTraining:
    """Options of a training run.

    Attributes:
        minutes, steps: how long to train, whichever ends first; the learning rate falls to zero over this time.
        rate, head_rate: highest learning rates of the encoder and of the two heads.
        batches: ``spellings`` builds a batch around a few words, which suits a processor. ``sentences`` draws sentences
            and encodes the glosses of all their tagged words, about 50 a sentence: exact, for a graphics card.
        spellings: spellings in a batch.
        sentences: sentences of each spelling at most, or of a batch.
        dimension: n, the numbers of a sense vector.
        scale: τ.
        remembered_weight: weight of a word that is trained against remembered glosses.
        longest, longest_gloss: pieces of a sentence and of a gloss at most.
        prefixes: share of the sentences that end early, so that the encoder can read word by word.
        source_weights: how likely an occurrence is drawn, by source.
        frozen_layers: layers from below that stay as they are, as the embeddings always do.
        device: of torch: ``cpu``, ``cuda`` …
        threads: of torch; 0 leaves it as it is.
    """

    minutes: float = 60.0
    steps: int | None = None
    rate: float = 1.5e-4
    head_rate: float = 1e-3
    batches: str = "spellings"
    spellings: int = 12
    sentences: int = 5
    dimension: int = 128
    scale: float = 20.0
    remembered_weight: float = 0.5
    longest: int = 48
    longest_gloss: int = 32
    prefixes: float = 0.1
    source_weights: dict[str, float] = field(default_factory=lambda: {"semcor": 1.0, "glosses": 0.35, "examples": 0.7})
    frozen_layers: int = 2
    device: str = "cpu"
    threads: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        check_choice("way to draw batches", self.batches, BATCHES)
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


class SenseTable:
    """Spellings and their senses as rows.

    Attributes:
        spellings: row of each spelling that has several synsets.
        senses: the synset rows of each such spelling.
        synsets: row of each synset id.
        of_key: synset row of each sense key.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self.synsets = {name: row for row, name in enumerate(wordnet.synsets)}
        self.of_key = {key.key: self.synsets[key.synset] for key in wordnet.keys}
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
                found.append(TaggedPieces(pieces.ids, words))
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
    return TaggedPieces(sentence.ids[first:size], words, sentence.weight)


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


class GlossTrainer:
    """One training run.

    Args:
        encoder: the encoder, changed in place.
        glosses: (S,) the pieces of every gloss.
        senses: the synset rows of every spelling.
        sentences: training sentences.
    """

    def __init__(
        self,
        encoder: TorchEncoder,
        glosses: Sequence[Ids],
        senses: Sequence[NDArray[np.int64]],
        sentences: Sequence[TaggedPieces],
        options: GlossTraining,
    ) -> None:
        if not sentences:
            raise InputError("no sentence has a tagged word of several senses: check the sense keys")
        self.encoder, self.senses, self.sentences, self.options = encoder, senses, sentences, options
        self.glosses = [ids[: options.longest_gloss] for ids in glosses]
        self.random = np.random.default_rng(options.seed)
        self.torch = encoder.torch
        if options.threads:
            self.torch.set_num_threads(options.threads)
        self.memory = _Memory(len(glosses), options.dimension)
        self._draws()
        if "context.weight" not in encoder.tensors:
            self._start_heads()
        for tensor in encoder.trained().values():
            tensor.requires_grad_(True)
        self.optimizer = self._optimizer()

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

    def _draws(self) -> None:
        """Occurrences of each spelling, and how likely each spelling is drawn: by the root of its occurrences."""
        owner = np.array([word.spelling for s in self.sentences for word in s.words])
        place = np.array([(i, k) for i, s in enumerate(self.sentences) for k in range(len(s.words))])
        weight = np.array([s.weight for s in self.sentences for _ in s.words])
        order = np.argsort(owner, kind="stable")
        self.spellings, starts = np.unique(owner[order], return_index=True)
        self.occurrences = np.split(place[order], starts[1:])
        self.weights = np.split(weight[order], starts[1:])
        mass = np.array([w.sum() for w in self.weights]) ** 0.5
        self.chances = mass / mass.sum()
        self.sentence_chances = np.array([s.weight for s in self.sentences])
        self.sentence_chances /= self.sentence_chances.sum()

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

    def batch(self) -> tuple[list[TaggedPieces], NDArray[np.int64]]:
        """Sentences, and the synset rows whose glosses are encoded with them."""
        o = self.options
        if o.batches == "sentences":
            chosen = self.random.choice(len(self.sentences), min(o.sentences, len(self.sentences)), replace=False,
                                        p=self.sentence_chances)  # fmt: skip
            found = {int(i): self._shortened(int(i), int(self.random.integers(len(self.sentences[i].words))))
                     for i in chosen}  # fmt: skip
            spellings = [word.spelling for sentence in found.values() for word in sentence.words]
        else:
            found, spellings = {}, []
            count = min(o.spellings, len(self.spellings))
            for row in self.random.choice(len(self.spellings), count, replace=False, p=self.chances):
                spellings.append(int(self.spellings[row]))
                weights = self.weights[row]
                some = min(o.sentences, len(weights))
                for pick in self.random.choice(len(weights), some, replace=False, p=weights / weights.sum()):
                    i, k = self.occurrences[row][pick].tolist()
                    found[i] = self._shortened(i, k)
        return list(found.values()), np.unique(np.concatenate([self.senses[spelling] for spelling in spellings]))

    def _shortened(self, i: int, k: int) -> TaggedPieces:
        """Sentence i around its word k; some end early, as when a sentence is read word by word."""
        sentence = self.sentences[i]
        around, stop = sentence.words[k], None
        if self.random.random() < self.options.prefixes:
            stop = int(self.random.integers(around.end, len(sentence.ids) + 1))
        return cropped(sentence, self.options.longest, around, stop)

    def loss(self, sentences: Sequence[TaggedPieces], fresh: NDArray[np.int64]) -> tuple[Any, int, int]:
        """The loss of a batch, the right answers among the words whose glosses are all fresh, and their number."""
        torch, encoder = self.torch, self.encoder
        is_fresh = np.zeros(len(self.glosses), bool)
        is_fresh[fresh] = True
        usable = is_fresh | self.memory.known
        sentences = [
            TaggedPieces(s.ids, [word for word in s.words if usable[self.senses[word.spelling]].all()])
            for s in sentences
        ]
        words = [word for sentence in sentences for word in sentence.words]
        g, c = encoder.glosses([self.glosses[i] for i in fresh]), encoder.contexts(sentences)
        used = np.unique(np.concatenate([self.senses[word.spelling] for word in words]))
        table = encoder.on_device(self.memory.vectors[used])
        shared = np.isin(fresh, used)
        table = table.index_copy(
            0, encoder.on_device(np.searchsorted(used, fresh[shared])), g[encoder.on_device(np.flatnonzero(shared))]
        )
        shape = (len(words), max(len(self.senses[word.spelling]) for word in words))
        candidates, valid, right = np.zeros(shape, np.int64), np.zeros(shape, bool), np.zeros(shape, bool)
        weight = np.empty(len(words), np.float32)
        for row, word in enumerate(words):
            rows = self.senses[word.spelling]
            candidates[row, : len(rows)] = np.searchsorted(used, rows)
            valid[row, : len(rows)] = True
            right[row, : len(rows)] = np.isin(rows, word.right)
            weight[row] = 1.0 if is_fresh[rows].all() else self.options.remembered_weight
        logits = self.options.scale * torch.einsum("wn,wsn->ws", c, table[encoder.on_device(candidates)])
        logits = logits.masked_fill(encoder.on_device(~valid), -1e4)
        kept = torch.log_softmax(logits, dim=1).masked_fill(encoder.on_device(~right), -1e4)
        weights = encoder.on_device(weight)
        total = -(torch.logsumexp(kept, dim=1) * weights).sum() / weights.sum()
        main = weight == 1.0
        hits = right[np.arange(len(words)), logits.argmax(1).cpu().numpy()]
        self.memory.take(fresh, g.detach().float().cpu().numpy())
        return total, int(hits[main].sum()), int(main.sum())

    def run(self, report: Report = lambda _: None, every: float = 300.0) -> Iterator[int]:
        """Train until time or steps are over; yields the number of steps every so many seconds, and at the end.

        Between two yields the weights change; where it yields, they can be saved or evaluated.

        Args:
            report: takes a line of progress, twice a minute.
        """
        o = self.options
        begin = last = said = time.monotonic()
        steps = pieces = 0
        losses: list[float] = []
        hits = counted = 0.0
        while True:
            elapsed = time.monotonic() - begin
            share = max(elapsed / (60 * o.minutes), steps / o.steps if o.steps else 0.0)
            if share >= 1:
                break
            factor = (1 - share) * min(1.0, (steps + 1) / 60)
            for group in self.optimizer.param_groups:
                group["lr"] = group["top"] * factor
            sentences, fresh = self.batch()
            self.encoder.new_step()
            loss, right, count = self.loss(sentences, fresh)
            loss.backward()
            self.torch.nn.utils.clip_grad_norm_(list(self.encoder.trained().values()), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            steps += 1
            pieces += sum(len(s.ids) + 2 for s in sentences) + sum(len(self.glosses[i]) + 2 for i in fresh)
            losses = [*losses[-39:], float(loss.detach())]
            hits, counted = 0.98 * hits + right, 0.98 * counted + count
            now = time.monotonic()
            if now - said > 30:
                said = now
                report(
                    f"step {steps}, {now - begin:.0f} s, loss {np.mean(losses):.3f}, "
                    f"right {hits / max(counted, 1):.3f}, "
                    f"{pieces / (now - begin):.0f} pieces/s, rate × {factor:.2f}"
                )
            if now - last > every:
                last = now
                self.encoder.new_step()
                yield steps
        self.encoder.new_step()
        yield steps


class _Memory:
    """Gloss vectors as they were when last encoded, moved along with the encoder's drift.

    Attributes:
        vectors: (S, n) unit.
        known: (S,) whether a gloss has been encoded.
    """

    def __init__(self, count: int, dimension: int, every: int = 10) -> None:
        self.vectors = np.zeros((count, dimension), np.float32)
        self.known = np.zeros(count, bool)
        self._every = every
        self._pairs: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []

    def take(self, rows: NDArray[np.int64], fresh: NDArray[np.float32]) -> None:
        """Keep fresh vectors. Every few calls, move all others by V ← V + V·D, made unit.

        D is the ridge regression of fresh − remembered on remembered, over the glosses encoded since the last time.
        """
        old = self.known[rows]
        self._pairs.append((self.vectors[rows[old]].copy(), fresh[old]))
        if len(self._pairs) == self._every:
            before = np.concatenate([pair[0] for pair in self._pairs])
            after = np.concatenate([pair[1] for pair in self._pairs])
            self._pairs.clear()
            n = before.shape[1]
            if len(before) > 4 * n:
                ridge = 0.05 * len(before) / n * np.eye(n, dtype=np.float32)
                drift = np.linalg.solve(before.T @ before + ridge, before.T @ (after - before))
                moved = self.vectors + self.vectors @ drift
                self.vectors = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        self.vectors[rows], self.known[rows] = fresh, True
