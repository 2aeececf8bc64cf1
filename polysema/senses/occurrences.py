"""What a corpus tells of a word's senses: a sample of its occurrences, their context vectors, and how well senses fit.

No sense fits a context that is further from all senses than nearly all of the word's own contexts are.
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
from polysema.progress import Progress, Report, silent
from polysema.senses.senses import senses_of

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

WINDOW = 10
"""How many words to each side are looked at, where a lexicon does not say."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Some occurrences of one word.

    Attributes:
        positions: (k,), where they stand in the corpus, rising.
        firsts, lasts: (k,), the sentence of each: its first position, and the one after its last.
        sentences: (k,), its number.
        contexts: (k, n), the context vectors c.
        amounts: (k,), how much evidence each is, K.
    """

    positions: Ids
    firsts: Ids
    lasts: Ids
    sentences: Ids
    contexts: Array
    amounts: Array


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


def posteriors(lexicon: Matrices, word: str, own: Seen, formula: ContextModel) -> Array:
    """p(k|c) of a word's senses, as they are listed, at some of its occurrences, (occurrences, k)."""
    _, weights, vectors = senses_of(lexicon, word)
    evidence = log_evidence(cosines(directions(weights, vectors, formula), own.contexts), own.amounts, formula)
    return softmax(np.log(weights) + evidence)


UNFIT = 0.05
"""The share of a word's own occurrences that no sense is said to fit."""

FEWEST = 20
"""Words seen less often have no such figure."""


def least_cosine(fit: NDArray[np.float64]) -> float:
    """The cosine below which no sense fits, from those of the nearest sense at a word's occurrences; −1 for none."""
    return float(np.quantile(fit, UNFIT)) if len(fit) else -1.0


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
        b = lexicon.array[part].astype(np.float64)
        length = np.linalg.norm(b, axis=1, keepdims=True)
        vectors = b / np.where(length > 0, length, 1.0)
        for i, own in enumerate(seen.of(part.start, part.stop)):
            if len(own.contexts) >= FEWEST:
                used, far = vectors[i][:, length[i, 0] > 0], np.linalg.norm(own.contexts, axis=1)
                least[part.start + i] = least_cosine((own.contexts[far > 0] @ used).max(axis=1) / far[far > 0])
        progress(Progress("how well senses fit", part.stop, len(lexicon), "words"))
    return least
