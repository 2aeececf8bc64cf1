"""The report on disk."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

from polysema.files.atomic import atomic_file, atomic_folder
from polysema.files.working import WorkingFolder
from polysema.reproduction.report.html import to_html
from polysema.reproduction.report.latex import table_to_latex, to_latex
from polysema.reproduction.report.markdown import to_markdown
from polysema.reproduction.report.spreadsheets import to_csv
from polysema.reproduction.report.tables import Report


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
