import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysema import Lexicon, load
from polysema.cli import main
from tests.processes import python


@pytest.fixture(scope="module")
def model(lexicon: Lexicon, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("cli") / "model"
    lexicon.save(path)
    return str(path)


def test_info(run, model, monkeypatch):
    monkeypatch.setenv("POLYSEMA_LEXICON", model)
    code, out, _ = run("info")
    assert code == 0
    assert "12 words, 6×3 density matrices" in out
    code, out, _ = run("info", model, "--json")
    facts = json.loads(out)
    assert (facts["words"], facts["kind"], facts["n"], facts["m"]) == (12, "matrices", 6, 3)
    assert facts["metadata"]["options"]["seed"] == 7


def test_similarity(run, model, lexicon):
    code, out, _ = run("similarity", "bank", "river", "-l", model)
    assert code == 0
    assert float(out) == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-5)
    _, out, _ = run("similarity", "bank", "(old cars)", "-l", model, "--json")
    assert json.loads(out)["value"] == pytest.approx(lexicon.similarity("bank", "(old cars)"), abs=1e-6)
    _, out, _ = run("similarity", "bank", "river", "money", "-l", model)
    assert len(out.splitlines()) == 4
    _, out, _ = run("similarity", "bank", "river", "--measure", "trace-distance", "-l", model)
    assert 0 < float(out) < 1


def test_neighbours(run, model, lexicon):
    code, out, _ = run("neighbours", "bank", "(old cars)", "--top", "3", "-l", model, "--json")
    assert code == 0
    first, second = json.loads(out)
    assert [item["word"] for item in first["neighbours"]] == [w for w, _ in lexicon.neighbours("bank", 3)]
    assert second["query"] == "(old cars)"
    _, out, _ = run("neighbours", "bank", "-l", model)
    assert out.splitlines()[0] == "bank"
    assert len(out.splitlines()) == 11


def test_senses_and_ambiguity(run, model, lexicon):
    _, out, _ = run("senses", "bank", "-l", model, "--json")
    (item,) = json.loads(out)
    assert item["entropy"] == pytest.approx(lexicon.entropy("bank"), abs=1e-5)
    assert sum(sense["weight"] for sense in item["senses"]) == pytest.approx(1, abs=0.03)
    code, out, _ = run("senses", "bank", "-l", model)
    assert (code, out.splitlines()[0][:4]) == (0, "bank")
    _, out, _ = run("ambiguity", "--top", "4", "-l", model, "--json")
    ranking = json.loads(out)
    assert len(ranking) == 4
    assert ranking[0]["entropy"] == pytest.approx(lexicon.ambiguity(top=1)[0].entropy, abs=1e-5)
    code, out, _ = run("ambiguity", "bank", "bob", "-l", model)
    assert (code, len(out.splitlines())) == (0, 3)


def test_compose(run, model, lexicon):
    code, out, _ = run("compose", "(family (run hotel))", "--method", "phaser", "-l", model)
    assert code == 0
    assert "├── family" in out
    assert "near:" in out
    _, out, _ = run("compose", "(family (run hotel))", "-l", model, "--json")
    (item,) = json.loads(out)
    phrase = lexicon.compose("(family (run hotel))")
    assert item["entropy"] == pytest.approx(phrase.entropy, abs=1e-5)
    assert [node["phrase"] for node in item["nodes"]] == ["family run hotel", "family", "run hotel", "run", "hotel"]
    assert item["tree"] == "(family (run hotel))"
    _, patterned, _ = run("compose", "family run hotel", "--pattern", "subj verb obj", "-l", model, "--json")
    same, other = ([dict(item, asked="") for item in json.loads(text)] for text in (patterned, out))
    assert same == other
    code, out, _ = run("compose", "(family (run hotel))", "--method", "tensor", "-l", model, "--json")
    assert json.loads(out)[0]["neighbours"] == []


def test_compose_a_file_in_which_a_line_fails(run, model, tmp_path):
    (tmp_path / "phrases.txt").write_text("(old cars)\n\n(old\n(bob (likes cars))\n", encoding="utf-8")
    code, out, err = run("compose", "--file", str(tmp_path / "phrases.txt"), "--brackets", "-l", model)
    assert code == 2
    assert out.count("near:") == 2
    assert "(old\n  failed: unbalanced brackets" in err
    code, out, _ = run("compose", "--file", str(tmp_path / "phrases.txt"), "--brackets", "-l", model, "--json")
    assert ["error" in item for item in json.loads(out)] == [False, True, False]


