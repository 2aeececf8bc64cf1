"""GloVe's counts: exact, whatever the threads and however often they are written to disk."""

from fractions import Fraction

import numpy as np
import pytest

from polysema.checkpoints import WorkingFolder
from polysema.corpus.build import build_corpus
from polysema.errors import OutputError
from polysema.training import glove as module
from polysema.training.glove import Counts, GloveOptions, co_occurrences
from polysema.training.job import Job
from polysema.training.models import train
from polysema.training.text import trained_vocabulary


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    random = np.random.default_rng(5)
    lines = [
        ["w" + "abcdefghij"[x // 10] + "abcdefghij"[x % 10] for x in random.zipf(1.6, random.integers(2, 30)) % 50]
        for _ in range(300)
    ]
    return build_corpus(lines, tmp_path_factory.mktemp("counts") / "corpus")


def counted(corpus, job=None, **options):
    chosen = GloveOptions(min_count=1, **options).settled(corpus)
    vocabulary = trained_vocabulary(corpus, chosen, ())
    return co_occurrences(job or Job(text=lambda: corpus), vocabulary, chosen)


def small(monkeypatch):
    monkeypatch.setattr(module, "MEMORY", 2_000)
    monkeypatch.setattr(module, "_PART", 1_500)
    monkeypatch.setattr(module, "_PIECE", 40)


@pytest.mark.parametrize("window", [1, 5, 40])  # 40: the least common multiple is too large, weights are rounded
def test_counts_are_those_of_every_pair(corpus, window, monkeypatch):
    """All words survive, so only windows are drawn: their lengths are read from the counts of the module's kernel."""
    from polysema.kernels.sampling import gather, stream_key

    small(monkeypatch)
    options = GloveOptions(min_count=1, subsample=0, window=window).settled(corpus)
    vocabulary = trained_vocabulary(corpus, options, ())
    ids = np.empty(len(corpus.tokens), np.uint32)
    hashes, lows, highs = (np.empty(len(ids), np.uint64) for _ in range(3))
    rows = np.array([vocabulary.index(word) for word in corpus.vocabulary.words], np.uint32)
    keep = np.full(len(vocabulary), 2**32 - 1, np.uint32)
    tokens, sentences = np.asarray(corpus.tokens), np.asarray(corpus.sentences)
    key = stream_key(1, 1, 0)
    many = gather(tokens, sentences, 0, len(corpus), rows, keep, key, window, 0, ids, hashes, lows, highs)
    wanted = {}
    for t in range(many):
        for q in range(int(lows[t]), t):
            pair = tuple(sorted((int(ids[t]), int(ids[q]))))
            wanted[pair] = wanted.get(pair, 0) + Fraction(1, t - q)
    found = co_occurrences(Job(text=lambda: corpus, threads=2), vocabulary, options)
    pairs = [divmod(int(pair), 1 << found.bits) for pair in found.pairs]
    assert pairs == sorted(wanted)
    exact = np.array([float(wanted[pair]) for pair in pairs])
    if window < 40:
        assert (found.weights == exact.astype(np.float32)).all()
    np.testing.assert_allclose(found.weights, exact, rtol=2e-7)


def test_neither_threads_nor_memory_matter(corpus, monkeypatch, tmp_path):
    whole = counted(corpus)
    assert isinstance(whole, Counts)
    small(monkeypatch)
    for threads in (1, 3):
        parts = counted(
            corpus, Job(text=lambda: corpus, threads=threads, state=WorkingFolder(tmp_path / "state").make())
        )
        assert (parts.pairs == whole.pairs).all()
        assert (parts.weights == whole.weights).all()
    assert [item.name for item in (tmp_path / "state").iterdir()] == [".polysema"]
    one, two = (train(corpus, "glove", dim=3, min_count=1, epochs=2, threads=n) for n in (1, 2))
    assert (one.array == two.array).all()


def test_a_text_without_pairs(corpus):
    assert len(counted(corpus, subsample=1e-12)) == 0


def test_a_full_disk_is_said_in_one_line(corpus, monkeypatch):
    small(monkeypatch)

    def full(dir):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", full)
    with pytest.raises(OutputError, match="co-occurrence counts cannot be written: No space left on device"):
        counted(corpus)
