"""The report as Markdown."""

from __future__ import annotations

from polysema.evaluation.report.tables import Cell, Report, Table, signed


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
    return lines + [f"| {_escaped(row.name)} | " + " | ".join(map(_cell, row.cells)) + " |" for row in table.rows]


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    if cell.bold:
        text = f"**{text}**"
    if cell.mark:
        text = f"<u>{text}</u>" + ("≈" if cell.mark == "equivalent" else "")
    if cell.spread is not None:
        text += f" ± {cell.spread:.3f}".replace("0.", ".", 1)
    if cell.interval is not None:
        low, high = (f"{bound:.2f}".replace("0.", ".", 1) for bound in cell.interval)
        text += f" [{low}, {high}]"
    if cell.difference is not None:
        text += f" ({signed(cell.difference)}{'!' if cell.differs else ''})"
    return text


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
