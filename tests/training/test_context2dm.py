import numpy as np
import pytest

pytest.importorskip("sklearn")

from polysema.corpus.build import build_corpus
from polysema.errors import InputError, UnknownChoiceError
from polysema.lexicon.lexicon import Lexicon, VectorLexicon
from polysema.training import context2dm as module
from polysema.training.context2dm import clusters, senses_of
from polysema.training.models import train
from polysema.training.sample import SampleOptions, TextSample
from tests.refusals import refused


def context2dm(corpus, vectors, **options):
    return train(corpus, "context2dm", vectors=vectors, **options)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """*bank* stands among money words half the time and among river words the other half; *coin* only among money."""
    rng = np.random.default_rng(0)
    topics = {"money": ["loan", "cash", "interest", "credit"], "river": ["water", "shore", "boat", "fish"]}
    text = []
    for i in range(400):
        around = rng.choice(topics["money" if i % 2 else "river"], 6)
        text.append([*around[:3], "bank", *around[3:]])
        text.append([*rng.choice(topics["money"], 3), "coin", *rng.choice(topics["money"], 2), "the"])
    text.append(["hapax", "loan", "cash"])
    text.append(["lonely", "alone"])
    corpus = build_corpus(text, tmp_path_factory.mktemp("corpus") / "corpus")
    words = [w for ws in topics.values() for w in ws]
    vectors = np.zeros((len(words), 8))
    vectors[:4, :4] = np.eye(4) * 0.2 + 1
    vectors[4:, 4:] = np.eye(4) * 0.2 + 1
    return corpus, VectorLexicon(words, vectors)


def slow_contexts(corpus, vectors, word, window):
    found = []
    for sentence in corpus:
        for i, w in enumerate(sentence):
            if w == word:
                around = [sentence[j] for j in range(max(0, i - window), min(len(sentence), i + window + 1)) if j != i]
                found.append(sum((vectors[v].dense() for v in around if v in vectors), np.zeros(vectors.n)))
    return np.array(found)


def test_planted_senses_are_found(planted):
    lexicon = context2dm(*planted, min_count=1)
    assert lexicon.entropy("bank") > 0.6 > 0.1 > lexicon.entropy("coin")
    assert lexicon.entropy("hapax") == pytest.approx(0, abs=1e-6)
    assert "lonely" not in lexicon  # no word around it has a vector
    assert "the" not in lexicon
    assert lexicon.metadata["corpus"]["words_without_a_context"] == 2


def test_contexts_and_mixture_equal_the_slow_way(planted):
    corpus, vectors = planted
    lexicon = context2dm(corpus, vectors, min_count=1, window=2, occurrences=10**6)
    for word in ("bank", "coin", "hapax"):
        positions = np.flatnonzero(np.asarray(corpus.tokens) == corpus.vocabulary.index(word))
        points = module._Contexts(corpus, vectors, 2)(positions)
        np.testing.assert_allclose(points, slow_contexts(corpus, vectors, word, 2), rtol=1e-5)
        labels = clusters(points.astype(np.float64), 10)
        centroids = np.array([points[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
        expected = centroids.T @ centroids
        np.testing.assert_allclose(lexicon[word].dense(), expected / np.trace(expected), atol=1e-5)


def test_frequent_words_of_a_context_count_less(planted):
    corpus, vectors = planted
    share = np.array([corpus.vocabulary.count(word) for word in vectors]) / len(corpus.tokens)
    scaled = VectorLexicon(list(vectors), vectors.vectors * (0.05 / (0.05 + share))[:, None])
    positions = np.flatnonzero(np.asarray(corpus.tokens) == corpus.vocabulary.index("bank"))
    weighted = module._Contexts(corpus, vectors, 3, 0.05)(positions)
    np.testing.assert_allclose(weighted, slow_contexts(corpus, scaled, "bank", 3), rtol=1e-5)
    lexicon = context2dm(corpus, vectors, min_count=1, inverse_frequency=1e-3)
    assert lexicon.metadata["options"]["inverse_frequency"] == 1e-3
    assert lexicon.entropy("bank") > lexicon.entropy("coin")
    refused(InputError, "inverse frequency", context2dm, corpus, vectors, inverse_frequency=-1.0)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_equal_scikit_learns(seed):
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score

    points = np.random.default_rng(seed).normal(size=(40, 3)) + 4 * np.random.default_rng(seed).integers(0, 3, (40, 1))
    best = max(
        (AgglomerativeClustering(k).fit_predict(points) for k in range(2, 11)),
        key=lambda labels: calinski_harabasz_score(points, labels),
    )
    assert adjusted_rand_score(clusters(points, 10), best) == 1
    labels = AgglomerativeClustering(4).fit_predict(points)
    assert module.variance_ratio(points, labels, 4) == pytest.approx(calinski_harabasz_score(points, labels))


def test_few_points_are_one_cluster():
    same = np.ones((5, 2))
    assert senses_of(same, 10).shape == (2, 1)
    assert senses_of(np.array([[1.0, 0], [0, 1]]), 10).shape == (2, 1)
    assert senses_of(np.zeros((3, 2)), 10).shape == (2, 0)


def test_the_sample_is_fair_bounded_and_seeded(planted):
    corpus, _ = planted
    sample = TextSample(corpus, SampleOptions(seed=1))
    starts, positions = sample.drawn(30)
    sizes = np.diff(starts)
    assert (sizes == np.minimum(sample.vocabulary.counts, 30)).all()
    words = np.asarray(corpus.tokens)[positions]
    assert (sample.rows[words] == np.repeat(np.arange(len(sizes)), sizes)).all()
    assert len(np.unique(positions)) == len(positions)
    np.testing.assert_array_equal(TextSample(corpus, SampleOptions(seed=1)).drawn(30)[1], positions)
    assert not np.array_equal(TextSample(corpus, SampleOptions(seed=2)).drawn(30)[1], positions)
    bank = sample.vocabulary.index("bank")
    mean = positions[starts[bank] : starts[bank + 1]].mean() / len(corpus.tokens)
    assert 0.3 < mean < 0.7


def test_part_of_the_text_is_read(planted):
    corpus, _ = planted
    sample = TextSample(corpus, SampleOptions(words=2000, seed=3))
    assert 1500 < sample.tokens < 2500
    part = sample.part(sample.sentences)
    assert len(part.tokens) == sample.tokens
    words = [sample.words_read[i] for i in part.tokens[: part.bounds[1]]]
    assert words == corpus.sentence(int(sample.sentences[0]))
    assert sample.drawn(10**6)[0][-1] == sample.occurrences


class Stopped(Exception):
    pass


def test_a_stopped_run_goes_on(planted, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 3)
    whole = context2dm(*planted, min_count=1)

    def stop(item):
        if item.done >= 6:
            raise Stopped

    with pytest.raises(Stopped):
        context2dm(*planted, min_count=1, state=tmp_path / "state", checkpoint_minutes=0, progress=stop)
    seen = []
    resumed = context2dm(*planted, min_count=1, state=tmp_path / "state", progress=lambda p: seen.append(p.done))
    assert seen[0] > 3
    np.testing.assert_array_equal(resumed.factors, whole.factors)
    refused(InputError, "holds another run", context2dm, *planted, min_count=1, window=3, state=tmp_path / "state")


def test_wrong_options(planted):
    corpus, vectors = planted
    refused(UnknownChoiceError, "weights", context2dm, corpus, vectors, weights="odd")
    refused(InputError, "window", context2dm, corpus, vectors, window=0)
    refused(InputError, "vectors", context2dm, corpus, Lexicon(["a"], np.ones((1, 2, 2))))
