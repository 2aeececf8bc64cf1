"""The paper again, from a corpus: train every variant, evaluate everything, write the report.

Everything lies in one folder, so a run that was stopped goes on where it was, and one that is done takes more seeds, an
encoder or other options later: ``corpus`` is the text that is trained on, ``models/NAME/SEED`` are the lexicons (each
there whole or not at all), ``report`` is the report: of all lexicons that are there, those of rows that were asked for
earlier among them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

import numpy as np

from polysema.checkpoints import WorkingFolder
from polysema.composition.methods import METHODS
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus, is_corpus
from polysema.corpus.readers import ReadingOptions, Url, find_sources, read_blocks
from polysema.engine import Engine, engine_named
from polysema.errors import InputError, PolysemaError, check_choice
from polysema.evaluation.datasets import EvaluationSet, words_of
from polysema.evaluation.evaluate import Evaluated, evaluate_models
from polysema.evaluation.models import ENCODER_METHODS
from polysema.evaluation.results import Evaluation
from polysema.lexicon.lexicon import AnyLexicon, LexiconOf, load
from polysema.progress import Report, silent
from polysema.reproduction.pages import Skipped, write_report
from polysema.reproduction.published import EXAMPLE, plain
from polysema.reproduction.report import Settings, build_report
from polysema.reproduction.variants import RECOMMENDED, VARIANTS, Preset, Variant, departures, options_of
from polysema.storage import atomic_file, locked, read_text
from polysema.training.job import Job
from polysema.training.models import MODELS, train
from polysema.version import __version__

_BYTES = 6  # of text for a word, about: how much of it is read where a preset takes only so many words
_MATRICES = ("ms-word2dm", "word2dm")
_ONCE = ("context2dm", "bert2dm")  # one lexicon a row, whatever the number of seeds


@dataclass(frozen=True)
class Plan:
    """What to reproduce."""

    corpus: str | Path | Sequence[str | Path]  # text as :func:`polysema.build_corpus` takes it, or an encoded corpus
    folder: Path  # where everything goes
    preset: Preset  # how large
    sets: Mapping[str, EvaluationSet]  # the evaluation sets
    missing: Mapping[str, str] = field(default_factory=dict)  # those that are not there, with the reason
    only: Sequence[str] = ()  # rows to train; by default all. Other rows are in the report if they were trained before.
    # how many seeds of every model that is learnt, at least; by default the preset's of those of matrices
    seeds: int | None = None
    encoder: str = ""  # the encoder of BERT2DM: a folder or a name; "" leaves BERT2DM out
    # models to evaluate too, by name, such as vectors from a file or sentence encoders; one that has the name of a row
    # stands in its place, and the row is not trained
    given: Sequence[tuple[str, Evaluated]] = ()
    left_out: Sequence[Skipped] = ()  # further systems that are missing, and why
    # whether Context2DM and clustered BERT2DM take all occurrences of a word, as the paper does, or a sample of them
    all_occurrences: bool = False
    device: str = "cpu"  # cpu or cuda
    threads: int | None = None  # how many; None for one per core
    engine: str = "local"  # where training and evaluation run; see :func:`polysema.train`
    address: str | None = None

    @property
    def keep(self) -> list[str]:
        """Words that are trained whatever their count."""
        return words_of(self.sets.values()) if self.preset.keep else []


Say = Callable[[str], None]


def reproduce(plan: Plan, say: Say = lambda line: None, progress: Report | None = None) -> Path:
    """Train what is not yet trained, evaluate all of it, write the report.

    Args:
        say: called with a line when something is begun or done.
        progress: handed to the trainers.

    Returns:
        the report's page.
    """
    for row in plan.only:
        check_choice("row", row, [variant.row for variant in VARIANTS + RECOMMENDED])
    threads = 1 if plan.threads is None else plan.threads
    Job(threads=threads, device=plan.device, engine=plan.engine, address=plan.address)  # refused at once
    claim = {"corpus": _digest(plan.corpus), "preset": plan.preset.name}
    with engine_named(plan.engine, plan.address) as engine:
        plan.folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(plan.folder):
            _claim(plan, claim)
            text = _text(plan, say)
            models, skipped = _models(plan, text, engine, say, progress)
            say("evaluating")
            evaluation = evaluate_models(
                models,
                {**plan.sets, EXAMPLE.name: EXAMPLE},
                methods=(*METHODS, *ENCODER_METHODS),  # not the contextual matrices, which the paper does not have
                bootstraps=plan.preset.bootstraps,
                missing=plan.missing,
                engine=engine,
            )
            say("writing the report")
            return _report(plan, text, evaluation, [*skipped, *plan.left_out])


def _models(
    plan: Plan, text: Corpus, engine: Engine, say: Say, progress: Report | None
) -> tuple[list[tuple[str, Evaluated]], list[Skipped]]:
    """The models to evaluate: trained here, then given; and the rows that have none, with the reason."""
    if plan.engine != "local":
        _train_all(plan, text, engine, say, progress)
    models: list[tuple[str, Evaluated]] = []
    skipped: list[Skipped] = []
    given = {plain(name) for name, _ in plan.given}
    for variant in plan.preset.variants:
        if plain(variant.row) in given:
            continue
        if not _seeds(variant, plan):
            skipped.append(Skipped(variant.row, "not asked for"))
            continue
        try:
            models += [(variant.row, lexicon) for lexicon in _trained(variant, plan, text, say, progress)]
        except PolysemaError as error:
            skipped.append(Skipped(variant.row, " ".join(str(error).split())))
            say(f"{variant.row}: left out: {skipped[-1].reason}")
    for state in (plan.folder / "models").glob("bert2dm*.training"):
        WorkingFolder(state).remove()
    if not models and not plan.given:
        reasons = [item.reason for item in skipped if item.reason != "not asked for"]
        raise InputError(f"no model could be trained: {reasons[0]}" if reasons else "there is no model to train")
    return [*models, *plan.given], skipped


def _claim(plan: Plan, claim: Mapping[str, str]) -> None:
    """Note in the folder what it is for; a folder that is for something else is an error."""
    note = plan.folder / "reproduce.json"
    if not note.is_file() and plan.folder.is_dir() and any(plan.folder.iterdir()):
        raise InputError(f"{plan.folder} is not empty: choose a new folder for the run")
    if not note.is_file():
        plan.folder.mkdir(exist_ok=True)
        with atomic_file(note, True, lambda _: None) as file:  # below a folder that was claimed all files are its own
            file.write(json.dumps(claim, indent=2).encode())
        return
    try:
        found = json.loads(read_text(note))
    except (ValueError, RecursionError):
        found = None
    if found != claim:
        raise InputError(f"{plan.folder} holds a run of other text or another preset: choose another folder")


def _digest(corpus: str | Path | Sequence[str | Path]) -> str:
    """The identity of the text, wherever it lies: the SHA-256 of the bytes of its files."""
    if isinstance(corpus, str | Path) and is_corpus(corpus):
        return Corpus(corpus).digest
    whole = sha256()
    for path in find_sources(corpus):
        if str(path) == "-":
            raise InputError("the text of a reproduction is read again when it goes on: name a file, not -")
        with path.open() if isinstance(path, Url) else path.open("rb") as stream:
            while block := stream.read(1 << 20):
                whole.update(block)
    return whole.hexdigest()


def _text(plan: Plan, say: Say) -> Corpus:
    """The corpus to train on: all of it, or its beginning."""
    most, where, whole = plan.preset.words, plan.folder / "corpus", None
    if isinstance(plan.corpus, str | Path) and is_corpus(plan.corpus):
        whole = Corpus(plan.corpus)
        if most is None or len(whole.tokens) <= most:
            return whole
    if is_corpus(where):
        return Corpus(where)
    say("reading the corpus")
    if whole is not None:
        return build_corpus(islice(whole, int(np.searchsorted(whole.sentences, most or 0))), where)
    return build_corpus(plan.corpus, where) if most is None else _beginning(plan, where, most)


def _beginning(plan: Plan, where: Path, words: int) -> Corpus:
    """The corpus of about so many words from the beginning of text; no more of it is unpacked than that."""
    left = words * _BYTES
    part = WorkingFolder(plan.folder / "text")
    for number, source in enumerate(find_sources(plan.corpus)):
        if left <= 0:
            break
        with atomic_file(part.file(f"{number:06}"), True) as out:
            for block in read_blocks(source, ReadingOptions(block=min(left, 1 << 18))):
                out.write(block.data)
                left -= len(block.data)
                if left <= 0:
                    break
    corpus = build_corpus(part.path, where)
    part.remove()
    return corpus


# ------------------------------------------------------------------------------------------------------------- training


def _trained(variant: Variant, plan: Plan, text: Corpus, say: Say, progress: Report | None) -> Iterator[AnyLexicon]:
    """The lexicons of a variant, one a seed: loaded where they are there, else trained and saved."""
    if variant.needs == "encoder" and not plan.encoder:
        raise InputError("no encoder was named: give one with --encoder")
    seeds = _seeds(variant, plan)
    for seed in range(1, seeds + 1):
        where = _place(variant, plan, seed)
        if not where.is_dir():
            say(f"{variant.row}: training" + (f", seed {seed} of {seeds}" if seeds > 1 else ""))
            started = time.monotonic()
            train_row(variant, seed, plan, text, progress)
            say(f"{variant.row}: {time.monotonic() - started:.0f} s")
        yield load(where)


def _seeds(variant: Variant, plan: Plan) -> int:
    """How many lexicons a row has: those asked for, and those that are there anyway; 0 leaves the row out."""
    wanted = 1
    if plan.only and variant.row not in plan.only:
        wanted = 0
    elif variant.model not in _ONCE:
        wanted = plan.seeds or (plan.preset.seeds if variant.model in _MATRICES else 1)
    return next(seed for seed in count(wanted) if not _place(variant, plan, seed + 1).is_dir())


def _train_all(plan: Plan, text: Corpus, engine: Engine, say: Say, progress: Report | None) -> None:
    """Train what is not there yet by an engine's workers; what fails is tried again, and reported, where it is needed.

    Rows that share a state, as those of BERT2DM do, are one task.
    """
    engine.see([plan.folder, text.path, *text.path.glob("*.npy")])
    tasks: dict[str, list[tuple[Variant, int]]] = {}
    for variant in plan.preset.variants:
        for seed in range(1, _seeds(variant, plan) + 1 if plan.encoder or variant.needs != "encoder" else 1):
            if not _place(variant, plan, seed).is_dir():
                alone = variant.model if variant.model == "bert2dm" else f"{variant.row} {seed}"
                tasks.setdefault(alone, []).append((variant, seed))
    if tasks:
        say(f"training {sum(map(len, tasks.values()))} models on {engine.workers} workers")
        own = replace(plan, given=(), folder=plan.folder.resolve(), threads=plan.threads or 1)
        shared = engine.put((own, text.path.resolve()))
        for _ in engine.map(_train_some, shared, tasks.values(), cores=plan.threads or 1, progress=progress or silent):
            pass


def _train_some(shared: tuple[Plan, Path], models: list[tuple[Variant, int]], report: Report) -> None:
    """Train some models, in a worker."""
    plan, text = shared
    for variant, seed in models:
        with suppress(PolysemaError):
            train_row(variant, seed, plan, Corpus(text), report)


def _place(variant: Variant, plan: Plan, seed: int) -> Path:
    return plan.folder / "models" / _slug(variant, plan) / str(seed)


def train_row(variant: Variant, seed: int, plan: Plan, text: Corpus, progress: Report | None = None) -> None:
    """Train one lexicon of a row and save it."""
    where = _place(variant, plan, seed)
    where.parent.mkdir(parents=True, exist_ok=True)
    _train(variant, seed, plan, text, where, progress).save(where)
    WorkingFolder(where.with_name(f"{seed}.training")).remove()


def _slug(variant: Variant, plan: Plan) -> str:
    """The folder of a variant's lexicons; what may differ between runs into one folder is part of it."""
    slug = variant.row.lower().replace(" + ", "-").replace(" ", "-")
    if variant.needs == "encoder":
        slug += f"@{_name_of(plan.encoder)}"
    if plan.all_occurrences and "occurrences" in options_of(variant, plan.preset, True):
        slug += "-all"
    models = (variant.model, *(["word2vec"] if variant.model == "context2dm" else []))  # which stands on such vectors
    changes = sorted(change for change in plan.preset.changes if change.partition(".")[0] in models)
    return "-".join([slug, *(change.replace("/", "_").partition(".")[2] for change in changes)])


