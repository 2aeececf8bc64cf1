import numpy as np
import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")
pytest.importorskip("sklearn")

from polysema.corpus.normalisation import STOP_WORDS
from polysema.encoders.huggingface import Encoder
from polysema.errors import CorpusError, InputError, UnknownChoiceError
from polysema.training import bert2dm as module
from polysema.training import streams
from polysema.training.models import train
from tests.encoders.test_huggingface import slow_word_vectors
from tests.encoders.tiny import make_corpus
from tests.refusals import refused


def bert2dm(corpus, encoder, **options):
    return train(corpus, "bert2dm", encoder=encoder, **options)


@pytest.fixture(scope="module")
def corpus(encoder_corpus):
    return encoder_corpus


@pytest.fixture(scope="module")
def encoder(encoder_folder):
    return Encoder.load(encoder_folder, batch_size=8)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 4)
    monkeypatch.setattr(module, "MEAN_SENTENCES", 16)


@pytest.fixture(scope="module")
def stacked(corpus, encoder):
    """Every content word's vector, all in memory: the paper's way."""
    words, vectors = [], []
    for sentence in corpus:
        pieces = [sentence] if len(sentence) < 30 else None
        if pieces is None:  # the long one, cut as the encoder's window cuts it: 38 pieces, ``lend`` being 4
            pieces = [sentence[i : i + 9] for i in range(0, len(sentence), 9)]
        for piece in pieces:
            found = slow_word_vectors(encoder, piece, encoder.layers)
            for word, vector in zip(piece, found, strict=True):
                if word not in STOP_WORDS:
                    words.append(word)
                    vectors.append(vector)
    return np.array(words), np.array(vectors, np.float64)


@pytest.mark.parametrize("reduction", ["pca", "svd"])
@pytest.mark.parametrize("store", ["disk", "again"])
def test_streaming_equals_scikit_learn_on_the_stacked_vectors(corpus, encoder, stacked, reduction, store):
    from sklearn import decomposition

    words, vectors = stacked
    if reduction == "pca":
        reduced = decomposition.PCA(5, svd_solver="full").fit_transform(vectors)
    else:
        reduced = decomposition.TruncatedSVD(5, algorithm="arpack", random_state=0).fit_transform(vectors)
    lexicon = bert2dm(corpus, encoder, dim=5, reduction=reduction, store=store)
    assert set(lexicon) == set(words)
    for word in lexicon:
        own = reduced[words == word]
        expected = own.T @ own
        np.testing.assert_allclose(lexicon[word].dense(), expected / np.trace(expected), atol=2e-5)
        assert lexicon.vocabulary.count(word) == len(own)
    assert lexicon.entropy("hapax") == pytest.approx(0, abs=1e-6)  # seen once


def test_stop_words_out_keep_list_in(corpus, encoder):
    assert "the" not in bert2dm(corpus, encoder, dim=3)
    lexicon = bert2dm(corpus, encoder, dim=3, min_count=2, keep=["the", "hapax"])
    assert {"the", "hapax"} <= set(lexicon)
    assert "of" not in lexicon
    assert "of" in bert2dm(corpus, encoder, dim=3, stop_words=True)


@pytest.mark.parametrize("reduction", ["pca", "svd"])
def test_clustered(corpus, encoder, stacked, reduction):
    lexicon = bert2dm(corpus, encoder, dim=4, reduction=reduction, cluster=True, occurrences=20, senses=5)
    assert lexicon.parts.columns == "senses"
    assert lexicon.m <= 5
    assert lexicon.entropy("hapax") == pytest.approx(0, abs=1e-6)
    assert all(np.isfinite(lexicon[word].dense()).all() for word in lexicon)
    columns = (np.abs(lexicon.factors).sum(1) > 0).sum(1)
    assert columns[lexicon.vocabulary.index("hapax")] == 1
    assert columns[lexicon.vocabulary.index("bank")] >= 2


