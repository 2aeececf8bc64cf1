"""A fair sample of each word's occurrences in a corpus, and their context vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.errors import InputError
from polysema.kernels.contexts import weighted_context_sums
from polysema.kernels.reservoir import sample_occurrences
from polysema.kernels.sampling import stream_key
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.parts import Telling
from polysema.lexicon.telling import USUAL, cosines, directions, evidence_weights, log_evidence, softmax

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
        self, lexicon: Lexicon, corpus: Corpus, *, most: int = 150, words: Ids | None = None, seed: int = 1
    ) -> None:
        if lexicon.contexts is None or lexicon.contexts.ndim != 2:
            raise InputError(
                "this lexicon has no context vectors to tell senses by: train it with ms-word2dm, saved as a folder"
            )
        if most < 2:
            raise InputError(f"most is how many occurrences of each word to draw, 2 or more, not {most}")
        self.lexicon, self.corpus = lexicon, corpus
        self.formula = lexicon.telling or USUAL
        indices = lexicon.vocabulary.indices
        spelled = corpus.vocabulary.words
        self.rows: Ids = np.array([indices.get(w, indices.get(w.lower(), -1)) for w in spelled], np.int64)
        chosen = self.rows if words is None else np.where(np.isin(self.rows, words), self.rows, -1)
        counts = np.zeros(len(lexicon), np.int64)
        np.add.at(counts, chosen[chosen >= 0], np.asarray(corpus.counts)[chosen >= 0])
        self.counts = counts
        self.starts: Ids = np.concatenate([[0], np.cumsum(np.minimum(counts, most))]).astype(np.int64)
        size = int(self.starts[-1])
        hashes, positions = np.empty(size, np.uint64), np.empty(size, np.int64)
        filled = np.zeros(len(lexicon), np.int64)
        tokens = np.asarray(corpus.tokens)
        whole = np.array([0], np.int64), np.array([len(tokens)], np.int64)
        sample_occurrences(tokens, *whole, chosen, stream_key(seed, 2), self.starts, filled, hashes, positions)
        owner = np.repeat(np.arange(len(lexicon)), np.diff(self.starts))
        self.positions = positions[np.lexsort((positions, owner))]
        g = self.formula.distance_weights
        self._weights = np.ones(2 * WINDOW, np.float32) if g is None else np.asarray(g, np.float32)
        keep = evidence_weights(lexicon.vocabulary, self.formula, lexicon.subsample)
        vectors = keep[:, None] * lexicon.contexts
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


def posteriors(lexicon: Lexicon, word: str, own: Seen, formula: Telling) -> Array:
    """p(k|c) of a word's senses, as they are listed, at some of its occurrences, (occurrences, k)."""
    weights, vectors = lexicon.sense_vectors(word)
    evidence = log_evidence(cosines(directions(weights, vectors, formula), own.contexts), own.amounts, formula)
    return softmax(np.log(weights) + evidence)
