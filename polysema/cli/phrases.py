"""Options of the commands that take phrases: whether these are plain text or brackets, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from polysema.composition.negation import NEGATIONS
from polysema.composition.phrases import Brackets, Text

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
    "--no-parser", is_flag=True, help="Do not parse: tell by the words around alone, which is far quicker."
)


def asked(phrases: Iterable[str], file: Iterable[str] | None, written: str | None = None) -> list[str]:
    """The phrases of the command line, and of a file the lines that are not empty."""
    lines = [line.strip() for line in file if line.strip()] if file is not None else []
    return [_TYPES[written](phrase) for phrase in (*phrases, *lines)]
