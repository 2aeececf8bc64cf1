"""A corpus as training sees it: the words that count, what survives of them, rounds of sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.errors import CorpusError
from polysema.kernels.rounds import Text
from polysema.kernels.sampling import GOLDEN, alias_table, mixed, sigmoid_table, thresholds
from polysema.training.options import Options
from polysema.vocabulary import Vocabulary

_NONE = np.uint32(2**32 - 1)


def trained_vocabulary(corpus: Corpus, options: Options, keep: Iterable[str] = ()) -> Vocabulary:
    """The corpus's words that are trained: frequent enough, or to be kept whatever their count."""
    assert options.min_count is not None
    counts = np.asarray(corpus.counts)
    chosen = counts >= options.min_count
    if options.max_size is not None:
        chosen[options.max_size :] = False  # the corpus's vocabulary is sorted by count
    wanted = set(keep)
    words = []
    for i, word in enumerate(corpus.words()):
        if chosen[i] or word in wanted:
            chosen[i] = True
            words.append(word)
    if len(words) < 2:
        raise CorpusError(
            f"{corpus.path}: only {len(words)} words are seen at least {options.min_count} times: "
            "lower the min count, or train on more text"
        )
    return Vocabulary(words, counts[chosen])


class TrainingText:
    """A corpus, mapped to the rows of a model.

    Args:
        vocabulary: the model's words, with the counts that subsampling and noise go by.

    Attributes:
        text: what the kernels read.
        kept: the share of the corpus's tokens that survives subsampling.
        busiest: the share of the most frequent word among those.
    """

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary, options: Options) -> None:
        assert options.subsample is not None
        assert options.held_out is not None
        self.corpus, self.vocabulary, self.options = corpus, vocabulary, options
        rows = np.full(len(corpus.counts), _NONE, np.uint32)
        where = vocabulary.indices
        for i, word in enumerate(corpus.words()):
            rows[i] = where.get(word, _NONE)
        probabilities = vocabulary.keep_probabilities(options.subsample)
        inside = rows != _NONE
        survivors = np.asarray(corpus.counts)[inside] * probabilities[rows[inside]]
        self.kept = float(survivors.sum()) / max(len(corpus.tokens), 1)
        self.busiest = float(survivors.max(initial=0) / max(survivors.sum(), 1e-9))
        if survivors.sum() < 2:
            raise CorpusError(f"{corpus.path}: none of its words is left to train on: lower the min count")
        self.text = Text(
            _plain(corpus.tokens), _plain(corpus.sentences), rows, thresholds(probabilities),
            alias_table(vocabulary.noise_distribution(options.noise_power)), sigmoid_table(), options.window,
            options.negatives, int(options.held_out * 2**32),
        )  # fmt: skip

    def rounds(self, targets: int | None) -> NDArray[np.int64]:
        """The first sentence of each round, and the end.

        Args:
            targets: about how many targets a round; None: ``options.batch`` sentences, for Adam.
        """
        sentences = self.text.sentences
        count = len(sentences) - 1
        if targets is None:
            rounds = -(-count // self.options.batch)
            return np.arange(rounds + 1) * count // max(rounds, 1)
        step = max(1, round(targets / max(self.kept, 1e-6)))
        marks = np.arange(0, int(sentences[-1]), step)
        return np.unique(np.append(np.minimum(np.searchsorted(sentences, marks), count), count))

    def held_out(self) -> NDArray[np.int64]:
        """The sentences that training never sees."""
        return np.flatnonzero(held_out_marks(len(self.text.sentences) - 1, self.text.held_out))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """A memory-mapped array as a plain one (the kernels are compiled once for both)."""
    return np.frombuffer(array, array.dtype) if len(array) else np.empty(0, array.dtype)


@njit(nogil=True, cache=True)
def held_out_marks(count: Any, held_out: Any) -> Any:
    """For each sentence, whether it is kept from training."""
    marks = np.empty(count, np.bool_)
    for s in range(count):
        marks[s] = (mixed(np.uint64(s) * GOLDEN) >> np.uint64(32)) < np.uint64(held_out)
    return marks
