"""Commands that make lexicons from text: train, describe, adapt. The options of ``train`` are those of the models."""

from __future__ import annotations

import dataclasses
import shlex
import time
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click

from polysema.checkpoints import WorkingFolder
from polysema.cli.corpora import read_words
from polysema.cli.output import NATURAL, NEEDED, PATH, Command, Shared, command, is_quiet, print_json
from polysema.corpus.corpus import Corpus
from polysema.corpus.normalisation import is_content
from polysema.errors import FormatError, InputError, UnknownChoiceError
from polysema.lexicon.formats import write, writing_lexicon
from polysema.lexicon.lexicon import AnyLexicon, VectorLexicon, load, with_matrices
from polysema.options import Options, kind_of
from polysema.progress import Progress, progress_report
from polysema.storage import read_text


@cache
def _fields() -> dict[str, dict[str, tuple[type[Options], dataclasses.Field[Any]]]]:
    """Every option of every model, by its name and the model's; those of the run itself under ""."""
    from polysema.training.job import Job
    from polysema.training.models import MODELS

    found: dict[str, dict[str, tuple[type[Options], dataclasses.Field[Any]]]] = {}
    tables: dict[str, type[Options]] = {**{model.name: model.options for model in MODELS.values()}, "": Job}
    for name, options in tables.items():
        for field in dataclasses.fields(options):
            if "help" in field.metadata:  # the rest of a job is not for the command line
                found.setdefault(field.name, {})[name] = (options, field)
    return found


def _help(models: Mapping[str, tuple[type[Options], dataclasses.Field[Any]]]) -> str:
    """What an option is, and its default; by model where models differ."""
    from polysema.training.models import MODELS

    texts: dict[str, list[str]] = {}
    for model, (_, field) in models.items():
        text, choices = field.metadata["help"], field.metadata["choices"]
        if choices and not all(choice in text for choice in choices):
            text += f" ({', '.join(choices)})"
        default = field.metadata["by_default"] or ("" if field.default in (None, False) else field.default)
        texts.setdefault(text + (f"  [default: {default}]" if default != "" else ""), []).append(model)
    if len(texts) == 1 and ("" in models or len(models) == len(MODELS)):
        return next(iter(texts))
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in texts.items())


FLAGS = (
    "preset", "threads", "device", "window", "subsample", "min_count", "max_size", "dim", "negatives", "epochs", "rate",
    "senses", "select", "replicas", "occurrences", "vectors", "encoder", "words", "layers", "cluster", "describe",
)  # fmt: skip
"""Options with a flag of their own; the others are given with ``--set`` or in a file."""


