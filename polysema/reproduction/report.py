"""From an evaluation to the report: which tables there are, and what is bold or underlined."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any

import numpy as np

from polysema import drawing
from polysema.composition.methods import METHODS
from polysema.errors import MissingExtraError, install_command
from polysema.evaluation.comparison import SHARE, against_best_baseline, best, is_ranked, noise_floor
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.results import Compared, Evaluation, Row, spread
from polysema.evaluation.statistics import LEVEL, MARGIN, human_agreement
from polysema.meanings.results import clean
from polysema.reproduction import published
from polysema.reproduction.pages import Cell, Mark, Plot, Report, Section, Skipped, Table, TableRow, shown
from polysema.reproduction.published import PaperComparison

PAPER_METHODS = published.METHODS
SHOWN = (*PAPER_METHODS, "fuzz")
FURTHER = tuple(name for name in METHODS if name not in SHOWN)
ENCODED = ("cls", "own", "mean", "target", "contextual")
OF_THE_PAPER = (*PAPER_METHODS, "cls", "own")
_NAMES = {
    "cls": "[CLS]",
    "own": "its own pooling",
    "mean": "mean pooling",
    "target": "the verb's own vector",
    "contextual": "the verb's contextual matrix",
}

Sets = Mapping[str, EvaluationSet]
Tests = Mapping[str, Sequence[Compared]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How the report is made."""

    title: str = "Lexical ambiguity with density matrices: evaluation"  # of the page
    noise_draws: int = 20  # random lexicons for the noise floor; 0 leaves it out
    noise_size: tuple[int, int] = (17, 5)  # n and m of their matrices
    resamples: int = 10_000  # of the paired tests
    configuration: Mapping[str, Any] = field(default_factory=dict)  # what was run and how: anything that JSON can hold
    departures: Sequence[tuple[str, str, str]] = ()  # where the run departs from the paper: what, there, here
    complete: bool = False  # whether tables hold all of the paper's systems, with the reason where one is missing


def build_report(evaluation: Evaluation, skipped: Sequence[Skipped] = (), settings: Settings | None = None) -> Report:
    """The report of an evaluation.

    With :data:`published.EXAMPLE` among its sets, the report has the paper's example of *run* too.
    """
    chosen = settings or Settings()
    ours = PaperComparison(evaluation, skipped, chosen.complete)
    sets = {name: items for name, items in evaluation.sets.items() if name != published.EXAMPLE.name}
    words = {name: items for name, items in sets.items() if items.is_words}
    phrases = {name: items for name, items in sets.items() if not items.is_words}
    noise = noise_floor(sets, *chosen.noise_size, methods=SHOWN, draws=chosen.noise_draws) if chosen.noise_draws else {}
    tests = {name: against_best_baseline(evaluation, name, PAPER_METHODS, chosen.resamples) for name in phrases}
    sections: list[Section] = []
    if phrases:
        sections.append(_data_sets(phrases))
    if words:
        sections.append(_word_similarity(ours, words))
    for name, items in phrases.items():
        sections.append(_disambiguation(ours, name, items, tests[name], noise.get(name, {})))
    if any(tests.values()):
        sections.append(_tests(tests))
    if any(system.ambiguity for system in evaluation.models):
        sections.append(_ambiguity(ours))
    if phrases and any(system.kind == "matrices" for system in evaluation.models):
        sections.append(_entropy(ours, phrases))
    if phrases:
        sections.append(_people(phrases))
    if noise:
        sections.append(_noise(noise, chosen))
    sections += [_coverage(ours, sets), _configuration(ours, chosen)]
    first = _introduction(ours, chosen, plots=any(section.plots for section in sections))
    return Report(chosen.title, [first, *sections], _data(ours, tests, noise, phrases, chosen))


