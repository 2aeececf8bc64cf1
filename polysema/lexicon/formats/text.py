"""A word and its numbers a line as text, and word2vec's two formats, which begin with a line of sizes.

The paper's authors publish their matrices so (a word, then the n×n matrix row by row), and so does GloVe its vectors.
"""

from __future__ import annotations

import gzip
import io
import mmap
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
from polysema.meanings.neighbours import blocks as blocks_of
from polysema.storage import Unpacking, atomic_file, check_regular
from polysema.vocabulary import Vocabulary

_LINES = 4096  # parsed together
_BYTES = 1 << 24  # or as soon as they have this many bytes
WIDEST = 1 << 20  # numbers that a word may have: matrices of 1024×1024
LONGEST = 32 * WIDEST  # bytes that a line may have


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
    return _vocabulary(path, words), np.concatenate(blocks) if blocks else np.empty((0, width), dtype=np.float32)


def write_lines(lexicon: Meanings[Any], stream: IO[bytes]) -> None:
    """A line a word: the word, then its numbers with as many decimals as single precision has."""
    for word, row in _words_and_rows(lexicon):
        stream.write(f"{word} {' '.join(map(repr, row.tolist()))}\n".encode())


def _words_and_rows(lexicon: Meanings[Any]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each word with its numbers; one that a space-separated file cannot give back is an error."""
    for part in blocks_of(len(lexicon), 1024):
        words = lexicon.vocabulary.words[part]
        for word, row in zip(words, to_rows(lexicon, part.start, part.stop), strict=True):
            if not word or any(character.isspace() for character in word):
                raise InputError(f"{word!r} holds white space, which separates fields here: use a folder or npz")
            yield word, row


def _vocabulary(path: Path, words: list[str]) -> Vocabulary:
    try:
        return Vocabulary(words).checked()
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None


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
    at, wrong = next((i, numbers) for i, numbers in enumerate(block) if _parsed(numbers).size != width)
    raise FormatError(f"{path}: near line {last_line - len(block) + 1 + at}: not a number among {_shown(wrong)}")


def _parsed(numbers: bytes) -> NDArray[np.float32]:
    try:
        return np.array(numbers.split(), dtype=np.float32)
    except ValueError:
        return np.empty(0, dtype=np.float32)


def _shown(line: bytes) -> str:
    text = line[:40].decode(errors="replace")
    return repr(text + ("…" if len(line) > 40 else ""))


def has_header(start: bytes) -> bool:
    """Whether a file starts with a line of two whole numbers."""
    fields = start.split(b"\n", 1)[0].split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def is_text(start: bytes) -> bool:
    """Whether what follows the header is text: the fields after the first word are numbers."""
    body = start.split(b"\n", 1)[1] if b"\n" in start else b""
    fields = body.split(b"\n", 1)[0].split(b" ")[1:20]
    try:
        for field in fields[:-1] if b"\n" not in body else fields:
            float(field or b"0")
    except ValueError:
        return False
    return b"\0" not in body


def owner_of_word2vec(path: Path) -> None:
    """Refuse what does not start with word2vec's line of sizes."""
    check_regular(path)
    with open(path, "rb") as file:
        if not has_header(file.read(4096)):
            raise FormatError(f"{path}: no word2vec file")


def read_word2vec(path: Path, kind: str = "auto") -> Meanings[Any]:
    """Read word2vec text, plain or packed with gzip."""
    with opened(path) as stream:
        count, width = _sizes(path, stream.readline(4096))
        vocabulary, rows = read_lines(path, stream, 2, width)
    if len(vocabulary) != count:
        raise FormatError(f"{path}: truncated: {count} words announced, {len(vocabulary)} found")
    return from_rows(vocabulary, rows, kind, f"{path}: ")


def write_word2vec(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write word2vec text; matrices at unit trace, row by row."""
    with atomic_file(path, overwrite, owner_of_word2vec) as stream:
        stream.write(_header(lexicon))
        write_lines(lexicon, stream)


def read_binary(path: Path, kind: str = "auto") -> Meanings[Any]:
    """Read word2vec binary."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = data.find(b"\n")
        count, width = _sizes(path, data[: min(end, 4096)] if end >= 0 else data[:4096])
        size, at = 4 * width, end + 1
        least = count * (size + 2)
        if least > len(data):
            raise FormatError(
                f"{path}: truncated: {count} words of {width} numbers need {least} bytes, not {len(data)}"
            )
        rows = np.empty((count, width), dtype=np.float32)
        words = []
        for i in range(count):
            space = data.find(b" ", at, at + 10_000)
            if space < 0 or space + 1 + size > len(data):
                raise FormatError(f"{path}: truncated at byte {at}: {count} words announced, {i} found")
            words.append(data[at:space].lstrip(b"\n").decode())
            rows[i] = np.frombuffer(data, dtype="<f4", count=width, offset=space + 1)
            at = space + 1 + size
    return from_rows(_vocabulary(path, words), rows, kind, f"{path}: ")


def write_binary(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write word2vec binary; matrices at unit trace, row by row."""
    with atomic_file(path, overwrite, owner_of_word2vec) as stream:
        stream.write(_header(lexicon))
        for word, row in _words_and_rows(lexicon):
            stream.write(word.encode() + b" " + row.astype("<f4").tobytes() + b"\n")


def _header(lexicon: Meanings[Any]) -> bytes:
    width = lexicon.n if lexicon.kind == "vectors" else lexicon.n**2
    return f"{len(lexicon)} {width}\n".encode()


def _sizes(path: Path, line: bytes) -> tuple[int, int]:
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or int(fields[1]) < 1:
        raise FormatError(f"{path}: the first line must be the numbers of words and of dimensions, not {line[:40]!r}")
    if len(fields[0]) > 15 or len(fields[1]) > 7 or int(fields[1]) > WIDEST:
        raise FormatError(f"{path}: the first line announces more than {WIDEST:,} numbers a word, or too many words")
    return int(fields[0]), int(fields[1])
