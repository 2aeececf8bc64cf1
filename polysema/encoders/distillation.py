"""A large encoder teaches a small one what the words of untagged text mean.

The teacher was trained by :mod:`polysema.encoders.gloss_training`. Its sense vectors v_s stay; the small encoder learns
to put a word where the teacher puts it. For a word of the text that has senses S, by its form alone, with the teacher's
vector t and its own c,

    p(s | t) ∝ exp(τ⟨v_s, t⟩),  q(s | c) ∝ exp(τ⟨v_s, c⟩),  s ∈ S,        loss = KL(p ‖ q) + w (1 − ⟨c, t⟩).

Beside these it sees the tagged words themselves, with the loss of gloss training by the same v_s, and learns to put a
gloss where the teacher put it. Needs torch (the extra ``encoders``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.gloss_training import GlossTrainer, GlossTraining, SenseTable, TaggedPieces, sequences_and_spans
from polysema.encoders.torch_encoder import Ids, TorchEncoder
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import InputError
from polysema.senses.forms import Forms

LONGEST_FORM = 4  # pieces of a word, at most
MOST_SENSES = 64  # of a form: the first ones
_SENTENCES = re.compile(r"(?<=[.!?])[\"”’')]*\s+(?=[\"“‘'(]*[A-Z])")


@dataclass(frozen=True, slots=True)
class Distillation(GlossTraining):
    """Options of a run in which a large encoder teaches a small one.

    Attributes:
        text_pieces: pieces of untagged text in a step.
        near_weight: w, how much the distance to the teacher's vector counts.
        tagged_weight, gloss_weight: how much tagged words and glosses count.
        glosses: glosses of a step.
        usual_text: occurrences of a form in the text up to which each counts fully; beyond, (usual / N)^¼.
    """

    text_pieces: int = 24_576
    near_weight: float = 1.0
    tagged_weight: float = 0.5
    gloss_weight: float = 0.3
    glosses: int = 256
    usual_text: float = 8000.0


class PlainText(NamedTuple):
    """Untagged text: ``ids`` (P,) are the pieces of N sequences, which begin at ``starts`` (N + 1,)."""

    ids: NDArray[np.uint16]
    starts: NDArray[np.int64]


class FormTable(NamedTuple):
    """Word forms of several senses, whatever the part of speech.

    Attributes:
        codes: (F,) the pieces of each form as one number, sorted; see :func:`form_codes`.
        senses: (F, K) synset rows, the first of them again where there are fewer.
        counts: (F,) how many there are.
    """

    codes: NDArray[np.uint64]
    senses: NDArray[np.int32]
    counts: NDArray[np.int64]


class FormWords(NamedTuple):
    """The W words of a text that a :class:`FormTable` knows: first piece and end in ``ids``, and row of the form."""

    first: NDArray[np.int64]
    end: NDArray[np.int64]
    form: NDArray[np.int64]


def plain_text(paragraphs: Iterable[str], reader: WordPiece, longest: int, seed: int = 1) -> PlainText:
    """Running text as sequences of one to three sentences; one in ten ends early, as when text is read word by word."""
    random = np.random.default_rng(seed)
    found: list[Ids] = []
    for paragraph in paragraphs:
        wanted, now = int(random.integers(1, 4)), list[Ids]()
        for sentence in _SENTENCES.split(paragraph):
            ids = reader.read(sentence).ids
            size = sum(map(len, now))
            if now and (len(now) >= wanted or size + len(ids) > longest):
                found.append(np.concatenate(now))
                wanted, now = int(random.integers(1, 4)), []
            if 5 <= len(ids) <= longest:
                now.append(ids)
        if now:
            found.append(np.concatenate(now))
    cut = random.random(len(found)) < 0.1
    for i in np.flatnonzero(cut):
        found[i] = found[i][: int(random.integers(3, len(found[i]) + 1))]
    starts = np.cumsum([0, *map(len, found)])
    return PlainText(np.concatenate(found).astype(np.uint16) if found else np.zeros(0, np.uint16), starts)


def form_table(forms: Iterable[str], lemmas: Forms, table: SenseTable, reader: WordPiece) -> FormTable:
    """The senses of word forms, those of one sense left out.

    Args:
        lemmas: finds the lemmas of a form.
    """
    codes: dict[int, list[int]] = {}
    for form in forms:
        rows = list[int]()
        for lemma, pos in lemmas.lemmas(form):
            spelling = table.spellings.get(lemma)
            own = table.senses[spelling] if spelling is not None else table.only.get(lemma, ())
            rows += [int(row) for row in own if table.pos[row] == pos]
        rows = list(dict.fromkeys(rows))[:MOST_SENSES]
        pieces = reader.read(form).ids
        if len(rows) > 1 and 0 < len(pieces) <= LONGEST_FORM:
            codes.setdefault(int(form_codes(pieces.astype(np.uint64)[None])[0]), rows)
    if not codes:
        raise InputError("no word of the text has several senses: give text of the dictionary's language")
    order, most = sorted(codes), max(map(len, codes.values()))
    senses = np.array([codes[code] + codes[code][:1] * (most - len(codes[code])) for code in order], np.int32)
    return FormTable(np.array(order, np.uint64), senses, np.array([len(codes[code]) for code in order]))


def form_codes(pieces: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Rows of at most four pieces (W, ≤ 4), with zeros after the last one, as one number each."""
    found = np.zeros(len(pieces), np.uint64)
    for column in pieces.T:
        found = found * np.uint64(40_000) + column
    return found


