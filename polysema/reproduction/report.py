"""From an evaluation to the report: which tables there are, and what is bold or underlined."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any

import numpy as np

from polysema import drawing
from polysema.composition.methods import METHODS
from polysema.errors import MissingExtraError, install_command
from polysema.evaluation.comparison import (
    RESAMPLES,
    SHARE,
    against_best_baseline,
    best,
    figures,
    is_ranked,
    noise_floor,
)
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.results import Compared, Evaluation, Row, clean, spread
from polysema.evaluation.statistics import LEVEL, MARGIN, human_agreement
from polysema.reproduction import published
from polysema.reproduction.tables import (
    Cell,
    Mark,
    PaperComparison,
    Plot,
    Report,
    Section,
    Skipped,
    Table,
    TableRow,
    shown,
    trimmed,
)

PAPER_METHODS = published.METHODS
SHOWN = (*PAPER_METHODS, "fuzz")
REVERSED = tuple(name for name in METHODS if name not in SHOWN)
ENCODED = ("cls", "own", "mean", "target", "contextual")
OF_THE_PAPER = (*PAPER_METHODS, "cls", "own")
_NAMES = {
    "cls": "[CLS]",
    "own": "its own pooling",
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
        departures: where the run departs from the paper: what, there, here.
        complete: whether tables hold all of the paper's systems, with the reason where one is missing.
    """

    title: str = "Lexical ambiguity with density matrices: evaluation"
    noise_draws: int = 20
    noise_size: tuple[int, int] = (17, 5)
    resamples: int = 10_000
    configuration: Mapping[str, Any] = field(default_factory=dict)
    departures: Sequence[tuple[str, str, str]] = ()
    complete: bool = False


def introduction_section(beside: PaperComparison, settings: Settings, plots: bool) -> Section:
    """How figures, bold and underlining are to be read; the models, and what was left out."""
    text = [
        "Figures are Spearman's ρ between a model's similarities and the mean human judgement, over the items whose "
        "words the model knows. Small print below a figure gives its 95 % interval or, of several seeds, the figure of "
        "each; then the number of items it is over; then the paper's figure (Meyer & Lewis 2020) and the difference, "
        "coloured (in Markdown, marked !) where the paper's figure lies outside the interval or, of several seeds, .1 "
        "or more away. Bold, tests and plots take several seeds as one model, their ensemble.",
        "Items of a disambiguation set share their verbs, so intervals and tests resample clusters, the pairs of verb "
        "and landmark, not single items.",
        "Bold: the best baseline and the best model of density matrices of a table, with the paper's methods, on the "
        f"items that all ranked figures share. A figure over fewer than {SHARE:.0%} of a set's items is dim, unranked, "
        "and in no plot.",
        "Underlined, for each model of density matrices with the method it does best with: significantly better than "
        "the best baseline (solid), or equivalent to it (dotted: an equivalence test says that the difference is below "
        f"{MARGIN:g}). Where neither is so, the two cannot be told apart with these items. Level {LEVEL:g}, "
        "corrected by Bonferroni for the comparisons that were made.",
    ]
    missing = beside.evaluation.missing
    if missing:
        text += [f"Sets that were not there: {'; '.join(f'{n} ({r})' for n, r in missing.items())}."]
    if not plots:
        text += [f"There are no plots: they need matplotlib ({install_command('plots')})."]
    rows = [
        TableRow(
            system.name, [Cell(system.kind), Cell(str(len(system.metadata))), Cell(beside.paper[system.name] or "–")]
        )
        for system in beside.evaluation.models
    ]
    tables = [Table("models", "The models.", ["kind", "seeds", "the paper's row"], rows)]
    if beside.skipped:
        left_out = [TableRow(item.name, [Cell(item.reason)]) for item in beside.skipped]
        tables.append(Table("skipped", "What was left out, and why.", ["reason"], left_out))
    if settings.departures:
        rows = [TableRow(what, [Cell(there), Cell(here)]) for what, there, here in settings.departures]
        tables.append(
            Table("departures", "Where this run departs from the paper.", ["in the paper", "in this run"], rows)
        )
    return Section("How to read this", text, tables)


