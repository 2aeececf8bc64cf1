"""The report's tables as LaTeX, one file a table, in the paper's dress: booktabs, bold, underlined."""

from __future__ import annotations

from polysema.reproduction.report.tables import Cell, Report, Table, bounds

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--", "ρ": r"$\rho$", "≈": r"$\approx$",
    "±": r"$\pm$", "×": r"$\times$", "|": r"$|$", "⊙": r"$\odot$", "⊗": r"$\otimes$", "≥": r"$\geq$", "→": r"$\to$",
    "…": r"\dots{}", "’": "'", "“": "``", "”": "''", "χ": r"$\chi$", "½": r"$\frac12$", "·": r"$\cdot$",
    "λ": r"$\lambda$", "Σ": r"$\Sigma$", "-": "-{}",  # two in a row stay two
}  # fmt: skip


def to_latex(report: Report) -> str:
    """A document that holds every table, for looking at them; each is a file of its own beside it."""
    lines = [r"\documentclass{article}", r"\usepackage[margin=2cm]{geometry}"]
    lines += [r"\usepackage{booktabs}", r"\usepackage{graphicx}"]
    lines += [rf"\title{{{escaped(report.title)}}}", r"\date{}", r"\begin{document}", r"\maketitle"]
    for section in report.sections:
        if section.tables:
            lines += ["", rf"\section{{{escaped(section.title)}}}"]
            lines += [rf"\input{{tables/{table.key}.tex}}" for table in section.tables] + [r"\clearpage"]
    return "\n".join([*lines, "", r"\end{document}"]) + "\n"


def table_to_latex(table: Table) -> str:
    """One table: needs the packages booktabs and graphicx, fits the column, names its notes by letters."""
    notes: dict[str, str] = {}
    for row in table.rows:
        if row.note:
            notes.setdefault(row.note, chr(ord("a") + len(notes)) if len(notes) < 26 else str(len(notes)))
    lines = [r"\begin{table}[htp]\centering\footnotesize", r"\setlength{\tabcolsep}{3pt}"]
    lines += [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"]
    lines += [rf"\begin{{tabular}}{{@{{}}l{'c' * len(table.columns)}@{{}}}}", r"\toprule"]
    lines += [" & " + " & ".join(map(escaped, table.columns)) + r" \\", r"\midrule"]
    for number, row in enumerate(table.rows):
        if row.rule and number:
            lines.append(r"\midrule")
        mark = rf"\textsuperscript{{{notes[row.note]}}}" if row.note else ""
        lines.append(" & ".join([escaped(row.name) + mark, *map(_cell, row.cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}", rf"\caption{{{escaped(table.caption)}}}"]
    lines += [rf"\label{{tab:{table.key.lower()}}}"]
    if notes:
        told = " ".join(rf"\textsuperscript{{{letter}}}\,{escaped(note)}." for note, letter in notes.items())
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\raggedright\scriptsize {told}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _cell(cell: Cell) -> str:
    number = isinstance(cell.value, float)
    text = escaped(cell.text)
    if isinstance(cell.value, float) and cell.value >= 0 and cell.style != "count":
        text = rf"\phantom{{$-$}}{text}"
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    if cell.mark:
        text = rf"\underline{{{text}}}" + (r"$^\approx$" if cell.mark == "equivalent" else "")
    small = []
    if cell.spread is not None:
        small.append(rf"$\pm${cell.spread:.3f}")
    if cell.interval is not None:
        small.append("[{}, {}]".format(*map(escaped, bounds(cell.interval))))
    if cell.items is not None and cell.items[0] < cell.items[1]:
        small.append(f"{cell.items[0]}/{cell.items[1]}")
    if cell.paper is not None:
        small.append(f"({cell.paper:.3f})")
    return text + (r" {\tiny " + " ".join(small) + "}" if small and (number or cell.value is None) else "")


def escaped(text: str) -> str:
    """Text with everything that LaTeX would read as a command made harmless."""
    return "".join(_SPECIAL.get(character, character) for character in text)
