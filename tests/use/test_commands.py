from __future__ import annotations

import json

import pytest

from polysema.cli import main
from polysema.use import tag as tag_module
from tests.senses import five_words
from tests.use.test_tag import here  # noqa: F401

OLD = [
    "He sat on the bank.",
    "The river bank ran.",
    "A bank, sloping land.",
    "The dog sat on the bank.",
    "On the bank!",
]
NEW = [
    "The bank holds money.",
    "The bank saw the money.",
    "Money bank.",
    "A dog saw the bank.",
    "He banked on the bank.",
]


@pytest.fixture
def folder(tmp_path, monkeypatch, here):  # noqa: F811
    five_words.dictionary().save(tmp_path / "five")
    monkeypatch.setenv("POLYSEMA_LEXICON", str(tmp_path / "five"))
    monkeypatch.chdir(tmp_path)
    for year, texts in ((1830, OLD), (1930, NEW)):
        (tmp_path / str(year)).mkdir()
        for i, text in enumerate(texts):
            (tmp_path / str(year) / f"{year}-{i}.txt").write_text(text)
    return tmp_path


def printed(capsys, *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line.removeprefix("polysema: error: ")


def test_from_text_to_answers(folder, capsys):
    facts = json.loads(printed(capsys, "tag", "1830", "1930", "-o", "both", "--json"))
    assert (facts["documents"], facts["words"]) == (10, 15)
    shown = printed(capsys, "frequencies", "both", "bank", "--by", "year")
    assert "bank 1830: 5 uses in 5 documents" in shown
    rows = json.loads(printed(capsys, "frequencies", "both", "--least", "2", "--json"))
    assert {row["word"] for row in rows} >= {"bank", "dog"}
    assert "[bank]" in printed(capsys, "concordance", "bank", "both", "-n", "3")
    lines = json.loads(
        printed(capsys, "concordance", "bank", "1830", "1930", "--like", "sloping land", "-n", "0", "--json")
    )
    assert lines["groups"][0]["uses"] == len(lines["groups"][0]["lines"])
    rows = json.loads(printed(capsys, "change", "1830", "1930", "bank", "--json"))
    assert (rows[0]["word"], rows[0]["periods"]) == ("bank", ["1830", "1930"])
    assert isinstance(rows[0]["change"], float)
    assert "weights moved" in printed(capsys, "change", "both", "--by", "year", "bank")
    assert json.loads(printed(capsys, "change", "both", "--by", "year", "--json"))[0]["word"] == "bank"


def test_files(folder, capsys):
    assert main(["concordance", "bank", "1830", "-o", "bank.csv"]) == 0
    assert (folder / "bank.csv").read_text().startswith("left,form,right")
    assert main(["concordance", "bank", "1830", "-o", "bank.csv", "--force"]) == 0
    assert main(["concordance", "bank", "1830", "-o", "bank.html"]) == 0
    assert "<script" not in (folder / "bank.html").read_text()
    pytest.importorskip("matplotlib")
    assert main(["change", "1830", "1930", "bank", "--plot", "bank.png"]) == 0
    assert main(["frequencies", "1830", "bank", "--plot", "bank.svg"]) == 0
    assert (folder / "bank.png").read_bytes()[:4] == b"\x89PNG"


def test_what_is_refused_in_a_line(folder, capsys):
    (folder / "notes.csv").write_text("mine")
    assert main(["tag", "1830", "-o", "old"]) == 0
    (folder / "undated.txt").write_text("The bank. The bank. The bank.")
    (folder / "empty.txt").write_text("Nothing.")
    for arguments, message in (
        (
            ["frequencies", "undated.txt", "bank", "--by", "year"],
            "1 of 1 documents have no date (undated.txt): give each",
        ),
        (["change", "1830", "empty.txt", "bank"], "'bank' has too few uses to compare (5 in 1830, 0 in empty)"),
        (["change", "1830", "missing", "bank"], "missing: no such file or folder"),
        (["change", "1830", "1930"], "tag the text first"),
        (["frequencies", "1830", "bnak"], "'bnak' is not in the lexicon; did you mean bank?"),
        (["concordance", "bank", "empty.txt"], "'bank' is not used in the text"),
        (["concordance", "bank", "1830", "-o", "bank.doc"], "ends in .csv or .html"),
        (["concordance", "bank", "1830", "-o", "notes.csv", "--force"], "not a concordance that polysema wrote"),
        (["tag", "old", "-o", "again"], "old is tagged already"),
        (["tag", "1830", "-o", "1930", "--force"], "is not overwritten"),
        (["change", "old", "1930", "bank", "--plot", "x.gif"], "no picture ends in '.gif'"),
    ):
        assert message in refused(capsys, *arguments), arguments
    config = (folder / "old" / "config.json").read_text()
    (folder / "old" / "config.json").write_text(config.replace('"dictionary": "', '"dictionary": "0'))
    assert "was tagged with the dictionary 0" in refused(capsys, "frequencies", "old", "bank")
    (folder / "old" / "config.json").write_text("{")
    assert "config.json" in refused(capsys, "frequencies", "old", "bank")
    assert tag_module.BLOCK > 1
