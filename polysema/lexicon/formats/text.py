"""Text: a word and its numbers a line.

The paper's authors publish their matrices so (a word, then the n×n matrix row by row), and so does GloVe its vectors.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError
from polysema.lexicon.formats.flat import from_rows, to_rows
from polysema.meanings.meanings import Meanings
from polysema.storage import Unpacking, atomic_file, check_regular
from polysema.vocabulary import Vocabulary

_LINES = 4096  # parsed together
_BYTES = 1 << 24  # or as soon as they have this many bytes
WIDEST = 1 << 20
"""Numbers that a word may have: matrices of 1024×1024."""
LONGEST = 32 * WIDEST
"""Bytes that a line may have."""


def read(path: Path, kind: str = "auto") -> Meanings[Any]:
    """Read a file of lines, each a word and its numbers."""
    with opened(path) as stream:
        vocabulary, rows = read_lines(path, stream, 1, None)
    return from_rows(vocabulary, rows, kind, f"{path}: ")


def write(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write a line a word; matrices at unit trace, row by row."""
    with atomic_file(path, overwrite, owner) as stream:
        write_lines(lexicon, stream)


def owner(path: Path) -> None:
    """Refuse what does not start with a word and its numbers."""
    check_regular(path)
    with open(path, "rb") as file:
        fields = file.read(1 << 16).split(b"\n", 1)[0].split()[1:-1]
    if not fields or not _parsed(b" ".join(fields)).size:
        raise FormatError(f"{path}: no lexicon as text")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file's bytes, unpacked where they are packed with gzip."""
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            if not packed:
                yield raw
                return
            unpacked = Unpacking(path, cast(IO[bytes], gzip.GzipFile(fileobj=raw)))
            yield cast(IO[bytes], io.BufferedReader(unpacked, 1 << 16))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FormatError(f"{path}: truncated or damaged gzip: {error}") from error


def read_lines(
    path: Path, stream: IO[bytes], first_line: int, width: int | None
) -> tuple[Vocabulary, NDArray[np.float32]]:
    """Words and their numbers.

    Args:
        first_line: the number of the first line, for messages.
        width: how many numbers a word has; None takes it from the first line.

    A word may hold spaces (some of GloVe's do): the last ``width`` fields are the numbers.
    """
    words: list[str] = []
    blocks: list[NDArray[np.float32]] = []
    block: list[bytes] = []
    size = 0
    number = first_line - 1
    while line := stream.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise FormatError(f"{path}: line {number} has more than {LONGEST:,} bytes: {_shown(line)}")
        line = line.strip(b" \r\n\t")
        if not line:
            continue
        if width is None:
            width = len(line.split(None, WIDEST + 1)) - 1
        if width > WIDEST:
            raise FormatError(f"{path}: line {number}: more than {WIDEST:,} numbers for a word: {_shown(line)}")
        word, numbers = _split(path, line, number, width)
        words.append(word.decode())
        block.append(numbers)
        size += len(numbers)
        if len(block) == _LINES or size > _BYTES:
            blocks.append(_numbers(path, block, number, width))
            block, size = [], 0
    if width is None:
        raise FormatError(f"{path}: no line holds a word and its numbers")
    if block:
        blocks.append(_numbers(path, block, number, width))
    try:
        vocabulary = Vocabulary(words).checked()
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None
    return vocabulary, np.concatenate(blocks) if blocks else np.empty((0, width), dtype=np.float32)


def write_lines(lexicon: Meanings[Any], stream: IO[bytes]) -> None:
    """A line a word: the word, then its numbers with as many decimals as single precision has."""
    for start in range(0, len(lexicon), 1024):
        stop = min(start + 1024, len(lexicon))
        for word, row in zip(lexicon.vocabulary.words[start:stop], to_rows(lexicon, start, stop), strict=True):
            check_word(word)
            stream.write(f"{word} {' '.join(map(repr, row.tolist()))}\n".encode())


def check_word(word: str) -> None:
    """Refuse words that a space-separated file cannot give back."""
    if not word or any(character.isspace() for character in word):
        raise InputError(f"{word!r} holds white space, which separates fields in this format: use a folder or npz")


def _split(path: Path, line: bytes, number: int, width: int) -> tuple[bytes, bytes]:
    if width < 1:
        raise FormatError(f"{path}: line {number} is not a word and its numbers: {_shown(line)}")
    fields = line.rsplit(None, width)
    if len(fields) != width + 1:
        raise FormatError(f"{path}: line {number} has {len(line.split()) - 1} numbers, not {width}: {_shown(line)}")
    return fields[0], b" ".join(fields[1:])


def _numbers(path: Path, block: list[bytes], last_line: int, width: int) -> NDArray[np.float32]:
    rows = _parsed(b" ".join(block))
    if rows.size == len(block) * width:
        return rows.reshape(len(block), width)
    for offset, numbers in enumerate(block):
        if _parsed(numbers).size != width:
            line = last_line - len(block) + 1 + offset
            raise FormatError(f"{path}: near line {line}: not a number among {_shown(numbers)}")
    raise FormatError(f"{path}: not numbers near line {last_line}")


def _parsed(numbers: bytes) -> NDArray[np.float32]:
    try:
        return np.array(numbers.split(), dtype=np.float32)
    except ValueError:
        return np.empty(0, dtype=np.float32)


def _shown(line: bytes) -> str:
    text = line[:40].decode(errors="replace")
    return repr(text + ("…" if len(line) > 40 else ""))
