"""Whole or not at all; locked while written; put right after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from polysema.errors import FormatError, InputError, OutputError
from polysema.files import lock as locks
from polysema.files.atomic import atomic_file, atomic_folder
from polysema.files.door import check_output, holds, writing
from polysema.files.lock import bring_back, locked
from polysema.files.signals import uninterrupted

ROOT = Path(__file__).parents[2]


def fill(path: Path, text: str, overwrite: bool = False) -> None:
    with atomic_folder(path, overwrite) as folder:
        (folder / "config.json").write_text('{"format": "polysema-test", "version": 1}')
        (folder / "text").write_text(text)


def python(code: str, cwd: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    preamble = "import os, sys, time\nfrom pathlib import Path\nfrom polysema.files import atomic, lock\n"
    return subprocess.Popen(
        [sys.executable, "-c", preamble + code], cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True
    )


FILL = """
with atomic.atomic_folder(Path('out'), True) as folder:
    (folder / 'config.json').write_text('{"format": "polysema-test", "version": 1}')
    (folder / 'text').write_text('new')
"""


@pytest.fixture(params=["flock", "file"])
def kind_of_lock(request, monkeypatch) -> str:
    """The operating system's locks, and the way to do without them."""
    if request.param == "file":
        monkeypatch.setattr(locks, "fcntl", None)
        monkeypatch.setattr(locks, "msvcrt", None)
    return request.param


def test_whole_or_not_at_all(tmp_path):
    with suppress(RuntimeError), atomic_file(tmp_path / "file") as stream:
        stream.write(b"half")
        raise RuntimeError
    with suppress(RuntimeError), atomic_folder(tmp_path / "folder") as folder:
        (folder / "half").write_text("half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())
    fill(tmp_path / "out", "one")
    with pytest.raises(InputError, match="exists already"):
        fill(tmp_path / "out", "two")
    fill(tmp_path / "out", "two", overwrite=True)
    assert (tmp_path / "out" / "text").read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_the_second_of_two_writers_is_refused_and_the_first_goes_on(tmp_path, kind_of_lock):
    code = "lock.fcntl = lock.msvcrt = None\n" if kind_of_lock == "file" else ""
    with python(code + FILL + "    print('in', flush=True)\n    time.sleep(60)\n", tmp_path) as process:
        assert process.stdout.readline() == "in\n"
        with pytest.raises(OutputError, match=rf"out: is being written by another run \(process {process.pid}\): wait"):
            fill(tmp_path / "out", "mine", overwrite=True)
        with pytest.raises(OutputError, match="is being written"):
            check_output(tmp_path / "out")
        bring_back(tmp_path / "out")  # it is alive: there is nothing to bring back
        assert not (tmp_path / "out").exists()
        process.kill()
    fill(tmp_path / "out", "mine")
    assert (tmp_path / "out" / "text").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_another_thread_is_another_writer(tmp_path, kind_of_lock):
    with locked(tmp_path / "out") as outer, locked(tmp_path / "out") as inner:
        assert inner is outer
        found: list[str] = []

        def other() -> None:
            try:
                fill(tmp_path / "out", "other")
            except OutputError as error:
                found.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "is being written" in found[0]
        fill(tmp_path / "out", "same thread")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("when", ["filling", "before", "between", "after"])
@pytest.mark.parametrize("swaps", [True, False])
def test_a_run_that_was_killed_is_put_right_by_the_next_reader_or_writer(tmp_path, when, swaps):
    """The process ends in the middle of the block, before the first rename, between the two, after the second.

    Where the system swaps two folders in one step there is no moment between two renames.
    """
    if swaps and (sys.platform != "linux" or when in ("before", "between")):
        pytest.skip("no such moment")
    fill(tmp_path / "out", "old")
    codes = {
        "filling": FILL + "    os._exit(9)\n",
        "before": "os.replace = lambda *a: os._exit(9)\n" + FILL,
        "between": "real = os.replace\ndef once(*a):\n    real(*a)\n    os._exit(9)\nos.replace = once\n" + FILL,
        "after": "atomic.remove = lambda *a: os._exit(9)\n" + FILL,
    }
    for reader in (True, False):
        apart = "" if swaps else "atomic._exchanged = lambda *a: False\n"
        with python(apart + codes[when], tmp_path) as process:
            assert process.wait(60) == 9
        if when != "between":
            kept = "new" if when == "after" else "old" if reader else "newest"
            assert (tmp_path / "out" / "text").read_text() == kept
        assert len(list(tmp_path.iterdir())) > 1
        if reader and when == "between":
            assert not (tmp_path / "out").exists()
        if reader:
            bring_back(tmp_path / "out")
            assert (tmp_path / "out" / "text").read_text() == ("new" if when in ("between", "after") else "old")
            assert [p.name for p in tmp_path.iterdir()] == ["out"]
        fill(tmp_path / "out", "newest", overwrite=True)
        assert (tmp_path / "out" / "text").read_text() == "newest"
        assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_only_what_a_note_names_is_deleted(tmp_path):
    """Hidden files that look like leftovers stay where no note of polysema's speaks of them."""
    other = tmp_path / ".out.0123abcd.part"
    other.write_text("somebody's")
    (tmp_path / ".out.lock").write_text("a lock of another program")
    with pytest.raises(OutputError, match=r"\.out\.lock is there, which polysema did not write"):
        fill(tmp_path / "out", "one")
    (tmp_path / ".out.lock").unlink()
    fill(tmp_path / "out", "one")
    assert other.read_text() == "somebody's"
    (tmp_path / "work").mkdir()
    for name in ("../work", "work", ".out.0123abcd.part/../work", 3):
        note = {"polysema": "being written", "process": 1, "part": name, "old": name}
        (tmp_path / ".out.lock").write_text(json.dumps(note))
        fill(tmp_path / "out", "two", overwrite=True)
        assert (tmp_path / "work").is_dir()


def test_nothing_of_others_is_replaced(tmp_path):
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter").write_text("years of work")
    note = tmp_path / "note"
    note.write_text("polysema")
    link = tmp_path / "link"
    fill(tmp_path / "own", "one")
    link.symlink_to(tmp_path / "own")
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for path in (thesis, note, link, circle):
        with pytest.raises(InputError, match="not overwritten: choose another name"):
            fill(path, "mine", overwrite=True)
        with pytest.raises(InputError, match="not overwritten"), atomic_file(path, overwrite=True):
            pass
    with pytest.raises(InputError, match="'polysema-test', not 'polysema-lexicon', and is not overwritten"):
        check_output(tmp_path / "own", overwrite=True, owner=holds("polysema-lexicon", 1))
    assert (thesis / "chapter").read_text() == "years of work"
    assert note.read_text() == "polysema"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circle", "link", "note", "own", "thesis"]


def test_what_is_read_is_never_replaced(tmp_path):
    fill(tmp_path / "own", "one")
    (tmp_path / "again").symlink_to(tmp_path / "own")
    for given in (tmp_path / "own", tmp_path / "own" / "text", tmp_path / "again", tmp_path / "x" / ".." / "own"):
        with pytest.raises(InputError, match="own is what is read, and is not overwritten"):
            check_output(tmp_path / "own", overwrite=True, inputs=[tmp_path / "other", given])
    check_output(tmp_path / "new", inputs=[tmp_path])
    check_output(tmp_path / "own", overwrite=True, inputs=[tmp_path])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "names no file"), (".", "names no file"), ("/", "names no file"), ("..", "names no file"),
        ("no/such", "is not a folder"), ("x" * 300, "too long"), ("a\0b", "names no file"),
    ],
)  # fmt: skip
def test_names_and_places_are_refused_before_the_work(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message), writing(Path(name), overwrite=True):
        raise AssertionError("the work began")
    assert not list(tmp_path.iterdir())


