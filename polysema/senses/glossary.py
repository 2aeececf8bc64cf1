"""A user's own glossary: a table of words and their definitions, as CSV.

The columns are ``word``, ``gloss`` and, where it is not ``noun``, ``pos``; a first line with these names is optional.
"""

from __future__ import annotations

import csv
from pathlib import Path

from polysema.errors import FormatError, check_choice
from polysema.senses.dictionary_files import POS, Definition
from polysema.storage import read_text

COLUMNS = ("word", "gloss", "pos")


def read_glossary(path: str | Path) -> list[Definition]:
    """The definitions in a CSV file."""
    found = []
    for number, row in enumerate(csv.reader(read_text(Path(path)).splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and tuple(cells) == COLUMNS[: len(cells)]):
            continue
        if not 2 <= len(cells) <= 3 or not all(cells[:2]):
            raise FormatError(f"{path}, line {number}: give a word, its gloss and, if you like, its part of speech")
        pos = (cells[2:] or [""])[0].lower() or "noun"
        check_choice("part of speech", pos, POS)
        found.append(Definition(cells[0], cells[1], pos))
    if not found:
        raise FormatError(f"{path}: no definitions: give a word and its gloss a line, with a comma between")
    return found
