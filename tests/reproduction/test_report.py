import csv
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from scipy.stats import spearmanr

from polysema import Lexicon, VectorLexicon, evaluate, evaluate_models
from polysema.cli import main
from polysema.composition.methods import METHODS
from polysema.errors import InputError, install_command
from polysema.evaluation.comparison import against_best_baseline, best, noise_floor, on_shared_items
from polysema.evaluation.datasets import RECORDS, EvaluationSet
from polysema.evaluation.evaluate import _common_name, grouped, made_with
from polysema.evaluation.results import Evaluation, Result, Row, System
from polysema.reproduction import published
from polysema.reproduction.pages import (
    Cell,
    Report,
    Section,
    Skipped,
    Table,
    TableRow,
    shown,
    signed,
    to_csv,
    to_html,
    to_markdown,
    write_report,
)
from polysema.reproduction.published import PaperComparison
from polysema.reproduction.report import Settings, build_report

SETS = [*published.SETS, *published.DATA_SETS]
WORDS = ["run", "move", "see", "make", "dog", "cat", "house", "river", "old", "new", "bank", "money"]


@pytest.fixture(scope="module")
def toy():
    """A set of phrases whose gold judgement follows one model's similarities, and one of words."""
    rng = np.random.default_rng(1)
    verbs, nouns = WORDS[:4], WORDS[4:]
    first = tuple((rng.choice(nouns), rng.choice(verbs), rng.choice(nouns)) for _ in range(60))
    second = tuple((a, verbs[(verbs.index(v) + 1 + i % 3) % 4], c) for i, (a, v, c) in enumerate(first))
    good = Lexicon(WORDS, rng.normal(size=(12, 4, 2)))
    data = EvaluationSet(
        "GS2011", "subj verb obj", first, second, np.zeros(60), rng.integers(1, 7, (5, 60)).astype(float)
    )
    gold = evaluate(good, {"x": data})["GS2011", "phaser"].best.scores
    data = EvaluationSet("GS2011", "subj verb obj", first, second, gold, data.ratings)
    pairs = EvaluationSet.of_words("MEN", ((a, b) for a in WORDS[:6] for b in WORDS[6:]), rng.normal(size=36))
    return good, {"MEN": pairs, "GS2011": data}


@pytest.fixture(scope="module")
def found(toy):
    good, sets = toy
    rng = np.random.default_rng(2)
    seeds = [Lexicon(WORDS, rng.normal(size=(12, 4, 2))) for _ in range(2)]
    vectors = VectorLexicon(WORDS, rng.normal(size=(12, 6)))
    models = [("good", good), ("Word2DM", seeds[0]), ("Word2DM", seeds[1]), ("GloVe", vectors)]
    return evaluate_models(models, {**sets, published.EXAMPLE.name: published.EXAMPLE}, bootstraps=100)


def test_seeds_are_one_row(found):
    assert [system.name for system in found.models] == ["good", "Word2DM", "GloVe"]
    assert [len(system.metadata) for system in found.models] == [1, 2, 1]
    row = found["Word2DM", "GS2011", "add"]
    assert np.allclose(row.ensemble.scores, np.mean([seed.scores for seed in row.seeds], axis=0))


def test_models_trained_alike_but_for_the_seed_are_seeds():
    def described(seed, dim=17):
        return {"model": "ms-word2dm", "options": {"seed": seed, "dim": dim}, "curve": [seed]}

    assert grouped(["a", "b", "c", "d"], [described(1), described(2), described(3, 20), {}]) == [[0, 1], [2], [3]]
    assert made_with(described(4)) == ("ms-word2dm", {"seed": 4, "dim": 17})
    assert grouped(["a", "a", "b"], [{}, {}, {}]) == [[0, 1], [2]]
    assert [_common_name(n) for n in (["ms-1", "ms-2"], ["a", "b"], ["x1", "x1"])] == ["ms", "a", "x1"]


def test_the_paired_comparison(found):
    tests = {item.first.model: item for item in against_best_baseline(found, "GS2011", ("verb", "phaser"), 500)}
    assert tests["good"].first.method == "phaser"
    assert tests["good"].test.verdict == "better"
    assert tests["good"].second.model == "GloVe"
    assert tests["good"].test.comparisons == 4  # two models, two methods each
    assert tests["good"].test.clusters == 12
    assert against_best_baseline(evaluation_of(found, "good", "Word2DM"), "GS2011", ("verb",)) == []


