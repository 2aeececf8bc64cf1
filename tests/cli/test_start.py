"""The first moments of a command."""

import subprocess
import sys

import pytest

from polysema.cli import main
from tests.processes import python

STOPPED_WHILE_LOADING = """
import os, signal, sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "polysema.cli":
            os.kill(os.getpid(), signal.{signal})

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
from polysema.__main__ import run
run()
"""


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_ctrl_c_while_the_commands_are_loaded_is_no_traceback(signal):
    code = STOPPED_WHILE_LOADING.replace("{signal}", signal)
    done = python("-c", code, timeout=120)
    assert (done.returncode, done.stderr) == (130, "polysema: error: stopped\n")


def test_the_package_runs():
    done = python("-m", "polysema", "--version", timeout=120)
    assert (done.returncode, done.stdout.startswith("polysema")) == (0, True)


def test_a_signal_that_a_library_made_another_error_of_is_a_stop(monkeypatch, capsys):
    """As NumPy does where a signal comes while it compares structured types."""

    def interrupted(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as stop:
            raise TypeError("Cannot compare structured arrays") from stop

    monkeypatch.setattr("polysema.cli.lexicons.load", interrupted)
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "polysema: error: stopped\n"
    monkeypatch.setattr("polysema.cli.lexicons.load", lambda *_, **__: 1 + "1")
    assert main(["info"]) == 1
    assert "fault of polysema" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        (["senses", "bank"], "stdout", 0), (["senses", "bank"], "stdin", 0), (["senses", "nosuchword"], "stderr", 2),
        (["read", "--file", "-"], "stdin", 2), (["train", "-", "-o", "out"], "stdin", 2),
    ],
)  # fmt: skip
def test_a_closed_stream_is_no_fault(tmp_path, arguments, closed, code):
    shell = f'"$@" { ({"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}[closed]) }'
    command = ["sh", "-c", shell, "sh", sys.executable, "-m", "polysema", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1 if code == 2 and closed != "stderr" else 0)
