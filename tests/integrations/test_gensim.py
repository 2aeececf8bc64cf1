"""gensim's KeyedVectors, a key a sense, and what formats keep."""

from pathlib import Path

import numpy as np
import pytest

import polysema as ps
from polysema.cli import main
from polysema.errors import InputError
from polysema.lexicon.formats import left_behind
from polysema.lexicon.formats.flat import with_senses
from tests.refusals import refused

SENTENCE = "They had a picnic on the grassy bank of the river."


@pytest.fixture(scope="module")
def default() -> ps.Lexicon:
    return ps.load()


def test_a_key_for_every_sense_found_in_text(default):
    pytest.importorskip("gensim", reason="the extra gensim is not installed")
    default = default.with_parts(dictionary=None)
    keyed = default.to_gensim(senses=True, words=150)
    word = next(w for w in default.vocabulary.words if len(default.senses(w, 1)) > 1 and w in keyed)
    senses = default.senses(word, 1)
    keys = [f"{word}#{sense.id}" for sense in senses]
    assert all(key in keyed for key in keys)
    for sense, key in zip(senses, keys, strict=True):
        expected = ps.similarity(ps.DensityMatrix(sense.vector[:, None]), default[word])
        assert keyed.similarity(word, key) == pytest.approx(expected, abs=1e-5)
        assert keyed.get_vecattr(key, "count") == round(sense.weight * keyed.get_vecattr(word, "count"))
    assert keyed.get_vecattr(word, "count") == default.vocabulary.counts[default.vocabulary.index(word)] > 0
    assert keyed.most_similar(keys[0], topn=3)
    back = ps.from_gensim(keyed)
    assert back.similarity(word, keys[0]) == pytest.approx(float(keyed.similarity(word, keys[0])), abs=1e-5)


def test_a_key_that_is_a_word_already_is_refused(lexicon):
    words = ["bank", "bank#0", *lexicon.vocabulary.words[2:]]
    with pytest.raises(InputError, match="bank#0"):
        with_senses(ps.Lexicon(words, lexicon.array))
    refused(InputError, "needs density matrices", ps.VectorLexicon(["a", "b"], np.eye(2)).to_gensim, senses=True)


def test_npz_keeps_all_that_arrays_can_hold(default, tmp_path):
    assert any("dictionary" in item for item in left_behind(default, Path("x.npz")))
    default = default.with_parts(dictionary=None, phrases=None)
    default.save(tmp_path / "all.npz", dtype="float16")
    again = ps.load(tmp_path / "all.npz")
    before, after = (model.disambiguate("bank", SENTENCE, nlp=False) for model in (default, again))
    assert after.sense.id == before.sense.id
    assert after.sense.probability == pytest.approx(before.sense.probability, abs=0.01)
    assert again.metadata == default.metadata
    assert again.ambiguity(["bank"])[0].information == pytest.approx(default.ambiguity(["bank"])[0].information)
    assert left_behind(again, Path("x")) == left_behind(again, Path("x.npz")) == []


def test_npz_of_others_is_read_as_before(lexicon, tmp_path):
    np.savez(tmp_path / "theirs.npz", words=np.array(lexicon.vocabulary.words), factors=lexicon.array)
    assert ps.load(tmp_path / "theirs.npz").parts.contexts is None
    for config in ("[1]", '{"columns": "rows"}', '{"metadata": 3}', "{"):
        np.savez(
            tmp_path / "bad.npz",
            words=np.array(lexicon.vocabulary.words),
            factors=lexicon.array,
            config=np.array(config),
        )
        refused(ps.FormatError, "bad.npz", ps.load, tmp_path / "bad.npz")


def test_convert_says_first_what_will_be_lost(lexicon, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    contexts = np.ones(lexicon.array.shape[:2], np.float32)
    lexicon.with_parts(contexts=contexts).save("own")
    assert main(["convert", "own", "out.vec"]) == 0
    note, wrote = capsys.readouterr().err.splitlines()
    assert note.startswith(
        "note: out.vec will not hold the senses of its words (columns of their factors), context vectors"
    )
    assert "counts" in note
    assert wrote.startswith("out.vec: 12 words")
    assert main(["convert", "own", "out.npz"]) == 0
    assert "note" not in capsys.readouterr().err
    assert main(["convert", "own", "senses.vec", "--senses", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert "bank#0" in ps.load("senses.vec")
