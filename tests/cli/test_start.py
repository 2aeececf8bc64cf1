"""The first moments of a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

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
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (130, "polysema: error: stopped\n")


STOPPED_IN_A_DESTRUCTOR = """
import signal, time
import polysema.cli

class Deleted:
    def __del__(self):
        signal.raise_signal(signal.{signal})

def main():
    Deleted()
    for _ in range(1000):  # the signal comes between two steps, not within a call
        time.sleep(0.01)
    return 0

signal.signal(signal.SIGINT, signal.default_int_handler)
polysema.cli.main = main
polysema.cli.run()
"""


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_ctrl_c_while_an_object_is_deleted_is_not_lost(signal):
    code = STOPPED_IN_A_DESTRUCTOR.replace("{signal}", signal)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (130, "polysema: error: stopped\n")


def test_the_package_runs():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "polysema", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stdout.startswith("polysema")) == (0, True)
