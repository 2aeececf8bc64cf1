"""An engine maps tasks over workers and gives their results in the order of the tasks.

A task is pure: its result depends on what all tasks share and on the task, not on who does it, when, or how often. So
the number of workers, the order in which they finish and workers that die change nothing in what comes out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Protocol, TypeVar

from polysema.errors import InputError, check_choice
from polysema.progress import Report, silent

Shared = TypeVar("Shared")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
Task = TypeVar("Task")
Result = TypeVar("Result")
Own = TypeVar("Own")
Joint = TypeVar("Joint")

Work = Callable[[Shared, Task, Report], Result]
"""What a worker does: a function of a module, since workers import it. It may report how far its task has come."""

Merge = Callable[[list[Joint]], Joint]
"""Makes one of some results that follow each other; a function of a module, too."""

ENGINES = ("local", "ray")

FAN = 4
"""So many results are merged into one."""


class Placed(Protocol[Value_co]):
    """A value that was placed; a task may hold it."""

    def __call__(self) -> Value_co:
        """The value, read-only where it is an array."""


class Engine:
    """Does tasks: one after the other in this process, unless another kind of engine does them elsewhere.

    Attributes:
        workers: how many tasks are done at once.
    """

    workers = 1

    def put(self, value: Value) -> Placed[Value]:
        """Place a value where workers can get it: once for all of them, whatever the number of tasks."""
        return lambda: value

    def map(
        self,
        work: Work[Shared, Task, Result],
        shared: Placed[Shared],
        tasks: Iterable[Task],
        *,
        cores: int = 1,
        gpus: int = 0,
        progress: Report = silent,
    ) -> Iterator[Result]:
        """The results of all tasks, in their order; few are held at once.

        Args:
            shared: what all tasks need. A worker gets it once and keeps it: what is expensive to make, such as a loaded
                encoder, it makes at first use (``functools.cached_property``).
            tasks: what differs between them, small; larger things are placed. Taken as they are needed.
            cores, gpus: how many processors and cards a task uses.
            progress: told how far all tasks together have come.
        """
        for task in tasks:
            yield work(shared(), task, progress)

    def merged(
        self,
        work: Work[Shared, Task, tuple[Own, Joint]],
        shared: Placed[Shared],
        tasks: Iterable[Task],
        merge: Merge[Joint],
        *,
        group: int,
        cores: int = 1,
    ) -> Iterator[tuple[list[Own], list[Joint]]]:
        """As :meth:`map`, where workers also merge the second half of each result, by a tree (:func:`tree`).

        Args:
            group: so many tasks make a tree. Its shape depends on their number only, so results have the same bits for
                any number of workers. For each group come the first halves, and at most ``FAN`` merged second halves.
        """
        for some in grouped(tasks, group):
            owns: list[Own] = []

            def joints(some: list[Task] = some, owns: list[Own] = owns) -> Iterator[Joint]:
                for own, joint in self.map(work, shared, some):
                    owns.append(own)
                    yield joint

            yield owns, tree(joints(), len(some), merge)

    def see(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Raise InputError if a worker cannot see one of these files or folders, or sees others."""

    def status(self) -> str:
        """Who has done how much, and what is waiting, in a few words."""
        return ""

    def close(self) -> None:
        """End what was begun."""


class Local(Engine):
    """This process; what a task does may use all cores."""


def tree(values: Iterable[Value], count: int, merge: Callable[[list[Value]], Value]) -> list[Value]:
    """Merge neighbours, ``FAN`` at a time, and what comes of them again, until ``FAN`` are left or fewer.

    The caller merges those. Few values are held at once.
    """
    while count > FAN:
        values = (merge(some) if len(some) > 1 else some[0] for some in grouped(values, FAN))
        count = -(-count // FAN)
    return list(values)


def grouped(tasks: Iterable[Task], size: int) -> Iterator[list[Task]]:
    """Lists of so many tasks; the last may be shorter."""
    left = iter(tasks)
    while some := list(islice(left, size)):
        yield some


@contextmanager
def engine_named(
    engine: str | Engine = "local", address: str | None = None, workers: int | None = None
) -> Iterator[Engine]:
    """The engine of that name, closed at the end; an engine that is handed in is left open.

    Args:
        engine: ``local``, ``ray``, or an engine.
        address: of a Ray cluster, such as ``10.0.0.1:6379``, or ``auto`` for the one this machine belongs to; without
            it Ray is started on this machine and ends with the work.
        workers: how many tasks at once; by default one per processor of the cluster.
    """
    if not isinstance(engine, str):
        yield engine
        return
    check_choice("engine", engine, ENGINES)
    if engine == "local":
        if address is not None:
            raise InputError(f"the address {address} is a Ray cluster's: choose the engine ray")
        yield Local()
        return
    from polysema.engine.ray import RayEngine

    opened = RayEngine(address, workers)
    try:
        yield opened
    finally:
        opened.close()
