from __future__ import annotations

import json

import numpy as np
import pytest

from polysema import Corpus
from polysema.cli import main
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation import reproduce as module
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.entries import Skipped
from polysema.evaluation.published import WORD_SIMILARITY
from polysema.evaluation.reproduce import Plan, reproduce
from polysema.evaluation.variants import PRESETS, VARIANTS, Preset, options_of, preset_named

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
    pairs = WordPairs("MEN", tuple((a, b) for a in WORDS[:4] for b in [*WORDS[4:8], "rarely"]), np.arange(20.0))
    return {"MEN": pairs, "GS2011": PhrasePairs("GS2011", "subj verb obj", first, second, rng.normal(size=15))}


@pytest.fixture
def tiny():
    options = {"word2vec": {"dim": 6, "epochs": 1}, "ms-word2dm": {"dim": 4, "epochs": 1}}
    return Preset("tiny", "", 500, 2, True, options, bootstraps=20, noise_draws=2)


def test_the_table_is_the_papers():
    assert [variant.row for variant in VARIANTS] == list(WORD_SIMILARITY)
    assert set(PRESETS) == {"smoke", "small", "paper"}
    dot = next(variant for variant in VARIANTS if variant.row == "MS-Word2DM dot 10")
    assert options_of(dot, PRESETS["paper"]) == {"preset": "paper", "select": "dot", "senses": 10}
    cluster = next(variant for variant in VARIANTS if variant.row == "BERT2DM SVD + cluster")
    assert options_of(cluster, PRESETS["paper"]) == {"reduction": "svd", "cluster": True, "words": 20_000_000}
    with pytest.raises(UnknownChoiceError, match="smoke, small or paper"):
        preset_named("huge")


def test_it_trains_evaluates_reports_and_resumes(text, sets, tiny, tmp_path, monkeypatch):
    said: list[str] = []
    plan = Plan(text, tmp_path / "out", tiny, sets, only=ROWS, left_out=[Skipped("BERT", "no encoder")])
    page = reproduce(plan, said.append)
    assert page == tmp_path / "out" / "report" / "report.html"
    corpus = Corpus(tmp_path / "out" / "corpus")
    assert 400 < len(corpus.tokens) < 3201
    data = json.loads(page.with_suffix(".json").read_text())
    assert list(data["models"]) == ["Word2Vec", "MS-Word2DM cos 5"]
    assert len(data["models"]["MS-Word2DM cos 5"]["seeds"]) == 2
    assert data["models"]["MS-Word2DM cos 5"]["paper"] == "MS-Word2DM cos 5"
    assert data["models"]["MS-Word2DM cos 5"]["ensemble"]["word_similarity"]["MEN"]["covered"] == 20  # "rarely" is kept
    assert [item["name"] for item in data["skipped"]] == ["BERT2DM PCA", "BERT"]
    assert "MS-Word2DM cos 5: training, seed 2 of 2" in said

    def fail(*arguments, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr("polysema.training.models.train", fail)
    assert reproduce(plan) == page


def test_a_stopped_run_goes_on(text, sets, tiny, tmp_path, monkeypatch):
    from polysema.training import models

    real, calls = models.train, []

    def stopped(*arguments, **options):
        calls.append(options["seed"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(models, "train", stopped)
    plan = Plan(text, tmp_path / "out", tiny, sets, only=("MS-Word2DM cos 5",))
    with pytest.raises(KeyboardInterrupt):
        reproduce(plan)
    reproduce(plan)
    assert calls == [1, 2, 2]


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
    with pytest.raises(InputError, match="not empty"):
        reproduce(Plan(text, out, tiny, sets))
    (out / "precious").unlink()
    plan = Plan(text, out, tiny, sets, only=("Word2Vec",))
    reproduce(plan)
    with pytest.raises(InputError, match="other text or settings"):
        reproduce(Plan(text, out, PRESETS["smoke"], sets))


def test_nothing_to_train(text, sets, tiny, tmp_path):
    with pytest.raises(InputError, match="no model could be trained: .*encoder"):
        reproduce(Plan(text, tmp_path / "out", tiny, sets, only=("BERT2DM PCA",)))


def test_the_command(text, data, tmp_path, capsys):
    out = str(tmp_path / "out")
    row = ["--only", "MS-Word2DM cos 5"]
    assert main(["reproduce", str(text), "-o", out, "--preset", "smoke", "--data", str(data), *row, "--offline"]) == 0
    assert capsys.readouterr().out.strip().endswith("report.html")
    assert main(["reproduce", str(text), "-o", out, "--preset", "smoke", "--data", str(data), "--only", "ELMo"]) == 2
    assert main(["reproduce", str(text), "-o", out, "--preset", "large", "--data", str(data)]) == 2
