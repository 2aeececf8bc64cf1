"""Commands that look at senses in a corpus, and those that edit them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from polysema.cli.corpora import read_words
from polysema.cli.lexicons import lexicon_option
from polysema.cli.output import NATURAL, PATH, heading, is_quiet, json_option, print_json
from polysema.corpus.build import encoded
from polysema.corpus.corpus import Corpus
from polysema.errors import InputError
from polysema.files.working import WorkingFolder
from polysema.lexicon.faces import Face
from polysema.lexicon.formats import load, write, writing_lexicon
from polysema.lexicon.lexicon import with_matrices


@click.command("describe")
@click.argument("lexicon")
@click.argument("corpus", type=PATH)
@click.option("-o", "--output", type=PATH, metavar="OUT", help="Write here; by default LEXICON.")
@click.option("--most", default=150, show_default=True, type=NATURAL, help="Occurrences of each word to look at.")
@click.option(
    "--faces", default=20_000, show_default=True, type=NATURAL, help="Keep examples for this many frequent words."
)
@click.option(
    "--separation", default=None, type=float, help="How far apart contexts of two senses must be; 0 merges none."
)
@click.option("--wordnet", is_flag=True, help="Look for each sense's WordNet synset (extra wordnet).")
@click.option(
    "--parts/--no-parts",
    default=True,
    help="Find parts of speech, where spaCy is installed (extra parse); the default.",
)
@click.option("--dtype", default="float32", show_default=True, help="Type of the saved numbers: float32 or float16.")
@click.option("--seed", default=1, show_default=True, type=NATURAL)
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@json_option
def describe_command(
    lexicon: str, corpus: Path, output: Path | None, dtype: str, force: bool, as_json: bool, **options: Any
) -> None:
    """Describe the senses of LEXICON's words from CORPUS, a folder of `polysema corpus build`.

    Finds how many senses each word has and how often each is meant, how much contexts tell (what `polysema ambiguity`
    then ranks by), and for each sense words that tell it from the others, collocations, example sentences and its part
    of speech.

    \b
      polysema describe wiki wiki.corpus
      polysema describe wiki wiki.corpus -o wiki-described --most 100 --wordnet
    """
    from polysema.progress import progress_report
    from polysema.senses.describe import describe

    model = with_matrices(load(lexicon), "a description of senses")
    out = Path(lexicon) if output is None else output
    replaced = force or output is None
    if options["separation"] is None:
        del options["separation"]
    with writing_lexicon(out, dtype=dtype, overwrite=replaced, format="folder"), progress_report(is_quiet()) as show:
        described = describe(model, Corpus(corpus), progress=show, **options)
        write(described, out, dtype=dtype, overwrite=replaced, format="folder")
    facts = {"lexicon": str(out), "words": len(described), **described.metadata["described"]}
    if as_json:
        print_json(facts)
    else:
        click.echo(f"{out}: senses of {len(described):,} words described\n\nnext:  polysema ambiguity -l {out}")


@click.command("examples")
@click.argument("word")
@click.argument("corpus", type=PATH)
@lexicon_option
@click.option("--most", default=500, show_default=True, type=NATURAL, help="Occurrences to look at.")
@click.option("--seed", default=1, show_default=True, type=NATURAL)
@json_option
def examples_command(word: str, corpus: Path, path: str | None, most: int, seed: int, as_json: bool) -> None:
    """Examples of each sense of WORD in CORPUS, a folder of `polysema corpus build`, with where they stand there.

    \b
      polysema examples bank wiki.corpus
      polysema examples bank wiki.corpus -l MODEL --json
    """
    from polysema.senses.examples import find_examples

    model = with_matrices(load(path), "examples of senses")
    found = find_examples(model, word, Corpus(corpus), most=most, seed=seed)
    if as_json:
        print_json({"word": word, "senses": [{"id": number, **face.to_dict()} for number, face in found.items()]})
        return
    for number, face in found.items():
        name = model.sense_name(word, number)
        part = shown_part(face.part, face.part_share)
        heading("  ".join(item for item in (f"{word} {number}", part, name) if item))
        if face.words:
            click.echo(f"  {' '.join(face.words)}")
        print_face(face, "  ")


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


def edit_senses(
    path: str | None,
    word: str,
    rename: Sequence[tuple[int, str]],
    merge: Sequence[str],
    hide: Sequence[int],
    reset: bool,
    parts: Sequence[tuple[int, str]] = (),
) -> Any:
    """Change what a lexicon says of a word's senses, and write that to its folder; returns the lexicon."""
    model = with_matrices(load(path), "a list of senses")
    before = model.edited
    try:
        if reset:
            model.reset_senses(word)
        for numbers in merge:
            model.merge_senses(word, _numbers(numbers))
        for number in hide:
            model.hide_sense(word, number)
        for number, name in rename:
            model.rename_sense(word, number, name)
        for number, part in parts:
            model.tag_sense(word, number, part)
        model.save_edits()
    except BaseException:
        model.edited = before
        raise
    return model


