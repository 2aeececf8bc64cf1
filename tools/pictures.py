"""The pictures of ``docs/images``, of the model that ships: ``python tools/pictures.py`` (extras ``explore`` and ``plots``, playwright, chromium).

Names of pictures after the command take only these.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote_plus

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import polysema

IMAGES = Path(__file__).parents[1] / "docs" / "images"

SENTENCE = "She struck a match and lit the candle, and we sat on the river bank and watched the boats."
TURNS = "The bank by the river was steep."
PAIR = {"a": "The prisoner was locked in a cell.", "b": "The cell divides and forms tissue."}


def query(**given: str) -> str:
    return "?" + "&".join(f"{name}={quote_plus(text)}" for name, text in given.items())


PAGES = {
    "explorer-start": "",
    "explorer-sentence": query(s=SENTENCE),
    "explorer-steps": query(s=TURNS, view="steps"),
    "explorer-tree": query(s=TURNS, view="tree"),
    "explorer-compare": "compare" + query(**PAIR),
    "explorer-word": "word/match",
    "explorer-map": "map",
    "explorer-list": "list",
}
"""Each is taken light at 1280 pixels and, with ``-narrow-dark`` after its name, dark at 400."""

DRAWINGS = {
    "bank-senses": ["senses", "bank"],
    "tree": ["tree", "(family (run hotel))", "-m", "fuzz"],
    "bank-matrix": ["matrix", "bank"],
}


def taken(page: Page, name: str, narrow: bool) -> None:
    if name == "explorer-map":
        page.locator("canvas").wait_for(timeout=300_000)
        page.wait_for_timeout(1000)
    if name == "explorer-sentence" and not narrow:
        page.locator("a.word", has_text="match").hover()
    page.wait_for_timeout(400)
    path = IMAGES / f"{name}{'-narrow-dark' if narrow else ''}.png"
    page.screenshot(path=path)
    picture = Image.open(path).convert("RGB")
    picture = picture.quantize(256, Image.Quantize.MAXCOVERAGE)  # small marks keep their colours
    picture.save(path, optimize=True)  # a quarter of the size


def pages(names: list[str]) -> None:
    explorer = polysema.explore()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for narrow in (False, True):
            size = {"width": 400, "height": 860} if narrow else {"width": 1280, "height": 760}
            page = browser.new_context(color_scheme="dark" if narrow else "light", viewport=size).new_page()
            while not page.request.get(explorer.url + "health").ok:  # it gets its parser ready
                page.wait_for_timeout(500)
            for name in names:
                page.goto(explorer.url + PAGES[name])
                taken(page, name, narrow)
        browser.close()
    explorer.stop()


def main(wanted: list[str]) -> None:
    if names := [name for name in PAGES if name in (wanted or PAGES)]:
        pages(names)
    for name, command in DRAWINGS.items():
        if name in (wanted or DRAWINGS):
            line = [sys.executable, "-m", "polysema", "draw", *command, "--force", "-o", IMAGES / f"{name}.png"]
            subprocess.run(line, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