def _introduction(ours: PaperComparison, settings: Settings, plots: bool) -> Section:
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
    if missing := ours.evaluation.missing:
        text += [f"Sets that were not there: {'; '.join(f'{n} ({r})' for n, r in missing.items())}."]
    if not plots:
        text += [f"There are no plots: they need matplotlib ({install_command('plots')})."]
    models = {s.name: (s.kind, str(len(s.metadata)), ours.paper[s.name] or "–") for s in ours.evaluation.models}
    tables = [_words("models", "The models.", ["kind", "seeds", "the paper's row"], models)]
    if ours.skipped:
        reasons = {item.name: (item.reason,) for item in ours.skipped}
        tables.append(_words("skipped", "What was left out, and why.", ["reason"], reasons))
    if settings.departures:
        departures = {what: (there, here) for what, there, here in settings.departures}
        caption = "Where this run departs from the paper."
        tables.append(_words("departures", caption, ["in the paper", "in this run"], departures))
    return Section("How to read this", text, tables)


def _words(key: str, caption: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Table:
    """A table of words, not figures."""
    return Table(key, caption, columns, [TableRow(name, [Cell(word) for word in row]) for name, row in rows.items()])


def _data_sets(sets: Sets) -> Section:
    """Table 1: the disambiguation sets."""
    rows = []
    for name, items in sets.items():
        pattern, pairs, annotators = published.DATA_SETS.get(name, ("", None, None))
        verb = items.roles.index("verb") if "verb" in items.roles else 0
        order = np.argsort(items.gold)
        examples = [f"{' '.join(items.first[i])} / {items.second[i][verb]}" for i in (order[-1], order[0])]
        counts = ((len(items), pairs), (len(items.ratings) or None, annotators), (len(set(items.clusters)), None))
        cells = [*map(Cell, (pattern or items.pattern, *examples)), *(_count(*count) for count in counts)]
        rows.append(TableRow(name, cells, note=items.note))
    columns = ["format", "most alike", "least alike", "pairs", "annotators", "clusters"]
    caption = "The disambiguation sets (Table 1; A: adjective, S: subject, V: verb, O: object)."
    text = ["The examples are the pairs that people find most and least alike."]
    return Section("Data sets", text, [Table("data-sets", caption, columns, rows)])


def _word_similarity(ours: PaperComparison, sets: Sets) -> Section:
    """Table 2: ρ on the sets of word pairs."""
    bold = {name: _champions(ours, name, ("word",)) for name in sets}
    rows = []
    for line in ours.lines(tuple(published.WORD_SIMILARITY), ("matrices", "vectors")):
        papers = [published.figure(published.WORD_SIMILARITY, line.paper, published.SETS, name) for name in sets]
        found = zip(sets, papers, strict=True)
        cells = [line.cell(line.row(ours.evaluation, name, "word"), paper, bold[name]) for name, paper in found]
        rows.append(TableRow(line.name, cells, rule=not line.ensemble, note=line.note))
    table = Table("word-similarity", "Spearman's ρ on word similarity (Table 2).", list(sets), rows)
    return Section("Word similarity", (), [table])


def _disambiguation(
    ours: PaperComparison, name: str, items: EvaluationSet, tests: Sequence[Compared], noise: Mapping[str, float]
) -> Section:
    """Tables 3 to 6: ρ on a set of phrases, by model and method."""
    bold = _champions(ours, name, OF_THE_PAPER)
    marks: dict[tuple[str, str], Mark] = {}
    for item in tests:
        if (verdict := item.test.verdict) in ("better", "equivalent"):
            marks[item.first.model, item.first.method] = verdict  # type: ignore[assignment]
    words = tuple(row for row in published.ROWS if row not in published.ENCODERS)
    main = f"Spearman's ρ on {name}{_numbered(name, 3)}."
    tables = []
    for key, caption, methods, rows_of_paper in (
        (name, main, SHOWN, words),
        (f"{name}-encoders", f"{name}: sentence encoders, by what is compared.", ENCODED, published.ENCODERS),
        (f"{name}-further", f"{name}: further methods.", FURTHER, ()),
    ):
        rows = []
        for line in ours.lines(rows_of_paper):
            model = line.system.name if line.system else ""
            papers = [published.disambiguation_figure(name, line.paper, method) for method in methods]
            cells = [
                line.cell(line.row(ours.evaluation, name, method), paper, bold, marks.get((model, method), ""))
                for method, paper in zip(methods, papers, strict=True)
            ]
            if any(cell.value is not None or (line.system is None and cell.paper is not None) for cell in cells):
                rows.append(TableRow(line.name, cells, rule=not line.ensemble, note=line.note))
        if rows:
            tables.append(Table(key, caption, _called(methods), rows).trimmed())
    text = [f"{len(items)} items in {len(set(items.clusters))} clusters; pattern: {items.pattern}."]
    text += [items.note] if items.note else []
    return Section(f"Disambiguation: {name}", text, tables, _dots(ours, name, items, noise))


def _champions(ours: PaperComparison, name: str, methods: Sequence[str]) -> list[Row]:
    """The best baseline and the best model of density matrices, on the items that all share."""
    matrices = {system.name for system in ours.evaluation.models if system.kind == "matrices"}
    every = [row for row in ours.evaluation.of(name=name).values() if row.method in methods]
    groups = [[row for row in every if (row.model in matrices) == wanted] for wanted in (False, True)]
    return [found for group in groups if (found := best(group, every)) is not None]


def _dots(ours: PaperComparison, name: str, items: EvaluationSet, noise: Mapping[str, float]) -> list[Plot]:
    rows: dict[str, list[tuple[str, float, tuple[float, float] | None, float | None]]] = {}
    for system in ours.evaluation.models:
        found = ours.evaluation.of(system.name, name)
        for method in (*PAPER_METHODS, *ENCODED):
            row = found.get((system.name, name, method))
            if row is not None and np.isfinite(row.best.spearman) and is_ranked(row.best):
                paper = published.disambiguation_figure(name, ours.paper[system.name], method)
                figure = (_called([method])[0], row.best.spearman, row.best.interval, paper)
                rows.setdefault(system.name, []).append(figure)
    if not rows:
        return []
    people = {}
    if len(items.ratings):
        people = {"one person against the rest": human_agreement(items.ratings).one_against_rest}
    band = noise.get("phaser", 0.0)
    caption = f"{name}: filled marks with 95 % intervals are ours, hollow marks the paper's"
    caption += f"; the grey band is the noise floor of Phaser, ±{shown(band)}." if band else "."
    return _plot(f"{name}-figures", caption, "dot_chart", rows, people, band, f"Spearman's ρ on {name}")


def _plot(key: str, caption: str, chart: str, *figures_of: Any) -> list[Plot]:
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


_TEST_COLUMNS = (
    "model", "best baseline", "difference of ρ", "items", "clusters", "p better", "corrected", "p worse, corrected",
    "p equivalent, corrected", "comparisons", "verdict",
)  # fmt: skip


def _tests(tests: Tests) -> Section:
    """Every model of density matrices against the best baseline."""
    rows = []
    for name, found in tests.items():
        for number, item in enumerate(found):
            test = item.test
            ps = (test.p, test.adjusted, test.adjusted_worse, min(1.0, test.p_equivalent * test.comparisons))
            cells = [
                *(Cell(f"{result.model} {result.method}") for result in (item.first, item.second)),
                Cell(test.difference, interval=test.interval),
                _count(test.items),
                _count(test.clusters),
                *(Cell(f"{p:.4f}") for p in ps),
                Cell(str(test.comparisons)),
                Cell(test.verdict),
            ]
            rows.append(TableRow(name, cells, rule=number == 0))
    text = [
        "Paired permutation tests over the items that both models cover: the models change places in whole clusters of "
        "items. The correction multiplies p by the number of figures that the models' best were chosen from. "
        f"Equivalent: two one-sided tests (TOST) say that the difference lies within ±{MARGIN:g}."
    ]
    return Section("Against the best baseline", text, [Table("tests", "Paired tests.", _TEST_COLUMNS, rows)])


_CORRELATIONS = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "pearson_given_frequency": "r given frequency",
    "spearman_given_frequency": "ρ given frequency",
}


