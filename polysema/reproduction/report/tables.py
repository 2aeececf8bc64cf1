"""What a report is made of: sections of text, tables and plots. The writers beside this file turn it into pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polysema.registry import provider

Mark = Literal["", "better", "equivalent"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, or a word.

    Attributes:
        value: None where there is none.
        style: how a number is written: ``correlation`` as the paper does (.365), ``entropy`` (0.224), ``count``.
        bold: one of the best, as in the paper.
        mark: underlined in the paper: significantly better than the best baseline, or equivalent to it.
        paper: the paper's figure.
        interval: the 95 % interval of the value.
        spread: the standard deviation over seeds.
        each: the value of each seed, where there are several.
        ranked: whether it is over enough items to be ranked.
        items: how many items the value is over, and how many there are.
    """

    value: float | str | None
    style: Literal["correlation", "entropy", "count"] = "correlation"
    bold: bool = False
    mark: Mark = ""
    paper: float | None = None
    interval: tuple[float, float] | None = None
    spread: float | None = None
    each: tuple[float, ...] = ()
    items: tuple[int, int] | None = None
    ranked: bool = True

    @property
    def text(self) -> str:
        """The value as it is read."""
        return shown(self.value, self.style)

    @property
    def difference(self) -> float | None:
        """How far the value lies above the paper's; None where it is over too few items to say."""
        if self.paper is None or not isinstance(self.value, float) or self.value != self.value or not self.ranked:
            return None
        return self.value - self.paper

    @property
    def differs(self) -> bool:
        """Whether the paper's figure lies outside the interval; without one, whether it is .1 or more away."""
        if self.difference is None or self.paper is None:
            return False
        if self.style == "count":
            return self.difference != 0
        if self.interval is not None and self.interval[0] == self.interval[0]:
            return not self.interval[0] <= self.paper <= self.interval[1]
        return abs(self.difference) >= 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        name: what it is about.
        cells: a cell a column.
        rule: whether to draw a line above it.
        note: what must be known of it, such as why its figures are missing.
    """

    name: str
    cells: Sequence[Cell]
    rule: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``key`` names its file."""

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as SVG; ``key`` names its file."""

    key: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report under a heading."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes:
        title: of the page.
        sections: in their order.
        data: every figure and the exact configuration, as JSON holds them.
    """

    title: str
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return str(provider("report_html")(self))


def shown(value: float | str | None, style: str = "correlation") -> str:
    """A figure as the paper writes it: .365, -.069, 0.224; a dash where there is none."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "–"
    if style == "count":
        return f"{value:,.0f}"
    text = f"{value:.3f}".replace("-0.000", "0.000")
    if style == "correlation" and abs(value) < 1:
        text = text.replace("0.", ".", 1)
    return text.replace("-", "−")


def bounds(interval: tuple[float, float]) -> tuple[str, str]:
    """The ends of an interval: .21 and .45."""
    low, high = (f"{bound:.2f}".replace("0.", ".", 1).replace("-", "−") for bound in interval)
    return low, high


def signed(value: float, style: str = "correlation") -> str:
    """A difference: +.07, −.13; of counts, +7."""
    if style == "count":
        return f"{value:+,.0f}".replace("-", "−") if value else ""
    return ("+" if value >= 0 else "−") + f"{abs(value):.2f}".replace("0.", ".", 1)
