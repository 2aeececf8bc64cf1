from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from polysema import Lexicon
from polysema.cli import main
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation import published
from polysema.evaluation.comparison import compare
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.entries import Skipped, _common_name, evaluate_models, grouped
from polysema.evaluation.evaluate import evaluate
from polysema.evaluation.noise import noise_floor
from polysema.evaluation.protocol import figures
from polysema.evaluation.report.build import Settings, build_report
from polysema.evaluation.report.latex import escaped
from polysema.evaluation.report.svg import _ticks
from polysema.evaluation.report.tables import Cell, shown
from polysema.evaluation.report.write import write_report
from polysema.evaluation.statistics import bootstrap

WORDS = ["run", "move", "see", "make", "dog", "cat", "house", "river", "old", "new", "bank", "money"]


@pytest.fixture(scope="module")
def toy():
    """A set of phrases whose gold judgement follows one model's similarities, and one of words."""
    rng = np.random.default_rng(1)
    verbs, nouns = WORDS[:4], WORDS[4:]
    first = tuple((rng.choice(nouns), rng.choice(verbs), rng.choice(nouns)) for _ in range(60))
    second = tuple((a, verbs[(verbs.index(v) + 1 + i % 3) % 4], c) for i, (a, v, c) in enumerate(first))
    good = Lexicon(WORDS, rng.normal(size=(12, 4, 2)))
    data = PhrasePairs(
        "GS2011", "subj verb obj", first, second, np.zeros(60), rng.integers(1, 7, (5, 60)).astype(float)
    )
    gold = evaluate(good, {"x": data}).disambiguation["x"].methods["phaser"].scores
    data = PhrasePairs("GS2011", "subj verb obj", first, second, gold, data.ratings)
    pairs = WordPairs("MEN", tuple((a, b) for a in WORDS[:6] for b in WORDS[6:]), rng.normal(size=36))
    return good, {"MEN": pairs, "GS2011": data}


@pytest.fixture(scope="module")
def entries(toy):
    good, sets = toy
    rng = np.random.default_rng(2)
    seeds = [Lexicon(WORDS, rng.normal(size=(12, 4, 2))) for _ in range(2)]
    vectors = Lexicon(WORDS, rng.normal(size=(12, 6)))
    models = [("good", good), ("Word2DM", seeds[0]), ("Word2DM", seeds[1]), ("GloVe", vectors)]
    return evaluate_models(models, sets, bootstraps=100)


def test_seeds_are_one_row(entries):
    assert [entry.name for entry in entries] == ["good", "Word2DM", "GloVe"]
    assert [len(entry.seeds) for entry in entries] == [1, 2, 1]
    assert [entry.paper for entry in entries] == [None, "Word2DM", "GloVe"]
    pair = entries[1]
    scores = [seed.disambiguation["GS2011"].methods["add"].scores for seed in pair.seeds]
    assert np.allclose(pair.ensemble.disambiguation["GS2011"].methods["add"].scores, np.mean(scores, axis=0))


def test_models_trained_alike_but_for_the_seed_are_seeds():
    def trained(seed, dim=17):
        return {"model": "ms-word2dm", "options": {"seed": seed, "dim": dim}, "curve": [seed]}

    assert grouped(["a", "b", "c", "d"], [trained(1), trained(2), trained(3, 20), {}]) == [[0, 1], [2], [3]]
    assert grouped(["a", "a", "b"], [{}, {}, {}]) == [[0, 1], [2]]
    assert [_common_name(n) for n in (["ms-1", "ms-2"], ["a", "b"], ["x1", "x1"])] == ["ms", "a", "x1"]


def test_the_paired_comparison(entries, toy):
    found = {item.model[0]: item for item in compare(entries, "GS2011", toy[1]["GS2011"], ("verb", "phaser"), 500)}
    assert found["good"].model == ("good", "phaser")
    assert found["good"].verdict == "better"
    assert found["good"].baseline[0] == "GloVe"
    assert found["good"].better.adjusted == pytest.approx(min(1, found["good"].better.p * 4))
    assert compare(entries[:2], "GS2011", toy[1]["GS2011"], ("verb",)) == []


