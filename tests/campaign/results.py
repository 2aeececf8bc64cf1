"""What a campaign has tried so far, in a file that the next part of it goes on with."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.campaign.workers import Tried


class Results:
    """Tries and finds, a line of JSON for each batch: commit, kind, seed, numbers, finds, seconds.

    Args:
        path: where they are kept; None: nowhere.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.batches: list[dict[str, Any]] = [json.loads(line) for line in lines]
        command = ["git", "rev-parse", "--short=7", "HEAD"]
        self.commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def done(self, seed: int) -> set[tuple[str, int]]:
        """The tries of a seed that this commit has behind it: kind and number."""
        mine = [batch for batch in self.batches if batch["seed"] == seed and batch["commit"] == self.commit]
        return {(batch["kind"], number) for batch in mine for number in batch["numbers"]}

    def add(self, seed: int, tried: Tried) -> None:
        finds = [json.loads(find.as_json()) for find in tried.finds]
        batch = {
            "commit": self.commit, "kind": tried.kind, "seed": seed, "numbers": tried.numbers,
            "seconds": round(tried.seconds, 1), "finds": finds,
        }  # fmt: skip
        self.batches.append(batch)
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps(batch) + "\n")

    def table(self, kinds: list[str]) -> str:
        """A row for each commit and kind."""
        groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for batch in self.batches:
            groups[batch["commit"], batch["kind"]].append(batch)
        rows = [
            "| commit | kind | tries | with a fault | seeds | minutes of all workers |",
            "|---|---|---|---|---|---|",
        ]
        for (commit, kind), batches in groups.items():
            if kind in kinds:
                tries, finds = (sum(len(batch[key]) for batch in batches) for key in ("numbers", "finds"))
                seeds = ", ".join(map(str, sorted({batch["seed"] for batch in batches})))
                minutes = sum(batch["seconds"] for batch in batches) / 60
                rows.append(f"| {commit} | {kind} | {tries} | {finds} | {seeds} | {minutes:.1f} |")
        return "\n".join(rows)