def find_words(text: PlainText, forms: FormTable, reader: WordPiece) -> FormWords:
    """The words of a text whose form has several senses."""
    inside = np.array([piece.startswith("##") for piece in reader.pieces])
    begins = ~inside[text.ids]
    begins[text.starts[:-1]] = True
    first = np.flatnonzero(begins)
    end = np.append(first[1:], len(text.ids))
    kept = np.zeros(len(first), bool)
    row = np.zeros(len(first), np.int64)
    for length in range(1, LONGEST_FORM + 1):
        own = np.flatnonzero(end - first == length)
        pieces = text.ids[first[own, None] + np.arange(length)].astype(np.uint64)
        codes = form_codes(pieces)
        row[own] = np.searchsorted(forms.codes, codes).clip(max=len(forms.codes) - 1)
        kept[own] = forms.codes[row[own]] == codes
    return FormWords(first[kept], end[kept], row[kept])


class Teacher(NamedTuple):
    """What the small encoder learns from.

    Attributes:
        glosses: (S, n) where the teacher puts each gloss.
        senses: (S, n) the sense vectors.
        words: (W, n) where it puts each word of the text, in half precision on the device.
    """

    glosses: NDArray[np.float32]
    senses: NDArray[np.float32]
    words: Any


class TextBatches:
    """Draws sequences of one length, so that nothing is padded, and finds their words."""

    def __init__(self, encoder: TorchEncoder, text: PlainText, words: FormWords) -> None:
        torch = encoder.torch
        self.torch, self.encoder, self.text, self.words = torch, encoder, text, words
        self.ids = torch.from_numpy(text.ids.astype(np.int32)).to(encoder.device)
        self.of_sequence = np.searchsorted(words.first, text.starts)
        sizes = np.diff(text.starts)
        order = np.argsort(sizes, kind="stable")
        self.lengths, begin = np.unique(sizes[order], return_index=True)
        self.sequences = np.split(order, begin[1:])
        pieces = self.lengths * np.array([len(own) for own in self.sequences])
        self.chances = pieces / pieces.sum()

    def all(self, pieces: int) -> Iterator[NDArray[np.int64]]:
        """Every sequence once, in batches of one length."""
        for length, own in zip(self.lengths.tolist(), self.sequences, strict=True):
            count = max(1, pieces // (length + 2))
            for first in range(0, len(own), count):
                yield own[first : first + count]

    def drawn(self, pieces: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Some sequences of one length, drawn so that every piece is as likely."""
        k = int(random.choice(len(self.lengths), p=self.chances))
        count = max(1, pieces // (int(self.lengths[k]) + 2))
        return self.sequences[k][random.integers(0, len(self.sequences[k]), count)]

    def pooled(self, sequences: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """The means of the last layer over the words of sequences of one length, (w, width), and their rows, (w,)."""
        torch, on_device, reader = self.torch, self.encoder.on_device, self.encoder.reader
        starts = self.text.starts[sequences]
        length = int(self.text.starts[sequences[0] + 1] - starts[0])
        table = self.ids[on_device(starts)[:, None] + torch.arange(length, device=self.encoder.device)].long()
        table = torch.nn.functional.pad(table, (1, 1), value=reader.start)
        table[:, -1] = reader.end
        hidden = self.encoder.layers(table).float()
        sums = torch.nn.functional.pad(hidden[:, 1:-1].cumsum(1), (0, 0, 1, 0))
        low, high = self.of_sequence[sequences], self.of_sequence[sequences + 1]
        owner = np.repeat(np.arange(len(sequences)), high - low)
        rows = np.arange(len(owner)) + np.repeat(low - np.cumsum([0, *(high - low)[:-1]]), high - low)
        a, z = (place[rows] - starts[owner] for place in (self.words.first, self.words.end))
        flat, base = sums.reshape(-1, sums.shape[2]), owner * (length + 1)
        total = flat[on_device(base + z)] - flat[on_device(base + a)]
        return total / on_device((z - a).astype(np.float32))[:, None], rows


def read_as(teacher: TorchEncoder, batches: TextBatches, report: Callable[[str], None] = lambda _: None) -> Any:
    """Where a teacher puts every word of a text: (W, n), in half precision on its device."""
    torch = teacher.torch
    n = len(teacher.tensors["context.bias"])
    found = torch.zeros(len(batches.words.first), n, dtype=torch.float16, device=teacher.device)
    teacher.new_step()
    with torch.no_grad():
        for number, sequences in enumerate(batches.all(65_536)):
            pooled, rows = batches.pooled(sequences)
            found[teacher.on_device(rows)] = teacher.head(pooled, "context").half()
            if number % 200 == 0:
                report(f"the teacher has read {number} batches")
    return found


class Distiller(GlossTrainer):
    """One run in which a teacher's sense vectors and the places of its words are learnt.

    Args:
        glosses, table, sentences: as in gloss training.
        text, words: untagged text, and its words of several senses.
        forms: their senses.
    """

    options: Distillation

    def __init__(
        self,
        encoder: TorchEncoder,
        glosses: Sequence[Ids],
        table: SenseTable,
        sentences: Sequence[TaggedPieces],
        teacher: Teacher,
        batches: TextBatches,
        forms: FormTable,
        options: Distillation,
    ) -> None:
        on_device = encoder.on_device
        self.batches, self.teacher = batches, teacher
        self.senses, self.gloss_vectors = on_device(teacher.senses), on_device(teacher.glosses)
        self.form_senses, self.form_counts = on_device(forms.senses), on_device(forms.counts)
        seen = np.bincount(batches.words.form, minlength=len(forms.codes))
        share = np.minimum(1, (np.maximum(seen, 1) / options.usual_text) ** -0.25)
        self.form_weights = on_device(share.astype(np.float32))
        super().__init__(encoder, glosses, table, sentences, options)

    def _start_heads(self) -> None:
        """Both heads start as the regressions that are nearest to the teacher's vectors."""
        torch, encoder = self.torch, self.encoder
        encoder.new_step()
        with torch.no_grad():
            found = [self.batches.pooled(self.batches.drawn(self.options.text_pieces, self.random)) for _ in range(4)]
            rows = encoder.on_device(np.concatenate([rows for _, rows in found]))
            some = self.random.choice(len(self.glosses), min(4096, len(self.glosses)), replace=False)
            read = self._pooled_glosses(some)
            for name, pooled, goal in (
                ("context", torch.cat([pooled for pooled, _ in found]), self.teacher.words[rows].float()),
                ("gloss", read, self.gloss_vectors[encoder.on_device(some)]),
            ):
                x = torch.nn.functional.pad(pooled, (0, 1), value=1.0)
                ridge = x.T @ x + 1e-3 * len(x) * torch.eye(x.shape[1], device=x.device)
                solution = torch.linalg.solve(ridge, x.T @ goal)
                encoder.tensors[f"{name}.weight"] = solution[:-1].T.contiguous()
                encoder.tensors[f"{name}.bias"] = solution[-1].contiguous()

    def _pool(self, rows: NDArray[np.int64]) -> None:
        """Nothing: the sense vectors are the teacher's."""

    def _gloss_vectors(self, rows: NDArray[np.int64]) -> Any:
        return self.senses[self.encoder.on_device(rows)]

    def _pooled_glosses(self, rows: NDArray[np.int64]) -> Any:
        pieces = [self.glosses[i] for i in rows]
        return self.encoder.pooled(pieces, [[(0, len(ids))] for ids in pieces])

    def text_loss(self, c: Any, rows: NDArray[np.int64]) -> Any:
        """KL(p ‖ q) + w (1 − ⟨c, t⟩) of words of the text, the mean by the weights of their forms.

        Args:
            c: (w, n) their vectors.
            rows: (w,) of the words.
        """
        torch, on_device = self.torch, self.encoder.on_device
        form = on_device(self.batches.words.form[rows])
        counts, weight = self.form_counts[form], self.form_weights[form]
        t = self.teacher.words[on_device(rows)].float()
        most = int(self.form_counts[form].max())
        own = self.senses[self.form_senses[form, :most].long()]
        outside = torch.arange(most, device=form.device) >= counts[:, None]
        scale = self.options.scale
        p = torch.log_softmax((scale * torch.einsum("wn,wsn->ws", t, own)).masked_fill(outside, -1e4), 1)
        q = torch.log_softmax((scale * torch.einsum("wn,wsn->ws", c, own)).masked_fill(outside, -1e4), 1)
        away = (p.exp() * (p - q)).sum(1) + self.options.near_weight * (1 - (c * t).sum(1))
        return (away * weight).sum() / weight.sum()

    def step(self) -> tuple[Any, Any]:
        """One step of the optimizer: the loss on the text, and the share of right answers on tagged words."""
        o, encoder = self.options, self.encoder
        encoder.new_step()
        pooled, rows = self.batches.pooled(self.batches.drawn(o.text_pieces, self.random))
        loss = by_text = self.text_loss(encoder.head(pooled, "context"), rows)
        sentences = [sentence for sentence in self.batch() if sentence.words]
        choices = self.choices(sentences)
        c = encoder.contexts(*sequences_and_spans(sentences))
        by_tags, right = self.loss(c, self.senses, choices)
        some = self.random.integers(0, len(self.glosses), o.glosses)
        read = encoder.head(self._pooled_glosses(some), "gloss")
        by_glosses = (1 - (read * self.gloss_vectors[encoder.on_device(some)]).sum(1)).mean()
        loss = loss + o.tagged_weight * by_tags + o.gloss_weight * by_glosses
        self.update(loss)
        return by_text.detach(), right
