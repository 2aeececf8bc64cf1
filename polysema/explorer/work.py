"""Work off the event loop, with bounds on how much runs at once, how much waits, and how long each may take.

A sentence is parsed once, by one thread at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock
from typing import Any


class Busy(Exception):
    """Too much is asked at once, or one thing took too long."""


class Work:
    """Threads that answer, with the last answers kept.

    Args:
        threads: how many work at once.
        waiting: how many may wait for them; one more is refused at once, and so is one that would wait too long, by the
            time that the last answers took.
        seconds: how long a request waits for its answer. One that nobody waits for any more is not begun.
        kept: how many answers are kept.
    """

    def __init__(self, threads: int = 2, waiting: int = 254, seconds: float = 20.0, kept: int = 256) -> None:
        self.threads, self.seconds, self.kept, self.most = threads, seconds, kept, threads + waiting
        self._pool = ThreadPoolExecutor(threads, "explorer")
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._running: dict[Hashable, asyncio.Future[Any]] = {}
        self._waiters: Counter[Hashable] = Counter()
        self._took = 0.0  # seconds of an answer, the mean of the last ones

    async def __call__(
        self, key: Hashable, answer: Callable[[], Any], keep: Callable[[Any], bool] = lambda answer: True
    ) -> Any:
        """The answer that is kept under a key, else a new one; who asks for one that is being made waits for that.

        Args:
            keep: whether an answer is worth keeping.
        """
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        if (running := self._running.get(key)) is None:
            ahead = len(self._running)
            if ahead >= self.most or ahead / self.threads * self._took > self.seconds:
                raise Busy("too many questions at once: ask again in a moment")
            running = asyncio.get_running_loop().run_in_executor(self._pool, self._timed, answer)
            self._running[key] = running
            running.add_done_callback(lambda done: self._done(key, done, keep))
        self._waiters[key] += 1
        try:
            return await asyncio.wait_for(asyncio.shield(running), self.seconds)
        except TimeoutError:
            raise Busy(f"this took more than {self.seconds:.0f} seconds: ask for less") from None
        finally:
            self._waiters[key] -= 1
            if not self._waiters[key]:
                del self._waiters[key]
                running.cancel()  # where it is still in the queue

    def _timed(self, answer: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        try:
            return answer()
        finally:
            self._took += 0.1 * (time.perf_counter() - start - self._took)

    def _done(self, key: Hashable, done: asyncio.Future[Any], keep: Callable[[Any], bool]) -> None:
        if self._running.get(key) is done:
            del self._running[key]
        if not done.cancelled() and done.exception() is None and keep(done.result()):
            self._answers[key] = done.result()
            while len(self._answers) > self.kept:
                self._answers.popitem(last=False)

    def close(self) -> None:
        """Start nothing new."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Parsed:
    """A pipeline that keeps the last texts as it parsed them; all else is the pipeline's own.

    A page asks for the tree of a sentence and for its words in context: that is one parse.
    """

    def __init__(self, nlp: Any, kept: int = 256) -> None:
        self._nlp, self._lock = nlp, Lock()
        self._kept = lru_cache(kept)(nlp)

    def __call__(self, text: Any) -> Any:
        """The document of a text."""
        with self._lock:
            return self._kept(text) if isinstance(text, str) else self._nlp(text)

    def pipe(self, texts: Iterable[str], **_: Any) -> Iterator[Any]:
        """The document of each text."""
        return map(self, texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nlp, name)
