"""Evaluation sets as arrays: found in a data directory, verified, read; and a user's own in the same shapes."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polysema.composition.trees import from_pattern
from polysema.errors import DataError
from polysema.evaluation.records import RECORDS, DataFile, Record
from polysema.files.reading import read_text


@dataclass(frozen=True, slots=True)
class WordPairs:
    """Pairs of words and how similar people find them.

    Attributes:
        name: of the set.
        pairs: the k pairs.
        gold: the mean judgement of each, (k,).
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    gold: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, slots=True)
class PhrasePairs:
    """Pairs of phrases of one pattern and how similar people find them.

    In the paper's sets the second phrase is the first with a landmark in place of its verb.

    Attributes:
        name: of the set.
        pattern: the role of each word.
        first: the k phrases with the ambiguous verb, each a tuple of words in the order of the pattern.
        second: the k phrases they are compared with.
        gold: the mean judgement of each pair, (k,).
        ratings: the judgements one by one, (annotators, k), NaN where an annotator gave none; empty where not known.
        sentences: phrases, words joined by spaces, to the full sentences that encoders read.
    """

    name: str
    pattern: str
    first: tuple[tuple[str, ...], ...]
    second: tuple[tuple[str, ...], ...]
    gold: NDArray[np.float64]
    ratings: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    sentences: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def roles(self) -> list[str]:
        """The role of each word."""
        return self.pattern.split()

    def sentence(self, phrase: Sequence[str]) -> str:
        """A phrase as a full sentence; the bare words, where the set has none for it."""
        words = " ".join(phrase)
        return self.sentences.get(words, words)


# --------------------------------------------------------------------------------------------------- the data directory


