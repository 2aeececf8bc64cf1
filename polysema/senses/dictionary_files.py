"""The dictionary on disk: senses, 8-bit vectors and text in one file.

``dictionary.safetensors`` holds, for S synsets and K senses (a spelling with a synset) of V spellings:

================  ===========  =====================================================================
``vectors``       (S, n) int8  unit gloss vectors, each scaled so that its largest number is ±31
``synset``        (S,) int32   offset in WordNet's data files
``pos``           (S,) uint8   0 noun, 1 verb, 2 adj, 3 adv
``field``         (S,) uint8   row of the metadata's ``fields``
``starts``        (V + 1,)     where the senses of each spelling start
``synset_of``     (K,) int32   row of the synset
``number``        (K,) uint8   WordNet's rank among the senses of its part of speech
``group``         (K,) uint8   coarse sense within the spelling
``offensive``     (S,) uint8   whether the gloss calls it a slur, disparaging or obscene
``count.SOURCE``  (K,) uint16  occurrences in a tagged corpus
``spellings``     bytes        zlib, a line each, sorted
``keys``          bytes        zlib, what follows ``lemma%`` in each sense key, a line each
``exceptions``    bytes        zlib, irregular forms: form, lemma, letter
``text``          bytes        zlib blocks of :data:`BLOCK` synsets: words, gloss and examples, with tabs
``blocks``        int64        where each block starts
``added``         bytes        zlib, a user's own senses, a line each: word, gloss, part of speech, examples, with tabs
``added.vectors`` (A, n) int8  their gloss vectors
================  ===========  =====================================================================

The spellings are read at once, sense keys and text when they are first asked for.
"""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError, check_choice
from polysema.senses.wordnet_files import FIELDS, SenseKey, WordNet
from polysema.storage import check_regular

NAME = "dictionary.safetensors"
FORMAT = "polysema-dictionary-1"
BLOCK = 256
"""Synsets of one block of compressed text."""

POS = ("noun", "verb", "adj", "adv")
LETTERS = "nvar"
OFFENSIVE = re.compile(
    r"\([^)]*\b(slur|offensive)\b|(?:\([^)]*\) )?(?:an? )?(?:\w+ but |often |extremely )?"
    r"(?:offensive|derogatory|disparaging|vulgar|obscene|insulting)(?: (?:and|or) \w+)?"
    r" (?:terms?|names?|words?|slang|expression|reference)\b"
)
"""How the glosses of slurs, disparaging and obscene words begin."""

SHOWN_SHARE = 0.9
"""A word is hidden where the senses that are not offensive have less of it."""

_TENSORS = ("vectors", "synset", "pos", "field", "starts", "synset_of", "number", "group", "spellings", "keys",
            "exceptions", "text", "blocks")  # fmt: skip


class Text(NamedTuple):
    """What is written about a synset."""

    words: tuple[str, ...]
    gloss: str
    examples: tuple[str, ...]


class Definition(NamedTuple):
    """A sense that a user adds: a word, its gloss and part of speech."""

    word: str
    gloss: str
    pos: str = "noun"
    examples: tuple[str, ...] = ()


