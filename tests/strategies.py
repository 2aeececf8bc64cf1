"""Generated density matrices: full and low rank, repeated and vanishing eigenvalues, n from 1 to 300."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


def orthogonal(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    return q * np.sign(np.diag(r))


def spectrum(rng: np.random.Generator, m: int, shape: str) -> NDArray[np.float64]:
    """Eigenvalues of a shape, falling, summing to one."""
    values = {
        "random": rng.random(m) + 0.05, "repeated": np.repeat(rng.random((m + 1) // 2) + 0.05, 2)[:m],
        "equal": np.ones(m), "pure": np.eye(m)[0], "steep": 10.0 ** -np.arange(0, 3 * m, 3.0)[:m],
        "with zeros": np.where(np.arange(m) < max(1, m // 2), rng.random(m) + 0.05, 0.0),
    }[shape]  # fmt: skip
    values = np.sort(values)[::-1]
    return values / values.sum()


SHAPES = ["random", "repeated", "equal", "pure", "steep", "with zeros"]


def make_factor(seed: int, n: int, m: int, shape: str) -> NDArray[np.float64]:
    """A factor (n, m) whose matrix has a spectrum of the shape, its columns mixed so that they are no eigenvectors."""
    rng = np.random.default_rng(seed)
    rank = min(n, m)
    factor = orthogonal(rng, n)[:, :rank] * np.sqrt(spectrum(rng, rank, shape))
    return np.pad(factor, ((0, 0), (0, m - rank))) @ orthogonal(rng, m)


def dimensions(largest: int = 300) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, 8), st.sampled_from([n for n in (4, 17, 50, 300) if n <= largest]))


@st.composite
def factors(draw: st.DrawFn, n: int | None = None, largest: int = 300) -> NDArray[np.float64]:
    n = draw(dimensions(largest)) if n is None else n
    m = draw(st.sampled_from([1, 2, 3, 5, 17]))
    return make_factor(draw(st.integers(0, 2**32 - 1)), n, m, draw(st.sampled_from(SHAPES)))


@st.composite
def pairs(draw: st.DrawFn, largest: int = 300, count: int = 2) -> list[NDArray[np.float64]]:
    n = draw(dimensions(largest))
    return [draw(factors(n)) for _ in range(count)]