def test_the_papers_protocol(entries, toy):
    data = toy[1]["GS2011"]
    results = [entries[0].seeds[0], entries[2].seeds[0]]
    broken = results[1].disambiguation["GS2011"].methods["add"].scores.copy()
    plain = figures(results, {"GS2011": data}, "plain")["GS2011"]
    assert plain["good"]["phaser"] == pytest.approx(1.0)
    found = figures(results, {"GS2011": data}, "paper")["GS2011"]
    scores = np.stack([s.scores for r in results for s in r.disambiguation["GS2011"].methods.values()])
    known = np.isfinite(scores).all(axis=0)
    expected = bootstrap(data.gold[known], broken[known], 100, seed=0)[0].mean()
    assert found["GloVe"]["add"] == pytest.approx(expected)
    same = Lexicon(WORDS, np.ones((12, 3)))
    constant = evaluate(same, {"GS2011": data}, name="constant")
    assert np.isnan(figures([constant], {"GS2011": data}, "paper")["GS2011"]["constant"]["add"])
    with pytest.raises(UnknownChoiceError, match="plain or paper"):
        figures(results, {}, "script")


def test_noise_floor(toy):
    found = noise_floor(toy[1], 3, 2, methods=("add",), draws=30)
    assert 0.3 < found["GS2011"]["add"] < 0.9  # three times what 60 items without common verbs would give
    assert 0.2 < found["MEN"]["words"] < 0.6
    with pytest.raises(InputError):
        noise_floor(toy[1], draws=1)


@pytest.fixture(scope="module")
def written(entries, toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new" / "report"
    settings = Settings(noise_draws=2, noise_size=(3, 2), resamples=2000, configuration={"seed": 0})
    report = build_report(entries, toy[1], [Skipped("BERT2DM <b>", "needs & wants")], settings)
    write_report(report, folder)
    return folder


def test_every_format_is_written(written):
    names = {path.relative_to(written).as_posix() for path in written.rglob("*.*")}
    assert {"report.html", "report.md", "report.tex", "report.json", "tables/GS2011.csv"} <= names
    assert {"plots/GS2011-figures.svg", "plots/ambiguity.svg", "tables/tests.csv", "tables/noise.csv"} <= names


def test_the_page_stands_alone(written):
    page = (written / "report.html").read_text()
    assert not re.search(r"src=|href=\"[^#]|url\(|@import", page)
    assert "BERT2DM &lt;b&gt;" in page
    assert "needs &amp; wants" in page
    assert "mean of 2 seeds" in page
    assert "their ensemble" in page
    assert 'class="better"' in page
    assert "<b>1.000</b>" in page
    body = page.partition("<body>")[2].partition("</body>")[0]
    ET.fromstring(f"<body>{body}</body>".replace("<tr class=rule>", '<tr class="rule">'))  # well-formed
    for plot in (written / "plots").glob("*.svg"):
        ET.parse(plot)


def test_the_same_figures_everywhere(written, entries):
    data = json.loads((written / "report.json").read_text())
    value = entries[2].seeds[0].disambiguation["GS2011"].methods["add"].spearman
    assert data["models"]["GloVe"]["seeds"][0]["disambiguation"]["GS2011"]["add"]["spearman"] == value
    assert data["skipped"] == [{"name": "BERT2DM <b>", "reason": "needs & wants"}]
    rows = list(csv.DictReader(io.StringIO((written / "tables" / "GS2011.csv").read_text())))
    row = next(r for r in rows if r["model"] == "GloVe" and r["column"] == "Add")
    assert float(row["value"]) == value
    assert float(row["paper"]) == published.DISAMBIGUATION["GS2011"]["GloVe"][2]
    assert float(row["low"]) <= value <= float(row["high"])
    assert shown(value) in (written / "report.md").read_text()
    latex = (written / "report.tex").read_text()
    assert r"\textbf{" in latex
    assert r"\underline{" in latex
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 5


def test_writing_over_a_file(tmp_path, entries, toy):
    (tmp_path / "file").write_text("x")
    report = build_report(entries[2:], toy[1], settings=Settings(noise_draws=0))
    with pytest.raises(InputError, match="is a file"):
        write_report(report, tmp_path / "file")


def test_figures_are_written_as_the_paper_does():
    assert [shown(v) for v in (0.3654, -0.069, 1.0, float("nan"), None)] == [".365", "−.069", "1.000", "–", "–"]
    assert shown(0.2239, "entropy") == "0.224"
    assert escaped("50 % of a_b & ρ") == r"50 \% of a\_b \& $\rho$"
    assert Cell(0.3, paper=0.5, interval=(0.2, 0.4)).differs
    assert not Cell(0.3, paper=0.35, interval=(0.2, 0.4)).differs
    assert Cell(None, paper=0.3).difference is None


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.35, 0.7), (0, 57), (1.0, 1.3), (0, 0), (-2, 4000)])
def test_ticks_cover_their_range(low, high):
    ticks = _ticks(low, high)
    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert 2 <= len(ticks) <= 9
    assert len(set(np.diff(ticks).round(9))) == 1


