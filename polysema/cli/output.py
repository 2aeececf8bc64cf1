"""What commands share: options, reading phrases, and printing: columns for people, JSON for programs."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click

from polysema.composition.phrases import Brackets, PlainText
from polysema.errors import Failed, FormatError, InputError
from polysema.meanings.results import clean
from polysema.storage import read_text


class _Natural(click.IntRange):
    """0, 1, 2 … up to the largest index; the bound is not printed in every line of help."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if number > sys.maxsize:
            self.fail(f"{number} is too large: at most {sys.maxsize}.", param, ctx)
        return number


NATURAL = _Natural(min=0)
PATH = click.Path(path_type=Path)
NEEDED = object()  # the default of a shared option that a command cannot do without


class Shared(SimpleNamespace):
    """The shared options that a command takes, by the names of :data:`SHARED`, as they were given or by default."""

    def __getattr__(self, name: str) -> Any:  # an option that the command does not take is not given
        return None


def _hush(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["polysema.quiet"] = True


def _option(*names: str, **facts: Any) -> click.Option:
    return click.Option(names, **facts)


SHARED = {
    str(option.name): option
    for option in (
        _option(
            "-l", "--lexicon", "path", envvar="POLYSEMA_LEXICON", metavar="LEXICON",
            help="The lexicon to ask: a folder, or a file in any format of `polysema convert`.  "
            "[default: the model that comes with polysema]",
        ),
        _option("-o", "--output", type=PATH, metavar="PATH", help="The folder or file to write."),
        _option("--force", is_flag=True, help="Replace an output that polysema wrote."),
        _option("--dtype", metavar="TYPE", help="Type of the saved numbers: float32 or float16."),
        _option("-f", "--file", metavar="FILE", help="Read phrases from a file, one a line; - is standard input."),
        _option("-n", "--top", type=NATURAL, metavar="N", help="How many results to list."),
        _option("-m", "--method", metavar="NAME", help="Composition method: see polysema compose --help."),
        _option("-p", "--pattern", metavar="ROLES", help='Roles of plain words: "adj subj verb adj obj".'),
        _option("--text", is_flag=True, help="Read every phrase as plain text."),
        _option("--brackets", is_flag=True, help="Read every phrase as a tree in brackets."),
        _option("--no-parser", is_flag=True, help="Do not parse: use context words alone, which is far quicker."),
        _option("--seed", type=NATURAL, metavar="N", help="Seed of random choices."),
        _option("--engine", metavar="NAME", help="What does the work: local, or ray (a cluster)."),
        _option("--address", metavar="HOST:PORT", help="Address of a Ray cluster, or auto; by default a new one."),
        _option(
            "--data", type=PATH, envvar="POLYSEMA_DATA", metavar="DIR", help="The folder with the evaluation sets."
        ),
        _option("--offline", is_flag=True, help="Do not download missing evaluation sets."),
        _option("--json", "as_json", is_flag=True, help="Print JSON."),
        _option(
            "--jsonl", "as_lines", is_flag=True,
            help='Print one line of JSON per answer. Lines of --file may be JSON as well: {"text": …}.',
        ),
        _option(
            "-q", "--quiet", is_flag=True, expose_value=False, callback=_hush, help="Print results and errors only."
        ),
    )
}  # fmt: skip
"""Options of several commands, by the name of their parameter. They are declared on the group ``polysema``."""


class Command(click.Command):
    """A command that takes some of the shared options, before its name or after it.

    ``shared`` maps the names of their parameters to this command's defaults.
    """

    shared: dict[str, Any]

    def own_params(self) -> list[click.Parameter]:
        """Its arguments and options without the shared ones."""
        return self.params

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Own and shared parameters, and ``--help``."""
        shared = [*(SHARED[name] for name in self.shared), SHARED["quiet"]]
        return [*self.own_params(), *shared, *super().get_params(ctx)[len(self.params) :]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a shared option after the command's name wins over one before it."""
        rest = super().parse_args(ctx, args)
        root = ctx.find_root()
        given = click.core.ParameterSource.COMMANDLINE
        for name in set(root.params) - set(self.shared):
            if root is not ctx and name in SHARED and root.get_parameter_source(name) is given:
                raise click.UsageError(f"{self.name} has no option {SHARED[name].opts[-1]}", ctx)
        for name, default in self.shared.items():
            if ctx.get_parameter_source(name) is not given and root.get_parameter_source(name) is given:
                ctx.params[name] = root.params[name]
            if ctx.params[name] is None:
                ctx.params[name] = default
            if ctx.params[name] is NEEDED:
                raise click.MissingParameter(ctx=ctx, param=SHARED[name])
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print own options with their help, and shared ones in a line."""
        rows = [found for param in self.own_params() if (found := param.get_help_record(ctx))]
        rows.append(("-h, --help", "Show this message and exit."))
        with formatter.section("Options"):
            formatter.write_dl(rows)
        with formatter.section("Shared options (polysema --help)"):
            formatter.write_text(", ".join([_named(name, default) for name, default in self.shared.items()] + ["-q"]))


def _named(name: str, default: Any) -> str:
    """How help names a shared option: with its default where this command has one."""
    option = SHARED[name]
    shown = option.opts[0] + ("" if option.is_flag else f" {option.metavar}")
    if default is NEEDED:
        return f"{shown} (required)"
    return shown if default in (None, "", False) else f"{shown} ({default})"


def command(
    *shared: str, name: str | None = None, cls: type[Command] = Command, **defaults: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function. It takes shared options by name, or as keywords with the command's defaults.

    The function gets them as its first argument, a :class:`Shared`; then its own options, by keyword.
    """
    taken = {**dict.fromkeys(shared), **defaults}

    def made(function: Callable[..., Any]) -> Command:
        @wraps(function)
        def called(**options: Any) -> Any:
            return function(Shared(**{each: options.pop(each) for each in taken}), **options)

        found = click.command(name or function.__name__, cls=cls)(called)
        found.shared = taken
        return found

    return made


def _lines(name: str) -> list[str]:
    """The lines of a text file, or of standard input for ``-``."""
    if name != "-":
        return read_text(Path(name)).splitlines()
    try:
        return sys.stdin.buffer.read().decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"standard input: not UTF-8 text at byte {error.start}") from None


