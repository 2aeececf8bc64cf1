"""An encoded corpus: a folder of word ids, mapped into memory.

==================  ==========================================================================================
``config.json``     format, version, sizes, options, sources, what was met on the way, the digest
``vocabulary.txt``  a word a line, the most frequent first
``counts.npy``      how often each stands in the corpus, int64
``tokens.npy``      the ids of all words, one after the other, int32
``sentences.npy``   where each sentence starts in them, and where the last ends, int64
==================  ==========================================================================================

A word's id is its line in the vocabulary, from 0. Corpora of version 1, with numbers alone in ``counts.i64``,
``tokens.i32`` and ``sentences.i64`` and without a digest, are read as well.
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

HEADER = 128
"""Bytes before the numbers: always as many, so that the length can be filled in at the end."""


def header(dtype: str, count: int) -> bytes:
    """The start of an npy file of so many numbers (format 1.0)."""
    described = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}".encode()
    return npy.magic(1, 0) + struct.pack("<H", HEADER - 10) + described.ljust(HEADER - 11) + b"\n"


def map_array(file: Path, dtype: str, count: int) -> NDArray[Any]:
    """The numbers of a file, read-only; an error unless they are of this kind and so many.

    Files that do not end in ``.npy`` are numbers alone, as corpora of version 1 have them.
    """
    check_regular(file)
    start = 0
    if file.suffix == ".npy":
        with open(file, "rb") as stream:
            start = len(header(dtype, count))
            if stream.read(start) != header(dtype, count):
                raise FormatError(f"{file}: damaged: not an array of {count} numbers of type {dtype}")
    size, expected = file.stat().st_size, start + count * np.dtype(dtype).itemsize
    if size != expected:
        raise FormatError(f"{file}: truncated or damaged: {size} bytes where {expected} are announced")
    if count == 0:
        return np.empty(0, dtype)
    return np.memmap(file, dtype=dtype, mode="r", offset=start, shape=(count,))


FORMAT = "polysema-corpus"
VERSION = 2
FILES = ("config.json", "vocabulary.txt", "counts.npy", "tokens.npy", "sentences.npy")
_CHECKED = 1 << 22  # numbers looked at together


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
            raise FormatError(f"{self.path}: damaged: the sources in config.json are no list of files")
        for name in ("read", "options"):
            if not isinstance(self.config.setdefault(name, {}), dict):
                raise FormatError(f"{self.path}: damaged: {name!r} in config.json is no table")
        self._tokens = self._mapped("tokens", "<i4", "tokens")
        self._sentences = self._mapped("sentences", "<i8", "sentences", 1)
        self.counts = self._mapped("counts", "<i8", "types")

    def _mapped(self, name: str, dtype: str, key: str, extra: int = 0) -> NDArray[Any]:
        suffix = ".npy" if self.config["version"] > 1 else f".{dtype[1]}{8 * int(dtype[2])}"
        count = self.config.get(key)
        file = self.path / f"{name}{suffix}"
        if type(count) is not int or count < 0 or not file.is_file():
            raise FormatError(f"{self.path}: damaged: {file.name} or its size in config.json is missing")
        return map_array(file, dtype, count + extra)

    @cached_property
    def tokens(self) -> NDArray[np.int32]:
        """The ids of all words. The first look checks all ids and sentences once: kernels trust them."""
        starts = self._sentences
        words = len(self._tokens)
        if int(starts[0]) != 0 or int(starts[-1]) != words:
            raise FormatError(
                f"{self.path}: damaged: its sentences go from {starts[0]} to {starts[-1]}, not 0 to {words}"
            )
        for first in range(0, len(starts) - 1, _CHECKED):
            if (np.diff(starts[first : first + _CHECKED + 1]) < 0).any():
                raise FormatError(f"{self.path}: damaged: sentences that end before they start")
        for first in range(0, words, _CHECKED):
            highest = int(self._tokens[first : first + _CHECKED].view("<u4").max())  # a negative id is a large one
            if highest >= len(self.counts):
                raise FormatError(f"{self.path}: damaged: a word's id is not one of {len(self.counts)}")
        if len(self.counts) and (int(self.counts.min()) < 0 or int(self.counts.sum()) != words):
            raise FormatError(f"{self.path}: damaged: the counts of its words do not add up to {words}")
        return self._tokens

    @property
    def sentences(self) -> NDArray[np.int64]:
        """Where each sentence starts in the tokens, and where the last ends."""
        self.tokens  # noqa: B018 - checks both
        return self._sentences

    @cached_property
    def digest(self) -> str:
        """What tells its text apart from any other: of its words in their order, sentence by sentence.

        It was taken when the corpus was built; of corpora of version 1, now, in one pass.
        """
        stored = self.config.get("digest")
        if isinstance(stored, str):
            return stored
        from polysema.kernels.digest import Digest

        check_regular(self.path / "vocabulary.txt")
        found = Digest()
        for first in range(0, len(self), _CHECKED):
            ends = np.asarray(self.sentences[first : first + _CHECKED + 1])
            found.add(self.tokens[ends[0] : ends[-1]], ends[1:], int(ends[0]))
        return found.text(self.path / "vocabulary.txt")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words and their counts."""
        return Vocabulary(self.words(), np.array(self.counts))

    def words(self) -> Iterator[str]:
        """The words of the vocabulary one after the other, none of them kept: a large corpus has millions."""
        number = 0
        check_regular(self.path / "vocabulary.txt")
        try:
            with (self.path / "vocabulary.txt").open(encoding="utf-8", newline="\n") as file:
                for number, line in enumerate(file, 1):
                    if line == "\n" or line[-1] != "\n" or "\r" in line:
                        raise FormatError(f"{self.path}: damaged: vocabulary.txt: no word a line in line {number}")
                    if number <= len(self.counts):
                        yield line[:-1]
        except UnicodeDecodeError:
            raise FormatError(f"{self.path}: damaged: vocabulary.txt is not UTF-8 text") from None
        except OSError as error:
            raise FormatError(f"{self.path}: damaged: vocabulary.txt: {error.strerror or error}") from None
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
