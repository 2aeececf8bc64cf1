"""The report on disk."""

from __future__ import annotations

import json
from pathlib import Path

from polysema.errors import InputError
from polysema.files.atomic import atomic_file
from polysema.reproduction.report.html import to_html
from polysema.reproduction.report.latex import table_to_latex, to_latex
from polysema.reproduction.report.markdown import to_markdown
from polysema.reproduction.report.spreadsheets import to_csv
from polysema.reproduction.report.tables import Report


def write_report(report: Report, folder: str | Path) -> list[Path]:
    """Write a report into a folder, made where it is not there; files of an earlier report are replaced.

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
    try:
        for name, text in files.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path, overwrite=True) as stream:
                stream.write(text.encode())
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{top} is a file: name a folder for the report") from None
    return [top / name for name in files]
