"""The figures of Meyer & Lewis (2020), read from the paper's tables into ``published.tsv``.

Rows carry the paper's names; ``MS-Word2DM cos 5`` is its *cos, 5 senses*. ``paper_row`` finds the row that a model of
ours is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import made_with

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


def _tables() -> dict[str, Figures]:
    """The tables of ``published.tsv`` by name."""
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for line in (Path(__file__).parent / "published.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        table, row, *figures = line.split("\t")
        found.setdefault(table, {})[row] = tuple(map(float, figures))
    return dict(found)


_TABLES = _tables()

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
