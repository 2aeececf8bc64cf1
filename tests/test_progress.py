"""Where the progress of a call shows: in a notebook, in an interactive session, in a log, nowhere."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from importlib.util import find_spec

import pytest

import polysema as ps
from polysema import progress
from polysema.progress import Progress, progress_html

TEXT = [["the", "cat", "sat"], ["the", "dog", "sat"]] * 20
SETTINGS = {"dim": 4, "senses": 2, "min_count": 1, "epochs": 2, "subsample": 0}
AT = Progress("training", 30, 60, epoch=1, epochs=2, loss=0.5, held_out=2.39, left=3.0, loss_name="loss of true words",
              detail="a < b")  # fmt: skip


def test_a_script_logs(monkeypatch, caplog, capsys):
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    with caplog.at_level(logging.INFO, "polysema.progress"):
        ps.train(TEXT, **SETTINGS)
    assert "loss of true words" in caplog.text
    assert "held-out loss (with noise words)" not in caplog.text  # nothing is held out of so little text
    assert capsys.readouterr() == ("", "")
    caplog.clear()
    with caplog.at_level(logging.INFO, "polysema.progress"):
        ps.train(TEXT, quiet=True, **SETTINGS)
    assert not caplog.records


def test_an_interactive_session_shows(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    ps.train(TEXT, **SETTINGS)
    assert "training" in capsys.readouterr().err
    ps.train(TEXT, quiet=True, **SETTINGS)
    assert capsys.readouterr().err == ""


def test_the_bar_of_a_notebook():
    html = progress_html(AT)
    for shown in ("value='0.5000'", "50%", "3 s left", "epoch 1 of 2", "a &lt; b"):
        assert shown in html
    assert "loss of true words 0.500  held-out loss (with noise words) 2.3900" in html
    assert "<progress" not in progress_html(Progress("reading", 3))


RUN = """
import json, sys
import nbclient, nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
updates = []


class Here(KernelSpecManager):
    def get_kernel_spec(self, name):
        return KernelSpec(argv=argv, display_name="here", language="python")


class Client(nbclient.NotebookClient):
    def process_message(self, msg, cell, cell_index):
        if msg["msg_type"] == "update_display_data":
            updates.append(msg["content"]["data"].get("text/html", ""))
        return super().process_message(msg, cell, cell_index)


cells = json.load(sys.stdin)
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
Client(notebook, km=AsyncKernelManager(kernel_spec_manager=Here(), kernel_name="here"), timeout=300).execute()
print(json.dumps({"updates": updates, "outputs": [cell.outputs for cell in notebook.cells]}))
"""


def test_in_a_notebook_that_is_run():
    """Figures and answers show themselves without a magic, and training shows a bar: by nbclient, in a kernel."""
    for name, extra in (("nbclient", "dev"), ("ipykernel", "notebook"), ("matplotlib", "plots")):
        if find_spec(name) is None:
            pytest.skip(f"the extra {extra} is not installed")
    train = f"ps.train({TEXT!r}, **{SETTINGS!r}"
    cells = [
        f"import polysema as ps\nfrom polysema import progress\nprogress._BAR_EVERY = 0.0\nlexicon = {train})",
        "ps.heat_map(lexicon['cat'])",
        "lexicon.senses('cat')",
        "lexicon.neighbours('cat', 2)",
        "lexicon",
        f"{train}, quiet=True);",
    ]
    done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(cells), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    shown = [[kind for out in outputs for kind in out.get("data", {})] for outputs in found["outputs"]]
    assert any("<progress" in html for html in found["updates"])
    assert found["updates"][-1] == ""  # the bar goes when the work is done
    assert "image/png" in shown[1]
    assert all("text/html" in kinds for kinds in shown[2:5])
    assert found["outputs"][5] == []
