"""The words a model knows, how often each was seen, and the distributions that follow from that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema.errors import InputError, UnknownWordError

LONGEST_WORD = 1000  # how many characters a word may have; longer ones are text that was not split


class Vocabulary:
    """Distinct words in a fixed order, with their counts.

    Args:
        words: the words; a word's index is its place here.
        counts: how often each was seen; 0 where that is not known.

    >>> vocabulary = Vocabulary(["the", "cat"], [10, 2])
    >>> vocabulary.index("cat"), vocabulary.count("cat"), "dog" in vocabulary
    (1, 2, False)
    """

    def __init__(self, words: Iterable[str], counts: ArrayLike | None = None) -> None:
        self.words: list[str] = list(words)
        longest = max(self.words, key=len, default="")
        if len(longest) > LONGEST_WORD:
            raise InputError(
                f"{longest[:20]!r} …: a word of {len(longest):,} characters; words have {LONGEST_WORD:,} at most"
            )
        if counts is None:
            counts = np.zeros(len(self.words), dtype=np.int64)
        given = np.asarray(counts)
        with np.errstate(invalid="ignore"):
            self.counts: NDArray[np.int64] = given.astype(np.int64, copy=False) if given.dtype.kind in "iuf" else given
        if self.counts.dtype.kind not in "iu" or not np.array_equal(self.counts, given):
            raise InputError(f"counts are whole numbers, not {given.dtype}: {given.ravel()[:3].tolist()} …")
        if self.counts.shape != (len(self.words),):
            raise InputError(f"{len(self.words)} words and counts of shape {self.counts.shape}: give one count a word")

    @cached_property
    def indices(self) -> dict[str, int]:
        """The index of every word. A word that occurs twice is an error."""
        indices = {word: index for index, word in enumerate(self.words)}
        if len(indices) < len(self.words):
            seen: set[str] = set()
            twice = next(word for word in self.words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
            raise InputError(f"{twice!r} stands more than once in the vocabulary")
        return indices

    def checked(self) -> Vocabulary:
        """The vocabulary itself, after checking that no word occurs twice."""
        _ = self.indices
        return self

    def find(self, word: str) -> int:
        """The index of the word as it is written or, failing that, in lower case; -1 where neither is there.

        What is not a string is an error.

        >>> Vocabulary(["the", "bank"]).find("Bank")
        1
        """
        if not isinstance(word, str):
            raise InputError(f"a word is a string, not {type(word).__name__}")
        found = self.indices.get(word)
        return self.indices.get(word.lower(), -1) if found is None else found

    def index(self, word: str) -> int:
        """The same; an unknown word is an error that names the closest spellings."""
        found = self.find(word)
        if found < 0:
            raise UnknownWordError(word, self.words)
        return found

    def count(self, word: str) -> int:
        """How often the word was seen; 0 where that is not known."""
        return int(self.counts[self.index(word)])

    def __contains__(self, word: object) -> bool:
        """Whether the word is there as it is written."""
        return word in self.indices

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words, {int(self.counts.sum())} tokens)"

    def keep_probabilities(self, threshold: float) -> NDArray[np.float64]:
        """The probability that an occurrence of each word survives subsampling.

        With f the word's share of all tokens and t the threshold, (√(f/t) + 1) · t/f, at most 1 (word2vec). A threshold
        of 0 keeps everything.
        """
        share = self.counts / max(int(self.counts.sum()), 1)
        if threshold <= 0:
            return np.ones(len(self))
        ratio = threshold / np.maximum(share, 1e-300)
        return np.minimum(np.sqrt(ratio) + ratio, 1.0)

    def noise_distribution(self, power: float = 0.75) -> NDArray[np.float64]:
        """The distribution negative samples are drawn from: counts to a power, scaled to sum to one."""
        weight = self.counts.astype(np.float64) ** power
        total = weight.sum()
        return weight / total if total > 0 else np.full(len(self), 1.0 / max(len(self), 1))
