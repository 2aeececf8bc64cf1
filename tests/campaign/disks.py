"""Full disks, read-only disks, and two commands that write to one name at the same time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.campaign.checks import behaviour
from tests.campaign.signals import JOBS, _again, _part, _prepare, _run, here, undisturbed
from tests.campaign.world import Sandbox, snapshot

RACES = ("ms-word2dm", "ms-word2dm from text", "word2vec", "context2dm", "corpus build", "convert", "ensemble", "ms-word2dm over an old one",
         "corpus build over an old one", "convert over an old folder")  # fmt: skip


def draw(rng: np.random.Generator, sandbox: Sandbox) -> dict[str, Any]:
    names = [name for name in here(sandbox) if JOBS[name].needs not in ("encoder", "parser")]
    how = str(rng.choice(["full", "full", "full", "small files", "read-only", "race"]))
    names = [name for name in RACES if name in names] if how == "race" else names
    name = names[rng.integers(len(names))]
    return {"how": how, "job": name, "share": round(float(rng.random()), 4)}


def attempt(sandbox: Sandbox, how: str, job: str, share: float) -> list[str]:
    if how == "race":
        return _race(sandbox, job, share)
    if how == "small files" or not can_mount():
        return _small_files(sandbox, job, share)
    return _full(sandbox, job, share) if how == "full" else _read_only(sandbox, job)


def can_mount() -> bool:
    """Whether a small disk can be made here."""
    return os.geteuid() == 0 and shutil.which("mount") is not None


@contextmanager
def small_disk(sandbox: Sandbox) -> Iterator[Path]:
    place = sandbox.top / "disk"
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def _full(sandbox: Sandbox, name: str, share: float) -> list[str]:
    """A disk with room for a share of what the command writes; with all the room it wants, it goes on to its end."""
    job, expected = JOBS[name], undisturbed(sandbox, name).result
    with small_disk(sandbox) as disk:
        sandbox.fresh((), None)
        _prepare(sandbox, job, disk / "here")
        needed = 2 * sum(path.stat().st_size for path in sandbox.world.rglob("*") if path.is_file())
        free = shutil.disk_usage(disk).free
        room = int(share * min(needed, free)) if share > 0.2 else int(share * 40_000)
        (disk / "ballast").write_bytes(bytes(free - room))
        faults = _refused(sandbox, job)
        (disk / "ballast").unlink()
        if not faults:
            faults = _again(sandbox, job, expected)
        sandbox.fresh(())
    return faults


def _small_files(sandbox: Sandbox, name: str, share: float) -> list[str]:
    """No file may be larger than so many bytes: every write fails somewhere."""
    job, expected = JOBS[name], undisturbed(sandbox, name).result
    _prepare(sandbox, job)
    faults = _refused(sandbox, job, largest_file=1000 + int(share**3 * 20_000))
    return faults or _again(sandbox, job, expected)


def _read_only(sandbox: Sandbox, name: str) -> list[str]:
    job, expected = JOBS[name], undisturbed(sandbox, name).result
    with small_disk(sandbox) as disk:
        sandbox.fresh((), None)
        _prepare(sandbox, job, disk / "here")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        faults = _refused(sandbox, job)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        if not faults:
            faults = _again(sandbox, job, expected)
        sandbox.fresh(())
    return faults


def _refused(sandbox: Sandbox, job: Any, **request: Any) -> list[str]:
    """Run a command where it cannot write: one line that names a file, inputs and old output as they were."""
    before = snapshot(sandbox.place)
    old = _part(before, job.output)
    outcome = _run(sandbox, job, **request)
    faults = behaviour(outcome)
    if outcome.code == 2 and not any(name in outcome.err for name in (job.output, job.output.split(".")[0])):
        faults.append(f"the error does not name the file: {outcome.err.strip()[-200:]}")
    after = snapshot(sandbox.place)
    if outcome.code == 2 and _part(after, job.output) != old:
        faults.append(f"{job.output} is not as it was")
    for item, digest in before.items():
        if item.split("/")[0] != job.output and after.get(item) != digest:
            faults.append(f"changed: {item}")
    if outcome.code == 2:
        new = {item.split("/")[0] for item in after.keys() - before.keys()}
        faults += [f"left over: {item}" for item in sorted(new) if item != f"{job.output}.training"]
    return faults


def _race(sandbox: Sandbox, name: str, share: float) -> list[str]:
    """The same command twice at once: one may be told to wait its turn, the result is that of one."""
    job, known = JOBS[name], undisturbed(sandbox, name)
    _prepare(sandbox, job)
    both = sandbox.run_together([{"argv": list(job.argv)}, {"argv": list(job.argv), "after": share * known.seconds}])
    faults = [fault for outcome in both for fault in behaviour(outcome)]
    if not any(outcome.code == 0 for outcome in both):
        faults.append("neither of two came to its end")
    for outcome in both:
        if outcome.code == 2 and "No such file" in outcome.err:
            faults.append(f"unclear: {outcome.err.strip()[-200:]}")
    found = snapshot(sandbox.place, timeless=True)
    faults += [f"left over: {item}" for item in sorted(found.keys() - known.result.keys())]
    faults += [f"not the same bits: {item}" for item, digest in known.result.items() if found.get(item) != digest]
    return faults
