"""A report: sections of text, tables and plots, written as files.

One HTML page that needs nothing but itself, Markdown, CSV and JSON.
"""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from polysema.checkpoints import WorkingFolder
from polysema.storage import atomic_file, atomic_folder

Mark = Literal["", "better", "equivalent"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, or a word."""

    value: float | str | None  # None where there is none
    # how a number is written: ``correlation`` as the paper does (.365), ``entropy`` (0.224), ``count``
    style: Literal["correlation", "entropy", "count"] = "correlation"
    bold: bool = False  # one of the best, as in the paper
    mark: Mark = ""  # underlined in the paper: significantly better than the best baseline, or equivalent to it
    paper: float | None = None  # the paper's figure
    interval: tuple[float, float] | None = None  # the 95 % interval of the value
    spread: float | None = None  # the standard deviation over seeds
    each: tuple[float, ...] = ()  # the value of each seed, where there are several
    items: tuple[int, int] | None = None  # how many items the value is over, and how many there are
    ranked: bool = True  # whether it is over enough items to be ranked

    @property
    def text(self) -> str:
        """The value as it is read."""
        return shown(self.value, self.style)

    @property
    def difference(self) -> float | None:
        """How far the value lies above the paper's; None where it is over too few items to say."""
        if self.paper is None or not isinstance(self.value, float) or self.value != self.value or not self.ranked:
            return None
        return self.value - self.paper

    @property
    def beside(self) -> str:
        """The paper's figure and the difference, as they stand beside the value."""
        difference = "" if self.difference is None else f" {signed(self.difference, self.style)}"
        return f"paper {shown(self.paper, self.style)}{difference}"

    @property
    def differs(self) -> bool:
        """Whether the paper's figure lies outside the interval; without one, whether it is .1 or more away."""
        if self.difference is None or self.paper is None:
            return False
        if self.style == "count":
            return self.difference != 0
        if self.interval is not None and isfinite(self.interval[0]):
            return not self.interval[0] <= self.paper <= self.interval[1]
        return abs(self.difference) >= 0.1


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its name, a cell a column, whether a line is above it, and a note, such as what is missing."""

    name: str
    cells: Sequence[Cell]
    rule: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``key`` names its file."""

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[TableRow]

    def trimmed(self) -> Table:
        """The table without columns that hold nothing."""
        told = {i for row in self.rows for i, cell in enumerate(row.cells) if (cell.value, cell.paper) != (None, None)}
        rows = [replace(row, cells=[row.cells[i] for i in sorted(told)]) for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in sorted(told)], rows=rows)


class Plot(NamedTuple):
    """A plot as SVG; ``key`` names its file."""

    key: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report under a heading."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report; ``data`` holds every figure and the exact configuration, as JSON holds them."""

    title: str
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)


class Skipped(NamedTuple):
    """A system that was not evaluated, and why."""

    name: str
    reason: str


