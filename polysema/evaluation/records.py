"""The nine evaluation sets of the paper (§4.3, §5.1) as records: what they are, where they live, how they are read.

``records.toml`` lists them. A record names its files with their SHA-256; each address served exactly those bytes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from polysema.errors import chosen

Task = Literal["word-similarity", "disambiguation"]

WORD = "word"  # the pattern of a set of word pairs: a word is a phrase of one word


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a data set."""

    name: str  # its file name; a data directory is searched for it
    sha256: str  # the checksum of its bytes
    url: str  # where it can be downloaded


@dataclass(frozen=True, slots=True)
class Record:
    """A data set."""

    name: str  # as the paper's tables call it
    file: DataFile  # the judgements
    items: int  # how many items it has
    citation: str  # who made it
    home: str  # the page it comes from
    pattern: str = WORD  # the role of each word, such as ``subj verb obj``; :data:`WORD` for pairs of words
    # of phrases, the column of each word in the order of the pattern, the verb's own among them
    columns: tuple[str, ...] = ()
    landmark: str = "landmark"  # the column of the verb that replaces the verb
    annotator: str = ""  # the column that names who judged
    rating: str = ""  # the column with the judgement
    also: tuple[str, ...] = ()  # further columns that distinguish items
    scale: tuple[float, float] = (0.0, 10.0)  # the lowest and the highest rating that annotators could give
    sentences: DataFile | None = None  # the phrases as full sentences, for sentence encoders
    note: str = ""  # what the reader of a figure should know about the file

    @property
    def task(self) -> Task:
        """What it tests."""
        return "word-similarity" if self.pattern == WORD else "disambiguation"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files of the set."""
        return (self.file,) if self.sentences is None else (self.file, self.sentences)

    def to_json(self) -> dict[str, Any]:
        """What it is, as JSON holds it."""
        facts = {name: getattr(self, name) for name in ("name", "task", "items", "pattern", "home", "citation")}
        return facts | {
            "files": [file.name for file in self.files],
            "urls": [file.url for file in self.files],
            "sha256": [file.sha256 for file in self.files],
        }


def _record(name: str, facts: dict[str, Any]) -> Record:
    """A record from its table in ``records.toml``."""
    made: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    made |= {key: DataFile(*made[key]) for key in ("file", "sentences") if key in made}
    return Record(name, **made)


_TABLES = tomllib.loads((Path(__file__).parent / "records.toml").read_text(encoding="utf-8"))
RECORDS: Mapping[str, Record] = {name: _record(name, facts) for name, facts in _TABLES.items()}
"""The data sets by name, in the order of the paper's tables."""

WORD_SIMILARITY = tuple(name for name, record in RECORDS.items() if record.task == "word-similarity")
DISAMBIGUATION = tuple(name for name, record in RECORDS.items() if record.task == "disambiguation")


def record_named(name: str) -> Record:
    """The record of that name; an unknown one is an error that lists the choices."""
    return chosen("data set", name, RECORDS)
