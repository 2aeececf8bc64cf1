"""The compiled sampling against slow, obvious Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from polysema.kernels import sampling
from polysema.kernels.sampling import alias_table, gather, sigmoid_table, thresholds

mixed, noise_word, sigmoid = (njit(k.py_func) for k in (sampling.mixed, sampling.noise_word, sampling.sigmoid))
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def slow_mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


@given(st.integers(0, MASK))
def test_mixed(z):
    assert int(mixed(np.uint64(z))) == slow_mixed(z)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_the_alias_table_holds_the_distribution(weights):
    distribution = np.array(weights) / sum(weights)
    table = alias_table(distribution)
    own = ((table >> np.uint64(32)).astype(np.float64) + 1) / 2**32
    found = own.copy()
    np.add.at(found, (table & np.uint64(2**32 - 1)).astype(int), 1 - own)
    np.testing.assert_allclose(found / len(weights), distribution, atol=1e-8)


def test_noise_words_come_as_often_as_they_should():
    distribution = np.array([0.5, 0.3, 0.15, 0.05])
    table = alias_table(distribution)
    drawn = [int(noise_word(np.uint64(slow_mixed((i * GOLDEN) & MASK)), table)) for i in range(20_000)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / len(drawn), distribution, atol=0.015)


def slow_gather(sentences, rows, keep, key, window, held_out):
    found, position = [], 0
    for s, sentence in enumerate(sentences):
        here = []
        for token in sentence:
            h = slow_mixed((key + position * GOLDEN) & MASK)
            position += 1
            if rows[token] != 2**32 - 1 and (h >> 32) <= keep[rows[token]]:
                here.append((rows[token], h))
        if slow_mixed((s * GOLDEN) & MASK) >> 32 < held_out or len(here) < 2:
            continue
        start = len(found)
        for i, (row, h) in enumerate(here):
            reach = 1 + (((h & 0xFFFFFFFF) * window) >> 32)
            found.append((row, h, start + max(0, i - reach), start + min(len(here), i + reach + 1)))
    return found


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=12), min_size=1, max_size=20),
    st.integers(0, MASK),
    st.integers(1, 6),
    st.sampled_from([0, 2**31]),
)
def test_gather(sentences, key, window, held_out):
    rows = np.array([0, 1, 2, 2**32 - 1, 3, 4], np.uint32)
    keep = thresholds(np.array([1.0, 0.7, 0.2, 0.01, 1.0]))
    tokens = np.array([token for sentence in sentences for token in sentence], np.int32)
    marks = np.cumsum([0, *map(len, sentences)])
    ids = np.empty(len(tokens), np.uint32)
    hashes, lows, highs = (np.empty(len(tokens), np.uint64) for _ in range(3))
    count = gather(
        tokens, marks, 0, len(sentences), rows, keep, np.uint64(key), window, held_out, ids, hashes, lows, highs
    )
    found = list(zip(*(array[:count].tolist() for array in (ids, hashes, lows, highs)), strict=True))
    assert found == slow_gather(sentences, rows.tolist(), keep.tolist(), key, window, held_out)


def test_the_sigmoid_table():
    table = sigmoid_table()
    x = np.linspace(-11.9, 11.9, 1001).astype(np.float32)
    found = np.array([sigmoid(np.float32(value), table) for value in x])
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-x.astype(np.float64))), atol=2e-6)
    assert sigmoid(np.float32(1e30), table) == pytest.approx(1.0, abs=1e-5)
    assert sigmoid(np.float32(-1e30), table) == pytest.approx(0.0, abs=1e-5)
