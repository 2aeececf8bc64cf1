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

from polysema.encoders.tagged_text import TaggedSentence
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import FormatError, InputError, needing
from polysema.senses.wordnet_files import WordNet

Ids = NDArray[np.int32]
Report = Callable[[str], None]

HEADS, LAYERS, WIDTH, EPSILON = 12, 6, 384, 1e-12
"""The shape of MiniLM, the encoder that training starts from."""


@dataclass(frozen=True, slots=True)
class GlossTraining:
    """Options of a training run.

    Attributes:
        minutes: how long to train; the learning rate falls to zero over this time.
        rate, head_rate: highest learning rates of the encoder and of the two heads.
        spellings: spellings in a batch.
        sentences: sentences of each spelling at most.
        dimension: n, the numbers of a sense vector.
        scale: τ.
        remembered_weight: weight of a word that is trained against remembered glosses.
        longest, longest_gloss: pieces of a sentence and of a gloss at most.
        prefixes: share of the sentences that end early, so that the encoder can read word by word.
        source_weights: how likely an occurrence is drawn, by source.
        threads: of torch; 0 leaves it as it is.
    """

    minutes: float = 60.0
    rate: float = 1.5e-4
    head_rate: float = 1e-3
    spellings: int = 24
    sentences: int = 6
    dimension: int = 128
    scale: float = 20.0
    remembered_weight: float = 0.5
    longest: int = 48
    longest_gloss: int = 32
    prefixes: float = 0.1
    source_weights: dict[str, float] = field(default_factory=lambda: {"semcor": 1.0, "glosses": 0.35, "examples": 0.7})
    threads: int = 0
    seed: int = 1


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
    """MiniLM in torch: the same tensors, by the same names, as the NumPy encoder reads.

    Args:
        tensors: by name; see :func:`read_minilm`.
    """

    def __init__(
        self, tensors: dict[str, NDArray[Any]], reader: WordPiece, half: bool = True, frozen_layers: int = 0
    ) -> None:
        with needing("training an encoder", "encoders"):
            import torch
        self.torch = torch
        self.reader, self.frozen_layers = reader, frozen_layers
        self.kind = torch.bfloat16 if half else torch.float32
        self.tensors = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in tensors.items()}
        self.gelu: Callable[[Any], Any] = lambda x: torch.nn.functional.gelu(x, approximate="tanh")

    def trained(self) -> dict[str, Any]:
        """Every tensor but the embeddings and the frozen layers, which stay as they are."""
        kept = ("embeddings", *(f"layer.{layer}." for layer in range(self.frozen_layers)))
        return {name: value for name, value in self.tensors.items() if not name.startswith(kept)}

    def pooled(self, sequences: Sequence[Ids], spans: Sequence[Sequence[tuple[int, int]]], most: int = 2600) -> Any:
        """Means of the last layer over spans of pieces: (spans, 384), in the order given.

        Args:
            spans: of each sequence, (start, end) without the special pieces.
            most: pieces of one pass, padding included.
        """
        torch = self.torch
        order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
        where = np.cumsum([0, *(len(found) for found in spans)])
        rows, places, at = [], [], 0
        while at < len(order):
            stop = at + 1
            while stop < len(order) and (len(sequences[order[stop]]) + 2) * (stop + 1 - at) <= most:
                stop += 1
            chosen = order[at:stop]
            at = stop
            hidden = self.hidden([sequences[i] for i in chosen])
            width = hidden.shape[1]
            flat = [(row * width + 1 + a, row * width + 1 + b) for row, i in enumerate(chosen) for a, b in spans[i]]
            if not flat:
                continue
            picked = torch.from_numpy(np.concatenate([np.arange(a, b) for a, b in flat]))
            owner = torch.from_numpy(np.repeat(np.arange(len(flat)), [b - a for a, b in flat]))
            sums = torch.zeros(len(flat), hidden.shape[2]).index_add(
                0, owner, hidden.reshape(-1, hidden.shape[2])[picked].float()
            )
            rows.append(sums / torch.tensor([[float(b - a)] for a, b in flat]))
            places += [where[i] + k for i in chosen for k in range(len(spans[i]))]
        return torch.cat(rows)[torch.from_numpy(np.argsort(places))]

    def hidden(self, sequences: Sequence[Ids]) -> Any:
        """The last layer: (B, T, 384), special pieces and padding included."""
        torch, f = self.torch, self.torch.nn.functional
        width = max(len(ids) for ids in sequences) + 2
        table = np.full((len(sequences), width), self.reader.padding, np.int64)
        table[:, 0] = self.reader.start
        lengths = np.array([len(ids) + 2 for ids in sequences])
        for row, ids in enumerate(sequences):
            table[row, 1 : len(ids) + 1] = ids
            table[row, len(ids) + 1] = self.reader.end
        mask = None
        if lengths.min() < width:
            mask = torch.from_numpy(np.arange(width) < lengths[:, None])[:, None, None, :]
        t = self.tensors
        x = t["embeddings.word"][torch.from_numpy(table)] + t["embeddings.position"][:width]
        x = f.layer_norm(x, (WIDTH,), t["embeddings.norm.weight"], t["embeddings.norm.bias"], EPSILON).to(self.kind)
        for layer in range(LAYERS):
            x = self._layer(x, f"layer.{layer}.", mask)
        return x

    def _layer(self, x: Any, name: str, mask: Any) -> Any:
        f = self.torch.nn.functional

        def linear(value: Any, part: str) -> Any:
            return f.linear(value, self._half(name + part + ".weight"), self._half(name + part + ".bias"))

        def norm(value: Any, part: str) -> Any:
            weight, bias = self._half(name + part + ".weight"), self._half(name + part + ".bias")
            return f.layer_norm(value, (WIDTH,), weight, bias, EPSILON)

        batch, width = x.shape[:2]
        q, k, v = linear(x, "qkv").view(batch, width, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = q.float() @ k.float().transpose(2, 3) * (WIDTH // HEADS) ** -0.5  # torch's fused backward is slow here
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e4)
        mixed = (scores.softmax(-1) @ v.float()).to(self.kind).transpose(1, 2).reshape(batch, width, WIDTH)
        x = norm(x + linear(mixed, "out"), "norm1")
        return norm(x + linear(self.gelu(linear(x, "up")), "down"), "norm2")

    def _half(self, name: str) -> Any:
        found = self._halves.get(name) if self._halves is not None else None
        if found is None:
            found = self.tensors[name].to(self.kind)
            if self._halves is not None:
                self._halves[name] = found
        return found

    _halves: dict[str, Any] | None = None

    def new_step(self) -> None:
        """Forget the rounded weights of the last step."""
        self._halves = {}

    def head(self, pooled: Any, name: str) -> Any:
        """Unit sense vectors (N, n) from pooled vectors; ``name`` is ``context`` or ``gloss``."""
        f = self.torch.nn.functional
        return f.normalize(f.linear(pooled, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]), dim=-1)

    def glosses(self, pieces: Sequence[Ids]) -> Any:
        """Unit vectors of glosses."""
        return self.head(self.pooled(pieces, [[(0, len(ids))] for ids in pieces]), "gloss")

    def numpy(self) -> dict[str, NDArray[np.float32]]:
        """The tensors as NumPy arrays."""
        return {name: value.detach().numpy().copy() for name, value in self.tensors.items()}


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
        for layer in range(LAYERS):
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
        glosses: (synsets,) the pieces of every gloss.
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
        self.memory = np.zeros((len(glosses), options.dimension), np.float32)
        self.known = np.zeros(len(glosses), bool)
        self.drift: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
        self._draws()
        if "context.weight" not in encoder.tensors:
            self._start_heads()
        for tensor in encoder.trained().values():
            tensor.requires_grad_(True)
        heads = [t for name, t in encoder.trained().items() if name.startswith(("context", "gloss"))]
        plain = [t for name, t in encoder.trained().items() if name.startswith("layer") and t.ndim > 1]
        small = [t for name, t in encoder.trained().items() if name.startswith("layer") and t.ndim == 1]
        self.optimizer = self.torch.optim.AdamW(
            [
                {"params": plain, "lr": options.rate, "top": options.rate, "weight_decay": 0.01},
                {"params": small, "lr": options.rate, "top": options.rate, "weight_decay": 0.0},
                {"params": heads, "lr": options.head_rate, "top": options.head_rate, "weight_decay": 0.0},
            ],
            betas=(0.9, 0.98),
        )

    def _draws(self) -> None:
        """Occurrences of each spelling, and how likely each spelling is drawn: by the root of its occurrences."""
        owner = np.array([word.spelling for s in self.sentences for word in s.words])
        place = np.array([(i, k) for i, s in enumerate(self.sentences) for k in range(len(s.words))])
        weight = np.array([s.weight for s in self.sentences for _ in s.words])
        order = np.argsort(owner, kind="stable")
        spellings, starts = np.unique(owner[order], return_index=True)
        self.spellings = spellings
        self.occurrences = np.split(place[order], starts[1:])
        self.weights = np.split(weight[order], starts[1:])
        mass = np.array([w.sum() for w in self.weights]) ** 0.5
        self.chances = mass / mass.sum()

    def _start_heads(self) -> None:
        """Both heads start as the principal directions of gloss and context vectors, each centred."""
        torch, n = self.torch, self.options.dimension
        with torch.no_grad():
            self.encoder.new_step()
            rows = self.random.choice(len(self.glosses), 3000)
            g = self.encoder.pooled([self.glosses[i] for i in rows], [[(0, len(self.glosses[i]))] for i in rows])
            chosen = [self.sentences[i] for i in self.random.choice(len(self.sentences), 600)]
            chosen = [cropped(s, self.options.longest, s.words[0]) for s in chosen]
            c = self.encoder.pooled([s.ids for s in chosen], [[(w.start, w.end) for w in s.words] for s in chosen])
            pooled = torch.cat([g - g.mean(0), c - c.mean(0)])
            _, _, directions = torch.linalg.svd(pooled, full_matrices=False)
            for name, vectors in (("gloss", g), ("context", c)):
                self.encoder.tensors[f"{name}.weight"] = directions[:n].clone().contiguous()
                self.encoder.tensors[f"{name}.bias"] = -(directions[:n] @ vectors.mean(0))

    def batch(self) -> tuple[list[TaggedPieces], NDArray[np.int64]]:
        """Sentences of some spellings, and the synset rows of those spellings."""
        o = self.options
        chosen = self.random.choice(len(self.spellings), o.spellings, replace=False, p=self.chances)
        found: dict[int, TaggedPieces] = {}
        for row in chosen:
            weights = self.weights[row]
            count = min(o.sentences, len(weights))
            for pick in self.random.choice(len(weights), count, replace=False, p=weights / weights.sum()):
                i, k = self.occurrences[row][pick]
                sentence = self.sentences[i]
                around = sentence.words[k]
                stop = None
                if self.random.random() < o.prefixes:
                    stop = int(self.random.integers(around.end, len(sentence.ids) + 1))
                found[int(i)] = cropped(sentence, o.longest, around, stop)
        fresh = np.unique(np.concatenate([self.senses[spelling] for spelling in self.spellings[chosen]]))
        return list(found.values()), fresh

    def loss(self, sentences: Sequence[TaggedPieces], fresh: NDArray[np.int64]) -> tuple[Any, float, int]:
        """The loss of a batch, the share of right answers among words with fresh glosses, and their number."""
        torch = self.torch
        is_fresh = np.zeros(len(self.glosses), bool)
        is_fresh[fresh] = True
        words, spans = [], []
        for sentence in sentences:
            kept = (
                [w for w in sentence.words if (self.known | is_fresh)[self.senses[w.spelling]].all()]
                if len(self.glosses) < 5000
                else [w for w in sentence.words if self._usable(w, is_fresh)]
            )
            words += kept
            spans.append([(w.start, w.end) for w in kept])
        g = self.encoder.glosses([self.glosses[i] for i in fresh])
        c = self.encoder.head(self.encoder.pooled([s.ids for s in sentences], spans), "context")
        used = np.unique(np.concatenate([self.senses[w.spelling] for w in words]))
        table = torch.from_numpy(self.memory[used])
        table = table.index_copy(
            0,
            torch.from_numpy(np.searchsorted(used, fresh[np.isin(fresh, used)])),
            g[torch.from_numpy(np.flatnonzero(np.isin(fresh, used)))],
        )
        most = max(len(self.senses[w.spelling]) for w in words)
        candidates = np.zeros((len(words), most), np.int64)
        valid = np.zeros((len(words), most), bool)
        right = np.zeros((len(words), most), bool)
        weight = np.empty(len(words), np.float32)
        for row, word in enumerate(words):
            rows = self.senses[word.spelling]
            candidates[row, : len(rows)] = np.searchsorted(used, rows)
            valid[row, : len(rows)] = True
            right[row, : len(rows)] = np.isin(rows, word.right)
            weight[row] = 1.0 if is_fresh[rows].all() else self.options.remembered_weight
        logits = self.options.scale * torch.einsum("wn,wsn->ws", c, table[torch.from_numpy(candidates)])
        logits = logits.masked_fill(torch.from_numpy(~valid), -1e4)
        log_p = torch.log_softmax(logits, dim=1)
        each = -torch.logsumexp(log_p.masked_fill(torch.from_numpy(~right), -1e4), dim=1)
        weights = torch.from_numpy(weight)
        total = (each * weights).sum() / weights.sum()
        main = weight == 1.0
        hits = right[np.arange(len(words)), logits.argmax(1).numpy()]
        self._remember(fresh, g.detach().numpy())
        return total, float(hits[main].sum()), int(main.sum())

    def _usable(self, word: TaggedWord, is_fresh: NDArray[np.bool_]) -> bool:
        rows = self.senses[word.spelling]
        return bool((self.known[rows] | is_fresh[rows]).all())

    def _remember(self, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Keep fresh gloss vectors, and move the others by the drift that the fresh ones show."""
        old = self.known[rows]
        self.drift.append((self.memory[rows[old]].copy(), vectors[old]))
        self.memory[rows], self.known[rows] = vectors, True
        if len(self.drift) == 10:
            before = np.concatenate([pair[0] for pair in self.drift])
            after = np.concatenate([pair[1] for pair in self.drift])
            self.drift.clear()
            if len(before) > 4 * before.shape[1]:
                ridge = 0.05 * len(before) / before.shape[1] * np.eye(before.shape[1], dtype=np.float32)
                change = np.linalg.solve(before.T @ before + ridge, before.T @ (after - before))
                moved = self.memory + self.memory @ change
                self.memory = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
                self.memory[rows] = vectors

    def run(self, report: Report, save: Callable[[], None] = lambda: None, every: float = 300.0) -> Iterator[int]:
        """Train until the time is over; yields the number of steps every so many seconds, when the weights are whole.

        Args:
            report: takes a line of progress.
            save: called before each yield.
        """
        torch, o = self.torch, self.options
        begin = last = said = time.monotonic()
        pieces = steps = 0
        losses: list[float] = []
        hits = counted = 0.0
        while (elapsed := time.monotonic() - begin) < 60 * o.minutes:
            factor = max(1.0 - elapsed / (60 * o.minutes), 0.0) * min(1.0, (steps + 1) / 60)
            for group in self.optimizer.param_groups:
                group["lr"] = group["top"] * factor
            sentences, fresh = self.batch()
            self.encoder.new_step()
            loss, right, count = self.loss(sentences, fresh)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(self.encoder.trained().values()), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            steps += 1
            pieces += sum(len(s.ids) + 2 for s in sentences) + sum(len(self.glosses[i]) + 2 for i in fresh)
            losses.append(float(loss.detach()))
            hits, counted = 0.98 * hits + right, 0.98 * counted + count
            now = time.monotonic()
            if now - said > 30 or steps <= 3:
                said = now
                report(
                    f"step {steps} {now - begin:.0f} s, loss {np.mean(losses[-40:]):.3f}, right {hits / counted:.3f}, "
                    f"{pieces / (now - begin):.0f} pieces/s, {len(sentences)} sentences, {len(fresh)} glosses, "
                    f"{self.known.sum()} remembered, rate {factor:.2f}"
                )
            if now - last > every:
                last = now
                self.encoder.new_step()
                save()
                yield steps
        self.encoder.new_step()
        save()
        yield steps