@pytest.mark.parametrize("cluster", [False, True])
def test_neither_blocks_nor_threads_matter(corpus, encoder, monkeypatch, cluster):
    options = {"dim": 4, "cluster": cluster, "occurrences": 20}
    first = bert2dm(corpus, encoder, threads=1, **options)
    monkeypatch.setattr(module, "BUDGET", 4 * encoder.width * 30 if cluster else 8 * 10 * 3)
    monkeypatch.setattr(streams, "BLOCK", 4 * encoder.width * 7)
    second, third = (bert2dm(corpus, encoder, threads=threads, **options) for threads in (1, 3))
    np.testing.assert_allclose(first.factors, second.factors, atol=1e-6)
    np.testing.assert_array_equal(second.factors, third.factors)


class Stopped(Exception):
    pass


@pytest.mark.parametrize(
    ("stage", "cluster", "store"),
    [
        ("encoding", False, "disk"),
        ("reducing", False, "again"),
        ("encoding", True, "disk"),
        ("clustering", True, "disk"),
    ],
)
def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path, corpus, encoder, monkeypatch, stage, cluster, store):
    monkeypatch.setattr(module, "BUDGET", 4 * encoder.width * 30)  # a word or two at a time
    settings = {"dim": 4, "cluster": cluster, "store": store, "occurrences": 20, "threads": 1}
    whole = bert2dm(corpus, encoder, **settings)
    seen = []

    def stop(at):
        seen.append((at.stage, at.done))
        if not at.note and [name for name, _ in seen].count(stage) > 9:
            raise Stopped

    settings |= {"state": tmp_path / "state", "checkpoint_minutes": 0}
    with pytest.raises(Stopped):
        bert2dm(corpus, encoder, progress=stop, **settings)
    seen.clear()
    resumed = bert2dm(
        corpus, encoder, progress=lambda at: None if at.note else seen.append((at.stage, at.done)), **settings
    )
    assert min(done for name, done in seen if name == stage) > (
        5 if stage == "clustering" else 150
    )  # not from the start
    assert stage == "encoding" or "encoding" not in dict(seen)
    np.testing.assert_array_equal(resumed.factors, whole.factors)
    np.testing.assert_array_equal(resumed.parts.encoder.projection, whole.parts.encoder.projection)
    assert not (tmp_path / "state" / "heaps").exists()


def test_another_variant_reuses_the_encoding(tmp_path, corpus, encoder):
    bert2dm(corpus, encoder, dim=5, state=tmp_path / "state")
    stages = set()
    again = bert2dm(
        corpus, encoder, dim=3, reduction="pca", state=tmp_path / "state",
        progress=lambda p: stages.add(p.stage if not p.note else "note"),
    )  # fmt: skip
    assert "encoding" not in stages
    np.testing.assert_array_equal(again.factors, bert2dm(corpus, encoder, dim=3, reduction="pca").factors)
    refused(InputError, "holds another run", bert2dm, corpus, encoder, dim=5, seed=2, state=tmp_path / "state")
    clustered = bert2dm(corpus, encoder, dim=3, cluster=True, state=tmp_path / "state")
    np.testing.assert_allclose(clustered.factors, bert2dm(corpus, encoder, dim=3, cluster=True).factors, atol=1e-4)


def test_wrong_options(corpus, encoder):
    refused(UnknownChoiceError, "reduction", bert2dm, corpus, encoder, reduction="ica")
    refused(InputError, "dim", bert2dm, corpus, encoder, dim=1000)
    refused(CorpusError, "min count", bert2dm, corpus, encoder, dim=3, min_count=10**6)


@pytest.mark.parametrize("cluster", [False, True])
def test_memory_does_not_grow_with_the_text(tmp_path, encoder, monkeypatch, cluster):
    import tracemalloc

    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(module, "BUDGET", 1 << 16)

    def peak(sentences):
        corpus = make_corpus(tmp_path / f"{sentences}", sentences)
        bert2dm(corpus, encoder, dim=3, cluster=cluster, occurrences=10, store="disk", threads=1)  # compiled and warm
        tracemalloc.start()
        try:
            lexicon = bert2dm(corpus, encoder, dim=3, cluster=cluster, occurrences=10, store="disk", threads=1)
            return tracemalloc.get_traced_memory()[1], int(lexicon.vocabulary.counts.sum()) * encoder.width * 4
        finally:
            tracemalloc.stop()

    (little, _), (much, vectors) = peak(60), peak(1200)
    assert vectors > 600_000
    assert much - little < vectors / 4
