"""Parsed text: how often each word filled each slot of each head. Parsed texts add up.

A folder: ``config.json``, ``words.txt`` (a lemma a line, sorted) and ``counts.safetensors`` with ``head`` ``slot``
``filler`` ``count``, (R,) each, sorted, so that the same relations are the same bytes however they were counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError
from polysema.slots.relations import Relation
from polysema.storage import atomic_folder, check_regular, holds, read_config, save_arrays

FORMAT = "polysema-parsed"
VERSION = 1
owner = holds(FORMAT, VERSION, ("config.json", "words.txt", "counts.safetensors"))
_ARRAYS = ("head", "slot", "filler", "count")


@dataclass(frozen=True, eq=False)
class ParsedText:
    """Counts of relations.

    Attributes:
        words: the lemmas, sorted.
        slots: the names of the slots, sorted.
        head: (R,), the row of each relation's head in ``words``.
        slot: (R,), its row in ``slots``.
        filler: (R,), the row of the filler.
        count: (R,), how often it was seen.
        facts: how much text was read, and by which parser.
    """

    words: tuple[str, ...]
    slots: tuple[str, ...]
    head: NDArray[np.int32]
    slot: NDArray[np.int16]
    filler: NDArray[np.int32]
    count: NDArray[np.int64]
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, counts: Mapping[Relation, int], facts: Mapping[str, Any] | None = None) -> ParsedText:
        """From counted relations."""
        words = sorted({word for relation in counts for word in (relation.head, relation.filler)})
        slots = sorted({relation.slot for relation in counts})
        word_row = {word: row for row, word in enumerate(words)}
        slot_row = {slot: row for row, slot in enumerate(slots)}
        rows = sorted((word_row[r.head], slot_row[r.slot], word_row[r.filler], n) for r, n in counts.items())
        table = np.array(rows, np.int64).reshape(-1, 4)
        return cls(
            tuple(words), tuple(slots), table[:, 0].astype(np.int32), table[:, 1].astype(np.int16),
            table[:, 2].astype(np.int32), table[:, 3], dict(facts or {}),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"ParsedText({len(self.words)} words, {len(self)} relations, seen {int(self.count.sum())} times)"

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the folder, whole or not at all."""
        config = {"format": FORMAT, "version": VERSION, "slots": list(self.slots), "facts": dict(self.facts)}
        with atomic_folder(Path(path), overwrite, owner) as folder:
            (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
            (folder / "words.txt").write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")
            save_arrays(folder / "counts.safetensors", {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: str | Path) -> ParsedText:
        """Read a folder; what does not fit together is an error."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = Path(path)
        config = read_config(path, FORMAT, VERSION)
        try:
            check_regular(path / "words.txt")
            check_regular(path / "counts.safetensors")
            words = (path / "words.txt").read_text(encoding="utf-8").splitlines()
            arrays = load_file(path / "counts.safetensors")
            head, slot, filler, count = (arrays[name] for name in _ARRAYS)
            slots, facts = config["slots"], config.get("facts", {})
        except (OSError, UnicodeDecodeError, SafetensorError, KeyError, TypeError) as error:
            raise FormatError(f"{path}: damaged parsed text: {error}") from None
        named = isinstance(slots, list) and all(isinstance(name, str) for name in slots)
        if not named or not isinstance(facts, dict):
            raise FormatError(f"{path}: damaged parsed text: config.json wants names of slots, and a table of facts")
        if len(set(words)) < len(words) or len(set(slots)) < len(slots):
            raise FormatError(f"{path}: damaged parsed text: a word or a slot stands more than once")
        numbers = (head, slot, filler, count)
        fits = all(array.dtype.kind in "iu" and array.shape == (count.size,) for array in numbers) and all(
            not len(array) or (array.min() >= least and array.max() < size)
            for array, least, size in (
                (head, 0, len(words)), (filler, 0, len(words)), (slot, 0, len(slots)), (count, 1, 1 << 62),
            )
        )  # fmt: skip
        if not fits:
            raise FormatError(f"{path}: damaged parsed text: its relations do not fit its words")
        return cls(tuple(words), tuple(slots), head, slot, filler, count, facts)


def is_parsed(path: str | Path) -> bool:
    """Whether a path is a folder of parsed text."""
    try:
        read_config(Path(path), FORMAT)
    except FormatError:
        return False
    return True


def merged(parts: Iterable[ParsedText]) -> ParsedText:
    """The sum of parsed texts: the same whatever their order."""
    parts = list(parts)
    words = sorted(set().union(*(part.words for part in parts)))
    slots = sorted(set().union(*(part.slots for part in parts)))
    word_row = {word: row for row, word in enumerate(words)}
    slot_row = {slot: row for row, slot in enumerate(slots)}
    keys, counts = [], []
    for part in parts:
        rows = np.array([word_row[word] for word in part.words], np.int64)
        kinds = np.array([slot_row[slot] for slot in part.slots], np.int64)
        if len(part):
            keys.append((rows[part.head] * len(slots) + kinds[part.slot]) * len(words) + rows[part.filler])
            counts.append(part.count)
    if not keys:
        raise InputError("no relation was found in the text: there is nothing to add up")
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.zeros(len(key), np.int64)
    np.add.at(count, where.ravel(), np.concatenate(counts))
    total: Counter[str] = Counter()
    for part in parts:
        total.update({name: value for name, value in part.facts.items() if isinstance(value, int)})
    described = {name: value for part in parts for name, value in part.facts.items() if not isinstance(value, int)}
    head, rest = np.divmod(key, len(slots) * len(words))
    slot, filler = np.divmod(rest, len(words))
    return ParsedText(
        tuple(words), tuple(slots), head.astype(np.int32), slot.astype(np.int16), filler.astype(np.int32), count,
        {**described, **total},
    )  # fmt: skip
