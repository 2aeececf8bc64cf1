import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from polysema import DensityMatrix, measures
from polysema.density import stack
from polysema.errors import InputError, MatrixError, UnknownChoiceError
from tests import dense
from tests.strategies import SHAPES, factors, make_factor, pairs


@given(factors())
def test_entropy_purity_effective_senses_equal_dense(factor):
    rho = DensityMatrix(factor)
    assert measures.entropy(rho) == pytest.approx(dense.entropy(rho.dense()), abs=1e-9)
    assert measures.purity(rho) == pytest.approx(np.trace(rho.dense() @ rho.dense()), abs=1e-12)
    assert measures.effective_senses(rho) == pytest.approx(np.exp(dense.entropy(rho.dense())), rel=1e-8)


def test_known_entropies():
    assert measures.entropy(DensityMatrix(np.ones((5, 1)))) == pytest.approx(0, abs=1e-15)
    assert measures.entropy(DensityMatrix(np.eye(5))) == pytest.approx(np.log(5))
    assert measures.effective_senses(DensityMatrix(np.eye(5))) == pytest.approx(5)
    p = np.array([0.9, 0.1])
    assert measures.entropy(DensityMatrix(np.diag(np.sqrt(p)))) == pytest.approx(-(p * np.log(p)).sum())


@given(pairs())
def test_similarity_fidelity_trace_distance_equal_dense(pair):
    rho, sigma = map(DensityMatrix, pair)
    r, s = rho.dense(), sigma.dense()
    assert measures.overlap(rho, sigma) == pytest.approx(np.trace(r @ s), abs=1e-10)
    assert measures.similarity(rho, sigma) == pytest.approx(dense.similarity(r, s), abs=1e-10)
    assert measures.trace_distance(rho, sigma) == pytest.approx(dense.trace_distance(r, s), abs=1e-9)
    # the dense square root of rounding noise costs half the digits
    assert measures.fidelity(rho, sigma) == pytest.approx(dense.fidelity(r, s), abs=1e-5)


@given(pairs(largest=50))
def test_relations_between_measures(pair):
    rho, sigma = map(DensityMatrix, pair)
    f, d = measures.fidelity(rho, sigma), measures.trace_distance(rho, sigma)
    assert 1 - np.sqrt(f) <= d + 1e-7  # Fuchs–van de Graaf
    assert d <= np.sqrt(max(0.0, 1 - f)) + 1e-7
    assert measures.similarity(rho, sigma) == pytest.approx(measures.similarity(sigma, rho), abs=1e-12)
    assert measures.similarity(rho, rho) == pytest.approx(1)
    assert measures.fidelity(rho, rho) == pytest.approx(1)
    assert measures.trace_distance(rho, rho) == pytest.approx(0, abs=1e-7)
    assert measures.relative_entropy(rho, rho) == pytest.approx(0, abs=1e-7)
    s = measures.relative_entropy(rho, sigma)
    assert s >= 2 * d**2 - 1e-9  # Pinsker


@given(
    st.integers(1, 12), st.integers(0, 2**32), st.sampled_from(SHAPES), st.sampled_from(["random", "repeated", "equal"])
)
def test_full_rank_measures_equal_dense(n, seed, shape, full):
    rho, sigma = DensityMatrix(make_factor(seed, n, 3, shape)), DensityMatrix(make_factor(seed + 1, n, n, full))
    assert measures.relative_entropy(rho, sigma) == pytest.approx(
        dense.relative_entropy(rho.dense(), sigma.dense()), abs=1e-8
    )
    assert measures.k_hyp(rho, sigma) == pytest.approx(dense.k_hyp(rho.dense(), sigma.dense()), abs=1e-8)


@given(pairs(largest=50), st.sampled_from(["trace", "eigenvalue"]))
def test_entailment_equals_dense(pair, normalise):
    rho, sigma = map(DensityMatrix, pair)
    scale = 1.0 if normalise == "trace" else None
    a = rho.dense() / (scale or np.linalg.eigvalsh(rho.dense())[-1])
    b = sigma.dense() / (scale or np.linalg.eigvalsh(sigma.dense())[-1])
    assume(np.abs(a - b).max() > 1e-6)
    assert measures.k_ba(rho, sigma, normalise) == pytest.approx(dense.k_ba(a, b), abs=1e-7)
    assert measures.k_e(rho, sigma, normalise) == pytest.approx(dense.k_e(a, b), abs=1e-7)


