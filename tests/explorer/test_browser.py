"""The explorer as a person uses it, in chromium: mouse, keyboard alone, without JavaScript; and in the background."""

import contextlib
import http.server
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra explore is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")
pytest.importorskip("uvicorn", reason="the extra explore is not installed")

import polysema
from polysema import VectorLexicon, Vocabulary
from polysema.explorer.server import Explorer, application
from tests.explorer import hostile
from tests.explorer.test_pages import REPORT, SENTENCE, WORDS, made


@pytest.fixture(scope="module")
def explorer():
    rng = np.random.default_rng(3)
    vectors = VectorLexicon(Vocabulary(WORDS, range(180, 0, -10)), rng.normal(size=(len(WORDS), 6)))
    app = application({"lexicon": made(), "second": made(8), "vectors": vectors}, framed=True, evaluation=REPORT)
    running = Explorer(app)
    yield running
    running.stop()


def test_in_a_notebook_it_is_a_frame_that_answers():
    explorer = polysema.explore(made())
    assert f"<iframe src='{explorer.url}'" in explorer._repr_html_()
    with urllib.request.urlopen(explorer.url + "word/bank.json", timeout=20) as answer:
        assert b'"word":"bank"' in answer.read()
        assert "http://localhost:*" in answer.headers["content-security-policy"]
    explorer.stop()


def test_hostile_requests_do_no_harm(explorer):
    tally = hostile.run(int(explorer.url.rsplit(":", 1)[1].strip("/")), 200)
    assert tally.faults == []
    assert {200, 400, 404, 414, 421} <= tally.statuses.keys()


def test_broken_bytes_after_an_answer_are_one_line_in_the_log(explorer, caplog):
    port = int(explorer.url.rsplit(":", 1)[1].strip("/"))
    head = b"POST /about HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head)
        assert b"405" in connection.recv(65_536)
        connection.sendall(b"zz\r\n")
        with contextlib.suppress(ConnectionError):
            while connection.recv(65_536):
                pass
    assert "broken request" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_command_starts_and_ctrl_c_ends_it_cleanly(tmp_path):
    made().save(tmp_path / "small")
    command = [sys.executable, "-m", "polysema", "explore", f"small={tmp_path / 'small'}", "--port=0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().split()[3]
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert b"See ambiguity resolve" in answer.read()
            process.send_signal(signal.SIGINT)
            process.wait(20)
        finally:
            process.kill()
        assert (process.returncode, process.stderr.read()) == (0, "")


# ---------------------------------------------------------------------------------------------------------- a browser


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if where is None:
        pytest.skip("no chromium on this machine")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, explorer, request):
    """A page that must not ask another host for anything, nor say anything in its console."""
    script = getattr(request, "param", True)
    context = chromium.new_context(java_script_enabled=script, viewport={"width": 400, "height": 800})
    page, wrong = context.new_page(), []
    page.set_default_timeout(30_000)
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith(explorer.url) else wrong.append(sent.url))
    page.goto(explorer.url)
    yield page
    context.close()
    assert wrong == []


def _until(page, text):
    page.get_by_text(text, exact=True).wait_for()


@pytest.mark.parametrize("page", [True, False], indirect=True, ids=["script", "no script"])
def test_every_page_as_a_person_uses_it(page):
    page.get_by_label("See ambiguity resolve").fill(SENTENCE)
    page.get_by_role("button", name="Compose").click()
    _until(page, "step 3 of 3")
    page.get_by_role("link", name="← Back").click()
    _until(page, "step 2 of 3")
    page.get_by_role("link", name="Forward →").click()
    _until(page, "step 3 of 3")
    page.get_by_role("link", name="fuzz", exact=True).click()
    page.locator("a[aria-current=true]", has_text="fuzz").wait_for()
    page.get_by_role("link", name="List").click()
    page.get_by_label("Begins with").fill("ba")
    page.get_by_label("Part of speech").select_option("noun")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="bank", exact=True).click()
    assert page.locator("h1").inner_text() == "bank"
    style = "getComputedStyle(document.querySelector('.card')).borderRadius"
    assert page.evaluate(style) == "8px"  # the style sheet
    page.get_by_role("link", name="second", exact=True).click()
    page.locator(".choice a[aria-current]", has_text="second").wait_for()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_label("First", exact=True).fill("bank")
    page.get_by_label("Second", exact=True).fill("(old cars)")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="By every measure").wait_for()
    page.get_by_label("or the first in").select_option("lexicon")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="The 20 nearest words").wait_for()
    page.get_by_role("link", name="Evaluation").click()
    page.get_by_role("cell", name="0.100 to 0.400").wait_for()
    page.get_by_role("link", name="About").click()
    page.get_by_role("heading", name="What the numbers mean").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_by_the_keyboard_alone(page):
    page.keyboard.type(SENTENCE)  # the field has the focus
    page.keyboard.press("Enter")
    _until(page, "step 3 of 3")
    page.keyboard.press("ArrowLeft")
    _until(page, "step 2 of 3")
    assert page.url.endswith("step=2")
    page.keyboard.press("ArrowRight")
    _until(page, "step 3 of 3")
    page.go_back()
    _until(page, "step 2 of 3")
    page.keyboard.press("/")
    page.keyboard.type("bank")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="bank").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


PATHS = [
    "", f"?s={SENTENCE}", f"?s={SENTENCE}&step=0", "word", "word/bank", "word/bnak", "list", "list?prefix=zz", "compare", "compare?a=bank&b=river",
    "compare?a=bank&other=second", "evaluation", "about", "word/bank?lexicon=vectors", f"?s={SENTENCE}&lexicon=vectors", "list?lexicon=vectors",
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_no_serious_violation(chromium, explorer, scheme, width):
    """On every page: contrast is of the colours of the scheme, and what scrolls depends on the width."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed")
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page, found = context.new_page(), {}
    for path in PATHS:
        page.goto(explorer.url + path)
        page.evaluate(axe.AXE_SCRIPT)
        results = page.evaluate("axe.run({resultTypes: ['violations']})")
        wrong = [
            (item["id"], node["target"], node["failureSummary"])
            for item in results["violations"]
            if item["impact"] in ("serious", "critical")
            for node in item["nodes"][:3]
        ]
        found |= {path: wrong} if wrong else {}
    context.close()
    assert found == {}


def test_in_the_frame_of_a_notebook(chromium, explorer):
    """What a cell shows: the frame loads although the page around it is of another origin on this machine."""
    around = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Notebook)
    _Notebook.html = explorer._repr_html_()
    threading.Thread(target=around.serve_forever, daemon=True).start()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{around.server_port}/")
    frame = page.frame_locator("iframe")
    frame.get_by_label("See ambiguity resolve").fill(SENTENCE)
    frame.get_by_role("button", name="Compose").click()
    frame.get_by_text("step 3 of 3", exact=True).wait_for()
    context.close()
    around.shutdown()
    around.server_close()


class _Notebook(http.server.BaseHTTPRequestHandler):
    html = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>notebook</title>" + self.html.encode())

    def log_message(self, *_):
        pass


def test_printed_it_has_no_controls_and_open_tables(chromium, explorer):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{explorer.url}?s={SENTENCE}")
    page.emulate_media(media="print")
    for hidden in (".top nav", ".ask", ".steps"):
        assert not page.locator(hidden).first.is_visible()
    assert page.locator("svg.tree").is_visible()
    assert page.pdf()[:5] == b"%PDF-"
    context.close()
