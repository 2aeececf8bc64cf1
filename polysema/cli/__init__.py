"""The command line: ``polysema COMMAND …``.

Each command is a few lines over the library. Errors become one line here, and only here.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

import click

from polysema.cli import corpora, evaluation, lexicons, pictures, sentences, training, use
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


for room in (lexicons, sentences, use, pictures, corpora, training, evaluation):
    for command in room.COMMANDS:
        polysema.add_command(command)
polysema.params += SHARED.values()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 2 for bad input, 130 after Ctrl-C, 1 for a fault of polysema."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        with notes():
            result = polysema.main(args=arguments, prog_name="polysema", standalone_mode=False)
        return result if isinstance(result, int) else OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "polysema"
        return _complain(f"{error.format_message()} (see {where} --help)", BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        return _complain("stopped", INTERRUPTED)
    except SystemExit as stop:  # click raises it with 1 when the reader of a pipe has gone, with 0 after a completion
        if stop.code == 1:  # `polysema … | head` is no error: the rest of the output goes nowhere
            with suppress(OSError):  # a stream without a file descriptor has nothing to redirect
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except PolysemaError as error:
        return _complain(str(error), BAD_INPUT)
    except MemoryError:
        return _complain("not enough memory", BAD_INPUT)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _complain(f"{name}{error.strerror or error}", BAD_INPUT)
    except Exception as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):  # some libraries wrap it
            return _complain("stopped", INTERRUPTED)
        if os.environ.get("POLYSEMA_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}"
        return _complain(f"this is a fault of polysema: {what} (POLYSEMA_TRACEBACK=1 shows where)", FAILED)


def _complain(message: str, code: int) -> int:
    line = shortened(" ".join(message.split()))
    click.echo(f"{click.style('polysema: error:', fg='red')} {line}", err=True)
    return code
