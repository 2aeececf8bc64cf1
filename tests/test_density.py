import numpy as np
import pytest
from hypothesis import given

from polysema import DensityMatrix
from polysema.density import factorise, stack
from polysema.errors import MatrixError
from tests import dense
from tests.refusals import refused
from tests.strategies import factors, make_factor


@given(factors(largest=50))
def test_symmetric_positive_unit_trace_and_back_from_the_dense_matrix(factor):
    state = DensityMatrix(factor)
    rho, (values, vectors) = state.dense(), state.eigen()
    assert np.allclose(rho, dense.matrix(factor))
    assert np.allclose(rho, rho.T)
    assert np.linalg.eigvalsh(rho).min() > -1e-12
    assert abs(np.trace(rho) - 1) < 1e-12
    assert np.allclose(DensityMatrix.from_matrix(rho * 7).dense(), rho, atol=1e-10)
    assert (np.diff(values) <= 1e-15).all()
    assert np.allclose((vectors * values) @ vectors.T, rho)


def test_extreme_scales_neither_overflow_nor_vanish():
    factor = make_factor(1, 5, 3, "random")
    for scale in (1e-300, 1e-30, 1e30, 1e300):
        assert np.allclose(DensityMatrix(factor * scale).dense(), dense.matrix(factor))


def test_mixture_is_the_papers_equation_one():
    rho = DensityMatrix.mixture([2, 1], [[2, 0], [3, 4]]).dense()
    shiny, clever = np.array([1, 0]), np.array([0.6, 0.8])
    assert np.allclose(rho, 2 / 3 * np.outer(shiny, shiny) + 1 / 3 * np.outer(clever, clever))


def test_product_is_the_kronecker_product():
    a, b = make_factor(1, 3, 2, "random"), make_factor(2, 4, 2, "random")
    rho = DensityMatrix.product([a, b])
    assert rho.n == 12
    assert np.allclose(rho.dense(), np.kron(dense.matrix(a), dense.matrix(b)))


def test_stack():
    singles = [DensityMatrix(make_factor(i, 4, 1 + i, "random")) for i in range(3)]
    many = stack(singles)
    assert len(many) == 3
    assert repr(many) == "DensityMatrix(stack=(3,), n=4, m=3)"
    for one, other in zip(singles, many.dense(), strict=True):
        assert np.allclose(one.dense(), other)
    assert np.allclose(many[1].dense(), singles[1].dense())
    refused(TypeError, "single", len, singles[0])
    with pytest.raises(IndexError, match="single"):
        singles[0][0]
    refused(MatrixError, "different spaces", stack, [singles[0], DensityMatrix(np.eye(2))])


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (np.zeros((3, 2)), "'bank': its density matrix has zero trace"),
        (np.full((3, 2), np.nan), "'bank': its density matrix is not finite"),
        (np.full((3, 2), 0x7F800001, np.uint32).view(np.float32), "'bank': its density matrix is not finite"),
        (np.full((3, 2), np.inf), "'bank': its density matrix is not finite"),
        (np.zeros(3), r"'bank': a factor has shape \(n, m\)"),
        (np.zeros((0, 2)), r"'bank': a factor has shape \(n, m\)"),
    ],
)
def test_bad_factors_are_refused_by_name(factor, message):
    refused(MatrixError, message, DensityMatrix, factor, "bank")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            np.diag([1.0, -0.1]),
            r"'bank': its density matrix has a negative eigenvalue \(-0.1, its largest entry being 1\)",
        ),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "'bank': its density matrix is not symmetric"),
        (np.zeros((2, 2)), "'bank': its density matrix has zero trace"),
        (np.full((2, 2), np.nan), "'bank': its density matrix is not finite"),
        (np.ones((2, 3)), "'bank': a density matrix is n×n, not of shape"),
    ],
)
def test_bad_matrices_are_refused_by_name(matrix, message):
    refused(MatrixError, message, DensityMatrix.from_matrix, matrix, "bank")


def test_rounding_is_forgiven_as_far_as_the_type_allows():
    rho = DensityMatrix(make_factor(3, 17, 5, "random")).dense()
    for dtype in (np.float16, np.float32):
        assert np.allclose(DensityMatrix.from_matrix(rho.astype(dtype)).dense(), rho, atol=np.finfo(dtype).eps)
    refused(MatrixError, "negative", DensityMatrix.from_matrix, np.diag([1.0, -1e-4]))
    DensityMatrix.from_matrix(np.diag([1.0, -1e-4]), tolerance=1e-3)


def test_factorise_names_the_first_bad_word_and_counts_the_rest():
    matrices = np.stack([np.eye(2), np.diag([1, -1.0]), np.diag([1, -1.0])])
    refused(MatrixError, r"'b': .*negative.* \(and 1 more\)", factorise, matrices, ["a", "b", "c"])
    assert factorise(np.stack([np.diag([1.0, 0]), np.diag([0.5, 0])]), ["a", "b"]).shape == (2, 2, 1)
