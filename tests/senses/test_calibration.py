from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polysema.encoders.tagged_text import TaggedSentence, Target
from polysema.errors import InputError
from polysema.senses.calibration import (
    Scored,
    accuracy,
    doubt_features,
    first_sense,
    fit,
    reliability,
    score,
    without_right_group,
)
from polysema.senses.dictionary import Calibration, softmax
from polysema.senses.dictionary_files import build_dictionary
from polysema.senses.doubt import Doubt, fit_doubt
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
        words.append(
            Scored(Target(0, 1, "x", ("x%1:00:00::",)), np.arange(size), similarities, frequencies, right, np.zeros(2))
        )
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


def test_doubt_tells_words_whose_sense_is_missing() -> None:
    rng = np.random.default_rng(5)
    background = rng.normal(size=(200, 8)).astype(np.float32)
    background /= np.linalg.norm(background, axis=1, keepdims=True)
    known, missing = [], []
    for _ in range(400):
        senses = rng.normal(size=(3, 8))
        senses /= np.linalg.norm(senses, axis=1, keepdims=True)
        c = senses[0] + 0.3 * rng.normal(size=8)
        c /= np.linalg.norm(c)
        word = Scored(Target(0, 1, "x", ("k",)), np.arange(3), senses @ c, np.ones(3) / 3, np.arange(3) == 0, c)
        known.append(word)
        missing.append(replace(word, rows=word.rows[1:], similarities=word.similarities[1:],
                               frequencies=np.ones(2) / 2, right=word.right[1:]))  # fmt: skip
    alone = [replace(word, rows=word.rows[:1], similarities=word.similarities[:1], frequencies=np.ones(1),
                     right=word.right[:1]) for word in known]  # fmt: skip
    x, y, z = (doubt_features(words, background, Calibration()) for words in (known, missing, alone))
    doubt = Doubt(fit_doubt(x, y, z, false_alarms=0.05), background)

    def share(words: list[Scored]) -> float:
        return float(np.mean([doubt.of(w.context, w.similarities, w.probabilities(20.0, 0.3)) for w in words]))

    assert share(known) == pytest.approx(0.05, abs=0.01)
    assert share(alone) == pytest.approx(0.05, abs=0.01)
    assert share(missing) > 0.8


def test_the_right_coarse_sense_is_taken_out() -> None:
    file = build_dictionary(
        five_words.wordnet(),
        np.eye(10),
        {"semcor": {}},
        groups={"bank%1:17:01::": 0, "bank%1:14:00::": 0, "bank%2:38:00::": 1},
    )
    rows = file.senses("bank")
    right = np.array([file.key(row) == "bank%1:17:01::" for row in rows.tolist()])
    word = Scored(
        Target(0, 1, "bank", ("bank%1:17:01::",)), rows, np.zeros(len(rows)), np.ones(len(rows)), right, np.zeros(10)
    )
    (left,) = without_right_group(file, [word])
    assert [file.key(row) for row in left.rows.tolist()] == ["bank%2:38:00::"]
    assert left.frequencies.tolist() == [1.0]
