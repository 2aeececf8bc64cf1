"""This machine: its processors and memory, and threads that prepare work ahead of its use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def processors() -> int:
    """How many processors this process may use, or the machine has where the system does not say (macOS, Windows)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ahead(items: Iterable[T], most: int = 4) -> Generator[T, None, None]:
    """Yield items that a thread prepares ahead of their use; its errors are raised here.

    The thread ends with the iteration; if it is blocked on input, it is left behind.
    """
    queue: Queue[tuple[bool, Any]] = Queue(most)
    stop = Event()

    def put(item: tuple[bool, Any]) -> None:
        while not stop.is_set():
            try:
                return queue.put(item, timeout=0.1)
            except Full:  # check whether it is still wanted
                continue

    def make() -> None:
        try:
            for item in items:
                put((True, item))
                if stop.is_set():
                    return
            put((False, None))
        except BaseException as error:  # raised where the items are used
            put((False, error))

    thread = Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            more, item = queue.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stop.set()
        thread.join(1.0)


def in_turn(pool: Executor, work: Callable[[T], U], items: Iterable[T], most: int) -> Iterator[U]:
    """The results in order, with at most so many under way."""
    waiting: deque[Future[U]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
