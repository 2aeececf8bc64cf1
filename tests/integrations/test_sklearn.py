"""The transformer against scikit-learn itself."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import polysema as ps
from polysema.errors import InputError, UnknownChoiceError

pytest.importorskip("sklearn", reason="the extra sklearn is not installed")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from polysema.integrations.sklearn_features import KINDS, SentenceFeatures
from tests.refusals import refused

SENTENCES = [
    "The bank refused to lend the company any more money.",
    "They had a picnic on the grassy bank of the river.",
    "The bank raised its interest rate.",
    "The boat drifted slowly towards the river bank.",
]
MEANINGS = ["money", "river", "money", "river"]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it has no numbers for an estimator that takes text, and says so
    checks = parametrize_with_checks([SentenceFeatures(), SentenceFeatures(["vectors", "senses"])])


@pytest.mark.filterwarnings("ignore:Can't test estimator")
@checks
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_names_and_output_as_a_frame(kind, parser):
    pandas = pytest.importorskip("pandas", reason="the extra frames is not installed")
    features = SentenceFeatures(kind)
    found = features.fit_transform(SENTENCES)
    names = features.get_feature_names_out()
    assert found.shape == (len(SENTENCES), len(names))
    assert len(set(names)) == len(names)
    assert np.isfinite(found).all()
    series = pandas.Series(SENTENCES, index=list("abcd"))
    frame = clone(features).set_output(transform="pandas").fit_transform(series)
    assert list(frame.columns) == list(names)
    assert list(frame.index) == list("abcd")
    np.testing.assert_allclose(frame.to_numpy(), found, atol=1e-12)


def test_the_scalar_product_of_matrices_is_the_overlap(parser):
    lexicon = ps.load()
    features = SentenceFeatures("matrix", method="add")
    found = features.transform(SENTENCES[:2])
    first, second = (lexicon.compose(sentence, "add").meaning for sentence in SENTENCES[:2])
    assert found[0] @ found[1] == pytest.approx(ps.overlap(first, second), abs=1e-12)


def test_senses_are_those_in_context():
    found = SentenceFeatures("senses", nlp=False).transform(SENTENCES)
    alike = found @ found.T / np.linalg.norm(found, axis=1) / np.linalg.norm(found, axis=1)[:, None]
    assert min(alike[0, 2], alike[1, 3]) > max(alike[0, 1], alike[2, 3], alike[0, 3], alike[1, 2])


def test_in_a_pipeline_cloned_and_pickled():
    model = make_pipeline(SentenceFeatures("senses"), LogisticRegression(C=100)).fit(SENTENCES, MEANINGS)
    asked = ["The bank lent him some cash.", "We swam from the bank of the lake."]
    assert list(model.predict(asked)) == ["money", "river"]
    assert list(clone(model).fit(SENTENCES, MEANINGS).predict(asked)) == ["money", "river"]
    packed = pickle.dumps(model)
    assert len(packed) < 100_000  # the lexicon stays where it is
    assert list(pickle.loads(packed).predict(asked)) == ["money", "river"]


def test_a_lexicon_of_ones_own_is_cloned_and_pickled(lexicon):
    features = SentenceFeatures(["vectors", "senses"], lexicon=lexicon, nlp=False)
    found = features.transform(["old bank", "nothing known"])
    assert not found[1].any()
    for other in (clone(features), pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        np.testing.assert_allclose(other.transform(["old bank", "nothing known"]), found, atol=1e-12)


def test_what_is_wrong_is_said():
    with pytest.raises(UnknownChoiceError, match="unknown kind of features 'colour': choose senses, vectors"):
        SentenceFeatures("colour").fit(SENTENCES)
    refused(InputError, "no kind of features", SentenceFeatures([]).fit, SENTENCES)
    refused(InputError, "sentence 1 is None", SentenceFeatures().transform, ["a bank", None])
    refused(InputError, "one sentence where a list", SentenceFeatures().transform, "a bank")
    refused(UnknownChoiceError, "unknown composition method 'tensed'", SentenceFeatures(method="tensed").fit, SENTENCES)
