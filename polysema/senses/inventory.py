"""How many senses a word has: those that its occurrences choose and that contexts can tell apart.

The weights p_k of a word's columns are their shares of its occurrences, the fixed point of

    p_k = E_c p(k|c) ,      p(k|c) ∝ p_k exp(β s cos(u_k, c)) .

A column that weighs too little is dead. Two columns are one sense where the contexts that choose them do not fall into
two heaps: with t = ⟨c, v_j − v_k⟩ along the line between them, where

    D = (mean_j t − mean_k t) / spread of t within the two

is small. One normal heap cut in the middle has D = 2.65.

The ambiguity of a word w is the part of its entropy that its contexts c resolve, the Holevo quantity

    χ(w) = S(ρ̄) − E_c S(ρ_c) ,      ρ_c = Σ_k p(k|c) v_k v_kᵀ ,      ρ̄ = E_c ρ_c .

It is the most that contexts can tell about which of its meanings a word has (Holevo, 1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.errors import FormatError, InputError
from polysema.kernels.contexts import sample_occurrences, weighted_context_sums
from polysema.kernels.sampling import stream_key
from polysema.meanings.context_model import (
    USUAL,
    ContextModel,
    cosines,
    directions,
    evidence_weights,
    log_evidence,
    softmax,
)
from polysema.meanings.meanings import Matrices
from polysema.meanings.neighbours import blocks
from polysema.measures import mixture_entropies
from polysema.progress import Progress, Report, silent
from polysema.vectors import units

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

WINDOW = 10  # how many words to each side are looked at, where a lexicon does not say


@dataclass(frozen=True, slots=True)
class Seen:
    """Some occurrences of one word."""

    positions: Ids  # (k,), where they stand in the corpus, rising
    firsts: Ids  # (k,), the sentence of each: its first position, and the one after its last
    lasts: Ids
    sentences: Ids  # (k,), its number
    contexts: Array  # (k, n), the context vectors c
    amounts: Array  # (k,), how much evidence each is, K


class Occurrences:
    """Occurrences of the words of a lexicon in a corpus, drawn by their hash.

    Args:
        most: how many of each word at most.
        words: the rows of the words to draw; by default all that stand in the corpus.
    """

    def __init__(
        self, lexicon: Matrices, corpus: Corpus, *, most: int = 150, words: Ids | None = None, seed: int = 1
    ) -> None:
        contexts = lexicon.parts.contexts
        if contexts is None or contexts.ndim != 2:
            raise InputError(
                "this lexicon has no context vectors to tell senses by: train it with ms-word2dm, saved as a folder"
            )
        if most < 2:
            raise InputError(f"most is how many occurrences of each word to draw, 2 or more, not {most}")
        self.lexicon, self.corpus = lexicon, corpus
        self.formula = lexicon.parts.context_model or USUAL
        indices = lexicon.vocabulary.indices
        spelled = corpus.vocabulary.words
        self.rows: Ids = np.array([indices.get(w, indices.get(w.lower(), -1)) for w in spelled], np.int64)
        chosen = self.rows if words is None else np.where(np.isin(self.rows, words), self.rows, -1)
        counts = np.zeros(len(lexicon), np.int64)
        np.add.at(counts, chosen[chosen >= 0], np.asarray(corpus.counts)[chosen >= 0])
        self.counts = counts
        self.starts: Ids = np.concatenate([[0], np.cumsum(np.minimum(counts, most))]).astype(np.int64)
        positions = draw_positions(corpus, chosen, self.starts, seed)
        owner = np.repeat(np.arange(len(lexicon)), np.diff(self.starts))
        self.positions = positions[np.lexsort((positions, owner))]
        g = self.formula.distance_weights
        self._weights = np.ones(2 * WINDOW, np.float32) if g is None else np.asarray(g, np.float32)
        keep = evidence_weights(lexicon.vocabulary, self.formula, lexicon.metadata)
        vectors = keep[:, None] * contexts
        self._vectors = np.concatenate([vectors, keep[:, None]], axis=1).astype(np.float32)

    def of(self, first: int, last: int) -> list[Seen]:
        """The occurrences of the words from one row of the lexicon to another."""
        starts = self.starts[first : last + 1]
        positions = self.positions[starts[0] : starts[-1]]
        sentences = np.searchsorted(self.corpus.sentences, positions, side="right") - 1
        firsts, lasts = np.asarray(self.corpus.sentences[sentences]), np.asarray(self.corpus.sentences[sentences + 1])
        sums = np.empty((len(positions), self._vectors.shape[1]), np.float32)
        tokens = np.asarray(self.corpus.tokens)
        weighted_context_sums(tokens, firsts, lasts, positions, self.rows, self._vectors, self._weights, sums)
        c = sums[:, :-1].astype(np.float64)
        amounts = sums[:, -1].astype(np.float64) if self.formula.subsampled else np.linalg.norm(c, axis=1)
        cuts = starts - starts[0]
        return [
            Seen(positions[a:b], firsts[a:b], lasts[a:b], sentences[a:b], c[a:b], amounts[a:b])
            for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ]


def draw_positions(corpus: Corpus, rows: Ids, starts: Ids, seed: int) -> Ids:
    """Positions of a sample of each word's occurrences, word after word, drawn by their hash.

    Args:
        rows: (types,), the row of each word of the corpus; −1 for words that are not drawn.
        starts: (V + 1,), where each row's positions begin in the result, and where the last end.
    """
    size = int(starts[-1])
    hashes, positions, filled = np.empty(size, np.uint64), np.empty(size, np.int64), np.zeros(len(starts) - 1, np.int64)
    tokens = np.asarray(corpus.tokens)
    whole = np.array([0], np.int64), np.array([len(tokens)], np.int64)
    sample_occurrences(tokens, *whole, rows, stream_key(seed, 2), starts, filled, hashes, positions)
    if not np.array_equal(filled, np.diff(starts)):
        raise FormatError(f"{corpus.path}: damaged: counts.npy does not agree with the tokens; build the corpus again")
    return positions


def posteriors(weights: Array, vectors: Array, own: Seen, formula: ContextModel) -> Array:
    """p(k|c) of senses with these weights (k,) and unit vectors (k, n) at some occurrences, (occurrences, k)."""
    evidence = log_evidence(cosines(directions(weights, vectors, formula), own.contexts), own.amounts, formula)
    return softmax(np.log(np.maximum(weights, 1e-12)) + evidence)


UNFIT = 0.05  # the share of a word's own occurrences that no sense is said to fit
FEWEST = 20  # words seen less often have no such figure


def least_cosine(vectors: Array, contexts: Array) -> float:
    """The cosine below which no sense fits: that of the nearest one, which 95 % of contexts exceed; −1 without any."""
    contexts = contexts[contexts.any(axis=1)]
    return float(np.quantile(cosines(vectors, contexts).max(axis=1), UNFIT)) if len(contexts) else -1.0


def least_cosines(
    lexicon: Matrices, corpus: Corpus, *, most: int = 50, seed: int = 1, progress: Report = silent
) -> NDArray[np.float32]:
    """For each word the cosine max_k cos(v_k, c) that 95 % of its contexts c in a text exceed, (V,).

    −1 for words that stand there fewer than 20 times.

    Args:
        most: how many occurrences of each word to look at.
    """
    least = np.full(len(lexicon), -1.0, np.float32)
    seen = Occurrences(lexicon, corpus, most=most, seed=seed)
    for part in blocks(len(lexicon), 1024):
        for row, own in enumerate(seen.of(part.start, part.stop), part.start):
            if len(own.contexts) >= FEWEST:
                columns = units(lexicon.array[row].astype(np.float64).T)
                least[row] = least_cosine(columns[columns.any(axis=1)], own.contexts)
        progress(Progress("how well senses fit", part.stop, len(lexicon), "words"))
    return least


LEAST_SHARE = 0.05  # a column that fewer of a word's occurrences choose is dead
SEPARATION = 3.0  # D of two columns below which they are one sense. Both were chosen on planted words.

_STEPS = 12  # of the weights; they hardly move after that


@dataclass(frozen=True, slots=True)
class FoundSenses:
    """The senses of one word."""

    senses: NDArray[np.int64]  # (m,), the id of the sense that each column belongs to; −1 for dead ones
    shares: Array  # (m,), the share of the occurrences that each column has
    ids: NDArray[np.int64]  # (k,), the ids of the senses
    vectors: Array  # (k, n), their unit vectors
    posteriors: Array  # (occurrences, k), p(k|c)
    least: float  # the cosine below which no sense fits


def count_senses(
    weights: Array,
    vectors: Array,
    contexts: Array,
    amounts: Array,
    formula: ContextModel,
    *,
    least_share: float = LEAST_SHARE,
    separation: float = SEPARATION,
) -> FoundSenses:
    """The senses of a word by its occurrences.

    Args:
        weights: (m,), the trace of each column.
        vectors: (m, n), their unit vectors.
        contexts: (occurrences, n), the context vectors.
        amounts: (occurrences,), how much evidence each is.
    """
    unit = units(contexts)
    members = [[k] for k in np.flatnonzero(weights > 0).tolist()]
    v, p = vectors[[k for (k,) in members]], weights[[k for (k,) in members]] / weights.sum()
    senses, shares = np.full(len(weights), -1, np.int64), np.zeros(len(weights))
    while True:
        posteriors, p = _shares(p, v, contexts, amounts, formula)
        if len(p) == 1:
            break
        lightest = int(p.argmin())
        if p[lightest] < least_share:
            del members[lightest]
            v, p = np.delete(v, lightest, 0), np.delete(p, lightest)
            continue
        separated, a, b = _nearest(unit, v, posteriors.argmax(axis=1))
        if separated >= separation:
            break
        members[b] += members.pop(a)
        joined = p[a] * v[a] + p[b] * v[b]
        v[b], p[b] = joined / max(np.linalg.norm(joined), 1e-300), p[a] + p[b]
        v, p = np.delete(v, a, 0), np.delete(p, a)
    ids = np.array([min(own) for own in members], np.int64)
    for number, own, share in zip(ids, members, p, strict=True):
        senses[own] = number
        shares[own] = share * weights[own] / weights[own].sum()
    return FoundSenses(senses, shares, ids, v, posteriors, least_cosine(v, contexts[amounts > 0]))


def _shares(p: Array, v: Array, contexts: Array, amounts: Array, formula: ContextModel) -> tuple[Array, Array]:
    """p(k|c), (occurrences, k), and the shares of the occurrences, (k,)."""
    evidence = log_evidence(cosines(directions(p, v, formula), contexts), amounts, formula)
    for _ in range(_STEPS):
        posteriors = softmax(np.log(np.maximum(p, 1e-12)) + evidence)
        p = posteriors.mean(axis=0)
    return posteriors, p


def _nearest(unit: Array, v: Array, chosen: NDArray[np.int64]) -> tuple[float, int, int]:
    """The two columns that contexts tell apart worst: D, and both, the first the larger number."""
    best = (np.inf, 0, 0)
    for a in range(1, len(v)):
        for b in range(a):
            best = min(best, (_separation(unit, v[a] - v[b], chosen == a, chosen == b), a, b))
    return best


def _separation(unit: Array, line: Array, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """D of two heaps of contexts along a line."""
    if min(first.sum(), second.sum()) < 2:
        return 0.0
    t = unit @ line
    x, y = t[first], t[second]
    spread = np.sqrt((x.var() * len(x) + y.var() * len(y)) / (len(x) + len(y)))
    return float((x.mean() - y.mean()) / max(spread, 1e-12))


def holevo(posteriors: Array, vectors: Array) -> float:
    """χ of a word, in nats.

    Args:
        posteriors: (contexts, k), p(k|c).
        vectors: (k, n), the unit vectors of the senses.

    >>> holevo(np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)).__round__(3)
    0.693
    >>> holevo(np.array([[0.5, 0.5], [0.5, 0.5]]), np.eye(2))
    0.0
    """
    overlaps = vectors @ vectors.T
    mean = mixture_entropies(posteriors.mean(axis=0)[None], overlaps)[0]
    return max(float(mean - mixture_entropies(posteriors, overlaps).mean()), 0.0)
