"""The command line: ``polysema COMMAND …``.

Each command is a few lines over the library. Errors become one line here, and only here.
"""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import threading
import time

import click
from click.shell_completion import get_completion_class

from polysema.cli import corpora, drawing, evaluation, explore, lexicons, senses, sentences, training
from polysema.cli.output import notes, quiet_option, shortened
from polysema.errors import PolysemaError
from polysema.version import __version__

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class _InOrder(click.Group):
    """Lists commands in the order of the work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="polysema")
def polysema() -> None:
    """Words as density matrices: mixtures of their senses.

    How ambiguous is a word, what are its senses, which one is meant here?

    \b
      polysema demo
      polysema explore
      polysema senses bank run
      polysema disambiguate bank "The bank raised its interest rate."
      polysema compose "The local family runs a small hotel."
      polysema train my-text.txt

    A model comes with polysema; -l names another: a folder that polysema wrote, or a file of matrices or vectors (npz,
    text, word2vec, GloVe), as does POLYSEMA_LEXICON. Every command teaches with --help, and those that ask take --json.
    """


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell, so that TAB completes commands, options and files.

    \b
      polysema completion bash > ~/.local/share/bash-completion/completions/polysema
      polysema completion zsh > "${fpath[1]}/_polysema"
      polysema completion fish > ~/.config/fish/completions/polysema.fish

    It is used by the next shell that is opened.
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "polysema", "_POLYSEMA_COMPLETE").source())


for room in (lexicons, senses, sentences, drawing, explore, corpora, training, evaluation):
    for command in room.COMMANDS:
        polysema.add_command(command)
polysema.add_command(completion)


def _everywhere(group: click.Group) -> None:
    """``--quiet`` on every command, before or after its name."""
    for command in (group, *group.commands.values()):
        if isinstance(command, click.Group) and command is not group:
            _everywhere(command)
        elif command.name != "train":  # which has it already, and whose options are not to be loaded now
            quiet_option(command)


_everywhere(polysema)


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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the exit does not complain again
        return OK
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
        sys.unraisablehook = _unraisable
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # what this encoding has no text for is escaped
                stream.reconfigure(errors="backslashreplace")
        code = main()
        _ignore_signals()
    except KeyboardInterrupt:  # while the last words were said
        _ignore_signals()
        code = _complain("stopped", INTERRUPTED)
    sys.exit(code)


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _unraisable(told: sys.UnraisableHookArgs) -> None:
    """What could not be raised where it happened. A signal that came while Python deleted an object is sent again."""
    if issubclass(told.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_send_again, ())
    else:
        sys.__unraisablehook__(told)


def _send_again() -> None:
    """Stop the main thread once it has left :func:`_unraisable`: there the signal would be lost again."""
    frame = sys._current_frames().get(main := threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code is _unraisable.__code__:
            time.sleep(0.01)
            frame = sys._current_frames().get(main)
        else:
            frame = frame.f_back
    _thread.interrupt_main(signal.SIGTERM)


def _complain(message: str, code: int) -> int:
    click.echo(f"{click.style('polysema: error:', fg='red')} {shortened(message)}", err=True)
    return code


def _one_line(message: str) -> str:
    return " ".join(message.split())