class DictionaryFile:
    """The arrays of a dictionary.

    Args:
        tensors: see the table above.
        options: what else the file says: ``fields``, ``sources``, and what :class:`~polysema.senses.dictionary.Reading`
            is calibrated with.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], options: Mapping[str, Any]) -> None:
        missing = [name for name in _TENSORS if name not in tensors]
        if missing:
            raise FormatError(f"not a dictionary: it lacks {', '.join(missing)}")
        self.tensors, self.options = dict(tensors), dict(options)
        self.vectors, self.pos = tensors["vectors"], tensors["pos"]
        self.starts = tensors["starts"].astype(np.int64)  # a search for a Python number would convert them each time
        self.synset_of, self.number, self.group = tensors["synset_of"], tensors["number"], tensors["group"]
        self.spellings = _unpacked(tensors["spellings"])
        self.rows = {spelling: row for row, spelling in enumerate(self.spellings)}
        self.counts = {
            name.removeprefix("count."): value for name, value in tensors.items() if name.startswith("count.")
        }
        self.added: list[Definition] = []
        self._added_rows: dict[str, list[int]] = {}
        if len(self.starts) != len(self.spellings) + 1 or self.starts[-1] != len(self.synset_of):
            raise FormatError(
                f"not a dictionary: {len(self.spellings)} spellings, {len(self.starts)} starts, "
                f"{len(self.synset_of)} senses"
            )
        inside = (self.synset_of >= 0) & (self.synset_of < len(self.vectors))
        if self.starts[0] != 0 or (np.diff(self.starts) < 0).any() or not inside.all():
            raise FormatError("not a dictionary: a spelling or a sense points to a row that is not there")

    @classmethod
    def load(cls, folder: str | Path) -> DictionaryFile:
        """A dictionary from its folder."""
        from safetensors import SafetensorError, safe_open

        path = Path(folder) / NAME
        if path.exists():
            check_regular(path)
        try:
            with safe_open(path, "np") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != FORMAT:
                    raise FormatError(f"{path} is not a dictionary: its format is {metadata.get('format')!r}")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                options = json.loads(metadata["options"])
            added = [line.split("\t") for line in _unpacked(tensors.pop("added", np.empty(0, np.uint8)))]
            vectors, found = tensors.pop("added.vectors", None), cls(tensors, options)
            if vectors is None:
                return found
            definitions = [Definition(word, gloss, pos, tuple(rest)) for word, gloss, pos, *rest in added]
            return found.extended(definitions, vectors.astype(np.float32))
        except (OSError, SafetensorError, ValueError, KeyError, zlib.error) as error:
            raise FormatError(f"{path} is not a dictionary: {error}") from None

    def save(self, folder: str | Path) -> None:
        """Write ``dictionary.safetensors`` into a folder."""
        from safetensors.numpy import save_file

        Path(folder).mkdir(parents=True, exist_ok=True)
        metadata, tensors = {"format": FORMAT, "options": json.dumps(self.options)}, dict(self.tensors)
        if self.added:
            lines = ["\t".join([d.word, d.gloss, d.pos, *d.examples]) for d in self.added]
            tensors |= {"added": _packed(lines), "added.vectors": self.vectors[len(self.tensors["pos"]) :]}
        save_file(tensors, Path(folder) / NAME, metadata)

    @cached_property
    def keys(self) -> list[str]:
        """What follows the lemma in the key of each sense: (K,)."""
        return _unpacked(self.tensors["keys"])

    @cached_property
    def exceptions(self) -> list[tuple[str, str, str]]:
        """(form, lemma, letter) of irregular forms."""
        found = (line.split("\t") for line in _unpacked(self.tensors["exceptions"]))
        return [(form, lemma, letter) for form, lemma, letter in found]

    def extended(self, definitions: Sequence[Definition], vectors: NDArray[np.floating[Any]]) -> DictionaryFile:
        """A copy with further senses. Their keys are ``word%added:1``, ``word%added:2`` …

        Args:
            vectors: (definitions, n) the gloss vector of each.
        """
        found = copy(self)
        found.added = [*self.added, *definitions]
        found._added_rows = {word: list(rows) for word, rows in self._added_rows.items()}
        groups = []
        for i, definition in enumerate(definitions):
            check_choice("part of speech", definition.pos, POS)
            word = " ".join(definition.word.lower().replace("_", " ").split())
            rows = found._added_rows.setdefault(word, [])
            rows.append(len(self.synset_of) + i)
            groups.append(max(256 - len(rows), 128))  # a group of its own
        count, synsets = len(definitions), len(self.pos)
        found.vectors = np.concatenate([self.vectors, _codes(vectors)])
        found.pos = np.append(self.pos, [POS.index(definition.pos) for definition in definitions]).astype(np.uint8)
        found.synset_of = np.append(self.synset_of, np.arange(synsets, synsets + count)).astype(np.int32)
        found.number = np.append(self.number, np.ones(count, np.uint8))
        found.group = np.append(self.group, groups).astype(np.uint8)
        found.counts = {name: np.append(value, np.zeros(count, value.dtype)) for name, value in self.counts.items()}
        return found

    @lru_cache(maxsize=100_000)  # noqa: B019  (a dictionary lives as long as the process)
    def letters(self, spelling: str) -> str:
        """The letters of a spelling's parts of speech; empty for a word that is no lemma."""
        if spelling not in self.rows and spelling not in self._added_rows:
            return ""
        return "".join(LETTERS[pos] for pos in np.unique(self.pos[self.synset_of[self._all_senses(spelling)]]))

    def _all_senses(self, spelling: str) -> NDArray[np.int64]:
        row = self.rows.get(spelling)
        own = np.arange(self.starts[row], self.starts[row + 1]) if row is not None else np.empty(0, np.int64)
        added = self._added_rows.get(spelling)
        return np.append(own, added) if added else own

    def senses(self, spelling: str, letters: str = LETTERS) -> NDArray[np.int64]:
        """The rows of a spelling's senses, by part of speech and WordNet's rank."""
        senses = self._all_senses(spelling)
        wanted = [LETTERS.index(letter) for letter in letters]
        return senses[np.isin(self.pos[self.synset_of[senses]], wanted)]

    def key(self, sense: int) -> str:
        """The sense key: ``bank%1:17:01::``."""
        if sense >= len(self.keys):
            word, rows = next((word, rows) for word, rows in self._added_rows.items() if sense in rows)
            return f"{word.replace(' ', '_')}%added:{rows.index(sense) + 1}"
        row = int(np.searchsorted(self.starts, sense, side="right")) - 1
        return f"{self.spellings[row].replace(' ', '_')}%{self.keys[sense]}"

    def unit_vectors(self, senses: NDArray[np.int64]) -> NDArray[np.float32]:
        """The gloss vectors of senses: (senses, n), unit."""
        vectors = self.vectors[self.synset_of[senses]].astype(np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def common_vectors(self, source: str, most: int) -> NDArray[np.float32]:
        """The vectors of the most frequent senses: (most, n), unit."""
        return self.unit_vectors(np.argsort(-self.counts[source].astype(np.int64), kind="stable")[:most])

    def synset(self, row: int) -> tuple[str, str]:
        """The id and the lexical field of a synset row; "" for added senses and where the field says nothing."""
        if row >= len(self.tensors["pos"]):
            return "", ""
        field = self.options["fields"][self.tensors["field"][row]]
        name = f"{self.tensors['synset'][row]:08d}-{LETTERS[self.pos[row]]}"
        return name, "" if field in ("all", "pert", "ppl", "Tops") else field

    def is_offensive(self, synset: int) -> bool:
        """Whether a synset is a slur, disparaging or obscene."""
        return OFFENSIVE.match(self.text(synset).gloss) is not None

    def offensive_words(self, source: str) -> frozenset[str]:
        """The spellings of which offensive senses have a tenth or more."""
        known = self.tensors.get("offensive")
        if known is None:
            glosses = (line.split("\t")[1] for b in range(len(self.tensors["blocks"]) - 1) for line in self._block(b))
            known = np.array([OFFENSIVE.match(gloss) is not None for gloss in glosses])
        senses = np.flatnonzero(known[self.synset_of[: self.starts[-1]]])
        found = set()
        for row in np.unique(np.searchsorted(self.starts, senses, side="right") - 1).tolist():
            own = np.arange(self.starts[row], self.starts[row + 1])
            if self.frequencies(own, source)[known[self.synset_of[own]] > 0].sum() > 1 - SHOWN_SHARE:
                found.add(self.spellings[row])
        return frozenset(found)

    def longest(self, word: str) -> int:
        """How many words the longest entry has that begins with a word; 0 where no entry of several words does."""
        found = [added for added in self._added_rows if added.startswith(f"{word} ")]
        for mark in (" ", "-", ". "):
            first, end = (bisect_left(self.spellings, word + each) for each in (mark, f"{mark}\uffff"))
            found += self.spellings[first:end]
        return max((len(spelling.replace("-", " ").split()) for spelling in found), default=0)

    def text(self, synset: int) -> Text:
        """Words, gloss and examples of a synset row."""
        own = len(self.tensors["pos"])
        if synset >= own:
            added = self.added[synset - own]
            return Text((added.word,), added.gloss, added.examples)
        words, gloss, *examples = self._block(synset // BLOCK)[synset % BLOCK].split("\t")
        return Text(tuple(words.split("|")), gloss, tuple(examples))

    def frequencies(
        self, spelling_senses: NDArray[np.int64], source: str, smoothing: float = 0.5
    ) -> NDArray[np.float64]:
        """p_s of the senses of a word, by their counts in a source.

        p_s ∝ count_s + smoothing / number_s, so that a sense that was never seen has the share of its rank.
        """
        weights = self.weights(spelling_senses, source, smoothing)
        return np.asarray(weights / weights.sum(), np.float64)

    def weights(self, senses: NDArray[np.int64], source: str, smoothing: float = 0.5) -> NDArray[np.float64]:
        """count_s + smoothing / number_s, in the shape of ``senses``."""
        if source not in self.counts:
            raise InputError(f"no sense frequencies of {source!r}: choose {', '.join(sorted(self.counts))}")
        return np.asarray(self.counts[source][senses] + smoothing / self.number[senses].astype(float), np.float64)

    @lru_cache(maxsize=512)  # noqa: B019
    def _block(self, block: int) -> list[str]:
        blocks = self.tensors["blocks"]
        return _unpacked(self.tensors["text"][blocks[block] : blocks[block + 1]])


def build_dictionary(
    wordnet: WordNet,
    vectors: NDArray[np.floating[Any]],
    counts: Mapping[str, Mapping[str, int]],
    options: Mapping[str, Any] | None = None,
    groups: Mapping[str, int] | None = None,
    without: Collection[str] = (),
) -> DictionaryFile:
    """A dictionary of WordNet's senses.

    Args:
        vectors: (S, n) the gloss vector of each synset, in WordNet's order.
        counts: for each source, the occurrences of each sense key.
        groups: the coarse sense of each sense key, from 0; a key that is not there stands alone.
        without: sense keys to leave out.
    """
    if len(vectors) != len(wordnet.synsets):
        raise InputError(f"{len(vectors)} vectors do not fit {len(wordnet.synsets)} synsets")
    rows = {name: row for row, name in enumerate(wordnet.synsets)}
    synsets = list(wordnet.synsets.values())
    words = [(spelling, _distinct(keys, without)) for spelling, keys in sorted(wordnet.senses().items())]
    words = [(spelling, keys) for spelling, keys in words if keys]
    flat = [key for _, keys in words for key in keys]
    lines = ["\t".join(["|".join(s.words), s.gloss, *s.examples]) for s in synsets]
    packed = [_packed(lines[first : first + BLOCK]) for first in range(0, len(lines), BLOCK)]
    tensors: dict[str, NDArray[Any]] = {
        "vectors": _codes(vectors),
        "synset": np.array([int(s.id[:-2]) for s in synsets], np.int32),
        "pos": np.array([POS.index(s.pos) for s in synsets], np.uint8),
        "field": np.array([FIELDS.index(s.field) for s in synsets], np.uint8),
        "starts": np.cumsum([0, *(len(keys) for _, keys in words)]).astype(np.int32),
        "synset_of": np.array([rows[key.synset] for key in flat], np.int32),
        "number": np.array([min(max(key.number, 1), 255) for key in flat], np.uint8),
        "group": np.array(_groups(words, groups or {}), np.uint8),
        "offensive": np.array([OFFENSIVE.match(s.gloss) is not None for s in synsets], np.uint8),
        "spellings": _packed([spelling for spelling, _ in words]),
        "keys": _packed([key.key.partition("%")[2] for key in flat]),
        "exceptions": _packed(["\t".join(exception) for exception in wordnet.exceptions]),
        "text": np.concatenate(packed),
        "blocks": np.cumsum([0, *(len(block) for block in packed)]),
    }
    for source, found in counts.items():
        tensors[f"count.{source}"] = np.array([min(found.get(key.key, 0), 65535) for key in flat], np.uint16)
    return DictionaryFile(tensors, {"fields": list(FIELDS), **(options or {})})


def _codes(vectors: NDArray[np.floating[Any]]) -> NDArray[np.int8]:
    """Vectors as numbers of 6 bits, the largest of each ±31: a compressed file of them is a quarter smaller."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    return np.asarray(np.rint(vectors / largest * 31), np.int8)


def _distinct(keys: Sequence[SenseKey], without: Collection[str]) -> list[SenseKey]:
    """One key a synset: spellings that differ in case alone name some synsets twice."""
    found: dict[str, SenseKey] = {}
    for key in keys:
        if key.key not in without:
            found.setdefault(key.synset, key)
    return list(found.values())


def _groups(words: Iterable[tuple[str, Sequence[SenseKey]]], groups: Mapping[str, int]) -> list[int]:
    """Coarse senses of each spelling, numbered from 0 in the order of its senses."""
    found = []
    for _, keys in words:
        numbers: dict[object, int] = {}
        for key in keys:
            found.append(numbers.setdefault(groups.get(key.key, key.key), min(len(numbers), 255)))
    return found


def _packed(lines: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress("\n".join(lines).encode(), 9), np.uint8)


def _unpacked(data: NDArray[np.uint8]) -> list[str]:
    text = zlib.decompress(data.tobytes()).decode() if len(data) else ""
    return text.split("\n") if text else []
