"""word2vec's two formats: a line with the number of words and of dimensions, then the words, as text or as float32."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np

from polysema.errors import FormatError, InputError
from polysema.lexicon.formats.flat import from_rows, to_rows
from polysema.lexicon.formats.text import WIDEST, check_word, opened, read_lines, write_lines
from polysema.meanings.meanings import Meanings
from polysema.storage import atomic_file, check_regular
from polysema.vocabulary import Vocabulary


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


def owner(path: Path) -> None:
    """Refuse what does not start with word2vec's line of sizes."""
    check_regular(path)
    with open(path, "rb") as file:
        if not has_header(file.read(4096)):
            raise FormatError(f"{path}: no word2vec file")


def read_text(path: Path, kind: str = "auto") -> Meanings[Any]:
    """Read word2vec text, plain or packed with gzip."""
    with opened(path) as stream:
        count, width = _sizes(path, stream.readline(4096))
        vocabulary, rows = read_lines(path, stream, 2, width)
    if len(vocabulary) != count:
        raise FormatError(f"{path}: truncated: {count} words announced, {len(vocabulary)} found")
    return from_rows(vocabulary, rows, kind, f"{path}: ")


def write_text(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write word2vec text; matrices at unit trace, row by row."""
    with atomic_file(path, overwrite, owner) as stream:
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
    try:
        vocabulary = Vocabulary(words).checked()
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None
    return from_rows(vocabulary, rows, kind, f"{path}: ")


def write_binary(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write word2vec binary; matrices at unit trace, row by row."""
    with atomic_file(path, overwrite, owner) as stream:
        stream.write(_header(lexicon))
        for start in range(0, len(lexicon), 1024):
            stop = min(start + 1024, len(lexicon))
            for word, row in zip(lexicon.vocabulary.words[start:stop], to_rows(lexicon, start, stop), strict=True):
                check_word(word)
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
