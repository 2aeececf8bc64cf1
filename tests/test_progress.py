"""Where the progress of a call shows: in a notebook, in an interactive session, in a log, nowhere."""

import logging
import sys
from types import SimpleNamespace

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


def test_a_notebook_shows_a_bar_that_goes(monkeypatch):
    updates = []

    class Handle:
        def update(self, html):
            updates.append(html)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setattr(progress, "_BAR_EVERY", 0.0)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    shown = SimpleNamespace(HTML=str, display=lambda html, display_id: Handle())
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    ps.train(TEXT, **SETTINGS)
    assert any("<progress" in html for html in updates)
    assert updates[-1] == ""
    del updates[:]
    ps.train(TEXT, quiet=True, **SETTINGS)
    assert not updates
