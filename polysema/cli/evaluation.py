"""Commands that evaluate models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from polysema.cli.output import (
    NATURAL,
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
)
from polysema.engine import engine_named
from polysema.errors import DataError, InputError, PolysemaError
from polysema.evaluation.datasets import RECORDS, record_named
from polysema.evaluation.models import POLICIES
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
def list_sets(given: Shared) -> None:
    """Name the sets, what each holds, and whether it is here.

    \b
      polysema data list
      polysema data list --data ~/corpora --json
    """
    from polysema.evaluation.datasets import search

    found = search((file for record in RECORDS.values() for file in record.files), given.data)
    paths = {name: found[record.file.name].path for name, record in RECORDS.items()}
    if given.as_json:
        return print_json([{**r.to_json(), "path": str(paths[r.name] or "") or None} for r in RECORDS.values()])
    rows = [(r.name, r.items, r.pattern, paths[r.name] or "missing", r.citation) for r in RECORDS.values()]
    print_table(rows, ["set", "items", "pattern", "where", "citation"])


@command("data", name="fetch")
@click.argument("names", nargs=-1, metavar="[SET …]")
def fetch_sets(given: Shared, names: tuple[str, ...]) -> None:
    """Download the sets that are missing, by default all of them, into the user's cache.

    \b
      polysema data fetch
      polysema data fetch GS2011 GS2012
    """
    from polysema.evaluation.datasets import cache_directory, fetch

    records = [record_named(name) for name in names or RECORDS]
    fetched = fetch(records, given.data, lambda file: say(f"{file.name}: {file.url}"))
    click.echo(f"{len(fetched)} files downloaded to {cache_directory()}" if fetched else "nothing is missing")


@command("data", "as_json", name="verify")
def verify_sets(given: Shared) -> None:
    """Check every file against its SHA-256; exits with 2 where one is missing or differs.

    \b
      polysema data verify --data sets
    """
    from polysema.evaluation.datasets import explain, search

    found = search((file for record in RECORDS.values() for file in record.files), given.data)
    state = {name: "ok" if item.path else explain(item) for name, item in found.items()}
    if given.as_json:
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
    help='A set of your own of phrases, with their pattern, such as "subj verb obj".',
)
@click.option(
    "--encoder", "encoders", multiple=True, metavar="NAME", help="A sentence encoder too: a folder, or a hub name."
)
@infersent_option
@click.option("--layer", default=None, metavar="LAYER", help="The encoder's layer for the vector of the verb.")
@click.option("--compare", is_flag=True, help="Test whether the further models are better than the first.")
@click.option("--report", type=PATH, metavar="DIR", help="Write the report there, HTML and more.")
def evaluate(given: Shared, lexicons: tuple[str, ...], **options: Any) -> None:
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
    from polysema.reproduction.published import EXAMPLE

    report: Path | None = options["report"]
    options["bootstraps"] = options["bootstraps"] or (1000 if report else 0)
    if report:
        inputs = [argument.rpartition("=")[2] for argument in lexicons]
        check_output(report, overwrite=given.force, inputs=[*inputs, *options["pairs"]])
    sets, missing, partly = _sets(given, options)
    models = _models(lexicons, options)
    example = {EXAMPLE.name: EXAMPLE} if report and not partly else {}  # of the paper, in a whole report
    with progress_report(is_quiet()) as show, engine_named(given.engine, given.address) as engine:
        found = evaluate_models(
            models,
            {**sets, **example},
            methods=options["methods"] or None,
            unknown_words=options["unknown_words"],
            bootstraps=options["bootstraps"],
            seed=given.seed,
            ambiguity=not partly,
            missing=missing,
            progress=lambda name, done, total: show(Progress("evaluate", done, total)),
            engine=engine,
        )
    if options["compare"] and len(found.models) > 1:
        found = replace(found, comparisons=tuple(differences(found, seed=given.seed)))
    if report:
        _write(found, models, given, options)
    found = replace(found, rows=tuple(row for row in found.rows if row.items.name not in example))
    if given.as_json:
        return print_json(found.to_json())
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
    "models",
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
def reproduce(given: Shared, corpus: tuple[str, ...], preset: str, models: tuple[str, ...], **options: Any) -> None:
    """Train what the paper trained, evaluate everything, write the report.

    \b
      polysema reproduce wiki.txt.xz -o out --preset smoke
      polysema reproduce ukwac/ wackypedia/ -o out --preset paper --encoder bert-base-uncased
      polysema reproduce wiki.corpus -o out --model GloVe=glove.6B.300d.txt

    CORPUS is text or an encoded corpus, as for `polysema train`. What cannot be trained here keeps its row in the
    report, with the reason. A run that was stopped goes on: give the same command again. Given with more seeds, an
    encoder or other options, it trains what is missing; the report is of all that is there.
    """
    from polysema.evaluation.datasets import find_sets
    from polysema.reproduction.pages import Skipped
    from polysema.reproduction.reproduce import Plan
    from polysema.reproduction.reproduce import reproduce as run

    chosen = changed(preset_named(preset), options.pop("changes"))
    sets, missing = find_sets(None, given.data, download=not given.offline)
    encoder = options.pop("encoder")
    named = [_named(argument) for argument in models]
    left_out = []
    try:
        if not encoder:
            raise InputError("no encoder was named: give one with --encoder")
        name, model = _encoder(encoder, None)
        named.append(("BERT" if name == "bert-base-uncased" else name, model))
    except PolysemaError as error:
        left_out.append(Skipped("BERT", " ".join(str(error).split())))
    named += [_infersent(weights, vectors) for weights, vectors in options.pop("infersent")]
    reason = "give its weights with --infersent WEIGHTS VECTORS"
    here = {name for name, _ in named}
    left_out += [Skipped(name, reason) for name in ("InferSent1", "InferSent2") if name not in here]
    with progress_report(is_quiet()) as show:
        plan = Plan(
            corpus[0] if len(corpus) == 1 else list(corpus),
            given.output,
            chosen,
            sets,
            missing,
            encoder=encoder.partition("=")[2] or encoder,
            given=named,
            left_out=left_out,
            engine=given.engine,
            address=given.address,
            **options,
        )
        click.echo(run(plan, say, show))


COMMANDS = [evaluate, reproduce, data]


def _sets(given: Shared, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], bool]:
    """The sets to score, missing sets with the reason, and whether only some of the paper's sets were asked for."""
    from polysema.evaluation.datasets import find_sets, read_own_sets

    own = read_own_sets(options["pairs"], options["phrases"])
    if own and not options["sets"]:
        return dict(own), {}, True
    found, missing = find_sets(options["sets"] or None, given.data, download=not given.offline)
    return found | own, missing, bool(options["sets"] or own)