def data_sets_section(sets: Mapping[str, EvaluationSet]) -> Section:
    """Table 1: the disambiguation sets."""
    rows = []
    for name, items in sets.items():
        pattern, pairs, annotators = published.DATA_SETS.get(name, ("", None, None))
        verb = items.roles.index("verb") if "verb" in items.roles else 0
        order = np.argsort(items.gold)
        examples = [f"{' '.join(items.first[i])} / {items.second[i][verb]}" for i in (order[-1], order[0])]
        cells = [
            Cell(pattern or items.pattern),
            *(Cell(example) for example in examples),
            _count(len(items), pairs),
            _count(len(items.ratings) or None, annotators),
            _count(len(set(items.clusters))),
        ]
        rows.append(TableRow(name, cells, note=items.note))
    columns = ["format", "most alike", "least alike", "pairs", "annotators", "clusters"]
    caption = "The disambiguation sets (Table 1; A: adjective, S: subject, V: verb, O: object)."
    text = ["The examples are the pairs that people find most and least alike."]
    return Section("Data sets", text, [Table("data-sets", caption, columns, rows)])


def word_similarity_section(beside: PaperComparison, sets: Mapping[str, EvaluationSet]) -> Section:
    """Table 2: ρ on the sets of word pairs."""
    bold = {name: _champions(beside, name, ("word",)) for name in sets}
    rows = []
    for line in beside.lines(tuple(published.WORD_SIMILARITY), ("matrices", "vectors")):
        cells = []
        for name in sets:
            paper = published.figure(published.WORD_SIMILARITY, line.paper, published.SETS, name)
            cells.append(line.cell(line.row(beside.evaluation, name, "word"), paper, bold[name]))
        rows.append(TableRow(line.name, cells, rule=not line.ensemble, note=line.note))
    table = Table("word-similarity", "Spearman's ρ on word similarity (Table 2).", list(sets), rows)
    return Section("Word similarity", (), [table])


def disambiguation_section(
    beside: PaperComparison, name: str, items: EvaluationSet, compared: Sequence[Compared], noise: Mapping[str, float]
) -> Section:
    """Tables 3 to 6: ρ on a set of phrases, by model and method."""
    bold = _champions(beside, name, OF_THE_PAPER)
    marks: dict[tuple[str, str], Mark] = {}
    for item in compared:
        if item.test.verdict in ("better", "equivalent"):
            marks[item.first.model, item.first.method] = "better" if item.test.verdict == "better" else "equivalent"
    words = tuple(row for row in published.ROWS if row not in published.ENCODERS)
    number = list(published.DISAMBIGUATION).index(name) + 3 if name in published.DISAMBIGUATION else None
    caption = f"Spearman's ρ on {name}" + (f" (Table {number})." if number else ".")
    tables = []
    for key, told, methods, rows_of_paper in (
        (name, caption, SHOWN, words),
        (f"{name}-encoders", f"{name}: sentence encoders, by what is compared.", ENCODED, published.ENCODERS),
        (f"{name}-reversed", f"{name}: operators whose roles are reversed.", REVERSED, ()),
    ):
        rows = []
        for line in beside.lines(rows_of_paper):
            cells = [
                line.cell(
                    line.row(beside.evaluation, name, method),
                    published.disambiguation_figure(name, line.paper, method),
                    bold,
                    marks.get((line.system.name, method), "") if line.system else "",
                )
                for method in methods
            ]
            if any(cell.value is not None or (line.system is None and cell.paper is not None) for cell in cells):
                rows.append(TableRow(line.name, cells, rule=not line.ensemble, note=line.note))
        if rows:
            tables.append(trimmed(Table(key, told, _called(methods), rows)))
    clusters = len(set(items.clusters))
    text = [
        f"{len(items)} items in {clusters} clusters; pattern: {items.pattern}.",
        *([items.note] if items.note else []),
    ]
    return Section(f"Disambiguation: {name}", text, tables, _dots(beside, name, items, noise))


