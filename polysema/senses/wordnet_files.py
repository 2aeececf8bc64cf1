"""WordNet's own database files: synsets, sense keys and the forms of words.

Reads the ``data.*``, ``index.sense`` and ``*.exc`` files of WordNet 3.0 (Debian's packages ``wordnet-base`` and
``wordnet-sense-index`` put them under ``/usr/share/wordnet``). The formats are described in ``wndb(5WN)`` and
``senseidx(5WN)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from polysema.errors import DataError

PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
"""WordNet's letters; ``s`` is a satellite adjective."""

FIELDS = (
    "all", "pert", "all", "Tops", "act", "animal", "artifact", "attribute", "body", "cognition", "communication",
    "event", "feeling", "food", "group", "location", "motive", "object", "person", "phenomenon", "plant",
    "possession", "process", "quantity", "relation", "shape", "state", "substance", "time", "body", "change",
    "cognition", "communication", "competition", "consumption", "contact", "creation", "emotion", "motion",
    "perception", "possession", "social", "stative", "weather", "ppl",
)  # fmt: skip
"""Lexical fields by lexicographer file number, 0 to 44 (``lexnames(5WN)``); the part of speech stands beside them."""

_FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_QUOTED = re.compile(r'"([^"]*)"?')
_MARKER = re.compile(r"\((?:a|p|ip)\)$")


@dataclass(frozen=True, slots=True)
class Synset:
    """One meaning and the words that have it."""

    id: str  # offset and part of speech, such as ``02084071-n``
    pos: str  # ``noun``, ``verb``, ``adj`` or ``adv``
    field: str  # the lexical field, such as ``animal``
    words: tuple[str, ...]  # as they are written, most usual first, with spaces
    gloss: str  # the definition
    examples: tuple[str, ...]  # sentences or phrases
    relations: tuple[tuple[str, str], ...]  # symbol and synset id: ``@`` hypernym, ``~`` hyponym, ``!`` antonym …


@dataclass(frozen=True, slots=True)
class SenseKey:
    """One word with one meaning: a line of ``index.sense``."""

    key: str  # such as ``dog%1:05:00::``
    synset: str  # its id
    number: int  # WordNet's rank of the sense among those of the word and part of speech, from 1
    count: int  # how often its own tagged texts use it

    @property
    def lemma(self) -> str:
        """The word in lower case, with spaces: the spelling that a reader looks up."""
        return self.key.partition("%")[0].replace("_", " ")


@dataclass(frozen=True, slots=True)
class WordNet:
    """The database."""

    synsets: dict[str, Synset]  # by id, in the order of the files
    keys: tuple[SenseKey, ...]  # every sense key
    exceptions: tuple[tuple[str, str, str], ...]  # (form, lemma, pos) of irregular forms

    def gloss_texts(self) -> list[str]:
        """What the encoder reads for each synset, in order; see :func:`gloss_text`."""
        return [gloss_text(synset, self.synsets) for synset in self.synsets.values()]

    def senses(self) -> dict[str, list[SenseKey]]:
        """The keys of each spelling: nouns, verbs, adjectives, adverbs, each by WordNet's rank."""
        found: dict[str, list[SenseKey]] = {}
        for key in self.keys:
            found.setdefault(key.lemma, []).append(key)
        order = {"n": 0, "v": 1, "a": 2, "r": 3}
        for keys in found.values():
            keys.sort(key=lambda key: (order[key.synset[-1]], key.number, key.key))
        return found


def read_wordnet(folder: Path) -> WordNet:
    """The database in a folder such as ``/usr/share/wordnet``."""
    names = ("data.noun", "data.verb", "data.adj", "data.adv", "index.sense")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder} lacks {', '.join(missing)} of WordNet 3.0: on Debian, install wordnet-base, wordnet-sense-index"
        )
    synsets = {synset.id: synset for name in _FILES for synset in _synsets(folder / f"data.{name}")}
    return WordNet(synsets, tuple(_keys(folder / "index.sense", synsets)), tuple(_exceptions(folder)))


def _synsets(path: Path) -> Iterator[Synset]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("  "):
                continue  # the licence
            data, _, text = line.rstrip().partition("| ")
            parts = data.split()
            pos = PARTS_OF_SPEECH[parts[2]]
            count = int(parts[3], 16)
            words = tuple(_MARKER.sub("", word).replace("_", " ") for word in parts[4 : 4 + 2 * count : 2])
            at = 4 + 2 * count
            pointers = parts[at + 1 : at + 1 + 4 * int(parts[at])]
            relations = tuple(
                (pointers[i], f"{pointers[i + 1]}-{pointers[i + 2].replace('s', 'a')}")
                for i in range(0, len(pointers), 4)
            )
            gloss, examples = split_gloss(text)
            yield Synset(f"{parts[0]}-{_FILES[pos]}", pos, FIELDS[int(parts[1])], words, gloss, examples, relations)


def split_gloss(text: str) -> tuple[str, tuple[str, ...]]:
    """The definition and the examples of a gloss.

    >>> split_gloss('be in motion; "the wheels turn"; "she turned"')
    ('be in motion', ('the wheels turn', 'she turned'))
    """
    examples = tuple(found.strip(" ;,") for found in _QUOTED.findall(text) if len(found.split()) > 1)
    definition = text if not examples else text[: text.index('"')]
    return " ".join(definition.split()).strip(" ;:,"), examples


def gloss_text(synset: Synset, synsets: Mapping[str, Synset]) -> str:
    """What the encoder reads for a synset: part of speech, field, words, gloss, and a hypernym where it has one.

    >>> canine = Synset("2-n", "noun", "animal", ("canine", "canid"), "a fissiped mammal", (), ())
    >>> dog = Synset("1-n", "noun", "animal", ("dog",), "a member of the genus Canis", (), (("@", "2-n"),))
    >>> gloss_text(dog, {"1-n": dog, "2-n": canine})
    'noun animal. dog: a member of the genus Canis; kind of canine'
    """
    topic = f"{synset.pos} {synset.field}" if synset.field not in ("all", "pert", "ppl", "Tops") else synset.pos
    above = next((synsets[name].words[0] for symbol, name in synset.relations if symbol in ("@", "@i")), None)
    return f"{topic}. {', '.join(synset.words)}: {synset.gloss}" + (f"; kind of {above}" if above else "")


def _keys(path: Path, synsets: dict[str, Synset]) -> Iterator[SenseKey]:
    letters = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            key, offset, number, count = line.split()
            synset = f"{offset}-{letters[key.partition('%')[2][0]]}"
            if synset not in synsets:
                raise DataError(f"{path}: {key} names synset {synset}, which the data files lack")
            yield SenseKey(key, synset, int(number), int(count))


def _exceptions(folder: Path) -> Iterator[tuple[str, str, str]]:
    for name, letter in _FILES.items():
        path = folder / f"{name}.exc"
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                form, *lemmas = (word.replace("_", " ") for word in line.split())
                for lemma in lemmas:
                    yield form, lemma, letter
