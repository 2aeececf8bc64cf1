"""An encoded corpus: a folder of word ids, mapped into memory.

==================  ==========================================================================================
``config.json``     format, version, sizes, options, sources, and what was met on the way
``vocabulary.txt``  a word a line, the most frequent first
``counts.i64``      how often each stands in the corpus
``tokens.i32``      the ids of all words, one after the other
``sentences.i64``   where each sentence starts in them, and where the last ends
==================  ==========================================================================================

Numbers are little-endian. A word's id is its line in the vocabulary, from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError
from polysema.files.config import read_config
from polysema.files.lock import bring_back
from polysema.vocabulary import Vocabulary

FORMAT = "polysema-corpus"
VERSION = 1


class Corpus:
    """An encoded corpus on disk.

    It is also a restartable iterable of sentences, each a list of words, as gensim and others take.

    >>> from tempfile import TemporaryDirectory
    >>> from polysema.corpus.build import build_corpus
    >>> with TemporaryDirectory() as folder:
    ...     corpus = build_corpus([["The", "cat", "sat"], ["A", "cat"]], f"{folder}/corpus")
    ...     corpus, list(corpus)
    (Corpus(2 sentences, 5 tokens, 4 types), [['the', 'cat', 'sat'], ['a', 'cat']])
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        bring_back(self.path)
        self.config = read_config(self.path, FORMAT, VERSION)
        self.tokens = self._mapped("tokens.i32", np.dtype("<i4"), "tokens")
        self.sentences = self._mapped("sentences.i64", np.dtype("<i8"), "sentences", 1)
        self.counts = self._mapped("counts.i64", np.dtype("<i8"), "types")

    def _mapped(self, name: str, dtype: np.dtype[Any], key: str, extra: int = 0) -> NDArray[Any]:
        file = self.path / name
        count = self.config.get(key)
        if not isinstance(count, int) or not file.is_file():
            raise FormatError(f"{self.path}: damaged: {name} or its size in config.json is missing")
        count += extra
        if file.stat().st_size != count * dtype.itemsize:
            found, expected = file.stat().st_size, count * dtype.itemsize
            raise FormatError(f"{file}: truncated or damaged: {found} bytes where {expected} are announced")
        if count == 0:
            return np.empty(0, dtype)
        return np.memmap(file, dtype=dtype, mode="r", shape=(count,))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words and their counts."""
        return Vocabulary(self.words(), np.array(self.counts))

    def words(self) -> Iterator[str]:
        """The words of the vocabulary one after the other, none of them kept: a large corpus has millions."""
        number = 0
        with (self.path / "vocabulary.txt").open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if number <= len(self.counts):
                    yield line[:-1]
        if number != len(self.counts):
            raise FormatError(f"{self.path}: damaged: {number} words, {len(self.counts)} counts")

    def sentence(self, index: int) -> list[str]:
        """The words of one sentence."""
        words = self.vocabulary.words
        return [words[i] for i in self.tokens[self.sentences[index] : self.sentences[index + 1]].tolist()]

    def __iter__(self) -> Iterator[list[str]]:
        words = self.vocabulary.words
        for start in range(0, len(self), 4096):
            bounds = self.sentences[start : start + 4097].tolist()
            ids = self.tokens[bounds[0] : bounds[-1]].tolist()
            for first, last in pairwise(bounds):
                yield [words[i] for i in ids[first - bounds[0] : last - bounds[0]]]

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def __repr__(self) -> str:
        return f"Corpus({len(self)} sentences, {len(self.tokens)} tokens, {len(self.counts)} types)"


def is_corpus(path: str | Path) -> bool:
    """Whether a path is an encoded corpus, and not text to be encoded."""
    try:
        read_config(Path(path), FORMAT, VERSION)
    except (FormatError, OSError):
        return False
    return True
