"""What workers do in the tests; they import it from here."""

from __future__ import annotations

import errno
import os
import time
from functools import cached_property
from pathlib import Path

from polysema.errors import InputError, OutputError
from polysema.files.progress import Progress


def square(shared: int, task: int, report) -> tuple[int, int]:
    report(Progress("squaring", 1, 2, speed=1e6))
    return shared, task * task


class Slow:
    """Something a worker makes once."""

    @cached_property
    def made(self) -> float:
        return time.time()


def process_and_made(slow: Slow, task: int, _) -> tuple[int, float]:
    return os.getpid(), slow.made


def slowly(flag: Path, task: int, _) -> int:
    """The first tasks wait long enough to be killed; once the flag is there, they do not."""
    for _again in range(300):
        if flag.exists():
            break
        time.sleep(0.1)
    return task


def fail(what: str, task: int, _) -> None:
    if what == "input":
        raise InputError("a value is wrong")
    if what == "crash":
        os._exit(1)
    raise ZeroDivisionError("a fault")


def disk(bad: tuple[str, int], task: int, _) -> int:
    """On one node nothing can be written."""
    import ray

    node, number = bad
    if node in ("", ray.get_runtime_context().get_node_id()):
        cause = OSError(number, os.strerror(number))
        if number == errno.ENOSPC:
            raise OutputError(f"out: cannot be written: {cause.strerror}")
        raise cause
    return task
