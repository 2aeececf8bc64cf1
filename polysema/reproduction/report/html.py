"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from pathlib import Path

from polysema.reproduction.report.tables import Cell, Plot, Report, Section, Table, bounds, shown, signed

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
        else:
            parts.append(f"<p>{_code(paragraph)}</p>")
    parts += [_table(table) for table in section.tables]
    parts += [_plot(plot) for plot in section.plots]
    return "".join(parts) + "</section>\n"


def _plot(plot: Plot) -> str:
    """The picture within the page."""
    held = b64encode(plot.svg.encode()).decode()
    text = escape(plot.caption, quote=True)
    return f'<figure><img alt="{text}" src="data:image/svg+xml;base64,{held}"/><figcaption>{text}</figcaption></figure>'


def _code(text: str) -> str:
    """Escaped text, with what stands between back-quotes set as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))


def _table(table: Table) -> str:
    columns = len(table.columns)
    words = ["text" if any(isinstance(row.cells[i].value, str) for row in table.rows) else "" for i in range(columns)]
    head = "<th></th>" + "".join(
        f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(table.columns, words, strict=True)
    )
    rows = "".join(
        f"<tr{' class=rule' if row.rule else ''}><td>{escape(row.name)}{_small(row.note)}</td>"
        f"{''.join(map(_cell, row.cells))}</tr>"
        for row in table.rows
    )
    return (
        f"<figure><figcaption>{escape(table.caption)}</figcaption>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></figure>\n"
    )


def _small(text: str) -> str:
    return f'<small class="note">{escape(text)}</small>' if text else ""


def _cell(cell: Cell) -> str:
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
        way = ""
        if cell.difference is not None and cell.differs:
            way = ' class="up"' if cell.difference > 0 else ' class="down"'
        difference = "" if cell.difference is None else f" {signed(cell.difference, cell.style)}"
        text += f"<small{way}>paper {shown(cell.paper, cell.style)}{difference}</small>"
    kind = "text" if isinstance(cell.value, str) else "" if cell.ranked else "few"
    return f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>"
