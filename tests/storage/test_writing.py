"""Whole or not at all, one writer at a time, nothing of others replaced."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from polysema import storage
from polysema.errors import InputError, OutputError
from polysema.storage import atomic_file, atomic_folder, check_output, holds, locked, recover, save_arrays, signed
from tests.refusals import refused

OWNER = holds("polysema-test", 1, ("config.json", "text", "README.md"))
CONFIG = '{"format": "polysema-test", "version": 1}'

WRITER = """
import itertools, sys
from pathlib import Path
from polysema import storage as writing
from tests.refusals import refused
if sys.argv[1] == "renames":
    writing._exchanged = lambda *_: False
owner = writing.holds("polysema-test", 1, ("config.json", "text"))
for number in itertools.count():
    with writing.atomic_folder(Path("out"), True, owner) as folder:
        (folder / "text").write_text(f"{number:06}" * 500)
        (folder / "config.json").write_text('{"format": "polysema-test", "version": 1}')
    print(number, flush=True)
"""


def fill(path: Path, text: str, overwrite: bool = False) -> None:
    with atomic_folder(path, overwrite, OWNER) as folder:
        (folder / "config.json").write_text(CONFIG)
        (folder / "text").write_text(text)


def test_whole_or_not_at_all(tmp_path):
    with suppress(RuntimeError), atomic_file(tmp_path / "file") as stream:
        stream.write(b"half")
        raise RuntimeError
    with suppress(RuntimeError), atomic_folder(tmp_path / "folder") as folder:
        (folder / "half").write_text("half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())
    fill(tmp_path / "out", "one")
    refused(InputError, "exists already", fill, tmp_path / "out", "two")
    fill(tmp_path / "out", "two", overwrite=True)
    assert (tmp_path / "out" / "text").read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("way", ["swap", "renames"])
def test_kill_9_leaves_the_old_or_the_new_whole(tmp_path, way):
    for strike in range(6):
        command = [sys.executable, "-c", WRITER, way]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(0.003 * strike)
            process.send_signal(signal.SIGKILL)
        recover(tmp_path / "out")
        text = (tmp_path / "out" / "text").read_text()
        assert text == text[:6] * 500
        assert (tmp_path / "out" / "config.json").read_text() == CONFIG
    fill(tmp_path / "out", "again", overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_killed_between_two_renames(tmp_path, monkeypatch):
    fill(tmp_path / "out", "new")
    os.rename(tmp_path / "out", tmp_path / ".out.polysema-new")
    fill(tmp_path / "other", "old")
    os.rename(tmp_path / "other", tmp_path / ".out.polysema-old")
    recover(tmp_path / "out")
    assert (tmp_path / "out" / "text").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_ctrl_c_while_a_lock_is_finalized_is_not_lost(tmp_path, monkeypatch):
    real, once = FileLock.__del__, [signal.SIGINT]
    monkeypatch.setattr(FileLock, "__del__", lambda lock: (real(lock), once and signal.raise_signal(once.pop())))
    with pytest.raises(KeyboardInterrupt), locked(tmp_path / "out"):
        pass
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())


def test_another_thread_is_refused_and_the_same_one_is_not(tmp_path):
    with locked(tmp_path / "out"), ThreadPoolExecutor(1) as other:
        refused(
            OutputError, "is being written by another process", other.submit(fill, tmp_path / "out", "other").result
        )
        fill(tmp_path / "out", "mine")
    assert (tmp_path / "out" / "text").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["thesis.tex", "notes/", "README.md"])
def test_a_folder_with_a_foreign_file_is_not_replaced(tmp_path, name):
    fill(tmp_path / "out", "one")
    (tmp_path / "out" / "README.md").write_text(signed("# out\n"))
    fill(tmp_path / "out", "two", overwrite=True)
    foreign = tmp_path / "out" / name
    foreign.mkdir() if name.endswith("/") else foreign.write_text(signed("# out\n") + "years of work")
    with pytest.raises(InputError, match=rf"did not write \({name.strip('/')}.*and is not overwritten"):
        fill(tmp_path / "out", "three", overwrite=True)
    assert (tmp_path / "out" / "text").read_text() == "two"


def test_nothing_of_others_is_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    (tmp_path / "note").write_text("polysema")
    fill(tmp_path / "own", "one")
    (tmp_path / "link").symlink_to(tmp_path / "own")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("thesis", "note", "link", "circle"):
        refused(InputError, "not overwritten: choose another name", fill, tmp_path / name, "mine", overwrite=True)
        with pytest.raises(InputError, match="not overwritten"), atomic_file(tmp_path / name, overwrite=True):
            pass
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"


def test_an_output_that_is_contains_or_lies_in_an_input_is_refused(tmp_path):
    fill(tmp_path / "own", "one")
    (tmp_path / "again").symlink_to(tmp_path / "own")
    for output, given in [
        ("own", "own"),
        ("own", "own/text"),
        ("own", "again"),
        ("own", "x/../own"),
        ("own/new", "own"),
    ]:
        with pytest.raises(InputError, match="is, contains or lies in the input"):
            check_output(tmp_path / output, overwrite=True, inputs=["other", tmp_path / given], owner=OWNER)
    check_output(tmp_path / "new", inputs=[tmp_path / "own"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "names no file"), (".", "names no file"), ("/", "names no file"), ("..", "names no file"),
        ("no/such", "is not a folder"), ("x" * 300, "too long"), ("a\0b", "names no file"),
    ],
)  # fmt: skip
def test_names_are_refused_before_the_work(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(InputError, message, check_output, Path(name), overwrite=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    with (
        pytest.raises(OutputError, match=r"out: cannot be written: No space left on device \(\d+\.\d GB free there\)"),
        atomic_file(tmp_path / "out"),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        full.write(b"x")
    assert not list(tmp_path.iterdir())


def test_the_umask_decides_who_may_read_arrays(tmp_path):
    storage.save_arrays(tmp_path / "arrays", {})
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "arrays").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_full_disk_under_safetensors_is_an_oserror_with_its_number(tmp_path, monkeypatch):
    import safetensors.numpy
    from safetensors import SafetensorError

    def full(*_, **__):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with pytest.raises(OSError, match="No space left") as caught:
        save_arrays(tmp_path / "x.safetensors", {"a": np.ones(2)})
    assert caught.value.errno == 28