def shown(value: float | str | None, style: str = "correlation") -> str:
    """A figure as the paper writes it: .365, -.069, 0.224; a dash where there is none."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "–"
    if style == "count":
        return f"{value:,.0f}"
    text = f"{value:.3f}".replace("-0.000", "0.000")
    if style == "correlation" and abs(value) < 1:
        text = text.replace("0.", ".", 1)
    return text.replace("-", "−")


def bounds(interval: tuple[float, float]) -> tuple[str, str]:
    """The ends of an interval: .21 and .45."""
    low, high = (f"{bound:.2f}".replace("0.", ".", 1).replace("-", "−") for bound in interval)
    return low, high


def signed(value: float, style: str = "correlation") -> str:
    """A difference: +.07, −.13; of counts, +7."""
    if style == "count":
        return f"{value:+,.0f}".replace("-", "−") if value else ""
    return ("+" if value >= 0 else "−") + f"{abs(value):.2f}".replace("0.", ".", 1)


def write_report(report: Report, folder: str | Path) -> list[Path]:
    """Write a report into a folder: a new one is there whole or not at all; files of an earlier report are replaced.

    A folder that holds anything else is refused.

    ``report.html`` is the page; ``report.md`` and ``report.json`` hold the same, ``tables/*.csv`` one table each,
    ``plots/*.svg`` one plot each.
    """
    top = Path(folder)
    files = {
        "report.html": to_html(report),
        "report.md": to_markdown(report),
        "report.json": json.dumps(report.data, indent=2, ensure_ascii=False) + "\n",
    }
    for section in report.sections:
        files |= {f"tables/{table.key}.csv": to_csv(table) for table in section.tables}
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


# ----------------------------------------------------------------------------------------------------------------- HTML

_STYLE = "\n" + (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


def to_html(report: Report) -> str:
    """The whole page: style, tables, plots (as SVG) and configuration in one file."""
    names = [f"s{number}" for number in range(1, len(report.sections) + 1)]
    links = "".join(f'<a href="#{n}">{escape(s.title)}</a>' for n, s in zip(names, report.sections, strict=True))
    body = "".join(_section(section, name) for name, section in zip(names, report.sections, strict=True))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(report.title)}</h1><nav>{links}</nav>\n{body}</body></html>\n"
    )


def _section(section: Section, name: str) -> str:
    parts = [f'<section id="{name}"><h2>{escape(section.title)}</h2>']
    for paragraph in section.text:
        if paragraph.startswith("```"):
            parts.append(f"<pre>{escape(paragraph.strip('`').partition(chr(10))[2])}</pre>")
        else:  # what stands between back-quotes is code
            pieces = enumerate(escape(paragraph).split("`"))
            parts.append(f"<p>{''.join(f'<code>{piece}</code>' if i % 2 else piece for i, piece in pieces)}</p>")
    parts += [_html_table(table) for table in section.tables]
    for plot in section.plots:
        text, held = escape(plot.caption, quote=True), b64encode(plot.svg.encode()).decode()
        image = f'<img alt="{text}" src="data:image/svg+xml;base64,{held}"/>'
        parts.append(f"<figure>{image}<figcaption>{text}</figcaption></figure>")
    return "".join(parts) + "</section>\n"


def _html_table(table: Table) -> str:
    columns = len(table.columns)
    words = ["text" if any(isinstance(row.cells[i].value, str) for row in table.rows) else "" for i in range(columns)]
    head = "<th></th>" + "".join(
        f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(table.columns, words, strict=True)
    )
    rows = ""
    for row in table.rows:
        note = f'<small class="note">{escape(row.note)}</small>' if row.note else ""
        cells = "".join(map(_html_cell, row.cells))
        rows += f"<tr{' class=rule' if row.rule else ''}><td>{escape(row.name)}{note}</td>{cells}</tr>"
    return (
        f"<figure><figcaption>{escape(table.caption)}</figcaption>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></figure>\n"
    )


def _html_cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.bold:
        text = f"<b>{text}</b>"
    if cell.mark:
        text = f'<u class="{cell.mark}">{text}</u>'
    if cell.spread is not None:
        text += f" ± {cell.spread:.3f}".replace("0.", ".", 1)
    if cell.interval is not None:
        text += f"<small>{' … '.join(bounds(cell.interval))}</small>"
    if cell.each:
        text += f'<small class="each">{" ".join(shown(value, cell.style) for value in cell.each)}</small>'
    if cell.items is not None:
        text += f"<small>{cell.items[0]} of {cell.items[1]}</small>"
    if cell.paper is not None:
        way = f' class="{"up" if (cell.difference or 0) > 0 else "down"}"' if cell.differs else ""
        text += f"<small{way}>{cell.beside}</small>"
    kind = "text" if isinstance(cell.value, str) else "" if cell.ranked else "few"
    return f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>"


# ----------------------------------------------------------------------------------------------------- CSV and Markdown

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
    """Text that no spreadsheet takes for a formula, which begins as formulas do and is not of numbers alone."""
    numbers = re.fullmatch(r"(?:[-+]?[\d.]+(?:e[-+]?\d+)?(?: |$))*", text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not numbers else text


def to_markdown(report: Report) -> str:
    """The report as Markdown; plots are linked as files beside it."""
    lines = [f"# {_escaped(report.title)}"]
    for section in report.sections:
        lines += ["", f"## {_escaped(section.title)}"]
        for paragraph in section.text:
            lines += ["", paragraph if paragraph.startswith("```") else _escaped(paragraph)]
        for table in section.tables:
            lines += ["", *_markdown_table(table)]
        for plot in section.plots:
            caption = _escaped(plot.caption)
            lines += ["", f"![{caption}](plots/{plot.key}.svg)", "", f"*{caption}*"]
    return "\n".join(lines) + "\n"


def _markdown_table(table: Table) -> list[str]:
    lines = [f"**{_escaped(table.caption)}**", ""]
    lines += ["| | " + " | ".join(map(_escaped, table.columns)) + " |", "|---" * (len(table.columns) + 1) + "|"]
    for row in table.rows:
        name = _escaped(row.name) + (f" ({_escaped(row.note)})" if row.note else "")
        lines.append(f"| {name} | " + " | ".join(map(_markdown_cell, row.cells)) + " |")
    return lines


def _markdown_cell(cell: Cell) -> str:
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
        text += f" ({cell.beside.rstrip()}{'!' if cell.differs else ''})"
    return text


def _escaped(text: str) -> str:
    """Text without what Markdown takes for a column, a line or HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")
