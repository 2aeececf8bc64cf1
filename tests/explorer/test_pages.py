"""The explorer's pages over a small lexicon: content, JSON twins, escaping, bounds, hosts, hostile requests."""

import asyncio
import json
import logging
import re
import threading
from html import unescape
from urllib.parse import quote, urlencode

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra explore is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")

from starlette.testclient import TestClient

from polysema import Lexicon, VectorLexicon, Vocabulary
from polysema.errors import FormatError, InputError
from polysema.explorer import answers
from polysema.explorer.listing import LARGEST_PAGE, Listing
from polysema.explorer.server import Busy, WorkQueue, application, named
from polysema.meanings.descriptions import PARTS_OF_SPEECH, Example, SenseDescription, SenseDescriptions, Synset
from polysema.meanings.parts import Parts, Speech
from tests.refusals import refused

NASTY = "<script>alert(1)</script>"
WORDS = [
    "bank", "river", "money", "run", "family", "hotel", "old", "cars", "likes", "bob", "Ægir", "λόγος",
    NASTY, "..", "a/b", "x.json", "100%", "{{7*7}}",
]  # fmt: skip
SENTENCE = "(bob (likes (old cars)))"
FIGURES = {"items": 5, "covered": 4, "spearman": 0.25, "sd": None, "interval": [0.1, 0.4]}
REPORT = {"results": [{"model": "m", "set": "verbs", "method": "phaser", **FIGURES}]}


def made(seed: int = 7) -> Lexicon:
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(len(WORDS), 6, 3)).astype(np.float32)
    examples, synset = (Example(f"at the bank {NASTY}", 3, 2),), Synset("bank.n.01", "gloss & co", 0.5)
    face = SenseDescription(("money", "<b>"), ("the bank",), examples, "NOUN", 0.9, synset)
    faces = SenseDescriptions([SenseDescriptions.line("bank", dict.fromkeys(range(3), face))])
    return Lexicon(
        Vocabulary(WORDS, range(180, 0, -10)), factors, parts=Parts(descriptions=faces), metadata={"model": NASTY}
    )


@pytest.fixture(scope="module")
def app():
    return application({"first": made(), "second": made(8)})


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


PAGES = {
    "/": "/sentence.json",
    f"/?s={quote(SENTENCE)}&step=1": f"/sentence.json?s={quote(SENTENCE)}&step=1",
}
PAGES |= {
    path: path.replace("?", ".json?") if "?" in path else f"{path}.json"
    for path in (
        *("/word", "/word/bank", "/word/bnak", "/list", "/compare", "/about", "/evaluation"),
        *("/list?prefix=b&sort=word&lexicon=second", "/compare?a=bank&b=river", "/compare?a=bank&other=second"),
    )
}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_a_twin_that_it_names(client, path):
    page, twin = client.get(path), client.get(PAGES[path])
    assert page.status_code == twin.status_code == (404 if "bnak" in path else 200)
    assert twin.headers["content-type"] == "application/json"
    named_twin = re.search(r'type="application/json" href="([^"]+)"', page.text).group(1).replace("&amp;", "&")
    assert client.get(named_twin).json() == twin.json()
    assert NASTY not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert not re.search(r"(style|onclick|onload)=", page.text)


def test_a_sentence_is_what_the_library_says(client):
    facts = client.get("/sentence.json", params={"s": SENTENCE, "method": "fuzz"}).json()
    composed = made().compose(SENTENCE, "fuzz")
    assert facts["composition"] == json.loads(json.dumps(composed.to_dict()))
    assert [step["phrase"] for step in facts["steps"]] == ["old cars", "likes old cars", "bob likes old cars"]
    assert facts["steps"][-1]["entropy"] == pytest.approx(composed.entropy)
    assert {item["name"] for item in facts["methods"]} == set(made().methods)
    told = made().disambiguate("bob", composed, method="fuzz")
    (bob,) = [item for item in facts["words"] if item["word"] == "bob"]
    assert bob["entropy_after"] == pytest.approx(told.entropy_after)


