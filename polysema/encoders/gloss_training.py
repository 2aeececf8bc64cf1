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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.tagged_text import TaggedSentence
from polysema.encoders.torch_encoder import Ids, TorchEncoder
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import InputError
from polysema.senses.wordnet_files import WordNet

Report = Callable[[str], None]


SOURCE_WEIGHTS = {"semcor": 1.0, "masc": 0.5, "glosses": 0.3, "examples": 0.6}
"""How likely a tagged sentence is drawn, by where it comes from."""


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
        dropout: share of the numbers that each layer adds which are left out.
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
    source_weights: dict[str, float] = field(
        default_factory=lambda: {"semcor": 1.0, "masc": 0.5, "glosses": 0.3, "examples": 0.6}
    )
    frozen_layers: int = 0
    dropout: float = 0.0
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
        only: the synset row of each spelling that has one.
        of_key: synset row of each sense key.
        pos: (synsets,) the letter of each part of speech.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self.synsets = {name: row for row, name in enumerate(wordnet.synsets)}
        self.of_key = {key.key: self.synsets[key.synset] for key in wordnet.keys}
        self.pos = np.array([name[-1] for name in self.synsets])
        self.spellings: dict[str, int] = {}
        self.senses: list[NDArray[np.int64]] = []
        self.only: dict[str, list[int]] = {}
        for spelling, keys in wordnet.senses().items():
            rows = list(dict.fromkeys(self.synsets[key.synset] for key in keys))
            if len(rows) > 1:
                self.spellings[spelling] = len(self.senses)
                self.senses.append(np.array(rows))
            else:
                self.only[spelling] = rows

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


def sequences_and_spans(sentences: Sequence[TaggedPieces]) -> tuple[list[Ids], list[list[tuple[int, int]]]]:
    """The pieces of sentences, and where their tagged words are."""
    return [s.ids for s in sentences], [[(word.start, word.end) for word in s.words] for s in sentences]


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
        self._chances = np.cumsum([s.weight for s in sentences]) / sum(s.weight for s in sentences)
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
            heads = name.startswith(("context.", "gloss."))
            kind = "heads" if heads else "matrices" if tensor.ndim > 1 else "vectors"
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
            c = encoder.pooled(*sequences_and_spans(chosen))
            _, _, directions = torch.linalg.svd(torch.cat([g - g.mean(0), c - c.mean(0)]), full_matrices=False)
            if len(directions) < n:
                raise InputError(f"sense vectors of {n} numbers do not fit an encoder of width {len(directions)}")
            for name, vectors in (("gloss", g), ("context", c)):
                encoder.tensors[f"{name}.weight"] = directions[:n].clone().contiguous()
                encoder.tensors[f"{name}.bias"] = -(directions[:n] @ vectors.mean(0))

    def batch(self) -> list[TaggedPieces]:
        """Sentences drawn by their weights; some are joined to the next one, some end early."""
        o = self.options
        chosen = np.searchsorted(self._chances, self.random.random(o.sentences))
        found = []
        for i in np.unique(chosen.clip(max=len(self.sentences) - 1)).tolist():
            sentence, stop = self.sentences[i], None
            around = sentence.words[int(self.random.integers(len(sentence.words)))]
            after = self.sentences[min(i + 1, len(self.sentences) - 1)]
            if self.random.random() < o.joined and after is not sentence and after.document == sentence.document:
                sentence = joined(sentence, after)
            if self.random.random() < o.prefixes:
                stop = int(self.random.integers(around.end, len(sentence.ids) + 1))
            found.append(cropped(sentence, o.longest, around, stop))
        return found

    def contexts(self, sentences: Sequence[TaggedPieces]) -> Any:
        """Unit vectors of the tagged words of sentences: (N, n)."""
        return self.encoder.contexts(*sequences_and_spans(sentences))

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

    def loss(self, c: Any, table: Any, choices: Choices) -> tuple[Any, Any]:
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
        best = logits.detach().masked_fill(on_device(~choices.valid), -1e4).argmax(1, keepdim=True)
        return total, on_device(choices.right).gather(1, best).float().mean()

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

    def gloss_table(self) -> NDArray[np.float32]:
        """The unit vectors of all glosses, read anew: (S, n)."""
        self._known[:] = False
        self.encoder.new_step()
        self._pool(np.arange(len(self.glosses)))
        with self.torch.no_grad():
            return np.asarray(self._gloss_vectors(np.arange(len(self.glosses))).cpu().numpy(), np.float32)

    def tagged_vectors(self, batch: int = 512) -> Iterator[tuple[NDArray[np.float32], list[TaggedWord]]]:
        """The unit vectors of the tagged words of all training sentences, a batch at a time."""
        self.encoder.new_step()
        for first in range(0, len(self.sentences), batch):
            part = [cropped(s, self.options.longest, s.words[0]) for s in self.sentences[first : first + batch]]
            with self.torch.no_grad():
                yield self.contexts(part).cpu().numpy(), [word for sentence in part for word in sentence.words]

    def step(self) -> tuple[Any, Any]:
        """One step of the optimizer: the loss and the share of right answers of its batch."""
        encoder = self.encoder
        sentences = [sentence for sentence in self.batch() if sentence.words]
        encoder.new_step()
        c, choices = self.contexts(sentences), self.choices(sentences)
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
        self.update(loss + o.read_weight * by_read + o.kept_weight * moved)
        self.pooled[encoder.on_device(again)] = pooled.detach()
        return loss.detach(), right

    def update(self, loss: Any) -> None:
        """Change the tensors by the gradient of a loss."""
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(list(self.encoder.trained().values()), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

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
                share = self.loss(self.contexts(part), self._gloss_vectors(rows), places)[1]
            right.append((float(share), len(places.weight)))
        return sum(share * count for share, count in right) / max(sum(count for _, count in right), 1)

    def run(self, report: Report = lambda _: None, every: float = 600.0) -> Iterator[int]:
        """Train until time or steps are over; yields the number of steps every so many seconds, and at the end.

        Between two yields the weights change; where it yields, they can be saved or evaluated.

        Args:
            report: takes a line of progress, twice a minute.
        """
        o = self.options
        begin = last = said = time.monotonic()
        steps, recent = 0, list[tuple[Any, Any]]()
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
                loss, right = (float(sum(values)) / len(recent) for values in zip(*recent, strict=True))
                speed = steps * o.sentences / (now - begin)
                report(
                    f"step {steps}, {now - begin:.0f} s, loss {loss:.3f}, right {right:.3f}, {speed:.0f} sentences/s"
                )
            if now - last > every:
                last = now
                yield steps
        yield steps
