"""Context2DM: a word's density matrix from clusters of its contexts (paper, §4.1.3; Schütze 1998).

    ρ_w ∝ Σ_k c_k c_kᵀ ,   c_k the centroids of the clusters of  x_i = Σ_{j around i} v_j

over the occurrences i of w, with v_j the vectors of the words in the window. Clusters are agglomerative (Ward's
criterion), their number that of the best variance ratio (Caliński & Harabasz 1974). Of a frequent word a sample of
occurrences is clustered, so that no word costs more than another.
"""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import Checkpoint, WorkingFolder
from polysema.corpus.corpus import Corpus
from polysema.engine import Local
from polysema.errors import CorpusError, InputError, needing
from polysema.kernels.contexts import weighted_context_sums
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, VectorLexicon, load
from polysema.options import option
from polysema.progress import Progress, Report
from polysema.training.job import Job
from polysema.training.negative_sampling import train as train_vectors
from polysema.training.objectives import PAPER, Word2VecOptions
from polysema.training.sample import Ids, SampleOptions, TextSample
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float64]

BLOCK = 2048  # words between two writings of the state
PART = 32  # words that a task of a cluster takes


@dataclass(frozen=True)
class Context2DMOptions(SampleOptions):
    """How to make density matrices from clusters of contexts."""

    model: ClassVar[str] = "context2dm"
    window: int = option(5, "how many words to each side make a context", least=1, most=1000)
    inverse_frequency: float = option(
        0.0, "a: a word of the context with a share p of the text counts a / (a + p) (Arora, Liang & Ma 2017), so that "
        "frequent ones do not drown the rest; 0 for all alike, as in the paper", least=0,
    )  # fmt: skip
    occurrences: int = option(200, "how many of a word's occurrences are clustered at most, drawn by the seed", least=3)
    min_count: int = option(50, "words seen less often get no matrix", least=1)
    vectors: AnyLexicon | str | Path | None = option(
        None, "a lexicon of vectors, or its path", by_default="word2vec is trained first"
    )
    dim: int = option(17, "the dimension of the vectors that are trained first", least=1, most=10_000)
    vector_preset: str | None = option(None, "named settings of those vectors", choices=("paper",), by_default="none")


_OF_VECTORS = ("vectors", "dim", "vector_preset")
"""Options that a lexicon does not note: it has what is known of its vectors."""


def train(job: Job, options: Context2DMOptions) -> Lexicon:
    """Context2DM on given word vectors or, without any, on word2vec's, trained on the same text first."""
    with needing("clustering contexts", "cluster"):
        import sklearn  # noqa: F401
    vectors = options.vectors
    if vectors is None:
        vectors = _word2vec(job, options)
    elif job.device != "cpu":
        raise InputError(f"context2dm clusters on the processor: with vectors given there is no work for {job.device}")
    elif not isinstance(vectors, Lexicon | VectorLexicon):
        vectors = load(vectors, "vectors")
    if not isinstance(vectors, VectorLexicon):
        raise InputError("context2dm sums word vectors: give a lexicon of vectors, not of density matrices")
    corpus, own = job.corpus, {name: value for name, value in options.as_dict().items() if name not in _OF_VECTORS}
    sample = TextSample(corpus, options, job.keep)
    starts, positions = sample.drawn(options.occurrences)
    contexts = _Contexts(corpus, vectors, options.window, options.inverse_frequency)
    saved = None
    if job.state is not None:
        digest = sha256(np.ascontiguousarray(contexts.vectors).data)
        digest.update("\n".join(sample.vocabulary.words).encode())
        identity = {"options": own, "text": corpus.digest, "vectors": digest.hexdigest()}
        saved = Checkpoint(job.state / "context2dm.safetensors", identity, job.checkpoint_seconds)
    factors = _clustered(job, sample, starts, positions, contexts, options, saved)
    known = np.flatnonzero(factors.any(axis=(1, 2)))
    if not len(known):
        raise CorpusError(f"{corpus.path}: none of its contexts holds a word that has a vector")
    vocabulary = Vocabulary([sample.vocabulary.words[i] for i in known], sample.vocabulary.counts[known])
    return Lexicon(
        vocabulary,
        factors[known],
        metadata={
            "model": options.model,
            "options": own,
            "corpus": {**sample.facts, "words_without_a_context": len(factors) - len(known)},
            "vectors": {name: vectors.metadata[name] for name in ("model", "options") if name in vectors.metadata},
        },
    )


def _word2vec(job: Job, options: Context2DMOptions) -> AnyLexicon:
    """Word vectors of the same text; a run that goes on has them already."""
    preset = PAPER if options.vector_preset else {}
    chosen = Word2VecOptions(**{**preset, "dim": options.dim})
    if job.state is None:
        return train_vectors(job, chosen)
    working = WorkingFolder(job.state)
    within = dataclasses.replace(job, state=working.file("vectors"))
    checkpoint = within.checkpoint(chosen.settled(job.corpus))
    assert checkpoint is not None
    name = f"word2vec-{sha256(json.dumps(checkpoint.identity).encode()).hexdigest()[:16]}"
    if not (job.state / name).is_dir():
        train_vectors(within, chosen).save(working.file(name))
    return load(job.state / name)