def test_steps_go_forwards_and_back_by_links(client):
    text = client.get("/", params={"s": SENTENCE, "step": 1}).text
    assert "step 1 of 3" in text
    hrefs = re.findall(r'href="([^"]+)" data-step="(\w+)"', text)
    steps = {which: client.get(href.replace("&amp;", "&")).text for href, which in hrefs}
    for which, number in {"first": 0, "back": 0, "on": 2, "last": 3}.items():
        assert f"step {number} of 3" in steps[which]
    assert text.count('class="node open') == 2
    assert 'class="node open' not in steps["last"]
    assert "There is no tree" in client.get("/", params={"s": "(bob (flies cars))"}).text


def test_a_word_with_its_faces(client):
    facts, page = client.get("/word/bank.json").json(), client.get("/word/bank").text
    lexicon = made()
    assert facts["ambiguity"] == pytest.approx(json.loads(json.dumps(lexicon.ambiguity(["bank"])[0].to_dict())))
    assert [near["word"] for near in facts["similar"]] == [near.word for near in lexicon.neighbours("bank", 12)]
    assert sum(sense["weight"] for sense in facts["senses"]) == pytest.approx(1)
    assert "gloss &amp; co" in page
    assert "<mark>bank</mark>" in page
    assert "&lt;script&gt;" in page
    assert 'href="/word/bank"' in client.get("/word/bankk").text
    assert client.get("/word/bankk.json").json()["suggestions"] == ["bank"]


def test_every_word_can_be_reached_by_its_link(client):
    listed = client.get("/list", params={"size": 200, "function_words": "1"}).text
    links = re.findall(r'<th scope="row"><a href="([^"]+)">([^<]+)</a>', listed)
    assert {unescape(text) for _, text in links} == set(WORDS)
    for href, _ in links:
        page = client.get(unescape(href))
        assert page.status_code == 200
        assert 'class="headword"' in page.text


def test_the_list_sorts_filters_and_pages(client):
    def words(**query):
        return [
            item["word"] for item in client.get("/list.json", params={"function_words": 1, **query}).json()["words"]
        ]

    assert words(sort="count", size=200) == WORDS
    assert words(sort="count", reversed="1", size=200) == WORDS[::-1]
    assert words(sort="word", reversed="1", size=200) == sorted(WORDS)[::-1]
    assert words(sort="word", prefix="b") == ["bank", "bob"]
    assert words(sort="count", min_count=160, max_count=170) == ["river", "money"]
    entropies = [made().entropy(word) for word in words(sort="entropy", size=200)]
    assert entropies == sorted(entropies, reverse=True)
    assert words(sort="count", size=5, page=2) == WORDS[5:10]
    assert words(sort="count", size=5, page=10**9) == WORDS[15:]
    assert words(prefix="zz") == []
    assert client.get("/list.json?size=999999").json()["size"] == LARGEST_PAGE


def test_comparison_both_ways_and_in_two_lexicons(client):
    facts = client.get("/compare.json", params={"a": "bank", "b": "(old cars)"}).json()
    lexicon = made()
    values = {row["measure"]: row for row in facts["measures"]}
    assert values["similarity"]["a_to_b"] == pytest.approx(lexicon.similarity("bank", "(old cars)"))
    for row in values.values():
        if row["mutual"]:
            assert row["a_to_b"] == pytest.approx(row["b_to_a"], abs=1e-9)
    assert facts["shared"] == []
    assert np.shape(client.get("/compare.json?a=bank&b=river").json()["shared"]) == (3, 3)
    two = client.get("/compare.json?a=bank&other=second").json()["two"]
    assert two["difference"] == pytest.approx(made(8).entropy("bank") - lexicon.entropy("bank"))
    same = answers.in_two(lexicon, lexicon, "bank")
    assert [item["alike"] for item in same["matched"]] == [1.0] * 3
    assert same["went"] == same["appeared"] == []


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((host, 200) for host in ("127.0.0.1", "127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]", "[::1]:80", "hub.example")),
        *((host, 421) for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost@evil", "::1", "evil:127.0.0.1")),
    ],
)  # fmt: skip
def test_hosts_of_this_machine_and_those_allowed_are_answered(host, status):
    app = application({"a": made()}, hosts=["hub.example"])
    answer = TestClient(app, base_url="http://127.0.0.1").get("/about", headers={"host": host})
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers


