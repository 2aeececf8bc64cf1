"""Commands that evaluate models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from polysema.cli.output import NATURAL, heading, json_option, number, print_json, print_table
from polysema.cli.progress import progress_line
from polysema.errors import DataError, InputError, PolysemaError, UnknownChoiceError
from polysema.evaluation.records import RECORDS, record_named
from polysema.evaluation.unknown_words import POLICIES
from polysema.evaluation.variants import PRESETS, VARIANTS, preset_named
from polysema.files.door import check_output

_ROWS = [variant.row for variant in VARIANTS]

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="POLYSEMA_DATA",
    metavar="DIR",
    help="The folder with the evaluation sets, searched by file name; also POLYSEMA_DATA. Then the user's cache.",
)


@click.group()
def data() -> None:
    """The evaluation sets of the paper: which there are, where they are, whether they are what was published."""


@data.command("list")
@data_option
@json_option
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
                "pattern": record.pattern or None,
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


@data.command("fetch")
@click.argument("names", nargs=-1, metavar="[SET …]")
@data_option
def fetch_sets(names: tuple[str, ...], data: Path | None) -> None:
    """Download the sets that are missing, by default all of them, into the user's cache.

    \b
      polysema data fetch
      polysema data fetch GS2011 GS2012
    """
    from polysema.evaluation.datasets import cache_directory
    from polysema.evaluation.download import fetch

    records = [record_named(name) for name in names or RECORDS]
    fetched = fetch(records, data, lambda file: click.echo(f"{file.name}: {file.url}", err=True))
    click.echo(f"{len(fetched)} files downloaded to {cache_directory()}" if fetched else "nothing is missing")


@data.command("verify")
@data_option
@json_option
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


@click.command()
@click.argument("lexicons", nargs=-1, metavar="[LEXICON …]")
@data_option
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
@click.option("--seed", default=0, show_default=True, help="Of the resamples.")
@click.option("--pairs", multiple=True, metavar="FILE", help="A set of your own: a TSV of two words and a score.")
@click.option(
    "--phrases",
    multiple=True,
    nargs=2,
    metavar="PATTERN FILE",
    help='A set of your own: a TSV of two phrases and a score, with a pattern such as "subj verb obj".',
)
@click.option("--offline", is_flag=True, help="Do not try to download missing sets.")
@click.option(
    "--encoder", "encoders", multiple=True, metavar="NAME", help="A sentence encoder too: a folder, or a hub name."
)
@click.option(
    "--infersent",
    multiple=True,
    nargs=2,
    metavar="WEIGHTS VECTORS",
    help="InferSent too: its public weights, and the word vectors they go with.",
)
@click.option("--layer", default=None, metavar="LAYER", help="Of encoders: whose vector of the verb to take.")
@click.option(
    "--senses", default="wordnet-3.0", show_default=True, help="Sense counts from: wordnet-3.0 (shipped), or wn."
)
@click.option("--compare", is_flag=True, help="Test whether the further models are better than the first.")
@click.option("--report", type=click.Path(path_type=Path), metavar="DIR", help="Write the report there, HTML and more.")
@click.option("--noise-draws", default=20, show_default=True, type=NATURAL, help="Random lexicons for its noise floor.")
@click.option("--force", is_flag=True, help="Replace an earlier report.")
@json_option
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
    from polysema.evaluation.entries import evaluate_models
    from polysema.lexicon.formats import load

    if options["report"]:
        check_output(options["report"], overwrite=options["force"])
    own = ("data", "sets", "pairs", "phrases", "offline")
    sets, missing = _sets(**{key: options[key] for key in own})
    models = [_named(argument) for argument in lexicons]
    if not models and not options["encoders"] and not options["infersent"]:
        models = [("default model", load())]
    models += [_encoder(name, options["layer"]) for name in options["encoders"]]
    models += [_infersent(weights, vectors) for weights, vectors in options["infersent"]]
    bootstraps = options["bootstraps"] or (1000 if options["report"] else 0)
    partly = options["sets"] or options["pairs"] or options["phrases"]
    with progress_line() as update:
        entries: list[Any] = evaluate_models(
            models,
            sets,
            methods=options["methods"] or None,
            unknown_words=options["unknown_words"],
            bootstraps=bootstraps,
            seed=options["seed"],
            senses=None if partly else options["senses"],
            progress=lambda name, done, total: update("evaluate", done, total),
        )
    if options["report"]:
        _write(entries, models, sets, missing, bootstraps, options)
    tests = differences(entries, sets, seed=options["seed"]) if options["compare"] and len(entries) > 1 else []
    if as_json:
        compared = {"comparisons": [asdict(item) for item in tests]} if options["compare"] else {}
        print_json(_as_json(entries, missing) | compared)
        return
    for entry in entries:
        for result in [*entry.seeds, *([entry.ensemble] if entry.ensemble else [])]:
            _print(result, f"{entry.name}, ensemble of {len(entry.seeds)}" if result is entry.ensemble else result.name)
        for item in entry.ambiguity:
            click.echo(
                f"{entry.name}: entropy against {item.words:,} WordNet sense counts: Pearson {number(item.pearson)}, "
                f"Spearman {number(item.spearman)}; given frequency {number(item.pearson_given_frequency)}, "
                f"{number(item.spearman_given_frequency)}"
            )
    if tests:
        heading(f"better than {tests[0].other}? paired permutation tests, one-sided; corrected for {len(tests)} tests")
        rows = [(t.model, t.set, t.method, t.test.difference, t.test.items, t.test.p, t.test.adjusted) for t in tests]
        print_table(rows, ["model", "set", "method", "difference", "items", "p", "corrected"])
    for name, reason in missing.items():
        click.echo(f"{name} is missing: {reason}", err=True)


@click.command()
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS …")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where all goes.")
@click.option(
    "--preset",
    default="small",
    show_default=True,
    metavar="NAME",
    help="; ".join(f"{preset.name}: {preset.summary}" for preset in PRESETS.values()) + ".",
)
@click.option("--only", multiple=True, metavar="ROW", help=f"Only this row, again for more: {', '.join(_ROWS)}.")
@click.option("--seeds", default=None, type=click.IntRange(min=1), help="Seeds a model.  [default: by the preset]")
@click.option("--encoder", default="", metavar="NAME", help="The encoder of BERT2DM and BERT: a folder, or a hub name.")
@click.option("--model", "extra", multiple=True, metavar="NAME=FILE", help="A lexicon to evaluate too, again for more.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME", help="cpu or cuda.")
@click.option("--threads", default=None, type=click.IntRange(min=1), help="By default one per core.")
@click.option("--offline", is_flag=True, help="Do not try to download missing sets.")
@data_option
def reproduce(corpus: tuple[str, ...], output: Path, preset: str, extra: tuple[str, ...], **options: Any) -> None:
    """Train what the paper trained, evaluate everything, write the report.

    \b
      polysema reproduce wiki.txt.xz -o out --preset smoke
      polysema reproduce ukwac/ wackypedia/ -o out --preset paper --encoder bert-base-uncased
      polysema reproduce wiki.corpus -o out --model GloVe=glove.6B.300d.txt

    CORPUS is text or an encoded corpus, as for `polysema train`. What cannot be trained here is left out, with the
    reason in the report. A run that was stopped goes on: give the same command again.
    """
    from polysema.evaluation.entries import Skipped
    from polysema.evaluation.reproduce import Plan
    from polysema.evaluation.reproduce import reproduce as run

    chosen = preset_named(preset)
    for row in options["only"]:
        if row not in _ROWS:
            raise UnknownChoiceError("row", row, _ROWS)
    sets, missing = _sets(options["data"], (), (), (), options["offline"])
    models = [_named(argument) for argument in extra]
    left_out = []
    try:
        if not options["encoder"]:
            raise InputError("no encoder was named: give one with --encoder")
        models.append(("BERT", _encoder(options["encoder"], None)[1]))
    except PolysemaError as error:
        left_out.append(Skipped("BERT", " ".join(str(error).split())))
    with progress_line("speed") as update:

        def show(at: Any) -> None:
            speed = getattr(at, "words_per_second", None)
            update("training", at.words, at.total, speed=f"{speed / 1e6:.2f} M words/s" if speed else "")

        plan = Plan(
            corpus[0] if len(corpus) == 1 else list(corpus),
            output,
            chosen,
            sets,
            missing,
            only=options["only"],
            seeds=options["seeds"],
            encoder=options["encoder"],
            extra=models,
            left_out=left_out,
            device=options["device"],
            threads=options["threads"],
        )
        page = run(plan, lambda line: click.echo(line, err=True), show)
    click.echo(page)


COMMANDS = [evaluate, reproduce, data]


def _sets(
    data: Path | None,
    sets: tuple[str, ...],
    pairs: tuple[str, ...],
    phrases: tuple[tuple[str, str], ...],
    offline: bool,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The sets asked for, and of those that cannot be had the reason."""
    from polysema.evaluation.datasets import load_sets, read_own_phrases, read_own_words
    from polysema.evaluation.download import fetch
    from polysema.evaluation.evaluate import load_all

    own: dict[str, Any] = {Path(file).stem: read_own_words(file) for file in pairs}
    own |= {Path(file).stem: read_own_phrases(file, pattern) for pattern, file in phrases}
    if own and not sets:
        return own, {}
    names = [record_named(name).name for name in sets] or list(RECORDS)
    found, missing = load_sets(names, data)
    if missing and not offline:
        try:
            fetch([record_named(name) for name in missing], data)
            found, missing = load_sets(names, data)
        except PolysemaError as error:
            missing = {name: f"{reason}; {error}" for name, reason in missing.items()}
    if missing and (sets or not found):
        load_all(data, sets or None)  # says what is missing and what to do
    return found | own, missing


