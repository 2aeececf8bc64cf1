"""The explicit vector operations against NumPy, for every length."""

import numpy as np
import pytest
from numba import njit

from polysema.kernels.simd import axpy, combine, dot, scaled


@njit
def all_of_them(x, y, n, alpha):
    one = np.uint64(1)
    out = np.empty((3, y.size), np.float32)
    out[:] = y
    product = dot(x, one, y, np.uint64(2), n)
    squares = (axpy(alpha, x, one, out[0], np.uint64(2), n), axpy(np.float32(1.0), x, one, out[1], np.uint64(2), n))
    scaled(alpha, x, one, out[2], np.uint64(2), n)
    return product, squares, out


@njit
def combined(a, i, down, along, rows, count, x, n, alpha, beta, y):
    combine(alpha, a, i, down, along, rows, count, x, np.uint64(0), n, beta, y, np.uint64(1))


@pytest.mark.parametrize("n", [4, 8, 12, 16, 20, 28, 32, 60, 100])
def test_against_numpy(n):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(n + 8).astype(np.float32)
    y = rng.standard_normal(n + 6).astype(np.float32)
    alpha = np.float32(0.7)
    product, squares, out = all_of_them(x, y, np.uint64(n), alpha)
    expected = np.tile(y, (3, 1))
    expected[0, 2 : 2 + n] += alpha * x[1 : 1 + n]
    expected[1, 2 : 2 + n] += x[1 : 1 + n]
    expected[2, 2 : 2 + n] = alpha * x[1 : 1 + n]
    np.testing.assert_allclose(product, x[1 : 1 + n].astype(float) @ y[2 : 2 + n], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(squares, (expected[:2, 2 : 2 + n] ** 2).sum(axis=1), rtol=1e-4)


@pytest.mark.parametrize("n", [4, 12, 20, 28, 100])
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 17])
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_of_matrices(n, rows, turned):
    rng = np.random.default_rng(n + rows)
    count = 7
    a = rng.standard_normal((rows, count)).astype(np.float32)
    x = rng.standard_normal((count, n)).astype(np.float32)
    y = rng.standard_normal(rows * n + 2).astype(np.float32)
    alpha, beta = np.float32(0.7), np.float32(-0.3)
    expected = y.copy()
    expected[1:-1] = (beta * y[1:-1].reshape(rows, n) + alpha * a @ x).reshape(-1)
    flat = np.concatenate([np.zeros(3, np.float32), (a.T if turned else a).reshape(-1)])
    down, along = (1, rows) if turned else (count, 1)
    sizes = [np.uint64(v) for v in (3, down, along, rows, count)]
    combined(flat, *sizes, x.reshape(-1), np.uint64(n), alpha, beta, y)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