def test_behind_a_prefix_whether_or_not_the_proxy_strips_it():
    client = TestClient(application({"a": made()}, prefix="user/ann/"), base_url="http://localhost")
    for path in ("/word/bank", "/user/ann/word/bank"):
        text = client.get(path).text
        links = re.findall(r'(?:href|src|action)="([^"#]+)"', text)
        assert len(links) > 20
        assert all(link.startswith("/user/ann/") for link in links)
    assert client.get("/user/ann").status_code == 200
    assert client.get("/user/ann/static/style.css").status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/?s=" + "a" * 501, 414), ("/word/" + "a" * 101, 414), ("/list?page=x", 400), ("/list?sort=x", 400),
        ("/list?sort=information", 400), ("/?s=bank&method=x", 400), ("/?s=bank&lexicon=x", 404), ("/nowhere", 404),
        ("/compare?a=bank&other=x", 404), ("/static/../web.py", 404), ("/static/..%2fweb.py", 404), ("/list?x=" + "a" * 7000, 414),
        ("/list?min_entropy=nan", 200), ("/list?page=-5", 200), ("/list?page=" + "9" * 60, 200),
    ],
)  # fmt: skip
def test_bounds(client, path, status):
    assert client.get(path).status_code == status


def test_it_is_only_read(client):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, "/word/bank").status_code == 405


def test_a_fault_is_a_page_and_the_log_does_not_say_what_was_asked(client, app, monkeypatch, caplog):
    def fails(*_):
        raise RuntimeError("a secret sentence")

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(answers, "sentence", fails)
    answer = client.get("/?s=a+secret+sentence")
    assert answer.status_code == 500
    assert "fault of the explorer" in answer.text
    assert "RuntimeError" in caplog.text
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("polysema")]
    assert ours
    assert not any("secret" in line for line in ours)
    assert client.get("/about").status_code == 200


def test_overload_and_slow_answers_are_refused_and_pass():
    async def main():
        work, go = WorkQueue(threads=1, waiting=1, seconds=0.2), threading.Event()
        slow = [asyncio.create_task(work(key, lambda: go.wait(30))) for key in "ab"]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="too many"):
            await work("c", lambda: 1)
        with pytest.raises(Busy, match="more than"):
            await slow[0]
        with pytest.raises(Busy):
            await slow[1]
        go.set()
        for _ in range(1000):
            if not work._running:
                break
            await asyncio.sleep(0.01)
        assert await work("c", lambda: 1) == 1
        assert await work("c", lambda: 2) == 1  # kept
        with pytest.raises(ZeroDivisionError):
            await work("d", lambda: 1 / 0)
        assert await work("d", lambda: 3) == 3  # a failure is not kept
        work.close()

    asyncio.run(main())


def test_busy_is_a_503(app, client, monkeypatch):
    monkeypatch.setattr(app.work, "most", 0)
    answer = client.get("/word/family.json?lexicon=second")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


def test_a_tree_is_placed_without_two_nodes_in_one_place():
    nodes = made().compose(SENTENCE).to_dict()["nodes"]
    drawn = answers.tree_picture(nodes, {"", "r", "rr"}, "")
    places = {(node["x"], node["y"]) for node in drawn["nodes"]}
    assert len(places) == len(nodes) == len(drawn["edges"]) + 1
    assert all(0 < x < drawn["width"] and 0 < y < drawn["height"] for x, y in places)
    words = [node["phrase"] for node in sorted(drawn["nodes"], key=lambda node: node["x"]) if node["word"]]
    assert words == ["bob", "likes", "old", "cars"]


def test_lexicons_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed=1").mkdir()
    assert named([]) == {"default": "default"}
    assert named(["a=x/y", "models/z/", "seed=1"]) == {"a": "x/y", "z": "models/z/", "seed=1": "seed=1"}
    for wrong in (["a=x", "a=y"], ["=x"], ["x" * 80]):
        refused(InputError, "name of its own", named, wrong)


def test_the_report_of_an_evaluation_is_a_table():
    client = TestClient(application({"a": made()}, evaluation=REPORT), base_url="http://localhost")
    text = client.get("/evaluation").text
    assert "verbs" in text
    assert "0.250" in text
    assert "0.100 to 0.400" in text
    assert "4 of 5" in text
    assert client.get("/evaluation.json").json()["evaluation"] == REPORT
    refused(FormatError, "evaluate --json", application, {"a": made()}, evaluation={"results": [3]})


