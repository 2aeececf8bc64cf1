"""What the machine offers."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores this process may use; where the system does not tell (macOS, Windows), those there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
