"""Ctrl-C between two steps."""

from __future__ import annotations

import signal
import threading
from typing import Any, Self


class Interrupts:
    """A block in which Ctrl-C and SIGTERM wait for :meth:`check`, so that no step is cut in two.

    Then the handler that was set before is called, which usually raises KeyboardInterrupt. A second signal calls it at
    once. Python delivers signals to the main thread only: in other threads this does nothing.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._waiting: int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(handler := signal.getsignal(number)):
                    self._handlers[number] = handler
                    signal.signal(number, self._arrived)
        return self

    def _arrived(self, number: int, _: object) -> None:
        if self._waiting is not None:
            self.check()
        else:
            self._waiting = number

    def check(self) -> None:
        """Call the handler of a signal that arrived."""
        if self._waiting is not None:
            number, self._waiting = self._waiting, None
            self._handlers[number](number, None)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self.check()
