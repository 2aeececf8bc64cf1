import numpy as np
import pytest

from polysema import Lexicon, load
from polysema.cli import main
from polysema.errors import FormatError
from polysema.lexicon import lexicon as module
from tests.planted import planted_lexicon


def test_the_default_model_is_what_load_gives(monkeypatch, tmp_path, capsys):
    planted = planted_lexicon()
    planted.save(tmp_path / "default", dtype="float16")
    monkeypatch.setattr(module, "DEFAULT", tmp_path / "default")
    monkeypatch.delenv("POLYSEMA_LEXICON", raising=False)
    assert load().vocabulary.words == planted.vocabulary.words
    assert load() is load() is load("default")  # read once
    assert load().disambiguate("bank", "(muddy bank)").senses[0].probability > 0.9
    for command in (["senses", "bank"], ["ambiguity"], ["info"], ["disambiguate", "bank", "(muddy bank)"]):
        assert main(command) == 0
    capsys.readouterr()


def test_without_a_default_model_the_way_out_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(module, "DEFAULT", tmp_path / "default")
    monkeypatch.delenv("POLYSEMA_LEXICON", raising=False)
    with pytest.raises(FormatError, match="without its default model: name a lexicon"):
        load()
    assert main(["demo"]) == 2
    assert "polysema train" in capsys.readouterr().err


@pytest.fixture(scope="module")
def default() -> Lexicon:
    if not module.DEFAULT.is_dir():
        pytest.skip("this copy of polysema has no default model")
    return load()


def test_the_default_model_is_small_and_knows_much(default):
    size = sum(path.stat().st_size for path in module.DEFAULT.rglob("*"))
    assert size <= 90_000_000
    assert len(default) >= 30_000
    assert default.factors.dtype == np.float16
    assert default.parts.contexts.shape == (len(default), default.n)


@pytest.mark.parametrize(
    ("word", "one", "other"),
    [
        ("bank", "(river bank)", "(savings bank)"),
        ("bank", "(boat (left (river bank)))", "(bank (raised (interest rate)))"),
        ("plant", "(nuclear plant)", "(flowering plant)"),
        ("star", "(film star)", "(bright (distant star))"),
    ],
)
def test_the_default_model_tells_senses_apart(default, word, one, other):
    first, second = (default.disambiguate(word, context) for context in (one, other))
    assert first.sense.key != second.sense.key
    assert max(first.entropy_after, second.entropy_after) < first.entropy_before


def test_function_words_alone_leave_the_usual_sense(default):
    told = default.disambiguate("bank", "the bank", nlp=False)
    assert told.sense.weight == max(sense.weight for sense in told.senses)
    assert told.entropy_after == pytest.approx(told.entropy_before, abs=0.1)


def test_a_name_with_an_article_needs_its_capital(default):
    keys = {
        text: [item.sense.key for item in default.read(text, every=True)] for text in ("up the hill", "on the Hill")
    }
    assert "the_hill%1:15:00::" not in keys["up the hill"]
    assert keys["on the Hill"] == ["the_hill%1:15:00::"]


def test_no_sense_weighs_as_much_as_was_asked(capsys):
    assert main(["senses", "bank", "--min-weight", "1e300"]) == 0
    word, *more = capsys.readouterr().out.split()
    assert word == "bank"
    assert [part for part in more if "%" in part] == []  # no sense follows
