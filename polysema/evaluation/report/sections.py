"""The sections of the report: which tables there are, and what is bold or underlined."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polysema.composition.methods import METHODS
from polysema.evaluation import published
from polysema.evaluation.comparison import Compared, best
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.entries import Entry, Line, Skipped, lines, summary
from polysema.evaluation.evaluate import DataSet
from polysema.evaluation.protocol import RESAMPLES, figures
from polysema.evaluation.report.svg import Bar, Point, dots
from polysema.evaluation.report.svg import lines as line_plot
from polysema.evaluation.report.tables import Cell, Mark, Plot, Row, Section, Table, shown
from polysema.evaluation.statistics import human_agreement

PAPER_METHODS = published.METHODS
SHOWN = (*PAPER_METHODS, "fuzz")
REVERSED = tuple(name for name in METHODS if name not in SHOWN)
ENCODED = ("cls", "mean", "target", "contextual")
COMPARED = (*SHOWN, "contextual")
_NAMES = {
    "cls": "[CLS]",
    "mean": "mean pooling",
    "target": "the verb's own vector",
    "contextual": "the verb's contextual matrix",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the report is made.

    Attributes:
        title: of the page.
        noise_draws: random lexicons for the noise floor; 0 leaves it out.
        noise_size: n and m of their matrices.
        resamples: of the paired tests.
        configuration: what was run and how: anything that JSON can hold.
        missing: sets that were not there, with the reason.
    """

    title: str = "Lexical ambiguity with density matrices: evaluation"
    noise_draws: int = 20
    noise_size: tuple[int, int] = (17, 5)
    resamples: int = 10_000
    configuration: Mapping[str, Any] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def introduction_section(entries: Sequence[Entry], skipped: Sequence[Skipped], settings: Settings) -> Section:
    """How figures, bold and underlining are to be read; the models, and what was left out."""
    text = [
        "Figures are Spearman's ρ between a model's similarities and the mean human judgement, over the items whose "
        "words the model knows. Small print below a figure gives its 95 % bootstrap interval over items, then the "
        "paper's figure (Meyer & Lewis 2020) and the difference, coloured where the paper's figure lies outside the "
        "interval.",
        "Bold: the best baseline and the best model of density matrices of a table. Underlined, for each model of "
        "density matrices with the method it does best with: significantly better than the best baseline (solid), or "
        "not to be told from it (dotted; with some 200 items that says little), by a paired permutation test over "
        "items, one-sided, Bonferroni-corrected.",
    ]
    if settings.missing:
        text += [f"Sets that were not there: {'; '.join(f'{n} ({r})' for n, r in settings.missing.items())}."]
    rows = [
        Row(entry.name, [Cell(entry.kind), Cell(str(len(entry.seeds))), Cell(entry.paper or "–")]) for entry in entries
    ]
    tables = [Table("models", "The models.", ["kind", "seeds", "the paper's row"], rows)]
    if skipped:
        left_out = [Row(item.name, [Cell(item.reason)]) for item in skipped]
        tables.append(Table("skipped", "What was left out, and why.", ["reason"], left_out))
    return Section("How to read this", text, tables)


def word_similarity_section(entries: Sequence[Entry], sets: Mapping[str, WordPairs]) -> Section:
    """Table 2: ρ on the sets of word pairs."""
    found = [line for line in lines(entries) if line.entry.kind != "sentences"]
    top = {name: _best_of(found, lambda line, name=name: line.word_figure(name)[0]) for name in sets}
    rows = []
    for line in found:
        cells = []
        for name in sets:
            value, spread, interval = line.word_figure(name)
            paper = _published(published.WORD_SIMILARITY, line.entry.paper, published.SETS, name)
            cells.append(Cell(value, bold=line in top[name], paper=paper, spread=spread, interval=interval))
        rows.append(Row(line.name, cells, rule=line.first))
    return Section(
        "Word similarity", (), [Table("word-similarity", "Spearman's ρ on word similarity.", list(sets), rows)]
    )


