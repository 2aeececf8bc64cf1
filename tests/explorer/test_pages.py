"""The explorer's pages over small lexicons: content, JSON twins, escaping, bounds, hosts, serving in public."""

import asyncio
import json
import logging
import re
import threading
from html import unescape
from urllib.parse import quote, quote_plus, urlencode

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra explore is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")

from starlette.testclient import TestClient

import polysema
from polysema import Lexicon, VectorLexicon, Vocabulary
from polysema.errors import InputError
from polysema.explorer import answers, atlas, web
from polysema.explorer.listing import LARGEST_PAGE, Listing
from polysema.explorer.public import Allowance, JsonLines, client_of
from polysema.explorer.server import Busy, WorkQueue, application, named
from polysema.explorer.web import EXAMPLES
from polysema.meanings.descriptions import PARTS_OF_SPEECH, Example, SenseDescription, SenseDescriptions
from polysema.meanings.parts import Parts, Speech
from tests.refusals import refused
from tests.senses import five_words

NASTY = "<script>alert(1)</script>"
WORDS = [
    "bank", "river", "money", "run", "family", "hotel", "old", "cars", "likes", "bob", "Ægir", "λόγος",
    NASTY, "..", "a/b", "x.json", "100%", "{{7*7}}",
]  # fmt: skip
SENTENCE = "(bob (likes (old cars)))"
TEXT = "The bank saw old cars by the bank."


def made(seed: int = 7, dictionary=None) -> Lexicon:
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(len(WORDS), 6, 3)).astype(np.float32)
    examples = (Example(f"at the bank {NASTY}", 3, 2),)
    face = SenseDescription(("money", "<b>"), ("the bank",), examples, "NOUN", 0.9)
    faces = SenseDescriptions([SenseDescriptions.line("bank", dict.fromkeys(range(3), face))])
    return Lexicon(
        Vocabulary(WORDS, range(180, 0, -10)),
        factors,
        parts=Parts(descriptions=faces, dictionary=dictionary),
        metadata={"model": NASTY, "limits": "few words"},
    )


@pytest.fixture(scope="module")
def app():
    return application({"first": made(), "second": made(8), "glossed": made(9, five_words.dictionary())})


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


