from __future__ import annotations

import json

import pytest

from polysema.cli import main

TEXT = "The cat sat on the mat. The dog did not.\nA third sentence here.\n"


@pytest.fixture
def run(capsys):
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_build_info_head(run, tmp_path):
    text, folder = tmp_path / "text.txt", str(tmp_path / "corpus")
    text.write_text(TEXT)
    code, _, err = run("corpus", "build", str(text), "-o", folder)
    assert code == 0
    assert "3 sentences, 14 tokens, 12 types" in err
    words = tmp_path / "words"
    words.write_text("cat\ndog\nunicorn\n")
    code, out, _ = run("corpus", "info", folder, "--words", str(words), "--json")
    facts = json.loads(out)
    assert (facts["sentences"], facts["tokens"], facts["types"]) == (3, 14, 12)
    assert facts["most_frequent"][0] == {"word": "the", "count": 3}
    assert facts["coverage"] == {"covered": 2, "total": 3, "missing": ["unicorn"]}
    code, out, _ = run("corpus", "info", folder, "--words", str(words))
    assert "2 of 3 words" in out
    _, out, _ = run("corpus", "head", folder, "--top", "2")
    assert out == "the cat sat on the mat\nthe dog did not\n"
    code, _, err = run("corpus", "build", str(text), "-o", folder, "--min-count", "2")
    assert (code, "other text or options" in err) == (2, True)
    assert run("corpus", "build", str(text), "-o", folder, "--min-count", "2", "--keep", str(words), "--force")[0] == 0
    _, out, _ = run("corpus", "head", folder)
    assert out.splitlines()[0] == "the cat the"


def test_options_reach_the_library(run, tmp_path):
    text = tmp_path / "t"
    text.write_text("Well-known facts 2nd\nMore Text\n")
    for options, first in [
        (["--keep-case"], "Well known facts"),
        (["--hyphens", "--digits"], "well-known facts 2nd"),
        (["--raw"], "Well-known facts 2nd"),
    ]:
        folder = str(tmp_path / "-".join(options))
        assert run("corpus", "build", str(text), "-o", folder, *options)[0] == 0
        assert run("corpus", "head", folder)[1].splitlines()[0] == first


def test_notes_on_what_was_met(run, tmp_path):
    text = tmp_path / "t"
    text.write_bytes(b"caf\xe9 au lait and " + b"x" * 400 + b" end\n")
    _, _, err = run("corpus", "build", str(text), "-o", str(tmp_path / "c"))
    assert "note: 1 bytes that are no text in this encoding" in err
    assert "note: 1 runs of more than 255 bytes" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["corpus", "build", "nowhere", "-o", "x"], "nowhere: no such file or folder"),
        (["corpus", "build", "nowhere"], "Missing option '-o'"),
        (["corpus", "info", "nowhere"], "without config.json is no polysema-corpus"),
        (["corpus", "head", "nowhere"], "without config.json"),
    ],
)
def test_bad_input(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
