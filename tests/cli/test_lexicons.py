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


def test_info(ask, model, monkeypatch):
    monkeypatch.setenv("POLYSEMA_LEXICON", model)
    assert "12 words, 6×3 density matrices" in ask("info")
    facts = ask("info", model, "--json")
    assert (facts["words"], facts["kind"], facts["n"], facts["m"]) == (12, "matrices", 6, 3)
    assert facts["metadata"]["options"]["seed"] == 7


def test_similarity(ask, model, lexicon):
    found = float(ask("similarity", "bank", "river", "-l", model))
    assert found == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-5)
    found = ask("similarity", "bank", "(old cars)", "-l", model, "--json")["value"]
    assert found == pytest.approx(lexicon.similarity("bank", "(old cars)"), abs=1e-6)
    assert len(ask("similarity", "bank", "river", "money", "-l", model).splitlines()) == 4
    assert 0 < float(ask("similarity", "bank", "river", "--measure", "trace-distance", "-l", model)) < 1


def test_neighbours(ask, model, lexicon):
    first, second = ask("neighbours", "bank", "(old cars)", "--top", "3", "-l", model, "--json")
    assert [item["word"] for item in first["neighbours"]] == [w for w, _ in lexicon.neighbours("bank", 3)]
    assert second["query"] == "(old cars)"
    lines = ask("neighbours", "bank", "-l", model).splitlines()
    assert (lines[0], len(lines)) == ("bank", 11)


def test_senses_and_ambiguity(ask, model, lexicon):
    (item,) = ask("senses", "bank", "-l", model, "--json")
    assert item["entropy"] == pytest.approx(lexicon.entropy("bank"), abs=1e-5)
    assert sum(sense["weight"] for sense in item["senses"]) == pytest.approx(1, abs=0.03)
    assert ask("senses", "bank", "-l", model).startswith("bank")
    ranking = ask("ambiguity", "--top", "4", "-l", model, "--json")
    assert len(ranking) == 4
    assert ranking[0]["entropy"] == pytest.approx(lexicon.ambiguity(top=1)[0].entropy, abs=1e-5)
    assert len(ask("ambiguity", "bank", "bob", "-l", model).splitlines()) == 3


def test_compose(ask, model, lexicon):
    printed = ask("compose", "(family (run hotel))", "--method", "phaser", "-l", model)
    assert "├── family" in printed
    assert "near:" in printed
    (item,) = ask("compose", "(family (run hotel))", "-l", model, "--json")
    assert item["entropy"] == pytest.approx(lexicon.compose("(family (run hotel))").entropy, abs=1e-5)
    assert [node["phrase"] for node in item["nodes"]] == ["family run hotel", "family", "run hotel", "run", "hotel"]
    assert item["tree"] == "(family (run hotel))"
    (patterned,) = ask("compose", "family run hotel", "--pattern", "subj verb obj", "-l", model, "--json")
    assert {**patterned, "asked": ""} == {**item, "asked": ""}
    (tensor,) = ask("compose", "(family (run hotel))", "--method", "tensor", "-l", model, "--json")
    assert tensor["neighbours"] == []


def test_a_file_in_which_a_line_fails(run, model, tmp_path):
    (tmp_path / "phrases.txt").write_text("(old bank)\n\n(old\n(bank (likes cars))\n", encoding="utf-8")
    for command, shown in ((["compose"], "near:"), (["disambiguate", "bank"], "entropy ")):
        asked = [*command, "--file", str(tmp_path / "phrases.txt"), "--brackets", "-l", model]
        code, out, err = run(*asked)
        assert (code, out.count(shown)) == (2, 2)
        assert "failed: unbalanced brackets" in err
        assert ["error" in item for item in json.loads(run(*asked, "--json")[1])] == [False, True, False]


def test_entail(ask, model):
    asked = ("entail", "bank", "river", "-l", model)
    assert ask(*asked, "--json")["relative_entropy"] > 0  # smoothed
    result = ask(*asked, "--json", "--smoothing", "0")
    assert set(result) == {"a", "b", "smoothing", "k_hyp", "k_ba", "k_e", "relative_entropy", "reversed"}
    assert result["relative_entropy"] is None  # infinite: supports are not nested
    printed = ask(*asked, "--smoothing", "0")
    assert "bank ⊑ river" in printed
    assert "∞" in printed


def test_convert_and_use_any_format(run, ask, model, tmp_path, lexicon):
    for name in ("out.npz", "out.txt", "out.vec", "out.bin", "out"):
        assert "12 words" in run("convert", model, str(tmp_path / name))[2]
        found = float(ask("similarity", "bank", "river", "-l", str(tmp_path / name)))
        assert found == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-5)
    with np.load(tmp_path / "out.npz") as file:
        assert file["factors"].shape == (12, 6, 3)
        assert file["words"][0] == "bank"
    assert "exists already" in run("convert", model, str(tmp_path / "out"))[2]
    ask("convert", model, str(tmp_path / "out"), "--force", "--dtype", "float16")
    assert load(tmp_path / "out").factors.dtype == np.float16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbours", "bannk", "-l", "MODEL"], "polysema: error: 'bannk' is not in the lexicon; did you mean bank?"),
        (["compose", "--brackets", "(a (b", "-l", "MODEL"], "in '(a (b': '(' at character 4 is never closed"),
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
        (["disambiguate", "bank", "the (1975) & its bank", "--brackets", "-l", "MODEL"], "in '"),
        (["read", "-l", "MODEL"], "nothing to read"),
        (["disambiguate", "bank", "(muddy bar)", "-l", "MODEL"], "'bank' is not in '(muddy bar)'"),
        (["evaluate", "MODEL", "--data", "/no/such"], "/no/such"),
        (["evaluate", "MODEL", "--pairs", "none.tsv"], "none.tsv"),
        (["convert", "MODEL", "/no/such/folder/x.npz"], "/no/such/folder is not a folder"),
        (["convert", "MODEL", "x.npz", "--dtype", "int8"], "unknown storage type 'int8'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(refuses, model, arguments, message):
    refuses([model if argument == "MODEL" else argument for argument in arguments], message)


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
