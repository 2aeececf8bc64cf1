from __future__ import annotations

import numpy as np
import pytest

from polysema.encoders.tagged_text import TaggedSentence, Target
from polysema.errors import InputError
from polysema.senses.coarse import (
    FEATURES,
    Pairs,
    coarse_groups,
    complete_linkage,
    fit_pairs,
    labelled_pairs,
    pair_scores,
    second_ids,
)
from tests.senses.five_words import wordnet


def sentences(*tags: tuple[str, str]) -> list[TaggedSentence]:
    return [TaggedSentence("x", (Target(0, 1, "bank", (key,), second),), "semcor", "d") for key, second in tags]


def test_the_majority_id_of_a_key_counts() -> None:
    tags = [("bank%1:14:00::", "a")] * 3 + [("bank%1:14:00::", "b")] + [("bank%1:17:01::", "b")] * 2
    assert second_ids(sentences(*tags)) == {"bank%1:14:00::": "a"}


def test_pairs_are_labelled_within_a_part_of_speech() -> None:
    pairs = Pairs(wordnet(), np.eye(10), np.eye(10))
    ids = {"bank%1:14:00::": "a", "bank%1:17:01::": "b", "bank%2:38:00::": "a"}
    features, truth, owners = labelled_pairs(pairs, ids)
    assert features.shape == (1, len(FEATURES))
    assert (truth.tolist(), owners) == ([False], ["bank"])
    assert labelled_pairs(pairs, ids, spellings=["dog"])[0].shape == (0, len(FEATURES))


def test_logistic_regression_finds_planted_weights() -> None:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(4000, len(FEATURES)))
    weights = np.array([2.0, -1.0, 0.5, 0, 0, 0, 1.0, -0.5, 0, 0.3])
    p = 1 / (1 + np.exp(-(features @ weights - 1)))
    truth = rng.random(4000) < p
    model = fit_pairs(features, truth)
    np.testing.assert_allclose(model.weights, weights, atol=0.25)
    assert model.bias == pytest.approx(-1, abs=0.2)
    found = model.probabilities(features)
    auc, f1 = pair_scores(found, truth)
    assert auc > 0.85
    assert f1 > 0.6
    with pytest.raises(InputError, match="both kinds"):
        fit_pairs(features, np.ones(4000, bool))


def test_scores_by_hand() -> None:
    p, truth = np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False])
    assert pair_scores(p, truth, 0.8) == (pytest.approx(0.875), pytest.approx(0.8))


def test_no_chain_joins_what_does_not_belong_together() -> None:
    chain = np.array([[1, 0.9, 0.1, 0.1], [0.9, 1, 0.8, 0.1], [0.1, 0.8, 1, 0.9], [0.1, 0.1, 0.9, 1]])
    assert complete_linkage(chain, 0.5) == [0, 0, 1, 1]
    assert complete_linkage(np.ones((3, 3)), 0.5) == [0, 0, 0]
    assert complete_linkage(np.eye(3), 0.5) == [0, 1, 2]


def test_groups_number_the_senses_of_each_spelling() -> None:
    features = np.zeros((2, len(FEATURES)))
    features[0, 0] = 1
    model = fit_pairs(features, np.array([True, False]), ridge=1e-3)
    groups = coarse_groups(
        Pairs(wordnet(), np.ones((10, 1)), np.ones((10, 1))), model
    )  # all glosses alike: one group a part of speech
    assert [groups[key] for key in ("bank%1:17:01::", "bank%1:14:00::", "bank%2:38:00::")] == [0, 0, 1]
    ids = {"bank%1:17:01::": "a", "bank%1:14:00::": "b"}
    parted = coarse_groups(Pairs(wordnet(), np.ones((10, 1)), np.ones((10, 1))), model, ids)
    assert [parted[key] for key in ("bank%1:17:01::", "bank%1:14:00::")] == [0, 1]
    assert (groups["saw%1:06:00::"], groups["saw%2:35:00::"], groups["dog%1:05:00::"]) == (0, 1, 0)
