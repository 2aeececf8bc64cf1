"""Commands about words in use: tag a corpus, count senses, list uses, and compare periods."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import shorten
from typing import Any

import click

from polysema.cli.output import (
    NEEDED,
    PATH,
    Shared,
    command,
    heading,
    is_quiet,
    number,
    print_json,
    print_table,
    say,
)  # fmt: skip
from polysema.cli.pictures import save_picture
from polysema.errors import Failed, FormatError, InputError
from polysema.progress import progress_report
from polysema.senses.dictionary_files import POS
from polysema.storage import atomic_file
from polysema.use.change import DEFAULT, MEASURES, WordChange
from polysema.use.change import LEAST as LEAST_CHANGE
from polysema.use.change import change as compare
from polysema.use.concordance import SORTS, Line, concordance
from polysema.use.frequencies import LEAST, frequencies
from polysema.use.tag import tag

_pos = click.option("--pos", type=click.Choice(POS), help="Senses of one part of speech only.")
_by = click.option("--by", metavar="FACT", help="year, decade, century, or another fact of documents, such as genre.")
_plot = click.option("--plot", type=PATH, metavar="FILE", help="Draw it: .png, .svg or .pdf (extra plots).")


@command("path", "force", "as_json", output=NEEDED, engine="local", address=None, name="tag")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS …")
@click.option("--no-vectors", is_flag=True, help="A sixth of the disk; change and --like need vectors.")
@click.option("--workers", default=None, type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--encoding", default="auto", show_default=True, help="Encoding of the text: utf-8, latin-1, …")
def tag_command(given: Shared, corpus: tuple[str, ...], no_vectors: bool, workers: int | None, encoding: str) -> None:
    """Give every content word of a text its sense: files, folders, globs, URLs, packed or not.

    \b
      polysema tag letters/ -o letters.tagged
      polysema tag news.jsonl.gz -o news.tagged --workers 8
      polysema tag letters.tagged -o letters.conllu

    OUTPUT is a folder for the commands below, or a file that ends in .jsonl or .conllu. A line of a .jsonl file is a
    document, {"text": …, "date": "1834", "genre": …}; a year in the name of a file is its date. Ctrl-C stops: the same
    command goes on from there, to the same result. It does not depend on the number of workers.
    """
    started = time.perf_counter()
    source: Any = corpus[0] if len(corpus) == 1 else list(corpus)
    with progress_report(is_quiet()) as show:
        found = tag(
            source, given.output, given.path, vectors=not no_vectors, workers=workers, engine=given.engine,
            address=given.address, encoding=encoding, overwrite=given.force, progress=show,
        )  # fmt: skip
    if given.as_json:
        print_json({"tagged": str(given.output), "documents": len(found.documents), "words": len(found)})
    say(f"{given.output}: {found!r}, in {time.perf_counter() - started:.1f} s")


@command("path", "force", "as_json", name="frequencies")
@click.argument("corpus", metavar="TAGGED")
@click.argument("words", nargs=-1, metavar="[WORD …]")
@_by
@_pos
@click.option("--least", default=LEAST, show_default=True, help="Without words: those that are used so often.")
@_plot
def frequencies_command(
    given: Shared, corpus: str, words: tuple[str, ...], by: str | None, pos: str | None, least: int, plot: Path | None
) -> None:
    """How often each sense of a word is used, in a tagged folder or, for some words, in text.

    \b
      polysema frequencies letters.tagged bank match
      polysema frequencies letters.tagged bank --by decade --plot bank.png
      polysema frequencies letters.tagged --json

    Intervals (95 %) count how much documents differ and how often the tagger errs.
    """
    with progress_report(is_quiet()) as show:
        found = frequencies(corpus, words, by=by, pos=pos, dictionary=given.path, least=least, progress=show)
    if plot is not None:
        save_picture(plot, given.force, [], found.plot)
    if given.as_json:
        return print_json(found.to_dict())
    seen: tuple[str, str] | None = None
    for item in found:
        if (item.word, item.group) != seen:
            seen = item.word, item.group
            where = f" {item.group}" if item.group else ""
            heading(f"{item.word}{where}: {item.uses:,} uses in {item.documents:,} documents")
            own = [other for other in found if (other.word, other.group) == seen]
            kept = [other for other in own if other.share >= 0.005]
            print_table([(f"  {o.share:.2f}", f"{o.low:.2f}–{o.high:.2f}", o.key, o.gloss) for o in kept])
            if len(kept) < len(own):
                click.echo(f"  {len(own) - len(kept)} further senses have a share below 0.005")


@command("path", "force", "as_json", "output", top=6, name="concordance")
@click.argument("word")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS …")
@_pos
@click.option("--like", metavar="GLOSS", help="Rank by a sense described in plain words, or by a sense key.")
@click.option("--sense", metavar="KEY", help="Show one sense key, or 'none of these', alone.")
@click.option("--sort", default="both", show_default=True, metavar="ORDER", help=f"One of {', '.join(SORTS)}.")
@click.option("--left", metavar="WORD", help="The word before; * stands for any letters.")
@click.option("--right", metavar="WORD", help="The word after.")
@click.option("--since", metavar="DATE", help="Of this date or later, such as 1830.")
@click.option("--until", metavar="DATE", help="Of this date or earlier.")
@click.option("--p", default=(0.0, 1.0), type=(float, float), metavar="LEAST MOST", help="Probability of the sense.")
def concordance_command(given: Shared, word: str, corpus: tuple[str, ...], **options: Any) -> None:
    """The uses of a word in their sentences, grouped by sense, the clearest and the most doubtful of each.

    \b
      polysema concordance bank letters.tagged
      polysema concordance bank letters/*.txt --right of --sort right -n 40
      polysema concordance bank letters.tagged --like "land beside a river"
      polysema concordance bank letters.tagged -o bank.html

    All forms of the word are found, and entries of several words. Uses that no sense explains are a group of their own.
    -n lists so many of each sense, 0 all; -o writes them to a file that ends in .csv or .html.
    """
    source: Any = corpus[0] if len(corpus) == 1 else list(corpus)
    writers = {".csv": "to_csv", ".html": "to_html"}
    if given.output is not None and given.output.suffix not in writers:
        raise InputError(f"{given.output}: a concordance is written to a file that ends in .csv or .html")
    found = concordance(word, source, top=given.top or None, dictionary=given.path, **options)
    if given.output is not None:
        text = getattr(found, writers[given.output.suffix])()
        with atomic_file(given.output, given.force, _written_here) as stream:
            stream.write(text.encode())
        return say(f"{given.output}: {len(found):,} lines")
    if given.as_json:
        return print_json(found.to_dict())
    for group in found.groups:
        heading("  ".join(filter(None, [group.key, group.gloss, f"({group.uses:,})"])))
        rows = []
        for line in group.lines:
            text = f"{line.left.strip()[-44:].rjust(44)} [{line.form}] {line.right.strip()[:44]}"
            value = line.like if options["like"] else line.p
            rows.append((text, f"{value:.2f}", line.date or line.document))
        print_table(rows)


def _written_here(path: Path) -> None:
    start = path.read_bytes()[:200]
    if not (start.startswith(",".join(Line.__match_args__).encode()) or b"content='polysema'" in start):
        raise FormatError(f"{path}: not a concordance that polysema wrote")


@command("path", "force", "as_json", top=20, name="change")
@click.argument("given_", nargs=-1, required=True, metavar="OLD NEW … [WORD …]")
@_by
@_pos
@click.option("--measure", default=DEFAULT, show_default=True, metavar="NAME", help=f"One of {', '.join(MEASURES)}.")
@click.option("--least", default=LEAST_CHANGE, show_default=True, help="Uses that each period must have.")
@click.option("--seed", default=0, show_default=True, help="Seed of the resampling.")
@_plot
def change_command(
    given: Shared, given_: tuple[str, ...], by: str | None, pos: str | None, measure: str, least: int, seed: int,
    plot: Path | None,
) -> None:  # fmt: skip
    """How far the meaning of words moved from OLD to NEW: which senses gained, lost, appeared or vanished.

    \b
      polysema change 1830.tagged 1930.tagged plane gay broadcast
      polysema change 1830.tagged 1930.tagged -n 50 --json
      polysema change 1830/ 1880/ 1930/ plane --plot plane.png
      polysema change letters.tagged --by decade plane

    Tagged folders or text; without words, of tagged folders, all that both use. What exists as a file is a corpus, all
    else a word. A word changed if shuffled periods are rarely as far apart (p ≤ .05); a dot marks those that did not.
    """
    first = 2 if by is None else 1  # so many are corpora whatever their names
    words_from = (i for i, name in enumerate(given_) if i >= first and "://" not in name and not Path(name).exists())
    count = next(words_from, len(given_))
    with progress_report(is_quiet()) as show:
        found = compare(
            *given_[:count], words=given_[count:], by=by, pos=pos, measure=measure, dictionary=given.path, least=least,
            seed=seed, progress=show,
        )  # fmt: skip
    if plot is not None:
        save_picture(plot, given.force, [], found.plot)
    if given.as_json:
        return print_json(found.to_dict())
    words = [item for item in found if isinstance(item, WordChange)]
    for item in found:
        if isinstance(item, Failed):
            click.echo(str(item.error), err=True)
    if len(words) > 5:
        rows = [
            (w.word, w.change, f"{w.low:.3f}–{w.high:.3f}", w.p, "" if w.changed else "·", *_moved(w))
            for w in words[: given.top]
        ]
        return print_table(rows, ["word", "change", "interval", "p", "", "sense", ""])
    for word in words:
        _print_change(word)


def _moved(item: WordChange) -> tuple[str, str]:
    """The first sense that appeared, vanished, gained or lost, and the head of its gloss."""
    sense = next((sense for sense in item.senses if sense.status), None)
    return ("", "") if sense is None else (f"{sense.status} {sense.key}", shorten(sense.gloss, 50, placeholder=" …"))


def _print_change(item: WordChange) -> None:
    verdict = "changed" if item.changed else "not more than shuffled periods"
    heading(
        f"{item.word}: {number(item.change)} ({number(item.low)}–{number(item.high)}), {verdict} "
        f"(95 % of them below {number(item.null)}, p {number(item.p)})"
    )
    used = ", ".join(f"{name}: {count:,} uses" for name, count in zip(item.periods, item.uses, strict=True))
    click.echo(f"  {used}; " + ", ".join(f"{name} {value:.3f}" for name, value in item.measures.items()))
    if item.split is not None:
        s = item.split
        click.echo(
            f"  weights moved {s.weights:.3f} (shuffled {s.weights_null:.3f}), "
            f"meanings moved {s.meanings:.3f} (shuffled {s.meanings_null:.3f}), inner product {s.product:.4f}"
        )
    shown = [sense for sense in item.senses if max(sense.shares) >= 0.02]
    print_table(
        [("  " + " → ".join(f"{share:.2f}" for share in s.shares), s.status, s.key, s.gloss) for s in shown],
        ["  shares", "", "sense", ""],
    )
    for sense in (sense for sense in shown if sense.status):
        for name, own in zip(item.periods, sense.examples, strict=True):
            for text, start, end in own[:1]:
                around = text[max(0, start - 60) : start], text[start:end], text[end : end + 60]
                click.echo("  {}, {}: {}[{}]{}".format(name, sense.key, *around))


COMMANDS = [tag_command, frequencies_command, concordance_command, change_command]
