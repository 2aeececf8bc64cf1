"""Work ahead of its use: by a thread of its own, or by a pool, with the results in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def ahead(items: Iterable[T], most: int = 4) -> Generator[T, None, None]:
    """The same items, made by a thread that runs a few ahead of their use; its errors are raised here.

    The thread ends with the iteration. One that waits for input that never comes is not waited for.
    """
    queue: Queue[tuple[bool, Any]] = Queue(most)
    stop = Event()

    def put(item: tuple[bool, Any]) -> None:
        while not stop.is_set():
            try:
                return queue.put(item, timeout=0.1)
            except Full:  # see whether it is still wanted
                continue

    def make() -> None:
        try:
            for item in items:
                put((True, item))
                if stop.is_set():
                    return
            put((False, None))
        except BaseException as error:  # handed over to whoever waits
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


def in_turn(pool: ThreadPoolExecutor, work: Callable[[T], U], items: Iterable[T], most: int) -> Iterator[U]:
    """The results in order, at most so many of them under way."""
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
