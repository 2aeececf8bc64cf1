"""Commands that describe the senses of a lexicon from text, and place new words in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polysema.cli.output import NATURAL, NEEDED, PATH, command, is_quiet, print_json
from polysema.corpus.corpus import Corpus
from polysema.lexicon.faces import Face
from polysema.lexicon.formats import load, write, writing_lexicon
from polysema.lexicon.lexicon import with_matrices


@command("output", "force", "as_json", name="describe", dtype="float32", seed=1)
@click.argument("lexicon")
@click.argument("corpus", type=PATH)
@click.option("--most", default=150, show_default=True, type=NATURAL, help="Occurrences of each word to look at.")
@click.option("--wordnet", is_flag=True, help="Look for each sense's WordNet synset (extra wordnet).")
@click.option("--no-parts", is_flag=True, help="Do not find parts of speech (which needs the extra parse).")
def describe_command(
    lexicon: str,
    corpus: Path,
    output: Path | None,
    dtype: str,
    force: bool,
    no_parts: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Describe the senses of LEXICON's words from CORPUS, a folder of `polysema corpus build`.

    Finds how many senses each word has and how often each is meant, how much information contexts give about the sense
    (`polysema ambiguity` ranks by it), and for each sense the words that distinguish it from the others, collocations,
    example sentences and its part of speech. Writes LEXICON anew, or the folder of -o.

    \b
      polysema describe wiki wiki.corpus
      polysema describe wiki wiki.corpus -o wiki-described --most 100 --wordnet
    """
    from polysema.progress import progress_report
    from polysema.senses.describe import describe

    model = with_matrices(load(lexicon), "a description of senses")
    out = Path(lexicon) if output is None else output
    replaced = force or output is None
    inputs: list[str | Path] = [corpus] if output is None else [corpus, lexicon]
    with (
        writing_lexicon(out, inputs=inputs, dtype=dtype, overwrite=replaced, format="folder"),
        progress_report(is_quiet()) as show,
    ):
        described = describe(model, Corpus(corpus), parts=not no_parts, progress=show, **options)
        write(described, out, dtype=dtype, overwrite=replaced, format="folder")
    facts = {"lexicon": str(out), "words": len(described), **described.metadata["described"]}
    if as_json:
        print_json(facts)
    else:
        click.echo(f"{out}: senses of {len(described):,} words described\n\nnext:  polysema ambiguity -l {out}")


def shown_part(part: str | None, share: float | None) -> str:
    """A part of speech for people, with its share of the sense's occurrences."""
    return "" if part is None else part if share is None else f"{part} {share:.2f}"


def print_face(face: Face, indent: str) -> None:
    """What a sense looks like in use, for people; without the words that tell it from others."""
    if face.collocations:
        click.echo(f"{indent}{' · '.join(face.collocations)}")
    if face.synset is not None:
        click.echo(f"{indent}WordNet: {face.synset.id} ({face.synset.score:.2f}) {face.synset.gloss}")
    for example in face.examples:
        words = example.text.split(" ")
        if example.place < len(words):
            words[example.place] = click.style(words[example.place], bold=True)
        click.echo(f"{indent}{example.sentence:,}: {' '.join(words)}")


@command("path", "force", "as_json", name="adapt", output=NEEDED, dtype="float16", seed=1)
@click.argument("text", nargs=-1, required=True, metavar="TEXT …")
@click.option("--min-count", default=5, show_default=True, type=NATURAL, help="New words seen less often are left out.")
@click.option("--occurrences", default=50, show_default=True, type=NATURAL, help="Look at this many of each word.")
@click.option("--keep-weights", is_flag=True, help="Leave the weights of known words' senses as they are.")
def adapt_command(
    text: tuple[str, ...],
    output: Path,
    path: str | None,
    keep_weights: bool,
    dtype: str,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Adapt the model that comes with polysema, or another, to your own TEXT, without an encoder.

    Words that it does not know are placed by the words around them and by their letters; the senses of known words get
    the weights they have in your text. TEXT is files or folders, or one folder of `polysema corpus build`. A megabyte
    will do; more places words better.

    \b
      polysema adapt my-text.txt -o mine
      polysema senses bank -l mine
    """
    from polysema.progress import progress_report
    from polysema.senses.adapt import adapt

    model = with_matrices(load(path), "placing of words")
    with (
        writing_lexicon(output, inputs=text, dtype=dtype, overwrite=force, format="folder"),
        progress_report(is_quiet()) as show,
    ):
        source = text[0] if len(text) == 1 else list(text)
        adapted = adapt(model, source, weights=not keep_weights, progress=show, **options)
        write(adapted, output, dtype=dtype, overwrite=force, format="folder")
    facts = adapted.metadata["adapted"][-1]
    if as_json:
        print_json({"lexicon": str(output), "known": len(model), **facts})
        return
    click.echo(f"{output}: {facts['words']:,} new words placed beside {len(model):,}")
    if number := facts["held_out"]:
        share = facts["among_ten_nearest"]
        click.echo(f"of {number:,} known words placed in the same way, to see how well it works, {share:.0%}")
        click.echo("come back among the ten words nearest to them")
    else:
        click.echo("how well they are placed is not known: the text has too few words that the lexicon knows")
    click.echo(f"\nnext:  polysema neighbours WORD -l {output}")


COMMANDS = [describe_command, adapt_command]