def _champions(beside: PaperComparison, name: str, methods: Sequence[str]) -> list[Row]:
    """The best baseline and the best model of density matrices, on the items that all share."""
    matrices = {system.name for system in beside.evaluation.models if system.kind == "matrices"}
    every = [row for row in beside.evaluation.of(name=name).values() if row.method in methods]
    groups = [[row for row in every if (row.model in matrices) == wanted] for wanted in (False, True)]
    return [found for group in groups if (found := best(group, every)) is not None]


def _dots(beside: PaperComparison, name: str, items: EvaluationSet, noise: Mapping[str, float]) -> list[Plot]:
    rows: dict[str, list[tuple[str, float, tuple[float, float] | None, float | None]]] = {}
    for system in beside.evaluation.models:
        found = beside.evaluation.of(system.name, name)
        shown_methods = [m for m in (*PAPER_METHODS, *ENCODED) if (system.name, name, m) in found]
        for method in shown_methods:
            result = found[system.name, name, method].best
            paper = published.disambiguation_figure(name, beside.paper[system.name], method)
            if np.isfinite(result.spearman) and is_ranked(result):
                rows.setdefault(system.name, []).append((_called([method])[0], result.spearman, result.interval, paper))
    people = {}
    if len(items.ratings):
        people = {"one person against the rest": human_agreement(items.ratings).one_against_rest}
    band = noise.get("phaser", 0.0)
    caption = f"{name}: filled marks with 95 % intervals are ours, hollow marks the paper's"
    caption += f"; the grey band is the noise floor of Phaser, ±{shown(band)}." if band else "."
    return plot(f"{name}-figures", caption, "dot_chart", rows, people, band, f"Spearman's ρ on {name}") if rows else []


def plot(key: str, caption: str, chart: str, *figures_of: Any) -> list[Plot]:
    """A chart as SVG; none where matplotlib is not installed."""
    try:
        figure = getattr(drawing, chart)(*figures_of)
    except MissingExtraError:
        return []
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return [Plot(key, caption, text.getvalue())]


def tests_section(compared: Mapping[str, Sequence[Compared]]) -> Section:
    """Every model of density matrices against the best baseline."""
    rows = []
    for name, found in compared.items():
        for number, item in enumerate(found):
            test = item.test
            cells = [
                Cell(f"{item.first.model} {item.first.method}"),
                Cell(f"{item.second.model} {item.second.method}"),
                Cell(test.difference, interval=test.interval),
                _count(test.items),
                _count(test.clusters),
                Cell(f"{test.p:.4f}"),
                Cell(f"{test.adjusted:.4f}"),
                Cell(f"{test.adjusted_worse:.4f}"),
                Cell(f"{min(1.0, test.p_equivalent * test.comparisons):.4f}"),
                Cell(str(test.comparisons)),
                Cell(test.verdict),
            ]
            rows.append(TableRow(name, cells, rule=number == 0))
    columns = [
        "model",
        "best baseline",
        "difference of ρ",
        "items",
        "clusters",
        "p better",
        "corrected",
        "p worse, corrected",
        "p equivalent, corrected",
        "comparisons",
        "verdict",
    ]
    text = [
        "Paired permutation tests over the items that both models cover: the models change places in whole clusters of "
        "items. The correction multiplies p by the number of figures that the models' best were chosen from. "
        f"Equivalent: two one-sided tests (TOST) say that the difference lies within ±{MARGIN:g}."
    ]
    return Section("Against the best baseline", text, [Table("tests", "Paired tests.", columns, rows)])


