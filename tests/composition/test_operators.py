import numpy as np
import pytest
from hypothesis import given

from polysema.composition import operators
from tests import dense
from tests.strategies import make_factor, pairs

DENSE = {
    operators.add: lambda rho, sigma: (rho + sigma) / 2, operators.mult: lambda rho, sigma: rho * sigma,
    operators.phaser: dense.phaser, operators.fuzz: dense.fuzz, operators.smooth_phaser: dense.smooth_phaser,
}  # fmt: skip


@pytest.mark.parametrize("operator", DENSE)
@given(pair=pairs(largest=50))
def test_factored_equals_dense(operator, pair):
    b, c = pair
    composed = operator(b, c)
    assert composed.shape[0] == len(b)
    assert composed.shape[1] <= max(len(b), b.shape[1], c.shape[1])
    expected = DENSE[operator](dense.matrix(b), dense.matrix(c))
    assert np.allclose(composed @ composed.T, expected, atol=1e-9)


def test_factored_equals_dense_at_300():
    b, c = make_factor(1, 300, 5, "random"), make_factor(2, 300, 5, "repeated")
    for operator, expected in DENSE.items():
        composed = operator(b, c)
        assert np.allclose(composed @ composed.T, expected(dense.matrix(b), dense.matrix(c)), atol=1e-9)


def test_fuzz_takes_eigenspaces_not_eigenvectors():
    """With a fully degenerate operator every sense survives, whatever basis an eigensolver would have picked."""
    c = make_factor(5, 6, 2, "random")
    composed = operators.fuzz(np.eye(6) / np.sqrt(6), c)
    assert np.allclose(composed @ composed.T, dense.matrix(c) / 6)


@given(pair=pairs(largest=17))
def test_negations(pair):
    """1 − X, X = ρ / λ₁, which acts on a context without a square matrix; the inverse on the support. ¬¬ρ = ρ."""
    b, c = pair
    x = dense.matrix(b) / np.linalg.eigvalsh(dense.matrix(b))[-1]
    found = operators.negated(b)
    assert np.allclose(found @ found.T, np.eye(len(b)) - x, atol=1e-9)
    assert operators.negated(b, c).shape == c.shape
    assert np.allclose(operators.negated(b, c), found @ c, atol=1e-7)
    rank = np.linalg.matrix_rank(dense.matrix(b), tol=1e-7)
    if rank < len(b):
        assert np.allclose(dense.matrix(operators.negated(found)), dense.matrix(b), atol=1e-6)


def test_the_inverse_on_the_support_of_stacks():
    stack = np.stack([make_factor(seed, 5, 2, "random") for seed in range(3)])
    for apply in (operators.negated, operators.inverted):
        assert np.allclose(apply(stack), np.stack([apply(b) for b in stack]))
    for b, inverse in zip(stack, operators.inverted(stack), strict=True):
        assert np.allclose(dense.matrix(inverse), dense.unit(np.linalg.pinv(dense.matrix(b))))
        assert np.allclose(dense.matrix(operators.inverted(inverse)), dense.matrix(b))
