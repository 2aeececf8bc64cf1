"""Results as HTML in notebooks: small tables and pictures without scripts.

:func:`register` gives the classes of results a method ``_repr_html_``, which Jupyter, Colab, VS Code, marimo and others
look for. It is called when polysema is imported in a running notebook; elsewhere results print as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from polysema.composition.compose import Composition
from polysema.density import DensityMatrix
from polysema.evaluation.results import Evaluation
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, VectorLexicon
from polysema.meanings.results import Results, to_rows
from polysema.measures import effective_senses, entropy, purity
from polysema.reproduction.pages import Report, to_html
from polysema.senses.answers import Disambiguation
from polysema.use.change import Changes, WordChange
from polysema.use.concordance import Concordance
from polysema.use.frequencies import Frequencies

_MOST = 60  # rows of a table
_LARGEST = 60  # matrices up to this size are drawn entry by entry
_PURPLE, _ORANGE = (84, 39, 136), (179, 88, 6)  # the ends of the diverging colours of the pictures


def matrix_html(rho: DensityMatrix) -> str:
    """A density matrix: its measures, largest eigenvalues, and entries as colours."""
    if rho.shape:
        return f"<code>{escape(repr(rho))}</code>"
    values, _ = rho.eigen()
    shown = values[values >= 0.005][:10]
    facts = f"entropy {entropy(rho):.3f} · {effective_senses(rho):.2f} effective senses · purity {purity(rho):.3f}"
    subscripts = ("₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉", "₁₀")
    rows = [(f"λ{i}", f"{value:.3f}", _bar(float(value))) for i, value in zip(subscripts, shown, strict=False)]
    picture = _entries(rho) if rho.n <= _LARGEST else ""
    return (
        f"<b>{escape(rho.name or 'density matrix')}</b> ({escape(repr(rho).split('(', 1)[1][:-1])})<br>{facts}"
        f"<div style='display:flex;gap:2em;align-items:flex-start'>{_table(rows)}{picture}</div>"
    )


def composition_html(composition: Composition) -> str:
    """A phrase: its tree with the entropy at every node, and the words left out."""
    steps = composition.steps
    largest = max((step.entropy or 0.0 for step in steps), default=0.0) or 1.0
    rows = []
    for step in steps:
        figures = () if step.entropy is None else (f"{step.entropy:.3f}", _bar(step.entropy / largest))
        rows.append((f"<span style='white-space:pre;font-family:monospace'>{escape(step.branch)}</span>", *figures))
    left = ", ".join(f"{escape(word)} ({escape(why)})" for word, why in composition.left_out)
    return (
        f"<b>{escape(composition.phrase)}</b> ({escape(composition.method)}): entropy at every node"
        f"{_table(rows)}{f'left out: {left}' if left else ''}"
    )


def disambiguation_html(item: Disambiguation) -> str:
    """A word in context: the probability and the weight of each sense."""
    rows = [
        (
            "only sense" if item.only_sense else f"{sense.probability:.2f}",
            _bar(sense.probability),
            f"{sense.weight:.2f}",
            escape(sense.part or "–"),
            f"<span title='{escape(sense.key, quote=True)}'>{escape(sense.caption)}</span>",
        )
        for sense in item.senses
    ]
    doubt = "<br>none of these?" if item.fits is False else ""
    return (
        f"<b>{escape(item.word)}</b> in “{escape(item.context)}”: "
        f"entropy {item.entropy_before:.3f} → {item.entropy_after:.3f}"
        f"{_table(rows, ('here', '', 'before', 'part', 'sense'))}{doubt}"
    )


def results_html(results: Sequence[Any]) -> str:
    """A list of answers, one row each; at most the first 60."""
    rows = to_rows(results[:_MOST])
    columns = list(rows[0]) if rows else []

    def cell(value: Any) -> str:
        return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else escape(str(value))

    cells = [[cell(row[name]) for name in columns] for row in rows]
    more = f"… {len(results) - len(rows):,} more" if len(results) > len(rows) else ""
    return f"{_table(cells, [escape(name.replace('_', ' ')) for name in columns])}{more}" if rows else "(none)"


def lexicon_html(lexicon: AnyLexicon) -> str:
    """A lexicon: its size and how it was made."""
    rows = [("words", f"{len(lexicon):,}"), ("kind", lexicon.kind)]
    made = {"model": lexicon.metadata.get("model"), **lexicon.metadata.get("options", {})}
    rows += [(escape(str(key)), escape(str(value))) for key, value in made.items() if value is not None]
    frequent = " ".join(lexicon.vocabulary.words[:12])
    return f"<b>{escape(repr(lexicon))}</b>{_table(rows)}{escape(frequent)} …"


def evaluation_html(evaluation: Evaluation) -> str:
    """Spearman's ρ of every model on every set by every method; of several seeds, mean ± standard deviation."""
    parts = []
    for system in evaluation.models:
        sets: dict[str, dict[str, str]] = {}
        covered: dict[str, str] = {}
        for (_, name, method), row in evaluation.of(system.name).items():
            spread = "" if row.sd is None else f" ± {row.sd:.3f}"
            sets.setdefault(name, {})[method] = f"{row.spearman:.3f}{spread}"
            covered[name] = f"{int(row.best.covered.sum())} of {len(row.items)}"
        methods = list(dict.fromkeys(method for found in sets.values() for method in found))
        rows = [
            (escape(name), *(found.get(method, "–") for method in methods), covered[name])
            for name, found in sets.items()
        ]
        parts.append(f"<b>{escape(system.name)}</b>{_table(rows, ('set', *map(escape, methods), 'covered'))}")
    return "".join(parts)


