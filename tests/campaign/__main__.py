"""Run the campaign for as long as you like: ``python -m tests.campaign --seed 7 --minutes 60 --table``.

Several workers share the tries, each in a sandbox of its own: ``--workers 16 --tries commands=6000 --tries damage=3500``.
``--results FILE`` keeps what was tried: the same call goes on where the last one was stopped, and the table is of all.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.campaign.campaign import KINDS, replay, saved
from tests.campaign.cases import CASES, Skipped, run_case
from tests.campaign.results import Results
from tests.campaign.workers import Tried, begin, some, tasks_of
from tests.campaign.world import Sandbox, parts_here, quick_place


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=2.0, help="at most, for all kinds together")
    parser.add_argument(
        "--tries", action="append", metavar="KIND=N", help="so many tries of a kind, again for more; N alone: of each"
    )
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind, again for more")
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only this case, again for more; all: every case"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that share the tries")
    parser.add_argument("--replay", metavar="JSON", help="make a find again")
    parser.add_argument("--table", action="store_true", help="print tries and faults of each kind")
    parser.add_argument("--no-encoder", action="store_true", help="leave out what needs torch")
    parser.add_argument("--gpu", action="store_true", help="there is a GPU: trainings on it may be tried")
    parser.add_argument("--folder", type=Path, help="keep inputs here for the next part, of the same commit")
    parser.add_argument(
        "--results", type=Path, help="keep tries and finds in this file, and leave out what it has of this seed"
    )
    options = parser.parse_args()
    parts = [part for part in parts_here() if part != "encoder" or not options.no_encoder] + ["gpu"] * options.gpu
    with TemporaryDirectory(prefix="campaign-", dir=quick_place()) as top:
        sandbox = Sandbox(options.folder or Path(top), parts)
        try:
            return _run(sandbox, options)
        finally:
            sandbox.close()


def _run(sandbox: Sandbox, options: argparse.Namespace) -> int:
    if options.replay:
        faults = replay(sandbox, json.loads(options.replay))
        print("\n".join(faults) or "no fault")
        return bool(faults)
    failed = 0
    wanted = _wanted(options.tries, options.kind)
    if options.case or not (options.kind or wanted):
        names = list(CASES) if not options.case or "all" in options.case else options.case
        for name in names:
            try:
                failed += _say(f"{name:<6} {CASES[name].what}", run_case(sandbox, name))
            except Skipped as reason:
                print(f"skipped {name:<6} {reason}", flush=True)
        if options.case:
            return bool(failed)
        for find in saved():
            failed += _say(json.dumps(find), replay(sandbox, find))
    kinds = options.kind or list(wanted) or [kind for kind in KINDS if kind != "gpu" or options.gpu]
    return bool(failed) | _random(sandbox, options, kinds, wanted)


def _wanted(given: list[str] | None, kinds: list[str] | None) -> dict[str, int]:
    """How many tries of which kind are asked for."""
    found = {}
    for item in given or ():
        kind, _, number = item.rpartition("=")
        found |= {name: int(number) for name in ([kind] if kind else kinds or KINDS)}
    return found


def _random(sandbox: Sandbox, options: argparse.Namespace, kinds: list[str], wanted: dict[str, int]) -> bool:
    """Tries of every kind, shared among the workers, until all are done or the time is up."""
    started = time.monotonic()
    until = started + 60 * options.minutes
    results = Results(options.results)
    tasks = tasks_of(kinds, wanted, results.done(options.seed))
    pool = ProcessPoolExecutor(options.workers, get_context("spawn"), begin, (sandbox.home, sandbox.parts, True))
    pending: set[Future[Tried]] = set()
    failed = False
    with suppress(KeyboardInterrupt):  # what was done until then is shown
        while True:
            if time.monotonic() < until:
                for kind, numbers in islice(tasks, options.workers + 2 - len(pending)):
                    pending.add(pool.submit(some, kind, options.seed, numbers, until))
            if not pending:
                break
            ended, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ended:
                tried = future.result()
                results.add(options.seed, tried)
                for found in tried.finds:
                    failed = True
                    print(found, flush=True)
    pool.shutdown(cancel_futures=True)
    if options.table:
        print(f"\n{(time.monotonic() - started) / 60:.1f} minutes, {options.workers} workers\n\n{results.table(kinds)}")
    return failed


def _say(what: str, faults: list[str]) -> bool:
    print(f"{'FAILS ' if faults else 'passes'}  {what}" + "".join(f"\n          {f}" for f in faults[:3]), flush=True)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