def evaluation_of(found, *names):
    models = tuple(system for system in found.models if system.name in names)
    return replace(found, models=models, rows=tuple(row for row in found.rows if row.model in names))


def test_no_best_on_almost_no_items(toy):
    """ρ = 1 on two items does not win, and models are ranked on the items they share."""
    items = toy[1]["MEN"]
    few, most, all_of_them = np.full(36, np.nan), items.gold.copy(), items.gold + 0.3 * np.sin(np.arange(36))
    few[:2] = items.gold[:2]
    most[30:] = np.nan
    results = [
        Result(name, 1, items, "word", scores, None, np.isfinite(scores))
        for name, scores in (("few", few), ("most", most), ("all", all_of_them))
    ]
    assert results[0].spearman == pytest.approx(1)
    ranks = on_shared_items(results)
    assert set(ranks) == {1, 2}
    assert ranks[2] == pytest.approx(spearmanr(items.gold[:30], all_of_them[:30])[0])
    rows = [Row((result,)) for result in results]
    assert best(rows) is rows[1]
    assert best(rows[:1]) is None
    assert best([rows[2]], among=rows) is rows[2]


def test_noise_floor(toy):
    floor = noise_floor(toy[1], 3, 2, methods=("add",), draws=30)
    assert 0.3 < floor["GS2011"]["add"] < 0.9  # three times what 60 items without common verbs would give
    assert 0.2 < floor["MEN"]["word"] < 0.6
    with pytest.raises(InputError):
        noise_floor(toy[1], draws=1)


