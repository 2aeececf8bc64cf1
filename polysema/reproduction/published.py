"""The figures of Meyer & Lewis (2020), read from the paper's tables into ``published.tsv``.

Rows carry the paper's names; ``MS-Word2DM cos 5`` is its *cos, 5 senses*. ``paper_row`` finds the row that a model of
ours is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from polysema.evaluation.comparison import is_ranked
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import made_with
from polysema.evaluation.results import Evaluation, Row, System
from polysema.reproduction.pages import Cell, Mark, Skipped

Figures = Mapping[str, tuple[float, ...]]

SETS = ("RG", "WS", "MC", "SL", "MEN")
METHODS = ("verb", "mult", "add", "tensor", "phaser")

DATA_SETS: Mapping[str, tuple[str, int, int]] = {
    "ML2008": ("S V", 120, 53),
    "GS2011": ("S V O", 200, 25),
    "GS2012": ("A S V A O", 194, 50),
    "KS2013": ("A S V A O", 194, 43),
}
"""Table 1: the format of each disambiguation set, its pairs and its annotators."""

EXAMPLE = EvaluationSet(
    "family run hotel", "subj verb obj", (("family", "run", "hotel"),), (("family", "operate", "hotel"),), np.zeros(1)
)
"""The example of §5.3: *The family run the hotel*."""

EXAMPLE_ENTROPY = (1.491, 0.144)
"""The entropy of *run* in multi-sense Word2DM, and that of the sentence composed with Phaser."""


_TABLES: dict[str, dict[str, tuple[float, ...]]] = {}
for _line in (Path(__file__).parent / "published.tsv").read_text(encoding="utf-8").splitlines()[1:]:
    _table, _row, *_figures = _line.split("\t")
    _TABLES.setdefault(_table, {})[_row] = tuple(map(float, _figures))

WORD_SIMILARITY = _TABLES["word similarity"]
"""Table 2: Spearman's ρ on the word similarity sets, in the order of ``SETS``."""

DISAMBIGUATION: Mapping[str, Figures] = {name: _TABLES[name] for name in DATA_SETS}
"""Tables 3 to 6: Spearman's ρ, in the order of ``METHODS``; vectors have no Phaser, sentence encoders one figure."""

AMBIGUITY = _TABLES["ambiguity"]  # table 7: Pearson's r and Spearman's ρ of entropy and number of WordNet synsets

ENTROPY: Mapping[str, Figures] = {name: _TABLES[f"{name} entropy"] for name in DATA_SETS}
"""Tables 8 to 11: mean entropy of the verbs and of the composed phrases, in the order of ``METHODS``."""

ENCODERS = ("BERT", "InferSent1", "InferSent2")


ROWS = tuple(DISAMBIGUATION["GS2011"])  # all systems of the paper, in the order of its tables


def paper_row(metadata: Mapping[str, Any], name: str, kind: str = "") -> str | None:
    """The paper's row for a model: by how it was trained, else by its name, else, for a sentence encoder, BERT's."""
    by_name = {plain(row): row for row in ROWS}
    found = row_of(metadata) or by_name.get(plain(name))
    return found or ("BERT" if kind == "sentences" and "encoder" in metadata else None)


def row_of(metadata: Mapping[str, Any]) -> str | None:
    """The paper's row for a model trained here, by how it was trained; None where the paper has none."""
    model, config = made_with(metadata)
    name = plain(model)
    if name == "msword2dm":
        row = f"MS-Word2DM {str(config.get('select', 'cosine'))[:3]} {config.get('senses')}"
    elif name == "bert2dm":
        cluster = " + cluster" if config.get("cluster") else ""
        row = f"BERT2DM {str(config.get('reduction', 'pca')).upper()}{cluster}"
    else:
        row = next((row for row in WORD_SIMILARITY if plain(row) == name), "")
    return row if row in WORD_SIMILARITY else None


def figure(table: Figures, row: str | None, columns: tuple[str, ...], column: str) -> float | None:
    """A figure of one of the tables; None where the paper has none."""
    if row is None or row not in table or column not in columns:
        return None
    place = columns.index(column)
    return table[row][place] if place < len(table[row]) else None


def disambiguation_figure(name: str, row: str | None, method: str) -> float | None:
    """ρ on a disambiguation set; sentence encoders have one figure, by the vector that the paper took."""
    table = DISAMBIGUATION.get(name, {})
    if row in ENCODERS:
        return table[row][0] if row in table and method == ("cls" if row == "BERT" else "own") else None
    return figure(table, row, METHODS, method)


def plain(name: object) -> str:
    """A name without case, spaces and signs."""
    return "".join(c for c in str(name).lower() if c.isalnum())


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
        return {s.name: paper_row(s.metadata[0], s.name, s.kind) for s in self.evaluation.models}

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
        row, seeds, note = self.paper[system.name], len(system.metadata), ""
        encoder = system.metadata[0].get("encoder")
        name = str(encoder.get("name", "")) if isinstance(encoder, Mapping) else str(encoder or "")
        if name and row is not None and "bert-base-uncased" not in name:  # another encoder took BERT's place
            short = name.rstrip("/").rpartition("/")[2]
            note = f"beside the paper's {row}" if system.name == short else f"encoder: {short}"
        if seeds == 1:
            return [Line(system.name, system, row, note)]
        mean = Line(f"{system.name}, mean of {seeds} seeds", system, row, note)
        return [mean, Line(f"{system.name}, their ensemble", system, ensemble=True)] if ensembles else [mean]
