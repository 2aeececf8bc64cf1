"""Commands that turn text into an encoded corpus and look into one."""

from __future__ import annotations

import os
import time
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import click

from polysema.cli.output import NEEDED, PATH, Shared, command, heading, is_quiet, print_json, print_table, say
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus
from polysema.corpus.normalisation import Normalisation
from polysema.corpus.readers import FORMATS, TOKENS
from polysema.engine import engine_named
from polysema.errors import FormatError, InputError
from polysema.progress import progress_report
from polysema.storage import read_text


@click.group()
def corpus() -> None:
    """Turn text into an encoded corpus, and look into one.

    Training reads text as well; encoding it once saves the reading when you train more than once.
    """


@command("force", "as_json", output=NEEDED, engine="local", address=None)
@click.argument("text", nargs=-1, required=True, metavar="TEXT …")
@click.option("--min-count", default=1, show_default=True, help="Leave out words seen less often.")
@click.option("--max-size", default=None, type=int, help="Keep at most this many of the most frequent words.")
@click.option("--keep", type=PATH, metavar="FILE", help="Words to keep whatever their count, a line each.")
@click.option("--keep-case", is_flag=True, help="Do not lower-case.")
@click.option("--digits", is_flag=True, help="Runs with digits are words too.")
@click.option("--hyphens", is_flag=True, help="Hyphenated words are one word.")
@click.option("--raw", is_flag=True, help="Words are what white space separates, as they are; lines are sentences.")
@click.option(
    "--sentences", default="split", show_default=True, metavar="HOW", help="split lines into sentences, or take lines."
)
@click.option("--format", default="auto", show_default=True, metavar="NAME", help=f"One of {', '.join(FORMATS)}.")
@click.option(
    "--token", default="form", show_default=True, metavar="WHAT", help=f"Where the source has it: {', '.join(TOKENS)}."
)
@click.option("--columns", default=None, metavar="NAMES", help="Of a vertical file: form,tag,lemma in their order.")
@click.option("--encoding", default="auto", show_default=True, help="Encoding of the text: utf-8, latin-1, …")
@click.option("--lemmatise", default=None, metavar="LANGUAGE", help="Lemmatise running text, e.g. en.")
@click.option("--workers", default=None, type=click.IntRange(min=1), help="Threads; by default one per core.")
def build(
    given: Shared, text: tuple[str, ...], columns: str | None, keep: Path | None, workers: int | None, **options: Any
) -> None:
    """Count and encode text: files (gz, bz2, xz, zst or plain), folders, globs, URLs, or - for standard input.

    \b
      polysema corpus build wiki.txt.xz -o wiki.corpus
      polysema corpus build UKWAC-*.xml wackypedia*.xml -o ukwacky.corpus --token lemma_pos
      polysema corpus build s3://bucket/text/ -o big.corpus --engine ray --address auto
      zcat books.gz | polysema corpus build - -o books.corpus --min-count 5

    Words are lower-cased and alphabetic, sentences have at least two of them, as in the paper. Running text is split
    into sentences; WaCky vertical files and CoNLL-U are recognised. The result does not depend on the number of
    workers, and a second run on the same text and options reuses the first.
    """
    options["lower"] = not options.pop("keep_case")
    names = [each.name for each in fields(Normalisation) if each.name in options]
    normalisation = Normalisation(**{name: options.pop(name) for name in names})
    started = time.perf_counter()
    named = engine_named(given.engine, given.address, workers)
    with progress_report(is_quiet()) as show, named as engine:
        result = build_corpus(
            list(text),
            given.output,
            keep=read_words(keep),
            columns=columns.split(",") if columns else None,
            normalisation=normalisation,
            workers=workers,
            engine=engine,
            overwrite=given.force,
            progress=show,
            **options,
        )
    if given.as_json:
        sizes = {"sentences": len(result), "tokens": result.config["tokens"], "types": len(result.counts)}
        print_json({"corpus": str(given.output), **sizes, "read": result.config["read"]})
    size = f"{len(result):,} sentences, {result.config['tokens']:,} tokens, {len(result.counts):,} types"
    say(f"{given.output}: {size}, in {time.perf_counter() - started:.1f} s")


