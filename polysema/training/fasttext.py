"""FastText vectors, by gensim, from the same vocabulary, window and subsampling as the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from polysema.corpus.corpus import Corpus
from polysema.errors import MissingExtraError, UnknownChoiceError
from polysema.lexicon.lexicon import VectorLexicon
from polysema.training.models import Job
from polysema.training.options import Options
from polysema.training.text import trained_vocabulary
from polysema.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class FastTextOptions:
    """How FastText is trained; names as in :class:`~polysema.training.options.Options`.

    Attributes:
        shortest, longest: lengths of the character n-grams.
        buckets: how many n-gram vectors there are.
    """

    dim: int = 100
    window: int = 5
    negatives: int = 5
    subsample: float | None = None
    min_count: int | None = None
    max_size: int | None = None
    epochs: int | None = None
    rate: float = 0.025
    shortest: int = 3
    longest: int = 6
    buckets: int = 2_000_000
    seed: int = 1


class _Sentences:
    """The corpus's sentences, with the words that are trained."""

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary) -> None:
        self.corpus, self.known = corpus, frozenset(vocabulary.words)

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self.corpus:
            yield [word for word in sentence if word in self.known]


def train(job: Job, chosen: dict[str, Any]) -> VectorLexicon:
    """Train FastText; see :func:`polysema.training.models.train`. One thread gives the same result every time."""
    try:
        from gensim.models import FastText
    except ImportError:
        raise MissingExtraError("FastText", "gensim") from None
    names = [field.name for field in dataclasses.fields(FastTextOptions)]
    for name in chosen:
        if name not in names:
            raise UnknownChoiceError("option of fasttext", name, names)
    fast = FastTextOptions(**chosen)
    shared = {name: getattr(fast, name) for name in ("window", "subsample", "min_count", "max_size", "epochs")}
    options = Options(**shared).settled(len(job.corpus.tokens), len(job.corpus))
    vocabulary = trained_vocabulary(job.corpus, options, job.keep)
    model = FastText(
        vector_size=fast.dim, window=fast.window, negative=fast.negatives, sample=options.subsample or 0, sg=1,
        min_count=1, alpha=fast.rate, min_n=fast.shortest, max_n=fast.longest, bucket=fast.buckets, seed=fast.seed,
        workers=job.threads,
    )  # fmt: skip
    sentences = _Sentences(job.corpus, vocabulary)
    model.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    model.train(sentences, total_words=int(vocabulary.counts.sum()), epochs=options.epochs)
    settled = {**dataclasses.asdict(fast), **{k: getattr(options, k) for k in ("subsample", "min_count", "epochs")}}
    return VectorLexicon(
        vocabulary,
        model.wv[vocabulary.words],
        metadata={
            "training": {"model": "fasttext", **settled},
            "corpus": {"sentences": len(job.corpus), "tokens": len(job.corpus.tokens)},
        },
    )