def disambiguation_section(
    entries: Sequence[Entry], name: str, data: PhrasePairs, compared: Sequence[Compared], noise: Mapping[str, float]
) -> Section:
    """Tables 3 to 6: ρ on a set of phrases, by model and method."""
    marks = {item.model: item.verdict for item in compared}
    bold = {(entry.name, method) for entry, method in _champions(entries, name)}
    tables = []
    for key, caption, methods in (
        (name, f"Spearman's ρ on {name}.", SHOWN),
        (f"{name}-reversed", f"{name}: operators whose roles are reversed.", REVERSED),
        (f"{name}-encoders", f"{name}: sentence encoders, by what is compared.", ENCODED),
    ):
        rows = []
        for line in lines(entries):
            found = [line.phrase_figure(name, method) for method in methods]
            if not any(found):
                continue
            cells = []
            for method, figure in zip(methods, found, strict=True):
                if figure is None:
                    cells.append(Cell(None))
                    continue
                own = line.evaluations[0] is line.entry.best
                mark = marks.get((line.entry.name, method), "") if own else ""
                cells.append(
                    Cell(
                        figure[0],
                        bold=own and (line.entry.name, method) in bold,
                        mark=_mark(mark),
                        paper=_paper_figure(line.entry.paper, name, method),
                        spread=figure[1],
                        interval=figure[2],
                    )
                )
            rows.append(Row(line.name, cells, rule=line.first))
        if rows:
            tables.append(_trimmed(Table(key, caption, [_NAMES.get(m, m.capitalize()) for m in methods], rows)))
    text = [f"{len(data)} items; pattern: {data.pattern}."]
    return Section(f"Disambiguation: {name}", text, tables, [_dots(entries, name, data, noise)])


def _champions(entries: Sequence[Entry], name: str) -> list[tuple[Entry, str]]:
    """The best baseline and the best model of density matrices."""
    groups = [entry for entry in entries if entry.kind != "matrices"], [e for e in entries if e.kind == "matrices"]
    return [found for group in groups if (found := best(group, name, None if group is groups[0] else COMPARED))]


def _dots(entries: Sequence[Entry], name: str, data: PhrasePairs, noise: Mapping[str, float]) -> Plot:
    groups = {}
    for entry in entries:
        methods = entry.best.disambiguation[name].methods
        groups[entry.name] = [
            Bar(_NAMES.get(m, m), methods[m].spearman, methods[m].interval, _paper_figure(entry.paper, name, m))
            for m in (*SHOWN, *ENCODED)
            if m in methods and math.isfinite(methods[m].spearman)
        ]
    people = {}
    if len(data.ratings):
        people = {"one person against the rest": human_agreement(data.ratings).one_against_rest}
    band = noise.get("phaser", 0.0)
    caption = f"{name}: dots with 95 % intervals are ours, diamonds the paper's"
    caption += f"; the grey band is the noise floor of Phaser, ±{shown(band)}." if band else "."
    return Plot(f"{name}-figures", caption, dots(groups, people, band))


def tests_section(compared: Mapping[str, Sequence[Compared]]) -> Section:
    """Every model of density matrices against the best baseline."""
    rows = []
    for name, found in compared.items():
        for number, item in enumerate(found):
            cells = [
                Cell(" ".join(item.model)),
                Cell(" ".join(item.baseline)),
                Cell(item.better.difference),
                Cell(float(item.better.items), "count"),
                Cell(f"{item.better.p:.4f}"),
                Cell(f"{item.better.adjusted:.4f}"),
                Cell(f"{item.worse.adjusted:.4f}"),
                Cell(item.verdict),
            ]
            rows.append(Row(name, cells, rule=number == 0))
    columns = [
        "model",
        "best baseline",
        "difference of ρ",
        "items",
        "p better",
        "corrected",
        "p worse, corrected",
        "verdict",
    ]
    text = [
        "Paired permutation tests over the items that both models cover. The correction multiplies p by the number of "
        "models of density matrices times the number of methods that the best was chosen from."
    ]
    return Section("Against the best baseline", text, [Table("tests", "Paired tests.", columns, rows)])


def protocol_section(entries: Sequence[Entry], sets: Mapping[str, PhrasePairs]) -> Section:
    """The disambiguation tables by the paper's protocol."""
    flat = [(line, line.evaluations[0]) for line in lines(entries) if len(line.evaluations) == 1]
    if not flat:
        flat = [(line, line.entry.best) for line in lines(entries)]
    distinct = [replace(result, name=str(number)) for number, (_, result) in enumerate(flat)]
    found = figures(distinct, sets, "paper")
    tables = []
    for name, by_model in found.items():
        rows = []
        for number, (line, _) in enumerate(flat):
            values = by_model[str(number)]
            shown_methods = [values.get(m) for m in (*PAPER_METHODS, "cls")]
            papers = [_paper_figure(line.entry.paper, name, m) for m in (*PAPER_METHODS, "cls")]
            cells = [Cell(v, paper=p if v is not None else None) for v, p in zip(shown_methods, papers, strict=True)]
            rows.append(Row(line.name, cells, rule=line.first))
        columns = [*(m.capitalize() for m in PAPER_METHODS), "[CLS]"]
        tables.append(_trimmed(Table(f"{name}-protocol", f"{name} by the paper's protocol.", columns, rows)))
    text = [
        "As the released script computes them: an item that any of these models lacks a word of is left out for all, "
        f"and a figure is the mean of {RESAMPLES} bootstrapped ρ. For reading beside the paper; the tables above are "
        "to be believed."
    ]
    return Section("The paper's protocol", text, tables)