def test_published_figures_are_the_papers(shared):
    """Every row of the tables can be found in the paper's source, figure by figure."""
    source = (shared / "paper" / "meyer-lewis-2020.tex").read_text()
    plain = re.sub(r"\\(phantom\{-\}|textbf|underline|multicolumn\{5\}\{c\})|[{}]", "", source)
    found = {tuple(map(float, re.findall(r"-?\d*\.\d{3}", line))) for line in plain.split(r"\\")}
    tables = [published.WORD_SIMILARITY, published.AMBIGUITY]
    tables += [*published.DISAMBIGUATION.values(), *published.ENTROPY.values()]
    for rows in tables:
        for name, row in rows.items():
            assert row in found, name
    assert [len(published.WORD_SIMILARITY), len(published.AMBIGUITY)] == [13, 5]
    assert {len(rows) for rows in published.DISAMBIGUATION.values()} == {16}


def test_which_row_a_model_belongs_beside():
    def trained(model, **config):
        return {"model": model, "options": config}

    assert published.row_of(trained("ms-word2dm", select="cosine", senses=5)) == "MS-Word2DM cos 5"
    assert published.row_of(trained("ms-word2dm", select="dot", senses=10)) == "MS-Word2DM dot 10"
    assert published.row_of(trained("ms-word2dm", select="dot", senses=7)) is None
    assert published.row_of(trained("word2vec")) == "Word2Vec"
    assert published.row_of({}) is None


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


def test_the_command_on_own_sets(files, capsys):
    own = ["--phrases", "subj verb obj", str(files / "mine.tsv"), "--pairs", str(files / "words.tsv")]
    assert main(["evaluate", str(files / "good"), *own, "--json", "--bootstraps", "20"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["disambiguation"]["mine"]["phaser"]["spearman"] == pytest.approx(1.0)
    assert found["word_similarity"]["words"]["total"] == 4
    again = [f"A={files / 'good'}", f"A={files / 'good'}", "--method", "add", "--method", "verb"]
    assert main(["evaluate", *again, *own, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"]
    assert list(found) == ["A #1", "A #2", "A, ensemble"]
    assert set(found["A #1"]["disambiguation"]["mine"]) == {"add", "verb", "covered", "total"}
    other = [str(files / "good"), f"B={files / 'good'}", "--compare"]
    assert main(["evaluate", *other, *own, "--json"]) == 0
    tests = json.loads(capsys.readouterr().out)["comparisons"]
    assert len(tests) == 11
    assert all(item["test"]["p"] == 1.0 for item in tests)  # a model is not better than itself
    assert main(["evaluate", *other, *own]) == 0
    assert "better than good?" in capsys.readouterr().out
    report = ["--report", str(files / "out"), "--noise-draws", "2"]
    assert main(["evaluate", str(files / "good"), *own, *report]) == 0
    assert "phaser" in capsys.readouterr().out
    assert (files / "out" / "report.html").is_file()


def test_the_command_on_the_papers_sets(files, data, capsys, monkeypatch):
    monkeypatch.setenv("POLYSEMA_DATA", str(data))
    assert main(["evaluate", str(files / "good"), "--json", "--offline"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["word_similarity"]["MEN"]["total"] == 3000
    assert found["disambiguation"]["GS2011"]["total"] == 200
    assert found["ambiguity"]["words"] == 12
    assert main(["data", "verify"]) == 0
    assert main(["data", "list", "--json"]) == 0
    assert main(["data", "fetch"]) == 0
    assert "nothing is missing" in capsys.readouterr().out


def test_mistakes_are_one_line(files, tmp_path, capsys):
    model = str(files / "good")
    for arguments in (
        ["evaluate", model, "--data", str(tmp_path / "none")],
        ["evaluate", model, "--data", str(tmp_path), "--set", "GS2013"],
        ["evaluate", model, "--pairs", str(tmp_path / "none.tsv")],
        ["evaluate", model, "--pairs", str(files / "words.tsv"), "--unknown-words", "guess"],
        ["evaluate", model, "--pairs", str(files / "words.tsv"), "--method", "phasr"],
        ["data", "verify", "--data", str(tmp_path)],
    ):
        assert main(arguments) == 2, arguments
        assert len(capsys.readouterr().err.splitlines()) == 1
