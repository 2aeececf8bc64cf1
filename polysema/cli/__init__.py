"""The command line: ``polysema COMMAND …``.

Each command is a few lines over the library. Errors become one line here, and only here.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Any

import click

from polysema.cli import corpora, drawing, evaluation, explore, lexicons, senses, sentences, training
from polysema.cli.output import SHARED, notes, shortened
from polysema.errors import PolysemaError
from polysema.version import __version__

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class _InOrder(click.Group):
    """Lists commands in the order of the work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="polysema")
def polysema(**shared: Any) -> None:
    """Words as density matrices: mixtures of their senses.

    How ambiguous is a word, what are its senses, which one is meant in a sentence?

    \b
      polysema demo
      polysema explore
      polysema senses bank run
      polysema disambiguate bank "The bank raised its interest rate."
      polysema compose "The local family runs a small hotel."
      polysema train my-text.txt

    A model comes with polysema; -l names another: a folder that polysema wrote, or a file of matrices or vectors (npz,
    text, word2vec, GloVe), as does POLYSEMA_LEXICON. The options below belong to all commands that can use them and
    may stand before or after the command's name; the --help of a command names those that it takes.
    """


for room in (lexicons, senses, sentences, drawing, explore, corpora, training, evaluation):
    for command in room.COMMANDS:
        polysema.add_command(command)
polysema.params += SHARED.values()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 2 for bad input, 130 after Ctrl-C, 1 for a fault of polysema."""
    try:
        with notes():
            result = polysema.main(args=arguments, prog_name="polysema", standalone_mode=False)
        return result if isinstance(result, int) else OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "polysema"
        return _complain(f"{_one_line(error.format_message())} (see {where} --help)", BAD_INPUT)
    except click.ClickException as error:
        return _complain(_one_line(error.format_message()), BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        return _complain("stopped", INTERRUPTED)
    except BrokenPipeError:
        return _after_a_closed_pipe()
    except SystemExit as stop:  # click raises it when the reader of a pipe has gone, and after completing a command
        return _after_a_closed_pipe() if stop.code == 1 else OK
    except PolysemaError as error:
        return _complain(_one_line(str(error)), BAD_INPUT)
    except MemoryError:
        return _complain("not enough memory", BAD_INPUT)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _complain(f"{name}{error.strerror or error}", BAD_INPUT)
    except Exception as error:
        if _was_stopped(error):
            return _complain("stopped", INTERRUPTED)
        if os.environ.get("POLYSEMA_TRACEBACK"):
            raise
        what = _one_line(f"{type(error).__name__}: {error}")
        return _complain(f"this is a fault of polysema: {what} (POLYSEMA_TRACEBACK=1 shows where)", FAILED)


def _after_a_closed_pipe() -> int:
    """``polysema … | head`` is no error: what is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return OK


def _was_stopped(error: BaseException | None) -> bool:
    """Whether a signal is behind an error: NumPy makes a TypeError of whatever ends a comparison of its types."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def run() -> None:
    """The entry point of the installed command; being told to end cleans up like Ctrl-C.

    When the command is over nothing is left to be stopped: a signal that comes then is ignored.
    """
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # where the shell does not say to
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # what this encoding has no text for is escaped
                stream.reconfigure(errors="backslashreplace")
        code = main()
        _ignore_signals()
    except KeyboardInterrupt:  # Ctrl-C while the error is printed
        _ignore_signals()
        code = _complain("stopped", INTERRUPTED)
    sys.exit(code)


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _complain(message: str, code: int) -> int:
    click.echo(f"{click.style('polysema: error:', fg='red')} {shortened(message)}", err=True)
    return code


def _one_line(message: str) -> str:
    return " ".join(message.split())
