import pytest

from polysema.corpus.build import build_corpus
from tests.training.planted import Planted


@pytest.fixture(scope="session")
def planted():
    return Planted()


@pytest.fixture(scope="session")
def planted_corpus(planted, tmp_path_factory):
    return build_corpus(planted.sentences, tmp_path_factory.mktemp("planted") / "corpus")


@pytest.fixture(scope="session")
def small_corpus(planted, tmp_path_factory):
    return build_corpus(planted.sentences[:60], tmp_path_factory.mktemp("small") / "corpus")
