"""Progress of long work, on standard error: a live line on a terminal, a plain line a minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

Update = Callable[..., None]
_EVERY = 60.0  # seconds between two lines where there is no terminal


@contextmanager
def progress_line(*extra: str) -> Iterator[Update]:
    """A live line: what is being done, how far it is, the named extra figures, and the time left.

    Yields:
        a function of ``stage``, ``done``, ``total`` (None if not known) and the extra figures as text.
    """
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(bar_width=24), TaskProgressColumn()]
    columns += [TextColumn(f"{{task.fields[{name}]}}") for name in extra]
    columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: float, total: float | None, **figures: Any) -> None:
            if stage not in tasks:
                blank: dict[str, Any] = dict.fromkeys(extra, "")
                for earlier in tasks.values():
                    bar.update(earlier, visible=False)
                tasks[stage] = bar.add_task(stage, total=total, **blank)
            bar.update(tasks[stage], completed=done, total=total, **figures)

        yield update


def _lines() -> Update:
    """Progress for a log: a line now and then."""
    last = time.monotonic()

    def update(stage: str, done: float, total: float | None, **figures: Any) -> None:
        nonlocal last
        if time.monotonic() - last < _EVERY:
            return
        last = time.monotonic()
        share = f" {done / total:.0%}" if total else ""
        click.echo(f"{stage}{share}  {'  '.join(str(value) for value in figures.values() if value)}", err=True)

    return update
