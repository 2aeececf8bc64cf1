"""Command lines that once lost data, hung or gave wrong results: one plain test each, where no other test has them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polysema
from polysema.cli import main
from polysema.meanings.parts import Parts
from tools.campaign import sentences

TOY = ["--dim", "4", "--senses", "2", "--epochs", "1", "--min-count", "1", "--threads", "1"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join(" ".join(words).capitalize() + ".\n" for words in sentences())
    (tmp_path / "text.txt").write_text(text)
    (tmp_path / "notes.txt").write_text("mine")
    return tmp_path


@pytest.fixture
def corpus(place):
    assert main(["corpus", "build", "text.txt", "-o", "corpus", "--quiet"]) == 0
    return place / "corpus"


def test_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "polysema", "senses", "bank", "run", "light"]
    asked = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    asked.stdout.close()
    assert (asked.wait(), asked.stderr.read()) == (0, b"")
    asked.stderr.close()


def test_a_run_killed_after_it_wrote_its_output_is_finished(place, monkeypatch, capsys):
    command = ["train", "text.txt", "-o", "wiki", *TOY]
    with monkeypatch.context() as patch:
        patch.setattr("polysema.checkpoints.WorkingFolder.remove", lambda self: None)
        assert main(command) == 0
    assert (place / "wiki.training").exists()
    before = (place / "wiki" / "config.json").read_bytes()
    for lock in (".wiki.polysema-lock", ".wiki.training.polysema-lock"):  # as after kill -9
        (place / lock).touch()
    capsys.readouterr()
    assert main(command) == 0
    assert capsys.readouterr().out == "wiki is finished already\n"
    assert not (place / "wiki.training").exists()
    assert not any(place.glob(".wiki*"))
    assert (place / "wiki" / "config.json").read_bytes() == before
    assert main(command) == 2  # an output that is there, and no state


def test_an_output_older_than_the_state_is_not_taken_for_its_result(place, monkeypatch):
    assert main(["train", "text.txt", "-o", "wiki", *TOY]) == 0
    with monkeypatch.context() as patch:
        patch.setattr("polysema.lexicon.lexicon.Lexicon.save", lambda *_, **__: 1 / 0)
        assert main(["train", "text.txt", "-o", "wiki", "--force", "--seed", "2", *TOY]) == 1
    assert main(["train", "text.txt", "-o", "wiki", "--seed", "2", *TOY]) == 2
    assert (place / "wiki.training").exists()


def test_no_command_writes_into_what_it_reads(place, corpus, capsys):
    assert main(["train", "corpus", "-o", "wiki", *TOY]) == 0
    before = sorted(path.name for path in (place / "wiki").iterdir())
    for line in (
        "adapt text.txt -l wiki -o wiki --force",
        "draw matrix bal -l wiki -o wiki/x.png",
        "convert wiki wiki --force",
    ):
        capsys.readouterr()
        assert main(line.split()) == 2
        assert "is, contains or lies in the input wiki" in capsys.readouterr().err
    assert sorted(path.name for path in (place / "wiki").iterdir()) == before


def test_corpus_info_checks_the_counts(corpus, capsys):
    np.save(corpus / "counts.npy", np.load(corpus / "counts.npy") + 1)
    assert main(["corpus", "info", "corpus"]) == 2
    assert "counts.npy: damaged" in capsys.readouterr().err


def test_a_disk_that_is_full_at_once_leaves_no_folder(place, monkeypatch, capsys):
    write_text = Path.write_text

    def full(path, *args, **kwargs):
        if path.name == ".polysema":
            write_text(path, "")
            raise OSError(28, "No space left on device")
        return write_text(path, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full)
    before = sorted(place.iterdir())
    assert main(["train", "text.txt", "-o", "wiki", *TOY]) == 2
    assert "wiki.training: cannot be written: No space left" in capsys.readouterr().err
    assert sorted(place.iterdir()) == before


def test_describe_in_place_keeps_what_is_foreign(place, corpus, capsys):
    assert main(["train", "corpus", "-o", "wiki", *TOY]) == 0
    (place / "wiki" / "thesis.tex").write_text("Chapter one.")
    with (place / "wiki" / "README.md").open("a") as readme:
        readme.write("Checked by me.\n")
    assert main(["describe", "wiki", "corpus"]) == 2
    assert "(thesis.tex, README.md (edited by hand))" in capsys.readouterr().err
    assert (place / "wiki" / "README.md").read_text().endswith("Checked by me.\n")
    assert (place / "wiki" / "thesis.tex").exists()


def test_describe_numbers_more_senses_than_a_byte_holds(place, corpus):
    rng = np.random.default_rng(0)
    words = polysema.Corpus(corpus).vocabulary.words[:3]
    factors, contexts = rng.normal(size=(len(words), 4, 140)), rng.normal(size=(len(words), 4))
    polysema.Lexicon(words, factors.astype(np.float32), parts=Parts(contexts=contexts.astype(np.float32))).save("wiki")
    assert main(["describe", "wiki", "corpus", "--no-parts", "--quiet"]) == 0
    inventory = polysema.load("wiki").parts.inventory
    assert np.iinfo(inventory.senses.dtype).max >= 139
    assert inventory.senses.min() >= -1


def test_standard_input_gives_no_name(place, monkeypatch):
    with open(place / "text.txt") as text:
        monkeypatch.setattr("sys.stdin", text)
        assert main(["train", "-", *TOY]) == 0
    assert (place / "lexicon").is_dir()
    assert not (place / "-").exists()


def test_a_refused_reproduction_leaves_nothing(place, shared, capsys):
    before = sorted(place.iterdir())
    for options in (["--set", "glove.epochs=-3"], ["--only", "Nothing"], ["--model", "X=missing"]):
        assert main(["reproduce", "text.txt", "-o", "out", "--offline", "--data", str(shared / "data"), *options]) == 2
        assert sorted(place.iterdir()) == before
