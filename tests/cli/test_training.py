import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import polysema as ps
from polysema.cli import main
from tests.cli import hears_ctrl_c
from tests.training.planted import Planted


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "words.txt"
    path.write_text("".join(" ".join(sentence) + ".\n" for sentence in Planted(sentences=3000).sentences))
    return path


def test_train_from_text_with_no_option_but_the_path(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(text), "--epochs", "2"]) == 0
    assert "polysema senses" in capsys.readouterr().out
    assert ps.load("words").m == 5
    assert sorted(os.listdir()) == ["words"]
    assert main(["train", str(text)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_python_and_the_command_say_the_same(text, tmp_path, capsys):
    config = tmp_path / "settings.toml"
    config.write_text('[train]\ndim = 6\nsenses = 2\nmin-count = 1\nselect = "dot"\n')
    out = tmp_path / "model"
    arguments = ["train", str(text), "-o", str(out), "--config", str(config), "--epochs", "2", "--seed", "4", "--json"]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["options"]["select"] == "dot"
    assert printed["corpus"]["files"] == ["words.txt"]
    same = ps.train(text, dim=6, senses=2, min_count=1, select="dot", epochs=2, seed=4, threads=1)
    found = ps.load(out)
    word = same.vocabulary.words[3]
    np.testing.assert_allclose(found[word].dense(), same[word].dense(), atol=1e-6)


@pytest.mark.parametrize("model", ["word2dm", "word2vec", "glove"])
def test_other_models(text, tmp_path, model, capsys):
    out = tmp_path / "model"
    extra = ["--dim", "4"]
    assert main(["train", str(text), "-o", str(out), "--model", model, "--epochs", "1", *extra]) == 0
    assert ps.load(out).n == 4
    suggested = capsys.readouterr().out.partition("next:  polysema ")[2].splitlines()[0]
    assert suggested.startswith("senses" if model == "word2dm" else "neighbours")
    assert main(suggested.split()) == 0


def test_ctrl_c_and_the_same_command_again(text, tmp_path):
    assert main(["train", str(text), "-o", str(tmp_path / "compiles"), "--epochs", "1", "--min-count", "1"]) == 0
    out = tmp_path / "model"
    command = [
        sys.executable, "-m", "polysema", "train", str(text), "-o", str(out), "--epochs", "3000", "--min-count", "1",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c)
    deadline = time.time() + 60
    while not (tmp_path / "model.training" / "corpus" / "config.json").is_file() and time.time() < deadline:
        time.sleep(0.05)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)  # a first run may still be compiling
    assert process.returncode == 130
    assert "goes on from here" in error
    assert (tmp_path / "model.training" / "state.safetensors").is_file()
    assert not out.exists()
