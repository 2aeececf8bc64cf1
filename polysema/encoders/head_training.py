"""Trains the two heads of an encoder whose layers stay as they are.

Pooled vectors h of glosses and of tagged words are computed once; the heads c = W_c h + b_c and g = W_g h + b_g alone
learn. A step then costs almost nothing, so every sense of every word of a batch is in the softmax. The loss is the mean
of two: one over the senses of all parts of speech of the spelling, one over those of the right part of speech.

Needs torch (the extra ``encoders``). Encoding the text takes a processor half an hour, training the heads two minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.tagged_text import TaggedSentence
from polysema.errors import InputError, needing
from polysema.senses.wordnet_files import WordNet, gloss_text

HEADS = ("context.weight", "context.bias", "gloss.weight", "gloss.bias")


@dataclass(frozen=True, slots=True)
class HeadTraining:
    """Options of a run.

    Attributes:
        steps: the learning rate falls to zero over them.
        rate: the highest learning rate.
        batch: tagged words of a step.
        scale: τ of the softmax.
    """

    steps: int = 3000
    rate: float = 5e-3
    batch: int = 384
    scale: float = 20.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PooledWords:
    """Tagged words of several senses.

    Attributes:
        pooled: (N, width) their vectors below the head.
        senses: the synset rows of each word's spelling.
        right: which of them are right.
        same_pos: which of them have the right part of speech.
    """

    pooled: NDArray[np.float32]
    senses: list[NDArray[np.int64]]
    right: list[NDArray[np.bool_]]
    same_pos: list[NDArray[np.bool_]]


def pooled_glosses(wordnet: WordNet, encoder: GlossEncoder) -> NDArray[np.float32]:
    """The vectors of all glosses below the head: (S, width)."""
    pieces = [encoder.reader.read(gloss_text(synset)).ids for synset in wordnet.synsets.values()]
    pieces = [ids[: encoder.shape.window] for ids in pieces]
    return encoder.pooled(pieces, [[(0, len(ids))] for ids in pieces])


def pooled_words(wordnet: WordNet, encoder: GlossEncoder, sentences: Sequence[TaggedSentence]) -> PooledWords:
    """The tagged words of sentences that have several senses."""
    rows = {name: row for row, name in enumerate(wordnet.synsets)}
    synset_of = {key.key: key.synset for key in wordnet.keys}
    senses = {spelling: list(dict.fromkeys(key.synset for key in keys)) for spelling, keys in wordnet.senses().items()}
    texts, spans = [], []
    found = PooledWords(np.empty((0, 0), np.float32), [], [], [])
    for sentence in sentences:
        kept = [target for target in sentence.targets if len(senses.get(target.lemma, ())) > 1]
        if not kept:
            continue
        texts.append(sentence.text)
        spans.append([(target.start, target.end) for target in kept])
        for target in kept:
            names = senses[target.lemma]
            right = {synset_of[key] for key in target.keys if key in synset_of}
            letter = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}[target.part_of_speech]
            found.senses.append(np.array([rows[name] for name in names]))
            found.right.append(np.array([name in right for name in names]))
            found.same_pos.append(np.array([name[-1] == letter for name in names]))
    pooled = encoder.pooled_words(texts, spans)
    return PooledWords(pooled, found.senses, found.right, found.same_pos)


def train_heads(
    encoder: GlossEncoder,
    glosses: NDArray[np.float32],
    words: PooledWords,
    options: HeadTraining | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> GlossEncoder:
    """An encoder with the same layers and new heads.

    Args:
        glosses: (S, width), see :func:`pooled_glosses`.
        words: see :func:`pooled_words`.
        report: takes a line of progress.
    """
    with needing("training an encoder", "encoders"):
        import torch
    o = options or HeadTraining()
    if not len(words.pooled):
        raise InputError("no tagged word has several senses: check the sense keys")
    random = np.random.default_rng(o.seed)
    tensors = encoder.tensors()
    heads = {name: torch.from_numpy(np.array(tensors[name], np.float32)).requires_grad_(True) for name in HEADS}
    table, pooled = torch.from_numpy(glosses), torch.from_numpy(words.pooled)
    optimizer = torch.optim.AdamW(list(heads.values()), lr=o.rate, weight_decay=0.0)

    def unit(x: Any, name: str) -> Any:
        vectors = torch.nn.functional.linear(x, heads[f"{name}.weight"], heads[f"{name}.bias"])
        return torch.nn.functional.normalize(vectors, dim=-1)

    def loss_over(scores: Any, allowed: Any, right: Any) -> Any:
        log_p = torch.log_softmax(scores.masked_fill(~allowed, -1e4), dim=1)
        return -torch.logsumexp(log_p.masked_fill(~(right & allowed), -1e4), dim=1).clamp(min=-50).mean()

    total = 0.0
    for step in range(o.steps):
        for group in optimizer.param_groups:
            group["lr"] = o.rate * (1 - step / o.steps) * min(1.0, (step + 1) / 20)
        chosen = random.choice(len(pooled), min(o.batch, len(pooled)), replace=False)
        used, senses, valid, right, same = (torch.from_numpy(array) for array in _padded(words, chosen))
        scores = o.scale * torch.einsum(
            "wn,wsn->ws", unit(pooled[torch.from_numpy(chosen)], "context"), unit(table[used], "gloss")[senses]
        )
        loss = 0.5 * loss_over(scores, valid, right) + 0.5 * loss_over(scores, same, right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(loss.detach())
        if step % 100 == 99:
            report(f"step {step + 1}, loss {total / 100:.3f}")
            total = 0.0
    trained = {name: tensor.detach().numpy().copy() for name, tensor in heads.items()}
    return GlossEncoder({**tensors, **trained}, encoder.reader, encoder.shape)


def _padded(words: PooledWords, chosen: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """The synsets of a batch (u,); each word's as places in it, and masks of those, of the right, of the same pos."""
    shape = (len(chosen), max(len(words.senses[i]) for i in chosen))
    senses, valid = np.zeros(shape, np.int64), np.zeros(shape, bool)
    right, same = np.zeros(shape, bool), np.zeros(shape, bool)
    used = np.unique(np.concatenate([words.senses[i] for i in chosen]))
    for row, i in enumerate(chosen):
        count = len(words.senses[i])
        senses[row, :count] = np.searchsorted(used, words.senses[i])
        valid[row, :count] = True
        right[row, :count], same[row, :count] = words.right[i], words.same_pos[i]
    return used, senses, valid, right, same
