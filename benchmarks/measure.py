"""What the benchmarks share: timed runs in processes of their own, taken in turns, with medians and spreads."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any


@dataclass
class Timing:
    """What a run in a process of its own printed as JSON, for each repeat."""

    runs: list[dict[str, Any]]

    def median(self, key: str) -> float:
        """The median of one figure."""
        return statistics.median(run[key] for run in self.runs)

    def spread(self, key: str) -> str:
        """The least and the largest of one figure."""
        values = [run[key] for run in self.runs]
        return f"{min(values):.3g}–{max(values):.3g}"


def in_turns(tasks: Mapping[str, tuple[str, int]], repeats: int, arguments: Mapping[str, Any]) -> dict[str, Timing]:
    """Run each task ``repeats`` times, one after the other in each round, so that noise falls on all alike.

    Args:
        tasks: a name to a Python source that prints JSON, and the number of cores it may use. The source finds the
            arguments in ``arguments``.
    """
    timings: dict[str, Timing] = {name: Timing([]) for name in tasks}
    cores = sorted(os.sched_getaffinity(0))
    for _ in range(repeats):
        for name, (source, count) in tasks.items():
            if count > len(cores):
                continue
            code = f"import json\narguments = json.loads({json.dumps(json.dumps(dict(arguments)))})\n{source}"
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                preexec_fn=_pinned(cores[:count]),
                env={**os.environ, "OMP_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": str(count)},
            )
            if done.returncode:
                raise SystemExit(f"{name} failed:\n{done.stderr}")
            timings[name].runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return timings


def _pinned(cores: list[int]) -> Callable[[], None]:
    def pin() -> None:
        os.sched_setaffinity(0, cores)

    return pin


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def machine(*packages: str) -> str:
    """What this was measured on."""
    names = ", ".join(f"{name} {version(name)}" for name in ("polysema", *packages))
    return f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}, Python {platform.python_version()}, {names}"
