"""The report's tables as LaTeX, in the paper's dress: booktabs, bold, underlined."""

from __future__ import annotations

from polysema.evaluation.report.tables import Cell, Report, Table

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "--", "–": "--", "ρ": r"$\rho$", "≈": r"$\approx$",
    "±": r"$\pm$", "×": r"$\times$", "|": r"$|$", "⊙": r"$\odot$", "⊗": r"$\otimes$", "≥": r"$\geq$", "→": r"$\to$",
}  # fmt: skip


def to_latex(report: Report) -> str:
    """A document with every table; plots stay files of their own."""
    lines = [r"\documentclass{article}", r"\usepackage[utf8]{inputenc}", r"\usepackage{booktabs}"]
    lines += [rf"\title{{{escaped(report.title)}}}", r"\date{}", r"\begin{document}", r"\maketitle"]
    for section in report.sections:
        lines += ["", rf"\section{{{escaped(section.title)}}}"]
        lines += ["\n" + escaped(paragraph) for paragraph in section.text]
        for table in section.tables:
            lines += ["", *_table(table)]
    return "\n".join([*lines, "", r"\end{document}"]) + "\n"


def _table(table: Table) -> list[str]:
    lines = [r"\begin{table}[ht]\small\centering", rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}", r"\toprule"]
    lines += [" & " + " & ".join(map(escaped, table.columns)) + r" \\", r"\midrule"]
    for row in table.rows:
        if row.rule:
            lines.append(r"\midrule")
        lines.append(" & ".join([escaped(row.name), *map(_cell, row.cells)]) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}", rf"\caption{{{escaped(table.caption)}}}", r"\end{table}"]


def _cell(cell: Cell) -> str:
    text = escaped(cell.text).replace("--", "-") if isinstance(cell.value, float) else escaped(cell.text)
    if isinstance(cell.value, float) and cell.value >= 0:
        text = rf"\phantom{{-}}{text}"
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    if cell.mark:
        text = rf"\underline{{{text}}}" + (r"$^\approx$" if cell.mark == "equivalent" else "")
    if cell.spread is not None:
        text += rf"{{\tiny$\pm${cell.spread:.2f}}}"
    if cell.paper is not None:
        text += rf" {{\scriptsize({cell.paper:.3f})}}"
    return text


def escaped(text: str) -> str:
    """Text with everything that LaTeX would read as a command made harmless."""
    return "".join(_SPECIAL.get(character, character) for character in text)
