"""What a sense looks like in use: words that characterise it, collocations, examples, part of speech.

They lie beside a lexicon in ``senses.jsonl``, a line of JSON for each word that was described, and are read word by
word when they are asked for.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, get_args

from polysema.errors import FormatError
from polysema.meanings.results import Record

FILE = "senses.jsonl"
_HEAD = re.compile(rb'\s*\{\s*"word"\s*:\s*')

PartOfSpeech = Literal[
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
]  # fmt: skip
"""The parts of speech of Universal Dependencies."""

PARTS_OF_SPEECH: tuple[PartOfSpeech, ...] = get_args(PartOfSpeech)


class Example(NamedTuple):
    """A sentence that a sense stands in."""

    text: str  # the words of the sentence
    sentence: int  # which sentence of the corpus it is, from 0
    place: int  # which of its words is meant, from 0


@dataclass(frozen=True, slots=True)
class SenseDescription(Record):
    """One sense of a word in use."""

    words: tuple[str, ...] = ()  # those that tell it from the word's other senses, the most telling first
    collocations: tuple[str, ...] = ()  # pairs of words that stand side by side, the word among them
    examples: tuple[Example, ...] = ()  # sentences of the corpus
    part: PartOfSpeech | None = None  # its part of speech; None where that is not known
    part_share: float | None = None  # how many of its occurrences are that

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> SenseDescription:
        """As :meth:`to_dict` wrote it."""
        part, share = facts.get("part"), facts.get("part_share")
        known = part in PARTS_OF_SPEECH
        return cls(
            tuple(map(str, facts.get("words", ()))),
            tuple(map(str, facts.get("collocations", ()))),
            tuple(Example(str(e["text"]), int(e["sentence"]), int(e["place"])) for e in facts.get("examples", ())),
            part if known else None,
            float(share) if known and share is not None else None,
        )


class SenseDescriptions(Mapping[str, Mapping[int, SenseDescription]]):
    """The descriptions of the senses of words: by word, then by the sense's id.

    Args:
        lines: a line of JSON for each word, in order; or the file that holds them.
    """

    def __init__(self, lines: Path | Iterable[str]) -> None:
        self.path = lines if isinstance(lines, Path) else None
        self._given: bytes = b"" if isinstance(lines, Path) else "".join(f"{line}\n" for line in lines).encode()

    def __getstate__(self) -> dict[str, Any]:
        """Without the mapped file, which cannot be copied: its bytes stand in its place."""
        return {"path": None, "_given": bytes(self._data)}

    @staticmethod
    def line(word: str, descriptions: Mapping[int, SenseDescription]) -> str:
        """A word's line of JSON."""
        senses = {str(number): own.to_dict() for number, own in descriptions.items()}
        return json.dumps({"word": word, "senses": senses}, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def _data(self) -> bytes | mmap.mmap:
        if self.path is None:
            return self._given
        with open(self.path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.seek(0, 2) else b""

    @cached_property
    def _starts(self) -> dict[str, tuple[int, int]]:
        """Where each word's line starts and ends; the word is read without reading the rest of the line."""
        found, start, data = {}, 0, self._data
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            line = bytes(data[start : min(end, start + 2000)])
            if line.strip():
                try:
                    if not (head := _HEAD.match(line)):
                        raise ValueError('it does not start with {"word":')
                    word, _ = json.JSONDecoder().raw_decode(line[head.end() :].decode("utf-8", "ignore"))
                except ValueError as error:
                    raise FormatError(f"{self.path or FILE}: damaged at byte {start}: {error}") from None
                found[word] = (start, end)
            start = end + 1
        return found

    def __getitem__(self, word: str) -> Mapping[int, SenseDescription]:
        start, end = self._starts[word]
        try:
            senses = json.loads(self._data[start:end])["senses"]
            return {int(number): SenseDescription.from_dict(facts) for number, facts in senses.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{self.path or FILE}: the senses of {word!r} are damaged: {error}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._starts)

    def __len__(self) -> int:
        return len(self._starts)

    def write(self, stream: IO[bytes]) -> None:
        """All lines, as they are."""
        stream.write(self._data)
