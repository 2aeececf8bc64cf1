"""Run the campaign for as long as you like: ``python -m tests.campaign --seed 7 --minutes 60 --table``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.campaign.campaign import KINDS, Find, replay, saved, tries
from tests.campaign.cases import CASES, Skipped, run_case
from tests.campaign.world import Sandbox


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=2.0, help="for all kinds together")
    parser.add_argument("--tries", type=int, help="of each kind, instead of minutes")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind, again for more")
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only this case, again for more; all: every case"
    )
    parser.add_argument("--replay", metavar="JSON", help="make a find again")
    parser.add_argument("--table", action="store_true", help="print tries and faults of each kind")
    parser.add_argument("--no-encoder", action="store_true", help="leave out what needs torch")
    parser.add_argument("--finds", type=Path, help="append finds to this file, a line of JSON each")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="campaign-") as top:
        sandbox = Sandbox(Path(top), encoder=not options.no_encoder)
        try:
            return _run(sandbox, options)
        finally:
            sandbox.close()


def _run(sandbox: Sandbox, options: argparse.Namespace) -> int:
    if options.replay:
        faults = replay(sandbox, json.loads(options.replay))
        print("\n".join(faults) or "no fault")
        return bool(faults)
    started = time.monotonic()
    failed = 0
    if options.case or not options.kind:
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
    kinds = options.kind or list(KINDS)
    done: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    until = time.monotonic() + 60 * options.minutes
    with suppress(KeyboardInterrupt):  # what was done until then is shown
        for kind in kinds:
            share = (until - time.monotonic()) / (len(kinds) - kinds.index(kind))
            end = time.monotonic() + share
            for number, found in tries(sandbox, kind, options.seed):
                done[kind] += 1
                if isinstance(found, Find):
                    bad[kind] += 1
                    print(found, flush=True)
                    if options.finds:
                        with options.finds.open("a") as file:
                            file.write(found.as_json() + "\n")
                if (options.tries and number + 1 >= options.tries) or (not options.tries and time.monotonic() > end):
                    break
    if options.table:
        print(
            f"\nseed {options.seed}, {(time.monotonic() - started) / 60:.1f} minutes\n\n| kind | tries | with a fault |\n|---|---|---|"
        )
        for kind in kinds:
            print(f"| {kind} | {done[kind]} | {bad[kind]} |")
    return bool(failed or sum(bad.values()))


def _say(what: str, faults: list[str]) -> bool:
    print(f"{'FAILS ' if faults else 'passes'}  {what}" + "".join(f"\n          {f}" for f in faults[:3]), flush=True)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