@command("as_json", top=20)
@click.argument("folder", metavar="DIR")
@click.option("--words", type=PATH, metavar="FILE", help="A list of words, a line each: say how many are there.")
def info(given: Shared, folder: str, words: Path | None) -> None:
    """What an encoded corpus holds: sentences, tokens, types, the most frequent words, the coverage of a word list.

    \b
      polysema corpus info wiki.corpus --words evaluation-words.txt
    """
    result = Corpus(folder)
    frequent = list(zip(result.vocabulary.words[: given.top], result.counts[: given.top].tolist(), strict=True))
    facts: dict[str, Any] = {
        "sentences": len(result),
        "tokens": len(result.tokens),  # checks them
        "types": len(result.counts),
        "most_frequent": [{"word": word, "count": count} for word, count in frequent],
    }
    if words is not None:
        listed = read_words(words)
        missing = [word for word in listed if word not in result.vocabulary]
        facts["coverage"] = {"covered": len(listed) - len(missing), "total": len(listed), "missing": missing}
    if given.as_json:
        return print_json({**facts, "read": result.config["read"], "options": result.config["options"]})
    heading(f"{folder}: {facts['sentences']:,} sentences, {facts['tokens']:,} tokens, {facts['types']:,} types")
    print_table([(name.replace("_", " "), count) for name, count in result.config["read"].items()], ["read", ""])
    print_table(frequent, ["word", "count"])
    if words is not None:
        found = facts["coverage"]
        click.echo(f"{found['covered']} of {found['total']} words of {words} are there")
        if found["missing"]:
            click.echo(f"missing: {' '.join(found['missing'])}")


@command("as_json", top=10)
@click.argument("folder", metavar="DIR")
def head(given: Shared, folder: str) -> None:
    """Read an encoded corpus back as text, a sentence a line.

    \b
      polysema corpus head wiki.corpus --top 3
    """
    sentences = islice(Corpus(folder), given.top)
    if given.as_json:
        return print_json(list(sentences))
    for sentence in sentences:
        click.echo(" ".join(sentence))


@command("force", "as_json", output=NEEDED)
@click.argument("text", nargs=-1, required=True, metavar="TEXT …")
@click.option("--workers", default=None, type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--encoding", default="auto", show_default=True, help="Encoding of the text: utf-8, latin-1, …")
def parse(given: Shared, text: tuple[str, ...], workers: int | None, encoding: str) -> None:
    """Parse running text and count which word fills which slot of which head (needs the extra parse).

    \b
      polysema corpus parse wiki.txt.xz -o wiki.parsed
      polysema corpus merge wiki.parsed books.parsed -o all.parsed
      polysema train all.parsed --model slots -o slots

    Ctrl-C stops: the same command goes on from there, to the same result. It does not depend on the number of workers.
    """
    from polysema.slots.parsed import parse_text

    started = time.perf_counter()
    with progress_report(is_quiet()) as show:
        how: dict[str, Any] = {"overwrite": given.force, "encoding": encoding, "progress": show}
        found = parse_text(list(text), given.output, workers=workers or os.cpu_count() or 1, **how)
    _tell(given, found, started)


@command("force", "as_json", output=NEEDED)
@click.argument("parsed", nargs=-1, required=True, metavar="NAME.parsed …")
def merge(given: Shared, parsed: tuple[str, ...]) -> None:
    """Add the counts of parsed texts.

    \b
      polysema corpus merge wiki.parsed books.parsed -o all.parsed
    """
    from polysema.slots.parsed import ParsedText, merged, owner
    from polysema.storage import check_output

    started = time.perf_counter()
    check_output(given.output, overwrite=given.force, inputs=parsed, owner=owner)
    found = merged(ParsedText.load(path) for path in parsed)
    found.save(given.output, overwrite=given.force)
    _tell(given, found, started)


def _tell(given: Shared, found: Any, started: float) -> None:
    facts = {"relations": len(found), "seen": int(found.count.sum()), "words": len(found.words), **found.facts}
    if given.as_json:
        print_json({"parsed": str(given.output), **facts})
    say(f"{given.output}: {found!r}, in {time.perf_counter() - started:.1f} s")


def read_words(path: Path | None) -> list[str]:
    """The words of a file, a line each."""
    if path is None:
        return []
    try:
        text = read_text(path)
    except FormatError as error:
        what = str(error).removeprefix(f"{path}: ").removeprefix("cannot be read: ")
        raise InputError(f"{path}: not a readable list of words: {what}") from None
    return [line.split("\t")[0].strip() for line in text.splitlines() if line.strip()]


for one in (build, info, head, parse, merge):
    corpus.add_command(one)
COMMANDS = [corpus]
