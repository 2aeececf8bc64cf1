"""What commands print: aligned columns for people, JSON for programs."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unicodedata import combining, east_asian_width

import click

from polysema.errors import FormatError
from polysema.files.reading import read_text


def lines_of(ctx: Any, param: Any, value: str | None) -> list[str] | None:
    """For an option that names a text file, or ``-`` for standard input: its lines."""
    if value is None:
        return None
    if value != "-":
        return read_text(Path(value)).splitlines()
    try:
        return sys.stdin.buffer.read().decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"standard input: not UTF-8 text at byte {error.start}") from None


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
NATURAL = click.IntRange(min=0)


class _Notes(logging.Handler):
    """What is odd about a text, a line each on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"note: {record.getMessage()}", err=True)


@contextmanager
def notes() -> Iterator[None]:
    """Print what reading text logs, for as long as the block lasts."""
    log, handler = logging.getLogger("polysema.corpus"), _Notes()
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def print_json(value: Any) -> None:
    """JSON on standard output; infinities, which JSON does not know, as null."""
    click.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Sequence[Any]], headings: Sequence[str] = ()) -> None:
    """Columns side by side, numbers to the right, headings dim; colours only on a terminal."""
    cells = [[_cell(value) for value in row] for row in rows]
    lines = [*cells, list(headings)] if headings else cells
    width = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    numeric = [all(isinstance(row[i], int | float) or row[i] is None for row in rows) for i in range(len(width))]
    if headings:
        click.echo(click.style(_line(headings, width, numeric), dim=True))
    for row in cells:
        click.echo(_line(row, width, numeric))


def heading(text: str) -> None:
    """A line above a block."""
    click.echo(click.style(text, bold=True))


def number(value: float | None, digits: int = 3) -> str:
    """A number for people."""
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}f}"


def _line(cells: Sequence[str], width: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        " " * (w - _width(cell)) + cell if right else cell + " " * (w - _width(cell))
        for cell, w, right in zip(cells, width, numeric, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _width(text: str) -> int:
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
