"""What people expect of a command: lines of JSON in and out, --quiet, completion, hints that fit."""

import io
import json
import sys

import click
import pytest

from polysema.cli import polysema
from polysema.cli.training import _next
from polysema.errors import install_command


@pytest.fixture
def typed(monkeypatch):
    """Give a command its standard input."""

    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return give


def test_lines_of_json_in_and_out(run, planted_model, typed):
    def answers(text: str, *command: str, code: int = 0) -> list[dict]:
        typed(text)
        found, out, _ = run(*command, "--file", "-", "--jsonl", "-l", planted_model)
        assert found == code
        return [json.loads(line) for line in out.splitlines()]

    first, second = answers('{"text": "(muddy bank)", "id": 7}\n\n(central bank)\n', "compose")
    assert (first["id"], first["phrase"], second["phrase"]) == (7, "muddy bank", "central bank")
    text = '{"word": "bank", "text": "(muddy bank)", "id": "a"}\n{"word": "nothing", "text": "(muddy bank)"}\n'
    first, second = answers(text, "disambiguate", "-", code=2)
    assert (first["id"], first["word"]) == ("a", "bank")
    assert first["senses"][0]["probability"] > 0.9
    assert "is not in" in second["error"]
    assert len(answers("(muddy bank)\n" * 300, "compose", "--top", "0")) == 300  # more than are asked together
    found = answers('{"text": "muddy bank", "id": 1}\ncentral bank\n', "read", "--no-parser")
    assert [(item.get("id"), len(item["words"])) for item in found] == [(1, 1), (None, 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": ', "line 1: not JSON"),
        ('{"body": "x"}', 'line 1: no text in {"body": "x"}: give one of text, sentence'),
        ('{"text": "the bank"}', "no word to ask about in"),
    ],
)
def test_bad_lines_are_named(refuses, planted_model, typed, line, message):
    typed(line + "\n")
    refuses(["disambiguate", "-", "--file", "-", "--jsonl", "-l", planted_model], message)


def test_quiet_leaves_results_and_errors(run, planted_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cat sat on the mat\n" * 60, encoding="utf-8")
    assert run("convert", planted_model, "loud.npz")[2].startswith("loud.npz:")
    assert run("convert", planted_model, "out.npz", "--quiet") == (0, "", "")
    assert run("-q", "convert", planted_model, "other.npz") == (0, "", "")
    code, _, err = run("corpus", "build", "text.txt", "-o", "text.corpus", "-q")
    assert (code, err) == (0, "")
    assert "no such file" in run("convert", "nothing", "x.npz", "--quiet")[2]


def test_shared_options_stand_before_or_after_a_command(run):
    after = run("neighbours", "bank", "-n", "2", "--json")
    assert after[0] == 0
    assert run("--json", "-n", "2", "neighbours", "bank") == after
    assert run("--json", "-n", "5", "neighbours", "bank", "-n", "2") == after
    code, _, err = run("--jsonl", "neighbours", "bank")
    assert (code, "neighbours has no option --jsonl" in err) == (2, True)


def test_the_command_line_stays_small():
    def options(command):
        own = getattr(command, "own_params", lambda: command.params)()
        return sum(isinstance(each, click.Option) for each in own) + sum(
            map(options, getattr(command, "commands", {}).values())
        )

    assert len(polysema.commands) <= 24
    assert options(polysema) <= 170


def test_evaluate_says_at_once_what_is_missing(run, tmp_path, monkeypatch):
    for name in ("POLYSEMA_DATA", "POLYSEMA_SHARED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("polysema.evaluation.datasets.cache_directory", lambda: tmp_path / "cache")
    monkeypatch.setitem(sys.modules, "pooch", None)
    code, _, err = run("evaluate", "--set", "MEN", "--data", str(tmp_path))
    assert code == 2
    assert "1 of 1 evaluation sets are not here" in err
    assert f"{install_command('data')}; or name a folder" in err


def test_the_demo_names_the_part_that_is_missing(run, monkeypatch):
    spacy = pytest.importorskip("spacy", reason="the extra parse is not installed")
    from polysema.parsing.sentences import parser

    parser.cache_clear()
    monkeypatch.setattr(spacy.util, "get_installed_models", lambda: [])
    _, out, _ = run("demo")
    parser.cache_clear()
    assert "plain sentences        python -m spacy download en_core_web_sm" in out


def test_hints_fit_the_model(lexicon, vectors):
    assert _next(lexicon, "my model")[0] == "polysema senses river -l 'my model'"
    assert "senses" not in "".join(_next(vectors, "model"))
