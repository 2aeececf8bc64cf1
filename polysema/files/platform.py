"""What differs between operating systems, each with a way to do without."""

from __future__ import annotations

import os


def processors() -> int:
    """How many processors this process may use; where the system does not say (macOS, Windows), how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
