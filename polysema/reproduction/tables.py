"""What a report is made of: sections of text, tables and plots; :mod:`polysema.reproduction.pages` writes them.

The lines of a table are the paper's systems in the paper's order, then all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, Literal, NamedTuple

from polysema.evaluation.comparison import is_ranked
from polysema.evaluation.results import Evaluation, Row, System
from polysema.reproduction import published

Mark = Literal["", "better", "equivalent"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, or a word."""

    value: float | str | None  # None where there is none
    # how a number is written: ``correlation`` as the paper does (.365), ``entropy`` (0.224), ``count``
    style: Literal["correlation", "entropy", "count"] = "correlation"
    bold: bool = False  # one of the best, as in the paper
    mark: Mark = ""  # underlined in the paper: significantly better than the best baseline, or equivalent to it
    paper: float | None = None  # the paper's figure
    interval: tuple[float, float] | None = None  # the 95 % interval of the value
    spread: float | None = None  # the standard deviation over seeds
    each: tuple[float, ...] = ()  # the value of each seed, where there are several
    items: tuple[int, int] | None = None  # how many items the value is over, and how many there are
    ranked: bool = True  # whether it is over enough items to be ranked

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
        if self.interval is not None and isfinite(self.interval[0]):
            return not self.interval[0] <= self.paper <= self.interval[1]
        return abs(self.difference) >= 0.1

    @property
    def is_empty(self) -> bool:
        """Whether neither we nor the paper have a value."""
        return self.value is None and self.paper is None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its name, a cell a column, whether a line is above it, and a note, such as what is missing."""

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
    rows: Sequence[TableRow]

    def trimmed(self) -> Table:
        """The table without columns that hold nothing."""
        kept = [i for i in range(len(self.columns)) if any(not row.cells[i].is_empty for row in self.rows)]
        rows = [replace(row, cells=[row.cells[i] for i in kept]) for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in kept], rows=rows)


class Plot(NamedTuple):
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
    """A whole report; ``data`` holds every figure and the exact configuration, as JSON holds them."""

    title: str
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)


class Skipped(NamedTuple):
    """A system that was not evaluated, and why."""

    name: str
    reason: str


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


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: a model, or a row that only the paper has."""

    name: str  # what it says
    system: System | None = None  # the model; None where only the paper has one
    paper: str | None = None  # the paper's row
    note: str = ""  # what must be known of it
    ensemble: bool = False  # whether it is about the ensemble of the seeds, or about the seeds

    def row(self, evaluation: Evaluation, name: str, method: str) -> Row | None:
        """The row of the evaluation that the line shows in a column."""
        if self.system is None:
            return None
        return evaluation.of(self.system.name, name).get((self.system.name, name, method))

    def cell(self, row: Row | None, paper: float | None, best: Sequence[Row] = (), mark: Mark = "") -> Cell:
        """ρ of a row; bold and mark stand where the result is that was ranked and tested."""
        if row is None:
            return Cell(None, paper=paper)
        if self.ensemble and row.ensemble is None:
            return Cell(None)
        result, tested = row.best, self.ensemble or row.ensemble is None
        cell = Cell(
            result.spearman, "correlation", tested and row in best, mark if tested else "", interval=result.interval,
            items=(result.scored, len(row.items)), ranked=is_ranked(result),
        )  # fmt: skip
        if self.ensemble:
            return cell
        each = tuple(seed.spearman for seed in row.seeds) if row.ensemble and isfinite(row.spearman) else ()
        spread = row.sd if row.sd is not None and isfinite(row.sd) else None
        return replace(cell, value=row.spearman, paper=paper, interval=row.interval, spread=spread, each=each)

    def entropy(self, row: Row | None, paper: float | None, falls: bool) -> Cell:
        """The mean entropy of a row."""
        if row is None or row.entropy is None:
            return Cell(None, "entropy", paper=paper)
        return Cell(row.entropy, "entropy", bold=falls, paper=paper, spread=row.entropy_sd)


@dataclass(frozen=True)
class PaperComparison:
    """An evaluation beside the paper."""

    evaluation: Evaluation  # ours
    skipped: Sequence[Skipped] = ()  # systems that are missing
    complete: bool = False  # whether the paper's systems that are not ours have a line too

    @cached_property
    def paper(self) -> dict[str, str | None]:
        """The paper's row for each model."""
        return {s.name: published.paper_row(s.metadata[0], s.name, s.kind) for s in self.evaluation.models}

    def lines(
        self, rows: Sequence[str], kinds: Sequence[str] = ("matrices", "vectors", "sentences"), ensembles: bool = True
    ) -> list[Line]:
        """One for each system of a table: for several seeds their mean and, unless they are left out, their ensemble.

        Of several systems for one row of the paper, the one of that name stands in its place, the others below. They
        also stand below if the system of that name was left out.
        """
        listed = [system for system in self.evaluation.models if system.kind in kinds]
        if not self.complete:
            return [line for system in listed for line in self._of(system, ensembles)]
        reasons = {item.name: item.reason for item in reversed(self.skipped)}
        found, placed = [], set[str]()
        for row in rows:
            own = [system for system in listed if self.paper[system.name] == row]
            if row in reasons or any(system.name == row for system in own):
                own = [system for system in own if system.name == row]
            placed |= {system.name for system in own}
            found += [line for system in own for line in self._of(system, ensembles)]
            if not own:
                found.append(Line(row, paper=row, note=reasons.get(row, "not evaluated here")))
        rest = [system for system in listed if system.name not in placed]
        return found + [line for system in rest for line in self._of(system, ensembles)]

    def _of(self, system: System, ensembles: bool) -> list[Line]:
        row, seeds = self.paper[system.name], len(system.metadata)
        note = _note(system, row)
        if seeds == 1:
            return [Line(system.name, system, row, note)]
        mean = Line(f"{system.name}, mean of {seeds} seeds", system, row, note)
        return [mean, Line(f"{system.name}, their ensemble", system, ensemble=True)] if ensembles else [mean]


def _note(system: System, row: str | None) -> str:
    """Which encoder took BERT's place."""
    encoder = system.metadata[0].get("encoder")
    name = str(encoder.get("name", "")) if isinstance(encoder, Mapping) else str(encoder or "")
    if not name or row is None or "bert-base-uncased" in name:
        return ""
    short = name.rstrip("/").rpartition("/")[2]
    return f"beside the paper's {row}" if system.name == short else f"encoder: {short}"
