"""Frequencies, concordances and change on planted uses of *bank*."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from polysema import notebook
from polysema.errors import Failed, InputError, UnknownChoiceError
from polysema.use import change as change_module
from polysema.use.change import MEASURES, change, compare
from polysema.use.concordance import UNEXPLAINED, concordance
from polysema.use.frequencies import MISSED, around, frequencies, resampled
from tests.use.planted import BANK, dictionary, tagged

MONEY, RIVER, TIP = np.eye(3)


@pytest.fixture(scope="module")
def known():
    return dictionary()


@pytest.fixture(scope="module")
def early(known):
    return tagged(known, [[0.9, 0.1, 0]] * 20)


@pytest.fixture(scope="module")
def late(known):
    return tagged(known, [[0.3, 0.1, 0.6]] * 20, seed=1)


# --------------------------------------------------------------------------------------------------------- frequencies


def test_shares_of_senses_with_intervals(early):
    found = frequencies(early, "bank")
    assert found[0].key == BANK[0]
    assert found[0].share == pytest.approx(0.9, abs=0.12)
    assert all(item.low <= item.share <= item.high for item in found)
    assert (found[0].uses, found[0].documents) == (80, 20)
    assert sum(item.share for item in found) == pytest.approx(1)


def test_groups_of_documents(known):
    corpus = tagged(known, [MONEY if i % 2 else RIVER for i in range(16)])
    by = {(item.group, item.key): item.share for item in frequencies(corpus, ["bank"], by="genre")}
    assert by["b", BANK[0]] > 0.7 > 0.3 > by["a", BANK[0]]
    assert {item.group for item in frequencies(corpus, by="decade", least=5)} == {"1800", "1810"}
    with pytest.raises(InputError, match="documents have no author"):
        frequencies(corpus, by="author", least=5)
    with pytest.raises(InputError, match="no word is used 1000 times"):
        frequencies(corpus, least=1000)
    with pytest.raises(InputError, match="'dog' is not used in the text"):
        frequencies(corpus, "dog")
    assert {item.word for item in frequencies(corpus, ["dog", "bank"])} == {"bank"}
    with pytest.raises(InputError, match="none of dog, dogs is used in the text"):
        frequencies(corpus, ["dog", "dogs"])
    frame = frequencies(corpus, "bank").to_frame()
    assert list(frame.columns)[:5] == ["word", "group", "key", "gloss", "share"]


def test_intervals_hold_the_ends_and_the_middle():
    low, high = around(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.1, 0.1]))
    assert low[0] == 0
    assert high[2] == 1
    assert (low[1], high[1]) == pytest.approx((0.304, 0.696), abs=1e-3)
    assert (high[0], low[2]) == pytest.approx((MISSED, 0.804))


def test_documents_are_drawn_whole():
    unit = np.array([0, 0, 1, 1, 2])
    drawn = resampled(unit, 50, np.random.default_rng(0))
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, [0, 2, 4]].sum(axis=1) == 3).all()


# --------------------------------------------------------------------------------------------------------- concordance


def test_uses_are_grouped_by_sense(late):
    found = concordance("banks", late, top=4)
    assert {group.key for group in found.groups} <= {*BANK, UNEXPLAINED}
    assert found.groups[0].uses >= found.groups[1].uses
    best = found.groups[0].lines
    assert best[0].p == max(line.p for line in best)
    assert best[-1].p == min(line.p for line in concordance("bank", late, sort="doubtful", top=1).groups[0].lines)
    assert sum(group.uses for group in found.groups) == 80
    assert len(concordance("bank", late, top=None)) == 80
    assert concordance("bank", late, sense=BANK[2]).groups[0].gloss == "tip laterally"


def test_lines_are_filtered_and_sorted(late):
    with pytest.raises(InputError, match="no use of 'bank' is left"):
        concordance("bank", late, left="a")
    assert len(concordance("bank", late, left="t*", top=None)) == 80
    dates = [line.date for line in concordance("bank", late, since="1805", until="1807", top=None)]
    assert set(dates) == {"1805", "1806", "1807"}
    assert all(line.p >= 0.9 for line in concordance("bank", late, p=(0.9, 1.0), top=None))
    for group in concordance("bank", late, sort="date", top=None).groups:
        assert [line.date for line in group.lines] == sorted(line.date for line in group.lines)
    with pytest.raises(UnknownChoiceError, match="order"):
        concordance("bank", late, sort="size")


def test_uses_are_ranked_by_a_sense(known, late):
    (group,) = concordance("bank", late, like=BANK[2], top=5).groups
    assert {line.key for line in group.lines} == {BANK[2]}
    fits = [line.like for line in group.lines]
    assert fits == sorted(fits, reverse=True)
    (group,) = concordance("bank", late, like="sloping land", top=5).groups
    assert group.key == "sloping land"
    with pytest.raises(InputError, match="an empty gloss"):
        concordance("bank", late, like=" ")


def test_uses_that_no_sense_explains_stand_alone(known):
    corpus = tagged(known, [MONEY] * 4)
    corpus.columns["fits"][:3] = 0
    last = concordance("bank", corpus).groups[-1]
    assert (last.key, last.uses) == (UNEXPLAINED, 3)


def test_cells_are_no_formulas_and_html_is_escaped(known):
    corpus = tagged(known, [MONEY] * 2)
    corpus._text = np.frombuffer(bytes(corpus._text).replace(b"Use ", b"=<b>"), np.uint8)
    found = concordance("bank", corpus)
    rows = list(csv.reader(io.StringIO(found.to_csv())))
    assert all(row[0].startswith("'=<b>") for row in rows[1:])
    assert "=&lt;b&gt;" in found.to_html()
    assert "<b>0" not in found.to_html()
    assert list(found.to_frame().columns) == rows[0]


# -------------------------------------------------------------------------------------------------------------- change


def test_a_word_that_moved(early, late):
    (found,) = change(early, late, words="bank")
    assert found.changed
    assert found.low <= found.change <= found.high
    assert found.null < found.change
    assert found.periods == ("period 1", "period 2")
    tip, money, *_ = found.senses
    assert (tip.key, tip.status) == (BANK[2], "appeared")
    assert (money.key, money.status) == (BANK[0], "lost")
    assert found.new_senses
    assert tip.examples[1][0][0].endswith("of the bank.")
    assert set(found.measures) == set(MEASURES)
    assert found.to_dict()["senses"][0]["examples"][1][0]["start"] > 0
    assert (found.to_row()["uses period 1"], found.to_row()["sense"]) == (80, f"appeared {BANK[2]}")


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_grow_with_the_planted_change(known, measure):
    old = tagged(known, [[0.8, 0.2, 0]] * 20).uses("bank")
    shifts = (0.1, 0.35, 0.7)
    new = [tagged(known, [[0.8 - shift, 0.2, shift]] * 20, seed=9).uses("bank") for shift in shifts]
    values = [compare("bank", "ab", [old, uses], measure=measure, split=False).change for uses in new]
    assert values == sorted(values)


def test_nothing_moved(known, early):
    again = tagged(known, [[0.9, 0.1, 0]] * 20, seed=5)
    (found,) = change(early, again, words=["bank"])
    assert not found.changed
    assert not found.new_senses
    p = [compare("bank", "ab", [tagged(known, [MONEY * 0.7 + RIVER * 0.3] * 8, seed=s).uses("bank") for s in (k, k + 50)],
                 split=False).p for k in range(20)]  # fmt: skip
    assert np.mean(np.array(p) <= 0.05) <= 0.15


def test_the_distance_of_matrices_is_what_the_definition_says(early, late):
    old, new = early.uses("bank"), late.uses("bank")
    first, last = (np.einsum("ui,uj->uij", uses.vectors, uses.vectors) for uses in (old, new))

    def within(r):
        count, kernel = len(r), np.einsum("uij,vij->uv", r, r)
        return (kernel.sum() - np.trace(kernel)) / (count * (count - 1))

    squared = within(first) + within(last) - 2 * np.einsum("ij,ij->", first.mean(0), last.mean(0))
    assert compare("bank", "ab", [old, new]).measures["matrix"] == pytest.approx(np.sqrt(squared), rel=1e-3)
    found = compare("bank", "ab", [old, new])
    assert found.change == pytest.approx(found.measures["matrix"] ** 0.6 * found.measures["uses"] ** 0.4)


def test_the_split_adds_up(early, late):
    old, new = early.uses("bank"), late.uses("bank")
    split = compare("bank", "ab", [old, new]).split
    total = split.weights**2 + split.meanings**2 + 2 * split.product
    assert split.total**2 == pytest.approx(total, rel=1e-6)
    r = [np.einsum("ui,uj->ij", uses.vectors, uses.vectors) / len(uses) for uses in (old, new)]
    assert split.total == pytest.approx(np.linalg.norm(r[1] - r[0]), rel=1e-4)
    assert split.weights > split.weights_null
    assert split.weights > 3 * split.meanings


def test_meanings_that_moved_are_no_weights(known, early):
    moved = tagged(known, [[0.9, 0.1, 0]] * 20, seed=3)
    vectors = moved.columns["vector"].astype(float) + 45 * np.eye(8)[0]
    moved.columns["vector"] = np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(np.int8)
    split = compare("bank", "ab", [early.uses("bank"), moved.uses("bank")]).split
    assert split.meanings > split.meanings_null
    assert split.meanings > split.weights


def test_periods_of_one_corpus(known):
    corpus = tagged(known, [[1 - i / 40, 0, i / 40] for i in range(40)])
    (found,) = change(corpus, words=["bank"], by="decade")
    assert found.periods == ("1800", "1810", "1820", "1830")
    tip = next(sense for sense in found.senses if sense.key == BANK[2])
    assert list(tip.shares) == sorted(tip.shares)
    assert change(corpus, by="decade", split=False)[0].split is None
    pytest.importorskip("matplotlib")
    assert found.plot().axes[0].get_ylabel() == "share of the uses"
    assert frequencies(corpus, "bank", by="decade").plot().axes


def test_the_same_seed_gives_the_same_answer(early, late):
    one, other, third = (change(early, late, words="bank", seed=seed)[0].to_dict() for seed in (1, 1, 2))
    assert one == other
    assert one != third


def test_what_cannot_be_compared(known, early, late, monkeypatch):
    with pytest.raises(InputError, match="'dog' has too few uses to compare \\(0 in period 1, 0 in period 2\\)"):
        change(early, late, words="dog")
    several = change(early, late, words=["dog", "bank"])
    assert [type(item) for item in several][1] is Failed
    assert several.to_dict()[1]["change"] is None
    assert len(several.to_frame()) == 1
    with pytest.raises(InputError, match="a change needs two corpora"):
        change(early, words="bank")
    with pytest.raises(InputError, match="leave out --by year"):
        change(early, late, words="bank", by="year")
    with pytest.raises(InputError, match="all documents are of one century, 1800"):
        change(early, words="bank", by="century")
    with pytest.raises(UnknownChoiceError, match="measure"):
        change(early, late, words="bank", measure="size")
    small = tagged(known, [MONEY] * 4)
    del small.columns["vector"]
    with pytest.raises(InputError, match="the measure both needs vectors"):
        change(small, small, words="bank")
    assert change(small, small, words="bank", measure="senses")[0].split is None
    assert change_module.DEFAULT in MEASURES


def test_results_in_a_notebook(early, late):
    notebook.register()
    found = change(early, late, words=["bank", "dog"])
    for item in (found, found[0], concordance("bank", early), frequencies(early, "bank")):
        html = item._repr_html_()
        assert "bank%" in html
        assert "<script" not in html