def _numbers(listed: str) -> list[int]:
    """The numbers of ``0,3``."""
    try:
        return [int(number) for number in listed.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"--merge takes the numbers of senses, such as 0,3, not {listed!r}") from None


def _another_lexicon(command: Any) -> Any:
    """The options of a command that makes a lexicon of another one."""
    for option in (
        json_option,
        click.option("--force", is_flag=True, help="Replace OUT if it exists."),
        click.option("--seed", default=1, show_default=True, type=NATURAL),
        click.option("--dtype", default="float16", show_default=True, help="Of the saved numbers: float32 or float16."),
        lexicon_option,
        click.option("-o", "--output", type=PATH, required=True, metavar="OUT", help="The folder to write."),
    ):
        command = option(command)
    return command


@click.command("adapt")
@click.argument("text", nargs=-1, required=True, metavar="TEXT …")
@click.option("--min-count", default=5, show_default=True, type=NATURAL, help="New words seen less often are left out.")
@click.option("--occurrences", default=50, show_default=True, type=NATURAL, help="Look at this many of each word.")
@click.option("--keep-weights", is_flag=True, help="Leave the weights of known words' senses as they are.")
@_another_lexicon
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
    from polysema.senses.placing import adapt

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


@click.command("teach")
@click.argument("text", nargs=-1, required=True, metavar="TEXT …")
@click.option("--encoder", required=True, metavar="NAME", help="What reads the text: a folder, or a name on the hub.")
@click.option("--words", type=PATH, metavar="FILE", help="Words to teach, a line each.")
@click.option(
    "--most", default=200, show_default=True, type=NATURAL,
    help="Without --words: this many, those whose places in TEXT their senses fit least.",
)  # fmt: skip
@click.option(
    "--occurrences", default=100, show_default=True, type=NATURAL, help="Of each word to read, at most, from each TEXT."
)
@click.option("--split", default=10.0, show_default=True, type=float, help="Higher for fewer senses.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda or auto.")
@_another_lexicon
def teach_command(
    text: tuple[str, ...],
    encoder: str,
    words: Path | None,
    most: int,
    output: Path,
    path: str | None,
    occurrences: int,
    split: float,
    device: str,
    dtype: str,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Let an encoder find the senses of some words in your own TEXT, and put them into the model that ships.

    Each TEXT is a file, a folder of `polysema corpus build` or a folder of files; as many occurrences are read from
    each. The encoder is not needed afterwards. Place words that the lexicon does not know with `polysema adapt` first.

    \b
      polysema teach my-text.txt --encoder sentence-transformers/all-MiniLM-L6-v2 --words words.txt -o mine
      polysema senses match -l mine
    """
    from polysema.encoders.huggingface import Encoder
    from polysema.encoders.taught import LAYERS
    from polysema.encoders.teaching import misfits, teach
    from polysema.progress import progress_report

    model = with_matrices(load(path), "teaching of words")
    inputs: list[str | Path] = [*text, *([words] if words is not None else [])]
    with (
        writing_lexicon(output, inputs=inputs, dtype=dtype, overwrite=force, format="folder"),
        progress_report(is_quiet()) as show,
        TemporaryDirectory(prefix="polysema-") as temporary,
    ):
        reader = Encoder.load(encoder, layers=LAYERS, device=device)
        corpora = [encoded(item, Path(temporary) / str(number)) for number, item in enumerate(text)]
        chosen = read_words(words) if words is not None else misfits(model, corpora, most, seed=seed, progress=show)
        state = WorkingFolder(output.with_name(output.name + ".teaching"))
        with state.held():
            taught = teach(
                model, chosen, corpora, reader, occurrences=occurrences, split=split, seed=seed, state=state.path,
                progress=show,
            )  # fmt: skip
        write(taught, output, dtype=dtype, overwrite=force, format="folder")
        state.remove()
    facts = taught.metadata["taught_again"][-1]
    if as_json:
        print_json({"lexicon": str(output), "asked": len(chosen), **facts})
        return
    click.echo(f"{output}: senses of {len(facts['words']):,} of {len(chosen):,} words found in {len(text)} texts")
    click.echo(f"the encoder's space meets the lexicon's with a cosine of {facts['cosine']:.2f}")
    if facts["words"]:
        click.echo(f"\nnext:  polysema senses {facts['words'][0]} -l {output}")


COMMANDS = [describe_command, examples_command, adapt_command, teach_command]
