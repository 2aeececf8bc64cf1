"""The part of a corpus that a model is made of: which sentences, which words, which of their occurrences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.corpus.normalisation import is_content
from polysema.errors import CorpusError
from polysema.kernels.contexts import sample_occurrences
from polysema.kernels.sampling import GOLDEN, mixed, stream_key
from polysema.options import Options, option
from polysema.vocabulary import Vocabulary

Ids = NDArray[np.int64]
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class SentenceBlock:
    """Some sentences of a sample."""

    tokens: Ids  # (N,) the words, as indices into :attr:`TextSample.words_read`
    bounds: Ids  # (S + 1,) where each sentence starts in them, and where the last ends
    positions: Ids  # (N,) where the tokens stand in the corpus
    rows: Ids  # (N,) each token's row in the model; −1 for words that have none


WEIGHTS = {"even": "every cluster counts the same, as in the paper", "size": "by the number of its occurrences"}


@dataclass(frozen=True)
class SampleOptions(Options):
    """Which occurrences of which words a model is made of."""

    senses: int = option(10, "how many clusters a word has at most", least=2, most=1000)
    occurrences: int = option(100, "how many of a word's occurrences are clustered at most, drawn by the seed", least=3)
    weights: str = option("even", "", choices=WEIGHTS)
    words: int = option(0, "about how many words of text to read, in sentences drawn by the seed; 0 for all", least=0)
    min_count: int = option(1, "words seen less often get no matrix", least=1)
    max_size: int | None = option(None, "at most this many of the most frequent words", least=1, by_default="all")
    stop_words: bool = option(False, "make matrices of function words too")
    seed: int = option(1, "of the samples and of the clusters", least=0, most=2**63 - 1)


class TextSample:
    """Sentences of a corpus, and those of its words that get a meaning.

    Args:
        options: words, min_count, max_size, stop_words and seed of them.
        keep: words that get a meaning though they are function words or rare.

    Attributes:
        sentences: (S,) the indices of the sentences.
        vocabulary: the words that get a meaning, with their counts in the sample, the most frequent first.
        rows: (types,) each corpus word's row in that; −1 for the others.
    """

    def __init__(self, corpus: Corpus, options: SampleOptions, keep: Iterable[str] = ()) -> None:
        words, seed = options.words, options.seed
        self.corpus, self.seed = corpus, seed
        total = len(corpus.tokens)
        self.sentences: Ids = np.arange(len(corpus), dtype=np.int64)
        if 0 < words < total:
            key = stream_key(seed, 1)
            share = np.uint64(words / total * 2.0**32)
            drawn = mixed.py_func(key + self.sentences.astype(np.uint64) * GOLDEN) >> np.uint64(32)
            self.sentences = self.sentences[drawn < share]
        self.counts_read: Ids = np.zeros(len(corpus.counts), np.int64)
        for part in self._positions(BLOCK):
            self.counts_read += np.bincount(corpus.tokens[part], minlength=len(corpus.counts))
        self.vocabulary, chosen = self._chosen(options, set(keep))
        self.rows: Ids = np.full(len(corpus.counts), -1, np.int64)
        self.rows[chosen] = np.arange(len(chosen))

    def _chosen(self, options: SampleOptions, keep: set[str]) -> tuple[Vocabulary, NDArray[np.intp]]:
        min_count = options.min_count
        words = self.corpus.vocabulary.words
        content = np.ones(len(words), bool) if options.stop_words else np.array(is_content(words, keep), bool)
        kept = np.array([word in keep for word in words], bool)
        chosen = np.flatnonzero((self.counts_read > 0) & (kept | (content & (self.counts_read >= min_count))))
        chosen = chosen[np.argsort(-self.counts_read[chosen], kind="stable")][: options.max_size]
        if not len(chosen):
            raise CorpusError(
                f"{self.corpus.path}: no word but function words is seen {min_count} times: lower the min count"
            )
        return Vocabulary([words[i] for i in chosen], self.counts_read[chosen]), chosen

    @cached_property
    def words_read(self) -> list[str]:
        """Every word that stands in the sample."""
        words = self.corpus.vocabulary.words
        return [words[i] for i in np.flatnonzero(self.counts_read)]

    @cached_property
    def _read_index(self) -> Ids:
        index = np.full(len(self.counts_read), -1, np.int64)
        used = np.flatnonzero(self.counts_read)
        index[used] = np.arange(len(used))
        return index

    @property
    def identity(self) -> dict[str, str]:
        """What tells its text and its words apart from any other."""
        words = "\n".join(self.vocabulary.words)
        return {"text": self.corpus.digest, "vocabulary": sha256(words.encode()).hexdigest()}

    @property
    def facts(self) -> dict[str, Any]:
        """What a lexicon notes of its text."""
        return {"path": self.corpus.path.name, "sentences": len(self.sentences), "tokens": self.tokens}

    @property
    def tokens(self) -> int:
        """How many words of text it holds."""
        return int(self.counts_read.sum())

    @property
    def occurrences(self) -> int:
        """How many of them are occurrences of words that get a meaning."""
        return int(self.vocabulary.counts.sum())

    def _positions(self, size: int) -> Iterator[Ids]:
        for start in range(0, len(self.sentences), size):
            yield ranges(*self._bounds(self.sentences[start : start + size]))

    def _bounds(self, chosen: Ids) -> tuple[Ids, Ids]:
        return np.asarray(self.corpus.sentences[chosen]), np.asarray(self.corpus.sentences[chosen + 1])

    def part(self, sentences: Ids) -> SentenceBlock:
        """Some sentences of the sample, by their indices in the corpus."""
        starts, ends = self._bounds(sentences)
        positions = ranges(starts, ends)
        tokens = np.asarray(self.corpus.tokens[positions])
        bounds = np.concatenate([[0], np.cumsum(ends - starts)])
        return SentenceBlock(self._read_index[tokens], bounds, positions, self.rows[tokens])

    def drawn(self, most: int) -> tuple[Ids, Ids]:
        """At most ``most`` occurrences of each word, drawn by their hash.

        Returns:
            where each word's begin (V + 1,), and their positions in the corpus, rising within each word.
        """
        starts = np.concatenate([[0], np.cumsum(np.minimum(self.vocabulary.counts, most))]).astype(np.int64)
        filled = np.zeros(len(self.vocabulary), np.int64)
        hashes, positions = np.empty(starts[-1], np.uint64), np.empty(starts[-1], np.int64)
        tokens, key = np.asarray(self.corpus.tokens), stream_key(self.seed, 2)
        chosen = self.sentences
        runs = np.flatnonzero(np.diff(chosen, prepend=-2) != 1) if len(chosen) else chosen  # neighbours read in one go
        ends = np.append(runs[1:], len(chosen)) - 1
        firsts, lasts = self.corpus.sentences[chosen[runs]], self.corpus.sentences[chosen[ends] + 1]
        sample_occurrences(tokens, firsts, lasts, self.rows, key, starts, filled, hashes, positions)
        owner = np.repeat(np.arange(len(self.vocabulary)), np.diff(starts))
        return starts, positions[np.lexsort((positions, owner))]


def ranges(starts: Ids, ends: Ids) -> Ids:
    """All whole numbers of the ranges start … end, one range after the other."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths))
