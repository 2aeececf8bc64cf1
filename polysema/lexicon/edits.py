"""What a user made of the senses of a lexicon: names, parts of speech, senses put together, senses hidden.

Kept beside a lexicon in ``edits.json``. Training and description never touch it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError, OutputError, chosen
from polysema.files.atomic import atomic_file
from polysema.files.config import read_config
from polysema.files.reading import read_text
from polysema.lexicon.parts import PARTS_OF_SPEECH, PartOfSpeech, grouped

FILE = "edits.json"
TAGS: dict[str, PartOfSpeech] = {part: part for part in PARTS_OF_SPEECH}


@dataclass(frozen=True, slots=True)
class Edit:
    """What was made of one word's senses, by their ids.

    Attributes:
        names: what senses are called.
        merged: senses that belong to another.
        hidden: senses that are not shown and not chosen.
        parts: what parts of speech senses are.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    merged: Mapping[int, int] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()
    parts: Mapping[int, PartOfSpeech] = field(default_factory=dict)

    def applied(
        self, weights: NDArray[np.float64], vectors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights (m,) and unit vectors (n, m) by id, as the edit wants them."""
        owner = np.arange(len(weights))
        for number in range(len(owner)):
            own = self.merged.get(number, number)
            owner[number] = -1 if own in self.hidden or not 0 <= own < len(owner) else own
        joined = grouped(owner, weights, vectors)
        return joined if joined[0].any() else (weights, vectors)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "names": {str(number): name for number, name in self.names.items()},
            "merged": {str(number): other for number, other in self.merged.items()},
            "hidden": sorted(self.hidden),
            "parts": {str(number): part for number, part in self.parts.items()},
        }


Edits = Mapping[str, Edit]
"""By word. It is never changed in place: a lexicon with other edits holds another one."""


def renamed(edit: Edit, sense: int, name: str) -> Edit:
    """A sense called by a name; an empty one takes the name away."""
    names = {number: old for number, old in edit.names.items() if number != sense}
    name = " ".join(name.split())
    return replace(edit, names={**names, sense: name} if name else names)


def tagged(edit: Edit, sense: int, part: str) -> Edit:
    """A sense with another part of speech."""
    return replace(edit, parts={**edit.parts, sense: chosen("part of speech", part, TAGS)})


def merged(edit: Edit, senses: Iterable[int]) -> Edit:
    """Senses put together: all become the first."""
    first, *others = dict.fromkeys(edit.merged.get(sense, sense) for sense in senses)
    moved = {number: first if owner in others else owner for number, owner in edit.merged.items()}
    return replace(edit, merged={**moved, **dict.fromkeys(others, first)})


def hidden(edit: Edit, sense: int) -> Edit:
    """A sense hidden."""
    return replace(edit, hidden=edit.hidden | {sense})


def read_edits(folder: Path) -> Edits:
    """The edits in a lexicon's folder; none where there is no file."""
    file = folder / FILE
    if not file.is_file():
        return {}
    try:
        found = json.loads(read_text(file))
        return {
            str(word): Edit(
                {int(number): str(name) for number, name in facts.get("names", {}).items()},
                {int(number): int(other) for number, other in facts.get("merged", {}).items()},
                frozenset(map(int, facts.get("hidden", ()))),
                {int(number): TAGS[part] for number, part in facts.get("parts", {}).items()},
            )
            for word, facts in found.items()
        }
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise FormatError(f"{file}: damaged: {error}") from None


def as_text(edits: Edits) -> str:
    """The content of the file."""
    return json.dumps({word: edit.to_dict() for word, edit in edits.items()}, indent=1, ensure_ascii=False) + "\n"


def write_edits(folder: Path, edits: Edits) -> None:
    """Write the file, whole or not at all."""
    try:
        with atomic_file(folder / FILE, overwrite=True, owner=_is_lexicon) as stream:
            stream.write(as_text(edits).encode())
    except (OSError, OutputError) as error:
        raise InputError(f"{folder}: senses cannot be edited there ({error}): save a copy") from None


def _is_lexicon(file: Path) -> None:
    read_config(file.parent, "polysema-lexicon")
