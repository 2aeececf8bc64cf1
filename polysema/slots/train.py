"""From parsed text to a lexicon whose words have slots.

A word is the mixture of its parts of speech, ρ = Σ_s p_s v_s v_sᵀ, in the direct sum of the three spaces of
:mod:`polysema.slots.vectors`, with p_s the share of its uses. Its slots hold the fillers with the weights

    p_w ∝ max(PMI(w; head, slot), 0) · ln(1 + count)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.files.options import Options, option
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.parts import SlotFillers
from polysema.slots.parsed import Parsed
from polysema.slots.vectors import SMOOTHING, SPACES, filler_space, head_space, uses, vectors_of
from polysema.vocabulary import Vocabulary

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SlotOptions(Options):
    """How to make a lexicon of slots."""

    model: ClassVar[str] = "slots"
    dim: int = option(100, "the dimension of each of the spaces of nouns, verbs and adjectives", least=1, most=10_000)
    min_count: int = option(
        20, "a word that took part in fewer relations as a part of speech has no vector as such", least=1
    )
    max_size: int = option(25_000, "at most this many words a part of speech, the most frequent", least=2)
    fillers: int = option(300, "at most this many fillers a slot, the weightiest", least=1)
    seed: int = option(1, "of the start vector of the singular value decomposition", least=0)


def train_slots(parsed: Parsed, options: SlotOptions | None = None, keep: Iterable[str] = ()) -> Lexicon:
    """A lexicon of slots from parsed text.

    Args:
        keep: words that get vectors whatever their count, if they were seen at all.
    """
    options = options or SlotOptions()
    kept = set(keep)
    counts = np.stack([uses(parsed, space) for space in SPACES])
    listed = np.array([word in kept for word in parsed.words], bool)
    found: list[tuple[Ints, NDArray[np.float32]]] = []
    for space, count in zip(SPACES, counts, strict=True):
        order = np.argsort(-count, kind="stable")
        frequent = order[: options.max_size][count[order[: options.max_size]] >= options.min_count]
        chosen = np.union1d(frequent, np.flatnonzero(listed & (count > 0)))
        if space != "adjective" and len(chosen) < 2:
            raise InputError(
                f"{len(chosen)} words were seen {options.min_count} times as a {space}: parse more text, or lower the "
                "minimum count"
            )
        vectors = vectors_of(parsed, space, options.dim, chosen, options.seed) if len(chosen) > 2 else None
        if vectors is None:
            vectors = np.eye(len(chosen), options.dim, dtype=np.float32)
        some = vectors.any(axis=1)
        found.append((chosen[some], vectors[some]))
    return _assembled(parsed, options, counts, found)


@dataclass(frozen=True, slots=True)
class ParsedJob:
    """One run: its parsed text, and words that are kept whatever their count."""

    parsed: Parsed
    keep: tuple[str, ...] = ()


def train_parsed(job: ParsedJob, options: SlotOptions) -> Lexicon:
    """The same, as a model of the table."""
    return train_slots(job.parsed, options, job.keep)


def _assembled(
    parsed: Parsed, options: SlotOptions, counts: Ints, found: list[tuple[Ints, NDArray[np.float32]]]
) -> Lexicon:
    """The vectors as factors, one column a part of speech, and the fillers by row."""
    taken = np.unique(np.concatenate([chosen for chosen, _ in found]))
    total = counts[:, taken].sum(axis=0)
    taken = taken[np.argsort(-total, kind="stable")]
    row = np.full(len(parsed.words), -1, np.int64)
    row[taken] = np.arange(len(taken))
    d = options.dim
    factors = np.zeros((len(taken), len(SPACES) * d, len(SPACES)), np.float32)
    known = np.zeros((len(SPACES), len(parsed.words)), bool)
    for number, (chosen, vectors) in enumerate(found):
        share = np.sqrt(counts[number, chosen])[:, None].astype(np.float32)
        factors[row[chosen], number * d : (number + 1) * d, number] = vectors * share
        known[number, chosen] = True
    factors /= np.sqrt((factors**2).sum(axis=(1, 2), keepdims=True))
    words = [parsed.words[index] for index in taken]
    metadata = {
        "model": options.model,
        "options": options.as_dict(),
        "corpus": dict(parsed.facts),
    }
    return Lexicon(
        Vocabulary(words, counts[:, taken].sum(axis=0)), factors, metadata=metadata,
        slots=_fillers(parsed, row, known, options.fillers),
    )  # fmt: skip


def _fillers(parsed: Parsed, row: Ints, known: NDArray[np.bool_], most: int) -> SlotFillers:
    """The fillers of every slot of every word, and the heads that each word fills a slot of (``obj of``)."""
    number = {space: index for index, space in enumerate(SPACES)}
    names = [*parsed.slots, *(f"{slot} of" for slot in parsed.slots)]
    parts: list[tuple[Ints, Ints, NDArray[np.float64]]] = []
    for slot, name in enumerate(parsed.slots):
        here = parsed.slot == slot
        head, filler, count = parsed.head[here], parsed.filler[here], parsed.count[here].astype(np.float64)
        both = known[number[head_space(name)], head] & known[number[filler_space(name)], filler]
        head, filler, count = row[head[both]], row[filler[both]], count[both]
        for owner, other, key in ((head, filler, slot), (filler, head, slot + len(parsed.slots))):
            weight = _weights(owner, other, count)
            parts.append((owner * len(names) + key, other, weight))
    keys, others, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    kept = weights > 0
    keys, others, weights = keys[kept], others[kept], weights[kept]
    order = np.lexsort((others, -weights, keys))
    keys, others, weights = keys[order], others[order], weights[order]
    distinct, starts = np.unique(keys, return_index=True)
    rank = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    kept = rank < most
    keys, others, weights = keys[kept], others[kept], weights[kept]
    starts = np.append(np.searchsorted(keys, distinct), len(keys))
    total = np.add.reduceat(weights, starts[:-1]) if len(keys) else np.empty(0)
    weights = weights / np.repeat(total, np.diff(starts))
    return SlotFillers(
        tuple(names), distinct.astype(np.int64), starts.astype(np.int64), others.astype(np.int32),
        weights.astype(np.float32),
    )  # fmt: skip


def _weights(owner: Ints, other: Ints, count: NDArray[np.float64]) -> NDArray[np.float64]:
    """max(PMI, 0) · ln(1 + count) of each pair within one slot, with the other's share smoothed."""
    if not len(count):
        return count
    of_owner = np.bincount(owner, count)
    share = np.bincount(other, count) ** SMOOTHING
    share /= share.sum()
    return np.asarray(np.maximum(np.log(count / (of_owner[owner] * share[other])), 0.0) * np.log1p(count))
