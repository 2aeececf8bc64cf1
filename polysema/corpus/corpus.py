"""An encoded corpus: a folder of word ids, mapped into memory.

==================  ==========================================================================================
``config.json``     format, version, sizes, options, sources, counts of the text that was read, the digest
``vocabulary.txt``  a word a line, the most frequent first
``counts.npy``      how often each word occurs in the corpus, int64
``tokens.npy``      the word ids of the whole text, int32
``sentences.npy``   the index of the first token of each sentence, then the number of tokens, int64
==================  ==========================================================================================

A word's id is its line in the vocabulary, from 0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polysema.errors import FormatError
from polysema.storage import check_regular, read_config, recover
from polysema.vocabulary import Vocabulary

FORMAT = "polysema-corpus"
VERSION = 2
FILES = ("config.json", "vocabulary.txt", "counts.npy", "tokens.npy", "sentences.npy")
HEADER = 128
"""Size of the header of an array's file in bytes. It is fixed, so that the length can be filled in at the end."""

_CHECKED = 1 << 24  # numbers that are checked together


def header(dtype: str, count: int) -> bytes:
    """The header of an npy file of ``count`` numbers (format 1.0)."""
    described = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}".encode()
    return npy.magic(1, 0) + struct.pack("<H", HEADER - 10) + described.ljust(HEADER - 11) + b"\n"


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
        recover(self.path)
        self.config = read_config(self.path, FORMAT, VERSION)
        sources = self.config.get("sources") or []
        if not isinstance(sources, list) or not all(isinstance(item, dict) and "path" in item for item in sources):
            raise self._damaged("config.json", "the sources are not a list of files")
        for name in ("read", "options"):
            if not isinstance(self.config.setdefault(name, {}), dict):
                raise self._damaged("config.json", f"{name!r} is not a table")
        if self.config["version"] != VERSION or not isinstance(self.config.get("digest"), str):
            raise self._damaged("config.json", f"not of version {VERSION}, or without a digest: build it again")
        self.digest: str = self.config["digest"]
        """A digest of the text, word by word and sentence by sentence: equal for equal text."""
        self._tokens = self._mapped("tokens", "<i4", "tokens")
        self._sentences = self._mapped("sentences", "<i8", "sentences", 1)
        self.counts = self._mapped("counts", "<i8", "types")

    def _damaged(self, name: str, why: str) -> FormatError:
        return FormatError(f"{self.path / name}: damaged: {why}")

    def _mapped(self, name: str, dtype: str, key: str, extra: int = 0) -> NDArray[Any]:
        """The numbers of a file, read-only. An error names the damaged file: the array's or ``config.json``."""
        file = self.path / f"{name}.npy"
        check_regular(file)
        size = file.stat().st_size - HEADER
        count, rest = divmod(size, np.dtype(dtype).itemsize)
        with open(file, "rb") as stream:
            if size < 0 or rest or stream.read(HEADER) != header(dtype, count):
                raise self._damaged(file.name, f"truncated, or not an array of type {dtype}")
        if type(self.config.get(key)) is not int or self.config[key] + extra != count:
            said = self.config.get(key)
            raise self._damaged("config.json", f"{key!r} is {said!r}, where {file.name} holds {count - extra}")
        return np.memmap(file, dtype, "r", HEADER, (count,)) if count else np.empty(0, dtype)

    @cached_property
    def tokens(self) -> NDArray[np.int32]:
        """The word ids of the text. The first access checks ids, sentences and counts: kernels trust them."""
        starts, words, types = self._sentences, len(self._tokens), len(self.counts)
        if int(starts[0]) != 0 or int(starts[-1]) != words:
            raise self._damaged("sentences.npy", f"sentences go from {starts[0]} to {starts[-1]}, not 0 to {words}")
        for first in range(0, len(starts) - 1, _CHECKED):
            if (np.diff(starts[first : first + _CHECKED + 1]) < 0).any():
                raise self._damaged("sentences.npy", "sentences that end before they start")
        counts = np.zeros(types, np.int64)
        for first in range(0, words, _CHECKED):
            ids = self._tokens[first : first + _CHECKED]
            if int(ids.view("<u4").max()) >= types:  # a negative id is a large one
                raise self._damaged("tokens.npy", f"a word's id is not one of {types}")
            counts += np.bincount(ids, minlength=types)
        if not np.array_equal(counts, self.counts):
            raise self._damaged("counts.npy", "the counts are not those of the tokens")
        return self._tokens

    @property
    def sentences(self) -> NDArray[np.int64]:
        """The index of the first token of each sentence, then the number of tokens."""
        self.tokens  # noqa: B018 - checks both
        return self._sentences

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words and their counts."""
        return Vocabulary(self.words(), np.array(self.counts))

    def words(self) -> Iterator[str]:
        """Iterate over the words of the vocabulary without keeping them: a large corpus has millions."""
        file, number = self.path / "vocabulary.txt", 0
        check_regular(file)
        try:
            with file.open(encoding="utf-8", newline="\n") as stream:
                for number, line in enumerate(stream, 1):
                    if line == "\n" or line[-1] != "\n" or "\r" in line:
                        raise self._damaged(file.name, f"line {number} is not a word")
                    if number <= len(self.counts):
                        yield line[:-1]
        except UnicodeDecodeError:
            raise self._damaged(file.name, "not UTF-8 text") from None
        except OSError as error:
            raise self._damaged(file.name, error.strerror or str(error)) from None
        if number != len(self.counts):
            raise self._damaged(file.name, f"{number} words, {len(self.counts)} counts")

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
        return len(self._sentences) - 1

    def __repr__(self) -> str:
        return f"Corpus({len(self)} sentences, {len(self._tokens)} tokens, {len(self.counts)} types)"


def is_corpus(path: str | Path) -> bool:
    """Whether a path is an encoded corpus, and not text to be encoded."""
    try:
        read_config(Path(path), FORMAT, VERSION)
    except (FormatError, OSError):
        return False
    return True
