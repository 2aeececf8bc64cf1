"""Options of the commands that take phrases: whether these are plain text or brackets, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import click

from polysema.composition.negation import NEGATIONS
from polysema.composition.phrases import Brackets, Text
from polysema.errors import InputError

_TYPES: dict[str | None, type[str]] = {"text": Text, "brackets": Brackets, None: str}


def written_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--text`` or ``--brackets``, where a phrase could be mistaken."""
    for name, what in (("brackets", "Take every phrase for a tree in brackets."), ("text", "Take it for plain text.")):
        command = click.option(f"--{name}", "written", flag_value=name, default=None, help=what)(command)
    return command


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a sentence is read: ``--negation``, ``--readings``, ``--memory``."""
    options = (
        click.option("--negation", default="", metavar="NAME", help=f"What *not* does: {', '.join(NEGATIONS)}."),
        click.option("--readings", is_flag=True, help="Mix all parses of a sentence that has several."),
        memory_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


memory_option = click.option(
    "--memory", is_flag=True, help="What a sentence tells of a word holds in the sentences after it."
)
parser_option = click.option(
    "--no-parser", is_flag=True, help="Do not parse: use the words around alone, which is far quicker."
)


lines_option = click.option(
    "--jsonl",
    "as_lines",
    is_flag=True,
    help='Print a line of JSON an answer, as they come. A line of --file may then be JSON, too: {"text": …}; what else '
    "it holds stands before the answer.",
)
_BATCH = 256
_NAMES = ("text", "sentence", "phrase", "context")


class Asked(NamedTuple):
    """A phrase, and the line of JSON that it came in."""

    text: str
    record: dict[str, Any]

    def word(self, otherwise: str) -> str:
        """The word that the line asks about; by default the one of the command line."""
        found = self.record.get("word", otherwise)
        if not isinstance(found, str) or found == "-":
            raise InputError(f'no word to ask about in {json.dumps(self.record)}: give {{"word": …, "text": …}}')
        return found


def asked(
    phrases: Iterable[str], file: Iterable[str] | None, written: str | None = None, as_lines: bool = False
) -> list[Asked]:
    """The phrases of the command line, and of a file the lines that are not empty; for ``--jsonl`` they may be JSON."""
    found = [Asked(phrase, {}) for phrase in phrases]
    for number, line in enumerate(file or (), 1):
        if as_lines and line.lstrip().startswith("{"):
            found.append(_of_json(line, number))
        elif line.strip():
            found.append(Asked(line.strip(), {}))
    return [item._replace(text=_TYPES[written](item.text)) for item in found]


def _of_json(line: str, number: int) -> Asked:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"line {number}: not JSON: {error}") from None
    text = next((record[name] for name in _NAMES if isinstance(record.get(name), str)), None)
    if text is None:
        raise InputError(f"line {number}: no text in {line.strip()[:60]}: give one of {', '.join(_NAMES)}")
    return Asked(text, record)


def batches(asked: list[Asked], as_lines: bool) -> Iterator[list[Asked]]:
    """All at once or, where answers are printed as they come, some at a time."""
    size = _BATCH if as_lines else max(len(asked), 1)
    for start in range(0, len(asked), size):
        yield asked[start : start + size]
