"""The first hour: how long the first commands take on a machine that has compiled nothing.

    python benchmarks/first_hour.py TEXT [--repeat 3]

Each command runs with an empty cache of compiled code, then again with what the first run left there. Wall-clock time
and processor time (of the command and its children) are printed, medians with the range; on a busy machine only the
second can be compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from measure import machine, options, seconds, table

COMMANDS = {
    "corpus build": ["corpus", "build", "{text}", "-o", "{out}/corpus"],
    "train": ["train", "{text}", "-o", "{out}/lexicon"],
}


def run(line: list[str], cache: Path) -> None:
    """Run one command with a cache of compiled code."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "polysema", *line]
    subprocess.run(command, env=environment, check=True, capture_output=True, cwd=cache.parent)


def first_and_later(name: str, text: Path) -> dict[str, tuple[float, float]]:
    """A command with nothing compiled, and once more."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for which in ("first", "later"):
            out = Path(folder) / which
            out.mkdir()
            line = [part.format(text=text, out=out) for part in COMMANDS[name]]
            found[which] = seconds(run, line, Path(folder) / "compiled")
    return found


def main() -> None:
    """Measure and print."""
    args = options(__doc__, "text", repeat=1)
    text = Path(args.text).resolve()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(args.repeat):
        for name in COMMANDS:
            for which, taken in first_and_later(name, text).items():
                found.setdefault((name, which), []).append(taken)
    print(f"{text.stat().st_size / 1e6:.1f} MB of text, {machine()}, load {os.getloadavg()[0]:.1f}\n")
    rows = [
        [*key, *(f"{median(part):.1f} ({min(part):.1f}–{max(part):.1f})" for part in zip(*times, strict=True))]
        for key, times in sorted(found.items())
    ]
    print(table(["command", "run", "seconds", "processor seconds"], rows))


if __name__ == "__main__":
    main()