def ambiguity_section(entries: Sequence[Entry]) -> list[Section]:
    """Table 7 and figure 1: entropy against WordNet's senses; none where no model has matrices."""
    with_words = [entry for entry in entries if entry.ambiguity]
    if not with_words:
        return []
    rows = []
    for entry in with_words:
        row = _entropy_row(entry.paper)
        papers: Sequence[float | None] = published.AMBIGUITY.get(row or "", (None, None))
        columns: list[list[float | None]] = [
            [item.pearson for item in entry.ambiguity],
            [item.spearman for item in entry.ambiguity],
            [item.pearson_given_frequency for item in entry.ambiguity],
            [item.spearman_given_frequency for item in entry.ambiguity],
        ]
        cells = []
        for values, paper in zip(columns, (*papers, None, None), strict=True):
            known = [value for value in values if value is not None]
            mean, spread, _ = summary(known, [None]) if known else (None, None, None)
            cells.append(Cell(mean, paper=paper, spread=spread))
        cells.append(Cell(float(entry.ambiguity[0].words), "count"))
        rows.append(Row(entry.name, cells))
    columns_shown = ["Pearson r", "Spearman ρ", "r given frequency", "ρ given frequency", "words"]
    series = {
        entry.name: [Point(item.synsets, item.entropy, item.error) for item in entry.ambiguity[0].bins]
        for entry in with_words
    }
    plot = line_plot(series, "WordNet synsets", "mean entropy")
    text = [
        "The von Neumann entropy of words against the number of WordNet synsets they belong to, over all words of a "
        "lexicon that are WordNet lemmas. Frequent words have more synsets, and models give them more entropy: the "
        "columns given frequency partial out the logarithm (for ρ, the rank) of a word's count."
    ]
    caption = "Mean entropy by number of synsets, with standard errors (the paper's figure 1)."
    table = Table("ambiguity", "Correlation of entropy and number of synsets.", columns_shown, rows)
    return [Section("Ambiguity and polysemy", text, [table], [Plot("ambiguity", caption, plot)])]


def entropy_section(entries: Sequence[Entry], sets: Mapping[str, PhrasePairs]) -> Section:
    """Tables 8 to 11: mean entropy before and after composition."""
    tables = []
    found = [line for line in lines(entries) if line.entry.kind == "matrices" and line.first]
    for name in sets:
        rows = []
        for line in found:
            verb = line.entropy_figure(name, "verb")
            row = _entropy_row(line.entry.paper)
            cells = []
            for method in SHOWN:
                figure = line.entropy_figure(name, method)
                if figure is None:
                    cells.append(Cell(None))
                    continue
                falls = verb is not None and figure[0] < verb[0]
                paper = (
                    _published(published.ENTROPY[name], row, PAPER_METHODS, method)
                    if name in published.ENTROPY
                    else None
                )
                cells.append(Cell(figure[0], "entropy", bold=falls, paper=paper, spread=figure[1]))
            rows.append(Row(line.name, cells, rule=line.first))
        columns = [method.capitalize() for method in SHOWN]
        caption = f"Mean entropy before (Verb) and after composition on {name}; bold where it falls."
        tables.append(Table(f"{name}-entropy", caption, columns, rows))
    text = ["The mean is over the covered items: of the verb's matrix, then of the composed phrase with that verb."]
    return Section("Ambiguity and composition", text, tables)


def people_section(sets: Mapping[str, PhrasePairs]) -> Section:
    """How well annotators agree."""
    rows = []
    for name, data in sets.items():
        if len(data.ratings):
            found = human_agreement(data.ratings)
            cells = [Cell(found.pairwise), Cell(found.one_against_rest), Cell(float(found.annotators), "count")]
            rows.append(Row(name, cells))
    text = [
        "How well people agree with each other. Neither figure is a ceiling for a model, which is held against the "
        "mean of all ratings: that is more reliable than any one person."
    ]
    table = Table("people", "Agreement of annotators.", ["two people", "one against the rest", "annotators"], rows)
    return Section("People", text, [table])