def _ambiguity(ours: PaperComparison) -> Section:
    """Table 7 and figure 1: entropy against WordNet's senses."""
    rows = []
    for line in ours.lines(tuple(published.AMBIGUITY), ("matrices",), ensembles=False):
        if line.system is not None and not line.system.ambiguity:
            continue
        found = line.system.ambiguity if line.system else ()
        papers: Sequence[float | None] = published.AMBIGUITY.get(line.paper or "", (None, None))
        cells = []
        for name, paper in zip(_CORRELATIONS, (*papers, None, None), strict=True):
            known = [value for item in found if (value := getattr(item, name)) is not None]
            each = tuple(known) if len(known) > 1 else ()
            cells.append(Cell(float(np.mean(known)) if known else None, paper=paper, spread=spread(known), each=each))
        cells.append(_count(found[0].words if found else None))
        rows.append(TableRow(line.name, cells, note=line.note))
    series = {
        system.name: [(item.synsets, item.entropy, item.error) for item in system.ambiguity[0].bins]
        for system in ours.evaluation.models
        if system.ambiguity
    }
    text = [
        "The von Neumann entropy of words against the number of WordNet synsets they belong to, over all words of a "
        "lexicon that are WordNet lemmas. Frequent words have more synsets, and models give them more entropy: the "
        "columns given frequency partial out the logarithm (for ρ, the rank) of a word's count."
    ]
    caption = "Mean entropy by number of synsets, with standard errors (the paper's figure 1); of several seeds, one."
    columns = [*_CORRELATIONS.values(), "words"]
    table = Table("ambiguity", "Correlation of entropy and number of synsets (Table 7).", columns, rows)
    plots = _plot("ambiguity", caption, "line_chart", series, "WordNet synsets", "mean entropy (nats)")
    return Section("Ambiguity and polysemy", text, [table], plots)


