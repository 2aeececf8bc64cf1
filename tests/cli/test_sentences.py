import numpy as np

from polysema import Lexicon


def test_disambiguate(ask, planted_model):
    assert ask("disambiguate", "bank", "(muddy bank)", "(central bank)", "-l", planted_model).count("entropy 0.") == 2
    (item,) = ask("disambiguate", "bank", "(central bank)", "-l", planted_model, "--json")
    assert item["senses"][0]["probability"] > 0.9
    assert item["senses"][0]["neighbours"][0]["word"] in ("money", "loan", "raised", "rates", "central")
    assert item["entropy_after"] < item["entropy_before"]
    assert item["tree"] == "(central bank)"


def test_text_is_text_and_brackets_are_brackets(ask, planted_model):
    passage = 'the Central Committee (1975) & its "muddy" bank'
    (item,) = ask("disambiguate", "bank", passage, "-l", planted_model, "--json")
    assert (item["span"], item["form"]) == ([passage.index("bank"), len(passage)], "bank")
    (item,) = ask("disambiguate", "bank", "(muddy bank)", "--text", "--no-parser", "-l", planted_model, "--json")
    assert (item["tree"], item["no_tree"]) == (None, "no parser was asked for")


def test_every_occurrence(ask, planted_model):
    text = "The muddy bank flooded. The central bank raised rates."
    asked = ("disambiguate", "bank", text, "--no-parser", "-l", planted_model)
    printed = ask(*asked)
    assert "at 10–14 (1 of 2)" in printed
    assert "--every answers all occurrences" in printed
    found = ask(*asked, "--every", "--json")
    assert [(item["span"], item["occurrence"]) for item in found] == [([10, 14], 0), ([36, 40], 1)]


def test_read(ask, planted_model):
    text = "The muddy bank flooded the legal bar."
    (item,) = ask("read", text, "--no-parser", "-l", planted_model, "--json")
    assert item["text"] == text
    assert [(word["form"], word["span"]) for word in item["words"]] == [("bank", [10, 14]), ("bar", [33, 36])]
    assert "10–14" in ask("read", text, "-l", planted_model)


def test_demo(ask, tmp_path, lexicon):
    """The demo runs on any lexicon; it shows those of its words that are there."""
    lexicon.save(tmp_path / "small")
    assert "What to type next" in ask("demo", "-l", str(tmp_path / "small"))
    words = ["bank", "run", "raised", "interest", "rate", "boat", "drifted", "river", *(f"w{i}" for i in range(30))]
    Lexicon(words, np.random.default_rng(0).normal(size=(len(words), 6, 3))).save(tmp_path / "model")
    printed = ask("demo", "-l", str(tmp_path / "model"))
    for text in ("How ambiguous", "bank  (entropy", "run  (entropy", "river bank", "What to type next"):
        assert text in printed