def noise_section(noise: Mapping[str, Mapping[str, float]], settings: Settings) -> Section:
    """What random matrices reach."""
    n, m = settings.noise_size
    tables = []
    for key, caption, methods in (("noise-words", "word similarity", ("words",)), ("noise", "disambiguation", SHOWN)):
        rows = [
            Row(name, [Cell(found[method]) for method in methods])
            for name, found in noise.items()
            if methods[0] in found
        ]
        if rows:
            columns = [method.capitalize() for method in methods]
            tables.append(Table(key, f"What random matrices reach: {caption}.", columns, rows))
    text = [
        f"The |ρ| that 95 of 100 lexicons of random {n}×{m} matrices stay below ({settings.noise_draws} drawn). Items "
        "share their verbs, so chance reaches further than the number of items suggests, furthest where the verb alone "
        "decides."
    ]
    return Section("Noise floor", text, tables)


def coverage_section(entries: Sequence[Entry], sets: Mapping[str, DataSet]) -> Section:
    """How many items each model knows the words of."""
    rows = []
    for entry in entries:
        cells = []
        for name in sets:
            result = entry.best.word_similarity.get(name) or entry.best.disambiguation[name]
            cells.append(Cell(f"{result.covered}/{result.total}"))
        rows.append(Row(entry.name, cells))
    policies = sorted({entry.best.policy for entry in entries})
    text = [f"Items whose words the model knows. Policy for words it lacks: {', '.join(policies)}."]
    return Section("Coverage", text, [Table("coverage", "Covered items.", list(sets), rows)])


def configuration_section(entries: Sequence[Entry], settings: Settings) -> Section:
    """What was run, and how every model was made."""
    held = {"run": settings.configuration, "models": {e.name: [dict(s.metadata) for s in e.seeds] for e in entries}}
    return Section(
        "Configuration", ["```json\n" + json.dumps(clean(held, short=True), indent=2, ensure_ascii=False) + "\n```"]
    )


def clean(value: Any, short: bool = False) -> Any:
    """What JSON can hold: numbers that are not finite become null; with ``short``, long lists are cut."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(item, short) for key, item in value.items()}
    if isinstance(value, list | tuple):
        cut = [clean(item, short) for item in (value[:8] if short else value)]
        return [*cut, f"… {len(value) - 8} more"] if short and len(value) > 8 else cut
    return value if isinstance(value, str | int | bool) or value is None else str(value)


def _trimmed(table: Table) -> Table:
    """A table without the columns that hold nothing."""
    kept = [i for i in range(len(table.columns)) if any(row.cells[i].value is not None for row in table.rows)]
    rows = [replace(row, cells=[row.cells[i] for i in kept]) for row in table.rows]
    return replace(table, columns=[table.columns[i] for i in kept], rows=rows)


def _best_of(found: Sequence[Line], figure: Any) -> list[Line]:
    """The best baseline and the best line of density matrices."""
    chosen = []
    for kinds in (("vectors",), ("matrices",)):
        group = [line for line in found if line.entry.kind in kinds and math.isfinite(figure(line))]
        if group:
            chosen.append(max(group, key=figure))
    return chosen


def _mark(verdict: str) -> Mark:
    return "better" if verdict == "better" else "equivalent" if verdict == "equivalent" else ""


def _paper_figure(row: str | None, name: str, method: str) -> float | None:
    if name not in published.DISAMBIGUATION or row is None:
        return None
    if row in published.ENCODERS:
        value = published.DISAMBIGUATION[name][row][0]
        return value if method == ("cls" if row == "BERT" else "mean") else None
    return _published(published.DISAMBIGUATION[name], row, PAPER_METHODS, method)


def _published(table: published.Figures, row: str | None, columns: Sequence[str], column: str) -> float | None:
    if row is None or row not in table or column not in columns:
        return None
    place = list(columns).index(column)
    return table[row][place] if place < len(table[row]) else None


def _entropy_row(row: str | None) -> str | None:
    """The paper gives entropies for one multi-sense model: cosine, five senses."""
    return "MS-Word2DM" if row == "MS-Word2DM cos 5" else row
