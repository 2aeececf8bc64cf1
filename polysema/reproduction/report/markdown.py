"""The report as Markdown."""

from __future__ import annotations

from polysema.reproduction.report.tables import Cell, Report, Table, bounds, shown, signed


def to_markdown(report: Report) -> str:
    """The report as Markdown; plots are linked as files beside it."""
    lines = [f"# {report.title}"]
    for section in report.sections:
        lines += ["", f"## {section.title}"]
        for paragraph in section.text:
            lines += ["", paragraph]
        for table in section.tables:
            lines += ["", *_table(table)]
        for plot in section.plots:
            lines += ["", f"![{plot.caption}](plots/{plot.key}.svg)", "", f"*{plot.caption}*"]
    return "\n".join(lines) + "\n"


def _table(table: Table) -> list[str]:
    lines = [f"**{table.caption}**", ""]
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
    return text.replace("|", "\\|").replace("\n", " ")