def protocol_section(beside: PaperComparison, sets: Mapping[str, EvaluationSet]) -> Section:
    """The disambiguation tables by the paper's protocol."""
    tables = []
    for name in sets:
        rows = {key: row for key, row in beside.evaluation.of(name=name).items() if row.method in OF_THE_PAPER}
        values = dict(zip(rows, figures([row.best for row in rows.values()], "paper"), strict=True))
        listed = []
        for line in beside.lines(published.ROWS, ensembles=False):
            model = line.system.name if line.system else ""
            cells = [
                Cell(values.get((model, name, method)), paper=published.disambiguation_figure(name, line.paper, method))
                for method in OF_THE_PAPER
            ]
            listed.append(TableRow(line.name.replace("mean", "ensemble"), cells, rule=True, note=line.note))
        caption = f"{name} by the paper's protocol."
        tables.append(trimmed(Table(f"{name}-protocol", caption, _called(OF_THE_PAPER), listed)))
    text = [
        "As the released script computes them: an item that any of these models lacks a word of is left out for all, "
        f"and a figure is the mean of {RESAMPLES} bootstrapped ρ. For reading beside the paper; the tables above are "
        "to be believed."
    ]
    return Section("The paper's protocol", text, tables)


def ambiguity_section(beside: PaperComparison) -> list[Section]:
    """Table 7 and figure 1: entropy against WordNet's senses; none where no model has matrices."""
    if not any(system.ambiguity for system in beside.evaluation.models):
        return []
    rows = []
    for line in beside.lines(_rows_of_entropy(published.AMBIGUITY), ("matrices",), ensembles=False):
        if line.system is not None and not line.system.ambiguity:
            continue
        found = line.system.ambiguity if line.system else ()
        papers: Sequence[float | None] = published.AMBIGUITY.get(_entropy_row(line.paper) or "", (None, None))
        columns: list[list[float | None]] = [
            [item.pearson for item in found],
            [item.spearman for item in found],
            [item.pearson_given_frequency for item in found],
            [item.spearman_given_frequency for item in found],
        ]
        cells = []
        for values, paper in zip(columns, (*papers, None, None), strict=True):
            known = [value for value in values if value is not None]
            each = tuple(known) if len(known) > 1 else ()
            cells.append(Cell(float(np.mean(known)) if known else None, paper=paper, spread=spread(known), each=each))
        cells.append(_count(found[0].words if found else None))
        rows.append(TableRow(line.name, cells, note=line.note))
    shown_columns = ["Pearson r", "Spearman ρ", "r given frequency", "ρ given frequency", "words"]
    series = {
        system.name: [(item.synsets, item.entropy, item.error) for item in system.ambiguity[0].bins]
        for system in beside.evaluation.models
        if system.ambiguity
    }
    text = [
        "The von Neumann entropy of words against the number of WordNet synsets they belong to, over all words of a "
        "lexicon that are WordNet lemmas. Frequent words have more synsets, and models give them more entropy: the "
        "columns given frequency partial out the logarithm (for ρ, the rank) of a word's count."
    ]
    caption = "Mean entropy by number of synsets, with standard errors (the paper's figure 1); of several seeds, one."
    table = Table("ambiguity", "Correlation of entropy and number of synsets (Table 7).", shown_columns, rows)
    plots = plot("ambiguity", caption, "line_chart", series, "WordNet synsets", "mean entropy (nats)")
    return [Section("Ambiguity and polysemy", text, [table], plots)]


def entropy_section(beside: PaperComparison, sets: Mapping[str, EvaluationSet]) -> Section:
    """Tables 8 to 11: mean entropy before and after composition; and the example of *run*."""
    tables = [_example(beside)] if published.EXAMPLE.name in beside.evaluation.sets else []
    lines = beside.lines(_rows_of_entropy(published.ENTROPY["GS2011"]), ("matrices",), ensembles=False)
    for name in sets:
        rows = []
        for line in lines:
            verb = line.row(beside.evaluation, name, "verb")
            cells = []
            for method in SHOWN:
                row, table = line.row(beside.evaluation, name, method), published.ENTROPY.get(name, {})
                paper = published.figure(table, _entropy_row(line.paper), PAPER_METHODS, method)
                cells.append(line.entropy(row, paper, _falls(row, verb)))
            rows.append(TableRow(line.name, cells, rule=True, note=line.note))
        number = f" (Table {list(published.ENTROPY).index(name) + 8})" if name in published.ENTROPY else ""
        caption = f"Mean entropy before (Verb) and after composition on {name}{number}; bold where it falls."
        tables.append(Table(f"{name}-entropy", caption, _called(SHOWN), rows))
    text = ["The mean is over the covered items: of the verb's matrix, then of the composed phrase with that verb."]
    return Section("Ambiguity and composition", text, tables)


