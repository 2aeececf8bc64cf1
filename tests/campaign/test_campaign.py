"""The campaign in the suite: every case, every saved find, and some tries of every kind from one seed."""

from __future__ import annotations

import sys

import pytest

from tests.campaign.campaign import attempt, replay, saved
from tests.campaign.cases import CASES, Skipped, run_case
from tests.campaign.world import Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the campaign watches processes through /proc")

SEED = 14
TRIES = {"commands": 25, "damage": 40, "degenerate": 8, "signals": 4, "disks": 4, "training": 3}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    sandbox = Sandbox(tmp_path_factory.mktemp("campaign") / "campaign-top", ("plots", "cluster"), thorough=False)
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize("name", CASES)
def test_case(sandbox, name):
    try:
        assert run_case(sandbox, name) == []
    except Skipped as reason:
        pytest.skip(str(reason))


def test_saved_finds(sandbox):
    assert [(find, faults) for find in saved() if (faults := replay(sandbox, find))] == []


@pytest.mark.parametrize("kind", TRIES)
def test_tries(sandbox, kind):
    finds = [found for number in range(TRIES[kind]) if (found := attempt(sandbox, kind, SEED, number))]
    assert not finds, "\n".join(map(str, finds))
