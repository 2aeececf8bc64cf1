import json

import numpy as np

from polysema import Lexicon


def test_disambiguate(run, planted_model):
    code, out, _ = run("disambiguate", "bank", "(muddy bank)", "(central bank)", "-l", planted_model)
    assert code == 0
    assert out.count("entropy 0.") == 2
    code, out, _ = run("disambiguate", "bank", "(central bank)", "-l", planted_model, "--json")
    (item,) = json.loads(out)
    assert item["senses"][0]["probability"] > 0.9
    assert item["senses"][0]["neighbours"][0]["word"] in ("money", "loan", "raised", "rates", "central")
    assert item["entropy_after"] < item["entropy_before"]
    assert item["tree"] == "(central bank)"


def test_disambiguate_goes_on_after_a_failure(run, planted_model, tmp_path):
    (tmp_path / "lines.txt").write_text("(muddy bank)\n(muddy\n", encoding="utf-8")
    asked = ("disambiguate", "bank", "--file", str(tmp_path / "lines.txt"), "--brackets", "-l", planted_model)
    code, out, err = run(*asked)
    assert (code, out.count("entropy")) == (2, 1)
    assert "failed: unbalanced brackets" in err
    code, out, _ = run(*asked, "--json")
    told, failed = json.loads(out)
    assert "error" not in told
    assert set(failed) == {"word", "context", "error"}


def test_text_is_text_and_brackets_are_brackets(run, planted_model):
    passage = 'the Central Committee (1975) & its "muddy" bank'
    code, out, _ = run("disambiguate", "bank", passage, "-l", planted_model, "--json")
    (item,) = json.loads(out)
    assert (code, item["span"], item["form"]) == (0, [passage.index("bank"), len(passage)], "bank")
    code, out, _ = run("disambiguate", "bank", "(muddy bank)", "--text", "--no-parser", "-l", planted_model, "--json")
    (item,) = json.loads(out)
    assert (item["tree"], item["no_tree"]) == (None, "no parser was asked for")
    code, _, err = run("disambiguate", "bank", passage, "--brackets", "-l", planted_model)
    assert code == 2
    assert "in '" in err


def test_every_occurrence(run, planted_model):
    text = "The muddy bank flooded. The central bank raised rates."
    asked = ("disambiguate", "bank", text, "--no-parser", "-l", planted_model)
    code, out, _ = run(*asked)
    assert code == 0
    assert "at 10–14 (1 of 2)" in out
    assert "--every answers all occurrences" in out
    code, out, _ = run(*asked, "--every", "--json")
    assert [(item["span"], item["occurrence"]) for item in json.loads(out)] == [([10, 14], 0), ([36, 40], 1)]


def test_read(run, planted_model):
    text = "The muddy bank flooded the legal bar."
    code, out, _ = run("read", text, "--no-parser", "-l", planted_model, "--json")
    (item,) = json.loads(out)
    assert item["text"] == text
    assert [(word["form"], word["span"]) for word in item["words"]] == [("bank", [10, 14]), ("bar", [33, 36])]
    code, out, _ = run("read", text, "-l", planted_model)
    assert code == 0
    assert "10–14" in out
    code, _, err = run("read", "-l", planted_model)
    assert code == 2
    assert "nothing to read" in err


def test_demo(run, tmp_path, lexicon):
    """The demo runs on any lexicon; it shows those of its words that are there."""
    lexicon.save(tmp_path / "small")
    code, out, _ = run("demo", "-l", str(tmp_path / "small"))
    assert (code, "What to type next" in out) == (0, True)
    words = ["bank", "run", "raised", "interest", "rate", "boat", "drifted", "river", *(f"w{i}" for i in range(30))]
    Lexicon(words, np.random.default_rng(0).normal(size=(len(words), 6, 3))).save(tmp_path / "model")
    code, out, _ = run("demo", "-l", str(tmp_path / "model"))
    assert code == 0
    for text in ("How ambiguous", "bank  (entropy", "run  (entropy", "river bank", "What to type next"):
        assert text in out