def _train(variant: Variant, seed: int, plan: Plan, text: Corpus, where: Path, progress: Report | None) -> AnyLexicon:
    """Train one lexicon."""
    options = {**options_of(variant, plan.preset, plan.all_occurrences), "seed": seed}
    state = where.with_name(f"{seed}.training")
    learn = partial(train, keep=plan.keep, threads=plan.threads, progress=progress)
    if variant.model == "context2dm":  # the paper's: on word2vec vectors of 17 numbers
        vectors = where.with_name("vectors")
        if not vectors.is_dir():
            chosen = dict(plan.preset.options.get("word2vec", {})) | {"dim": 17, "device": plan.device}
            below = vectors.with_name("vectors.training")
            learn(text, "word2vec", state=below, **chosen).save(vectors)
            WorkingFolder(below).remove()
        options["vectors"] = vectors
    if variant.model == "bert2dm":
        options["encoder"] = plan.encoder  # variants that read the same sentences share a state, and encode them once
        read = {key: options.get(key) for key in ("words", "min_count", "max_size", "stop_words", "seed")}
        key = sha256(json.dumps([plan.encoder, read]).encode()).hexdigest()[:8]
        state = plan.folder / "models" / f"bert2dm-{key}.training"
    model = MODELS[variant.model]
    device = plan.device if plan.device in model.devices and "vectors" not in options else "cpu"
    return learn(text, variant.model, state=state if model.resumes else None, device=device, **options)


