"""Commands that draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polysema.cli.output import NEEDED, command, say
from polysema.errors import FormatError, InputError
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import with_matrices
from polysema.storage import atomic_file, check_output, check_regular

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
def tree(phrase: str, path: str | None, method: str, output: Path, force: bool) -> None:
    """The tree of a phrase, every node coloured by its entropy.

    \b
      polysema draw tree "The local family runs a small hotel." -o tree.png
    """
    from polysema.drawing import entropy_tree

    _check(output, force)
    _save(entropy_tree(load(path).compose(phrase, method)), output, force)


@command("path", "force", output=NEEDED)
@click.argument("query", metavar="WORD")
def matrix(query: str, path: str | None, output: Path, force: bool) -> None:
    """The density matrix of a word or a phrase, entry by entry.

    \b
      polysema draw matrix bank -o bank.png
    """
    from polysema.drawing import heat_map

    _check(output, force)
    _save(heat_map(with_matrices(load(path), "a heat map").meaning(query)), output, force)


@command("path", "force", output=NEEDED, top=6)
@click.argument("word")
def senses(word: str, path: str | None, top: int, output: Path, force: bool) -> None:
    """The senses of a word on a plane, each with the words nearest to it.

    \b
      polysema draw senses bank -o bank-senses.png
    """
    from polysema.drawing import senses_plane

    if not 1 <= top <= 20:
        raise InputError(f"a sense is drawn with 1 to 20 neighbours, not {top}")
    _check(output, force)
    _save(senses_plane(with_matrices(load(path), "a list of senses"), word, top), output, force)


def _check(output: Path, force: bool) -> None:
    """Refuse before the work what could not be written after it."""
    if output.suffix.lower() not in _PICTURES:
        raise InputError(f"{output}: no picture ends in {output.suffix!r}: choose {', '.join(_PICTURES)}")
    check_output(output, overwrite=force, owner=_drawn_by_polysema)


def _save(figure: Any, output: Path, force: bool) -> None:
    suffix = output.suffix.lower()
    with atomic_file(output, force, _drawn_by_polysema) as stream:
        figure.savefig(stream, format=suffix[1:], metadata={_PICTURES[suffix][0]: "polysema"})
    say(f"{output}")


def _drawn_by_polysema(path: Path) -> None:
    check_regular(path)
    if _PICTURES[path.suffix.lower()][1] not in path.read_bytes():
        raise FormatError(f"{path}: not a picture that polysema drew")


for one in (tree, matrix, senses):
    draw.add_command(one)
COMMANDS = [draw]
