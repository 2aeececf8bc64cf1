"""Charts of figures: dots with intervals, and lines with error bars. They draw plain numbers, whatever these are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polysema.drawing.style import LINES, MARKERS, SERIES, TEXT, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Interval = tuple[float, float]
Dot = tuple[str, float, Interval | None, float | None]
"""What is measured, its value, its interval, and the published value."""
Point = tuple[float, float, float]
"""x, y and the error of y."""


def dot_chart(rows: Mapping[str, Sequence[Dot]], uprights: Mapping[str, float], band: float, title: str) -> Figure:
    """A row a model with a mark for each of its figures, filled, and the published one, hollow.

    Args:
        rows: the figures of each model.
        uprights: named values, drawn as upright lines.
        band: what lies within ± this is shaded; 0 for none.
        title: of the horizontal axis.
    """
    kinds = list(dict.fromkeys(name for dots in rows.values() for name, *_ in dots))
    height = [max(1, len(dots)) for dots in rows.values()]
    figure = new_figure(7.6, 1.4 + 0.3 * (len(kinds) // 4 + 1) + 0.15 * sum(height) + 0.12 * len(rows))
    axes = figure.add_subplot()
    y, places = 0.0, []
    for number, dots in enumerate(rows.values()):
        top = y
        for name, value, interval, published in dots:
            style = kinds.index(name)
            colour, marker = SERIES[style % len(SERIES)], MARKERS[style % len(MARKERS)]
            if interval is not None:
                axes.plot(interval, (y, y), color=colour, linewidth=1, alpha=0.6)
            axes.plot([value], [y], marker=marker, color=colour, markersize=5, linestyle="")
            if published is not None:
                axes.plot([published], [y], marker=marker, color=colour, markersize=6, fillstyle="none", linestyle="")
            y += 1
        y = max(y, top + 1)
        places.append((top + y - 1) / 2)
        y += 0.8
        if number:
            axes.axhline(top - 0.9, color="#cccccc", linewidth=0.6)
    for name, at in uprights.items():
        axes.axvline(at, color="#555555", linestyle="--", linewidth=1)
        axes.annotate(name, (at, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=TEXT - 1)
    if band:
        axes.axvspan(-band, band, color="#000000", alpha=0.07, linewidth=0)
    axes.axvline(0, color="#999999", linewidth=0.8)
    axes.set_yticks(places, list(rows), fontsize=TEXT)
    axes.set_ylim(y - 0.6, -0.9)
    axes.tick_params(labelsize=TEXT)
    axes.set_xlabel(title, fontsize=TEXT)
    for style, name in enumerate(kinds):
        colour, marker = SERIES[style % len(SERIES)], MARKERS[style % len(MARKERS)]
        axes.plot([], [], marker=marker, color=colour, linestyle="", label=name)
    figure.legend(fontsize=TEXT, loc="outside lower center", ncols=4, frameon=False)
    return figure


def line_chart(series: Mapping[str, Sequence[Point]], across: str, up: str) -> Figure:
    """Lines with error bars; each has a colour, a mark and a stroke of its own, so that dozens can be told apart."""
    figure = new_figure(7.6, 4.6 + 0.22 * (len(series) // 3 + 1))
    axes = figure.add_subplot()
    for number, (name, points) in enumerate(series.items()):
        x, y, error = zip(*points, strict=True) if points else ((), (), ())
        axes.errorbar(
            x,
            y,
            yerror if any(yerror := list(error)) else None,
            label=name,
            color=SERIES[number % len(SERIES)],
            marker=MARKERS[(number + number // len(SERIES)) % len(MARKERS)],
            linestyle=LINES[number // len(SERIES) % len(LINES)],
            markersize=5,
            linewidth=1.2,
            elinewidth=0.8,
        )
    axes.set_xlabel(across, fontsize=TEXT)
    axes.set_ylabel(up, fontsize=TEXT)
    axes.tick_params(labelsize=TEXT)
    axes.grid(alpha=0.25)
    figure.legend(fontsize=TEXT, loc="outside lower center", ncols=3, frameon=False)
    return figure