def cache_directory() -> Path:
    """Where downloaded sets are kept: ``polysema/data`` in the user's cache."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "polysema" / "data"


def directories(data: str | Path | None = None) -> list[Path]:
    """Where to look: ``data``, else the variable POLYSEMA_DATA; then the user's cache."""
    chosen = data or os.environ.get("POLYSEMA_DATA")
    if chosen and not Path(chosen).is_dir():
        raise DataError(f"{chosen}: no such folder: name the one that holds the evaluation sets")
    return [*([Path(chosen)] if chosen else []), cache_directory()]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search for a file came to.

    Attributes:
        file: what was sought.
        path: where it is, or None.
        wrong: files of that name with another content.
    """

    file: DataFile
    path: Path | None
    wrong: tuple[Path, ...] = ()


def search(files: Iterable[DataFile], data: str | Path | None = None) -> dict[str, Found]:
    """Look for files by name in the data directories and below, and verify them by SHA-256; by file name."""
    wanted = {file.name: file for file in files}
    places: dict[str, list[Path]] = {name: [] for name in wanted}
    seen: set[str] = set()  # links may lead in circles
    for top in directories(data):
        for folder, below, names in os.walk(top, followlinks=True):
            if os.path.realpath(folder) in seen:
                below.clear()
                continue
            seen.add(os.path.realpath(folder))
            for name in wanted.keys() & set(names):
                places[name].append(Path(folder, name))
    found = {}
    for name, file in wanted.items():
        right = next((path for path in places[name] if _sha256(path) == file.sha256), None)
        found[name] = Found(file, right, () if right else tuple(places[name]))
    return found


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def load_sets(
    names: Iterable[str] | None = None, data: str | Path | None = None
) -> tuple[dict[str, WordPairs | PhrasePairs], dict[str, str]]:
    """The sets of those names (by default all nine), and of those that are not there the reason, by name."""
    records = [RECORDS[name] for name in (RECORDS if names is None else names)]
    found = search((file for record in records for file in record.files), data)
    sets: dict[str, WordPairs | PhrasePairs] = {}
    missing: dict[str, str] = {}
    for record in records:
        where = found[record.file.name]
        if where.path is None:
            missing[record.name] = explain(where)
            continue
        full = found[record.sentences.name].path if record.sentences else None
        sets[record.name] = (
            read_words(record, where.path) if not record.pattern else read_phrases(record, where.path, full)
        )
        if len(sets[record.name]) != record.items:
            raise DataError(f"{where.path}: {len(sets[record.name])} items, not {record.items}")
    return sets, missing


def explain(found: Found) -> str:
    """Why a file cannot be used, in one line."""
    if found.wrong:
        return f"{found.wrong[0]} is not the published {found.file.name}: its SHA-256 differs"
    return f"{found.file.name} was not found"


# ------------------------------------------------------------------------------------------------------------- reading


def read_words(record: Record, path: Path) -> WordPairs:
    """A file with two words and a score a line."""
    rows = [line.split() for line in _lines(path)]
    return WordPairs(record.name, tuple((a, b) for a, b, _ in rows), np.array([float(score) for _, _, score in rows]))


def read_phrases(record: Record, path: Path, sentences: Path | None = None) -> PhrasePairs:
    """A file with one judgement a line, grouped into items: the same words (and HIGH or LOW mark) are one item.

    The gold score of an item is the mean of all its ratings. Among ``ratings``, one outside the scale that annotators
    were given counts as none (GS2011 holds a single 0).
    """
    lines = _lines(path)
    columns = lines[0].split()
    rows = [dict(zip(columns, line.split(), strict=True)) for line in lines[1:]]
    items: dict[tuple[str, ...], int] = {}
    annotators: dict[str, int] = {}
    found: list[tuple[int, int, float]] = []
    for row in rows:
        key = tuple(row[column] for column in (*record.columns, record.landmark, *record.also))
        item = items.setdefault(key, len(items))
        found.append((annotators.setdefault(row[record.annotator], len(annotators)), item, float(row[record.rating])))
    who, which, rating = (np.array(column) for column in zip(*found, strict=True))
    gold = np.bincount(which, rating) / np.bincount(which)
    ratings = np.full((len(annotators), len(items)), np.nan)
    ratings[who, which] = np.where((rating >= record.scale[0]) & (rating <= record.scale[1]), rating, np.nan)
    words = len(record.columns)
    verb = record.columns.index("verb")
    first = tuple(key[:words] for key in items)
    second = tuple((*key[:verb], key[words], *key[verb + 1 : words]) for key in items)
    return PhrasePairs(record.name, record.pattern, first, second, gold, ratings, _sentences(sentences))


def _sentences(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    return {row["original"]: row["completed"] for row in csv.DictReader(io.StringIO("\n".join(_lines(path))))}


def _lines(path: Path) -> list[str]:
    """The lines of a text file that are not empty, whatever ends them (LF, CR LF, or ML2008's CR CR LF)."""
    return [line for line in read_text(path).removeprefix("\ufeff").replace("\r", "\n").split("\n") if line.strip()]


# ---------------------------------------------------------------------------------------------------- a user's own sets


def read_own_words(path: str | Path, name: str = "") -> WordPairs:
    """A user's TSV of word pairs: two words and a score a line; a first line without a number is a heading."""
    path = Path(path)
    rows = _own_rows(path, "two words and a score")
    return WordPairs(name or path.stem, tuple((a, b) for a, b, _ in rows), np.array([score for _, _, score in rows]))


def read_own_phrases(path: str | Path, pattern: str, name: str = "") -> PhrasePairs:
    """A user's TSV of phrase pairs: two phrases of the pattern and a score a line.

    The same pair may stand on several lines, one a judgement: its score is their mean.
    """
    path = Path(path)
    gathered: dict[tuple[tuple[str, ...], tuple[str, ...]], list[float]] = {}
    for a, b, score in _own_rows(path, "two phrases and a score"):
        first, second = tuple(a.split()), tuple(b.split())
        for phrase in (first, second):
            from_pattern(pattern, phrase)  # an error where the words do not fit the roles
        gathered.setdefault((first, second), []).append(score)
    gold = np.array([float(np.mean(scores)) for scores in gathered.values()])
    firsts, seconds = tuple(a for a, _ in gathered), tuple(b for _, b in gathered)
    return PhrasePairs(name or path.stem, " ".join(pattern.split()), firsts, seconds, gold)


def _own_rows(path: Path, what: str) -> list[tuple[str, str, float]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    rows: list[tuple[str, str, float]] = []
    for number, line in enumerate(_lines(path), 1):
        cells = [cell.strip() for cell in line.split("\t")]
        try:
            a, b, score = cells
            rows.append((a, b, float(score)))
        except ValueError:
            if number == 1 and len(cells) == 3:
                continue
            raise DataError(f"{path}: line {number}: {what}, separated by tabs, not {line[:60]!r}") from None
        if not (a and b and np.isfinite(rows[-1][2])):
            raise DataError(f"{path}: line {number}: {what}, separated by tabs, not {line[:60]!r}")
    if len(rows) < 3:
        raise DataError(f"{path}: {len(rows)} pairs: a correlation needs at least three")
    return rows
