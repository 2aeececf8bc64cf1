"""The site is built without a warning and without a network, and holds every public name and every command."""

import html
import os
import re
from pathlib import Path

import click
import pytest

import polysema as ps
from polysema.cli import polysema
from polysema.version import __version__
from tests.conftest import ROOT
from tests.processes import python


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-d", folder / "trees"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = python("-m", "sphinx", *options, ROOT / "docs", folder / "html", env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def page(site: Path, name: str) -> str:
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_every_public_name_and_every_command_is_in_the_reference(site):
    text = page(site, "reference/python")
    assert [name for name in ps.__all__ if not name.startswith("_") and f'id="polysema.{name}"' not in text] == []

    def paths(command, name):
        yield name
        for part, child in getattr(command, "commands", {}).items():
            yield from paths(child, f"{name} {part}")

    text = html.unescape(re.sub(r"<[^>]+>", "", page(site, "reference/commands")))
    assert isinstance(polysema, click.Group)
    assert [name for name in paths(polysema, "polysema") if f"Usage: {name} " not in text] == []


def test_pages_are_there_linked_searched_and_need_no_other_host(site):
    for source in (ROOT / "docs").rglob("*.md"):
        assert (site / source.relative_to(ROOT / "docs")).with_suffix(".html").is_file(), source
    assert 'href="senses.html"' in page(site, "mathematics")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert {"phaser", "lexicograph"} <= set(re.findall(r"\w+", index))
    for file in site.rglob("*.html"):
        loaded = r"<(?:link|script|img)\b[^>]*?(?:href|src)=\"(https?:[^\"]+)"
        assert re.findall(loaded, file.read_text(encoding="utf-8")) == [], file.name


def test_the_citation_names_this_version_and_the_paper():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert "Modelling Lexical Ambiguity with Density Matrices" in text
    assert f"version = {{{__version__}}}" in (ROOT / "docs/cite.md").read_text(encoding="utf-8")