@pytest.fixture(scope="module")
def written(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new" / "report"
    settings = Settings(
        noise_draws=2, noise_size=(3, 2), resamples=2000, configuration={"seed": 0}, complete=True,
        departures=[("text", "2.8 G words", "60 items & more")],
    )  # fmt: skip
    skipped = [Skipped("BERT2DM <b>", "needs & wants"), Skipped("FastText", "no gensim here")]
    write_report(build_report(found, skipped, settings), folder)
    return folder


def test_every_format_is_written(written):
    names = {path.relative_to(written).as_posix() for path in written.rglob("*.*")}
    assert {"report.html", "report.md", "report.json", "tables/GS2011.csv"} <= names
    assert {"plots/GS2011-figures.svg", "plots/ambiguity.svg", "tables/tests.csv", "tables/noise.csv"} <= names


def test_the_page_stands_alone(written):
    page = (written / "report.html").read_text()
    assert not re.search(r"src=\"(?!data:)|href=\"[^#]|url\(|@import", page)
    for shown_too in ("BERT2DM &lt;b&gt;", "needs &amp; wants", "mean of 2 seeds", "their ensemble", 'class="better"',
                      "small.each{white-space:normal", "<b>1.000</b>"):  # fmt: skip
        assert shown_too in page
    assert re.search(r'<small class="each">−?\.\d{3} −?\.\d{3}</small>', page)  # seeds may stand on several lines
    body = page.partition("<body>")[2].partition("</body>")[0]
    ET.fromstring(f"<body>{body}</body>".replace("<tr class=rule>", '<tr class="rule">'))  # well-formed
    for plot in (written / "plots").glob("*.svg"):
        ET.parse(plot)


def rows_of(written, name):
    return list(csv.DictReader(io.StringIO((written / "tables" / f"{name}.csv").read_text())))


def test_every_table_is_the_papers_whole_table(written):
    def systems(name):
        return {row["model"].partition(", mean of")[0].partition(", their")[0] for row in rows_of(written, name)}

    assert systems("word-similarity") == {*published.WORD_SIMILARITY, "good"}
    assert systems("GS2011") | systems("GS2011-encoders") == {*published.DISAMBIGUATION["GS2011"], "good"}
    assert systems("ambiguity") >= {"Context2DM", "MS-Word2DM cos 5", "BERT2DM SVD", "BERT2DM PCA"}
    assert systems("GS2011-entropy") >= {"Context2DM", "MS-Word2DM cos 5", "BERT2DM SVD"}
    missing = [row for row in rows_of(written, "word-similarity") if row["model"] == "FastText"]
    assert {(row["value"], row["note"]) for row in missing} == {("", "no gensim here")}
    assert [float(row["paper"]) for row in missing] == [published.WORD_SIMILARITY["FastText"][4]]  # MEN is the only set
    example = {row["column"]: row for row in rows_of(written, "example") if row["model"] == "MS-Word2DM cos 5"}
    assert [float(example[column]["paper"]) for column in ("run", "the sentence")] == [1.491, 0.144]
    sets = {row["column"]: row for row in rows_of(written, "data-sets")}
    assert (sets["pairs"]["value"], sets["pairs"]["paper"], sets["annotators"]["paper"]) == ("60.0", "200.0", "25.0")
    markdown = (written / "report.md").read_text()
    assert "(no gensim here)" in markdown
    assert "(paper .365)" in markdown  # MS-Word2DM cos 5 on GS2011, which was not trained


def test_the_same_figures_everywhere(written, found):
    data = json.loads((written / "report.json").read_text())
    value = found["GloVe", "GS2011", "add"].spearman
    held = {(row["model"], row["set"], row["method"]): row for row in data["evaluation"]["results"]}
    assert held["GloVe", "GS2011", "add"]["spearman"] == value
    assert data["evaluation"] == json.loads(json.dumps(found.to_json()))
    assert data["skipped"][0] == {"name": "BERT2DM <b>", "reason": "needs & wants"}
    assert data["departures"] == [{"what": "text", "paper": "2.8 G words", "here": "60 items & more"}]
    row = next(r for r in rows_of(written, "GS2011") if r["model"] == "GloVe" and r["column"] == "Add")
    assert float(row["value"]) == value
    assert float(row["paper"]) == published.DISAMBIGUATION["GS2011"]["GloVe"][2]
    assert float(row["low"]) <= value <= float(row["high"])
    assert (row["items"], row["total"]) == ("60", "60")
    assert shown(value) in (written / "report.md").read_text()


def test_without_matplotlib_the_report_has_tables_only(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    report = build_report(found, settings=Settings(noise_draws=0))
    assert not any(section.plots for section in report.sections)
    assert install_command("plots") in unescape(to_html(report))


def test_ten_models_are_told_apart():
    from polysema.drawing import line_chart

    figure = line_chart({f"model {i}": [(1, i, 0.1), (2, i + 1, 0.1)] for i in range(30)}, "x", "y")
    looks = {
        (line.get_color(), line.get_marker(), line.get_linestyle())
        for line in figure.axes[0].get_lines()
        if line.get_marker() not in ("", "None", "_", "|")
    }
    assert len(looks) == 30


def test_figures_are_written_as_the_paper_does():
    assert [shown(v) for v in (0.3654, -0.069, -1e-9, float("nan"), None)] == [".365", "−.069", ".000", "–", "–"]
    assert (shown(1.0), shown(1234.0, "count"), signed(7.0, "count"), signed(-0.13)) == ("1.000", "1,234", "+7", "−.13")
    assert Cell(60.0, "count", paper=53.0).differs
    assert shown(0.2239, "entropy") == "0.224"
    assert Cell(0.3, paper=0.5, interval=(0.2, 0.4)).differs
    assert not Cell(0.3, paper=0.35, interval=(0.2, 0.4)).differs
    assert Cell(None, paper=0.3).difference is None


def test_a_row_that_was_left_out_keeps_its_line():
    row = "MS-Word2DM dot 5"
    other = System(f"{row}, SGD", "matrices", ({"model": "ms-word2dm", "options": {"select": "dot", "senses": 5}},), ())
    found = Evaluation((other,), (), "skip", {})
    lines = PaperComparison(found, [Skipped(row, "not asked for")], True).lines([row])
    assert [(line.name, line.note) for line in lines] == [(row, "not asked for"), (f"{row}, SGD", "")]
    assert [line.name for line in PaperComparison(found, [], True).lines([row])] == [f"{row}, SGD"]


def test_which_row_a_model_belongs_beside():
    def trained(model, **config):
        return {"model": model, "options": config}

    assert published.row_of(trained("ms-word2dm", select="cosine", senses=5)) == "MS-Word2DM cos 5"
    assert published.row_of(trained("ms-word2dm", select="dot", senses=10)) == "MS-Word2DM dot 10"
    described = {"model": "bert2dm", "options": {"cluster": True, "reduction": "svd"}}
    assert published.row_of(described) == "BERT2DM SVD + cluster"
    assert published.row_of(trained("ms-word2dm", select="dot", senses=7)) is None
    assert published.row_of(trained("word2vec")) == "Word2Vec"
    assert published.row_of({}) is None
    assert published.paper_row({}, "glove") == "GloVe"
    assert published.paper_row({"encoder": "minilm"}, "minilm", "sentences") == "BERT"
    assert published.paper_row({"weights": "x"}, "InferSent2", "sentences") == "InferSent2"
    assert published.paper_row({}, "mine", "matrices") is None


@pytest.fixture(scope="module")
def files(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    good, sets = toy
    good.save(folder / "good")
    data = sets["GS2011"]
    rows = [f"{' '.join(a)}\t{' '.join(b)}\t{g}\n" for a, b, g in zip(data.first, data.second, data.gold, strict=True)]
    (folder / "mine.tsv").write_text("".join(rows))
    (folder / "words.tsv").write_text("run\tmove\t1\nold\tnew\t2\ndog\tcat\t3\nbank\tmoney\t4\n")
    return folder


def rows(held):
    return {(row["model"], row["set"], row["method"]): row for row in held["results"]}


def test_the_command_on_own_sets(files, capsys):
    own = ["--phrases", "subj verb obj", str(files / "mine.tsv"), "--pairs", str(files / "words.tsv")]
    assert main(["evaluate", str(files / "good"), *own, "--json", "--bootstraps", "20"]) == 0
    held = rows(json.loads(capsys.readouterr().out))
    assert held["good", "mine", "phaser"]["spearman"] == pytest.approx(1.0)
    assert held["good", "words", "word"]["items"] == 4
    again = [f"A={files / 'good'}", f"A={files / 'good'}", "--method", "add", "--method", "verb"]
    assert main(["evaluate", *again, *own, "--json"]) == 0
    held = json.loads(capsys.readouterr().out)
    assert [(model["name"], model["seeds"]) for model in held["models"]] == [("A", 2)]
    assert set(rows(held)) == {("A", "mine", "add"), ("A", "mine", "verb"), ("A", "words", "word")}
    row = rows(held)["A", "mine", "add"]
    assert (row["sd"], [seed["seed"] for seed in row["seeds"]]) == (0.0, [1, 2])
    assert row["ensemble"]["spearman"] == row["spearman"]
    assert main(["evaluate", *again, *own]) == 0
    assert "A, 2 seeds" in capsys.readouterr().out
    other = [str(files / "good"), f"B={files / 'good'}", "--compare"]
    assert main(["evaluate", *other, *own, "--json"]) == 0
    tests = json.loads(capsys.readouterr().out)["comparisons"]
    assert len(tests) == 1 + len(METHODS)
    assert {item["comparisons"] for item in tests} == {1 + len(METHODS)}
    assert all(item["p"] == 1.0 and item["interval"] == [0.0, 0.0] for item in tests)  # no better than itself
    assert main(["evaluate", *other, *own]) == 0
    assert "better than good?" in capsys.readouterr().out
    assert main(["evaluate", str(files / "good"), *own, "--unknown-words", "guess"]) == 2
    assert main(["evaluate", str(files / "good"), *own, "--method", "phasr"]) == 2
    report = ["--report", str(files / "out")]
    assert main(["evaluate", str(files / "good"), *own, *report]) == 0
    assert "phaser" in capsys.readouterr().out
    assert (files / "out" / "report.html").is_file()


def test_the_command_on_the_papers_sets(files, data, capsys, monkeypatch):
    monkeypatch.setenv("POLYSEMA_DATA", str(data))
    assert main(["evaluate", str(files / "good"), "--json", "--offline"]) == 0
    held = json.loads(capsys.readouterr().out)
    assert rows(held)["good", "MEN", "word"]["items"] == 3000
    assert rows(held)["good", "GS2011", "phaser"]["items"] == 200
    assert held["models"][0]["ambiguity"][0]["words"] == 12
    main(["data", "verify", "--json"])
    state = json.loads(capsys.readouterr().out)
    assert all(state[file.name] == "ok" for name in SETS for file in RECORDS[name].files)
    assert main(["data", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["items"] == 65
    assert main(["data", "fetch", *SETS]) == 0
    assert "nothing is missing" in capsys.readouterr().out


def test_names_are_text_in_markdown_and_csv():
    rows = [TableRow("<script>alert(1)</script>", [Cell(0.5)]), TableRow("=1+1", [Cell(-0.25)])]
    table = Table("t", "a <b>table</b>", ["+c"], rows)
    markdown = to_markdown(Report("<i>", [Section("s", ["x < y"], [table])]))
    assert not re.search("<[a-z]", markdown)
    cells = list(csv.reader(io.StringIO(to_csv(table))))
    assert [row[:3] for row in cells[1:]] == [["<script>alert(1)</script>", "'+c", "0.5"], ["'=1+1", "'+c", "-0.25"]]
