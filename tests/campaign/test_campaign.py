"""The campaign in the suite: every case, every saved find, and some tries of every kind from one seed.

Two processes share the work, each with a sandbox of its own; a test waits for its part and looks at what came of it.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.campaign.campaign import saved
from tests.campaign.cases import CASES
from tests.campaign.workers import begin, one
from tests.campaign.world import Sandbox, parts_here, quick_place

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the campaign watches processes through /proc")

SEED = 14
TRIES = {"commands": 20, "damage": 30, "degenerate": 6, "signals": 3, "disks": 3, "training": 3}
TASKS = {
    **{name: ("case", name, 0, 0) for name in CASES},
    **{f"find {number}": ("find", "", 0, number) for number in range(len(saved()))},
    **{f"{kind} {number}": (kind, "", SEED, number) for kind, count in TRIES.items() for number in range(count)},
}


@pytest.fixture(scope="module")
def results(request):
    """What comes of every task that is asked for, by its name."""
    parts = frozenset({"plots", "cluster", "parser"} & {*parts_here()})
    asked = [item.callspec.params["name"] for item in request.session.items if item.fspath == request.fspath]
    with TemporaryDirectory(prefix="campaign-", dir=quick_place()) as top:
        first = Sandbox(Path(top), parts)
        pool = ProcessPoolExecutor(2, get_context("spawn"), begin, (Path(top), parts, False))
        yield {name: pool.submit(one, TASKS[name]) for name in asked}
        pool.shutdown(cancel_futures=True)
        first.close()


@pytest.mark.parametrize("name", TASKS)
def test_task(results, name):
    faults = results[name].result()
    if isinstance(faults, str):
        pytest.skip(faults)
    assert faults == []
