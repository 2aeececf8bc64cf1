"""What commands write: never over what they read, never over what is not polysema's, refused before the work."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from polysema.cli import main
from polysema.storage import locked

TEXT = "the cat sat on the mat and the dog ran\n" * 30
TRAIN = ["--dim", "4", "--senses", "2", "--min-count", "1", "--epochs", "1", "--subsample", "0"]


@pytest.fixture
def place(tmp_path, monkeypatch, lexicon) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text(TEXT)
    (tmp_path / "NOTES").write_text("years of work")
    lexicon.save("a")
    lexicon.save("b")
    return tmp_path


def contents(place: Path) -> dict[str, bytes]:
    return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train", "t.txt", "-o", "t.txt", "--force"], "t.txt is, contains or lies in the input t.txt"),
        (["train", "t.txt", "-o", "NOTES", "--force"], "is not overwritten"),
        (["train", "t.txt", "-o", "a"], "a exists already"),
        (["train", "t.txt", "-o", "a", "--start", "a", "--force"], "a is, contains or lies in the input"),
        (["train", "t.txt", "-o", "model.pkl"], "no format ends in '.pkl'"),
        (["train", "t.txt", "-o", "NOTES/out"], "NOTES is not a folder"),
        (["train", "t.txt", "-o", "n" * 300], "too long"),
        (["train", "t.txt", "-o", "no/where"], "no is not a folder"),
        (["train", "t.txt", "-o", "x", "--dtype", "int8"], "unknown storage type 'int8'"),
        (["train", "typo.txt"], "typo.txt: no such file or folder"),
        (["train", "t.txt", "-o", ""], "names no file or folder of its own"),
        (["corpus", "build", "t.txt", "-o", "t.txt", "--force"], "lies in the input"),
        (["corpus", "build", "t.txt", "-o", "no/where"], "no is not a folder"),
        (["corpus", "build", "t.txt", "-o", "a", "--force"], "'polysema-lexicon', not 'polysema-corpus', and is not"),
        (["convert", "a", "a", "--force"], "a is, contains or lies in the input"),
        (["convert", "a", "NOTES", "--to", "text", "--force"], "NOTES: no lexicon as text, and is not overwritten"),
        (["convert", "a", "NOTES", "--to", "npz", "--force"], "NOTES: no npz lexicon, and is not overwritten"),
        (["convert", "a", "NOTES", "--to", "word2vec", "--force"], "NOTES: no word2vec file, and is not overwritten"),
        (["convert", "a", "b", "--to", "npz", "--force"], "a folder, where a file is wanted, and is not overwritten"),
        (["draw", "matrix", "bank", "-l", "a", "-o", "NOTES.png"], "exists already"),
        (["draw", "matrix", "bank", "-l", "a", "-o", "NOTES.png", "--force"], "not a picture that polysema drew"),
        (["evaluate", "a", "--report", "thesis", "--force"], "is not overwritten"),
        (["evaluate", "a", "--report", "NOTES", "--force"], "not written by polysema, and is not overwritten"),
    ],
)  # fmt: skip
def test_refused_before_the_work_and_nothing_changes(command, message, place, refuses):
    (place / "NOTES.png").write_bytes(b"\x89PNG of somebody else")
    (place / "thesis").mkdir()
    (place / "thesis" / "chapter").write_text("years of work")
    before = contents(place)
    refuses(command, message)
    assert contents(place) == before
    assert not [p.name for p in place.iterdir() if p.name.startswith(".") or p.name.endswith(".training")]


def test_a_folder_called_as_the_state_of_a_run_is_not_touched(place, capsys):
    (place / "wiki.training").mkdir()
    (place / "wiki.training" / "text").write_text(TEXT)
    (place / "out.training").mkdir()
    (place / "out.training" / "thesis").write_text("years of work")
    before = contents(place)
    for command in (["train", "wiki.training"], ["train", "t.txt", "-o", "out"]):
        assert main([*command, *TRAIN]) == 2
        assert "holds other files, where the state of the run would be kept" in capsys.readouterr().err
    assert contents(place) == before
    assert main(["train", "wiki.training", "-o", "model", *TRAIN]) == 0
    assert main(["corpus", "build", "t.txt", "-o", "c.training"]) == 0
    assert main(["train", "c.training", *TRAIN]) == 2
    assert (place / "c.training" / "tokens.npy").is_file()


def test_pictures_are_replaced_when_they_are_polysemas(place, capsys):
    pytest.importorskip("matplotlib")
    for suffix in ("png", "svg", "pdf"):
        command = ["draw", "matrix", "bank", "-l", "a", "-o", f"bank.{suffix}"]
        assert main(command) == 0
        assert main(command) == 2
        assert "exists already" in capsys.readouterr().err
        assert main([*command, "--force"]) == 0


def test_an_output_that_is_being_written_is_refused_at_once(place, capsys):
    commands = (["train", "t.txt", "-o", "x"], ["corpus", "build", "t.txt", "-o", "x"], ["convert", "a", "x"])
    with locked(place / "x"), ThreadPoolExecutor(1) as other:
        for command in commands:
            assert other.submit(main, command).result() == 2
            assert "x: is being written by another process" in capsys.readouterr().err
    assert main(["convert", "a", "x"]) == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["corpus", "build", "t.txt", "-o", "x", "--keep", "latin"], "latin: not a readable list of words: not UTF-8"),
        (["corpus", "build", "t.txt", "-o", "x", "--keep", "pipe"], "pipe: not a readable list of words: a pipe"),
        (["corpus", "build", "t.txt", "-o", "x", "--keep", "/dev/urandom"], "not a readable list of words: a pipe or a"),
        (["corpus", "build", "t.txt", "-o", "x", "--keep", "circle"], "not a readable list of words: Too many levels"),
        (["train", "t.txt", "-o", "x", "--config", "pipe"], "not a readable TOML file: pipe"),
        (["train", "pipe", "-o", "x"], "pipe: a pipe or a device, not a file"),
        (["train", "/dev/urandom", "-o", "x"], "/dev/urandom: a pipe or a device, not a file"),
        (["compose", "-l", "a", "-f", "latin"], "latin: not UTF-8 text at byte 3"),
        (["compose", "-l", "a", "-f", "pipe"], "pipe: a pipe or a device, where a file is wanted"),
        (["compose", "-l", "a", "-f", "nowhere"], "nowhere: cannot be read: No such file"),
        (["disambiguate", "bank", "-l", "a", "-f", "latin"], "latin: not UTF-8 text at byte 3"),
        (["evaluate", "a", "--pairs", "latin"], "latin: not UTF-8 text at byte 3"),
        (["evaluate", "a", "--pairs", "pipe"], "pipe"),
        (["info", "pipe"], "pipe: a pipe or a device, where a file is wanted"),
        (["info", "circle"], "circle: a link that leads nowhere"),
        (["info", "/dev/urandom"], "/dev/urandom: a pipe or a device, where a file is wanted"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_are_one_line(command, message, place, refuses):
    (place / "latin").write_bytes(b"caf\xe9 au lait\n")
    (place / "circle").symlink_to(place / "circle")
    os.mkfifo(place / "pipe")
    refuses(command, message)
    assert not (place / "x").exists()


def test_text_of_another_encoding_is_said_by_train(place, capsys):
    (place / "latin.txt").write_bytes(("le café est fermé, la porte reste ouverte\n" * 300).encode("latin-1"))
    assert main(["train", "latin.txt", "-o", "x", *TRAIN]) == 0
    assert "note: 600 bytes that are no text in this encoding (4.76%)" in capsys.readouterr().err