PAGES = {
    "/": "/sentence.json",
    f"/?s={quote(TEXT)}": f"/sentence.json?s={quote(TEXT)}",
    f"/?s={quote(TEXT)}&view=steps&step=2": f"/sentence.json?s={quote(TEXT)}&view=steps&step=2",
    f"/?s={quote(SENTENCE)}&view=tree": f"/sentence.json?s={quote(SENTENCE)}&view=tree",
    f"/?s={quote(TEXT)}&lexicon=glossed": f"/sentence.json?s={quote(TEXT)}&lexicon=glossed",
    "/word/bank?lexicon=glossed": "/word/bank.json?lexicon=glossed",
    "/word": "/word.json",
    "/word/bank": "/word/bank.json",
    "/list": "/list.json",
    "/list?prefix=b&sort=word&lexicon=second": "/list.json?prefix=b&sort=word&lexicon=second",
    "/compare": "/compare.json",
    "/compare?a=bank&b=river": "/compare.json?a=bank&b=river",
    "/compare?a=old+bank&b=the+bank+saw": "/compare.json?a=old+bank&b=the+bank+saw",
    "/compare?a=bank&other=second": "/compare.json?a=bank&other=second",
    "/about": "/about.json",
    "/word/bnak": "/word/bnak.json",
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
    facts = client.get("/sentence.json", params={"s": TEXT}).json()
    told = made().read(TEXT, nlp=False)
    assert [word["span"] for word in facts["words"]] == [list(item.span) for item in told]
    for word, item in zip(facts["words"], told, strict=True):
        assert [sense["probability"] for sense in word["senses"]] == pytest.approx([s.probability for s in item.senses])
        assert len({sense["colour"] for sense in word["senses"]}) == len(word["senses"])
    page = client.get("/", params={"s": TEXT}).text
    assert page.count('class="word"') == page.count('class="found"') == len(told)
    assert re.sub(r"<[^>]+>", "", page[page.index('class="reading') :].partition(">")[2].partition("</p>")[0]) == TEXT


def test_senses_of_a_dictionary_have_their_glosses(client):
    page = client.get("/", params={"s": "A dog ran to the bank.", "lexicon": "glossed"}).text
    for told in (
        "sloping land beside water",
        "an institution that accepts deposits",
        "a member of the genus Canis",
        "only sense",
    ):
        assert told in page
    word = client.get("/word/bank.json?lexicon=glossed").json()
    for sense in word["senses"]:
        assert sense["interval"][0] <= sense["count"] / 60 <= sense["interval"][1]
    assert "bank%1:14:00::" in client.get("/word/bank?lexicon=glossed").text
    alone = client.get("/word/ice cream.json?lexicon=glossed").json()
    assert (alone["senses"][0]["gloss"], alone["similar"], alone["like"]) == ("frozen dessert", [], [])
    fine = client.get("/word/bank.json?lexicon=glossed&fine=1").json()
    assert len(fine["senses"]) == len(made(9, five_words.dictionary()).senses("bank", fine=True))
    assert "fine=1" in client.get("/word/bank?lexicon=glossed").text


def test_word_by_word(client):
    lexicon = made()
    facts = client.get("/sentence.json", params={"s": TEXT, "view": "steps"}).json()
    assert [item["text"] for item in facts["heard"]] == re.findall(r"\w+", TEXT)
    bank = facts["words"][0]
    assert bank["steps"][0] is None
    for number in (2, 5, 8):
        (told, *_) = lexicon.read(TEXT[: facts["heard"][number - 1]["end"]], nlp=False)
        found = {sense.id: sense.probability for sense in told.senses}
        expected = [found[sense["id"]] for sense in bank["senses"]]
        assert bank["steps"][number - 1] == pytest.approx(expected)
    text = client.get("/", params={"s": TEXT, "view": "steps", "step": 2}).text
    assert "<span data-count>2</span> of 8 words" in text
    for which, number in {"first": 1, "back": 1, "on": 3, "last": 8}.items():
        (href,) = re.findall(rf'href="([^"]+)" data-step="{which}"', text)
        assert f"<span data-count>{number}</span>" in client.get(href.replace("&amp;", "&")).text
    assert client.get("/", params={"s": "bank " * 61, "view": "steps"}).status_code == 400
    whole = client.get("/", params={"s": TEXT + " !", "view": "steps"}).text
    assert 'class="later"' not in whole  # not even what stands after the last word


def test_words_that_turn_are_told():
    for lexicon in (made(), made(9, five_words.dictionary())):
        facts = answers.steps(lexicon, TEXT)
        for item in facts["turned"]:
            (word,) = [
                one for one in facts["words"] if one["steps"][item["step"] - 1] and item["from"] in one["senses"]
            ][:1]
            order = [sense["id"] for sense in word["senses"]]
            after = word["steps"][item["step"] - 1]
            assert order[int(np.argmax(after))] == item["to"]["id"] != item["from"]["id"]


def test_the_tree_is_what_the_library_says(client):
    facts = client.get("/sentence.json", params={"s": SENTENCE, "view": "tree", "method": "fuzz"}).json()
    composed = made().compose(SENTENCE, "fuzz")
    assert facts["composition"] == json.loads(json.dumps(composed.to_dict()))
    phrases = [node["phrase"] for node in facts["nodes"] if "functor" in node]
    assert phrases == ["old cars", "likes old cars", "bob likes old cars"]
    assert facts["nodes"][-1]["entropy"] == pytest.approx(composed.entropy)
    assert {item["name"] for item in facts["methods"]} == set(made().methods)
    page = client.get("/", params={"s": "(bob (flies cars))", "view": "tree"})
    assert page.status_code == 200
    assert "There is no tree" in page.text


def test_two_sentences_share_words(client):
    first, second = "Old cars by the bank.", "The money of the bank."
    facts = client.get("/compare.json", params={"a": first, "b": second}).json()
    (bank,) = facts["uses"]
    lexicon = made()
    told = [lexicon.disambiguate("bank", text, nlp=False) for text in (first, second)]
    assert bank["alike"] == pytest.approx(lexicon.similarity(*told))
    pair = [item.sense.id for item in told]
    assert [use["senses"][0]["id"] for use in bank["uses"]] == pair
    assert bank["same"] == (pair[0] == pair[1])
    of_colour = [{sense["id"]: sense["colour"] for sense in use["senses"]} for use in bank["uses"]]
    assert of_colour[0] == of_colour[1]
    for use, text in zip(bank["uses"], (first, second), strict=True):
        for reason in use["because"]:
            less = lexicon.disambiguate("bank", re.sub(rf"\b{reason['word']}\b", "", text), nlp=False)
            (left,) = [sense.probability for sense in less.senses if sense.id == use["senses"][0]["id"]]
            assert reason["by"] == pytest.approx(use["senses"][0]["probability"] - left)
    assert "share no word" in client.get("/compare", params={"a": "old cars", "b": "the money"}).text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("🎉 🎉", "no word in this text"), ("Über allen Gipfeln ist Ruh", "does not look like English"), ("Собака спит в саду", "does not look"),
        ("the old xyzzy of the bank", "Not in the lexicon, so left out: xyzzy"), ("the old bank", ""),
    ],
)  # fmt: skip
def test_notes_say_what_is_wrong(text, told):
    (note,) = answers.notes(made(), text) or [""]
    assert told in note
    assert bool(told) == bool(note)


