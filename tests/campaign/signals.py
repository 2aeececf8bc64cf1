"""A signal at some moment of a long command; then the same command again, which must come to the same result.

A moment is before the n-th change to the file system, at the n-th passage of one of polysema's lines, or by the clock.
A GPU adds in an order of its own, so there the same result is the same files, words and epochs, and a loss close by.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.campaign.checks import behaviour
from tests.campaign.world import Outcome, Sandbox, snapshot

REAL = 0.05
"""The share of signals that strike a process of its own, not a fork."""
SMALL = ("--dim", "4", "--epochs", "2", "--min-count", "1", "--threads", "2", "--checkpoint-minutes", "0")


@dataclass(frozen=True)
class Job:
    """A long command.

    Attributes:
        argv: the command line.
        output: the name it writes.
        inputs: what it needs of the world.
        old: what lies under the output's name before, to be replaced.
        stdin: a file of the world for its standard input.
        needs: the part of the world that it cannot do without, of ``world.PARTS``.
        rare: it starts processes of its own, which takes seconds: one in twenty of the others' tries.
    """

    argv: tuple[str, ...]
    output: str
    inputs: tuple[str, ...]
    old: str = ""
    stdin: str = ""
    needs: str = ""
    rare: bool = False

    @property
    def exact(self) -> bool:
        return self.needs != "gpu"


def _train(*options: str, source: str = "corpus", **more: Any) -> Job:
    inputs = (source, *more.pop("inputs", ()))
    return Job(("train", source, "-o", "out", *SMALL, *options), "out", inputs, **more)


JOBS: dict[str, Job] = {
    "ms-word2dm": _train("--senses", "2", "--held-out", "0.1"),
    "ms-word2dm from text": _train("--senses", "2", source="text.txt.gz"),
    "ms-word2dm by adam": _train("--senses", "2", "--optimiser", "adam", "--form", "pair", "--held-out", "0.2"),
    "ms-word2dm over an old one": _train("--senses", "2", "--force", old="old"),
    "ms-word2dm on from another": _train("--senses", "2", "--start", "lexicon", inputs=("lexicon",)),
    "word2dm": _train("--model", "word2dm", "--held-out", "0.1"),
    "word2vec": _train("--model", "word2vec", "--held-out", "0.1"),
    "word2vec cbow": _train("--model", "word2vec", "--form", "cbow"),
    "glove": Job(
        ("train", "corpus", "-o", "out", "--model", "glove", "--dim", "4", "--epochs", "3", "--min-count", "1"),
        "out", ("corpus",),
    ),
    "context2dm": Job(
        ("train", "corpus", "-o", "out", "--model", "context2dm", "--dim", "4", "--senses", "2", "--min-count", "1",
         "--checkpoint-minutes", "0", "--threads", "1"),
        "out", ("corpus",), needs="cluster",
    ),
    "context2dm in two processes": Job(
        ("train", "corpus", "-o", "out", "--model", "context2dm", "--dim", "4", "--senses", "2", "--min-count", "1",
         "--checkpoint-minutes", "0", "--threads", "2"),
        "out", ("corpus",), needs="cluster", rare=True,
    ),
    "context2dm on given vectors": Job(
        ("train", "text.txt", "-o", "out", "--model", "context2dm", "--vectors", "vectors", "--senses", "2",
         "--min-count", "1", "--checkpoint-minutes", "0", "--threads", "1"),
        "out", ("text.txt", "vectors"), needs="cluster",
    ),
    "bert2dm": Job(
        ("train", "corpus", "-o", "out", "--model", "bert2dm", "--encoder", "encoder", "--dim", "4", "--min-count", "1",
         "--checkpoint-minutes", "0", "--cluster", "--threads", "1"),
        "out", ("corpus", "encoder"), needs="encoder",
    ),
    "bert2dm from text": Job(
        ("train", "text.txt", "-o", "out", "--model", "bert2dm", "--encoder", "encoder", "--dim", "4", "--min-count",
         "1", "--checkpoint-minutes", "0", "--threads", "1"),
        "out", ("text.txt", "encoder"), needs="encoder",
    ),
    "slots": Job(
        ("train", "one.parsed", "two.parsed", "-o", "out", "--model", "slots", "--dim", "3", "--min-count", "2"),
        "out", ("one.parsed", "two.parsed"),
    ),
    "slots from text": Job(
        ("train", "english.txt", "-o", "out", "--model", "slots", "--dim", "3", "--min-count", "1", "--threads", "1"),
        "out", ("english.txt",), needs="parser",
    ),
    "corpus parse": Job(
        ("corpus", "parse", "english.txt", "-o", "out", "--workers", "1"), "out", ("english.txt",), needs="parser"
    ),
    "corpus parse in two processes": Job(
        ("corpus", "parse", "english.txt", "-o", "out", "--workers", "2"), "out", ("english.txt",), needs="parser", rare=True
    ),
    "corpus merge": Job(
        ("corpus", "merge", "one.parsed", "two.parsed", "-o", "out"), "out", ("one.parsed", "two.parsed")
    ),
    "ms-word2dm on a GPU": _train("--senses", "2", "--held-out", "0.1", "--device", "cuda", needs="gpu"),
    "word2dm on a GPU": _train("--model", "word2dm", "--held-out", "0.1", "--device", "cuda", needs="gpu"),
    "word2vec on a GPU": _train("--model", "word2vec", "--held-out", "0.1", "--device", "cuda", source="text.txt", needs="gpu"),
    "cbow by adam on a GPU": _train(
        "--model", "word2vec", "--form", "cbow", "--optimiser", "adam", "--held-out", "0.1", "--device", "cuda", needs="gpu"
    ),
    "corpus build": Job(("corpus", "build", "text.txt.xz", "-o", "out", "--workers", "2"), "out", ("text.txt.xz",)),
    "corpus build over an old one": Job(
        ("corpus", "build", "text.txt", "-o", "out", "--force"), "out", ("text.txt",), old="old.corpus"
    ),
    "convert": Job(("convert", "lexicon.txt", "out"), "out", ("lexicon.txt",)),
    "convert over an old folder": Job(("convert", "lexicon", "out", "--force"), "out", ("lexicon",), old="old"),
    "convert over an old file": Job(("convert", "lexicon", "out.npz", "--force"), "out.npz", ("lexicon",), old="old.npz"),
    "convert to text": Job(("convert", "lexicon", "out.txt"), "out.txt", ("lexicon",)),
    "ensemble": Job(("ensemble", "out", "lexicon", "lexicon2"), "out", ("lexicon", "lexicon2")),
    "evaluate --report": Job(
        ("evaluate", "lexicon", "--pairs", "pairs.tsv", "--bootstraps", "10", "--noise-draws", "2", "--report", "out"),
        "out", ("lexicon", "pairs.tsv"), needs="plots",
    ),
    "draw": Job(("draw", "matrix", "bal", "-l", "lexicon", "-o", "out.png"), "out.png", ("lexicon",), needs="plots"),
}  # fmt: skip


@dataclass
class Undisturbed:
    """A run that no signal strikes: what it makes, and where a signal could strike."""

    result: dict[str, str]
    changes: int
    lines: dict[str, int]
    seconds: float
    curve: list[Any]


_known: dict[tuple[Path, str], Undisturbed] = {}


def undisturbed(sandbox: Sandbox, name: str) -> Undisturbed:
    """The result of a job, once for all of its moments and all workers of a campaign."""
    key = (sandbox.world, name)
    if key not in _known:
        path = sandbox.home / "undisturbed" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        with open(path, "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if not (text := file.read()):
                text = json.dumps(asdict(_measured(sandbox, name)))
                file.write(text)
        _known[key] = Undisturbed(**json.loads(text))
    return _known[key]


def _measured(sandbox: Sandbox, name: str) -> Undisturbed:
    _prepare(sandbox, JOBS[name])
    done = _run(sandbox, JOBS[name], moment={"at": "count"}, timeout=300)
    if done.code != 0:
        raise RuntimeError(f"{name} does not run undisturbed: {done.err}")
    known = Undisturbed(
        snapshot(sandbox.place, timeless=True), done.notes["changes"], done.notes["lines"], done.seconds,
        _curve(sandbox, JOBS[name]),
    )  # fmt: skip
    if sandbox.thorough:  # once more without counting, which takes longer
        _prepare(sandbox, JOBS[name])
        known.seconds = _run(sandbox, JOBS[name]).seconds
    return known


def _curve(sandbox: Sandbox, job: Job) -> list[Any]:
    """The epochs of the lexicon that a job made, with their held-out loss."""
    path = sandbox.place / job.output / "config.json"
    if job.exact or not path.is_file():
        return []
    rows = json.loads(path.read_text())["metadata"]["curve"]
    return [[row["epoch"], row["held_out_loss"]] for row in rows]


def _prepare(sandbox: Sandbox, job: Job, place: Path | None = None) -> None:
    sandbox.fresh((*job.inputs, job.stdin), place)
    if job.old:
        sandbox.put(sandbox.world / job.old, job.output)


def _run(sandbox: Sandbox, job: Job, *more: str, **request: Any) -> Outcome:
    if job.stdin:
        request["stdin"] = str(sandbox.place / job.stdin)
    if job.needs == "gpu":
        request["memory"] = 16 << 30  # the driver's share
    return sandbox.run(*job.argv, *more, **request)


def here(sandbox: Sandbox) -> list[str]:
    """The jobs that can be run without a GPU."""
    return [name for name, job in JOBS.items() if not job.needs or (job.needs in sandbox.parts and job.exact)]


def draw(rng: np.random.Generator, sandbox: Sandbox, jobs: Callable[[Sandbox], list[str]] = here) -> dict[str, Any]:
    names = jobs(sandbox)
    often = np.array([0.05 if JOBS[name].rare else 1.0 for name in names])
    name = names[rng.choice(len(names), p=often / often.sum())]
    known = undisturbed(sandbox, name)
    signal = str(rng.choice(["KILL", "INT", "TERM"]))
    kind = rng.random()
    if kind < 0.3:
        moment: dict[str, Any] = {"at": "change", "n": int(rng.integers(1, known.changes + 1))}
    elif kind < 0.75:
        where = sorted(known.lines)[rng.integers(len(known.lines))]
        moment = {"at": "line", "where": where, "n": int(rng.integers(1, known.lines[where] + 1))}
    else:
        moment = {"at": "seconds", "s": round(float(rng.random() * known.seconds), 4)}
    if rng.random() < REAL:  # from its first import on, so by the clock
        return {
            "job": name,
            "moment": {"at": "seconds", "s": round(float(rng.random() * 3), 4), "signal": signal},
            "real": True,
        }
    return {"job": name, "moment": {**moment, "signal": signal}}


def attempt(sandbox: Sandbox, job: str, moment: dict[str, Any], real: bool = False) -> list[str]:
    """Strike, look at what is left, run again, compare."""
    what = JOBS[job]
    known = undisturbed(sandbox, job)
    expected = known.result
    _prepare(sandbox, what)
    before = snapshot(sandbox.place)
    old = _part(snapshot(sandbox.place, timeless=True), what.output)
    struck = _run(sandbox, what, moment=moment, timeout=60 + 10 * known.seconds, exec=real)
    if real and struck.err.startswith("'import "):  # Python's own start, which says so and goes on
        struck = replace(struck, err=struck.err.partition("KeyboardInterrupt\n")[2])
    codes = (0, -9) if moment["signal"] == "KILL" else (0, 130)
    after = snapshot(sandbox.place)
    early = moment["at"] == "seconds" or moment.get("where", "").startswith("__main__.py")
    if early and after == before and "/polysema/" not in struck.err and struck.code in (-15, -2, 1):
        return []  # before polysema has a handler
    faults = behaviour(struck, codes)
    faults += [
        f"{'changed' if name in after else 'deleted'}: {name}"
        for name, digest in before.items()
        if after.get(name) != digest and not _part({name: digest}, what.output)
    ]
    left = _part(snapshot(sandbox.place, timeless=True), what.output)
    new = _part(expected, what.output)
    if old and what.exact and left not in (old, new):
        faults.append(f"{what.output} is {'neither the old one nor the new one' if left else 'gone'} after the signal")
    if faults:
        return faults
    return _again(sandbox, what, expected) or _another_curve(sandbox, what, known.curve)


def _again(sandbox: Sandbox, job: Job, expected: dict[str, str]) -> list[str]:
    """The same command to its end; where it had come to its end already, once more by force."""
    again = _run(sandbox, job)
    if again.code == 2 and "exist" in again.err and "--force" not in job.argv:
        found = snapshot(sandbox.place, timeless=True)
        if differences(_part(expected, job.output), _part(found, job.output), job.exact):
            return [f"a part of {job.output} was left: {again.err.strip()}"]
        if not differences(expected, found, job.exact):
            return []
        again = _run(sandbox, job, "--force")
    faults = [f"run again: {fault}" for fault in behaviour(again, (0,))]
    if faults and again.code == 2:
        faults.append(again.err.strip()[-300:])
    return faults or differences(expected, snapshot(sandbox.place, timeless=True), job.exact)


def _another_curve(sandbox: Sandbox, job: Job, expected: list[Any]) -> list[str]:
    """Faults of a curve that need not be the same to the last digit."""
    found = _curve(sandbox, job)
    same = [row[0] for row in found] == [row[0] for row in expected]
    if same and all(abs(a - b) <= 0.05 * abs(b) for (_, a), (_, b) in zip(found, expected, strict=True)):
        return []
    return [f"another curve: {found} and not {expected}"]


def differences(expected: dict[str, str], found: dict[str, str], exact: bool = True) -> list[str]:
    """How a result differs from that of an undisturbed run."""
    if not exact:
        numbers = ("lexicon.safetensors", "config.json")
        expected, found = ({k: "" if k.endswith(numbers) else v for k, v in t.items()} for t in (expected, found))
    faults = [f"left over: {name}" for name in sorted(found.keys() - expected.keys())]
    faults += [f"missing: {name}" for name in sorted(expected.keys() - found.keys())]
    return faults + [
        f"not the same bits: {name}" for name in expected if name in found and found[name] != expected[name]
    ]


def _part(found: dict[str, str], top: str) -> dict[str, str]:
    return {name: digest for name, digest in found.items() if name.rstrip("/").split("/")[0] == top}
