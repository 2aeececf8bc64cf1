"""One plain test for each fault that was found."""

import copy
import pickle

import numpy as np
import pytest

from polysema import Lexicon, VectorLexicon, load
from polysema.cli import main
from polysema.errors import FormatError, InputError, PolysemaError
from polysema.lexicon.formats import left_behind
from polysema.lexicon.formats.flat import with_senses
from polysema.meanings.descriptions import SenseDescription, SenseDescriptions
from tests.refusals import refused


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    return Lexicon(["bank", "river", "money"], rng.normal(size=(3, 4, 2)))


def test_many_light_senses_are_told_apart():
    many = Lexicon(["bank", "river"], np.stack([np.eye(150)] * 2))
    found = many.disambiguate("bank", "the river bank", nlp=False)
    assert len(found.senses) == 150
    assert sum(sense.probability for sense in found.senses) == pytest.approx(1)
    assert len(many.senses("bank", top=1)) == 150


def test_a_key_for_every_sense_keeps_what_columns_are(small):
    assert with_senses(small.with_parts(columns="eigen")).parts.columns == "eigen"


def test_norms_that_are_not_finite_are_refused(small):
    refused(InputError, "norms", small.with_parts, norms=np.array([1, np.nan, 1]))


def test_a_lexicon_of_a_folder_is_copied(small, tmp_path):
    small.with_parts(
        descriptions=SenseDescriptions([SenseDescriptions.line("bank", {0: SenseDescription(("river",))})])
    ).save(tmp_path / "it")
    opened = load(tmp_path / "it")
    assert opened.parts.descriptions is not None
    assert opened.parts.descriptions["bank"][0].words == ("river",)
    for other in (pickle.loads(pickle.dumps(opened)), copy.deepcopy(opened)):
        assert other.parts.descriptions["bank"][0].words == ("river",)
        assert np.array_equal(other.factors, opened.factors)


def test_what_is_no_word_and_no_text_is_refused(small):
    refused(InputError, "a word is a string, not int", small.senses, 3)
    refused(InputError, "not NoneType", small.read, None)


def test_the_root_is_no_lexicon(capsys):
    refused(FormatError, "names no file", load, "/")
    assert main(["info", "/"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_word_that_is_a_whole_text_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text("a 1 2\n" + "b" * 1_500_000 + " 2 1\n")
    refused(PolysemaError, "1,500,000 characters", load, tmp_path / "x.txt")


def test_a_damaged_config_is_blamed_itself(small, tmp_path):
    small.save(tmp_path / "it")
    (tmp_path / "it" / "config.json").write_text('{"format": "polysema-lex')
    refused(FormatError, r"config\.json: not JSON", load, tmp_path / "it")


def test_a_copy_keeps_what_new_words_are_placed_with(tmp_path):
    model = load()
    model.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "placing.safetensors").is_file()
    from polysema.senses.adapt import Ridge

    assert Ridge.beside(load(tmp_path / "copy")) is not None
    assert "what new words are placed with" in left_behind(model, tmp_path / "x.npz")
    assert left_behind(VectorLexicon(["a"], [[1.0]]), tmp_path / "x") == []


def test_a_lexicon_with_other_parts_keeps_what_new_words_are_placed_with():
    model = load()
    assert model.with_parts(speech=None).parts.placing == model.parts.placing is not None


def test_a_column_that_is_no_sense_is_not_listed():
    lexicon = Lexicon(["bank", "river"], [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.5], [1.0, 0.0]]])
    assert [sense.id for sense in lexicon.senses("bank", min_weight=0.0)] == [0]
