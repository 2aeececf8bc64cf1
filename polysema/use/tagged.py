"""Text whose content words carry senses: a folder that is opened lazily, or text read for a few words.

A folder holds columns of numbers, a ``.npy`` file each. For N words in S sentences, n the dimension of the dictionary
and :data:`KEPT` the senses that are kept of a word:

==================  ================  ============================================================================
``config.json``     JSON              how it was made, and the dictionary's digest
``documents.jsonl`` a line each       name and facts of every document
``text.txt``        UTF-8             the sentences, a line each
``byte.npy``        (S + 1,) int64    where each sentence starts in ``text.txt``
``document.npy``    (S,) int32        its document
``offset.npy``      (S,) int64        its first character in the document
``first.npy``       (S + 1,) int64    its first word in the columns
``start.npy``       (N,) uint16       first character in the sentence
``end.npy``         (N,) uint16       and the one after the last
``sense.npy``       (N, KEPT) int32   rows of the likeliest senses in the dictionary, −1 where there are fewer
``p.npy``           (N, KEPT) uint16  their probabilities p(s | c), of 65535
``fits.npy``        (N,) uint8        1 if one of its senses fits, 0 where that is in doubt
``vector.npy``      (N, n) int8       the word in its sentence, c, its largest number ±127; left out if not wanted
==================  ================  ============================================================================
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError
from polysema.lexicon.lexicon import load
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import NAME
from polysema.senses.doubt import doubted, features
from polysema.senses.entries import Place
from polysema.storage import check_regular, holds, read_config, recover
from polysema.use.text import Document
from polysema.use.text import read_sentences as sentences_of

KEPT = 4
PARTS = 65535
TYPES = {
    "count": "<u2", "start": "<u2", "end": "<u2", "sense": "<i4", "p": "<u2", "fits": "|u1", "vector": "|i1"
}  # fmt: skip
"""The columns of words, by type, and the ``count`` of words of each sentence."""

FORMAT, VERSION = "polysema-tagged", 1
OWN = {"byte": "<i8", "document": "<i4", "offset": "<i8", "first": "<i8"}
"""The columns of sentences, by type."""
FILES = ("config.json", "documents.jsonl", "text.txt", *(f"{name}.npy" for name in (*OWN, *TYPES) if name != "count"))
owner = holds(FORMAT, VERSION, FILES)

BATCH = 512
"""Sentences that are read at once."""

Columns = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

Corpus = Any
"""A :class:`Tagged` corpus or its folder, or text as :func:`~polysema.use.text.read_documents` takes it."""


def dictionary_of(given: Any = None) -> Dictionary:
    """The dictionary of a lexicon, of a folder, or of the lexicon that comes with polysema."""
    if isinstance(given, str | Path) and (Path(given) / NAME).is_file():
        return Dictionary.load(given)
    model = load(given) if given is None or isinstance(given, str | Path) else given
    found = getattr(model, "dictionary", model)
    if not isinstance(found, Dictionary):
        raise InputError(f"{model!r} has no dictionary of senses with names: choose a lexicon that has one")
    return found


class Context(NamedTuple):
    """A sentence, and the characters of a word in it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Uses:
    """The uses of one word, N of them, in the order of the text."""

    word: str  # the lemma or entry asked about
    rows: Rows  # (s,) its senses, rows of the dictionary
    p: Floats  # (N, s) p(s | c)
    fits: NDArray[np.bool_]  # (N,) whether one of its senses fits
    vectors: NDArray[np.float32] | None  # (N, n) unit, the word in its sentence; None where they were not kept
    document: NDArray[np.int64]  # (N,) rows of the corpus's documents
    place: Rows  # (N,) the word's row in the corpus
    corpus: Tagged

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, chosen: Any) -> Uses:
        """Some uses: a mask, or their numbers."""
        vectors = None if self.vectors is None else self.vectors[chosen]
        arrays = self.p[chosen], self.fits[chosen], vectors, self.document[chosen], self.place[chosen]
        return Uses(self.word, self.rows, *arrays, self.corpus)

    def context(self, i: int) -> Context:
        """The sentence of a use."""
        row = int(self.place[i])
        start, end = (int(self.corpus.columns[name][row]) for name in ("start", "end"))
        return Context(self.corpus.sentence(self.corpus.sentence_of(row)), start, end)


