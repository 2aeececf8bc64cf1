from pathlib import Path

import numpy as np
import pytest

from polysema import Lexicon
from polysema.evaluation.datasets import EvaluationSet, words_of
from polysema.evaluation.evaluate import load_all


@pytest.fixture(scope="session")
def sets(data: Path):
    return load_all(data)


@pytest.fixture(scope="session")
def words(sets) -> list[str]:
    """Every word of the nine sets, lower-cased."""
    return words_of(sets.values())


@pytest.fixture(scope="session")
def known(words) -> Lexicon:
    """Random 4×2 matrices for four words in five of the sets."""
    rng = np.random.default_rng(3)
    some = [word for word in words if rng.random() < 0.9]
    return Lexicon(some, rng.normal(size=(len(some), 4, 2)).astype(np.float32))


@pytest.fixture
def phrases() -> EvaluationSet:
    """Four pairs of phrases over the words of the small lexicon."""
    first = (("bob", "likes", "cars"), ("family", "run", "hotel"), ("bank", "run", "river"), ("bob", "run", "money"))
    second = tuple((a, "likes" if b == "run" else "run", c) for a, b, c in first)
    return EvaluationSet("toy", "subj verb obj", first, second, np.array([1.0, 3.0, 2.0, 5.0]))
