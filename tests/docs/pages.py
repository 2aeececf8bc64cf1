"""What a page in Markdown holds that can be run: Python blocks, and command lines in blocks and in the text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[;&|(]|\bdo )\s*\$?\s*((?:polysema|python (?:benchmarks|tools)/\S+\.py)(?: .*)?)$")


@dataclass(frozen=True)
class Found:
    """A piece of a page and the line it starts on; ``kind`` is the fence's language, "block" or "text"."""

    page: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, language: str) -> list[Found]:
    """The fenced blocks of a language."""
    text = page.read_text(encoding="utf-8")
    return [
        Found(page, text[: match.start()].count("\n") + 2, language, match.group(2))
        for match in FENCE.finditer(text)
        if match.group(1) == language
    ]


def commands(page: Path) -> Iterator[Found]:
    """The command lines of a page: lines of indented or fenced blocks, and code in the text."""
    text = FENCE.sub(
        lambda m: _indented(m) if m.group(1) in ("sh", "console", "") else _blank(m), page.read_text("utf-8")
    )
    text = text.replace("\\\n", "  ")
    kept = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    "):
            for part in re.split(r";|&&|\|(?= )", line.strip()):
                if match := COMMAND.search(part):
                    yield Found(page, number, "block", match.group(1))
            line = ""
        kept.append(line)
    for match in re.finditer(r"`([^`]+)`", "\n".join(kept)):
        number = "\n".join(kept)[: match.start()].count("\n") + 1
        if found := COMMAND.match(" ".join(match.group(1).split())):
            yield Found(page, number, "text", found.group(1))


def words(command: str) -> list[str]:
    """A command line as its arguments, without comments and without what brackets mark as optional."""
    return [word for word in shlex.split(command, comments=True) if word != "…"]


def _indented(match: re.Match[str]) -> str:
    return "\n" + "".join(f"    {line}\n" for line in match.group(2).splitlines())


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group(0).count("\n")
