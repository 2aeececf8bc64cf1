"""Serving in public: limits by client, a bound on memory, metrics, and a log for machines."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter, OrderedDict, defaultdict
from ipaddress import ip_address
from pathlib import Path
from typing import Any

RATE, BURST = 5.0, 80.0
"""Answers a second that a client may ask for in the long run, and at once."""

CLIENTS = 20_000
"""Clients remembered at most; the longest unheard is forgotten first."""

MOST_MEMORY = 4 * 1024**3
"""Bytes of the process beyond which no page is computed."""


class Allowance:
    """A bucket of answers for each client: it fills by ``rate`` a second up to ``burst``."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, cost: float = 1.0) -> float:
        """Take so many answers; the seconds to wait where there are not enough, else 0."""
        now = time.monotonic()
        left, seen = self._left.pop(client, (self.burst, now))
        left = min(self.burst, left + self.rate * (now - seen))
        enough = left >= min(cost, self.burst)
        self._left[client] = (left - cost if enough else left, now)
        if len(self._left) > CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if enough else (min(cost, self.burst) - left) / self.rate


class Metrics:
    """Counts of answers by page and status, and the time they took, in Prometheus' text format."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, page: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[f'polysema_answers_total{{page="{page}",status="{status}"}}'] += 1
        self.seconds[f'polysema_seconds_total{{page="{page}"}}'] += seconds

    def text(self, running: int) -> str:
        """All metrics; ``running`` questions are being computed or wait."""
        counted = {**self.answers, **self.seconds}
        gauges = {"polysema_running": running, "process_resident_memory_bytes": resident()}
        return "".join(f"{name} {value:.12g}\n" for name, value in {**dict(sorted(counted.items())), **gauges}.items())


def resident() -> int:
    """Bytes that the process holds in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0


def client_of(scope: Any) -> str:
    """The address of a client: the last one that a proxy on a private network names, else that of the connection."""
    peer = (scope.get("client") or ("", 0))[0]
    named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    try:
        if named and ip_address(peer).is_private:
            return str(ip_address(named[-1].rpartition(",")[2].strip()))
    except ValueError:
        pass
    return peer


class JsonLines(logging.Formatter):
    """A line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts = {"time": round(record.created, 3), "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps({**facts, **getattr(record, "facts", {})}, ensure_ascii=False)
