import numpy as np
import pytest

from polysema import Lexicon, Vocabulary, build_corpus, load
from polysema.errors import FormatError, InputError
from polysema.meanings.context_model import ContextModel
from polysema.meanings.parts import Parts
from polysema.senses.inventory import Occurrences
from tests.refusals import refused

WORDS = ["bank", "river", "money", "boat", "loan", "the"]


@pytest.fixture
def telling() -> ContextModel:
    return ContextModel(5.0, centred=True, distance_weights=np.array([0.5, 1.0, 0.8, 0.3], np.float32))


@pytest.fixture
def lexicon(telling) -> Lexicon:
    rng = np.random.default_rng(3)
    factors, contexts = rng.normal(size=(6, 4, 2)), rng.normal(size=(6, 4)).astype(np.float32)
    return Lexicon(
        Vocabulary(WORDS, [9, 8, 7, 6, 5, 99]), factors, parts=Parts(contexts=contexts, context_model=telling)
    )


def by_hand(lexicon: Lexicon, c: np.ndarray) -> np.ndarray:
    """p(k | c) ∝ p_k exp(β cos(v_k − v̄, c)) for *bank*, by id."""
    factor = lexicon.factors[0] / np.linalg.norm(lexicon.factors[0])
    weights = (factor**2).sum(axis=0)
    vectors = factor / np.linalg.norm(factor, axis=0)
    left = vectors - (vectors @ weights)[:, None]
    cosine = c @ left / (np.linalg.norm(left, axis=0) * np.linalg.norm(c))
    p = weights * np.exp(5.0 * cosine)
    return p / p.sum()


def probabilities(told) -> np.ndarray:
    return np.array([sense.by_context for sense in sorted(told.senses, key=lambda sense: sense.id)])


def test_a_lexicon_tells_by_its_own_formula(lexicon):
    x = lexicon.parts.contexts
    c = 0.5 * x[3] + 1.0 * x[5] + 0.8 * x[1] + 0.3 * x[2]  # boat the BANK river money; loan is too far away
    told = lexicon.disambiguate("bank", "loan boat the bank river money loan", nlp=False)
    np.testing.assert_allclose(probabilities(told), by_hand(lexicon, c), rtol=1e-5)


def test_a_corpus_is_read_by_the_same_formula(lexicon, tmp_path):
    corpus = build_corpus(
        [["loan", "boat", "the", "bank", "river", "money", "loan"], ["bank", "xyz"]], tmp_path / "corpus"
    )
    (seen,) = Occurrences(lexicon, corpus, most=5).of(0, 1)
    x = lexicon.parts.contexts
    np.testing.assert_allclose(seen.contexts[0], 0.5 * x[3] + x[5] + 0.8 * x[1] + 0.3 * x[2], rtol=1e-5)
    assert seen.amounts[0] == pytest.approx(np.linalg.norm(seen.contexts[0]))
    assert seen.amounts[1] == 0
    assert seen.sentences.tolist() == [0, 1]


def test_little_evidence_counts_little(lexicon):
    text = "boat the bank river money"
    sure = lexicon.disambiguate("bank", text, nlp=False)
    less = lexicon.with_parts(context_model=ContextModel(5.0, little=1e6, centred=True))
    weak = less.disambiguate("bank", text, nlp=False)
    for told in (weak, lexicon.disambiguate("bank", "xyz bank", nlp=False)):  # nothing known counts nothing
        assert [s.probability for s in told.senses] == pytest.approx([s.weight for s in told.senses], abs=1e-3)
    assert sure.sense.probability != pytest.approx(sure.sense.weight, abs=1e-3)


def test_a_flatter_posterior_for_the_matrix_alone(lexicon, telling):
    text = "boat the bank river money"
    flat = lexicon.with_parts(
        context_model=ContextModel(**{**telling.settings, "flatness": 4.0}, distance_weights=telling.distance_weights)
    )
    sharp, told = lexicon.disambiguate("bank", text, nlp=False), flat.disambiguate("bank", text, nlp=False)
    np.testing.assert_allclose(probabilities(sharp), probabilities(told))
    assert told.entropy_after > sharp.entropy_after
    other = flat.disambiguate("bank", "the loan bank money", nlp=False)
    assert 0 < flat.similarity(told, other) < 1
    assert flat.similarity(told, told) == pytest.approx(1)


def test_the_formula_survives_on_disk(lexicon, tmp_path):
    lexicon.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.parts.context_model.settings == lexicon.parts.context_model.settings
    np.testing.assert_array_equal(
        back.parts.context_model.distance_weights, lexicon.parts.context_model.distance_weights
    )
    back.with_parts(context_model=None).save(tmp_path / "without")
    assert load(tmp_path / "without").parts.context_model is None


def test_what_makes_no_formula_is_refused(lexicon, tmp_path):
    refused(InputError, "distance weights", ContextModel, 5.0, distance_weights=np.ones(3))
    refused(InputError, "negative", ContextModel, -1.0)
    lexicon.save(tmp_path / "model")
    config = (tmp_path / "model" / "config.json").read_text()
    (tmp_path / "model" / "config.json").write_text(config.replace('"sharpness": 5.0', '"sharpness": "x"'))
    with pytest.raises(FormatError):
        load(tmp_path / "model")