def _models(lexicons: Iterable[str], options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Lexicons and encoders by name; the default model where there is none."""
    from polysema.lexicon.lexicon import load

    models = [_named(argument) for argument in lexicons]
    models += [_encoder(name, options["layer"]) for name in options["encoders"]]
    models += [_infersent(weights, vectors) for weights, vectors in options["infersent"]]
    return models or [("default model", load())]


def _named(argument: str) -> tuple[str, Any]:
    """A lexicon and its name, from NAME=PATH or PATH."""
    from polysema.lexicon.lexicon import load

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


def _write(evaluation: Any, models: Any, given: Shared, options: dict[str, Any]) -> None:
    from polysema.lexicon.lexicon import Lexicon
    from polysema.reproduction.pages import write_report
    from polysema.reproduction.report import Settings, build_report
    from polysema.version import __version__

    shown = {key: options[key] for key in ("sets", "methods", "unknown_words", "bootstraps", "layer")}
    sizes = [(model.n, model.m) for _, model in models if isinstance(model, Lexicon)]
    settings = Settings(
        noise_size=next(iter(sizes), (17, 5)),  # the paper's where no model has density matrices
        configuration={"polysema": __version__, "seed": given.seed, **shown},
    )
    files = write_report(build_report(evaluation, settings=settings), options["report"])
    say(f"{files[0]}: the report; beside it the same as Markdown, CSV and JSON")


def _print(evaluation: Any) -> None:
    """The table for people: a row for each set and method, seeds as mean ± deviation and each."""
    several = any(len(system.metadata) > 1 for system in evaluation.models)
    bounds = any(row.best.interval is not None for row in evaluation.rows)
    headings = ["set", "method", "Spearman", *(["seeds", "ensemble"] if several else [])]
    headings += [*(["95 % interval"] if bounds else []), "entropy", "items"]
    for system in evaluation.models:
        heading(system.name + (f", {len(system.metadata)} seeds" if len(system.metadata) > 1 else ""))
        rows = []
        for row in evaluation.of(system.name).values():
            cells = [
                row.items.name,
                row.method,
                number(row.spearman) + ("" if row.sd is None else f" ± {number(row.sd)}"),
            ]
            if several:
                cells.append(" ".join(number(result.spearman) for result in row.seeds) if row.ensemble else "")
                cells.append(number(row.ensemble.spearman) if row.ensemble else "")
            if bounds:
                cells.append(" to ".join(map(number, row.best.interval or [float("nan")] * 2)))
            rows.append((*cells, row.entropy, f"{row.best.scored} of {len(row.items)}"))
        print_table(rows, headings)
        for item in system.ambiguity:
            click.echo(
                f"{system.name}: entropy against {item.words:,} WordNet sense counts: Pearson {number(item.pearson)}, "
                f"Spearman {number(item.spearman)}; given frequency {number(item.pearson_given_frequency)}, "
                f"{number(item.spearman_given_frequency)}"
            )
    if tests := evaluation.comparisons:
        heading(
            f"better than {tests[0].second.model}? paired permutation tests over clusters of items, one-sided, "
            f"corrected for {len(tests)} tests"
        )
        rows = []
        for item in tests:
            first, test = item.first, item.test
            figures = (test.difference, " to ".join(map(number, test.interval)), test.items, test.p, test.adjusted)
            rows.append((first.model, first.items.name, first.method, *figures, test.verdict))
        columns = ("model", "set", "method", "difference", "95 % interval", "items", "p", "corrected", "verdict")
        print_table(rows, columns)
