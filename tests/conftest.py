"""Shared fixtures and settings of the tests."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from polysema import Lexicon, VectorLexicon, Vocabulary
from polysema.errors import PolysemaError

ROOT = Path(__file__).parents[1]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

settings.register_profile(  # the same examples every time; POLYSEMA_EXPLORE=1 looks for others
    "polysema", deadline=None, max_examples=60, derandomize="POLYSEMA_EXPLORE" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
settings.load_profile("polysema")

WORDS = ["bank", "river", "money", "run", "family", "hotel", "old", "cars", "likes", "bob", "Ægir", "λόγος"]


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    """Twelve words with random 6×3 matrices."""
    rng = np.random.default_rng(7)
    factors = rng.normal(size=(len(WORDS), 6, 3)).astype(np.float32)
    return Lexicon(Vocabulary(WORDS, range(120, 0, -10)), factors, metadata={"model": "random", "options": {"seed": 7}})


@pytest.fixture(scope="session")
def vectors() -> VectorLexicon:
    """The same words with random vectors of seven numbers."""
    rng = np.random.default_rng(8)
    return VectorLexicon(Vocabulary(WORDS, range(120, 0, -10)), rng.normal(size=(len(WORDS), 7)).astype(np.float32))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the evaluation sets and the corpus, where there is one."""
    path = Path(os.environ.get("POLYSEMA_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no shared data at {path}: set POLYSEMA_SHARED to the folder that holds data/ and corpus/")
    return path


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    """The evaluation sets."""
    return shared / "data"


@pytest.fixture(scope="session")
def parser():
    """The English pipeline of spaCy, where there is one."""
    from polysema.parsing.sentences import parser

    try:
        return parser()
    except PolysemaError as error:
        pytest.skip(f"no parser: {error}")


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory) -> Path:
    """A BERT of three layers with random weights."""
    pytest.importorskip("transformers", reason="the extra encoders is not installed")
    from tests.encoders.tiny import make_encoder

    return make_encoder(tmp_path_factory.mktemp("tiny") / "bert")


@pytest.fixture(scope="session")
def encoder_corpus(tmp_path_factory):
    """Text of words that the tiny encoder knows, or spells."""
    from tests.encoders.tiny import make_corpus

    return make_corpus(tmp_path_factory.mktemp("tiny") / "corpus")


@pytest.fixture(scope="session")
def compiled_for_cpu(tmp_path_factory) -> Path:
    """Where the GPU's kernels are kept, compiled for the processor."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def gpu(compiled_for_cpu, monkeypatch):
    """What stands in for CuPy: see ``tests/training/stand_in.py``."""
    from polysema.training import cuda
    from tests.training.stand_in import StandIn

    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler to run the GPU's kernels on the processor with")
    stand_in = StandIn(compiled_for_cpu, compiler)
    monkeypatch.setattr(cuda, "_cupy", lambda: stand_in)
    monkeypatch.setattr(cuda, "_BLOCK", 64)
    monkeypatch.setattr(cuda, "_LAUNCHES", 1)
    return stand_in


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow files first, so that no worker is left alone with one at the end."""
    slow = ("tests/benchmarks/", "tests/cli/", "tests/training/")
    items.sort(key=lambda item: not item.nodeid.startswith(slow))