def _entropy(ours: PaperComparison, sets: Sets) -> Section:
    """Tables 8 to 11: mean entropy before and after composition; and the example of *run*."""
    tables = [_example(ours)] if published.EXAMPLE.name in ours.evaluation.sets else []
    lines = ours.lines(tuple(published.ENTROPY["GS2011"]), ("matrices",), ensembles=False)
    for name in sets:
        rows = []
        for line in lines:
            verb = line.row(ours.evaluation, name, "verb")
            cells = []
            for method in SHOWN:
                row, table = line.row(ours.evaluation, name, method), published.ENTROPY.get(name, {})
                paper = published.figure(table, line.paper, PAPER_METHODS, method)
                cells.append(line.entropy(row, paper, _falls(row, verb)))
            rows.append(TableRow(line.name, cells, rule=True, note=line.note))
        caption = (
            f"Mean entropy before (Verb) and after composition on {name}{_numbered(name, 8)}; bold where it falls."
        )
        tables.append(Table(f"{name}-entropy", caption, _called(SHOWN), rows))
    text = ["The mean is over the covered items: of the verb's matrix, then of the composed phrase with that verb."]
    return Section("Ambiguity and composition", text, tables)


def _example(ours: PaperComparison) -> Table:
    """What the paper says of *The family run the hotel*."""
    name = published.EXAMPLE.name
    rows = []
    for line in ours.lines(("MS-Word2DM cos 5",), ("matrices",), ensembles=False):
        verb, phrase = (line.row(ours.evaluation, name, method) for method in ("verb", "phaser"))
        papers = published.EXAMPLE_ENTROPY if line.paper == "MS-Word2DM cos 5" else (None, None)
        cells = [line.entropy(verb, papers[0], False), line.entropy(phrase, papers[1], _falls(phrase, verb))]
        rows.append(TableRow(line.name, cells, note=line.note))
    caption = "The entropy of run, and of “The family run the hotel” by Phaser (§5.3); bold where it falls."
    return Table("example", caption, ["run", "the sentence"], rows)


def _falls(row: Row | None, verb: Row | None) -> bool:
    return bool(row and verb and row.entropy is not None and verb.entropy is not None and row.entropy < verb.entropy)