def test_the_start_has_examples_and_surprises_that_are_read(client, app):
    page = client.get("/").text
    assert len(EXAMPLES) == 6
    assert all(example in page for example in EXAMPLES)
    sample = client.get("/?lexicon=glossed").text  # its words link to the page of the sentence, and have their cards
    assert f'href="/?lexicon=glossed&amp;s={quote_plus(EXAMPLES[0])}#w0-card" data-word="x0"' in sample
    assert 'id="x0"' in sample
    answer = client.get("/surprise?lexicon=second", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/?lexicon=second&s=")
    assert len(app.pages.static["surprises.txt"].decode().splitlines()) > 30


MEANT = {"bank": "sloping", "fan": "air", "mole": "mammal", "jam": "fruit", "bark": "woody", "crane": "lifts"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_read_right_by_the_model_that_ships(example):
    (word,) = (word for word in MEANT if f" {word} " in example)
    assert MEANT[word] in polysema.load().disambiguate(word, example).sense.gloss


def test_a_word_with_its_faces(client):
    facts, page = client.get("/word/bank.json").json(), client.get("/word/bank").text
    lexicon = made()
    assert facts["ambiguity"] == pytest.approx(json.loads(json.dumps(lexicon.ambiguity(["bank"])[0].to_dict())))
    assert [near["word"] for near in facts["similar"]] == [near.word for near in lexicon.neighbours("bank", 12)]
    assert sum(sense["weight"] for sense in facts["senses"]) == pytest.approx(1)
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
    assert two["entropies"] == pytest.approx([lexicon.entropy("bank"), made(8).entropy("bank")])
    assert [len(senses) for senses in two["senses"]] == [3, 3]


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
        ("/?s=" + "a" * 1001, 414), ("/compare?a=" + "a" * 501, 414), ("/word/" + "a" * 101, 414), ("/list?page=x", 400), ("/list?sort=x", 400),
        ("/list?sort=information", 400), ("/?s=bank&view=tree&method=x", 400), ("/?s=bank&view=x", 400), ("/?s=bank&lexicon=x", 404), ("/nowhere", 404),
        ("/compare?a=bank&other=x", 404), ("/static/../web.py", 404), ("/static/..%2fweb.py", 404), ("/list?x=" + "a" * 13000, 414),
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
    monkeypatch.setattr(answers, "sentences", fails)
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


# ---------------------------------------------------------------------------------------------------------- pictures


def test_a_tree_is_placed_in_the_order_of_the_words():
    facts = answers.tree(made(), SENTENCE)
    drawn = web.tree_picture(facts["nodes"])
    places = {(node["x"], node["y"]) for node in drawn["nodes"]}
    assert len(places) == len(facts["nodes"]) == len(drawn["edges"]) + 1
    assert all(0 < x < drawn["width"] <= 400 and 0 < y < drawn["height"] for x, y in places)
    words = [node["phrase"] for node in sorted(drawn["nodes"], key=lambda node: node["y"]) if node["word"]]
    assert words == ["bob", "likes", "old", "cars"]


def test_colours_are_shared_by_the_senses_that_lead():
    assert answers.colours([[0, 6, 2], [7, 0]]) == {0: 0, 7: 1, 6: 2, 2: 3}
    assert len(set(answers.colours([range(9)]).values())) == len(answers.colours([range(9)])) == answers.COLOURS
    bar = web.stack([{"colour": 1}, {"colour": 0}], [0.5, 0.2])
    assert [(part["colour"], part["x"], part["width"]) for part in bar] == [
        (1, 0, 50),
        (0, 50, 20),
        (web.OTHERS, 70, 30),
    ]


def test_the_map_places_like_words_together(client):
    rng = np.random.default_rng(4)
    kinds = np.repeat(np.eye(4), 60, axis=0)
    factors = (kinds + 0.15 * rng.normal(size=kinds.shape))[:, :, None].astype(np.float32)
    lexicon = Lexicon(Vocabulary([f"word{i}" for i in range(240)], range(480, 240, -1)), factors)
    facts = atlas.drawn(lexicon)
    at = np.stack([facts["x"], facts["y"]], axis=1).reshape(4, 60, 2)
    assert at.min() >= 0
    assert at.max() <= 8191
    spread = at.std(axis=1).mean()
    assert np.ptp(at.mean(axis=1), axis=0).max() > 3 * spread
    answer = client.get("/map.json")
    while answer.status_code == 202:
        answer = client.get("/map.json")
    assert sorted(answer.json()["words"]) == sorted(
        made().vocabulary.words[row] for row in np.flatnonzero(Listing(made()).content)
    )
    assert answer.headers["content-encoding"] == "gzip"


def test_many_texts_at_once(client):
    texts = [TEXT, "🎉"]
    results = client.post("/api/read?lexicon=second", json={"texts": texts}).json()["results"]
    assert results[0]["words"] == client.get("/sentence.json", params={"s": TEXT, "lexicon": "second"}).json()["words"]
    assert "no word" in results[1]["notes"][0]
    for body, status in (
        (b"x", 400),
        (b"[]", 400),
        (b'{"texts": [1]}', 400),
        (b'{"texts": "a"}', 400),
        (b"[" * 60_000, 400),
        (b" " * 70_000, 413),
    ):
        assert client.post("/api/read", content=body).status_code == status
    for much in (["a"] * 33, ["a" * 1001]):
        assert client.post("/api/read", json={"texts": much}).status_code == 413
    assert client.get("/api/read").status_code == 405


# ---------------------------------------------------------------------------------------------------------- in public


def test_in_public_each_client_has_an_allowance(monkeypatch):
    app = application({"a": made()}, hosts=["words.example"], public=True)
    app.allowance = Allowance(rate=0.5, burst=2)
    client = TestClient(app, base_url="http://words.example", client=("10.0.0.1", 1))
    one, other = {"x-forwarded-for": "6.6.6.6, 1.2.3.4"}, {"x-forwarded-for": "1.2.3.4, 5.6.7.8"}
    assert [client.get("/word/bank", headers=one).status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/word/bank", headers=other).status_code == 200
    refused = client.get("/word/bank.json", headers=one)
    assert refused.json()["status"] == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert client.get("/static/style.css", headers=one).status_code == 200
    monkeypatch.setattr("polysema.explorer.server.MOST_MEMORY", 0)
    assert client.get("/word/bank", headers={"x-forwarded-for": "9.9.9.9"}).status_code == 503
    with pytest.raises(InputError, match="--allow-host"):
        application({"a": made()}, public=True)


def test_a_client_is_named_by_a_near_proxy_only():
    def scope(peer, *named):
        return {"client": (peer, 1), "headers": [(b"x-forwarded-for", value) for value in named]}

    assert client_of(scope("127.0.0.1", b"1.1.1.1, 2.2.2.2")) == "2.2.2.2"
    assert client_of(scope("8.8.8.8", b"2.2.2.2")) == "8.8.8.8"
    assert client_of(scope("127.0.0.1", b"nobody")) == "127.0.0.1"
    assert client_of(scope("127.0.0.1")) == "127.0.0.1"


def test_health_metrics_and_the_log_of_machines(client, app, caplog):
    caplog.set_level(logging.INFO, "polysema.explorer")
    assert client.get("/health", headers={"host": "10.1.2.3"}).json()["status"] == "ok"
    client.get("/word/bank")
    text = client.get("/metrics").text
    assert re.search(r'polysema_answers_total\{page="word",status="200"\} [1-9]', text)
    assert re.search(r"process_resident_memory_bytes \d+", text)
    assert client.get("/metrics", headers={"x-forwarded-for": "1.1.1.1"}).status_code == 404
    line = json.loads(JsonLines().format(caplog.records[-2]))
    assert (line["page"], line["status"], line["level"]) == ("metrics", 200, "info")
    app.pages.warming = True
    assert client.get("/health").status_code == 503
    app.pages.warming = False


def test_no_answer_has_a_folder_of_this_machine(client, monkeypatch):
    def fails(*_, **__):
        raise InputError(
            "/home/ann/models/x.bin: cannot be read, and (/var/lib/y) neither; see /word or http://a.b/c/d"
        )

    monkeypatch.setattr(answers, "word", fails)
    told = client.get("/word/family.json").json()["error"]
    assert told == "…/x.bin: cannot be read, and (…/y) neither; see /word or http://a.b/c/d"


def test_who_goes_away_is_not_waited_for():
    async def main():
        app = application({"a": made()})
        app.work, go = WorkQueue(threads=1, waiting=5), threading.Event()
        busy = asyncio.create_task(app.work("busy", lambda: go.wait(30)))
        await asyncio.sleep(0)
        messages = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]
        sent = []

        async def receive():
            return messages.pop(0) if messages else await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": "/word/bank", "raw_path": b"/word/bank", "query_string": b"", "headers": [(b"host", b"localhost")],
        }  # fmt: skip
        await app(scope, receive, send)
        assert sent[0]["status"] == 499
        await asyncio.sleep(0.05)
        assert app.work.running == 1  # the question was taken back
        go.set()
        await busy
        app.work.close()

    asyncio.run(main())


# ----------------------------------------------------------------------------------------------------------- the rest


def test_lexicons_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed=1").mkdir()
    assert named([]) == {"default": "default"}
    assert named(["a=x/y", "models/z/", "seed=1"]) == {"a": "x/y", "z": "models/z/", "seed=1": "seed=1"}
    for wrong in (["a=x", "a=y"], ["=x"], ["x" * 80]):
        refused(InputError, "name of its own", named, wrong)


def test_vectors_show_what_they_can():
    """Neighbours, similarity and the list of all; what is missing is said."""
    rng = np.random.default_rng(3)
    vectors = VectorLexicon(Vocabulary(WORDS, range(180, 0, -10)), rng.normal(size=(len(WORDS), 6)))
    models = {"vectors": vectors}
    client = TestClient(application({**models, "matrices": made()}), base_url="http://localhost")
    for name, model in models.items():
        asked = {"lexicon": name}
        for path, query in {
            "/": {}, "/word": {}, "/word/bank": {}, "/list": {"sort": "count"}, "/list?size=3": {}, "/about": {},
            "/?s=" + quote(SENTENCE): {}, "/compare": {"a": "bank", "b": "(old cars)"}, "/compare?a=bank&other=matrices": {},
        }.items():  # fmt: skip
            start, _, given = path.partition("?")
            answer = client.get(f"{start}?{given}&{urlencode({**asked, **query})}")
            assert answer.status_code == 200, (name, path, answer.text)
        word = client.get("/word/bank.json", params=asked).json()
        assert [near["word"] for near in word["similar"]] == [near.word for near in model.neighbours("bank", 12)]
        assert (word["senses"], word["ambiguity"]["count"]) == ([], 180)
        assert word["cannot"] in client.get("/word/bank", params=asked).text
        facts = client.get("/compare.json", params={**asked, "a": "bank", "b": "river"}).json()
        assert [row["a_to_b"] for row in facts["measures"]] == [pytest.approx(model.similarity("bank", "river"))]
        composed = client.get("/sentence.json", params={**asked, "s": SENTENCE, "view": "tree"}).json()
        near = model.neighbours(model.compose(SENTENCE), 6)
        assert [item["word"] for item in composed["nodes"][-1]["neighbours"]] == [item.word for item in near]
        assert client.get("/list.json", params={**asked, "sort": "information"}).status_code == 400
    assert word["ambiguity"]["entropy"] is None
    two = client.get("/compare.json?a=bank&other=vectors&lexicon=matrices").json()["two"]
    assert (two["senses"][1], two["entropies"][1]) == ([], None)
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
    answer = client.get("/?s=bob+likes+old+cars&view=tree")
    assert (answer.status_code, answer.headers["refresh"]) == (202, "1")
    assert "being loaded" in answer.text
    assert client.get("/", params={"s": SENTENCE, "view": "tree"}).status_code == 200  # brackets need no parser
    assert client.get("/?s=bob+likes+old+cars").status_code == 200  # words need none
    app.pages.warming = False
    assert client.get("/?s=bob+likes+old+cars&view=tree").status_code != 202  # it was not kept


def test_the_openapi_document_is_true(client, app):
    validate = pytest.importorskip("openapi_spec_validator").validate
    document = client.get("/openapi.json").json()
    validate(document)
    for path, item in document["paths"].items():
        if "post" in item:
            assert client.post(path, json={"texts": [TEXT]}).status_code == 200
            continue
        answer = client.get(path.replace("{word}", "bank"))
        assert answer.status_code in (200, 202)
        if path.endswith(".json"):
            assert "lexicon" in {parameter["name"] for parameter in item["get"]["parameters"]}
            assert answer.headers["content-type"] == "application/json"
    routes = {route.path for route in app.app.routes if route.path.endswith(".json") or "GET" not in route.methods}
    assert routes - {"/openapi.json"} == {path.replace("{word}", "{word:path}") for path in document["paths"]} - {
        "/health",
        "/metrics",
    }
    asked = {parameter["name"] for parameter in document["paths"]["/list.json"]["get"]["parameters"]}
    assert {"sort", "part_of_speech", "page"} <= asked
    read = client.post("/api/read", json={"texts": [TEXT]}).json()["results"][0]
    for name, facts in (("Reading", read), ("Word", read["words"][0]), ("Sense", read["words"][0]["senses"][0])):
        assert set(document["components"]["schemas"][name]["properties"]) <= set(facts)