def test_entail(run, model):
    code, out, _ = run("entail", "bank", "river", "-l", model, "--json")
    assert json.loads(out)["relative_entropy"] > 0  # smoothed
    code, out, _ = run("entail", "bank", "river", "-l", model, "--json", "--smoothing", "0")
    result = json.loads(out)
    assert code == 0
    assert set(result) == {"a", "b", "smoothing", "k_hyp", "k_ba", "k_e", "relative_entropy", "reversed"}
    assert result["relative_entropy"] is None  # infinite: supports are not nested
    code, out, _ = run("entail", "bank", "river", "-l", model, "--smoothing", "0")
    assert "bank ⊑ river" in out
    assert "∞" in out


def test_convert_and_use_any_format(run, model, tmp_path, lexicon):
    for name in ("out.npz", "out.txt", "out.vec", "out.bin", "out"):
        code, _, err = run("convert", model, str(tmp_path / name))
        assert (code, "12 words" in err) == (0, True)
        code, out, _ = run("similarity", "bank", "river", "-l", str(tmp_path / name))
        assert float(out) == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-5)
    with np.load(tmp_path / "out.npz") as file:
        assert file["factors"].shape == (12, 6, 3)
        assert file["words"][0] == "bank"
    code, _, err = run("convert", model, str(tmp_path / "out"))
    assert (code, "exists already" in err) == (2, True)
    code, _, _ = run("convert", model, str(tmp_path / "out"), "--force", "--dtype", "float16")
    assert load(tmp_path / "out").factors.dtype == np.float16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbours", "bannk", "-l", "MODEL"], "polysema: error: 'bannk' is not in the lexicon; did you mean bank?"),
        (
            ["compose", "--brackets", "(a (b", "-l", "MODEL"],
            "unbalanced brackets in '(a (b': '(' at character 4 is never closed",
        ),
        (["compose", "(bob (likes cars))", "-m", "fazer", "-l", "MODEL"], "unknown composition method 'fazer'"),
        (["compose", "bob", "-p", "subject", "-l", "MODEL"], "unknown role 'subject'"),
        (["similarity", "bank", "-l", "MODEL"], "two words or phrases"),
        (["similarity", "bank", "river", "--measure", "cosine", "-l", "MODEL"], "unknown measure 'cosine'"),
        (["neighbours", "bank", "-l", "nowhere"], "nowhere: no such file or folder"),
        (["compose", "-l", "MODEL"], "nothing to compose"),
        (["compose", "It is.", "-l", "MODEL"], "It is."),
        (["neighbours", "bank", "--top", "-3", "-l", "MODEL"], "-3 is not in the range"),
        (["neighbours", "bank", "--nope", "-l", "MODEL"], "No such option"),
        (["nonsense"], "No such command 'nonsense'"),
        (["disambiguate", "bank", "-l", "MODEL"], "no sentence for 'bank'"),
        (["disambiguate", "bank", "(muddy bar)", "-l", "MODEL"], "'bank' is not in '(muddy bar)'"),
        (["evaluate", "MODEL", "--data", "/no/such"], "/no/such"),
        (["evaluate", "MODEL", "--pairs", "none.tsv"], "none.tsv"),
        (["evaluate", "MODEL", "--pairs", "pyproject.toml", "--unknown-words", "guess"], "'guess' is not one of"),
        (["convert", "MODEL", "/no/such/folder/x.npz"], "/no/such/folder is not a folder"),
        (["convert", "MODEL", "x.npz", "--dtype", "int8"], "unknown storage type 'int8'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(run, model, arguments, message):
    code, out, err = run(*[model if argument == "MODEL" else argument for argument in arguments])
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@settings(max_examples=40)
@given(
    command=st.sampled_from(["similarity", "neighbours", "senses", "ambiguity", "compose", "entail", "disambiguate"]),
    words=st.lists(
        st.text(max_size=12).filter(lambda s: not s.startswith("-")) | st.text("() ab*~&bank.\n"), max_size=3
    ),
)
def test_fuzzed_arguments_never_end_in_a_traceback(command, words, model):
    assert main([command, *words, "-l", model, "--json"]) in (0, 2)


def test_the_installed_command(model):
    """A real process: no traceback, plain text in a pipe, and quiet when the pipe closes."""
    asked = ["-m", "polysema", "ambiguity", "--top", "5", "-l"]
    done = python(*asked, model, check=True)
    assert "\x1b[" not in done.stdout
    assert len(done.stdout.splitlines()) == 6
    line = " ".join([sys.executable, *asked, model])
    assert subprocess.run(f"{line} | head -1", shell=True, capture_output=True).stderr == b""
    bad = python(*asked, "nowhere")
    assert (bad.returncode, "Traceback" in bad.stderr) == (2, False)
