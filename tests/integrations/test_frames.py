"""Columns and frames of pandas and polars, against the libraries themselves."""

import math

import pytest

import polysema as ps
from polysema.errors import InputError, UnknownChoiceError
from polysema.integrations import frames
from polysema.meanings import results
from tests.refusals import refused

WORDS = ["river", None, "bank", "no-such-word", "river"]
SENTENCES = ["The old river bank.", "A bank by the river.", None, "The bank lent money.", "money"]


@pytest.fixture(scope="module")
def pandas():
    return pytest.importorskip("pandas", reason="the extra frames is not installed")


@pytest.fixture(scope="module")
def polars():
    return pytest.importorskip("polars", reason="the extra frames is not installed")


def test_a_column_of_pandas_keeps_order_index_and_what_is_missing(pandas, lexicon):
    words = pandas.Series(WORDS, index=list("edcba"))
    found = frames.entropy(words, lexicon)
    assert list(found.index) == list("edcba")
    assert found.isna().tolist() == [False, True, False, True, False]
    assert found["e"] == found["a"] == pytest.approx(lexicon.entropy("river"))
    for missing in (float("nan"), pandas.NA, pandas.NaT):
        assert frames.entropy(pandas.Series(["bank", missing], dtype=object), lexicon).isna().tolist() == [False, True]


def test_a_column_of_polars_keeps_order_and_what_is_missing(polars, lexicon):
    found = frames.entropy(polars.Series("w", WORDS), lexicon)
    assert found.is_null().to_list() == [False, True, False, True, False]
    assert found[0] == found[4] == pytest.approx(lexicon.entropy("river"))
    table = polars.DataFrame({"w": WORDS})
    column = polars.col("w").map_batches(lambda c: frames.entropy(c, lexicon), return_dtype=polars.Float64)
    assert table.select(column)["w"].to_list() == found.to_list()


@pytest.mark.parametrize("library", results.LIBRARIES)
def test_ambiguity_and_senses_of_columns(library, request, lexicon):
    series = request.getfixturevalue(library).Series
    words = series(WORDS) if library == "pandas" else series("w", WORDS)
    table = frames.ambiguity(words, lexicon)
    assert list(table["word"])[0::4] == ["river", "river"]
    assert len(table) == 5
    assert "not in the lexicon" in table["error"][3]
    sentences = series(SENTENCES) if library == "pandas" else series("s", SENTENCES)
    told = frames.disambiguate(words, sentences, lexicon, nlp=False)
    assert len(told) == 5
    alone = lexicon.disambiguate("river", SENTENCES[0], nlp=False)
    assert (told["sense"][0], told["probability"][0]) == (alone.sense.id, pytest.approx(alone.sense.probability))
    assert [bool(_missing(value)) for value in told["sense"]] == [False, True, True, True, True]
    assert "is not in" in told["error"][4]
    one = frames.disambiguate("bank", sentences, lexicon, nlp=False)
    assert [bool(_missing(value)) for value in one["sense"]] == [False, False, True, False, True]


def _missing(value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def test_the_index_is_kept_in_frames(pandas, lexicon):
    words = pandas.Series(["bank", None], index=[7, 3])
    assert list(frames.ambiguity(words, lexicon).index) == [7, 3]
    assert len(frames.ambiguity(pandas.Series([], dtype=object), lexicon)) == 0


@pytest.mark.parametrize("library", results.LIBRARIES)
def test_results_become_a_frame_with_one_call(library, request, lexicon):
    request.getfixturevalue(library)
    for answers, columns in (
        (lexicon.senses("bank"), ["id", "weight", "label"]),
        (lexicon.neighbours("bank", 3), ["word", "similarity"]),
        (lexicon.ambiguity(["bank", "river"]), ["word", "entropy"]),
        (lexicon.disambiguate([("bank", "(old bank)")]), ["word", "form", "start", "end", "sense"]),
    ):
        table = answers.to_frame(library)
        assert list(table.columns)[: len(columns)] == columns
        assert len(table) == len(answers)
        assert type(table).__module__.startswith(library)
    assert "phrase" in ps.frame(lexicon.compose("(old cars)"), library).columns
    assert list(lexicon.disambiguate("bank", "(old bank)").to_frame(library)["weight"])
    assert len(ps.frame([], library)) == 0


def test_what_is_wrong_is_said(lexicon):
    refused(InputError, "a column of words is expected", frames.entropy, "bank", lexicon)
    refused(InputError, "2 words and 1 contexts", frames.disambiguate, ["bank", "river"], ["the bank"], lexicon)
    with pytest.raises(UnknownChoiceError, match="unknown library 'arrow': choose pandas or polars"):
        ps.frame(lexicon.senses("bank"), "arrow")