def test_vectors_show_what_they_can():
    """Neighbours, similarity and the list of all; what is missing is said."""
    model = VectorLexicon(Vocabulary(WORDS, range(180, 0, -10)), np.random.default_rng(3).normal(size=(len(WORDS), 6)))
    client = TestClient(application({"vectors": model, "matrices": made()}), base_url="http://localhost")
    asked, sentence = {"lexicon": "vectors"}, quote(SENTENCE)
    for path in ("/", "/word", "/word/bank", "/list?sort=count", "/list?size=3", "/about", f"/?s={sentence}",
                 "/compare?a=bank&b=(old+cars)", "/compare?a=bank&other=matrices"):  # fmt: skip
        assert client.get(path + ("&" if "?" in path else "?") + urlencode(asked)).status_code == 200, path
    word = client.get("/word/bank.json", params=asked).json()
    assert [near["word"] for near in word["similar"]] == [near.word for near in model.neighbours("bank", 12)]
    assert (word["senses"], word["ambiguity"]["count"], word["ambiguity"]["entropy"]) == ([], 180, None)
    assert word["cannot"] in client.get("/word/bank", params=asked).text
    facts = client.get("/compare.json", params={**asked, "a": "bank", "b": "river"}).json()
    assert [row["a_to_b"] for row in facts["measures"]] == [pytest.approx(model.similarity("bank", "river"))]
    composed = client.get("/sentence.json", params={**asked, "s": SENTENCE}).json()
    near = model.neighbours(model.compose(SENTENCE), 6)
    assert [item["word"] for item in composed["steps"][-1]["neighbours"]] == [item.word for item in near]
    assert client.get("/list.json", params={**asked, "sort": "information"}).status_code == 400
    two = client.get("/compare.json?a=bank&other=vectors&lexicon=matrices").json()["two"]
    assert (two["senses_known"], two["difference"]) == (False, None)
    nearest = [{item.word for item in one.neighbours("bank", 20)} for one in (model, made())]
    assert set(two["near"]["both"]) == nearest[0] & nearest[1]


def test_parts_of_speech_are_those_of_the_senses_else_of_wordnet(client):
    def words(kind):
        found = client.get("/list.json", params={"part_of_speech": kind, "sort": "word", "size": 200}).json()
        return [item["word"] for item in found["words"]]

    assert words("adjective") == ["old"]
    assert words("verb") == ["bob", "run"]  # not the bank, whose senses say that it is a noun
    assert "bank" in words("noun")
    assert client.get("/list?part_of_speech=x").status_code == 400


def test_parts_of_speech_of_a_lexicon_come_before_those_of_wordnet():
    tags = np.zeros((len(WORDS), 3), np.uint8)
    tags[WORDS.index("old"), 0] = PARTS_OF_SPEECH.index("VERB") + 1
    lexicon = Lexicon(WORDS, np.tile(np.eye(3), (len(WORDS), 1, 1)), parts=Parts(speech=Speech(tags, tags)))
    kinds = Listing(lexicon).parts_of_speech
    assert [name for name, own in kinds.items() if own[WORDS.index("old")]] == ["verb"]


def test_while_the_parser_loads_a_sentence_waits_and_says_so():
    app = application({"a": made()})
    client = TestClient(app, base_url="http://localhost")
    app.pages.warming = True
    answer = client.get("/?s=bob+likes+old+cars")
    assert (answer.status_code, answer.headers["refresh"]) == (202, "1")
    assert "being loaded" in answer.text
    assert client.get("/", params={"s": SENTENCE}).status_code == 200  # brackets need no parser
    app.pages.warming = False
    assert client.get("/?s=bob+likes+old+cars").status_code == 200  # it was not kept


def test_the_openapi_document_is_valid(client):
    validate = pytest.importorskip("openapi_spec_validator").validate
    document = client.get("/openapi.json").json()
    validate(document)
    for path, item in document["paths"].items():
        assert client.get(path.replace("{word}", "bank")).status_code == 200
        known = {parameter["name"] for parameter in item["get"]["parameters"]}
        assert "lexicon" in known
    assert {"sort", "part_of_speech", "page"} <= {
        p["name"] for p in document["paths"]["/list.json"]["get"]["parameters"]
    }
