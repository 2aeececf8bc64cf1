"""What counts as a fault."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.campaign.world import OWN, Outcome, Sandbox, snapshot

_WORDS = ("Traceback (most recent call last)", "fault of polysema", "Exception ignored", "Segmentation fault")
_NETWORK = ("fetch", "evaluate", "reproduce", "explore")
"""Commands that may ask the network for an evaluation set, and one that listens on this machine (here it never gets to);
an encoder by name is asked of the hub."""


def behaviour(outcome: Outcome, codes: Iterable[int] = (0, 2)) -> list[str]:
    """Faults that can be seen from outside: how it ended, what it said, how long and how large it grew."""
    faults = []
    if outcome.ended_for == "time":
        faults.append("it hung")
    elif outcome.ended_for == "memory":
        faults.append(f"it took more than {outcome.peak >> 20} MiB")
    elif outcome.code not in codes:
        faults.append(f"exit code {outcome.code}")
    faults += [f"it printed {word!r}: {_last(outcome.err)}" for word in _WORDS if word in outcome.err + outcome.out][:1]
    told = outcome.err.strip() or ({"--json", "--jsonl"} & set(outcome.argv) and '"error": "' in outcome.out)
    if outcome.code == 2 and not outcome.ended_for and not told:
        faults.append("exit code 2 without a word")
    longest = max(map(len, outcome.err.splitlines()), default=0)  # of many inputs each may have its line
    if longest > 4000 and outcome.code == 2:
        faults.append(f"an error of {longest} characters")
    faults += [f"it wrote to {place}" for place in outcome.notes.get("outside", [])]
    network = outcome.notes.get("network", [])
    if network and not any(word in outcome.argv for word in (*_NETWORK, "--encoder")):
        faults.append(f"it asked the network: {network[0]}")
    return faults


def _last(text: str) -> str:
    return " | ".join(line for line in text.strip().splitlines()[-12:] if line.strip())[-900:]


def traces(
    sandbox: Sandbox,
    before: dict[str, str],
    outputs: Iterable[str],
    finished: bool,
    forced: bool,
    kept: Iterable[str] = (),
) -> list[str]:
    """Faults that can be seen on disk.

    Args:
        before: the sandbox as it was.
        outputs: names that the command was told to write.
        finished: whether it ended well; if not, nothing may be new.
        forced: whether it may replace what polysema wrote.
        kept: names that may be left by a command that did not finish, for the next one to go on from.
    """
    after = snapshot(sandbox.place)  # torch leaves a folder of its own among temporary files
    may_be_new = tuple(outputs) if finished else tuple(kept)
    faults = []
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        top = name.rstrip("/").split("/")[0]
        if was == now or (was is None and _below(name, may_be_new)):
            continue
        if was is None:
            faults.append(f"left over: {name}")
        elif not (forced and finished and top in OWN and _below(name, tuple(outputs))):
            faults.append(f"{'deleted' if now is None else 'changed'}: {name}")
    left = [path.name for path in (sandbox.top / "sandbox" / "tmp").iterdir()]
    return faults + [
        f"left over among temporary files: {name}" for name in left if not name.startswith("torchinductor")
    ]


def _below(name: str, tops: tuple[str, ...]) -> bool:
    return any(Path(name.rstrip("/")).is_relative_to(top) or Path(top).is_relative_to(name.rstrip("/")) for top in tops)
