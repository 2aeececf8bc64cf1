import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polysema import Corpus, VectorLexicon
from polysema.cli import main
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation.datasets import EvaluationSet
from polysema.reproduction import reproduce as module
from polysema.reproduction.pages import Skipped
from polysema.reproduction.published import ROWS as PAPER_ROWS
from polysema.reproduction.published import WORD_SIMILARITY
from polysema.reproduction.reproduce import Plan, reproduce
from polysema.reproduction.variants import (
    ALL,
    PRESETS,
    RECOMMENDED,
    VARIANTS,
    Preset,
    changed,
    departures,
    options_of,
    preset_named,
)
from tests.refusals import refused

WORDS = ["run", "move", "see", "dog", "cat", "house", "river", "old", "new", "bank", "money", "tree"]
ROWS = ("Word2Vec", "MS-Word2DM cos 5", "BERT2DM PCA")


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(WORDS, 8)) + " rarely" * (i == 0) + ".\n" for i in range(400)]
    (tmp_path / "text.txt").write_text("".join(lines))
    return tmp_path / "text.txt"


@pytest.fixture
def sets():
    rng = np.random.default_rng(1)
    first = tuple((rng.choice(WORDS[3:]), v, rng.choice(WORDS[3:])) for v in WORDS[:3] for _ in range(5))
    second = tuple((a, "see" if v == "run" else "run", c) for a, v, c in first)
    pairs = ((a, b) for a in WORDS[:4] for b in [*WORDS[4:8], "rarely"])
    return {
        "MEN": EvaluationSet.of_words("MEN", pairs, np.arange(20.0)),
        "GS2011": EvaluationSet("GS2011", "subj verb obj", first, second, rng.normal(size=15)),
    }


@pytest.fixture
def tiny():
    options = {"word2vec": {"dim": 6, "epochs": 1}, "ms-word2dm": {"dim": 4, "epochs": 1}}
    return Preset("tiny", "", 500, 2, True, options, bootstraps=20, noise_draws=2)


def test_the_table_is_the_papers():
    assert [variant.row for variant in VARIANTS if variant.row in WORD_SIMILARITY] == list(WORD_SIMILARITY)
    assert set(PRESETS) == {"smoke", "small", "paper"}
    dot = next(variant for variant in VARIANTS if variant.row == "MS-Word2DM dot 10")
    assert options_of(dot, PRESETS["paper"]) == {"preset": "paper", "init": "paper", "select": "dot", "senses": 10}
    cluster = next(variant for variant in VARIANTS if variant.row == "BERT2DM SVD + cluster")
    assert options_of(cluster, PRESETS["paper"]) == {"reduction": "svd", "cluster": True, "words": 20_000_000}
    assert options_of(cluster, PRESETS["paper"], all_occurrences=True)["occurrences"] == ALL
    plain = next(variant for variant in VARIANTS if variant.row == "BERT2DM SVD")
    assert "occurrences" not in options_of(plain, PRESETS["paper"], all_occurrences=True)
    refused(UnknownChoiceError, "smoke, small or paper", preset_named, "huge")
    assert PRESETS["paper"].variants == VARIANTS + RECOMMENDED  # a block of recommended settings
    assert PRESETS["smoke"].variants == VARIANTS
    ours = options_of(RECOMMENDED[0], PRESETS["paper"])
    assert RECOMMENDED[0].row == "MS-Word2DM cos 5, SGD"
    assert ours == {"preset": None, "init": None, "min_count": 50, "select": "cosine", "senses": 5}


def test_options_changed_for_one_run_are_told():
    mine = changed(PRESETS["paper"], ["glove.epochs=5", "bert2dm.words=1000"])
    assert mine.options["glove"] == {"dim": 300, "min_count": 50, "epochs": 5}
    assert mine.options["bert2dm + cluster"] == {"words": 1000}
    assert PRESETS["paper"].options["glove"] == {"dim": 300, "min_count": 50}
    told = [here for what, _, here in departures(mine, 10**6, "", [], False) if what == "changed for this run"]
    assert told == ["glove.epochs=5, bert2dm.words=1000"]
    for wrong, message in [
        ("glove", "MODEL.OPTION=VALUE"),
        ("soup.salt=1", "MODEL.OPTION"),
        ("glove.epochs=-1", "epochs"),
    ]:
        refused(InputError, message, changed, PRESETS["paper"], [wrong])


