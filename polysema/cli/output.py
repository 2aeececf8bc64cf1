"""What commands share: options, where phrases come from, and what is printed: columns for people, JSON for programs."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import click

from polysema.composition.negation import NEGATIONS
from polysema.composition.phrases import Brackets, Text
from polysema.errors import FormatError, InputError
from polysema.files.reading import read_text

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def lines_of(ctx: Any, param: Any, value: str | None) -> list[str] | None:
    """For an option that names a text file, or ``-`` for standard input: its lines."""
    if value is None:
        return None
    if value != "-":
        return read_text(Path(value)).splitlines()
    try:
        return sys.stdin.buffer.read().decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"standard input: not UTF-8 text at byte {error.start}") from None


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _Natural(click.IntRange):
    """0, 1, 2 … as far as a machine counts; the bound is not part of every line of help."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if number > sys.maxsize:
            self.fail(f"{number} is too large: at most {sys.maxsize}.", param, ctx)
        return number


NATURAL = _Natural(min=0)
PATH = click.Path(path_type=Path)


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


engine_options = together(
    click.option("--engine", default="local", metavar="NAME", help="Who does the work: local, or ray (a cluster)."),
    click.option("--address", metavar="HOST:PORT", help="Address of a Ray cluster, or auto; by default a new one."),
)
"""The options of a command that can work on a cluster."""

_WIDE = 10_000  # columns where there is no terminal


class _Notes(logging.Handler):
    """What is odd about a text, a line each on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"note: {record.getMessage()}")


@contextmanager
def notes() -> Iterator[None]:
    """Print what reading text logs, for as long as the block lasts."""
    log, handler = logging.getLogger("polysema.corpus"), _Notes()
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def print_json(value: Any) -> None:
    """JSON on standard output; infinities, which JSON does not know, as null."""
    click.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False))


def print_line(value: Any) -> None:
    """A line of JSON, at once."""
    click.echo(json.dumps(_finite(value), ensure_ascii=False))
    sys.stdout.flush()


def print_table(rows: Sequence[Sequence[Any]], headings: Sequence[str] = ()) -> None:
    """Columns side by side, numbers to the right, headings dim; on a narrow terminal cells fold, none is cut off.

    Where there is no terminal a row is one line, however long, and there are no colours.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=bool(headings), header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    columns = len(headings) or max(map(len, rows), default=0)
    for i in range(columns):
        right = bool(rows) and all(isinstance(row[i], int | float) or row[i] is None for row in rows)
        table.add_column(
            headings[i] if headings else "", justify="right" if right else "left", overflow="fold", no_wrap=False
        )
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _hush(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["polysema.quiet"] = True


quiet_option = click.option(
    "-q", "--quiet", is_flag=True, expose_value=False, callback=_hush, help="Print results and errors only."
)
"""No progress, notes and hints."""


def is_quiet() -> bool:
    """Whether ``--quiet`` was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().meta.get("polysema.quiet"))


def say(text: str) -> None:
    """A line on standard error for people, which ``--quiet`` leaves out; errors and results are no such lines."""
    if not is_quiet():
        click.echo(text, err=True)


def heading(text: str) -> None:
    """A line above a block."""
    click.echo(click.style(text, bold=True))


def shortened(message: object, most: int = 2000) -> str:
    """A message without its middle where it is long: a name or a sentence that is wrong may be of any length."""
    text = str(message)
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def number(value: float | None, digits: int = 3) -> str:
    """A number for people."""
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}f}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


_TYPES: dict[str | None, type[str]] = {"text": Text, "brackets": Brackets, None: str}


written_option = together(
    click.option("--text", "written", flag_value="text", default=None, help="Take it for plain text."),
    click.option("--brackets", "written", flag_value="brackets", help="Take every phrase for a tree in brackets."),
)
"""Where a phrase could be mistaken."""

memory_option = click.option(
    "--memory", is_flag=True, help="What a sentence tells of a word holds in the sentences after it."
)
reading_options = together(
    click.option("--negation", default="", metavar="NAME", help=f"What *not* does: {', '.join(NEGATIONS)}."),
    click.option("--readings", is_flag=True, help="Mix all parses of a sentence that has several."),
    memory_option,
)
"""How a sentence is read."""

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
