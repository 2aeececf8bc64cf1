"""Files of earlier versions open in this one: ``golden/version-N`` holds a small one of each format, never written again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polysema import Corpus, load

VERSIONS = sorted((Path(__file__).parent / "golden").glob("version-*"))
FACTORS = (np.arange(4 * 3 * 2).reshape(4, 3, 2) % 7 + 1) / 4
VECTORS = (np.arange(4 * 3).reshape(4, 3) % 5 + 1) / 4
WORDS = ["bank", "river", "money", "Ægir"]


def dense(factors):
    matrices = factors @ factors.transpose(0, 2, 1)
    return matrices / np.trace(matrices, axis1=1, axis2=2)[:, None, None]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", ["lexicon", "half", "lexicon.npz", "lexicon.txt", "lexicon.txt.gz", "lexicon.bin"])
def test_matrices(version, name):
    lexicon = load(version / name)
    assert list(lexicon) == WORDS
    assert lexicon.kind == "matrices"
    np.testing.assert_allclose(lexicon.stack(WORDS).dense(), dense(FACTORS), atol=2e-3 if name == "half" else 1e-6)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", ["vectors", "vectors.npz", "vectors.txt", "vectors.vec", "vectors.bin"])
def test_vectors(version, name):
    lexicon = load(version / name, "vectors")
    assert list(lexicon) == WORDS
    np.testing.assert_array_equal(lexicon.factors, VECTORS.astype(np.float32))


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_an_ensemble(version):
    ensemble = load(version / "ensemble")
    assert list(ensemble) == WORDS
    assert ensemble.similarity("bank", "river") == pytest.approx(
        load(version / "lexicon").similarity("bank", "river"), abs=1e-6
    )


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_a_corpus(version):
    corpus = Corpus(version / "corpus")
    assert list(corpus) == [["the", "bank", "lends", "money"], ["the", "river", "bank"]]
    assert corpus.vocabulary.counts.tolist() == [2, 2, 1, 1, 1]
