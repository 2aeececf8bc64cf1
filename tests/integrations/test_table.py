"""The table of docs/tools: its pages, its tests and its extras exist, and every tool of the room stands in it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "tools" / "README.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLE.splitlines() if line.startswith("| [")
]


def test_every_row_has_a_page_an_extra_versions_and_a_test():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert len(ROWS) == 9
    for tool, extra, versions, written, test in ROWS:
        page = re.search(r"\((.+\.md)\)", tool).group(1)
        assert (ROOT / "docs" / "tools" / page).is_file()
        assert extra == "none" or extra.strip("`") in extras
        assert versions
        assert 1 <= written.count("<br>") + 1 <= 3
        path = ROOT / test.strip("`| ")
        assert path.is_file()
        assert "def test_" in path.read_text(encoding="utf-8")


def test_every_page_and_every_module_is_in_the_table():
    pages = {path.name for path in (ROOT / "docs" / "tools").glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\(([\w-]+\.md)\)", TABLE))
    modules = {path.stem for path in (ROOT / "polysema" / "integrations").glob("*.py")} - {"__init__"}
    assert modules == {"spacy_component", "sklearn_features", "frames", "hub", "discopy_diagrams", "lambeq_words"}
