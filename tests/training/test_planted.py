"""Do the learnt senses tell apart what was merged, and does entropy find the merged words?"""

import numpy as np
import pytest

from polysema.training.models import train
from tests.training.planted import purity


@pytest.mark.parametrize("select", ["cosine", "dot"])
def test_senses_separate_merged_words_and_entropy_finds_them(planted, planted_corpus, select):
    lexicon = train(planted_corpus, min_count=1, subsample=0, epochs=20, senses=3, select=select)
    assert purity(planted, lexicon) >= 0.95
    merged = np.array([lexicon.entropy(word) for word in planted.pseudo])
    plain = np.array([lexicon.entropy(word) for word in planted.plain])
    assert (merged[:, None] > plain[None, :]).mean() > 0.95


def test_one_sense_cannot(planted, planted_corpus):
    lexicon = train(planted_corpus, min_count=1, subsample=0, epochs=5, senses=1)
    assert purity(planted, lexicon) < 0.7
