"""Commands from text to slots: parse it, add parsed texts up, learn a lexicon from them."""

from __future__ import annotations

import os
import time
from math import isfinite
from pathlib import Path
from typing import Any

import click

from polysema.cli.corpora import corpus
from polysema.cli.lexicons import lexicon_option
from polysema.cli.output import PATH, is_quiet, json_option, print_json, print_table, say
from polysema.composition.phrases import read_phrases
from polysema.errors import PolysemaError
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import with_matrices
from polysema.progress import progress_report


@corpus.command()
@click.argument("text", nargs=-1, required=True, metavar="TEXT …")
@click.option("-o", "--output", required=True, type=PATH, metavar="NAME.parsed", help="The folder to write.")
@click.option("--workers", default=None, type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--encoding", default="auto", show_default=True, help="Encoding of the text: utf-8, latin-1, …")
@click.option("--force", is_flag=True, help="Replace parsed text that is there.")
@json_option
def parse(text: tuple[str, ...], output: Path, workers: int | None, encoding: str, force: bool, as_json: bool) -> None:
    """Parse running text and count which word fills which slot of which head (needs the extra parse).

    \b
      polysema corpus parse wiki.txt.xz -o wiki.parsed
      polysema corpus merge wiki.parsed books.parsed -o all.parsed
      polysema train all.parsed --model slots -o slots

    Ctrl-C stops: the same command goes on from there, to the same result. It does not depend on the number of workers.
    """
    from polysema.slots.parse import parse_text

    started = time.perf_counter()
    with progress_report(is_quiet()) as show:
        found = parse_text(
            list(text),
            output,
            workers=workers or os.cpu_count() or 1,
            overwrite=force,
            encoding=encoding,
            progress=show,
        )
    _tell(found, output, started, as_json)


@corpus.command()
@click.argument("parsed", nargs=-1, required=True, metavar="NAME.parsed …")
@click.option("-o", "--output", required=True, type=PATH, metavar="NAME.parsed", help="The folder to write.")
@click.option("--force", is_flag=True, help="Replace parsed text that is there.")
@json_option
def merge(parsed: tuple[str, ...], output: Path, force: bool, as_json: bool) -> None:
    """Add parsed texts up."""
    from polysema.slots.parsed import Parsed, merged

    started = time.perf_counter()
    found = merged(Parsed.load(path) for path in parsed)
    found.save(output, overwrite=force)
    _tell(found, output, started, as_json)


def _tell(found: Any, output: Path, started: float, as_json: bool) -> None:
    facts = {"relations": len(found), "seen": int(found.count.sum()), "words": len(found.words), **found.facts}
    if as_json:
        print_json({"parsed": str(output), **facts})
    say(f"{output}: {found!r}, in {time.perf_counter() - started:.1f} s")


@click.command("plausibility")
@click.argument("phrases", nargs=-1, required=True, metavar="PHRASE …")
@lexicon_option
@click.option("-p", "--pattern", default=None, metavar="ROLES", help='Roles of plain words: "subj verb obj".')
@json_option
def plausibility_command(phrases: tuple[str, ...], path: str | None, pattern: str | None, as_json: bool) -> None:
    """How well the words of a phrase go together, by a lexicon of slots: the mean ln Z of its verb's slots.

    \b
      polysema plausibility "(family (run hotel))" "(family (run theorem))" -l slots
    """
    from polysema.slots.model import Slots, filled, phrase_plausibility

    lexicon = with_matrices(load(path), "plausibility")
    slots = Slots.of(lexicon)
    found: list[tuple[str, float]] = []
    for phrase, read in zip(phrases, read_phrases(phrases, pattern, lexicon), strict=True):
        if isinstance(read, PolysemaError):
            raise read
        found.append((phrase, phrase_plausibility(slots, filled(read.tree)[id(read.tree)])))
    if as_json:
        print_json([{"phrase": phrase, "plausibility": value if isfinite(value) else None} for phrase, value in found])
        return
    print_table([(phrase, f"{value:.2f}" if isfinite(value) else "–") for phrase, value in found], ["phrase", "ln Z"])


COMMANDS: list[click.Command] = [plausibility_command]
"""``parse`` and ``merge`` are commands of the group ``corpus``."""
