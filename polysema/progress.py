"""Progress of long work, where it can be seen.

A command shows a live line on a terminal, and a plain line a minute elsewhere, on standard error. A call of the library
shows a bar in a notebook and a live line in an interactive session; in a script it logs a line a minute.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

Line = Callable[[str], None]
_EVERY = 60.0  # seconds between two lines where there is no terminal
_BAR_EVERY = 0.3  # and between two pictures of a bar in a notebook
_LOG = logging.getLogger("polysema.progress")
_WIDE = 110  # columns of a terminal that has room for a bar


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        stage: what it is doing: ``training``, ``encoding``, ``clustering`` …
        done, total: units of work; ``total`` is None where it is not known.
        unit: what is counted.
        speed: units a second, of the last moments where the work reports them.
        seconds, left: seconds spent and to go; None where they are not known.
        epoch, epochs: which of how many, from 1; 0 where there are none.
        loss: of a sample of the last training steps.
        loss_name: what that is of. By negative sampling it is −ln σ of the true words alone, ln 2 where nothing is
            known; not to be compared with the held-out loss, which adds that of the noise words.
        held_out: the held-out loss after the last whole epoch.
        rate: the learning rate.
        words, sentences: of text, how many were met so far.
        note: something to say once, such as how much disk the run takes.
        detail: what each worker does, where there are several.
    """

    stage: str
    done: int
    total: int | None = None
    unit: str = "words"
    speed: float = 0.0
    seconds: float | None = None
    left: float | None = None
    epoch: int = 0
    epochs: int = 0
    loss: float | None = None
    held_out: float | None = None
    rate: float | None = None
    words: int = 0
    sentences: int = 0
    note: str = ""
    detail: str = ""
    loss_name: str = "loss"


Report = Callable[[Progress], None]
"""A function that is called with the progress now and then."""


def silent(_: Progress) -> None:
    """Ignore progress."""


@contextmanager
def progress_report(quiet: bool = False) -> Iterator[Report]:
    """A live line: what is being done, how far it is, the time left, then further figures as far as they fit."""
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
            bar.update(tasks[at.stage], completed=at.done, total=at.total, figures=_joined(at))

        yield show


@contextmanager
def library_report(quiet: bool = False) -> Iterator[Report]:
    """What a call of the library reports to where its caller hands in nothing: see above."""
    if quiet:
        yield silent
    elif _in_notebook():
        with _bar() as show:
            yield show
    elif hasattr(sys, "ps1") or sys.flags.interactive:
        with progress_report() as show:
            yield show
    else:
        yield _lines(_LOG.info)


def figures_of(at: Progress) -> dict[str, str]:
    """The figures beside the bar. The loss of training and the held-out one are of different things, and say so."""
    held_out = "" if at.held_out is None else f"held-out loss (with noise words) {at.held_out:.4f}"
    return {
        "epoch": f"epoch {at.epoch} of {at.epochs}" if at.epochs else "",
        "loss": "" if at.loss is None else f"{at.loss_name} {at.loss:.3f}",
        "held_out": held_out,
        "words": f"{at.words:,} words" if at.words else "",
        "speed": _speed(at.speed, at.unit),
        "rate": "" if at.rate is None else f"rate {at.rate:.4f}",
        "detail": at.detail,
    }


def progress_html(at: Progress, figures: str) -> str:
    """How far long work is: a bar where it is known, and figures."""
    share = min(at.done / at.total, 1.0) if at.total else None
    left = "" if at.left is None else f" · {at.left:,.0f} s left"
    bar = "" if share is None else f"<progress value='{share:.4f}' max='1' style='width:240px'></progress> {share:.0%}"
    return f"<div>{escape(at.stage)} {bar}{left} <small>{escape(figures)}</small></div>"


def _in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, or its like, that displays HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _bar() -> Iterator[Report]:
    """A bar in a notebook, which needs no widgets; it goes when the work is done."""
    shown: Any = import_module("IPython.display")  # which has no types
    handle = shown.display(shown.HTML(""), display_id=True)
    last = 0.0

    def show(at: Progress) -> None:
        nonlocal last
        if at.note:
            _to_standard_error(at.note)
        if time.monotonic() - last >= _BAR_EVERY:
            last = time.monotonic()
            handle.update(shown.HTML(progress_html(at, _joined(at))))

    try:
        yield show
    finally:
        handle.update(shown.HTML(""))


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _speed(speed: float, unit: str) -> str:
    if not speed:
        return ""
    return f"{speed / 1e6:.2f} M {unit}/s" if speed >= 1e5 else f"{speed:,.0f} {unit}/s"


def _joined(at: Progress) -> str:
    return "  ".join(figure for figure in figures_of(at).values() if figure)


def _lines(tell: Line) -> Report:
    """Progress for a log: a line now and then."""
    last = time.monotonic()

    def show(at: Progress) -> None:
        nonlocal last
        if at.note:
            tell(at.note)
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            share = f" {at.done / at.total:.0%}" if at.total else ""
            tell(f"{at.stage}{share}  {_joined(at)}")

    return show
