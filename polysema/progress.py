"""Progress of long work, where it can be seen.

A command shows a live line on a terminal, and a plain line a minute elsewhere, on standard error. A call of the library
shows a bar in a notebook and a live line in an interactive session; in a script it logs a line a minute.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

_EVERY = 60.0  # seconds between two lines where there is no terminal
_BAR_EVERY = 0.3  # and between two updates of a bar in a notebook
_LOG = logging.getLogger("polysema.progress")
_WIDE = 110  # columns of a terminal that has room for a bar


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    stage: str  # what it is doing: ``training``, ``encoding``, ``clustering`` …
    done: int  # units of work; ``total`` is None if not known
    total: int | None = None
    unit: str = "words"  # what is counted
    speed: float = 0.0  # units a second, recently
    seconds: float | None = None  # seconds spent and to go; None if not known
    left: float | None = None
    epoch: int = 0  # the epoch, from 1, and how many there are; 0 without epochs
    epochs: int = 0
    loss: float | None = None  # of a sample of the last training steps
    held_out: float | None = None  # the held-out loss after the last whole epoch
    rate: float | None = None  # the learning rate
    words: int = 0  # how much text was read so far
    sentences: int = 0
    note: str = ""  # a message to show once, such as how much disk the run takes
    detail: str = ""  # what each worker does, where there are several
    # what that loss is. With negative sampling it is −ln σ of the true words alone (ln 2 for an untrained model), which
    # cannot be compared with the held-out loss: that adds the loss of the noise words.
    loss_name: str = "loss"


Report = Callable[[Progress], None]  # a function that is called with the progress now and then


def silent(_: Progress) -> None:
    """Ignore progress."""


@contextmanager
def progress_report(quiet: bool = False) -> Iterator[Report]:
    """A live line: the stage, how far it is, the time left, then further figures as far as they fit."""
    if quiet:
        yield silent
        return
    if not sys.stderr.isatty():
        yield _lines(_to_standard_error)
        return
    from rich import progress
    from rich.console import Console
    from rich.table import Column

    console = Console(stderr=True)
    columns: list[Any] = [progress.TextColumn("{task.description}"), progress.TaskProgressColumn()]
    columns += [progress.BarColumn(bar_width=24)] if console.width >= _WIDE else []
    columns += [progress.TextColumn("left"), progress.TimeRemainingColumn()]
    columns += [progress.TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True, overflow="ellipsis"))]
    with progress.Progress(*columns, console=console, transient=True, refresh_per_second=5) as bar:
        tasks: dict[str, Any] = {}

        def show(at: Progress) -> None:
            if at.note:
                _to_standard_error(at.note)
            if at.stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, visible=False)
                tasks[at.stage] = bar.add_task(at.stage, total=at.total, figures="")
            bar.update(tasks[at.stage], completed=at.done, total=at.total, figures=figures_of(at))

        yield show


@contextmanager
def library_report(quiet: bool = False) -> Iterator[Report]:
    """The report used by a call of the library that is given none; see the top of this module."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if quiet:
        chosen: Any = nullcontext(silent)
    elif hasattr(shell, "kernel"):  # of Jupyter, or its like, which displays HTML
        chosen = _bar()
    elif hasattr(sys, "ps1") or sys.flags.interactive:
        chosen = progress_report()
    else:
        chosen = nullcontext(_lines(_LOG.info))
    with chosen as show:
        yield show


def figures_of(at: Progress) -> str:
    """The figures beside the bar. Two losses are shown, of different things, each under its name."""
    speed = f"{at.speed / 1e6:.2f} M" if at.speed >= 1e5 else f"{at.speed:,.0f}"
    figures = {
        f"epoch {at.epoch} of {at.epochs}": at.epochs,
        f"{at.loss_name} {at.loss or 0:.3f}": at.loss is not None,
        f"held-out loss (with noise words) {at.held_out or 0:.4f}": at.held_out is not None,
        f"{at.words:,} words": at.words,
        f"{speed} {at.unit}/s": at.speed,
        f"rate {at.rate or 0:.4f}": at.rate is not None,
        at.detail: at.detail,
    }
    return "  ".join(figure for figure, known in figures.items() if known)


def progress_html(at: Progress) -> str:
    """Progress as HTML: a bar where the total is known, and figures."""
    share = min(at.done / at.total, 1.0) if at.total else None
    left = "" if at.left is None else f" · {at.left:,.0f} s left"
    bar = "" if share is None else f"<progress value='{share:.4f}' max='1' style='width:240px'></progress> {share:.0%}"
    return f"<div>{escape(at.stage)} {bar}{left} <small>{escape(figures_of(at))}</small></div>"


@contextmanager
def _bar() -> Iterator[Report]:
    """A bar in a notebook without widgets; it is removed when the work is done."""
    shown: Any = import_module("IPython.display")  # which has no types
    handle = shown.display(shown.HTML(""), display_id=True)
    try:
        yield _throttled(lambda at: handle.update(shown.HTML(progress_html(at))), _to_standard_error, _BAR_EVERY, 0.0)
    finally:
        handle.update(shown.HTML(""))


def _lines(write: Callable[[str], None]) -> Report:
    """Progress for a log: a line a minute."""

    def show(at: Progress) -> None:
        share = f" {at.done / at.total:.0%}" if at.total else ""
        write(f"{at.stage}{share}  {figures_of(at)}")

    return _throttled(show, write, _EVERY, time.monotonic())


def _throttled(show: Report, write: Callable[[str], None], seconds: float, last: float) -> Report:
    """Show progress once in ``seconds`` at most, and write notes at once."""

    def report(at: Progress) -> None:
        nonlocal last
        if at.note:
            write(at.note)
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            show(at)

    return report


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
