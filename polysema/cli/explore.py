"""The command that opens the explorer."""

from __future__ import annotations

import json
import os
import webbrowser
from pathlib import Path

import click

from polysema.cli.output import PATH, command
from polysema.errors import FormatError, InputError
from polysema.lexicon.formats import load
from polysema.storage import check_regular


@command()
@click.argument("lexicons", nargs=-1, metavar="[LEXICON …]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Which address to listen on.")
@click.option("--port", default=8765, show_default=True, help="Which port; 0 takes any that is free.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--prefix", default="", metavar="PATH", help="What stands before every path behind a proxy.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A further host name that it answers to.")
@click.option("--evaluation", type=PATH, metavar="FILE", help="What polysema evaluate --json wrote.")
def explore(
    lexicons: tuple[str, ...],
    host: str,
    port: int,
    no_browser: bool,
    prefix: str,
    allow_host: tuple[str, ...],
    evaluation: Path | None,
) -> None:
    """See ambiguity resolve, in a browser (extra explore).

    Sentences step by step, words and their senses, the whole vocabulary. It is read only, answers this machine only,
    and asks nothing of any other. Ctrl-C ends it.

    \b
      polysema explore
      polysema explore my-model
      polysema explore early=model-1900 late=model-2000 --port 9000 --no-browser
    """
    from polysema.explorer.server import application, named, serve

    if not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 0 to 65535, not {port}")
    usual = os.environ.get("POLYSEMA_LEXICON")
    paths = named(lexicons or ((usual,) if usual else ()))
    found = {name: load(path) for name, path in paths.items()}
    report = None if evaluation is None else _report(evaluation)
    hosts = [*allow_host, *([host] if host not in ("0.0.0.0", "::") else [])]  # noqa: S104
    app = application(found, prefix=prefix, hosts=hosts, evaluation=report)

    def ready(url: str) -> None:
        click.echo(f"polysema explorer at {url}  (Ctrl-C ends it)")
        if not no_browser:
            webbrowser.open(url)

    serve(app, host, port, ready)


def _report(path: Path) -> object:
    check_regular(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not the JSON that `polysema evaluate --json` writes: {error}") from None


COMMANDS = [explore]
