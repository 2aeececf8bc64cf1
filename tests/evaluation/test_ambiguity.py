import numpy as np
import pytest
from scipy import stats

from polysema import Lexicon, Vocabulary
from polysema.errors import InputError
from polysema.evaluation.ambiguity import ambiguity_correlation, sense_counts, table
from polysema.lexicon.lexicon import ranking
from tests.refusals import refused


def test_the_shipped_table_is_wordnets():
    assert len(table()) == 83118
    assert table()["run"] == (16, 41, 0, 0)
    assert sense_counts(["run", "Bank", "bright", "ran", "zzz"]) == [57, 18, 11, 0, 0]


@pytest.fixture(scope="module")
def many() -> Lexicon:
    rng = np.random.default_rng(0)
    words = [*rng.choice(sorted(table()), 400, replace=False), "qqqq", "zzzz"]
    return Lexicon(Vocabulary(words, rng.integers(1, 9999, 402)), rng.normal(size=(402, 5, 3)))


def test_correlations_are_scipys(many):
    found = ambiguity_correlation(many)
    entropy, senses, counts = (
        ranking(many).entropies[:400],
        np.array(sense_counts(many))[:400],
        many.vocabulary.counts[:400],
    )
    assert found.words == 400
    assert found.pearson == pytest.approx(stats.pearsonr(entropy, senses)[0])
    assert found.spearman == pytest.approx(stats.spearmanr(entropy, senses)[0])
    given = np.log(counts)
    rest = [v - np.polyval(np.polyfit(given, v, 1), given) for v in (entropy, senses)]
    assert found.pearson_given_frequency == pytest.approx(stats.pearsonr(*rest)[0])
    given = stats.rankdata(counts)
    rest = [v - np.polyval(np.polyfit(given, v, 1), given) for v in map(stats.rankdata, (entropy, senses))]
    assert found.spearman_given_frequency == pytest.approx(stats.pearsonr(*rest)[0])


def test_bins_hold_every_word(many):
    found = ambiguity_correlation(many)
    assert sum(item.words for item in found.bins) == 400
    ones = np.array(sense_counts(many)) == 1
    assert found.bins[0].synsets == 1
    assert found.bins[0].entropy == pytest.approx(ranking(many).entropies[ones].mean())
    assert all(item.words >= 10 for item in found.bins[:-1])


def test_unknown_counts_and_broken_matrices(many):
    factors = many.factors.copy()
    factors[0] = 0
    factors[1] = np.nan
    found = ambiguity_correlation(Lexicon(many.vocabulary.words, factors))
    assert found.words == 398
    assert found.pearson_given_frequency is None


def test_what_cannot_be_correlated(lexicon, vectors):
    refused(InputError, "vectors", ambiguity_correlation, vectors)
    refused(InputError, "WordNet knows 1 words", ambiguity_correlation, Lexicon(["run", "qqqq"], np.ones((2, 2, 1))))