def test_entailment_has_its_meaning():
    dog = DensityMatrix(np.array([[1.0], [0], [0]]), "dog")
    animal = DensityMatrix(np.diag(np.sqrt([0.5, 0.5, 0])), "animal")
    stone = DensityMatrix(np.array([[0.0], [0], [1]]), "stone")
    assert measures.k_hyp(dog, animal) == pytest.approx(0.5)
    assert measures.k_hyp(dog, animal, "eigenvalue") == pytest.approx(1)
    assert measures.k_hyp(animal, dog) == measures.k_hyp(stone, animal) == 0
    assert measures.k_ba(dog, animal) == pytest.approx(1)
    assert measures.k_ba(animal, dog) == pytest.approx(-1)
    assert measures.k_e(dog, animal) == pytest.approx(1)
    assert measures.k_e(stone, animal) == pytest.approx(0)
    for measure in (measures.k_ba, measures.k_e):
        assert measure(animal, animal) == pytest.approx(1)
    assert measures.relative_entropy(dog, animal) == pytest.approx(np.log(2))
    assert measures.relative_entropy(animal, dog) == np.inf


@given(st.lists(st.integers(0, 2**32), min_size=1, max_size=4))
def test_stacks_give_what_singles_give(seeds):
    firsts = [DensityMatrix(make_factor(seed, 6, 3, "random")) for seed in seeds]
    seconds = [DensityMatrix(make_factor(seed + 1, 6, 6, "repeated")) for seed in seeds]
    for measure in measures.MEASURES.values():
        expected = [measure(a, b) for a, b in zip(firsts, seconds, strict=True)]
        assert np.allclose(measure(stack(firsts), stack(seconds)), expected)
    assert np.allclose(measures.entropy(stack(firsts)), [measures.entropy(a) for a in firsts])


@given(pairs(largest=8, count=4))
def test_products_give_what_the_kronecker_product_gives(parts):
    rho, sigma = DensityMatrix.product(parts[:2]), DensityMatrix.product(parts[2:])
    flat_rho, flat_sigma = DensityMatrix(rho.factor), DensityMatrix(sigma.factor)
    assert measures.entropy(rho) == pytest.approx(measures.entropy(flat_rho), abs=1e-9)
    apart = measures.trace_distance(rho, sigma)  # k_BA divides by it: for nearly equal matrices it is mostly rounding
    for name in ("similarity", "overlap", "trace-distance", "k-ba", "k-e"):
        measure = measures.MEASURES[name]
        tolerance = 1e-7 + (1e-13 / max(apart, 1e-13) if name == "k-ba" else 0.0)
        assert measure(rho, sigma) == pytest.approx(measure(flat_rho, flat_sigma), abs=tolerance)
    assert measures.fidelity(rho, sigma) == pytest.approx(measures.fidelity(flat_rho, flat_sigma), abs=1e-6)


def test_different_spaces_and_unknown_names_are_errors():
    with pytest.raises(MatrixError, match="bank lives in dimension 2 and river in 3"):
        measures.similarity(DensityMatrix(np.eye(2), "bank"), DensityMatrix(np.eye(3), "river"))
    with pytest.raises(UnknownChoiceError, match="trace or eigenvalue"):
        measures.k_ba(DensityMatrix(np.eye(2)), DensityMatrix(np.eye(2)), "norm")  # type: ignore[arg-type]


def test_smoothing_grades_what_is_zero_and_infinite():
    """Two pure states that are no part of each other: 0 and ∞, whatever they are, until σ is smoothed."""
    near = DensityMatrix(np.array([[1.0], [0.1], [0.0]]))
    far = DensityMatrix(np.array([[0.1], [1.0], [0.0]]))
    word = DensityMatrix(np.array([[1.0], [0.0], [0.0]]))
    assert measures.k_hyp(word, near) == measures.k_hyp(word, far) == 0
    assert measures.relative_entropy(word, near) == measures.relative_entropy(word, far) == np.inf
    assert measures.k_hyp(word, near, smoothing=0.1) > measures.k_hyp(word, far, smoothing=0.1) > 0
    assert measures.relative_entropy(word, near, 0.1) < measures.relative_entropy(word, far, 0.1) < np.inf
    mixed = 0.9 * near.dense() + 0.1 * np.eye(3) / 3
    assert np.allclose(measures.smoothed(near, 0.1).dense(), mixed)
    assert measures.smoothed(near, 0.0) is near
    exact = DensityMatrix.from_matrix(mixed)
    assert measures.k_hyp(word, near, smoothing=0.1) == pytest.approx(float(measures.k_hyp(word, exact)))
    assert measures.relative_entropy(word, near, 0.1) == pytest.approx(float(measures.relative_entropy(word, exact)))
    with pytest.raises(InputError, match="smoothing is a share"):
        measures.smoothed(near, 1.0)
