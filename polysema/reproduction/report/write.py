"""The report on disk, and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import json
from contextlib import nullcontext
from pathlib import Path

from polysema.checkpoints import WorkingFolder
from polysema.reproduction.report.html import to_html
from polysema.reproduction.report.latex import table_to_latex, to_latex
from polysema.reproduction.report.tables import Cell, Report, Table, bounds, shown, signed
from polysema.storage import atomic_file, atomic_folder

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
            numbers = [cell.value, cell.paper, cell.difference, *(cell.interval or ("", "")), cell.spread]
            items, seeds = cell.items or ("", ""), " ".join(map(str, cell.each))
            cells = [row.name, column, *numbers, seeds, *items, int(cell.bold), cell.mark, row.note]
            writer.writerow([_no_formula(value) if isinstance(value, str) else value for value in cells])
    return out.getvalue()


def _no_formula(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        return all(float(part) == float(part) for part in text.split())
    except ValueError:
        return False


def to_markdown(report: Report) -> str:
    """The report as Markdown; plots are linked as files beside it."""
    lines = [f"# {_escaped(report.title)}"]
    for section in report.sections:
        lines += ["", f"## {_escaped(section.title)}"]
        for paragraph in section.text:
            lines += ["", paragraph if paragraph.startswith("```") else _escaped(paragraph)]
        for table in section.tables:
            lines += ["", *_table(table)]
        for plot in section.plots:
            caption = _escaped(plot.caption)
            lines += ["", f"![{caption}](plots/{plot.key}.svg)", "", f"*{caption}*"]
    return "\n".join(lines) + "\n"


def _table(table: Table) -> list[str]:
    lines = [f"**{_escaped(table.caption)}**", ""]
    lines += ["| | " + " | ".join(map(_escaped, table.columns)) + " |", "|---" * (len(table.columns) + 1) + "|"]
    for row in table.rows:
        name = _escaped(row.name) + (f" ({_escaped(row.note)})" if row.note else "")
        lines.append(f"| {name} | " + " | ".join(map(_cell, row.cells)) + " |")
    return lines


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    if cell.bold:
        text = f"**{text}**"
    if cell.mark:
        text = f"<u>{text}</u>" + ("≈" if cell.mark == "equivalent" else "")
    if cell.spread is not None:
        text += f" ± {cell.spread:.3f}".replace("0.", ".", 1)
    if cell.interval is not None:
        text += f" [{', '.join(bounds(cell.interval))}]"
    if cell.items is not None and cell.items[0] < cell.items[1]:
        text += f", {cell.items[0]} of {cell.items[1]}"
    if cell.paper is not None:
        difference = "" if cell.difference is None else f" {signed(cell.difference, cell.style)}"
        text += f" (paper {shown(cell.paper, cell.style)}{difference.rstrip()}{'!' if cell.differs else ''})"
    return text


def _escaped(text: str) -> str:
    """Text without what Markdown takes for a column, a line or HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def write_report(report: Report, folder: str | Path) -> list[Path]:
    """Write a report into a folder: a new one is there whole or not at all; files of an earlier report are replaced.

    A folder that holds anything else is refused.

    ``report.html`` is the page; ``report.md`` and ``report.json`` hold the same, ``tables/*.csv`` and ``tables/*.tex``
    one table each (``report.tex`` shows them all), ``plots/*.svg`` one plot each.
    """
    top = Path(folder)
    files = {
        "report.html": to_html(report),
        "report.md": to_markdown(report),
        "report.tex": to_latex(report),
        "report.json": json.dumps(report.data, indent=2, ensure_ascii=False) + "\n",
    }
    for section in report.sections:
        files |= {f"tables/{table.key}.csv": to_csv(table) for table in section.tables}
        files |= {f"tables/{table.key}.tex": table_to_latex(table) for table in section.tables}
        files |= {f"plots/{plot.key}.svg": plot.svg + "\n" for plot in section.plots}
    top.parent.mkdir(parents=True, exist_ok=True)
    with nullcontext(top) if top.exists() else atomic_folder(top) as place:
        WorkingFolder(place).make()
        for name, text in files.items():
            path = place / name
            WorkingFolder(path.parent).make()
            with atomic_file(path, overwrite=True) as stream:
                stream.write(text.encode())
    return [top / name for name in files]