def _named(argument: str) -> tuple[str, Any]:
    """A lexicon and its name, from NAME=PATH or PATH."""
    from polysema.lexicon.formats import load

    name, sign, path = argument.partition("=")
    if not sign or Path(argument).exists():
        name, path = Path(argument).name, argument
    return name, load(path)


def _encoder(name: str, layer: str | None) -> tuple[str, Any]:
    """A sentence encoder as a model."""
    from polysema.encoders.huggingface import Encoder
    from polysema.evaluation.sentence_models import EncoderModel

    shown, sign, path = name.partition("=")
    if not sign or Path(name).exists():
        shown, path = Path(name).name, name
    return shown, EncoderModel(Encoder.load(path), shown, layer=layer, metadata={"encoder": path, "layer": layer})


def _infersent(weights: str, vectors: str) -> tuple[str, Any]:
    """InferSent as a model, by the name the paper gives its version."""
    from polysema.encoders.infersent import InferSent
    from polysema.evaluation.sentence_models import EncoderModel

    encoder = InferSent.load(weights, vectors)
    name = f"InferSent{encoder.version}"
    return name, EncoderModel(encoder, name, methods=("mean",), metadata={"weights": weights, "vectors": vectors})


def _size(models: list[tuple[str, Any]]) -> tuple[int, int]:
    """n and m of the first model of density matrices; the paper's where there is none."""
    return next(((model.n, model.m) for _, model in models if model.kind == "matrices"), (17, 5))