def _example(beside: PaperComparison) -> Table:
    """What the paper says of *The family run the hotel*."""
    name = published.EXAMPLE.name
    rows = []
    for line in beside.lines(("MS-Word2DM cos 5",), ("matrices",), ensembles=False):
        verb, phrase = (line.row(beside.evaluation, name, method) for method in ("verb", "phaser"))
        papers = published.EXAMPLE_ENTROPY if line.paper == "MS-Word2DM cos 5" else (None, None)
        cells = [line.entropy(verb, papers[0], False), line.entropy(phrase, papers[1], _falls(phrase, verb))]
        rows.append(TableRow(line.name, cells, note=line.note))
    caption = "The entropy of run, and of “The family run the hotel” by Phaser (§5.3); bold where it falls."
    return Table("example", caption, ["run", "the sentence"], rows)


def _falls(row: Row | None, verb: Row | None) -> bool:
    return bool(row and verb and row.entropy is not None and verb.entropy is not None and row.entropy < verb.entropy)


def people_section(sets: Mapping[str, EvaluationSet]) -> Section:
    """How well annotators agree."""
    rows = []
    for name, items in sets.items():
        if len(items.ratings):
            found = human_agreement(items.ratings)
            cells = [Cell(found.pairwise), Cell(found.one_against_rest), _count(found.annotators)]
            rows.append(TableRow(name, cells, note=items.note))
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
    for key, caption, methods in (("noise-words", "word similarity", ("word",)), ("noise", "disambiguation", SHOWN)):
        rows = [
            TableRow(name, [Cell(found[method]) for method in methods])
            for name, found in noise.items()
            if methods[0] in found
        ]
        if rows:
            tables.append(Table(key, f"What random matrices reach: {caption}.", _called(methods), rows))
    text = [
        f"The |ρ| that 95 of 100 lexicons of random {n}×{m} matrices stay below ({settings.noise_draws} drawn). Items "
        "share their verbs, so chance reaches further than the number of items suggests, furthest where the verb alone "
        "decides."
    ]
    return Section("Noise floor", text, tables)


def coverage_section(beside: PaperComparison, sets: Mapping[str, EvaluationSet]) -> Section:
    """How many items each model knows the words of."""
    rows = []
    for system in beside.evaluation.models:
        cells = []
        for name, items in sets.items():
            found = list(beside.evaluation.of(system.name, name).values())
            cells.append(Cell(f"{int(found[0].best.covered.sum())}/{len(items)}" if found else None))
        rows.append(TableRow(system.name, cells))
    text = [f"Items whose words the model knows. Policy for words it lacks: {beside.evaluation.unknown_words}."]
    return Section("Coverage", text, [Table("coverage", "Covered items.", list(sets), rows)])


def configuration_section(beside: PaperComparison, settings: Settings) -> Section:
    """What was run, and how every model was made."""
    held = _short(clean({"run": settings.configuration, "models": _made(beside)}))
    return Section("Configuration", ["```json\n" + json.dumps(held, indent=2, ensure_ascii=False) + "\n```"])


def _made(beside: PaperComparison) -> dict[str, Any]:
    """How every model was made."""
    return {system.name: [without_times(facts) for facts in system.metadata] for system in beside.evaluation.models}


