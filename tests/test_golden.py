"""Files that earlier versions wrote open in this one, and hold what they held.

``tests/golden`` has one small file or folder of every format. They are never written again: a format that changes gets
a new version and a new file beside them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from polysema import Corpus, load
from polysema.corpus import corpus
from polysema.lexicon.formats import FORMATS, folder

GOLDEN = Path(__file__).parent / "golden"
WORDS = ["bank", "river", "money", "λόγος"]
FACTORS = [
    [[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0.5, 0.5], [0.5, -0.5]],
]  # of unit trace, and exact in half precision  # fmt: skip
FEW = [
    [[0.5, 0.5, 0], [0.5, 0.5, 0]], [[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1]], [[0.5, 0, 0.5], [0.5, 0, -0.5]],
]  # many columns are zero  # fmt: skip
VECTORS = [[1, 2, 3], [-1, 0.5, 0], [0, 0, 0.25], [4, -8, 16]]


@pytest.mark.parametrize("name", ["lexicon", "lexicon-float16", "lexicon.npz"])
def test_matrices(name):
    model = load(GOLDEN / name)
    assert (model.kind, list(model)) == ("matrices", WORDS)
    np.testing.assert_array_equal(model.factors, FACTORS)
    assert model.vocabulary.counts.tolist() == [40, 30, 20, 10]
    if name != "lexicon.npz":
        assert model.metadata == {"model": "ms-word2dm", "options": {"seed": 7}}
        np.testing.assert_array_equal(model.parts.contexts, np.arange(8).reshape(4, 2))
        assert model.parts.columns == "senses"


def test_matrices_of_few_columns():
    """Written in version 2: of three columns a word, those that are zero are left out."""
    model = load(GOLDEN / "lexicon-version-2")
    assert (model.kind, list(model), model.m, model.metadata) == ("matrices", WORDS, 3, {"model": "taught"})
    np.testing.assert_array_equal(model.factors, FEW)


@pytest.mark.parametrize("name", ["lexicon.txt", "lexicon.vec", "lexicon.bin"])
def test_matrices_as_plain_numbers(name):
    model = load(GOLDEN / name)
    assert (model.kind, list(model)) == ("matrices", WORDS)
    factors = np.array(FACTORS)
    np.testing.assert_allclose(model.stack(WORDS).dense(), factors @ factors.transpose(0, 2, 1), atol=1e-7)


@pytest.mark.parametrize("name", ["vectors", "vectors.npz"])
def test_vectors(name):
    model = load(GOLDEN / name)
    assert (model.kind, list(model)) == ("vectors", WORDS)
    np.testing.assert_array_equal(model.vectors, VECTORS)


def test_a_corpus():
    text = Corpus(GOLDEN / "corpus")
    assert list(text) == [["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "λόγος"]]
    assert text.vocabulary.words == ["the", "a", "cat", "dog", "ran", "sat", "λόγος"]
    assert text.counts.tolist() == [2, 1, 1, 1, 1, 1, 1]
    assert text.digest == "e5b45c1abc4f8a9eeab4182cc2d297085b04d6be77284af7937d21a5a80fc117"


def test_there_is_a_file_of_every_format_in_its_newest_version():
    suffixes = {path.suffix for path in GOLDEN.iterdir()}
    assert all(suffixes & set(item.suffixes) for item in FORMATS.values())
    newest = {"corpus": corpus.VERSION, "lexicon-version-2": folder.VERSION}
    assert newest == {name: json.loads((GOLDEN / name / "config.json").read_text())["version"] for name in newest}
