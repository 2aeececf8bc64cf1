"""WordPiece: words as the pieces of an uncased BERT vocabulary, with their places in the text.

A text is lower-cased, stripped of accents and cut at white space and punctuation. Each word is then cut greedily: its
longest prefix that the vocabulary holds is the first piece, the longest prefix of the rest, written ``##…``, the next.
A word that cannot be cut this way is one unknown piece.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError
from polysema.storage import read_text

UNKNOWN, START, END, PADDING = "[UNK]", "[CLS]", "[SEP]", "[PAD]"
_LONGEST_WORD = 100  # a longer one is unknown; the limit of BERT's own tokeniser


class Pieces(NamedTuple):
    """The pieces of a text.

    Attributes:
        ids: (T,) rows of the vocabulary, without the special pieces.
        starts, ends: (T,) the characters of the text that each piece covers.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]


class WordPiece:
    """Cuts text into word pieces.

    Args:
        pieces: the vocabulary, one piece a row.

    >>> reader = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##clear", "the", "."])
    >>> found = reader.read("The UNCLEAR.")
    >>> found.ids.tolist(), found.starts.tolist(), found.ends.tolist()
    ([6, 4, 5, 7], [0, 4, 6, 11], [3, 6, 11, 12])
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = tuple(pieces)
        self.rows = {piece: row for row, piece in enumerate(self.pieces)}
        missing = [piece for piece in (UNKNOWN, START, END, PADDING) if piece not in self.rows]
        if missing:
            raise FormatError(f"not a BERT vocabulary: it lacks {', '.join(missing)}")
        self.unknown, self.start, self.end, self.padding = (self.rows[p] for p in (UNKNOWN, START, END, PADDING))
        self._cuts: dict[str, tuple[tuple[int, int, int], ...]] = {}

    @classmethod
    def load(cls, path: Path) -> WordPiece:
        """A vocabulary in BERT's ``vocab.txt`` format: one piece a line."""
        lines = read_text(path).replace("\r\n", "\n").split("\n")
        return cls(lines[:-1] if lines[-1] == "" else lines)

    def read(self, text: str) -> Pieces:
        """The pieces of a text."""
        found: list[tuple[int, int, int]] = []
        for word, begin, end in words(text):
            for row, first, last in self.cut(word):
                found.append((row, begin + first, begin + last))
            if len(word) != end - begin:  # a compatibility character was dropped: offsets inside the word are unsure
                count = len(self.cut(word))
                found[-count:] = [(row, begin, end) for row, _, _ in found[-count:]]
        table = np.array(found, np.int32).reshape(-1, 3)
        return Pieces(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())

    def cut(self, word: str) -> tuple[tuple[int, int, int], ...]:
        """The pieces of one normalised word: (row, first character, end)."""
        cut = self._cuts.get(word)
        if cut is None:
            cut = self._cuts[word] = self._greedy(word)
        return cut

    def _greedy(self, word: str) -> tuple[tuple[int, int, int], ...]:
        whole = ((self.unknown, 0, len(word)),)
        if len(word) > _LONGEST_WORD:
            return whole
        found: list[tuple[int, int, int]] = []
        begin = 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                row = self.rows.get(("##" if begin else "") + word[begin:end])
                if row is not None:
                    found.append((row, begin, end))
                    begin = end
                    break
            else:
                return whole
        return tuple(found)


def words(text: str) -> list[tuple[str, int, int]]:
    """The normalised words and punctuation marks of a text: (word, first character, end)."""
    found: list[tuple[str, int, int]] = []
    current: list[str] = []
    begin = end = 0
    for place, character in enumerate(text):
        if character.isascii():
            kind = _ASCII[ord(character)]
            plain = character.lower()
        else:
            kind = _kind(character)
            plain = _plain(character)
        if kind == _LETTER:
            if not current:
                begin = place
            current.append(plain)
            end = place + 1
            continue
        if kind == _DROPPED:
            continue
        if current:
            found.append(("".join(current), begin, end))
            current = []
        if kind == _MARK:
            found.append((plain or character, place, place + 1))
    if current:
        found.append(("".join(current), begin, end))
    return [(word, begin, end) for word, begin, end in found if word]


_LETTER, _SPACE, _MARK, _DROPPED = range(4)


def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if character in "\t\n\r" or category == "Zs":
        return _SPACE
    if character in "\x00\ufffd" or category in ("Cc", "Cf", "Mn"):
        return _DROPPED
    if category.startswith("P") or (character.isascii() and category[0] == "S"):
        return _MARK
    code = ord(character)
    chinese = 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF or code >= 0x20000
    return _MARK if chinese and category == "Lo" else _LETTER


def _plain(character: str) -> str:
    """A character in lower case without its accents."""
    parts = unicodedata.normalize("NFD", character.lower())
    return "".join(part for part in parts if unicodedata.category(part) != "Mn")


_ASCII = [_kind(chr(code)) for code in range(128)]
