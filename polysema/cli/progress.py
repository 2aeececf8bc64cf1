"""Progress of long work, on standard error: a live line on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Update = Callable[..., None]


@contextmanager
def progress_line(*extra: str) -> Iterator[Update]:
    """A live line: what is being done, how far it is, the named extra figures, and the time left.

    Yields:
        a function of ``stage``, ``done``, ``total`` (None if not known) and the extra figures as text.
    """
    if not sys.stderr.isatty():
        yield lambda stage, done, total, **figures: None
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
                tasks[stage] = bar.add_task(stage, total=total, **blank)
            bar.update(tasks[stage], completed=done, total=total, **figures)

        yield update