class Tagged:
    """A corpus whose content words carry senses. Files are mapped, not read, when it is opened.

    Args:
        columns: those of sentences (:data:`OWN`) and of words (:data:`TYPES`).
        text: the sentences in UTF-8.
        known: where the senses are looked up.
    """

    def __init__(
        self, columns: Columns, text: Any, documents: Sequence[Document], known: Dictionary, path: Path | None = None
    ) -> None:
        self.columns, self.documents, self.dictionary, self.path = columns, documents, known, path
        self._text, self._order = text, np.empty(0, np.int64)

    @classmethod
    def open(cls, path: str | Path, dictionary: Any = None) -> Tagged:
        """A folder that :func:`~polysema.use.tag.tag` wrote.

        Args:
            dictionary: the one it was tagged with, or its lexicon; another one is an error.
        """
        path = Path(path)
        recover(path)
        config = read_config(path, FORMAT, VERSION)
        for name in ("documents", "sentences", "words"):
            if type(config.get(name)) is not int or config[name] < 0:
                raise FormatError(f"{path / 'config.json'}: damaged: {config.get(name)!r} {name}: tag the text again")
        known = dictionary_of(dictionary)
        if config.get("dictionary") != (own := digest(known)):
            raise FormatError(
                f"{path} was tagged with the dictionary {config.get('dictionary')}, this one is {own}: tag the text "
                "again, or name the lexicon it was tagged with"
            )
        columns: Columns = {}
        counts, words = config["sentences"], config["words"]
        for name, kind in {**OWN, **TYPES}.items():
            if name == "count" or (name == "vector" and not config.get("vectors")):
                continue
            shape: tuple[int, ...] = (words,) if name in TYPES else (counts + (name in ("byte", "first")),)
            shape += {"sense": (KEPT,), "p": (KEPT,), "vector": (known.file.vectors.shape[1],)}.get(name, ())
            columns[name] = _mapped(path / f"{name}.npy", kind, shape)
        size = check_regular(path / "text.txt")
        check_regular(listed := path / "documents.jsonl")
        try:
            records = [json.loads(line) for line in listed.read_bytes().splitlines()]
            documents = [Document(record["name"], record["facts"]) for record in records]
            if not all(type(text) is str for one in documents for text in (one.name, *one.facts, *one.facts.values())):
                raise TypeError("a fact that is no text")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"{listed}: damaged: {error}: tag the text again") from None
        rising = all(columns[name][0] == 0 and (np.diff(columns[name]) >= 0).all() for name in ("byte", "first"))
        inside = (
            _within(columns["document"], 0, len(documents))
            and _within(columns["sense"], -1, len(known.file.synset_of))
            and _within(columns["sense"][:, 0], 0)
            and _within(columns["p"][:, 0], 1)
        )
        found = columns["byte"][-1], config["documents"], columns["first"][-1]
        if (size, len(documents), words) != found or not rising or not inside:
            raise FormatError(f"{path}: damaged: its files do not fit each other: tag the text again")
        text = np.memmap(path / "text.txt", np.uint8, "r") if size else np.empty(0, np.uint8)
        return cls(columns, text, documents, known, path)

    def __len__(self) -> int:
        return len(self.columns["start"])

    def __repr__(self) -> str:
        count = len(self.columns["document"])
        return f"Tagged({len(self.documents):,} documents, {count:,} sentences, {len(self):,} words)"

    def sentence(self, number: int) -> str:
        """The text of a sentence."""
        first, end = self.columns["byte"][number : number + 2]
        try:
            return bytes(self._text[first:end]).decode("utf-8").rstrip("\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.path}/text.txt: damaged: {error}: tag the text again") from None

    def sentence_of(self, row: Any) -> Any:
        """The sentence of a word, or of several."""
        found = np.searchsorted(self.columns["first"], row, side="right") - 1
        return found if np.ndim(row) else int(found)

    def index(self) -> None:
        """Sort the words by sense, so that the uses of many words are found quickly."""
        self._order = np.argsort(self.columns["sense"][:, 0], kind="stable")
        self._sorted = self.columns["sense"][:, 0][self._order]

    def _places(self, rows: Rows) -> Rows:
        if not len(self._order):
            return np.flatnonzero(np.isin(self.columns["sense"][:, 0], rows))
        first, end = (np.searchsorted(self._sorted, rows, side=side) for side in ("left", "right"))
        return np.sort(self._order[ranges(first, end - first)])

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word was read as each of its spellings, by the best sense."""
        file = self.dictionary.file
        rows, counts = np.unique(self.columns["sense"][:, 0], return_counts=True)
        spellings = np.searchsorted(file.starts, rows, side="right") - 1
        found: Counter[str] = Counter()
        for spelling, count in zip(spellings.tolist(), counts.tolist(), strict=True):
            found[file.spellings[spelling]] += count
        return found

    @property
    def word_counts(self) -> Counter[str]:
        """:attr:`counts` of words of two letters or more: no numbers, no symbols."""
        return Counter({word: count for word, count in self.counts.items() if sum(map(str.isalpha, word)) > 1})

    def uses(self, word: str, pos: str | None = None) -> Uses:
        """The uses of a word: those whose best sense is one of its own.

        Args:
            word: a lemma, a form of one, or an entry of several words.
            pos: ``noun``, ``verb``, ``adj`` or ``adv``: senses of this part of speech only.
        """
        found = self.found(word, pos)
        if found is None:
            raise InputError(f"{word!r}{f' as {pos}' if pos else ''} is not used in {self.path or 'the text'}")
        return found

    def found(self, word: str, pos: str | None = None) -> Uses | None:
        """As :meth:`uses`; None where there are none."""
        rows = rows_of(self.dictionary, word, pos)
        places = self._places(rows)
        if not len(places):
            return None
        stored = self.columns.get("vector")
        vectors = None if stored is None else unit(stored[places])
        if vectors is None:
            sense, p = self.columns["sense"][places], self.columns["p"][places] / PARTS
            share = (p[:, :, None] * (sense[:, :, None] == rows)).sum(axis=1)
            share /= share.sum(axis=1, keepdims=True)
        else:
            share, _ = posterior(self.dictionary, rows, vectors)
        document = self.columns["document"][self.sentence_of(places)].astype(np.int64)
        fits = self.columns["fits"][places] > 0
        return Uses(word, rows, share, fits, vectors, document, places, self)

    # ------------------------------------------------------------------------------------------------------- as text

    def records(self) -> Iterator[dict[str, Any]]:
        """A sentence each: its document with its facts, its text, and its words with senses and probabilities."""
        columns, file = self.columns, self.dictionary.file
        for number, document in enumerate(columns["document"].tolist()):
            first, end = columns["first"][number : number + 2].tolist()
            text, source = self.sentence(number), self.documents[document]
            words = [
                {"word": text[a:z], "start": a, "end": z, "key": file.key(s), "p": round(p / PARTS, 4)}
                for a, z, s, p in zip(
                    columns["start"][first:end].tolist(), columns["end"][first:end].tolist(),
                    columns["sense"][first:end, 0].tolist(), columns["p"][first:end, 0].tolist(), strict=True,
                )
            ]  # fmt: skip
            offset = int(columns["offset"][number])
            yield {"document": source.name, **source.facts, "offset": offset, "text": text, "words": words}

    def write_jsonl(self, stream: IO[bytes]) -> None:
        """:meth:`records`, a line of JSON each."""
        for record in self.records():
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")

    def write_conllu(self, stream: IO[bytes]) -> None:
        """CoNLL-U. The first token of a word has ``Sense``, ``SenseP`` and, of several tokens, ``SenseTokens``."""
        upos = dict(zip("12345", ("NOUN", "VERB", "ADJ", "ADV", "ADJ"), strict=True))
        document = None
        for number, record in enumerate(self.records()):
            if record["document"] != document:
                document = record["document"]
                stream.write(f"# newdoc id = {' '.join(document.split())}\n".encode())
            text = record["text"]
            stream.write(f"# sent_id = {number + 1}\n# text = {text}\n".encode())
            tokens = list(_TOKEN.finditer(text))
            words = {word["start"]: word for word in record["words"]}
            for i, token in enumerate(tokens, 1):
                lemma = part = "_"
                misc = []
                if word := words.get(token.start()):
                    covered = sum(word["start"] <= other.start() < word["end"] for other in tokens)
                    lemma, _, rest = word["key"].partition("%")
                    part = upos.get(rest[:1], "_")
                    misc = [f"Sense={word['key']}", f"SenseP={word['p']}"]
                    misc += [f"SenseTokens={covered}"] if covered > 1 else []
                if token.end() < len(text) and not text[token.end()].isspace():
                    misc.append("SpaceAfter=No")
                row = [str(i), token[0], lemma, part, *"____", "_", "|".join(misc) or "_"]
                stream.write(("\t".join(row) + "\n").encode())
            stream.write(b"\n")


_TOKEN = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*|\S")
EXPORTS = {
    ".jsonl": (Tagged.write_jsonl, b'{"document": '),
    ".conllu": (Tagged.write_conllu, b"# newdoc id = "),
}
"""Files of text that a tagged corpus can be written to, by their ending: how, and how they begin."""


def _rows(place: Place) -> Rows:
    """The sense rows of a word in a text."""
    return np.asarray(place.entry.rows if place.kept is None else place.entry.rows[place.kept], np.int64)


def rows_of(dictionary: Dictionary, word: str, pos: str | None = None) -> Rows:
    """The sense rows of a word, by part of speech; an error where there are none."""
    entry, kept = dictionary.look_up(word, pos)
    return np.sort(entry.rows if kept is None else entry.rows[kept])


def posterior(dictionary: Dictionary, rows: Rows, contexts: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """p(s | c) and ⟨g_s, c⟩ of s senses in N contexts (N, n): (N, s) each."""
    c = dictionary.calibration
    similarities = (contexts @ dictionary.file.unit_vectors(rows).T).astype(np.float64)
    logits = c.sharpness * similarities + c.prior * np.log(dictionary.file.frequencies(rows, c.source))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True), similarities


def read_sentences(
    dictionary: Dictionary, texts: Sequence[str], wanted: Set[int] | None = None, vectors: bool = True
) -> Columns:
    """The words of sentences as columns.

    Args:
        wanted: keep the words that may have one of these sense rows; by default all.
        vectors: whether to keep the vectors.
    """
    is_wanted = None if wanted is None else lambda place: not wanted.isdisjoint(_rows(place).tolist())
    found = [[*filter(is_wanted, own)] if is_wanted else own for own in dictionary.entries_of(texts, is_wanted)]
    places = [place for own in found for place in own]
    flat, contexts = [(*place.span, _rows(place)) for place in places], dictionary.contexts(places)
    size = len(flat)
    sense, p = np.full((size, KEPT), -1, np.int32), np.zeros((size, KEPT), np.uint16)
    nearest, surest, known = np.empty(size), np.empty(size), np.empty(size)
    groups: dict[bytes, list[int]] = {}
    for i, (_, _, rows) in enumerate(flat):
        groups.setdefault(rows.tobytes(), []).append(i)
    for own in groups.values():
        rows = flat[own[0]][2]
        share, similarities = posterior(dictionary, rows, contexts[own])
        best = np.argsort(-share, axis=1, kind="stable")[:, :KEPT]
        sense[own, : best.shape[1]] = rows[best]
        p[own, : best.shape[1]] = np.rint(np.take_along_axis(share, best, 1) * PARTS)
        nearest[own], surest[own], known[own] = similarities.max(axis=1), share.max(axis=1), len(rows)
    fits = np.ones(size, np.uint8)
    if (doubt := dictionary.doubt) is not None:
        x = features(contexts @ doubt.background.T, nearest, surest, known)
        fits = (~doubted(x, np.array(doubt.weights))).astype(np.uint8)
    columns: Columns = {
        "count": np.array([len(own) for own in found], np.uint16),
        "start": np.array([a for a, _, _ in flat], np.uint16), "end": np.array([z for _, z, _ in flat], np.uint16),
        "sense": sense, "p": p, "fits": fits,
    }  # fmt: skip
    if vectors:
        largest = np.maximum(np.abs(contexts).max(axis=1, keepdims=True, initial=0), 1e-12)
        columns["vector"] = np.rint(contexts / largest * 127).astype(np.int8)
    return columns


def unit(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    """Stored vectors as unit vectors."""
    found = vectors.astype(np.float32)
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12), np.float32)


def ranges(starts: Rows, counts: Rows) -> Rows:
    """start, start + 1 … of each range, one after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(starts - before, counts) + np.arange(int(counts.sum())), np.int64)


