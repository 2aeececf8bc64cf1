"""The moment at which a signal strikes a command, such that the same moment can be met again.

``{"at": "change", "n": 17, "signal": "KILL"}``     before the 17th change to the file system
``{"at": "line", "where": "training/run.py:118", "n": 3, "signal": "INT"}``   when that line is reached a third time
``{"at": "seconds", "s": 0.31, "signal": "TERM"}``  by the clock; struck from outside
``{"at": "count"}``                                 never: counts changes and lines instead, for moments to be drawn from
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

CHANGES = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree",
}  # fmt: skip
"""Audit events of Python that change a file system; so does ``open`` for writing."""
NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Watcher:
    """Counts what a command does, notes what it must not do, and strikes.

    Attributes:
        moment: when to strike; None: never.
        allowed: the folders that the command may write in.
        notes: a file for what was counted and noted.
    """

    def __init__(self, moment: dict[str, Any] | None, allowed: list[str], notes: str) -> None:
        self.moment, self.allowed, self.notes = moment or {}, allowed, notes
        self.watched = "/polysema/" + self.moment.get("where", "").split(":")[0]
        self.changes = 0
        self.lines: Counter[str] = Counter()
        self.outside: set[str] = set()
        self.network: set[str] = set()
        self.busy = threading.local()

    def arm(self) -> None:
        sys.addaudithook(self._audit)
        atexit.register(self._write)
        if self.moment.get("at") in ("line", "count"):
            sys.settrace(self._called)

    def _write(self) -> None:
        sys.settrace(None)
        self.busy.now = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        found = {
            "changes": self.changes,
            "lines": self.lines,
            "outside": sorted(self.outside),
            "network": sorted(self.network),
        }
        Path(self.notes).write_text(json.dumps(found))

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if getattr(self.busy, "now", False):
            return
        if event in NETWORK:
            self.network.add(f"{event} {arguments[1:]}"[:200])
            raise OSError(101, "Network is unreachable")
        writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if writing and isinstance(arguments[0], str | bytes):
            self._note_place(os.fsdecode(arguments[0]))
        if writing or event in CHANGES:
            self.changes += 1
            if self.moment.get("at") == "change" and self.changes == self.moment["n"]:
                strike(self.moment["signal"])

    def _note_place(self, name: str) -> None:
        self.busy.now = True
        place = os.path.realpath(name)
        compiled = "/__pycache__" in place  # kernels are kept beside their source
        if not compiled and not place.startswith((*self.allowed, "/dev/", "/proc/")):
            self.outside.add(place)
        self.busy.now = False

    def _called(self, frame: Any, event: str, argument: Any) -> Any:
        return self._line if self.watched in frame.f_code.co_filename else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            where = f"{frame.f_code.co_filename.rpartition('/polysema/')[2]}:{frame.f_lineno}"
            self.lines[where] += 1
            if where == self.moment.get("where") and self.lines[where] == self.moment["n"]:
                strike(self.moment["signal"])
        return self._line


def strike(name: str) -> None:
    """Send this process a signal; Python obeys SIGINT and SIGTERM before the next line."""
    os.kill(os.getpid(), getattr(signal, f"SIG{name}"))
