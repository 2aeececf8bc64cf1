"""What a page in Markdown holds that can be run: Python blocks with their output, and command lines."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[;&|(]|\bdo )\s*\$?\s*((?:polysema|python (?:benchmarks|tools)/\S+\.py)(?: .*)?)$")


@dataclass(frozen=True)
class Found:
    """A piece of a page and the line it starts on; ``output`` is what the page says a Python block prints."""

    page: Path
    line: int
    text: str
    in_block: bool = True
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def python_blocks(page: Path) -> list[Found]:
    """The Python blocks, each with the block of text that follows it directly."""
    text = page.read_text(encoding="utf-8")
    return [
        Found(page, text[: match.start()].count("\n") + 2, match.group(1), output=match.group(2))
        for match in PYTHON.finditer(text)
    ]


def commands(page: Path) -> Iterator[Found]:
    """The command lines of a page: lines of indented blocks, and code in the text."""
    text = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), page.read_text("utf-8"))
    kept = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    "):
            for part in re.split(r";|&&|\|(?= )", line.strip()):
                if match := COMMAND.search(part):
                    yield Found(page, number, match.group(1))
            line = ""
        kept.append(line)
    for match in re.finditer(r"`([^`]+)`", "\n".join(kept)):
        if found := COMMAND.match(" ".join(match.group(1).split())):
            yield Found(page, "\n".join(kept)[: match.start()].count("\n") + 1, found.group(1), in_block=False)


def words(command: str) -> list[str]:
    """A command line as its arguments, without comments."""
    return [word for word in shlex.split(command, comments=True) if word != "…"]


def agree(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, but for white space and the last digits of numbers."""
    pieces = [re.split(r"(\d+\.\d+)", " ".join(text.split())) for text in (shown, printed)]
    return len(pieces[0]) == len(pieces[1]) and all(
        abs(float(a) - float(b)) <= 0.02 if at % 2 else a == b for at, (a, b) in enumerate(zip(*pieces, strict=True))
    )