def test_a_name_of_any_length_that_the_disk_takes(tmp_path):
    for name in ("x" * 255, "λ" * 127):
        fill(tmp_path / name, "one")
        fill(tmp_path / name, "two", overwrite=True)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a place where nothing can be written")
def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="/proc/x: cannot be written: No such file or directory"):
        check_output(Path("/proc/x"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_names_the_file(tmp_path):
    with (
        pytest.raises(OutputError, match=r"out: cannot be written: No space left on device \(\d+\.\d GB free there\)"),
        atomic_file(tmp_path / "out"),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        full.write(b"x")
    assert not list(tmp_path.iterdir())


def test_a_lock_of_another_machine_is_not_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", None)
    note = {"polysema": "being written", "process": 4, "host": "elsewhere", "part": "", "old": ""}
    (tmp_path / ".out.lock").write_text(json.dumps(note))
    with pytest.raises(OutputError, match="is being written by another run"):
        fill(tmp_path / "out", "one")
    assert [p.name for p in tmp_path.iterdir()] == [".out.lock"]


def test_ctrl_c_waits_for_what_must_not_be_cut_in_two():
    steps = []
    with suppress(KeyboardInterrupt):
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("whole")
        steps.append("not reached")
    assert steps == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_at_any_moment_leaves_the_old_or_the_new(tmp_path):
    """A tracer raises KeyboardInterrupt at the n-th line that is run, for every n."""
    fill(tmp_path / "out", "old")
    for number in range(1, 400):
        left = [number]

        def trace(frame, event, argument, left=left):
            if "polysema/files" in frame.f_code.co_filename and event == "line":
                left[0] -= 1
                if left[0] == 0:
                    signal.raise_signal(signal.SIGINT)
            return trace

        sys.settrace(trace)
        try:
            fill(tmp_path / "out", "new", overwrite=True)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        locks._release_all()  # as when the process ends
        assert [p.name for p in tmp_path.iterdir()] == ["out"]
        assert (tmp_path / "out" / "text").read_text() in ("old", "new")
        if left[0] > 0:
            break
    else:
        pytest.fail("more lines than expected")
    assert (tmp_path / "out" / "text").read_text() == "new"


def test_a_foreign_format_is_an_error_of_its_own(tmp_path):
    with pytest.raises(FormatError, match="no such folder"):
        holds("polysema-lexicon", 1)(tmp_path / "nowhere")
