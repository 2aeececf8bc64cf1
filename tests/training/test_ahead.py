"""Kernels compiled ahead: the code that a second process leaves on disk is the code that training looks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polysema import compiling
from polysema.training import ahead
from polysema.training.models import MODELS

ROOT = Path(__file__).parents[2]


def test_training_finds_what_was_compiled_ahead(tmp_path):
    code = f"""
from polysema.machine import processors
from polysema.kernels import ms_word2dm
from polysema.training.ahead import compiled_ahead
from polysema.training.models import MODELS, train
import polysema.compiling as compiling
compiling.processors = lambda: 2
with compiled_ahead(MODELS["ms-word2dm"].chosen({{}}), "cpu") as wait:
    assert wait() == 0
with compiled_ahead(MODELS["ms-word2dm"].chosen({{}}), "cpu") as wait:
    assert wait() is None  # it is there now
text = {str(tmp_path / "text.txt")!r}
open(text, "w").write("the cat sat\\nthe dog sat\\n" * 20)
train(text, dim=4, senses=2, min_count=1, epochs=1, subsample=0)
stats = ms_word2dm.train_rounds.stats
assert sum(stats.cache_hits.values()) == 1 and not stats.cache_misses, stats
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("model", "device"), [("glove", "cpu"), ("ms-word2dm", "cuda")])
def test_nothing_is_compiled_ahead_for_what_has_no_such_kernels(monkeypatch, model, device):
    monkeypatch.setattr(compiling.subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    monkeypatch.setattr(ahead, "is_kept", lambda _: False)
    with ahead.compiled_ahead(MODELS[model].chosen({}), device) as wait:
        assert wait() is None


def test_the_process_ends_when_reading_fails(monkeypatch):
    children = []

    class Child:
        def __init__(self, *_, **__):
            self.calls = []
            children.append(self)

        def wait(self):
            self.calls.append("wait")

        def kill(self):
            self.calls.append("kill")

    monkeypatch.setattr(compiling.subprocess, "Popen", Child)
    monkeypatch.setattr(ahead, "is_kept", lambda _: False)
    monkeypatch.setattr(compiling, "processors", lambda: 2)
    with pytest.raises(OSError, match="disk"), ahead.compiled_ahead(MODELS["ms-word2dm"].chosen({}), "cpu"):
        raise OSError("disk")
    assert children[0].calls == ["kill", "wait"]


@pytest.mark.parametrize(
    ("arguments", "kept", "begun"),
    [
        (["my-text.txt"], False, True),
        (["my-text.txt", "--dim", "5", "-o", "mine"], False, True),
        (["my-text.txt"], True, False),  # something was compiled before: it is looked more closely later
        (["my-text.txt", "--model=glove"], False, False),
        (["my-text.txt", "--preset", "paper"], False, False),
        (["--help"], False, False),
        ([], False, False),
    ],
)
def test_the_command_begins_before_the_compiler_is_loaded(monkeypatch, tmp_path, arguments, kept, begun):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    if kept:
        (tmp_path / "kernels").mkdir()
        (tmp_path / "kernels" / "rounds.nbi").write_bytes(b"")
    monkeypatch.setattr(compiling, "_begun", None)
    monkeypatch.setattr(compiling, "started", lambda *told: told)
    compiling.begin(arguments)
    assert compiling.begun() == (("ms-word2dm", {}) if begun else None)


def test_what_was_begun_is_waited_for(monkeypatch):
    class Child:
        def wait(self):
            return 0

        def kill(self):
            pass

    monkeypatch.setattr(compiling, "_begun", Child())
    monkeypatch.setattr(ahead, "_needed", lambda *_: pytest.fail("a second process"))
    with ahead.compiled_ahead(MODELS["ms-word2dm"].chosen({}), "cpu") as wait:
        assert wait() == 0
    assert compiling.begun() is None
