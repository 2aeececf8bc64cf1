import os
import shutil

import numpy as np
import pytest

from polysema.errors import DataError, TreeError, UnknownChoiceError
from polysema.evaluation import datasets
from polysema.evaluation.datasets import (
    RECORDS,
    EvaluationSet,
    load_all,
    load_sets,
    read_own_sets,
    read_set,
    record_named,
    search,
)
from polysema.evaluation.statistics import human_agreement
from tests.evaluation.reference import PHRASE_FILES, WORD_FILES
from tests.refusals import refused


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    """Neither the user's cache nor the variable counts in tests."""
    monkeypatch.setattr(datasets, "cache_directory", lambda: tmp_path / "cache")
    monkeypatch.delenv("POLYSEMA_DATA", raising=False)


def test_the_table_names_the_nine_sets_of_the_paper():
    assert list(RECORDS)[:9] == [*WORD_FILES, *PHRASE_FILES]
    for record in RECORDS.values():
        assert record.citation
        assert record.home.startswith("http")
        for file in record.files:
            assert len(file.sha256) == 64
            assert file.url.endswith(file.name)
    refused(UnknownChoiceError, "choose RG, WS", record_named, "GS2013")


def test_items_and_traps(sets):
    assert all(len(items) == RECORDS[name].items for name, items in sets.items())
    assert [len(sets[name]) for name in PHRASE_FILES] == [120, 200, 194, 194]
    both = [i for i, phrase in enumerate(sets["GS2011"].first) if phrase == ("system", "meet", "criterion")]
    assert sum(sets["GS2011"].second[i] == ("system", "visit", "criterion") for i in both) == 2  # as HIGH and as LOW
    assert sets["GS2012"].first[0] == ("statistical", "table", "express", "good", "result")  # landmark stands first
    assert sets["GS2012"].second[0] == ("statistical", "table", "show", "good", "result")
    assert sets["ML2008"].first[0] == ("thought", "stray")
    assert sets["ML2008"].second[0] == ("thought", "roam")
    assert sets["WS"].gold[2] == 10.0
    assert (sets["WS"].first[2], sets["WS"].pattern) == (("tiger",), "word")
    assert {name: len(set(sets[name].clusters)) for name in sets} == {
        **{name: len(sets[name]) for name in WORD_FILES},
        **{"ML2008": 30, "GS2011": 20, "GS2012": 20, "KS2013": 20},
    }
    assert "53" in sets["ML2008"].note
    for name in PHRASE_FILES:
        items = sets[name]
        assert all(" ".join(phrase) in items.sentences for phrase in items.first + items.second), name
    assert sets["GS2011"].sentence(("family", "provide", "home")) == "The family provides the home."


def test_human_agreement(sets):
    found = [human_agreement(sets[name].ratings) for name in PHRASE_FILES]
    assert [round(item.pairwise, 3) for item in found] == [0.454, 0.600, 0.480, 0.343]
    assert [round(item.one_against_rest, 3) for item in found] == [0.660, 0.739, 0.687, 0.575]
    assert [item.annotators for item in found] == [60, 25, 50, 43]


def test_searched_by_name_and_verified(data, tmp_path):
    deep = tmp_path / "somewhere" / "deep"
    deep.mkdir(parents=True)
    shutil.copy(data / "word-similarity" / "EN-RG-65.txt", deep)
    (deep / "EN-MC-30.txt").write_text("car automobile 4\n")
    sets, missing = load_sets(None, tmp_path)
    assert list(sets) == ["RG"]
    assert "SHA-256 differs" in missing["MC"]
    assert "not found" in missing["WS"]
    right = tmp_path / "right"
    right.mkdir()
    shutil.copy(data / "word-similarity" / "EN-MC-30.txt", right)  # the right one wins wherever it lies
    assert search(RECORDS["MC"].files, tmp_path)["EN-MC-30.txt"].path == right / "EN-MC-30.txt"


def test_the_variable_names_the_directory_and_links_may_lead_in_circles(data, tmp_path, monkeypatch):
    (tmp_path / "sets").symlink_to(data)
    (tmp_path / "again").symlink_to(tmp_path)
    monkeypatch.setenv("POLYSEMA_DATA", str(tmp_path))
    assert len(load_all(None)) >= 9


def test_missing_sets_say_what_to_do(tmp_path):
    refused(DataError, rf"{len(RECORDS)} of {len(RECORDS)} .*EN-RG-65.txt.*--data", load_all, tmp_path)
    refused(DataError, "no such folder", load_all, tmp_path / "nowhere")


