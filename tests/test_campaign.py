"""The campaign of ``tools/campaign.py``: a few tries of each kind find nothing, and planted faults are found."""

import time
from pathlib import Path

import pytest

from polysema.cli import polysema
from tools import campaign

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
FIXTURES = f"""
corpus build text.txt -o corpus
train corpus -o lexicon {campaign.TINY} --senses 2
convert lexicon lexicon.npz
convert lexicon lexicon.txt
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    top = tmp_path_factory.mktemp("campaign")
    campaign.make_inputs(top / "inputs", FIXTURES)
    return campaign.Sandbox(top / "inputs", top / "worker")


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("commands", {"argv": ["info", "lexicon"], "outputs": []}),
        ("commands", {"argv": ["convert", "lexicon", "new.txt"], "outputs": ["new.txt"]}),
        (
            "damage",
            {"file": "lexicon.npz", "damage": "truncated", "seed": 1, "commands": ["info {}", "senses bal -l {}"]},
        ),
        ("strikes", {"job": "convert lexicon.txt out", "strike": {"at": "change", "share": 0.5, "signal": "KILL"}}),
        ("disks", {"how": "small files", "job": "convert lexicon.txt out", "share": 0.1}),
    ],
)
def test_a_try_without_faults(sandbox, kind, table):
    assert campaign.TRY[kind](sandbox, **table) == []


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        (lambda **_: 1 / 0, "fault of polysema"),
        (lambda **_: Path("notes.txt").unlink(), "deleted: notes.txt"),
        (lambda **_: Path("rubbish").touch(), "left over: rubbish"),
        (lambda **_: time.sleep(100), "it hung"),
        (lambda **_: bytearray(b"x" * 200_000_000) and time.sleep(5), "it took more than"),
    ],
)
def test_a_planted_fault_is_found(sandbox, monkeypatch, planted, fault):
    monkeypatch.setattr(campaign, "SECONDS", 1)
    monkeypatch.setattr(campaign, "MEMORY", 100_000_000)
    monkeypatch.setattr(polysema.commands["info"], "callback", planted)
    assert fault in " ".join(campaign.try_commands(sandbox, ["info", "lexicon"], []))


def test_a_try_is_drawn_from_the_seed(sandbox, monkeypatch):
    monkeypatch.setattr(campaign, "_sandbox", sandbox, raising=False)
    for kind in campaign.KINDS:
        assert [campaign.draw(kind, 3, n) for n in range(20)] == [campaign.draw(kind, 3, n) for n in range(20)]
