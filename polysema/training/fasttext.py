"""FastText vectors, by gensim, from the same vocabulary, window and subsampling as the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from polysema.corpus.corpus import Corpus
from polysema.errors import needing
from polysema.lexicon.lexicon import VectorLexicon
from polysema.options import option
from polysema.progress import Progress
from polysema.training.job import Job
from polysema.training.objectives import TextOptions
from polysema.training.text import trained_vocabulary
from polysema.vocabulary import Vocabulary


@dataclass(frozen=True)
class FastTextOptions(TextOptions):
    """How FastText is trained."""

    model: ClassVar[str] = "fasttext"
    dim: int = option(100, "n, the dimension", least=1, most=10_000)
    negatives: int = option(5, "K, noise words a sample", least=1, most=60)
    epochs: int | None = option(
        None, "how many times to go through the corpus", least=1, most=1_000_000,
        by_default="4 for 100 million words and more, in proportion to the root for fewer, at most 40",
    )  # fmt: skip
    rate: float = option(0.025, "the learning rate", above=0, most=10)
    shortest: int = option(3, "characters of the shortest n-grams", least=1, most=100)
    longest: int = option(6, "characters of the longest n-grams", least=1, most=100)
    buckets: int = option(2_000_000, "how many n-gram vectors there are", least=1, most=10**9)
    seed: int = option(1, "random seed", least=0, most=2**32 - 1)

    def by_text(self, small: float, sentences: int) -> dict[str, Any]:
        """The defaults; see :meth:`TextOptions.by_text`."""
        return super().by_text(small, sentences) | {"epochs": min(40, round(4 / small**0.5))}


class _Sentences:
    """The corpus's sentences, with the words that are trained."""

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary) -> None:
        self.corpus, self.known = corpus, frozenset(vocabulary.words)

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self.corpus:
            yield [word for word in sentence if word in self.known]


def train(job: Job, options: FastTextOptions) -> VectorLexicon:
    """Train FastText; see :func:`polysema.train`. One thread gives the same result every time."""
    with needing("FastText", "gensim"):
        from gensim.models import FastText
        from gensim.models.callbacks import CallbackAny2Vec
    options = options.settled(job.corpus)
    assert options.epochs is not None
    vocabulary = trained_vocabulary(job.corpus, options, job.keep)
    model = FastText(
        vector_size=options.dim, window=options.window, negative=options.negatives, sample=options.subsample or 0, sg=1,
        min_count=1, alpha=options.rate, min_n=options.shortest, max_n=options.longest, bucket=options.buckets,
        seed=options.seed, workers=job.threads,
    )  # fmt: skip
    started, tokens, epochs = time.perf_counter(), len(job.corpus.tokens), options.epochs

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        """Reports each epoch."""

        epoch = 0

        def on_epoch_end(self, model: Any) -> None:
            self.epoch += 1
            seconds, done = time.perf_counter() - started, self.epoch * tokens
            left = seconds * (epochs - self.epoch) / self.epoch
            job.progress(
                Progress(
                    "training", done, epochs * tokens, speed=done / max(seconds, 1e-9), seconds=seconds, left=left,
                    epoch=self.epoch, epochs=epochs,
                )
            )  # fmt: skip

    model.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    sentences, words = _Sentences(job.corpus, vocabulary), int(vocabulary.counts.sum())
    model.train(sentences, total_words=words, epochs=epochs, callbacks=[Epochs()])
    return VectorLexicon(vocabulary, model.wv[vocabulary.words], metadata=job.described(options))
