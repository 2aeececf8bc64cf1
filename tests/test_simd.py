"""The explicit vector operations against NumPy, for every length."""

import numpy as np
import pytest
from numba import njit

from polysema.kernels.simd import add, axpy, combine, dot, scaled


@njit
def all_of_them(x, y, n, rows, alpha, beta):
    one = np.uint64(1)
    out = np.empty((5, y.size), np.float32)
    out[:] = y
    product = dot(x, one, y, np.uint64(2), n)
    axpy(alpha, x, one, out[0], np.uint64(2), n)
    add(x, one, out[1], np.uint64(2), n)
    scaled(alpha, x, one, out[2], np.uint64(2), n)
    combine(alpha, x, np.uint64(3), np.uint64(2), rows, x, np.uint64(0), n, beta, out[3], np.uint64(1))
    return product, out


@pytest.mark.parametrize("n", [4, 8, 12, 16, 20, 28, 32, 60, 100])
def test_against_numpy(n):
    rng = np.random.default_rng(n)
    rows = 3
    x = rng.standard_normal(rows * n + 8).astype(np.float32)
    y = rng.standard_normal(n + 6).astype(np.float32)
    alpha, beta = np.float32(0.7), np.float32(-0.3)
    product, out = all_of_them(x, y, np.uint64(n), np.uint64(rows), alpha, beta)
    expected = np.tile(y, (5, 1))
    expected[0, 2 : 2 + n] += alpha * x[1 : 1 + n]
    expected[1, 2 : 2 + n] += x[1 : 1 + n]
    expected[2, 2 : 2 + n] = alpha * x[1 : 1 + n]
    weights = x[3 : 3 + 2 * rows : 2]
    expected[3, 1 : 1 + n] = beta * y[1 : 1 + n] + alpha * weights @ x[: rows * n].reshape(rows, n)
    np.testing.assert_allclose(product, x[1 : 1 + n].astype(float) @ y[2 : 2 + n], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
