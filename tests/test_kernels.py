import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polysema.kernels.selection import keep_largest


def reference_keep_largest(scores, k):
    """The definition: sort every row, largest first, the earlier of equals first."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


@given(
    st.integers(1, 5), st.integers(1, 70), st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**32), st.booleans()
)
def test_selection_equals_sorting(rows, columns, k, block, seed, ties):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(rows, columns)).astype(np.float32)
    if ties:
        scores = np.round(scores)
    k = min(k, columns)
    best = np.full((rows, k), -np.inf, dtype=np.float32)
    where = np.zeros((rows, k), dtype=np.int64)
    for start in range(0, columns, block):
        keep_largest(np.ascontiguousarray(scores[:, start : start + block]), start, best, where)
    order, values = reference_keep_largest(scores, k)
    assert (where == order).all()
    assert (best == values).all()
