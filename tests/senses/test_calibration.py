from __future__ import annotations

import numpy as np
import pytest

from polysema.encoders.tagged_text import TaggedSentence, Target
from polysema.errors import InputError
from polysema.senses.calibration import Scored, accuracy, first_sense, fit, reliability, score
from polysema.senses.dictionary import Calibration, softmax
from tests.senses import five_words


def planted(count: int, sharpness: float, prior: float) -> list[Scored]:
    """Words whose right sense is drawn from the formula itself."""
    rng = np.random.default_rng(5)
    words = []
    for _ in range(count):
        size = int(rng.integers(2, 6))
        similarities, frequencies = rng.normal(size=size) * 0.2, rng.dirichlet(np.ones(size))
        p = softmax(sharpness * similarities + prior * np.log(frequencies))
        right = np.arange(size) == rng.choice(size, p=p)
        words.append(Scored(Target(0, 1, "x", ("x%1:00:00::",)), np.arange(size), similarities, frequencies, right))
    return words


def test_the_planted_numbers_are_found() -> None:
    words = planted(4000, 9.0, 0.6)
    found = fit(words)
    assert found.sharpness == pytest.approx(9, abs=0.6)
    assert found.prior == pytest.approx(0.6, abs=0.06)
    assert reliability(words, found).error < 0.03
    too_sure = reliability(words, Calibration(sharpness=40.0, prior=1.0))
    assert too_sure.error > 0.1
    assert too_sure.loss > reliability(words, found).loss
    assert reliability(words, found).to_dict()["bins"][-1]["count"] > 0


def test_tagged_words_are_scored() -> None:
    dictionary = five_words.dictionary()
    sentence = TaggedSentence(
        "he saw the bank",
        (
            Target(3, 6, "see", ("see%2:39:00::",)),
            Target(11, 15, "bank", ("bank%1:14:00::", "bank%1:17:01::")),
            Target(0, 2, "unheard", ("unheard%1:00:00::",)),
        ),
        "test",
        "d1",
    )
    see, bank = score(dictionary, [sentence])
    assert (len(see.rows), bank.right.tolist()) == (1, [True, True])
    assert len(score(dictionary, [sentence], known_pos=False)[1].rows) == 3
    assert accuracy([see, bank], 0.0, 20.0) == 1.0
    assert accuracy([see, bank], 0.0, 20.0, total=4) == 0.5
    assert first_sense([see, bank], dictionary) == 1.0


def test_nothing_to_calibrate_with() -> None:
    with pytest.raises(InputError, match="no tagged word"):
        fit([])
    with pytest.raises(InputError, match="no tagged word"):
        reliability([], Calibration())
