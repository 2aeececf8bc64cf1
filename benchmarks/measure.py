"""What the benchmarks share: runs in processes of their own, taken in turns; seconds; AUC; tables; the homographs."""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.evaluation.statistics import ranks

HOMOGRAPHS = Path(__file__).with_name("homographs.tsv")
"""40 words with two meanings, two sentences a meaning."""

EVERYDAY = Path(__file__).with_name("everyday.tsv")
"""A hundred sentences, and the sense keys that a person would accept for a word of each."""


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
    for _ in range(repeats):
        for name, (source, count) in tasks.items():
            if count > len(cores()):
                continue
            printed = run_alone(name, source, count, json.dumps(dict(arguments)))
            timings[name].runs.append(json.loads(printed.strip().splitlines()[-1]))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return timings


def run_alone(name: str, source: str, count: int, arguments: str) -> str:
    """Run a source in a process of its own, on so many cores; what it printed."""
    chosen = cores()[:count]
    pinned = (lambda: os.sched_setaffinity(0, chosen)) if hasattr(os, "sched_setaffinity") else None
    done = subprocess.run(
        [sys.executable, "-c", f"import json\narguments = json.loads({arguments!r})\n{source}"],
        capture_output=True,
        text=True,
        preexec_fn=pinned,
        env={**os.environ, "OMP_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": str(count)},
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    return done.stdout


def seconds(work: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Seconds of the clock, and of the processor with the processes that ended meanwhile."""

    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    clock, processor = time.perf_counter(), spent()
    work(*arguments)
    return time.perf_counter() - clock, spent() - processor


def options(doc: str | None, *names: str, **defaults: Any) -> argparse.Namespace:
    """The command line of a benchmark, which its docstring explains.

    Args:
        names: positional arguments, in brackets where they may be missing.
        defaults: of the options. A default gives the type; False is a flag, a list takes several values, and a type
            stands for an option that is None where it is not given.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in names:
        parser.add_argument(name.strip("[]"), nargs="?" if name.startswith("[") else None)
    for name, default in defaults.items():
        flag, kind = f"--{name.replace('_', '-')}", default if isinstance(default, type) else type(default)
        if default is False:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, list):
            parser.add_argument(flag, type=type(default[0]), nargs="*", default=default)
        else:
            parser.add_argument(flag, type=kind, default=None if kind is default else default)
    return parser.parse_args()


def auc(values: NDArray[Any], positive: NDArray[np.bool_]) -> float:
    """How often a positive has the larger value; equal values count half, and NaN is the answer without pairs."""
    yes, no = int(positive.sum()), int((~positive).sum())
    if not yes * no:
        return float("nan")
    return float((ranks(values)[positive].sum() - yes * (yes + 1) / 2) / (yes * no))


def homographs() -> list[dict[str, str]]:
    """Rows with ``word``, ``meaning`` and ``sentence``."""
    return _rows(HOMOGRAPHS)


def everyday() -> list[dict[str, str]]:
    """Rows with ``word``, ``sentence`` and ``keys``."""
    return _rows(EVERYDAY)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def ranged(values: Iterable[float], digits: int = 1) -> str:
    """The median of some figures, with the least and the largest."""
    every = sorted(values)
    return f"{every[len(every) // 2]:.{digits}f} ({every[0]:.{digits}f}–{every[-1]:.{digits}f})"


def cores() -> list[int]:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def machine(*packages: str) -> str:
    """What this was measured on."""
    names = ", ".join(f"{name} {version(name)}" for name in ("polysema", *packages))
    return f"{len(cores())} cores, {platform.machine()}, Python {platform.python_version()}, {names}"
