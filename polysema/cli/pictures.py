"""Commands that show: pictures in files, and the explorer in a browser."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from polysema.cli.output import NEEDED, Shared, command, say
from polysema.errors import FormatError, InputError
from polysema.lexicon.lexicon import load, with_matrices
from polysema.storage import atomic_file, check_regular, writing

_PICTURES = {
    ".png": ("Software", b"Software\0polysema"),
    ".svg": ("Creator", b"<dc:title>polysema</dc:title>"),
    ".pdf": ("Creator", b"/Creator (polysema)"),
}
"""Kinds of pictures: the field that says who drew it, and how that is written in the file."""


@click.group()
def draw() -> None:
    """Draw a phrase's entropies, a matrix, or the senses of a word (extra plots)."""


@command("path", "force", output=NEEDED, method="")
@click.argument("phrase")
def tree(given: Shared, phrase: str) -> None:
    """The tree of a phrase, every node coloured by its entropy.

    \b
      polysema draw tree "The local family runs a small hotel." -o tree.png
    """
    from polysema.drawing import entropy_tree

    _draw(given, lambda: entropy_tree(load(given.path).compose(phrase, given.method)))


@command("path", "force", output=NEEDED)
@click.argument("query", metavar="WORD")
def matrix(given: Shared, query: str) -> None:
    """The density matrix of a word or a phrase, entry by entry.

    \b
      polysema draw matrix bank -o bank.png
    """
    from polysema.drawing import heat_map

    _draw(given, lambda: heat_map(with_matrices(load(given.path), "a heat map").meaning(query)))


@command("path", "force", output=NEEDED, top=6)
@click.argument("word")
def senses(given: Shared, word: str) -> None:
    """The senses of a word on a plane, each with the words nearest to it.

    \b
      polysema draw senses bank -o bank-senses.png
    """
    from polysema.drawing import senses_plane

    if not 1 <= given.top <= 20:
        raise InputError(f"a sense is drawn with 1 to 20 neighbours, not {given.top}")
    _draw(given, lambda: senses_plane(with_matrices(load(given.path), "a list of senses"), word, given.top))


def _draw(given: Shared, figure: Callable[[], Any]) -> None:
    save_picture(given.output, given.force, [] if given.path is None else [given.path], figure)


def save_picture(output: Path, force: bool, inputs: Sequence[str | Path], figure: Callable[[], Any]) -> None:
    """Save a figure, after checks of the output that would fail only when it is drawn."""
    suffix = output.suffix.lower()
    if suffix not in _PICTURES:
        raise InputError(f"{output}: no picture ends in {output.suffix!r}: choose {', '.join(_PICTURES)}")
    with writing(output, overwrite=force, inputs=inputs, owner=_drawn_by_polysema):
        drawn = figure()
        with atomic_file(output, force, _drawn_by_polysema) as stream:
            drawn.savefig(stream, format=suffix[1:], metadata={_PICTURES[suffix][0]: "polysema"})
    say(f"{output}")


def _drawn_by_polysema(path: Path) -> None:
    check_regular(path)
    if _PICTURES[path.suffix.lower()][1] not in path.read_bytes():
        raise FormatError(f"{path}: not a picture that polysema drew")


for one in (tree, matrix, senses):
    draw.add_command(one)


@command()
@click.argument("lexicons", nargs=-1, metavar="[LEXICON …]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Which address to listen on.")
@click.option(
    "--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Which port; 0 takes any free one."
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--prefix", default="", metavar="PATH", help="What stands before every path behind a proxy.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A further host name that it answers to.")
@click.option("--public", is_flag=True, help="Serve everyone, behind a proxy: limits by client, a log in JSON.")
def explore(
    given: Shared,
    lexicons: tuple[str, ...],
    host: str,
    port: int,
    no_browser: bool,
    prefix: str,
    allow_host: tuple[str, ...],
    public: bool,
) -> None:
    """See ambiguity resolve, in a browser (extra explore).

    Sentences step by step, words and their senses, the whole vocabulary. It is read only, answers this machine only,
    and asks nothing of any other. Ctrl-C ends it.

    \b
      polysema explore
      polysema explore my-model
      polysema explore early=model-1900 late=model-2000 --port 9000 --no-browser
      polysema explore --public --allow-host words.example.org
    """
    from polysema.explorer.server import application, named, serve

    usual = os.environ.get("POLYSEMA_LEXICON")
    paths = named(lexicons or ((usual,) if usual else ()))
    found = {name: load(path) for name, path in paths.items()}
    hosts = [*allow_host, *([host] if host not in ("0.0.0.0", "::") else [])]  # noqa: S104
    app = application(found, prefix=prefix, hosts=allow_host if public else hosts, public=public)

    def ready(url: str) -> None:
        click.echo(f"polysema explorer at {url}  (Ctrl-C ends it)")
        if not no_browser and not public:
            webbrowser.open(url)

    serve(app, host, port, ready)


COMMANDS = [draw, explore]
