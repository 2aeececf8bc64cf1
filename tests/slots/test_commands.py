import json
from pathlib import Path

import pytest

from polysema.cli import main
from tests.slots.planted import planted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slots")
    for seed in range(2):
        planted(seed, 2000).save(folder / f"{seed}.parsed")
    options = ["--model", "slots", "--dim", "6", "--min-count", "5", "-o", str(folder / "slots")]
    assert main(["train", str(folder / "0.parsed"), str(folder / "1.parsed"), *options]) == 0
    return folder


def test_parsed_texts_add_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [str(folder / f"{seed}.parsed") for seed in range(2)]
    assert main(["corpus", "merge", *both, "-o", str(folder / "both.parsed"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seen"] == 12_000


def test_compose_and_plausibility(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lexicon = ["-l", str(folder / "slots")]
    assert main(["compose", "(owner (run hotel))", "-m", "slots", *lexicon]) == 0
    assert "owner run hotel" in capsys.readouterr().out
    assert main(["compose", "(owner (manage hotel))", "(owner (manage mile))", "hotel", "--json", *lexicon]) == 0
    good, bad, unknown = (item["plausibility"] for item in json.loads(capsys.readouterr().out))
    assert good > bad + 0.5
    assert unknown is None


def test_evaluate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        ("owner", "hotel", "manage", 7), ("owner", "hotel", "sprint", 1), ("family", "shop", "operate", 6),
        ("family", "shop", "finish", 2), ("girl", "race", "sprint", 7), ("girl", "race", "manage", 1),
    ]  # fmt: skip
    own = folder / "own.tsv"
    own.write_text("".join(f"{s} run {o}\t{s} {v} {o}\t{n}\n" for s, o, v, n in rows))
    for method in ("slots", "slots+plausibility"):
        asked = ["evaluate", str(folder / "slots"), "--phrases", "subj verb obj", str(own), "--method", method]
        assert main([*asked, "--json"]) == 0
        assert f'"{method}"' in (text := capsys.readouterr().out)
        assert json.loads(text)
