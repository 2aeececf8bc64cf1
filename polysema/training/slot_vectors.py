"""From parsed text to a lexicon whose words have slots.

Nouns, verbs and adjectives have vectors from the slots they take part in, each part of speech in a space of its own:

    M[w, f] = max(ln P(w, f) / (P(w) P_α(f)), 0) ,   M ≈ U S Vᵀ ,   v_w = U_w S^½ ,  centred, of length one

over features f such as *object of run* for a noun and *has the object hotel* for a verb; P_α is smoothed by the power
0.75 (Levy, Goldberg & Dagan 2015). A word is the mixture of its parts of speech, ρ = Σ_s p_s v_s v_sᵀ, in the direct
sum of the three spaces, with p_s the share of its uses. Its slots hold the fillers with the weights

    p_w ∝ max(PMI(w; head, slot), 0) · ln(1 + count)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError, needing
from polysema.lexicon.lexicon import Lexicon
from polysema.meanings.parts import Parts, SlotFillers
from polysema.options import Options, option
from polysema.slots.parsed import ParsedText
from polysema.slots.relations import SPACES, filler_space, head_space
from polysema.training.job import Job
from polysema.vectors import units
from polysema.vocabulary import Vocabulary

Ints = NDArray[np.int64]

SMOOTHING = 0.75
ROUNDS = 6  # of block Krylov iteration


def uses(parsed: ParsedText, space: str) -> Ints:
    """How often each word took part in a relation as this part of speech, (words,)."""
    word, _, count = _features(parsed, space)
    return np.bincount(word, count, len(parsed.words)).astype(np.int64)


def vectors_of(parsed: ParsedText, space: str, dim: int, chosen: Ints, seed: int = 1) -> NDArray[np.float32]:
    """Unit vectors of chosen words, (len(chosen), dim); zero for a word without a feature that is left."""
    word, feature, count = _features(parsed, space)
    row = np.full(len(parsed.words), -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    known = row[word] >= 0
    word, count = row[word[known]], count[known]
    _, column = np.unique(feature[known], return_inverse=True)
    matrix = positive_pmi(word, column.ravel(), count, (len(chosen), int(column.max(initial=-1)) + 1))
    rank = min(dim, min(matrix.shape) - 1)
    if rank < 1:
        raise InputError(f"{len(chosen)} words are too few for vectors: parse more text, or lower --min-count")
    left, values = leading(matrix, rank, seed)
    found = np.zeros((len(chosen), dim))
    found[:, :rank] = left * np.sqrt(values)
    some = found.any(axis=1)
    unit = units(found)
    unit[some] -= unit[some].mean(axis=0)
    return units(unit).astype(np.float32)


def leading(matrix: Any, rank: int, seed: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The leading left singular vectors (rows, rank), the largest entry of each positive, and their values (rank,).

    By block Krylov iteration on A = M Mᵀ (Musco & Musco 2015), in single precision: with Q an orthonormal basis of
    [A Y, A² Y, …] they follow from the eigenvectors of Qᵀ A Q. A small matrix is taken as it is.
    """
    rows = matrix.shape[0]
    tall = matrix.astype(np.float32)
    if rows <= rank * ROUNDS:
        basis = np.eye(rows, dtype=np.float32)
        inside = np.asarray((tall @ tall.T).todense())
    else:
        wide = tall.T.tocsr()
        block = np.random.default_rng(seed).standard_normal((rows, rank), np.float32)
        block = tall @ (wide @ block)
        blocks: list[NDArray[np.float32]] = []
        images: list[NDArray[np.float32]] = []
        for _ in range(ROUNDS):
            for known in (*blocks, *blocks):  # twice: once is not enough in single precision
                block -= known @ (known.T @ block)
            block, _ = np.linalg.qr(block)
            blocks.append(block)
            block = tall @ (wide @ block)
            images.append(block.copy())
        basis = np.concatenate(blocks, axis=1)
        inside = basis.T @ np.concatenate(images, axis=1)
    squares, turn = np.linalg.eigh((inside + inside.T).astype(np.float64) / 2)
    left = basis @ turn[:, ::-1][:, :rank]
    left *= np.sign(left[np.abs(left).argmax(axis=0), np.arange(rank)])
    return left, np.sqrt(np.maximum(squares[::-1][:rank], 0.0))


def positive_pmi(row: Ints, column: Ints, count: NDArray[np.float64], shape: tuple[int, int]) -> Any:
    """max(ln P(r, c) / (P(r) P_α(c)), 0) as a sparse matrix of SciPy's."""
    with needing("training slots", "parse"):
        from scipy.sparse import csr_matrix
    table = csr_matrix((count, (row, column)), shape).tocoo()
    of_row = np.bincount(table.row, table.data, shape[0])
    of_column = np.bincount(table.col, table.data, shape[1]) ** SMOOTHING
    share = of_column / of_column.sum()
    pmi = np.log(table.data / (of_row[table.row] * share[table.col]))
    kept = pmi > 0
    return csr_matrix((pmi[kept], (table.row[kept], table.col[kept])), shape)


def _features(parsed: ParsedText, space: str) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The words of a part of speech, their features as numbers, and how often they go together."""
    slots, size = len(parsed.slots), len(parsed.words)
    as_head = np.array([head_space(slot) == space for slot in parsed.slots])[parsed.slot]
    as_filler = np.array([filler_space(slot) == space for slot in parsed.slots])[parsed.slot]
    head, slot, filler = (array.astype(np.int64) for array in (parsed.head, parsed.slot, parsed.filler))
    word = np.concatenate([head[as_head], filler[as_filler]])
    feature = np.concatenate(
        [slot[as_head] * size + filler[as_head], (slots + slot[as_filler]) * size + head[as_filler]]
    )
    return word, feature, np.concatenate([parsed.count[as_head], parsed.count[as_filler]]).astype(np.float64)


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


def train(job: Job, options: SlotOptions) -> Lexicon:
    """A lexicon of slots from parsed text; the words to keep get vectors whatever their count, if they were seen."""
    parsed, kept = job.parsed(), set(job.keep)
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


def _assembled(
    parsed: ParsedText, options: SlotOptions, counts: Ints, found: list[tuple[Ints, NDArray[np.float32]]]
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
    metadata = {"model": options.model, "options": options.as_dict(), "corpus": dict(parsed.facts)}
    return Lexicon(
        Vocabulary(words, counts[:, taken].sum(axis=0)),
        factors,
        parts=Parts(slots=_fillers(parsed, row, known, options.fillers)),
        metadata=metadata,
    )


def _fillers(parsed: ParsedText, row: Ints, known: NDArray[np.bool_], most: int) -> SlotFillers:
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