def change_html(item: WordChange) -> str:
    """A word over periods: how far it moved, and the shares of its senses."""
    said = "more than shuffled periods" if item.changed else "not more than shuffled periods"
    rows = [
        (escape(sense.key), *(f"{share:.2f}" for share in sense.shares), escape(sense.status), escape(sense.gloss))
        for sense in item.senses
        if max(sense.shares) >= 0.02
    ]
    return (
        f"<b>{escape(item.word)}</b>: change {item.change:.3f} ({item.low:.3f} to {item.high:.3f}), {said} "
        f"(p {item.p:.3f})"
        f"{_table(rows, ('sense', *map(escape, item.periods), '', ''))}"
    )


def report_html(report: Report) -> str:
    """A report in an iframe, which keeps its styles separate."""
    page = escape(to_html(report), quote=True)
    return f"<iframe srcdoc='{page}' title='{escape(report.title, quote=True)}' width='100%' height='640'></iframe>"


HTML = {
    DensityMatrix: matrix_html,
    Composition: composition_html,
    Disambiguation: disambiguation_html,
    Results: results_html,
    Lexicon: lexicon_html,
    VectorLexicon: lexicon_html,
    Evaluation: evaluation_html,
    Report: report_html,
    Concordance: Concordance.tables,
    Frequencies: results_html,
    WordChange: change_html,
    Changes: lambda items: results_html(Results(item for item in items if isinstance(item, WordChange))),
}
"""The HTML function of each class."""


def register() -> None:
    """Display results as HTML from now on."""
    for kind, shown in HTML.items():
        setattr(kind, "_repr_html_", shown)  # noqa: B010  (mypy knows of no such attribute)


def _table(rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> str:
    cell = "style='text-align:left;padding:1px 8px'"
    head = "".join(f"<th {cell}>{name}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td {cell}>{value}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _bar(share: float) -> str:
    width = round(120 * min(max(share, 0.0), 1.0))
    return f"<div style='background:#0072B2;height:10px;width:{width}px'></div>"


def _entries(rho: DensityMatrix) -> str:
    dense = rho.dense()
    scaled = dense / np.abs(dense).max()
    size = max(4, min(14, 200 // rho.n))
    squares = []
    for row, line in enumerate(scaled):
        for column, value in enumerate(line):
            end = _PURPLE if value >= 0 else _ORANGE
            red, green, blue = (round(255 + abs(value) * (c - 255)) for c in end)
            squares.append(
                f"<rect x='{column * size}' y='{row * size}' width='{size}' height='{size}' "
                f"fill='rgb({red},{green},{blue})'><title>{dense[row, column]:.4f}</title></rect>"
            )
    side = rho.n * size
    name = escape(rho.name or "density matrix", quote=True)
    return f"<svg width='{side}' height='{side}' role='img' aria-label='the entries of {name}'>{''.join(squares)}</svg>"