class _Contexts:
    """The context of any position of a corpus as a vector."""

    def __init__(self, corpus: Corpus, vectors: VectorLexicon, window: int, inverse_frequency: float = 0.0) -> None:
        self.tokens, self.weights = np.asarray(corpus.tokens), np.ones(2 * window, np.float32)
        self.sentences = np.asarray(corpus.sentences)
        self.vectors = np.ascontiguousarray(vectors.vectors, np.float32)
        bad = np.flatnonzero(~np.isfinite(self.vectors).all(axis=1))
        if len(bad):
            word = vectors.vocabulary.words[bad[0]]
            raise InputError(
                f"{len(bad):,} of the word vectors are not finite (NaN or infinity), first that of {word!r}"
            )
        where = vectors.vocabulary.indices
        self.rows = np.array([where.get(word, -1) for word in corpus.vocabulary.words], np.int64)
        if inverse_frequency > 0:
            share = np.zeros(len(self.vectors))
            share[self.rows[self.rows >= 0]] = corpus.counts[self.rows >= 0] / corpus.counts.sum()
            scale = inverse_frequency / (inverse_frequency + share)
            self.vectors = self.vectors * scale[:, None].astype(np.float32)

    def __call__(self, positions: Ids) -> NDArray[np.float32]:
        """(k,) positions to (k, n)."""
        sentence = np.searchsorted(self.sentences, positions, side="right") - 1
        out = np.empty((len(positions), self.vectors.shape[1]), np.float32)
        starts, ends = self.sentences[sentence], self.sentences[sentence + 1]
        weighted_context_sums(self.tokens, starts, ends, positions, self.rows, self.vectors, self.weights, out)
        return out


def _clustered(
    job: Job,
    sample: TextSample,
    starts: Ids,
    positions: Ids,
    contexts: _Contexts,
    options: Context2DMOptions,
    saved: Checkpoint | None,
) -> NDArray[np.float32]:
    """The factors (V, n, senses), block by block; zero for words whose contexts hold no vector."""
    from joblib import Parallel, delayed

    count, n = len(sample.vocabulary), contexts.vectors.shape[1]
    factors, first = np.zeros((count, n, options.senses), np.float32), 0
    if saved is not None and saved.load():
        factors, first = saved.arrays["factors"], int(saved.numbers["next"])
    begun = time.perf_counter()

    def cuts(low: int, high: int) -> list[NDArray[np.float32]]:
        """The contexts of each of some words."""
        vectors = contexts(positions[starts[low] : starts[high]])
        return [vectors[starts[w] - starts[low] : starts[w + 1] - starts[low]] for w in range(low, high)]

    with Parallel(n_jobs=job.threads) as parallel:
        for low in range(first, count, BLOCK):
            high = min(low + BLOCK, count)
            if isinstance(job.workers, Local):
                senses = parallel(delayed(senses_of)(cut, options.senses, options.weights) for cut in cuts(low, high))
            else:
                parts = (cuts(at, min(at + PART, high)) for at in range(low, high, PART))
                senses = chain.from_iterable(job.workers.map(_senses_of_some, job.workers.put(options), parts))
            for word, found in enumerate(senses, low):
                factors[word, :, : found.shape[1]] = found
            speed = (high - first) / (time.perf_counter() - begun)
            job.progress(Progress("clustering", high, count, speed=speed, detail=job.workers.status()))
            if saved is not None and (saved.due or high == count):
                saved.save({"next": high}, {"factors": factors})
    return factors


def _senses_of_some(options: Context2DMOptions, words: list[NDArray[np.float32]], _: Report) -> list[Any]:
    """A task: the senses of some words."""
    return [senses_of(contexts, options.senses, options.weights) for contexts in words]


def senses_of(contexts: NDArray[Any], most: int, weights: str = "even") -> NDArray[np.float32]:
    """The centroids of a word's contexts (N, n) as the columns of its factor (n, k).

    Fewer than three distinct contexts are one cluster; a context without a known word is none.
    """
    points = contexts[contexts.any(axis=1)].astype(np.float64)
    if not len(points):
        return np.zeros((contexts.shape[1], 0), np.float32)
    labels = clusters(points, most)
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), points.shape[1]))
    np.add.at(sums, labels, points)
    scale = np.sqrt(sizes) if weights == "size" else np.ones(len(sizes))
    return np.asarray((sums / sizes[:, None] * scale[:, None]).T, np.float32)


def clusters(points: Array, most: int) -> NDArray[np.intp]:
    """The label of each point (N,): Ward's tree, cut at the k = 2 … ``most`` of the best variance ratio."""
    from sklearn.cluster import ward_tree

    distinct = len(np.unique(points, axis=0))
    best, labels = -np.inf, np.zeros(len(points), np.intp)
    if distinct < 3:
        return labels
    children, _, _, _ = ward_tree(points)
    for k in range(2, min(most, distinct - 1) + 1):
        cut = _cut(children, len(points), k)
        score = variance_ratio(points, cut, k)
        if score > best:
            best, labels = score, cut
    return labels


def variance_ratio(points: Array, labels: NDArray[np.intp], k: int) -> float:
    """B/(k − 1) over W/(N − k): the scatter between k clusters against that within (Caliński & Harabasz 1974)."""
    members = (labels == np.arange(k)[:, None]).astype(np.float64)
    sizes = members.sum(axis=1)
    centred = points - points.mean(axis=0)
    between = float(((members @ centred) ** 2).sum(axis=1) @ (1 / sizes))
    within = float((centred**2).sum()) - between
    return float(between / (k - 1) / (within / (len(points) - k))) if within > 1e-12 * between else 1.0


def _cut(children: NDArray[Any], count: int, k: int) -> NDArray[np.intp]:
    """The k clusters that a tree of merges holds before its last k − 1 merges."""
    parent = np.arange(2 * count - 1)
    merges = count - k
    for side in (0, 1):
        parent[children[:merges, side]] = count + np.arange(merges)
    roots = np.arange(count)
    while not np.array_equal(above := parent[roots], roots):
        roots = above
    return np.unique(roots, return_inverse=True)[1]