class _Train(Command):
    """A command with the models' most used options; their table is loaded when it is needed."""

    def own_params(self) -> list[click.Parameter]:
        """Its arguments and options, those of models among them."""
        return [*self.params, *_model_options()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the options that have no flag, too."""
        super().format_options(ctx, formatter)
        shown = {*FLAGS, "seed", "engine", "address"}
        with formatter.section("Options of --set and of the file of --config"):
            formatter.write_dl([(name, _help(models)) for name, models in _fields().items() if name not in shown])


@cache
def _model_options() -> list[click.Parameter]:
    """The flags: each is an option of a model, with its type and help."""
    from polysema.training.models import MODELS

    which = "; ".join(f"{model.name}: {model.summary}" for model in MODELS.values())
    found: list[click.Parameter] = [click.Option(["--model"], metavar="NAME", help=which)]
    for name, models in _fields().items():
        if name in FLAGS:
            kind = kind_of(*next((options, field.name) for options, field in models.values()))
            shape: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": kind or str}
            metavar = "NAME" if kind in (str, None) else None
            flag = "--" + name.replace("_", "-")
            found.append(click.Option([flag], default=None, metavar=metavar, help=_help(models), **shape))
    return sorted(found, key=lambda option: FLAGS.index(str(option.name)) if option.name in FLAGS else -1)


@command("output", "force", "seed", "engine", "address", "as_json", name="train", cls=_Train, dtype="float32")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS …")
@click.option("--config", type=PATH, metavar="FILE", help="A TOML file with options, by the names below.")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="An option from the list below, again for more."
)
@click.option("--keep", type=PATH, metavar="FILE", help="Words to train whatever their count.")
@click.option("--start", default=None, metavar="LEXICON", help="Continue training a lexicon, on new text.")
def train_command(
    given: Shared,
    corpus: tuple[str, ...],
    config: Path | None,
    keep: Path | None,
    changes: tuple[str, ...],
    start: str | None,
    **chosen: Any,
) -> None:
    """Learn a lexicon from CORPUS: text (files, folders, globs, packed or not), or a folder of `polysema corpus build`.

    \b
      polysema train wiki.txt.xz
      polysema train wiki.corpus -o wiki --dim 17 --senses 5 --min-count 50 --subsample 1e-5 --epochs 4
      polysema train wiki.corpus -o paper --preset paper --select cosine --seed 2
      polysema train news.txt -o wiki+news --start wiki
      polysema train wiki.corpus -o contexts --model context2dm
      polysema train wiki.parsed books.parsed -o slots --model slots
      polysema train wiki.corpus -o bert --model bert2dm --encoder bert-base-uncased --words 10000000 --device cuda

    Multi-sense Word2DM is learnt unless --model names another. Ctrl-C stops: the same command goes on from there, to
    the same result, as it does after a crash. A seed gives the same numbers whatever the number of threads.
    """
    from polysema.training.models import model_named, train

    chosen |= {"seed": given.seed, "engine": given.engine, "address": given.address}
    settings = {**_config(config), **_changes(changes), **{k: v for k, v in chosen.items() if v is not None}}
    output = given.output or Path(Path(corpus[0]).name.split(".")[0].removeprefix("-") or "lexicon")
    model = model_named(settings.pop("model", "ms-word2dm"))
    inputs: list[str | Path] = [*corpus, *(item for item in (start, config, keep) if item is not None)]
    how: dict[str, Any] = {"dtype": given.dtype, "overwrite": given.force}
    started = time.perf_counter()
    state = WorkingFolder(output.parent / f"{output.name}.training") if model.resumes else None
    if state is not None and not given.force and state.removed_as_finished(output):
        return click.echo(f"{output} is finished already")
    with writing_lexicon(output, inputs=inputs, **how), progress_report(is_quiet()) as show:
        show(Progress("preparing (the first run compiles its kernels)", 0))
        try:
            lexicon = train(
                list(corpus) if len(corpus) > 1 else corpus[0],
                model.name,
                keep=read_words(keep),
                start=load(start) if start is not None else None,
                state=state.path if state is not None else None,
                progress=show,
                **settings,
            )
        except KeyboardInterrupt:
            click.echo(_stopped(state, corpus), err=True)
            raise
        lexicon.save(output, **how)
        if state is not None:
            state.remove()
    _print(given, output, lexicon, time.perf_counter() - started)


def _print(given: Shared, output: Path, lexicon: AnyLexicon, seconds: float) -> None:
    if given.as_json:
        facts = {"lexicon": str(output), "words": len(lexicon), "seconds": round(seconds, 2)}
        return print_json({**facts, **lexicon.metadata})
    click.echo(f"{output}: {lexicon!r}, in {seconds:.2f} s")
    for row in lexicon.metadata.get("curve", [])[-1:]:
        if row.get("held_out_loss") is not None:
            click.echo(f"held-out loss {row['held_out_loss']:.4f} after {row['epoch']} epochs")
    if not is_quiet():
        first, second = _next(lexicon, str(output))
        click.echo(f"\nnext:  {first}\n       {second}")


def _next(lexicon: AnyLexicon, output: str) -> tuple[str, str]:
    """What can be asked of the model that was trained, about a content word that is neither frequent nor rare."""
    words = lexicon.vocabulary.words
    content = [word for word, good in zip(words, is_content(words), strict=True) if good and word.isalpha()] or words
    word, where = content[len(content) // 10], shlex.quote(output)
    if isinstance(lexicon, VectorLexicon):
        return f"polysema neighbours {word} -l {where}", f"polysema evaluate {where}"
    if lexicon.parts.slots is not None:
        return f"polysema neighbours {word} -l {where}", f"polysema info {where}"
    return f"polysema senses {word} -l {where}", f"polysema ambiguity --top 20 -l {where}"


def _stopped(state: WorkingFolder | None, corpus: Iterable[str]) -> str:
    """What a run that was stopped leaves."""
    if state is None or not state.path.is_dir():
        return "stopped; nothing is kept: the same command starts from the beginning"
    text = " and the text: standard input may be left empty" if "-" in corpus else ""
    return f"stopped; the same command goes on from here ({state.path} holds the state{text})"


def _config(path: Path | None) -> dict[str, Any]:
    """The options of a TOML file; a table [train] or the top level. Their types are checked where they are used."""
    if path is None:
        return {}
    try:
        content = tomllib.loads(read_text(path))
    except FormatError as error:
        raise InputError(f"not a readable TOML file: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not a readable TOML file: {error}") from None
    table = content.get("train", content)
    if not isinstance(table, dict):
        raise InputError(f"{path}: train must be a table of options, not {table!r}")
    return _known(table, f"option in {path}")


def _changes(changes: Iterable[str]) -> dict[str, Any]:
    """The options of ``--set NAME=VALUE``; a value is a number, true, false, or a text."""
    found: dict[str, Any] = {}
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign:
            raise InputError(f"--set takes NAME=VALUE, not {change!r}")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = value
    return _known(found, "option")


def _known(table: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Options by their names in Python; one that no model has is an error."""
    known = {"model", *_fields()}
    for name in table:
        if name.replace("-", "_") not in known:
            raise UnknownChoiceError(what, name, sorted(known))
    return {name.replace("-", "_"): value for name, value in table.items()}


@command("output", "force", "as_json", name="describe", dtype="float32", seed=1)
@click.argument("lexicon")
@click.argument("corpus", type=PATH)
@click.option("--most", default=150, show_default=True, type=NATURAL, help="Occurrences of each word to look at.")
@click.option("--no-parts", is_flag=True, help="Do not find parts of speech (which needs the extra parse).")
def describe_command(given: Shared, lexicon: str, corpus: Path, no_parts: bool, **options: Any) -> None:
    """Describe the senses of LEXICON's words from CORPUS, a folder of `polysema corpus build`.

    Finds how many senses each word has and how often each is meant, how much information contexts give about the sense
    (`polysema ambiguity` ranks by it), and for each sense the words that distinguish it from the others, collocations,
    example sentences and its part of speech. Replaces LEXICON, or writes the folder of -o.

    \b
      polysema describe wiki wiki.corpus
      polysema describe wiki wiki.corpus -o wiki-described --most 100
    """
    from polysema.senses.describe import describe

    model = with_matrices(load(lexicon), "a description of senses")
    out = given.output or Path(lexicon)
    how: dict[str, Any] = {"dtype": given.dtype, "overwrite": given.force or given.output is None, "format": "folder"}
    inputs: list[str | Path] = [corpus, *([] if given.output is None else [lexicon])]
    with writing_lexicon(out, inputs=inputs, **how), progress_report(is_quiet()) as show:
        options["seed"] = given.seed
        described = describe(model, Corpus(corpus), parts=not no_parts, progress=show, **options)
        write(described, out, **how)
    if given.as_json:
        return print_json({"lexicon": str(out), "words": len(described), **described.metadata["described"]})
    click.echo(f"{out}: senses of {len(described):,} words described\n\nnext:  polysema ambiguity -l {out}")


@command("path", "force", "as_json", name="adapt", output=NEEDED, dtype="float16", seed=1)
@click.argument("text", nargs=-1, metavar="[TEXT …]")
@click.option("--glossary", type=PATH, metavar="FILE", help="A CSV file: word, gloss, part of speech (default: noun).")
@click.option("--min-count", default=5, show_default=True, type=NATURAL, help="New words seen less often are left out.")
@click.option("--occurrences", default=50, show_default=True, type=NATURAL, help="Look at this many of each word.")
@click.option("--keep-weights", is_flag=True, help="Leave the weights of known words' senses as they are.")
def adapt_command(
    given: Shared, text: tuple[str, ...], glossary: Path | None, keep_weights: bool, **options: Any
) -> None:
    """Adapt the model that comes with polysema, or another, to your own TEXT or glossary.

    --glossary adds senses to the dictionary, from their definitions alone: a word, its gloss and, if it is no noun, its
    part of speech a line.

    Words of TEXT that it does not know are placed by the words around them and by their letters; the senses of known
    words found in text get the weights they have in your text. TEXT is files or folders, or one folder of `polysema
    corpus build`. A megabyte will do; more places words better.

    \b
      polysema adapt --glossary terms.csv -o mine
      polysema adapt my-text.txt -o mine
      polysema senses bank -l mine
    """
    from polysema.senses.adapt import adapt

    model = with_matrices(load(given.path), "placing of words")
    how: dict[str, Any] = {"dtype": given.dtype, "overwrite": given.force, "format": "folder"}
    inputs = [*text, *(str(path) for path in (glossary, given.path) if path is not None)]
    with writing_lexicon(given.output, inputs=inputs, **how), progress_report(is_quiet()) as show:
        source = text[0] if len(text) == 1 else list(text) or None
        options |= {"glossary": glossary, "weights": not keep_weights, "seed": given.seed}
        adapted = adapt(model, source, progress=show, **options)
        write(adapted, given.output, **how)
    if not text:
        added = len(adapted.dictionary.file.added) if adapted.dictionary is not None else 0
        if given.as_json:
            return print_json({"lexicon": str(given.output), "known": len(model), "added": added})
        return click.echo(
            f"{given.output}: {added:,} senses of your own\n\nnext:  polysema senses WORD -l {given.output}"
        )
    facts = adapted.metadata["adapted"][-1]
    if given.as_json:
        return print_json({"lexicon": str(given.output), "known": len(model), **facts})
    click.echo(f"{given.output}: {facts['words']:,} new words placed beside {len(model):,}")
    if number := facts["held_out"]:
        share = facts["among_ten_nearest"]
        click.echo(
            f"check: of {number:,} known words placed in the same way, {share:.0%} are among the ten words nearest to"
        )
        click.echo("their own meaning")
    else:
        click.echo("no check of the placing: the text has too few words that the lexicon knows")
    click.echo(f"\nnext:  polysema neighbours WORD -l {given.output}")


COMMANDS = [train_command, describe_command, adapt_command]
