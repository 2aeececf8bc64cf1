import subprocess
import sys
import time
from signal import SIGINT, SIGTERM

import pytest

from tests.cli import hears_ctrl_c

TEXT = "The cat sat on the mat. The dog did not.\nA third sentence here.\n"


def test_build_info_head(run, ask, tmp_path):
    text, folder = tmp_path / "text.txt", str(tmp_path / "corpus")
    text.write_text(TEXT)
    code, _, err = run("corpus", "build", str(text), "-o", folder)
    assert (code, "3 sentences, 14 tokens, 12 types" in err) == (0, True)
    built = ask("corpus", "build", str(text), "-o", folder, "--json", "--workers", "100000")
    assert (built["corpus"], built["tokens"], built["read"]["bytes"]) == (folder, 14, len(TEXT))
    assert ask("corpus", "head", folder, "-n", "1", "--json") == [["the", "cat", "sat", "on", "the", "mat"]]
    assert "an encoded corpus already" in run("corpus", "build", folder, "-o", str(tmp_path / "again"))[2]
    words = tmp_path / "words"
    words.write_text("cat\ndog\nunicorn\n")
    facts = ask("corpus", "info", folder, "--words", str(words), "--json")
    assert (facts["sentences"], facts["tokens"], facts["types"]) == (3, 14, 12)
    assert facts["most_frequent"][0] == {"word": "the", "count": 3}
    assert facts["coverage"] == {"covered": 2, "total": 3, "missing": ["unicorn"]}
    assert "2 of 3 words" in ask("corpus", "info", folder, "--words", str(words))
    assert ask("corpus", "head", folder, "--top", "2") == "the cat sat on the mat\nthe dog did not\n"
    again = ("corpus", "build", str(text), "-o", folder, "--min-count", "2")
    assert "other text or options" in run(*again)[2]
    ask(*again, "--keep", str(words), "--force")
    assert ask("corpus", "head", folder).splitlines()[0] == "the cat the"


@pytest.mark.parametrize("signal", [SIGINT, SIGTERM])
def test_stopping_the_command_leaves_nothing(signal, tmp_path):
    """A real process that is stopped while it waits for more text."""
    command = [sys.executable, "-m", "polysema", "corpus", "build", "-", "-o", str(tmp_path / "corpus")]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, preexec_fn=hears_ctrl_c, **pipes) as process:
        process.stdin.write(TEXT.encode() * 1000)
        process.stdin.flush()
        started = time.monotonic()
        while not list(tmp_path.iterdir()) and time.monotonic() - started < 60:
            time.sleep(0.05)
        process.send_signal(signal)
        assert process.wait(120) == 130
        assert process.stderr.read().strip() == b"polysema: error: stopped"
    assert list(tmp_path.iterdir()) == []


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
        (["corpus", "info", "nowhere"], "nowhere: no such folder, where a polysema-corpus is expected"),
        (["corpus", "head", "text"], "text: a file, where a polysema-corpus is expected"),
        (["corpus", "head", "."], "a folder without config.json, where a polysema-corpus is expected"),
        (["corpus", "build", "", "-o", "x"], "an empty name is no text"),
        (["corpus", "build", "text", "-o", "x", "--encoding", "utf-16"], "text: cannot be read as utf-16"),
        (["corpus", "build", "text", "-o", "x", "--encoding", "hex"], "unknown encoding 'hex'"),
        (["corpus", "build", "text", "-o", "x", "--encoding", "no such"], "unknown encoding 'no such'"),
        (["corpus", "build", "text", "-o", "x", "--keep", "nowhere"], "nowhere: not a readable list of words: No such"),
        (["corpus", "build", "empty", "-o", "x"], "no sentence of 2 words or more in 0 bytes of text"),
        (["corpus", "build", "text", "-o", "/proc/x"], "/proc/x: cannot be written: No such file or directory"),
    ],
)
def test_bad_input(refuses, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text(TEXT)
    (tmp_path / "empty").write_text("")
    refuses(arguments, message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "text"]