def test_it_trains_evaluates_reports_and_resumes(text, sets, tiny, tmp_path, monkeypatch):
    said: list[str] = []
    plan = Plan(text, tmp_path / "out", tiny, sets, only=ROWS, left_out=[Skipped("BERT", "no encoder")])
    seen = []
    page = reproduce(plan, said.append, seen.append)
    assert seen  # every trainer is handed the progress
    assert page == tmp_path / "out" / "report" / "report.html"
    corpus = Corpus(tmp_path / "out" / "corpus")
    assert 400 < len(corpus.tokens) < 3201
    data = report_of(page)
    assert models_of(data) == {"Word2Vec": 1, "MS-Word2DM cos 5": 2}
    assert data["paper"]["MS-Word2DM cos 5"] == "MS-Word2DM cos 5"
    words = next(row for row in data["evaluation"]["results"] if row["model"] == "MS-Word2DM cos 5")
    assert words["ensemble"]["covered"] == 20  # "rarely" is kept
    reasons = {item["name"]: item["reason"] for item in data["skipped"]}
    assert (reasons["BERT"], reasons["GloVe"]) == ("no encoder", "not asked for")
    assert "no encoder was named" in reasons["BERT2DM PCA"]
    assert {item["what"] for item in data["departures"]} > {"text", "start of MS-Word2DM", "encoder"}
    assert "MS-Word2DM cos 5: training, seed 2 of 2" in said

    def fail(*arguments, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr(module, "train", fail)
    before = [path.read_bytes() for path in sorted(page.parent.rglob("*.*"))]
    assert b"seconds" not in b"".join(before)
    assert reproduce(plan) == page
    assert before == [path.read_bytes() for path in sorted(page.parent.rglob("*.*"))]


def report_of(page):
    return json.loads(page.with_suffix(".json").read_text())


def models_of(data):
    return {model["name"]: model["seeds"] for model in data["evaluation"]["models"]}


def test_more_seeds_later_train_what_is_missing(text, sets, tiny, tmp_path, monkeypatch):
    plan = Plan(text, tmp_path / "out", tiny, sets, only=("Word2Vec", "MS-Word2DM cos 5"))
    reproduce(plan)
    trained, real = [], module.train

    def counted(corpus, model, **options):
        trained.append((model, options["seed"]))
        return real(corpus, model, **options)

    monkeypatch.setattr(module, "train", counted)
    data = report_of(reproduce(replace(plan, seeds=3)))
    assert trained == [("word2vec", 2), ("word2vec", 3), ("ms-word2dm", 3)]
    assert models_of(data) == {"Word2Vec": 3, "MS-Word2DM cos 5": 3}
    other = replace(plan, preset=changed(tiny, ["word2vec.dim=5"]), only=("Word2Vec",))
    assert models_of(report_of(reproduce(other))) == {"Word2Vec": 1, "MS-Word2DM cos 5": 3}  # all that is there
    assert trained[3:] == [("word2vec", 1)]  # with the option changed


def test_a_given_model_takes_the_rows_place(text, sets, tiny, tmp_path):
    rng = np.random.default_rng(3)
    given = [(name, VectorLexicon(WORDS, rng.normal(size=(12, n)))) for name, n in (("GloVe", 9), ("mine", 7))]
    plan = Plan(text, tmp_path / "out", tiny, sets, only=("Word2Vec", "GloVe"), given=given)
    data = report_of(reproduce(plan))
    assert models_of(data) == {"Word2Vec": 1, "GloVe": 1, "mine": 1}
    assert data["paper"] == {"Word2Vec": "Word2Vec", "GloVe": "GloVe", "mine": None}
    assert not (tmp_path / "out" / "models" / "glove").exists()
    assert "given as files: GloVe, mine" in json.dumps(data["departures"])


def test_the_text_may_move(text, sets, tiny, tmp_path):
    plan = Plan(text, tmp_path / "out", tiny, sets, only=("Word2Vec",))
    reproduce(plan)
    moved = text.rename(tmp_path / "elsewhere.txt")
    reproduce(replace(plan, corpus=moved))
    moved.write_text(moved.read_text() + "one more.\n")
    refused(InputError, "other text", reproduce, replace(plan, corpus=moved))


def test_the_paper_preset_says_where_it_departs():
    here = {what: now for what, _, now in departures(PRESETS["paper"], 10**8, "minilm", [], False)}
    assert here["Context2DM: occurrences clustered"] == "200 of a word, drawn"
    assert here["encoder"] == "minilm"
    assert "start of MS-Word2DM" not in here  # it follows the paper
    whole = {what for what, _, _ in departures(PRESETS["paper"], 10**8, "minilm", [], True)}
    assert not any("occurrences" in what for what in whole)


def test_an_encoded_corpus_is_cut(text, sets, tiny, tmp_path):
    from polysema import build_corpus

    build_corpus(text, tmp_path / "whole")
    plan = Plan(tmp_path / "whole", tmp_path / "out", tiny, sets)
    part = module._text(plan, lambda line: None) if plan.folder.mkdir() is None else None
    assert 490 < len(part.tokens) < 520
    large = Plan(tmp_path / "whole", tmp_path / "out", PRESETS["small"], sets)
    assert module._text(large, lambda line: None).path == tmp_path / "whole"


def test_a_folder_of_something_else_is_left_alone(text, sets, tiny, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious").write_text("x")
    refused(InputError, "not empty", reproduce, Plan(text, out, tiny, sets))
    (out / "precious").unlink()
    plan = Plan(text, out, tiny, sets, only=("Word2Vec",))
    reproduce(plan)
    refused(InputError, "other text or another preset", reproduce, Plan(text, out, PRESETS["smoke"], sets))


def test_nothing_to_train(text, sets, tiny, tmp_path):
    with pytest.raises(InputError, match="no model could be trained: .*encoder"):
        reproduce(Plan(text, tmp_path / "out", tiny, sets, only=("BERT2DM PCA",)))


def test_smoke_with_a_tiny_encoder_has_every_row(data, encoder_folder, tmp_path, capsys):
    """The whole command, BERT2DM × 4 among it: the variants read different amounts of text."""
    encoder = Path(shutil.copytree(encoder_folder, tmp_path / "tiny-bert"))
    sentences = ["the family runs the small hotel", "the bank said that money is flowing", "it is the river bank"]
    verbs = ["run", "operate", "move", "meet", "visit", "satisfy", "express", "show", "buy", "write", "spell"]
    rng = np.random.default_rng(0)
    lines = [f"{rng.choice(sentences)} and {' '.join(rng.choice(verbs, 4))}.\n" for _ in range(500)]
    (tmp_path / "text.txt").write_text("".join(lines))
    out = tmp_path / "out"
    command = ["reproduce", str(tmp_path / "text.txt"), "-o", str(out), "--preset", "smoke", "--data", str(data)]
    assert main([*command, "--offline", "--threads", "1", "--encoder", str(encoder)]) == 0
    held = report_of(out / "report" / "report.html")
    assert held["skipped"] == [
        {"name": name, "reason": "give its weights with --infersent WEIGHTS VECTORS"}
        for name in ("InferSent1", "InferSent2")
    ]
    assert set(models_of(held)) == {*(variant.row for variant in VARIANTS), "tiny-bert"}
    assert held["paper"]["tiny-bert"] == "BERT"
    assert {*held["paper"].values()} - {None} == set(PAPER_ROWS) - {"InferSent1", "InferSent2"}
    assert not list((out / "models").glob("*.training"))
    assert "encoder: tiny-bert" in (out / "report" / "report.md").read_text()
    capsys.readouterr()


def test_stopped_at_three_places_it_comes_to_the_same_files(text, sets, tiny, tmp_path):
    """Before a row, between two seeds, and before the report is written."""
    rows = ("Word2Vec", "GloVe", "MS-Word2DM cos 5")
    plan = Plan(text, tmp_path / "stopped", tiny, sets, only=rows, threads=1)
    whole = replace(plan, folder=tmp_path / "whole")
    for place in ("GloVe: training", "training, seed 2 of 2", "writing the report"):

        def stop(line, place=place):
            if place in line:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            reproduce(plan, stop)
    reproduce(plan)
    assert set(models_of(report_of(reproduce(whole)))) == {*rows}
    for which in ("report/**/*", "models/**/*.safetensors"):
        assert contents(plan.folder, which) == contents(whole.folder, which)


def contents(folder, which):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob(which) if path.is_file()}


@pytest.mark.parametrize("wrong", [{"engine": "steam"}, {"device": "abacus"}, {"threads": 10_000}, {"only": ["ELMo"]}])
def test_a_refused_run_leaves_no_files(wrong, text, sets, tiny, tmp_path):
    with pytest.raises(InputError):
        reproduce(Plan(text, tmp_path / "new" / "out", tiny, sets, **wrong))
    assert not (tmp_path / "new").exists()