_WIDE = 10_000  # columns where there is no terminal


class _Notes(logging.Handler):
    """What is odd about a text, a line each on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"note: {record.getMessage()}")


@contextmanager
def notes() -> Iterator[None]:
    """Print what reading text logs, for as long as the block lasts."""
    log, handler = logging.getLogger("polysema.corpus"), _Notes()
    level, log.propagate = log.level, False
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = True


def print_json(value: Any) -> None:
    """JSON on standard output; infinities, which JSON does not know, as null."""
    click.echo(json.dumps(clean(value), indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Sequence[Any]], headings: Sequence[str] = ()) -> None:
    """Columns side by side, numbers to the right, headings dim; on a narrow terminal cells fold, none is cut off.

    Where there is no terminal a row is one line, however long, and there are no colours.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=bool(headings), header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for i in range(len(headings) or max(map(len, rows), default=0)):
        right = bool(rows) and all(isinstance(row[i], int | float) or row[i] is None for row in rows)
        table.add_column(headings[i] if headings else "", justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_filled(rows: Sequence[Sequence[str]], headings: Sequence[str] = ()) -> None:
    """A table without the columns that say nothing: keys and parts of speech are not always known."""
    columns = range(len(headings) or max(map(len, rows), default=0))
    kept = [i for i in columns if not rows or any(row[i] for row in rows)]
    print_table([[row[i] for i in kept] for row in rows], [headings[i] for i in kept] if headings else ())


def narrowing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--pos``, ``--lemma`` and ``--fine`` of a command."""
    for option in (
        click.option("--fine", is_flag=True, help="All senses that the dictionary tells apart."),
        click.option("--lemma", metavar="LEMMA", help="Only senses of this lemma: see, for the form saw."),
        click.option("--pos", metavar="POS", help="Only senses of this part of speech: noun, verb, adj or adv."),
    ):
        function = option(function)
    return function


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


_BATCH = 256  # questions that are asked together where answers are printed as they come
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


def asked(phrases: Iterable[str], given: Shared, missing: str) -> list[Asked]:
    """The phrases of the command line and the lines of ``--file``; with ``--jsonl`` a line may be JSON.

    ``--text`` and ``--brackets`` say how to read them where a phrase could be mistaken.

    Args:
        missing: the error where there are none.
    """
    if given.text and given.brackets:
        raise InputError("a phrase is plain text or a tree in brackets: give --text or --brackets, not both")
    kind = PlainText if given.text else Brackets if given.brackets else str
    found = [Asked(phrase, {}) for phrase in phrases]
    for number, line in enumerate(_lines(given.file) if given.file is not None else (), 1):
        if given.as_lines and line.lstrip().startswith("{"):
            found.append(_of_json(line, number))
        elif line.strip():
            found.append(Asked(line.strip(), {}))
    if not found:
        raise InputError(missing)
    return [item._replace(text=kind(item.text)) for item in found]


def _of_json(line: str, number: int) -> Asked:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number}: not JSON: {error}") from None
    text = next((record[name] for name in _NAMES if isinstance(record.get(name), str)), None)
    if text is None:
        raise InputError(f"line {number}: no text in {line.strip()[:60]}: give one of {', '.join(_NAMES)}")
    return Asked(text, record)


Answered = tuple[Asked, Any]
"""A question with its answer, a result or a :class:`Failed`."""


def answer(
    questions: list[Asked],
    given: Shared,
    ask: Callable[[list[Asked]], list[Answered]],
    facts: Callable[[Asked, Any], dict[str, Any]],
    show: Callable[[Any], None],
) -> int:
    """Ask the questions and print the answers; with ``--jsonl`` a few at a time, as they come.

    Args:
        ask: answers some questions.
        facts: an answer as JSON; ``{"error": …}`` is added for one that failed.
        show: prints an answer for people.

    Returns:
        the exit code: 2 where an answer failed.
    """
    failed = False
    size = _BATCH if given.as_lines else len(questions)
    for start in range(0, len(questions), size):
        found = ask(questions[start : start + size])
        failed = failed or any(isinstance(item, Failed) for _, item in found)
        records = []
        for one, item in found if given.as_lines or given.as_json else ():
            error = {"error": str(item.error)} if isinstance(item, Failed) else {}
            records.append({**facts(one, item), **error})
        if given.as_lines:
            for (one, _), fact in zip(found, records, strict=True):
                click.echo(json.dumps(clean({**one.record, **fact}), ensure_ascii=False))
                sys.stdout.flush()
        elif len(found) == 1 and isinstance(found[0][1], Failed):
            raise found[0][1].error
        elif given.as_json:
            print_json(records)
        else:
            for one, item in found:
                if isinstance(item, Failed):
                    click.echo(f"{shortened(one.text)}\n  failed: {shortened(item.error)}", err=True)
                else:
                    show(item)
    return 2 if failed else 0
