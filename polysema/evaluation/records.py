"""The nine evaluation sets of the paper (§4.3, §5.1) as records: what they are, where they live, how they are read.

A record names its files with their SHA-256; each address below was found to serve exactly those bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


_WORD_SIMILARITY = "https://github.com/mfaruqui/eval-word-vectors"
_WORD_SIMILARITY_RAW = "https://raw.githubusercontent.com/mfaruqui/eval-word-vectors/94b3dd9fdbac7ed08dbee7179cd5ee464acf0594/data/word-sim"
_COMPOSITION = "http://compling.eecs.qmul.ac.uk/resources/"
_COMPOSITION_RAW = (
    "https://raw.githubusercontent.com/francois-meyer/lexical-ambiguity-dms/"
    "118f90095c8f46beec0570d88fd8cd1f9b62b003/code/evaluation"
)


def _words(name: str, file: str, sha256: str, items: int, scale: tuple[float, float], citation: str) -> Record:
    source = DataFile(file, sha256, f"{_WORD_SIMILARITY_RAW}/{file}")
    return Record(name, source, items, citation, _WORD_SIMILARITY, scale=scale)


def _phrases(name: str, file: str, sha256: str, sentences: str, sentences_sha256: str, **more: object) -> Record:
    source = DataFile(file, sha256, f"{_COMPOSITION_RAW}/{file}")
    full = DataFile(sentences, sentences_sha256, f"{_COMPOSITION_RAW}/complete_eval_sentences/{sentences}")
    fields: dict[str, object] = {"home": _COMPOSITION, "scale": (1.0, 7.0), "sentences": full, **more}
    return Record(name, source, **fields)  # type: ignore[arg-type]


_FIVE = {
    "pattern": "adj subj verb adj obj",
    "columns": ("adj_subj", "subj", "verb", "adj_obj", "obj"),
    "annotator": "annotator_id",
    "rating": "annotator_score",
}
_MARKED = {"annotator": "participant", "rating": "input", "also": ("hilo",)}

# fmt: off
RECORDS: Mapping[str, Record] = {record.name: record for record in (
    _words("RG", "EN-RG-65.txt", "c243f3a91c3f5d8cf67f21a67f6fb80bde8b6bb060851a6a48e6f2d68ec98c9f", 65, (0, 4),
           "Rubenstein & Goodenough 1965, Contextual correlates of synonymy"),
    _words("WS", "EN-WS-353-ALL.txt", "ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c", 353, (0, 10),
           "Finkelstein et al. 2001, Placing search in context (WordSim-353)"),
    _words("MC", "EN-MC-30.txt", "33ee05911496ff83d95cac351d0746c6f63b9181b605cb7d307f4daa8864511b", 30, (0, 4),
           "Miller & Charles 1991, Contextual correlates of semantic similarity"),
    _words("SL", "EN-SIMLEX-999.txt", "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685", 999, (0, 10),
           "Hill, Reichart & Korhonen 2015, SimLex-999"),
    _words("MEN", "EN-MEN-TR-3k.txt", "888b13580faa362c7b11da0a670258cf1b1eb4bf0ecbcd418918729a3bd3f43a", 3000, (0, 50),
           "Bruni, Boleda, Baroni & Tran 2012, Distributional semantics in technicolor (MEN)"),
    _phrases("ML2008", "ML2008.txt", "37cdf7e426dd8337caf4931c5d8ceba79a75614d0c881ed1e81944eb7b71f553",
             "ML2008_sentences.csv", "e7cdf372b468b55581e3599b906a3a72620ef117770b809da50db1b3a39e7cdf", items=120,
             citation="Mitchell & Lapata 2008, Vector-based models of semantic composition",
             home="https://github.com/francois-meyer/lexical-ambiguity-dms", pattern="subj verb",
             columns=("noun", "verb"), **_MARKED,
             note="The file holds the ratings of 60 annotators; the paper's Table 1 says 53."),
    _phrases("GS2011", "GS2011data.txt", "e733f60f0a10d9bd6feabe76470445f8baf2aa2c07e804eac9ea26cf8537e961",
             "GS2011_sentences.csv", "f5cdb56fe6ea619ed21e618de7947ff191599d198d205db249f8eb269813c897", items=200,
             citation="Grefenstette & Sadrzadeh 2011, Experimental support for a categorical compositional "
             "distributional model of meaning",
             pattern="subj verb obj", columns=("subject", "verb", "object"), **_MARKED),
    _phrases("GS2012", "GS2012data.txt", "9d23eec088c7df3eddae72beebb492fe35eb01aeb06b70f2f753acb4dfe76c0f",
             "GS2012_sentences.csv", "562cf3ca79ff3a9874220a28525a8c62f0b486a1da89f1125ca11c6fbf1df73f", items=194,
             citation="Grefenstette & Sadrzadeh 2012, with adjectives; published in Computational Linguistics 41 "
             "(2015)", **_FIVE),
    _phrases("KS2013", "KS2013-CoNLL.txt", "6cbb9151a7cac8b8a9cfd4d7778e960e142fe6aec1d8ab1597d8c9d1ec416cb1",
             "KS2013-CoNLL_sentences.csv", "9918107d5bb61cd24410bdf524d12aedd2678674862ff2fee9e3421707410a0a",
             items=194, citation="Kartsaklis, Sadrzadeh & Pulman 2013, Separating disambiguation from composition in "
             "distributional semantics (CoNLL)", **_FIVE),
)}
# fmt: on
"""The data sets by name, in the order of the paper's tables."""

WORD_SIMILARITY = tuple(name for name, record in RECORDS.items() if record.task == "word-similarity")
DISAMBIGUATION = tuple(name for name, record in RECORDS.items() if record.task == "disambiguation")


def record_named(name: str) -> Record:
    """The record of that name; an unknown one is an error that lists the choices."""
    return chosen("data set", name, RECORDS)
