"""The report's tables as CSV: one file a table, one line a figure."""

from __future__ import annotations

import csv
import io

from polysema.reproduction.report.tables import Table

HEADINGS = (
    "model", "column", "value", "paper", "difference", "low", "high", "spread", "seeds", "items", "total", "bold",
    "mark", "note",
)  # fmt: skip


def to_csv(table: Table) -> str:
    """Every figure of a table with what is known of it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADINGS)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.value is None and cell.paper is None:
                continue
            low, high = cell.interval or ("", "")
            numbers = [_blank(value) for value in (cell.value, cell.paper, cell.difference, low, high, cell.spread)]
            items = cell.items or ("", "")
            seeds = " ".join(map(str, cell.each))
            writer.writerow([row.name, column, *numbers, seeds, *items, int(cell.bold), cell.mark, row.note])
    return out.getvalue()


def _blank(value: float | str | None) -> float | str:
    return "" if value is None else value