def _write(
    entries: Any, models: Any, sets: Any, missing: dict[str, str], bootstraps: int, options: dict[str, Any]
) -> None:
    from polysema.evaluation.report.build import Settings, build_report
    from polysema.evaluation.report.write import write_report
    from polysema.version import __version__

    shown = {
        key: options[key] for key in ("sets", "methods", "unknown_words", "seed", "senses", "noise_draws", "layer")
    }
    configuration = {"polysema": __version__, "bootstraps": bootstraps, **shown}
    settings = Settings(
        noise_draws=options["noise_draws"],
        noise_size=_size(models),
        configuration=configuration,
        missing=missing,
    )
    files = write_report(build_report(entries, sets, settings=settings), options["report"])
    click.echo(f"{files[0]}: the report; beside it the same as Markdown, LaTeX, CSV and JSON", err=True)


def _as_json(entries: Any, missing: dict[str, str]) -> dict[str, Any]:
    """One model's figures; of several, each model's by name, and of seeds their ensemble's."""
    found: dict[str, Any] = {}
    for entry in entries:
        ambiguity = [item.to_json() for item in entry.ambiguity] or [None] * len(entry.seeds)
        distinct = len({result.name for result in entry.seeds}) == len(entry.seeds)
        for index, (result, senses) in enumerate(zip(entry.seeds, ambiguity, strict=True), 1):
            found[result.name if distinct else f"{result.name} #{index}"] = result.to_json() | {"ambiguity": senses}
        if entry.ensemble:
            found[f"{entry.name}, ensemble"] = entry.ensemble.to_json()
    if len(found) == 1:
        return dict(next(iter(found.values()))) | {"missing": missing}
    return {"models": found, "missing": missing}


def _print(result: Any, name: str) -> None:
    """A model's figures for people."""
    if result.kind != "sentences" and result.word_similarity:
        heading(f"{name}: word similarity")
        print_table(
            [(key, _figure(r), f"{r.covered} of {r.total}") for key, r in result.word_similarity.items()],
            ["set", "Spearman", "covered"],
        )
    for key, found in result.disambiguation.items():
        heading(f"{name}: {key}, {found.covered} of {found.total} covered")
        print_table(
            [(method, _figure(score), score.entropy) for method, score in found.methods.items()],
            ["method", "Spearman", "entropy"],
        )


def _figure(result: Any) -> str:
    shown = number(result.spearman)
    if result.interval is not None:
        shown += f"  [{number(result.interval[0])}, {number(result.interval[1])}]"
    return shown