def digest(dictionary: Dictionary) -> str:
    """What tells one dictionary with its encoder from another, whatever else was counted with it."""
    source = f"count.{dictionary.calibration.source}"
    found = hashlib.sha256(json.dumps(asdict(dictionary.calibration), sort_keys=True).encode())
    tensors = {**dictionary.file.tensors, **dictionary.encoder.tensors()}
    for name in sorted(tensors):
        if name == source or not name.startswith("count."):
            found.update(np.ascontiguousarray(tensors[name]).data)
    return found.hexdigest()[:16]


def is_tagged(path: Any) -> bool:
    """Whether a path is the folder of a tagged corpus, damaged or not."""
    if not isinstance(path, str | Path) or not (Path(path) / "config.json").is_file():
        return False
    try:
        read_config(Path(path), FORMAT)
    except FormatError:
        return (Path(path) / "sense.npy").exists()
    return True


def opened(corpus: Corpus, words: Iterable[str], dictionary: Any = None, pos: str | None = None) -> Tagged:
    """A tagged corpus, or text read for some words.

    Args:
        words: of text only sentences that hold one of these are read.
    """
    if isinstance(corpus, Tagged):
        return corpus
    if is_tagged(corpus):
        return Tagged.open(corpus, dictionary)
    known = dictionary_of(dictionary)
    words = list(words)
    if not words:
        raise InputError("to ask about all words, tag the text first: polysema tag TEXT -o FOLDER")
    wanted = {int(row) for word in words for row in rows_of(known, word, pos)}
    documents: list[Document] = []
    kept: list[tuple[int, int, str]] = []
    for document, offset, sentence in sentences_of(corpus):
        if not documents or documents[-1] is not document:
            documents.append(document)
        places = (place for options in known.candidates(sentence) for _, place in options)
        if any(not wanted.isdisjoint(_rows(place).tolist()) for place in places):
            kept.append((len(documents) - 1, offset, sentence))
    parts = [
        read_sentences(known, [sentence for _, _, sentence in kept[i : i + BATCH]], wanted)
        for i in range(0, max(len(kept), 1), BATCH)
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in TYPES}
    lines = [f"{sentence}\n".encode() for _, _, sentence in kept]
    columns["byte"] = np.cumsum([0, *map(len, lines)])
    columns["document"] = np.array([document for document, _, _ in kept], np.int32)
    columns["offset"] = np.array([offset for _, offset, _ in kept], np.int64)
    columns["first"] = np.cumsum([0, *columns.pop("count").tolist()])
    return Tagged(columns, np.frombuffer(b"".join(lines), np.uint8), documents, known)


def _within(numbers: NDArray[Any], least: int, end: int = 1 << 31) -> bool:
    """Whether all numbers lie in [least, end)."""
    return not numbers.size or (least <= int(numbers.min()) and int(numbers.max()) < end)


def _mapped(file: Path, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    header = stream.getvalue()
    size = len(header) + math.prod(shape) * np.dtype(kind).itemsize
    found = check_regular(file)
    with open(file, "rb") as start:
        if found != size or start.read(len(header)) != header:
            raise FormatError(f"{file}: damaged: not {kind} of shape {shape}: tag the text again")
    return np.memmap(file, kind, "r", len(header), shape) if all(shape) else np.empty(shape, kind)
