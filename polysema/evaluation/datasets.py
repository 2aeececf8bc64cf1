"""Evaluation sets: found in a data directory, verified, read; and a user's own in the same shape.

``records.toml`` lists the nine sets of the paper (§4.3, §5.1): their files with the SHA-256, and how they are read.
Each address served exactly those bytes.
"""

from __future__ import annotations

import csv
import hashlib
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import platformdirs
from numpy.typing import NDArray

from polysema.composition.trees import Leaf, Tree, from_pattern
from polysema.errors import DataError, MissingExtraError, PolysemaError, chosen, needing
from polysema.storage import read_text

Array = NDArray[np.float64]


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


Phrase = tuple[str, ...]  # the words of a phrase in the order of its pattern


@dataclass(frozen=True)
class EvaluationSet:
    """Pairs of phrases of one pattern, and how similar people find them. A word is a phrase of one word.

    In the paper's disambiguation sets the second phrase is the first with a landmark in place of its verb.

    >>> items = EvaluationSet("own", "subj verb", (("dog", "run"),), (("dog", "move"),), np.array([3.0]))
    >>> items.clusters
    ('run move',)
    """

    name: str  # of the set
    pattern: str  # the role of each word, such as ``subj verb obj``; ``word`` for pairs of words
    first: tuple[Phrase, ...]  # the k first phrases, those with the ambiguous verb
    second: tuple[Phrase, ...]  # the k phrases they are compared with
    gold: Array  # the mean judgement of each pair, (k,)
    # the judgements one by one, (annotators, k), NaN where an annotator gave none; empty where not known
    ratings: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    # phrases, words joined by spaces, to the full sentences that encoders read
    sentences: Mapping[str, str] = field(default_factory=dict, repr=False)
    # the cluster of each item, (k,): items of one cluster are not independent of each other, and the statistics
    # resample clusters. By default the verb and its landmark, where the pattern has a verb; else every item is its own.
    clusters: tuple[str, ...] = field(default=(), repr=False)
    note: str = ""  # what the reader of a figure should know

    def __post_init__(self) -> None:
        k = len(self.first)
        if not k == len(self.second) == len(self.gold):
            raise DataError(f"{self.name}: {k} first phrases, {len(self.second)} second, {len(self.gold)} judgements")
        if not self.clusters:
            object.__setattr__(self, "clusters", self._clusters())
        if len(self.clusters) != k:
            raise DataError(f"{self.name}: {len(self.clusters)} clusters for {k} items")

    @classmethod
    def of_words(cls, name: str, pairs: Iterable[tuple[str, str]], gold: Array) -> EvaluationSet:
        """Pairs of words."""
        listed = tuple(pairs)
        return cls(name, WORD, tuple((a,) for a, _ in listed), tuple((b,) for _, b in listed), gold)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def is_words(self) -> bool:
        """Whether the phrases are single words."""
        return self.pattern == WORD

    @property
    def roles(self) -> list[str]:
        """The role of each word; "" for a word that stands alone."""
        return [""] if self.is_words else self.pattern.split()

    @property
    def words(self) -> set[str]:
        """Every word of the set, as it is written."""
        return {word for phrase in (*self.first, *self.second) for word in phrase}

    @cached_property
    def distinct(self) -> tuple[list[Phrase], NDArray[np.int64]]:
        """The distinct phrases, p of them, and of each pair the indices of its two, (2, k)."""
        index: dict[Phrase, int] = {}
        pairs = [[index.setdefault(phrase, len(index)) for phrase in side] for side in (self.first, self.second)]
        return list(index), np.array(pairs)

    def tree(self, phrase: Sequence[str]) -> Tree:
        """The tree of a phrase."""
        return Leaf(phrase[0], 0) if self.is_words else from_pattern(self.pattern, phrase)

    def sentence(self, phrase: Sequence[str]) -> str:
        """A phrase as a full sentence; the bare words, where the set has none for it."""
        words = " ".join(phrase)
        return self.sentences.get(words, words)

    def _clusters(self) -> tuple[str, ...]:
        if "verb" not in self.roles:
            return tuple(map(str, range(len(self))))
        verb = self.roles.index("verb")
        return tuple(f"{a[verb]} {b[verb]}" for a, b in zip(self.first, self.second, strict=True))


