"""A corpus as training sees it: the words that count, what survives of them, rounds of sentences, held-out windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.errors import CorpusError
from polysema.kernels.rounds import TextArrays, draw
from polysema.kernels.sampling import alias_table, gather, held_out_marks, sigmoid_table, stream_key, thresholds
from polysema.training.objectives import NegativeSamplingOptions, TextOptions
from polysema.vocabulary import Vocabulary

NONE = np.uint32(2**32 - 1)  # the row of a word that the model leaves out


def trained_vocabulary(corpus: Corpus, options: TextOptions, keep: Iterable[str] = ()) -> Vocabulary:
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


def model_rows(corpus: Corpus, vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """(types,) each word's row in the model; ``NONE`` for words it leaves out."""
    where = vocabulary.indices
    return np.fromiter((where.get(word, NONE) for word in corpus.words()), np.uint32, len(corpus.counts))


class TrainingText:
    """A corpus, mapped to the rows of a model.

    Attributes:
        vocabulary: the model's words, with the counts that subsampling and noise go by.
        text: what the kernels read.
        kept: the share of the corpus's tokens that survives subsampling.
        busiest: the share of the most frequent word among those.
    """

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary, options: NegativeSamplingOptions) -> None:
        assert options.subsample is not None
        assert options.held_out is not None
        self.corpus, self.vocabulary, self.options = corpus, vocabulary, options
        rows = model_rows(corpus, vocabulary)
        probabilities = vocabulary.keep_probabilities(options.subsample)
        inside = rows != NONE
        survivors = np.asarray(corpus.counts)[inside] * probabilities[rows[inside]]
        self.kept = float(survivors.sum()) / max(len(corpus.tokens), 1)
        self.busiest = float(survivors.max(initial=0) / max(survivors.sum(), 1e-9))
        self._check(float(np.asarray(corpus.counts)[inside].sum()))
        self.text = TextArrays(
            _plain(corpus.tokens), _plain(corpus.sentences), rows, thresholds(probabilities),
            alias_table(vocabulary.noise_distribution(options.noise_power)), sigmoid_table(), options.window,
            options.negatives, int(options.held_out * 2**32),
        )  # fmt: skip
        if options.held_out > 0 and len(self.held_out()) == len(corpus):
            raise CorpusError(
                f"{corpus.path}: all {len(corpus)} sentences are held out: lower held out (now {options.held_out})"
            )

    def _check(self, known: float) -> None:
        """Refuse a text of which too little is left: a sample needs two surviving words in one sentence.

        With s survivors in k sentences about s²/2k of them keep two words or more.
        """
        least, survivors = np.sqrt(2 * max(len(self.corpus), 1)), self.kept * len(self.corpus.tokens)
        if known < least:
            raise CorpusError(f"{self.corpus.path}: none of its words is left to train on: lower the min count")
        if survivors < least:
            raise CorpusError(
                f"{self.corpus.path}: subsampling at {self.options.subsample} leaves {survivors:.3g} of {known:.0f} "
                "words: raise subsample, or 0 to keep all"
            )

    def rounds(self, targets: int | None) -> NDArray[np.int64]:
        """The first sentence of each round of about so many targets (None: of a batch, for Adam), and the end."""
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


Array = NDArray[np.float32]
Ids = NDArray[np.int64]

_MOST = 4000  # sentences
_STREAM = 0x6865_6C64  # a stream of random numbers of its own


def _within(counts: Ids) -> Ids:
    """0, 1 … count − 1 for each count, concatenated."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


class HeldOut:
    """Windows of held-out sentences with noise words. They do not depend on the seed, so runs can be compared.

    Attributes:
        targets: (s,) the target of each sample.
        contexts, starts: the context words of all samples after one another, and where each sample's start.
        noise: (s, K).
    """

    def __init__(self, text: TrainingText) -> None:
        options, source, pairs = text.options, text.text, text.options.pairs
        sentences = text.held_out()
        if len(sentences) > _MOST:
            sentences = sentences[np.linspace(0, len(sentences) - 1, _MOST).astype(np.int64)]
        pieces = [source.tokens[source.sentences[s] : source.sentences[s + 1]] for s in sentences]
        tokens = np.concatenate([*pieces, np.empty(0, source.tokens.dtype)])
        marks = np.cumsum([0, *map(len, pieces)])
        tokens.flags.writeable = marks.flags.writeable = False  # as the text: the kernel is compiled once for both
        ids, bits = np.empty(len(tokens), np.uint32), np.empty((4, len(tokens)), np.uint64)
        count = gather(
            tokens, marks, 0, len(pieces), source.rows, source.keep, stream_key(_STREAM), source.window, 0, ids,
            *bits[:3],
        )  # fmt: skip
        ids, (low, high) = ids[:count], bits[1:3, :count].astype(np.int64)
        around = high - low - 1
        samples = int(around.sum()) if pairs else count
        self.noise = np.empty((samples, options.negatives), np.uint32)
        draw(*bits, self.noise.reshape(-1), np.uint64(count), pairs, np.uint64(options.negatives), source.alias)
        places = np.repeat(np.arange(len(ids)), around)
        others = low[places] + _within(around)
        self.contexts = ids[others + (others >= places)]
        self.targets = ids[places] if pairs else ids
        self.starts = np.arange(len(places)) if pairs else np.cumsum(around) - around

    def __len__(self) -> int:
        return len(self.targets)

    def loss(self, options: NegativeSamplingOptions, target: Array, context: Array) -> float | None:
        """The mean of −J; None where nothing is held out. Target (V, m, n), context (V, rows, n)."""
        if not len(self):
            return None
        total = 0.0
        size = 1000 if options.objective.whole else 10_000
        for part in (slice(i, min(i + size, len(self))) for i in range(0, len(self), size)):
            rows = target[self.targets[part]].astype(np.float64), self._sums(part, context)
            total += options.objective.loss(*rows, context[self.noise[part]].astype(np.float64), options.cosine)
        return total / len(self)

    def _sums(self, part: slice, vectors: Array) -> NDArray[np.float64]:
        """The sum of each sample's context vectors, for a part of the samples."""
        first = self.starts[part.start]
        last = self.starts[part.stop] if part.stop < len(self) else len(self.contexts)
        rows = vectors[self.contexts[first:last]].astype(np.float64)
        return np.add.reduceat(rows, self.starts[part] - first, axis=0)