def _name_of(encoder: str) -> str:
    """The last part of an encoder's name or folder."""
    return Path(encoder).name or encoder


def _report(plan: Plan, text: Corpus, evaluation: Evaluation, skipped: Sequence[Skipped]) -> Path:
    configuration = {
        "polysema": __version__,
        "preset": plan.preset.name,
        "corpus": {"words": len(text.tokens), "sentences": len(text), "distinct words": len(text.counts)},
        "options": {v.row: options_of(v, plan.preset, plan.all_occurrences) for v in plan.preset.variants},
        "words of the evaluation sets are trained whatever their count": plan.preset.keep,
        "encoder": plan.encoder,
        "device": plan.device,
        "bootstraps": plan.preset.bootstraps,
    }
    given = [name for name, model in plan.given if isinstance(model, LexiconOf)]
    encoder = _name_of(plan.encoder) if plan.encoder else ""
    settings = Settings(
        f"Modelling Lexical Ambiguity with Density Matrices: a reproduction ({plan.preset.name})",
        noise_draws=plan.preset.noise_draws,
        configuration=configuration,
        departures=departures(plan.preset, len(text.tokens), encoder, given, plan.all_occurrences),
        complete=True,
    )
    return write_report(build_report(evaluation, skipped, settings), plan.folder / "report")[0]