def words_of(sets: Iterable[EvaluationSet]) -> list[str]:
    """All words of some sets, lower-cased, in order."""
    return sorted({word.lower() for items in sets for word in items.words})


# --------------------------------------------------------------------------------------------------- the data directory


def cache_directory() -> Path:
    """Where downloaded sets are kept: ``data`` in the user's cache of polysema."""
    return platformdirs.user_cache_path("polysema", appauthor=False) / "data"


def directories(data: str | Path | None = None) -> list[Path]:
    """Where to look: ``data``, else the variable POLYSEMA_DATA; then the user's cache."""
    named = data or os.environ.get("POLYSEMA_DATA")
    if named and not Path(named).is_dir():
        raise DataError(f"{named}: no such folder: name the one that holds the evaluation sets")
    return [*([Path(named)] if named else []), cache_directory()]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search for a file came to."""

    file: DataFile  # what was sought
    path: Path | None  # where it is, or None
    wrong: tuple[Path, ...] = ()  # files of that name with another content


def search(files: Iterable[DataFile], data: str | Path | None = None) -> dict[str, Found]:
    """Look for files by name in the data directories and two levels below, and verify them by SHA-256; by file name."""
    wanted = {file.name: file for file in files}
    places: dict[str, list[Path]] = {name: [] for name in wanted}
    for top in directories(data):
        for folder, below, names in os.walk(top, followlinks=True):
            for name in wanted.keys() & names:
                if os.path.isfile(path := os.path.join(folder, name)):
                    places[name].append(Path(path))
            below[:] = sorted(name for name in below if not name.startswith("."))
            deep = len(Path(folder).relative_to(top).parts) >= _DEPTH
            if deep or len(below) > _MOST_FOLDERS or os.path.ismount(os.path.join(folder, "proc")):
                below.clear()
    found = {}
    for name, file in wanted.items():
        right = next((path for path in places[name] if _sha256(path) == file.sha256), None)
        found[name] = Found(file, right, () if right else tuple(places[name]))
    return found


_DEPTH = 2  # levels below a data directory that are searched
_MOST_FOLDERS = 1000  # that one level may have; "/" or a home folder is no data directory


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def load_sets(
    names: Iterable[str] | None = None, data: str | Path | None = None
) -> tuple[dict[str, EvaluationSet], dict[str, str]]:
    """The sets of those names (by default all), and of those that are not there the reason, by name."""
    records = [RECORDS[name] for name in (RECORDS if names is None else names)]
    found = search((file for record in records for file in record.files), data)
    sets: dict[str, EvaluationSet] = {}
    missing: dict[str, str] = {}
    for record in records:
        where = found[record.file.name]
        if where.path is None:
            missing[record.name] = explain(where)
            continue
        full = found[record.sentences.name].path if record.sentences else None
        read = _words if record.pattern == WORD else _phrases
        sets[record.name] = read(record, where.path, full)
        if len(sets[record.name]) != record.items:
            raise DataError(f"{where.path}: {len(sets[record.name])} items, not {record.items}")
    return sets, missing


def find_sets(
    names: Iterable[str] | None = None, data: str | Path | None = None, *, download: bool = False
) -> tuple[dict[str, EvaluationSet], dict[str, str]]:
    """The sets of those names (by default all that are there), and of missing ones the reason, by name.

    Sets that were named must all be there.

    Args:
        data: the data directory; see :func:`directories`.
        download: whether missing sets are fetched first.
    """
    asked = [record_named(name).name for name in (RECORDS if names is None else names)]
    found, missing = load_sets(asked, data)
    todo = "put the files in a folder and name it with --data or POLYSEMA_DATA, or fetch them: `polysema data fetch`"
    if missing and download:
        try:
            fetch([RECORDS[name] for name in missing], data)
            found, missing = load_sets(asked, data)
        except PolysemaError as error:
            todo = str(error)
            if isinstance(error, MissingExtraError):
                todo += "; or name a folder that has them with --data or POLYSEMA_DATA"
            missing = {name: f"{reason}; {error}" for name, reason in missing.items()}
    if missing and (names is not None or not found):
        first = next(RECORDS[name].file.name for name in missing)
        raise DataError(f"{len(missing)} of {len(asked)} evaluation sets are not here, {first} first: {todo}")
    return found, missing


def load_all(data: str | Path | None = None, sets: Iterable[str] | None = None) -> dict[str, EvaluationSet]:
    """The sets that are there; see :func:`find_sets`."""
    return find_sets(sets, data)[0]


def explain(found: Found) -> str:
    """Why a file cannot be used, in one line."""
    if found.wrong:
        return f"{found.wrong[0]} is not the published {found.file.name}: its SHA-256 differs"
    return f"{found.file.name} was not found"


# ------------------------------------------------------------------------------------------------------------- reading


def _words(record: Record, path: Path, _: Path | None) -> EvaluationSet:
    """A file with two words and a score a line."""
    rows = [line.split() for line in _lines(path)]
    return EvaluationSet.of_words(record.name, ((a, b) for a, b, _ in rows), np.array([float(row[2]) for row in rows]))


def _phrases(record: Record, path: Path, sentences: Path | None) -> EvaluationSet:
    """A file with one judgement a line, grouped into items: the same words (and HIGH or LOW mark) are one item.

    The gold score of an item is the mean of all its ratings. Among ``ratings``, one outside the scale that annotators
    were given counts as none (GS2011 holds a single 0).
    """
    lines = _lines(path)
    columns = lines[0].split()
    rows = [dict(zip(columns, line.split(), strict=True)) for line in lines[1:]]
    told = (*record.columns, record.landmark, *record.also)
    items, gold, ratings = _judged(
        [(tuple(row[name] for name in told), row[record.annotator], float(row[record.rating])) for row in rows]
    )
    ratings[(ratings < record.scale[0]) | (ratings > record.scale[1])] = np.nan
    words = len(record.columns)
    verb = record.columns.index("verb")
    first = tuple(key[:words] for key in items)
    second = tuple((*key[:verb], key[words], *key[verb + 1 : words]) for key in items)
    full = {row["original"]: row["completed"] for row in csv.DictReader(_lines(sentences))} if sentences else {}
    return EvaluationSet(record.name, record.pattern, first, second, gold, ratings, full, note=record.note)


def _judged(found: Sequence[tuple[tuple[Any, ...], str, float]]) -> tuple[list[Any], Array, Array]:
    """The k items, the mean judgement of each (k,), and all of them (annotators, k).

    Args:
        found: an item, who judged, and the judgement.
    """
    items, annotators = (list(dict.fromkeys(column)) for column in ([row[i] for row in found] for i in (0, 1)))
    place, number = ({item: i for i, item in enumerate(listed)} for listed in (items, annotators))
    which = np.array([place[item] for item, _, _ in found])
    rating = np.array([judgement for _, _, judgement in found])
    ratings = np.full((len(annotators), len(items)), np.nan)
    ratings[[number[who] for _, who, _ in found], which] = rating
    return items, np.bincount(which, rating) / np.bincount(which), ratings


def _lines(path: Path) -> list[str]:
    """The lines of a text file that are not empty, whatever ends them (LF, CR LF, or ML2008's CR CR LF)."""
    return [line for line in read_text(path).removeprefix("\ufeff").replace("\r", "\n").split("\n") if line.strip()]


# ---------------------------------------------------------------------------------------------------- a user's own sets

_COLUMNS = {
    "first": ("first", "word1", "phrase1"),
    "second": ("second", "word2", "phrase2"),
    "score": ("score", "rating", "gold"),
    "annotator": ("annotator",),
    "cluster": ("cluster",),
}
"""The columns of a set of one's own, and the headings they go by; the last two may be missing."""


def read_set(path: str | Path, pattern: str = WORD, name: str = "") -> EvaluationSet:
    """Read a set of one's own: a CSV or TSV file with a line a judgement.

    Three columns are needed: two words or phrases and a score. A heading names them (``first``, ``second``, ``score``,
    in any order) and may name more: ``annotator``, who judged, and ``cluster``, which items share something. Without
    a heading they stand in this order. The same pair may stand on several lines, one a judgement: its score is their
    mean.

    Args:
        pattern: the roles of a phrase's words, such as ``subj verb obj``; by default the items are single words.
        name: what to call it; by default the file's.
    """
    path = Path(path)
    pattern = " ".join(pattern.split())
    clusters: dict[tuple[Phrase, Phrase], str] = {}
    found: list[tuple[tuple[Phrase, Phrase], str, float]] = []
    for number, row in _own_rows(path):
        score, texts = _number(row["score"]), (row["first"], row["second"])
        first, second = ((text,) if pattern == WORD else tuple(text.split()) for text in texts)
        if not all((*first, *second)) or not first or not second or not np.isfinite(score):
            shown = str(list(row.values()))[:200]
            raise DataError(f"{path}: line {number}: two words or phrases and a score, not {shown}")
        if pattern != WORD:
            for phrase in (first, second):
                from_pattern(pattern, phrase)  # an error where the words do not fit the roles
        clusters[first, second] = row.get("cluster", "")
        found.append(((first, second), row.get("annotator", ""), score))
    if len(clusters) < 3:
        raise DataError(f"{path}: {len(clusters)} pairs: a correlation needs at least three")
    items, gold, ratings = _judged(found)
    first_ones, second_ones = (tuple(side) for side in zip(*items, strict=True))
    ratings = ratings if len(ratings) > 1 else np.empty((0, 0))
    own = tuple(clusters.values()) if all(clusters.values()) else ()
    return EvaluationSet(name or path.stem, pattern, first_ones, second_ones, gold, ratings, clusters=own)


def read_own_sets(
    pairs: Sequence[str | Path], phrases: Sequence[tuple[str, str | Path]] = ()
) -> dict[str, EvaluationSet]:
    """Sets of one's own by name: files of word pairs, and files of phrases with their patterns.

    A set is named after its file. Two files of one name, or one with the name of a published set, are an error.
    """
    found: dict[str, EvaluationSet] = {}
    for file, pattern in [*((file, WORD) for file in pairs), *((file, pattern) for pattern, file in phrases)]:
        items = read_set(file, pattern)
        if items.name in found or items.name in RECORDS:
            other = "another file" if items.name in found else "a published set"
            raise DataError(f"{file}: {other} is named {items.name!r} too: rename the file, which names the set")
        found[items.name] = items
    return found


def _own_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each line and its columns by name."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    lines = _lines(path)
    try:
        rows = list(csv.reader(lines, delimiter="\t" if lines and "\t" in lines[0] else ","))
    except csv.Error as error:
        raise DataError(f"{path}: not a table of columns: {error}") from None
    headings = [cell.strip().lower() for cell in rows[0]] if rows else []
    places = {column: headings.index(n) for column, names in _COLUMNS.items() for n in names if n in headings}
    start = 1
    if not {"first", "second", "score"} <= places.keys():  # no heading, or one in other words
        start = int(len(headings) == 3 and np.isnan(_number(headings[2])) and headings[2] != "nan")
        headings, places = ["first", "second", "score"], {"first": 0, "second": 1, "score": 2}
    for number, row in enumerate(rows[start:], start + 1):
        if len(row) != len(headings):
            raise DataError(
                f"{path}: line {number}: two words or phrases and a score, separated by tabs or commas, "
                f"not {lines[number - 1][:60]!r}"
            )
        yield number, {column: row[place].strip() for column, place in places.items()}


def _number(text: str) -> float:
    """A number; NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


TIMEOUT = 20  # seconds to wait for an answer


def fetch(
    records: Iterable[Record], data: str | Path | None = None, progress: Callable[[DataFile], None] | None = None
) -> list[Path]:
    """Download what is not yet in a data directory into the user's cache.

    Returns:
        the files that were downloaded.
    """
    found = search((file for record in records for file in record.files), data)
    missing = [item.file for item in found.values() if item.path is None]
    if not missing:
        return []
    with needing("downloading evaluation sets", "data"):
        import pooch
    pooch.get_logger().setLevel("WARNING")
    fetched = []
    for file in missing:
        if progress:
            progress(file)
        try:
            path = pooch.retrieve(
                file.url,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=cache_directory(),
                downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
            )
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
            reason = "what it serves is not the published file" if isinstance(error, ValueError) else "no answer"
            raise DataError(
                f"{file.name} cannot be downloaded from {file.url}: {reason}; get it elsewhere and put it in "
                f"{cache_directory()}, or in a folder that you name with --data or POLYSEMA_DATA"
            ) from error
        fetched.append(Path(path))
    return fetched
