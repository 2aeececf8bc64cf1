"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from polysema.reproduction.report.tables import Cell, Plot, Report, Section, Table, bounds, shown, signed

_STYLE = """
:root{--ink:#1d2430;--dim:#6b7482;--line:#d9dee6;--page:#fff;--soft:#f5f7fa;--up:#12724a;--down:#a3341f;
--accent:#2457a6}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--dim:#98a2b0;--line:#343c48;--page:#14181e;--soft:#1c222a;
--up:#62c796;--down:#ef8d78;--accent:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 5rem;max-width:72rem;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.7rem;line-height:1.25;margin:.5rem 0 1rem}
h2{font-size:1.25rem;margin:2.75rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--line)}
p{max-width:46rem;margin:.5rem 0}nav{margin:1rem 0;columns:2;max-width:46rem}nav a{display:block;color:var(--accent);
text-decoration:none;padding:.1rem 0}nav a:hover{text-decoration:underline}
figure{margin:1.25rem 0;overflow-x:auto}figcaption{font-size:.9rem;color:var(--dim);margin:.4rem 0;max-width:46rem}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .75rem;text-align:right;white-space:nowrap;vertical-align:top}
th{font-weight:600;border-bottom:2px solid var(--ink)}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;
background:var(--page)}
tr.rule td{border-top:1px solid var(--line)}tbody tr:hover td{background:var(--soft)}
tbody tr:last-child td{border-bottom:2px solid var(--ink)}
small{display:block;color:var(--dim);font-size:.74rem;line-height:1.3}
small.up{color:var(--up)}small.down{color:var(--down)}
u{text-underline-offset:3px}u.equivalent{text-decoration-style:dotted}
pre{background:var(--soft);padding:1rem;overflow:auto;font-size:.8rem;border-radius:6px;max-height:32rem}
code{background:var(--soft);padding:.05rem .25rem;border-radius:3px}
img{max-width:100%;height:auto;background:#fff;border-radius:6px}
small.note{white-space:normal;min-width:9rem;max-width:16rem}
th.text,td.text{text-align:left}td.text{white-space:normal;max-width:26rem}td.few{opacity:.55}
@media(max-width:40rem){nav{columns:1}body{font-size:15px;padding:1rem .8rem 3rem}th,td{padding:.3rem .45rem}
td:first-child{white-space:normal;min-width:6.5rem;max-width:7.5rem}small.note{min-width:0}td.text{min-width:10rem}}
@media print{body{max-width:none;font-size:11px}nav{display:none}figure{overflow:visible}th,td{padding:.15rem .4rem}
tr,img{break-inside:avoid}h2,h2+p,figcaption{break-after:avoid}}
"""


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
        text += f"<small>{' '.join(shown(value, cell.style) for value in cell.each)}</small>"
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
