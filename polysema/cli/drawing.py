"""Commands that draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polysema.cli.lexicons import lexicon_option
from polysema.errors import InputError
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import with_matrices

output_option = click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="png, svg or pdf, by its name.",
)


@click.group()
def draw() -> None:
    """Draw a phrase's entropies, a matrix, or the senses of a word (pip install 'polysema[plots]')."""


@draw.command()
@click.argument("phrase")
@lexicon_option
@click.option("-m", "--method", default="", metavar="NAME", help="How to compose: see polysema compose --help.")
@output_option
def tree(phrase: str, path: str | None, method: str, output: Path) -> None:
    """The tree of a phrase, every node coloured by its entropy.

    \b
      polysema draw tree "The local family runs a small hotel." -o tree.png
    """
    from polysema.drawing.entropy_tree import entropy_tree

    _save(entropy_tree(load(path).compose(phrase, method)), output)


@draw.command()
@click.argument("query", metavar="WORD")
@lexicon_option
@output_option
def matrix(query: str, path: str | None, output: Path) -> None:
    """The density matrix of a word or a phrase, entry by entry.

    \b
      polysema draw matrix bank -o bank.png
    """
    from polysema.drawing.heat_map import heat_map

    _save(heat_map(with_matrices(load(path), "a heat map").meaning(query)), output)


@draw.command()
@click.argument("word")
@lexicon_option
@click.option("-n", "--top", default=6, show_default=True, type=click.IntRange(1, 20), help="Neighbours of each sense.")
@output_option
def senses(word: str, path: str | None, top: int, output: Path) -> None:
    """The senses of a word on a plane, each with the words nearest to it.

    \b
      polysema draw senses bank -o bank-senses.png
    """
    from polysema.drawing.senses_plane import senses_plane

    _save(senses_plane(with_matrices(load(path), "a list of senses"), word, top), output)


def _save(figure: Any, output: Path) -> None:
    known = sorted(figure.canvas.get_supported_filetypes())
    if output.suffix[1:].lower() not in known:
        raise InputError(f"{output}: no picture ends in {output.suffix!r}: choose {', '.join(known)}")
    figure.savefig(output)
    click.echo(f"{output}", err=True)


COMMANDS = [draw]
