"""The folder of a run's state: marked, listed, never somebody else's."""

import os
from contextlib import suppress

import pytest

from polysema import checkpoints
from polysema.checkpoints import WorkingFolder
from polysema.errors import InputError, OutputError
from polysema.storage import atomic_file, atomic_folder
from tests.refusals import refused


def test_made_when_needed_and_removed_with_all_that_was_put_there(tmp_path):
    working = WorkingFolder(tmp_path / "out.training")
    assert not list(tmp_path.iterdir())
    for text in (b"one", b"two"):
        with atomic_file(working.file("state"), overwrite=True) as stream:
            stream.write(text)
    with atomic_folder(working.file("corpus")) as folder:
        (folder / "config.json").write_text("{}")
    again = WorkingFolder(tmp_path / "out.training")
    assert (again.path / "state").read_bytes() == b"two"
    again.remove()
    assert not list(tmp_path.iterdir())
    again.remove()


def test_another_file_in_it_stays(tmp_path):
    working = WorkingFolder(tmp_path / "run")
    working.file("state").write_text("state")
    (working.path / "notes").write_text("mine")
    working.remove()
    assert [p.name for p in working.path.iterdir()] == ["notes"]
    refused(InputError, "run holds other files", WorkingFolder, tmp_path / "run")


def test_a_folder_of_others_is_never_touched(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    refused(InputError, "thesis holds other files, .* choose another name", WorkingFolder, tmp_path / "thesis")
    (tmp_path / "file").write_text("")
    refused(InputError, "is a file", WorkingFolder, tmp_path / "file")
    (tmp_path / "hollow").mkdir()
    WorkingFolder(tmp_path / "hollow").file("state")
    (tmp_path / "marked").mkdir()
    (tmp_path / "marked" / ".polysema").write_text("polysema made this\n../thesis\n/\n..\n.\n\nthesis/chapter\n")
    WorkingFolder(tmp_path / "marked").remove()
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"
    assert not (tmp_path / "marked").exists()


def test_a_run_that_never_began_leaves_nothing(tmp_path):
    working = WorkingFolder(tmp_path / "typo.training")
    for error, name in [(KeyboardInterrupt, "corpus"), (InputError, "state"), (OutputError, "state")]:
        with suppress(error), working.held():
            path = working.file(name)
            if name == "state":
                path.write_text("half")
            raise error
        assert working.path.exists() == (error is OutputError)
    with suppress(InputError), working.held():  # it was there before
        raise InputError
    assert working.path.exists()


def test_killed_while_the_folder_was_deleted(tmp_path, monkeypatch):
    working, output = WorkingFolder(tmp_path / "out.training"), tmp_path / "out"
    working.file("state").write_text("state")
    assert not working.removed_as_finished(output)
    output.write_text("whole")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "remove", lambda path: None)
        working.remove()
    assert len(list(tmp_path.iterdir())) == 2
    assert working.removed_as_finished(output)
    assert not working.removed_as_finished(output)
    assert list(tmp_path.iterdir()) == [output]


def test_a_bad_byte_in_the_mark_is_no_fault(tmp_path):
    working = WorkingFolder(tmp_path / "run")
    working.file("state").write_text("state")
    with open(working.path / ".polysema", "ab") as file:
        file.write(b"\xff\n")
    working.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_marker_is_not_waited_for(tmp_path):
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / ".polysema")
    refused(InputError, "run holds other files", WorkingFolder, tmp_path / "run")
