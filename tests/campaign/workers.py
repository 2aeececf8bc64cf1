"""The processes that share the tries of a campaign, each in a sandbox of its own; and how the tries are shared."""

from __future__ import annotations

import atexit
import os
import time
import traceback
from collections.abc import Collection, Iterator
from itertools import count, islice
from multiprocessing import current_process
from pathlib import Path
from typing import NamedTuple

from tests.campaign.campaign import Find, attempt, replay, saved
from tests.campaign.cases import Skipped, run_case
from tests.campaign.world import Sandbox


class Tried(NamedTuple):
    """Some tries of a kind: their numbers, the finds among them, and how long they took."""

    kind: str
    numbers: list[int]
    finds: list[Find]
    seconds: float


_TOGETHER = 8
"""Tries that a worker is given at once."""


def tasks_of(
    kinds: list[str], wanted: dict[str, int], done: Collection[tuple[str, int]] = ()
) -> Iterator[tuple[str, list[int]]]:
    """The numbers of all tries, the kinds in turns; those with more tries have longer turns, so that all end together."""
    queues = {
        kind: (n for n in (range(wanted[kind]) if wanted else count()) if (kind, n) not in done) for kind in kinds
    }
    least = min(wanted.values(), default=1)
    while queues:
        for kind in list(queues):
            for _ in range(max(1, round(wanted.get(kind, 1) / max(least, _TOGETHER)))):
                numbers = list(islice(queues[kind], _TOGETHER))
                if not numbers:
                    del queues[kind]
                    break
                yield kind, numbers


_sandbox: Sandbox


def begin(home: Path, parts: frozenset[str], thorough: bool) -> None:
    """What a worker does first: furnish a place of its own, and keep to two processors of many.

    A command takes as many threads as it may use processors; those of all workers together must not be too many.
    """
    global _sandbox
    cores = sorted(os.sched_getaffinity(0))
    first = int(current_process().name.rpartition("-")[2])
    os.sched_setaffinity(0, {cores[first % len(cores)], cores[(first + 1) % len(cores)]})
    _sandbox = Sandbox(home / f"worker-{os.getpid()}", parts, thorough, home)
    atexit.register(_sandbox.close)


def some(kind: str, seed: int, numbers: list[int], until: float) -> Tried:
    """Some tries, as many as there is time for; what breaks the campaign itself is a find too."""
    started = time.monotonic()
    done, finds = [], []
    for number in numbers:
        if time.monotonic() > until:
            break
        done.append(number)
        try:
            found = attempt(_sandbox, kind, seed, number)
        except Exception:
            found = Find(kind, {"seed": seed, "number": number}, [f"the campaign itself: {traceback.format_exc()}"])
        finds += [found] if found else []
    return Tried(kind, done, finds, time.monotonic() - started)


def one(task: tuple[str, str, int, int]) -> list[str] | str:
    """A task of the suite: ``("case", name, …)``, ``("find", …, number)`` or ``(kind, …, seed, number)``.

    Returns:
        its faults; a string where it cannot be run here, and why.
    """
    what, name, seed, number = task
    if what == "case":
        try:
            return run_case(_sandbox, name)
        except Skipped as reason:
            return str(reason)
    if what == "find":
        return replay(_sandbox, saved()[number])
    found = attempt(_sandbox, what, seed, number)
    return [str(found)] if found else []
