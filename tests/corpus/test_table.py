import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysema.corpus.tokenising import WordTable, pack
from polysema.kernels.words import sort_words


def sorted_words(counted: dict[bytes, int]) -> list[bytes]:
    table = WordTable()
    words = list(counted)
    table.add(*pack(words), 0, len(words), np.empty(len(words), np.uint32))
    table.counts[: len(words)] = list(counted.values())
    order = np.arange(len(words), dtype=np.uint32)
    table.sort(order)
    compiled = np.arange(len(words), dtype=np.uint32)
    sort_words(compiled, table.counts, table.arena, table.offsets)
    np.testing.assert_array_equal(order, compiled)  # few words and many are sorted alike
    return [table.word(i) for i in order]


def expected(counted: dict[bytes, int]) -> list[bytes]:
    return sorted(counted, key=lambda word: (-counted[word], word))


@given(
    st.dictionaries(
        st.text("ab\xe9ς", min_size=1, max_size=20).map(lambda s: s.encode()),
        st.integers(1, 4),
        min_size=1,
        max_size=80,
    )
)
def test_by_count_then_alphabetically(counted):
    assert sorted_words(counted) == expected(counted)


@pytest.mark.parametrize("arrangement", ["as they come", "rising", "falling"])
def test_many_words_that_share_their_first_letters(arrangement):
    rng = np.random.default_rng(3)
    words = [b"internationalis" + str(i).encode() for i in range(5000)] + [str(i).encode() for i in range(5000)]
    words = {"rising": sorted(words), "falling": sorted(words)[::-1]}.get(arrangement, words)
    counted = dict(zip(words, np.minimum(rng.zipf(1.5, len(words)), 2**40).tolist(), strict=True))
    assert sorted_words(counted) == expected(counted)
