"""Documents with dates and other facts, and their sentences, read from files of any size."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path
from typing import Any

from polysema.corpus.normalisation import NEVER_END, NUMBERED
from polysema.corpus.readers import ReadingOptions, Source, find_sources, read_blocks
from polysema.errors import CorpusError, InputError

LONGEST_SENTENCE = 2000
"""Characters; a longer sentence is cut between two words."""

_LOG = logging.getLogger("polysema.corpus")
_PERIODS = {"year": 1, "decade": 10, "century": 100}
_YEAR = re.compile(r"(?<!\d)(1\d{3}|20\d{2})(?!\d)")
_JSON_LINES = re.compile(r"\.(jsonl|ndjson)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)
_END = re.compile(r"(?:[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-z])|\s*\n\s*)")


@dataclass(frozen=True, slots=True)
class Document:
    """Where sentences come from."""

    name: str  # its file, and its line in a file of JSON lines
    facts: Mapping[str, str]  # what is known about it, such as ``date``, ``author`` and ``genre``

    def group(self, by: str) -> str | None:
        """Its value of a fact; ``year``, ``decade`` and ``century`` are computed from its date. None if unknown.

        >>> Document("a", {"date": "1834-05-02"}).group("decade")
        '1830'
        """
        if by not in _PERIODS or by in self.facts:
            return self.facts.get(by)
        found = re.match(r"-?\d{1,4}(?!\d)", self.facts.get("date", self.facts.get("year", "")))
        return str(int(found[0]) // _PERIODS[by] * _PERIODS[by]) if found else None


def grouped(documents: Sequence[Document], by: str) -> list[str | None]:
    """The group of each document. A few that have none are left out with a note; more are an error."""
    found = [document.group(by) for document in documents]
    missing = [document.name for document, group in zip(documents, found, strict=True) if group is None]
    if missing:
        what = "date" if by in _PERIODS else by
        said = f"{len(missing)} of {len(documents)} documents have no {what} ({missing[0]})"
        if 2 * len(missing) > len(documents):
            raise InputError(
                f'{said}: give each line of a .jsonl file one, {{"text": …, "{what}": …}}'
                f"{', or each file a name with a year' if what == 'date' else ''}"
            )
        _LOG.info(f"{said}: left out")
    return found


def read_documents(sources: Any, encoding: str = "auto") -> Iterator[tuple[Document, str]]:
    """(document, text) of files; a long text comes in several parts, one after another.

    A file is a document. Its facts are its ``file`` and, where the names of most files hold a year, its ``date``. A
    file of JSON lines holds a document a line: its ``text``, and any facts.

    Args:
        sources: files, folders, globs, URLs or ``-``, packed or not; or pairs of a text and its facts.
    """
    given: Any = sources if isinstance(sources, str | Path) else list(sources)
    if isinstance(given, list) and given and not isinstance(given[0], str | Path):
        for number, (text, facts) in enumerate(given, 1):
            yield Document(str(facts.get("document", number)), _facts(facts)), text
        return
    files = find_sources(given)
    paths = [str(file) for file in files]
    base = commonprefix(paths).rfind("/") + 1  # noqa: RUF071 - the folder that all share; URLs are no paths
    names = [path[base:] for path in paths]
    years = [found[-1] if (found := _YEAR.findall(name)) else "" for name in names]
    dated = 2 * sum(map(bool, years)) >= len(years)
    options = ReadingOptions(encoding=encoding, format="text")
    for file, name, year in zip(files, names, years, strict=True):
        if _JSON_LINES.search(name):
            yield from _json_lines(file, name, encoding)
            continue
        document = Document(name, {"file": name, **({"date": year} if year and dated else {})})
        for block in read_blocks(file, options):
            yield document, block.data.decode("utf-8", "replace")


def _json_lines(file: Source, name: str, encoding: str) -> Iterator[tuple[Document, str]]:
    number = 0
    for block in read_blocks(file, ReadingOptions(encoding=encoding, format="text", long_line=1 << 28)):
        for line in block.data.split(b"\n"):
            number += bool(line)
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise CorpusError(f"{name}: line {number} is not JSON: {error}") from None
            if not isinstance(record, dict) or not isinstance(record.get("text"), str):
                raise CorpusError(f'{name}: line {number} has no text: {{"text": …, "date": …}} is expected')
            document = Document(str(record.get("document", f"{name}:{number}")), _facts(record))
            yield document, record["text"].encode("utf-8", "replace").decode()


def _facts(record: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(key): str(value)
        for key, value in record.items()
        if key not in ("text", "document") and isinstance(value, str | int | float) and str(value)
    }


def read_sentences(sources: Any, encoding: str = "auto") -> Iterator[tuple[Document, int, str]]:
    """(document, first character in it, sentence) of sources; see :func:`read_documents`."""
    last, base = None, 0
    for document, text in read_documents(sources, encoding):
        base = base if document is last else 0
        for offset, sentence in sentences(text):
            yield document, base + offset, sentence
        last, base = document, base + len(text)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """(first character, sentence) of a text.

    A sentence ends where . ! ? or … is followed by white space and a capital or a number, except after an initial or
    an abbreviation, and at the end of a line. In text whose lines are wrapped only an empty line ends it.

    >>> list(sentences("Mr. A. Smith left. He ran!\\nNo. 5"))
    [(0, 'Mr. A. Smith left.'), (19, 'He ran!'), (27, 'No. 5')]
    """
    wrapped = len(lines := text.split("\n", 50)) > 10 and max(map(len, lines[:-1])) <= 90
    first = 0
    for found in _END.finditer(text):
        mark = found[0]
        if mark.lstrip()[:1]:  # . ! ? …
            if mark.startswith(".") and mark[1:2].isspace() and _abbreviated(text, found.start(), found.end()):
                continue
        elif wrapped and mark.count("\n") == 1:
            continue
        yield from _cut(text, first, found.end())
        first = found.end()
    yield from _cut(text, first, len(text))


def _abbreviated(text: str, stop: int, after: int) -> bool:
    start = stop
    while start and text[start - 1].isalpha():
        start -= 1
    word = text[start:stop].lower()
    return (len(word) == 1 and word != "i") or word in NEVER_END or (word in NUMBERED and text[after].isdigit())


def _cut(text: str, first: int, end: int) -> Iterator[tuple[int, str]]:
    while first < end:
        if text[first].isspace():
            first += 1
            continue
        stop = end
        if end - first > LONGEST_SENTENCE:
            space = text.rfind(" ", first, first + LONGEST_SENTENCE)
            stop = space if space > first else first + LONGEST_SENTENCE
        sentence = text[first:stop].rstrip()
        yield first, sentence.replace("\n", " ").replace("\r", " ")
        first = stop
