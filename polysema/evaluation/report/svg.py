"""Two plots, drawn as SVG by hand so that the report needs no plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#2457a6", "#c2571a", "#2e8b57", "#8a4fb0", "#b3273f", "#5c6b7a", "#a88b00", "#0e7c86")
_FONT = 'font-family="system-ui,sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a line with its error bar."""

    x: float
    y: float
    error: float = 0.0


def lines(
    series: Mapping[str, Sequence[Point]], x_title: str, y_title: str, width: int = 760, height: int = 380
) -> str:
    """Lines with error bars and a legend."""
    left, right, top, bottom = 58, 190, 14, 46
    points = [point for values in series.values() for point in values]
    xs = _ticks(0, max((point.x for point in points), default=1))
    low = min((point.y - point.error for point in points), default=0)
    high = max((point.y + point.error for point in points), default=1)
    ys = _ticks(min(low, 0) if low < high / 3 else low, high)

    def at(x: float, y: float) -> tuple[float, float]:
        across = left + (x - xs[0]) / (xs[-1] - xs[0]) * (width - left - right)
        down = height - bottom - (y - ys[0]) / (ys[-1] - ys[0]) * (height - top - bottom)
        return round(across, 1), round(down, 1)

    parts = _frame(width, height)
    for tick in ys:
        x, y = at(xs[0], tick)
        parts.append(f'<line x1="{x}" x2="{width - right}" y1="{y}" y2="{y}" stroke="currentColor" opacity=".12"/>')
        parts.append(_text(x - 8, y + 4, f"{tick:g}", "end"))
    for tick in xs:
        x, y = at(tick, ys[0])
        parts.append(_text(x, y + 18, f"{tick:g}", "middle"))
    parts.append(_text((left + width - right) / 2, height - 8, x_title, "middle"))
    middle = (top + height - bottom) / 2
    parts.append(_text(14, middle, y_title, "middle", f'transform="rotate(-90 14 {middle})"'))
    for number, (name, values) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join("{},{}".format(*at(point.x, point.y)) for point in values)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for point in values:
            x, y = at(point.x, point.y)
            _, above = at(point.x, point.y + point.error)
            _, below = at(point.x, point.y - point.error)
            parts.append(f'<line x1="{x}" x2="{x}" y1="{above}" y2="{below}" stroke="{colour}"/>')
            parts.append(f'<circle cx="{x}" cy="{y}" r="2.6" fill="{colour}"/>')
        y = top + 12 + 18 * number
        parts.append(f'<circle cx="{width - right + 16}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(_text(width - right + 26, y, _short(name, 26), "start"))
    return "".join(parts) + "</svg>"


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure with its interval, beside the paper's."""

    name: str
    value: float
    interval: tuple[float, float] | None = None
    paper: float | None = None


def dots(groups: Mapping[str, Sequence[Bar]], lines_at: Mapping[str, float], band: float, width: int = 760) -> str:
    """A row a figure: a dot with its interval, a diamond for the paper's; upright lines, a band around zero."""
    left, right, top, step = 250, 30, 34, 20
    rows = sum(len(bars) + 1 for bars in groups.values())
    height = top + rows * step + 34
    values = [bar.value for bars in groups.values() for bar in bars]
    values += [bound for bars in groups.values() for bar in bars for bound in (bar.interval or ())]
    values += [bar.paper for bars in groups.values() for bar in bars if bar.paper is not None]
    values += [*lines_at.values(), band, -band, 0.0]
    ticks = _ticks(min(values), max(values))

    def across(x: float) -> float:
        return round(left + (x - ticks[0]) / (ticks[-1] - ticks[0]) * (width - left - right), 1)

    bottom = height - 30
    parts = _frame(width, height)
    start, end = across(-band), across(band)
    parts.append(
        f'<rect x="{start}" y="{top - 12}" width="{round(end - start, 1)}" height="{bottom - top + 12}" '
        'fill="currentColor" opacity=".07"/>'
    )
    for tick in ticks:
        x = across(tick)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{top - 12}" y2="{bottom}" stroke="currentColor" opacity=".12"/>')
        parts.append(_text(x, bottom + 16, f"{tick:g}", "middle"))
    for name, value in lines_at.items():
        x = across(value)
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{top - 12}" y2="{bottom}" stroke="{COLOURS[2]}" stroke-dasharray="4 3"/>'
        )
        parts.append(_text(min(x, width - 4), top - 18, name, "middle" if x < width - 100 else "end"))
    y = float(top)
    for group, bars in groups.items():
        y += step
        parts.append(_text(8, y - 6, _short(group, 38), "start", 'font-weight="600"'))
        for bar in bars:
            y += step
            parts.append(_text(left - 12, y - 6, bar.name, "end"))
            if bar.interval is not None:
                a, b = (across(bound) for bound in bar.interval)
                parts.append(
                    f'<line x1="{a}" x2="{b}" y1="{y - 10}" y2="{y - 10}" stroke="{COLOURS[0]}" opacity=".55"/>'
                )
            parts.append(f'<circle cx="{across(bar.value)}" cy="{y - 10}" r="4" fill="{COLOURS[0]}"/>')
            if bar.paper is not None:
                x = across(bar.paper)
                parts.append(
                    f'<path d="M{x} {y - 15}L{x + 5} {y - 10}L{x} {y - 5}L{x - 5} {y - 10}Z" fill="none" '
                    f'stroke="{COLOURS[1]}" stroke-width="1.6"/>'
                )
    return "".join(parts) + "</svg>"


def _frame(width: int, height: int) -> list[str]:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT}>']


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return (
        f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}" fill="currentColor" {more}>'
        f"{escape(text)}</text>"
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from at most ``low`` to at least ``high``."""
    span = max(high - low, 1e-9)
    power = 10.0 ** (len(str(int(span * 1e9))) - 10)
    step = next((s * power for s in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0) if span / (s * power) <= 7), 10 * power)
    first = int(low // step)
    ticks = [first * step]
    while ticks[-1] < high - step * 1e-6:
        ticks.append(ticks[0] + len(ticks) * step)
    return [round(tick, 10) for tick in ticks] if len(ticks) > 1 else [ticks[0], ticks[0] + step]