def _people(sets: Sets) -> Section:
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


def _noise(noise: Mapping[str, Mapping[str, float]], settings: Settings) -> Section:
    """What random matrices reach."""
    n, m = settings.noise_size
    tables = []
    for key, caption, methods in (("noise-words", "word similarity", ("word",)), ("noise", "disambiguation", SHOWN)):
        own = {name: found for name, found in noise.items() if methods[0] in found}
        rows = [TableRow(name, [Cell(found[method]) for method in methods]) for name, found in own.items()]
        if rows:
            tables.append(Table(key, f"What random matrices reach: {caption}.", _called(methods), rows))
    text = [
        f"The |ρ| that 95 of 100 lexicons of random {n}×{m} matrices stay below ({settings.noise_draws} drawn). Items "
        "share their verbs, so chance reaches further than the number of items suggests, furthest where the verb alone "
        "decides."
    ]
    return Section("Noise floor", text, tables)


def _coverage(ours: PaperComparison, sets: Sets) -> Section:
    """How many items each model knows the words of."""
    rows = []
    for system in ours.evaluation.models:
        found = [next(iter(ours.evaluation.of(system.name, name).values()), None) for name in sets]
        cells = [Cell(f"{int(row.best.covered.sum())}/{len(row.items)}" if row else None) for row in found]
        rows.append(TableRow(system.name, cells))
    text = [f"Items whose words the model knows. Policy for words it lacks: {ours.evaluation.unknown_words}."]
    return Section("Coverage", text, [Table("coverage", "Covered items.", list(sets), rows)])


def _configuration(ours: PaperComparison, settings: Settings) -> Section:
    """What was run, and how every model was made."""

    def short(value: Any) -> Any:  # long lists are cut
        if isinstance(value, dict):
            return {key: short(item) for key, item in value.items()}
        if isinstance(value, list):
            return [short(item) for item in value[:8]] + [f"… {len(value) - 8} more"] * (len(value) > 8)
        return value

    held = short(clean({"run": settings.configuration, "models": _made(ours)}))
    return Section("Configuration", ["```json\n" + json.dumps(held, indent=2, ensure_ascii=False) + "\n```"])


def _made(ours: PaperComparison) -> dict[str, Any]:
    """How every model was made, but not how long it took: a report that is made again has the same bytes."""

    def timeless(facts: Any) -> Any:
        if isinstance(facts, Mapping):
            return {key: timeless(value) for key, value in facts.items() if key != "seconds"}
        return [timeless(value) for value in facts] if isinstance(facts, list | tuple) else facts

    return {system.name: timeless(system.metadata) for system in ours.evaluation.models}


def _numbered(name: str, first: int) -> str:
    """The number of the paper's table of a set; "" where it has none."""
    return f" (Table {[*published.DATA_SETS].index(name) + first})" if name in published.DATA_SETS else ""


def _count(value: int | None, paper: int | None = None) -> Cell:
    here, there = (None if number is None else float(number) for number in (value, paper))
    return Cell(here, "count", paper=there)


def _called(methods: Sequence[str]) -> list[str]:
    """The headings of methods."""
    return [_NAMES.get(method, method.capitalize()) for method in methods]


def _data(
    ours: PaperComparison, tests: Tests, noise: Mapping[str, Any], phrases: Sets, settings: Settings
) -> dict[str, Any]:
    """Everything the report says, for programs."""
    held = {
        "evaluation": ours.evaluation.to_json(),
        "paper": ours.paper,
        "metadata": _made(ours),
        "skipped": [item._asdict() for item in ours.skipped],
        "tests": [item.to_json() for found in tests.values() for item in found],
        "people": {n: asdict(human_agreement(data.ratings)) for n, data in phrases.items() if len(data.ratings)},
        "noise_floor": noise,
        "departures": [dict(zip(("what", "paper", "here"), item, strict=True)) for item in settings.departures],
        "configuration": settings.configuration,
    }
    return dict(clean(held))