def test_fetch_downloads_what_is_missing(data, tmp_path, monkeypatch):
    """Over a real local server, so that pooch itself is at work."""
    pytest.importorskip("pooch")
    import functools
    import http.server
    import threading
    from dataclasses import replace

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(data / "word-similarity"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        record = RECORDS["RG"]
        url = f"http://127.0.0.1:{server.server_port}/EN-RG-65.txt"
        here = replace(record, file=replace(record.file, url=url))
        assert datasets.fetch([here]) == [tmp_path / "cache" / "EN-RG-65.txt"]
        assert datasets.fetch([here]) == []
        wrong = replace(record, file=replace(record.file, url=url.replace("RG-65", "MC-30")))
        (tmp_path / "cache" / "EN-RG-65.txt").unlink()
        refused(DataError, "not the published file", datasets.fetch, [wrong])
        server.shutdown()
    refused(DataError, "no answer", datasets.fetch, [here])


def test_own_word_pairs(tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text("word1\tword2\tscore\r\nbank\triver\t3\r\nbank\tmoney\t4\r\nold\tcars\t1.5\r\n")
    own = read_set(file)
    assert own.name == "mine"
    assert (own.first[0], own.second[0]) == (("bank",), ("river",))
    assert own.gold.tolist() == [3, 4, 1.5]
    file.write_text("bank river 3\n")
    refused(DataError, "line 1: two words or phrases and a score, separated by tabs or commas", read_set, file)
    file.write_text("bank\triver\t3\nbank\tmoney\tnan\n")
    refused(DataError, "line 2", read_set, file)
    file.write_text("bank\triver\t3\nbank\tmoney\t4\n")
    refused(DataError, "2 pairs", read_set, file)


def test_own_phrase_pairs(tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text("old bank\told cars\t1\nold bank\told cars\t4\nold river\told money\t2\nold bob\told bank\t3\n")
    own = read_set(file, "adj  noun")
    assert own.pattern == "adj noun"
    assert own.first[0] == ("old", "bank")
    assert np.array_equal(own.gold, [2.5, 2, 3])
    refused(TreeError, "3 roles for 2 words", read_set, file, "subj verb obj")


def test_own_set_with_a_heading(tmp_path):
    """Columns by name in any order, quoted commas, annotators and clusters."""
    file = tmp_path / "mine.csv"
    file.write_text("""annotator,score,second,first,cluster
ann,1,old cars,old bank,x
bob,4,old cars,old bank,x
ann,2,old money,old river,x
bob,3,old bank,"old bob",y""")
    own = read_set(file, "adj noun", "own")
    assert (own.name, own.clusters, own.gold.tolist()) == ("own", ("x", "x", "y"), [2.5, 2, 3])
    assert own.first == (("old", "bank"), ("old", "river"), ("old", "bob"))
    assert np.array_equal(own.ratings, [[1, 2, np.nan], [4, np.nan, 3]], equal_nan=True)
    refused(DataError, "no such file", read_set, tmp_path / "none.csv")


def test_what_an_evaluation_set_is():
    own = EvaluationSet("x", "adj noun", (("a", "b"),), (("c", "b"),), np.array([1.0]))
    assert own.clusters == ("0",)
    with pytest.raises(DataError, match="1 first phrases, 1 second, 2 judgements"):
        EvaluationSet("x", "adj noun", (("a", "b"),), (("c", "b"),), np.ones(2))
    with pytest.raises(DataError, match="2 clusters for 1 items"):
        EvaluationSet("x", "adj noun", (("a", "b"),), (("c", "b"),), np.ones(1), clusters=("p", "q"))


def test_sets_of_ones_own_have_names_of_their_own(tmp_path):
    lines = "dog\tcat\t3\ndog\ttree\t1\ncat\ttree\t2\n"
    for name in ("a/x.tsv", "b/x.tsv", "a/RG.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(lines)
    assert list(read_own_sets([tmp_path / "a/x.tsv"])) == ["x"]
    refused(DataError, "another file is named 'x'", read_own_sets, [tmp_path / "a/x.tsv", tmp_path / "b/x.tsv"])
    refused(DataError, "a published set is named 'RG'", read_own_sets, [tmp_path / "a/RG.tsv"])


def test_the_root_is_not_walked(monkeypatch, tmp_path):
    walk, walked = os.walk, []
    monkeypatch.setattr(datasets, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(os, "walk", lambda top, **how: (walked.append(found[0]) or found for found in walk(top, **how)))
    assert search([datasets.DataFile("nothing.txt", "", "")], "/")["nothing.txt"].path is None
    assert walked == ["/", str(tmp_path)]
