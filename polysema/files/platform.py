"""What differs between operating systems, each with a way to do without."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path


def processors() -> int:
    """How many processors this process may use; where the system does not say (macOS, Windows), how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def forget_peak() -> None:
    """Let :func:`peak_memory` begin anew, where the system can: else it is the peak since the process began."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int | None:
    """The most bytes of memory that this process has had, mapped files among them; None where nobody says."""
    with suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text()):
            return int(found[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
