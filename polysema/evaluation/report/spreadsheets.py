"""The report's tables as CSV: one file a table, one line a figure."""

from __future__ import annotations

import csv
import io

from polysema.evaluation.report.tables import Table

HEADINGS = ("model", "column", "value", "paper", "difference", "low", "high", "spread", "bold", "mark")


def to_csv(table: Table) -> str:
    """Every figure of a table with what is known of it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADINGS)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.value is None:
                continue
            low, high = cell.interval or ("", "")
            numbers = [_blank(value) for value in (cell.paper, cell.difference, low, high, cell.spread)]
            writer.writerow([row.name, column, cell.value, *numbers, int(cell.bold), cell.mark])
    return out.getvalue()


def _blank(value: float | str | None) -> float | str:
    return "" if value is None else value
