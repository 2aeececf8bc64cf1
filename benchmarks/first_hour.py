"""The first hour: how long the first commands take on a machine that has compiled nothing, and how large an install is.

    python benchmarks/first_hour.py TEXT AFTER
    python benchmarks/first_hour.py TEXT AFTER --before BEFORE --repeat 3
    python benchmarks/first_hour.py TEXT AFTER --before BEFORE --sizes

BEFORE and AFTER are checkouts. Each command runs with an empty cache of compiled code, then again with what the first
run left there. Checkouts take turns. Wall-clock time and processor time (of the command and its children) are printed,
medians with the range; on a busy machine only the second can be compared. ``--sizes`` installs each checkout, with
and without the parts that it can leave out, into an empty folder, and adds up the files.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from statistics import median

COMMANDS = {
    "corpus build": ["corpus", "build", "{text}", "-o", "{out}/corpus"],
    "train": ["train", "{text}", "-o", "{out}/lexicon"],
}


def timed(checkout: Path, line: list[str], cache: Path) -> tuple[float, float]:
    """Wall-clock and processor seconds of one command."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": str(cache)}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "polysema", *line]
    subprocess.run(command, env=environment, check=True, capture_output=True, cwd=cache.parent)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_and_later(checkout: Path, name: str, text: Path) -> dict[str, tuple[float, float]]:
    """A command with nothing compiled, and once more."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for which in ("first", "later"):
            out = Path(folder) / which
            out.mkdir()
            line = [part.format(text=text, out=out) for part in COMMANDS[name]]
            found[which] = timed(checkout, line, Path(folder) / "compiled")
    return found


def megabytes(checkout: Path, extra: str) -> float:
    """Of everything that an install brings."""
    with tempfile.TemporaryDirectory() as folder:
        what = f"{checkout}{extra}"
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", folder, what]
        subprocess.run(command, check=True, capture_output=True)
        shutil.rmtree(Path(folder) / "bin", ignore_errors=True)
        return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--sizes", action="store_true")
    chosen = parser.parse_args()
    text = chosen.text.resolve()
    checkouts = {"before": chosen.before, "after": chosen.after}
    checkouts = {name: path.resolve() for name, path in checkouts.items() if path is not None}
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for _ in range(chosen.repeat):
        for name in COMMANDS:
            for checkout, path in checkouts.items():
                for which, seconds in first_and_later(path, name, text).items():
                    found.setdefault((name, which, checkout), []).append(seconds)
    print(f"{text.stat().st_size / 1e6:.1f} MB of text, {chosen.repeat} times, load {os.getloadavg()[0]:.1f}\n")
    print("| command | run | checkout | seconds | processor seconds |\n|---|---|---|---|---|")
    for (name, which, checkout), times in sorted(found.items()):
        ranges = [f"{median(part):.1f} ({min(part):.1f}–{max(part):.1f})" for part in zip(*times, strict=True)]
        print(f"| {name} | {which} | {checkout} | {ranges[0]} | {ranges[1]} |")
    if chosen.sizes:
        print("\n| checkout | install | MB |\n|---|---|---|")
        for checkout, path in checkouts.items():
            extras = tomllib.loads((path / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            for extra in ("", "[train]") if "train" in extras else ("",):
                print(f"| {checkout} | polysema{extra} | {megabytes(path, extra):.0f} |", flush=True)


if __name__ == "__main__":
    main()
