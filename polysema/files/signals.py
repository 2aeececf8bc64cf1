"""Ctrl-C and SIGTERM held back while work must not be cut in two.

Python runs a signal's handler between any two instructions of the main thread, and most handlers raise
KeyboardInterrupt there. A loop that changes a model and then notes that it did could be stopped between the two. Within
:class:`Held`, a signal only waits for :meth:`Held.deliver`, which the loop calls where it may stop. In other threads
than the main one signals never arrive, and nothing is held. Signals without a handler in Python still end the process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Held:
    """A block in which signals that have a handler in Python wait for :meth:`deliver`, or for the block's end.

    Args:
        twice: whether a second signal is obeyed at once.
    """

    def __init__(self, twice: bool = True) -> None:
        self._twice = twice
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._waiting: int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._arrived)
        return self

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self._waiting is not None and self._twice:
            self._waiting = None
            self._handlers[number](number, frame)
        else:
            self._waiting = number

    def deliver(self) -> None:
        """Hand a waiting signal to the handler it was meant for, which may raise."""
        if self._waiting is not None:
            number, self._waiting = self._waiting, None
            self._handlers[number](number, None)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self.deliver()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A block that Ctrl-C and a request to end do not cut in two: they are obeyed when it is over."""
    with Held(twice=False):
        yield


@contextmanager
def own_handlers() -> Iterator[None]:
    """A block in which foreign code cannot put its signal handlers in the place of Python's for more than a moment.

    CUDA's run-time compiler does so while it reads a program, and its handlers end the process, with exit code 4 and
    without a word. A thread looks every millisecond and puts back what was there; the compiler itself does so at its
    end. Only where the C library has ``sigaction``.
    """
    if os.name != "posix":
        yield
        return
    library = ctypes.CDLL(None)
    kept = {number: ctypes.create_string_buffer(1024) for number in SIGNALS}  # as the C library writes them
    for number, known in kept.items():
        library.sigaction(number, None, known)

    def watch() -> None:
        now = ctypes.create_string_buffer(1024)
        while not over.wait(0.001):
            for number, known in kept.items():
                library.sigaction(number, None, now)
                if now.raw[:8] != known.raw[:8]:  # the address of the handler
                    library.sigaction(number, known, None)

    over = threading.Event()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
