"""The kinds of tries in one table; how they are drawn from a seed, run and repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.campaign import commands, damage, degenerate, disks, gpu, signals, training
from tests.campaign.world import Sandbox

KINDS = {
    "commands": commands,
    "damage": damage,
    "degenerate": degenerate,
    "signals": signals,
    "disks": disks,
    "training": training,
    "gpu": gpu,
}
"""Each has ``draw``, which makes a table of a try from random numbers, and ``attempt``, which runs it."""


@dataclass(frozen=True)
class Find:
    """A try that failed, and how to make it again."""

    kind: str
    table: dict[str, Any]
    faults: list[str]

    def as_json(self) -> str:
        return json.dumps({"kind": self.kind, **self.table, "faults": self.faults})

    def __str__(self) -> str:
        again = json.dumps({"kind": self.kind, **self.table}).replace("'", "'\\''")
        listed = "".join(f"\n  {fault}" for fault in self.faults[:4])
        return f"{self.kind}:{listed}\n  python -m tests.campaign --replay '{again}'"


def attempt(sandbox: Sandbox, kind: str, seed: int, number: int) -> Find | None:
    """One try of a kind: what it found. The n-th of a seed is always the same."""
    module: Any = KINDS[kind]
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    table = json.loads(json.dumps(module.draw(rng, sandbox)))
    faults = module.attempt(sandbox, **table)
    return Find(kind, table, faults) if faults else None


def replay(sandbox: Sandbox, table: dict[str, Any]) -> list[str]:
    """Run a try again."""
    table = {key: value for key, value in table.items() if key not in ("faults", "name")}
    module: Any = KINDS[table.pop("kind")]
    found: list[str] = module.attempt(sandbox, **table)
    return found


def saved() -> list[dict[str, Any]]:
    """The finds that were kept."""
    path = Path(__file__).parent / "cases" / "found.json"
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found
