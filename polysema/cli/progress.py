"""Progress of long work, on standard error: a live line on a terminal, a plain line a minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from polysema.files.progress import Progress, Report

Update = Callable[..., None]
_EVERY = 60.0  # seconds between two lines where there is no terminal
_WIDE = 110  # columns of a terminal that has room for a bar


@contextmanager
def progress_line(*extra: str) -> Iterator[Update]:
    """A live line: what is being done, how far it is, the time left, then the named extra figures as far as they fit.

    Yields:
        a function of ``stage``, ``done``, ``total`` (None if not known) and the extra figures as text.
    """
    if not sys.stderr.isatty():
        yield _lines()
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

        def update(stage: str, done: float, total: float | None, **figures: Any) -> None:
            if stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, visible=False)
                tasks[stage] = bar.add_task(stage, total=total, figures="")
            bar.update(tasks[stage], completed=done, total=total, figures=_joined(figures))

        yield update


@contextmanager
def progress_report() -> Iterator[Report]:
    """As :func:`progress_line`, for the events of the library."""
    with progress_line() as update:

        def show(at: Progress) -> None:
            if at.note:
                click.echo(at.note, err=True)
            held_out = "" if at.held_out is None else f", held out {at.held_out:.4f}"
            update(
                at.stage, at.done, at.total,
                epoch=f"epoch {at.epoch} of {at.epochs}" if at.epochs else "",
                loss="" if at.loss is None else f"loss {at.loss:.3f}{held_out}",
                speed=_speed(at.speed, at.unit),
                rate="" if at.rate is None else f"rate {at.rate:.4f}",
                detail=at.detail,
            )  # fmt: skip

        yield show


def _speed(speed: float, unit: str) -> str:
    if not speed:
        return ""
    return f"{speed / 1e6:.2f} M {unit}/s" if speed >= 1e5 else f"{speed:,.0f} {unit}/s"


def _joined(figures: dict[str, Any]) -> str:
    return "  ".join(str(value) for value in figures.values() if value)


def _lines() -> Update:
    """Progress for a log: a line now and then."""
    last = time.monotonic()

    def update(stage: str, done: float, total: float | None, **figures: Any) -> None:
        nonlocal last
        if time.monotonic() - last < _EVERY:
            return
        last = time.monotonic()
        share = f" {done / total:.0%}" if total else ""
        click.echo(f"{stage}{share}  {_joined(figures)}", err=True)

    return update