def without_times(facts: Any) -> Any:
    """The same without how long it took: a report that is made again has the same bytes."""
    if isinstance(facts, Mapping):
        return {key: without_times(value) for key, value in facts.items() if key != "seconds"}
    if isinstance(facts, list | tuple):
        return [without_times(value) for value in facts]
    return facts


def _short(value: Any) -> Any:
    """The same with long lists cut."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        cut = [_short(item) for item in value[:8]]
        return [*cut, f"… {len(value) - 8} more"] if len(value) > 8 else cut
    return value


def _entropy_row(row: str | None) -> str | None:
    """The paper gives entropies for one multi-sense model: cosine, five senses."""
    return "MS-Word2DM" if row == "MS-Word2DM cos 5" else row


def _rows_of_entropy(rows: Iterable[str]) -> tuple[str, ...]:
    """The same the other way."""
    return tuple("MS-Word2DM cos 5" if row == "MS-Word2DM" else row for row in rows)


def _count(value: int | None, paper: int | None = None) -> Cell:
    here, there = (None if number is None else float(number) for number in (value, paper))
    return Cell(here, "count", paper=there)


def _called(methods: Sequence[str]) -> list[str]:
    """The headings of methods."""
    return [_NAMES.get(method, method.capitalize()) for method in methods]


def build_report(evaluation: Evaluation, skipped: Sequence[Skipped] = (), settings: Settings | None = None) -> Report:
    """The report of an evaluation.

    With :data:`published.EXAMPLE` among its sets, the report has the paper's example of *run* too.
    """
    chosen = settings or Settings()
    beside = PaperComparison(evaluation, skipped, chosen.complete)
    sets = {name: items for name, items in evaluation.sets.items() if name != published.EXAMPLE.name}
    words = {name: items for name, items in sets.items() if items.is_words}
    phrases = {name: items for name, items in sets.items() if not items.is_words}
    noise = noise_floor(sets, *chosen.noise_size, methods=SHOWN, draws=chosen.noise_draws) if chosen.noise_draws else {}
    compared = {name: against_best_baseline(evaluation, name, PAPER_METHODS, chosen.resamples) for name in phrases}
    sections: list[Section] = []
    if phrases:
        sections.append(data_sets_section(phrases))
    if words:
        sections.append(word_similarity_section(beside, words))
    sections += [
        disambiguation_section(beside, name, items, compared[name], noise.get(name, {}))
        for name, items in phrases.items()
    ]
    if any(compared.values()):
        sections.append(tests_section(compared))
    if phrases:
        sections.append(protocol_section(beside, phrases))
    sections += ambiguity_section(beside)
    if phrases and any(system.kind == "matrices" for system in evaluation.models):
        sections.append(entropy_section(beside, phrases))
    if phrases:
        sections.append(people_section(phrases))
    if noise:
        sections.append(noise_section(noise, chosen))
    sections += [coverage_section(beside, sets), configuration_section(beside, chosen)]
    plots = any(section.plots for section in sections)
    sections.insert(0, introduction_section(beside, chosen, plots))
    return Report(chosen.title, sections, _data(beside, compared, noise, phrases, chosen))


def _data(
    beside: PaperComparison,
    compared: Mapping[str, Sequence[Compared]],
    noise: Mapping[str, Mapping[str, float]],
    phrases: Mapping[str, EvaluationSet],
    settings: Settings,
) -> dict[str, Any]:
    """Everything the report says, for programs."""
    held = {
        "evaluation": beside.evaluation.to_json(),
        "paper": dict(beside.paper),
        "metadata": _made(beside),
        "skipped": [asdict(item) for item in beside.skipped],
        "tests": [item.to_json() for found in compared.values() for item in found],
        "people": {n: asdict(human_agreement(data.ratings)) for n, data in phrases.items() if len(data.ratings)},
        "noise_floor": noise,
        "departures": [dict(zip(("what", "paper", "here"), item, strict=True)) for item in settings.departures],
        "configuration": settings.configuration,
    }
    return dict(clean(held))
