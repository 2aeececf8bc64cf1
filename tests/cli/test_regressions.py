"""Command lines that once lost data, hung or gave wrong results: one plain test each."""

from __future__ import annotations

import gzip
import json
import os
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


@pytest.mark.parametrize("name", ["loop", "pipe", "/dev/urandom", "missing", "."])
@pytest.mark.parametrize(
    "argv",
    [
        ["info", "{}"],
        ["corpus", "build", "text.txt", "-o", "out", "--keep", "{}"],
        ["train", "text.txt", "-o", "out", "--config", "{}"],
    ],
)
def test_names_that_are_no_files_are_refused(place, name, argv):
    (place / "loop").symlink_to("loop")
    os.mkfifo(place / "pipe")
    assert main([part.replace("{}", name) for part in argv]) == 2


@pytest.mark.parametrize(
    ("file", "index", "value"),
    [("tokens", 30, 10**7), ("tokens", 30, -1000), ("sentences", 7, 10**15), ("sentences", 7, 1)],
)
def test_damaged_corpora_are_refused(corpus, file, index, value):
    numbers = np.load(corpus / f"{file}.npy")
    numbers[index] = value
    np.save(corpus / f"{file}.npy", numbers)
    assert main(["train", "corpus", "-o", "out", *TOY]) == 2
    assert main(["corpus", "head", "corpus"]) == 2


@pytest.mark.parametrize(
    "more", [["--held-out", "0.999999"], ["--noise-power", "100"], ["--seed", "-1"], ["--subsample", "1e-12"]]
)
def test_options_that_leave_nothing_to_learn_are_refused(corpus, more, capsys):
    assert main(["train", "corpus", "-o", "out", *TOY, *more]) == 2
    assert "min count" not in capsys.readouterr().err
    assert not (corpus.parent / "out").exists()


def test_text_that_is_cut_short_or_no_text_is_refused(place):
    packed = gzip.compress((place / "text.txt").read_bytes())
    (place / "half.txt.gz").write_bytes(packed[: len(packed) // 2])
    (place / "random.txt").write_bytes(np.random.default_rng(0).bytes(20_000))
    for name in ("half.txt.gz", "random.txt", "typo.txt"):
        assert main(["train", name, "-o", "out", *TOY]) == 2
    assert sorted(path.name for path in place.iterdir()) == ["half.txt.gz", "notes.txt", "random.txt", "text.txt"]


def test_float16_does_not_lose_small_or_large_numbers(place):
    for scale in (1e-9, 1e9):
        rows = np.random.default_rng(0).normal(size=(9, 4)) * scale
        lines = [f"word{chr(97 + i)} " + " ".join(map(repr, row.tolist())) for i, row in enumerate(rows)]
        (place / "vectors.txt").write_text("\n".join(lines) + "\n")
        code = main(["convert", "vectors.txt", "out.npz", "--kind", "vectors", "--dtype", "float16", "--force"])
        if code == 0:
            with np.load(place / "out.npz") as file:
                stored = file[next(name for name in file.files if file[name].ndim == 2)].astype(np.float64)
            assert np.isfinite(stored).all()
            assert stored.any(axis=1).all()
        else:
            assert code == 2


def test_a_lexicon_for_another_size_is_no_start(corpus):
    assert main(["train", "corpus", "-o", "first", *TOY]) == 0
    for more in (["--dim", "7"], ["--senses", "5"], ["--model", "word2vec"]):
        assert main(["train", "corpus", "-o", "out", *TOY, "--start", "first", *more]) == 2


def test_a_config_that_is_not_utf8_is_refused(corpus):
    (corpus / "config.json").write_bytes(json.dumps({"version": "é"}, ensure_ascii=False).encode("latin-1"))
    assert main(["corpus", "info", "corpus"]) == 2


def test_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "polysema", "senses", "bank", "run", "light"]
    environment = {**os.environ, "PYTHONPATH": str(Path(polysema.__file__).parents[1])}
    asked = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
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


def test_describe_numbers_more_senses_than_a_byte_holds(corpus, capsys):
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
