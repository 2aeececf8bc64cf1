"""The paper again, from a corpus: train every variant, evaluate everything, write the report.

Everything lies in one folder, so a run that was stopped goes on where it was: ``corpus`` the text that is trained on,
``models/NAME/SEED`` the lexicons (each there whole or not at all), ``report`` the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polysema.composition.methods import METHODS
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus, is_corpus
from polysema.corpus.readers import find_sources, read_blocks
from polysema.errors import InputError, PolysemaError
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.entries import Entry, Skipped, evaluate_models
from polysema.evaluation.evaluate import DataSet
from polysema.evaluation.models import Model
from polysema.evaluation.report.build import Settings, build_report
from polysema.evaluation.report.write import write_report
from polysema.evaluation.sentence_models import METHODS as ENCODER_METHODS
from polysema.evaluation.variants import VARIANTS, Preset, Variant, options_of
from polysema.files.atomic import atomic_file
from polysema.files.working import WorkingFolder
from polysema.lexicon.ensemble import Ensemble
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import AnyLexicon, single

_BYTES = 6  # of text for a word, about: how much of it is read where a preset takes only so many words
_PLAIN = (".xml", ".conllu", ".vert", ".txt")  # endings that may tell what the text looks like
_SEEDED = ("ms-word2dm", "word2dm")
_ON_DEVICES = ("ms-word2dm", "word2dm", "word2vec")


@dataclass(frozen=True)
class Plan:
    """What to reproduce.

    Attributes:
        corpus: text as :func:`polysema.build_corpus` takes it, or an encoded corpus.
        folder: where everything goes.
        preset: how large.
        sets: the evaluation sets.
        missing: those that are not there, with the reason.
        only: rows to train; by default all.
        seeds: how many seeds; by default as the preset says.
        encoder: the encoder of BERT2DM: a folder or a name; "" leaves BERT2DM out.
        extra: further models to evaluate, by name, such as vectors from a file or sentence encoders.
        left_out: further models that could not be had, and why.
        device: cpu or cuda.
        threads: how many; None for one per core.
    """

    corpus: str | Path | Sequence[str | Path]
    folder: Path
    preset: Preset
    sets: Mapping[str, DataSet]
    missing: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] = ()
    seeds: int | None = None
    encoder: str = ""
    extra: Sequence[tuple[str, AnyLexicon | Ensemble | Model]] = ()
    left_out: Sequence[Skipped] = ()
    device: str = "cpu"
    threads: int | None = None


def reproduce(plan: Plan, say: Callable[[str], None] = lambda line: None, progress: Any = None) -> Path:
    """Train what is not yet trained, evaluate all of it, write the report.

    Args:
        say: called with a line when something is begun or done.
        progress: handed to the trainers.

    Returns:
        the report's page.
    """
    _claim(plan)
    text = _text(plan, say)
    models: list[tuple[str, AnyLexicon | Ensemble | Model]] = []
    skipped: list[Skipped] = []
    for variant in VARIANTS:
        if plan.only and variant.row not in plan.only:
            continue
        try:
            for lexicon in _trained(variant, plan, text, say, progress):
                models.append((variant.row, lexicon))
        except PolysemaError as error:
            reason = " ".join(str(error).split())
            say(f"{variant.row}: left out: {reason}")
            skipped.append(Skipped(variant.row, reason))
    WorkingFolder(plan.folder / "models" / "bert2dm.training").remove()
    models += plan.extra
    if not models:
        raise InputError(f"no model could be trained: {skipped[0].reason}" if skipped else "there is no model to train")
    say("evaluating")
    methods = (*METHODS, *ENCODER_METHODS)  # not the contextual matrices, which the paper does not have
    entries = evaluate_models(models, plan.sets, methods=methods, bootstraps=plan.preset.bootstraps)
    return _report(plan, text, entries, [*skipped, *plan.left_out], say)


def _claim(plan: Plan) -> None:
    """Note in the folder what it is for; a folder that is for something else is an error."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    note = plan.folder / "reproduce.json"
    given = plan.corpus if isinstance(plan.corpus, str | Path) else " ".join(map(str, plan.corpus))
    wanted = {"corpus": str(given), "preset": plan.preset.name, "encoder": plan.encoder}
    if note.is_file():
        try:
            found = json.loads(note.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found != wanted:
            raise InputError(f"{plan.folder} holds a run of other text or settings: choose another folder")
    elif any(plan.folder.iterdir()):
        raise InputError(f"{plan.folder} is not empty: choose a new folder for the run")
    else:
        with atomic_file(note) as stream:
            stream.write(json.dumps(wanted, indent=2).encode())


def _text(plan: Plan, say: Callable[[str], None]) -> Corpus:
    """The corpus to train on: all of it, or its beginning."""
    most = plan.preset.words
    if isinstance(plan.corpus, str | Path) and is_corpus(plan.corpus):
        whole = Corpus(plan.corpus)
        if most is None or len(whole.tokens) <= most:
            return whole
        sentences = int(np.searchsorted(whole.sentences, most))
        return _encoded(plan, lambda where: build_corpus(islice(whole, sentences), where), say)
    if most is None:
        return _encoded(plan, lambda where: build_corpus(plan.corpus, where), say)
    return _encoded(plan, lambda where: _beginning(plan, where, most), say)


def _encoded(plan: Plan, build: Callable[[Path], Corpus], say: Callable[[str], None]) -> Corpus:
    where = plan.folder / "corpus"
    if is_corpus(where):
        return Corpus(where)
    say("reading the corpus")
    return build(where)


def _beginning(plan: Plan, where: Path, words: int) -> Corpus:
    """The corpus of about so many words from the beginning of text; no more of it is unpacked than that."""
    left = words * _BYTES
    part = WorkingFolder(plan.folder / "text")
    for number, source in enumerate(find_sources(plan.corpus)):
        name = f"{number}{source.suffix if source.suffix in _PLAIN else ''}"
        with atomic_file(part.file(name), True) as out:
            for block in read_blocks(source, block=min(left, 1 << 18)):
                out.write(block.data)
                left -= len(block.data)
                if left <= 0:
                    break
        if left <= 0:
            break
    corpus = build_corpus(part.path, where)
    part.remove()
    return corpus


def _trained(
    variant: Variant, plan: Plan, text: Corpus, say: Callable[[str], None], progress: Any
) -> Iterator[AnyLexicon]:
    """The lexicons of a variant, one a seed: loaded where they are there, else trained and saved."""
    if variant.needs == "encoder" and not plan.encoder:
        raise InputError("no encoder was named: give one with --encoder")
    seeds = (plan.seeds or plan.preset.seeds) if variant.model in _SEEDED else 1
    slug = variant.row.lower().replace(" + ", "-").replace(" ", "-")
    for seed in range(1, seeds + 1):
        where = plan.folder / "models" / slug / str(seed)
        if not where.is_dir():
            where.parent.mkdir(parents=True, exist_ok=True)
            say(f"{variant.row}: training" + (f", seed {seed} of {seeds}" if seeds > 1 else ""))
            state = where.with_name(f"{seed}.training")
            options = {**options_of(variant, plan.preset), "seed": seed}
            _TRAINERS.get(variant.model, _train)(variant.model, plan, text, state, progress, options).save(where)
            WorkingFolder(state).remove()
        yield single(load(where))


def _train(model: str, plan: Plan, text: Corpus, state: Path, progress: Any, options: dict[str, Any]) -> AnyLexicon:
    """Train a model of ``polysema train``."""
    from polysema.training.models import train

    if plan.device != "cpu" and model in _ON_DEVICES:
        options["device"] = plan.device
    return train(text, model, keep=_kept(plan), state=state, threads=plan.threads, progress=progress, **options)


def _context2dm(
    model: str, plan: Plan, text: Corpus, state: Path, progress: Any, options: dict[str, Any]
) -> AnyLexicon:
    """Context2DM on word2vec vectors of 17 numbers, as in the paper, which are trained first."""
    from polysema.contexts.context2dm import context2dm

    where = state.with_name("vectors")
    if not where.is_dir():
        vectors = {"dim": 17, **{key: value for key, value in _preset(plan, "word2vec").items() if key != "dim"}}
        learnt = _train("word2vec", plan, text, state.with_name("vectors.training"), progress, vectors)
        learnt.save(where)
        WorkingFolder(state.with_name("vectors.training")).remove()
    return context2dm(text, single(load(where)), keep=_kept(plan), state=state, workers=plan.threads or 1, **options)


def _bert2dm(model: str, plan: Plan, text: Corpus, state: Path, progress: Any, options: dict[str, Any]) -> AnyLexicon:
    """BERT2DM; its variants share a state, so that text is encoded once for those that read the same."""
    from polysema.encoders.bert2dm import bert2dm
    from polysema.encoders.huggingface import Encoder

    reader = Encoder.load(plan.encoder, device=plan.device)
    shared = plan.folder / "models" / "bert2dm.training"
    return bert2dm(text, reader, keep=_kept(plan), state=shared, workers=plan.threads, **options)


_TRAINERS = {"context2dm": _context2dm, "bert2dm": _bert2dm}
"""Models that are made by functions of their own."""


def _preset(plan: Plan, model: str) -> dict[str, Any]:
    return dict(plan.preset.options.get(model, {}))


def _kept(plan: Plan) -> list[str]:
    """Words that are trained whatever their count."""
    return _evaluated(plan.sets) if plan.preset.keep else []


def _evaluated(sets: Mapping[str, DataSet]) -> list[str]:
    """All words of the evaluation sets, lower-cased."""
    words: set[str] = set()
    for data in sets.values():
        groups: Any = data.pairs if isinstance(data, WordPairs) else ()
        if isinstance(data, PhrasePairs):
            groups = (*data.first, *data.second)
        words |= {word.lower() for group in groups for word in group}
    return sorted(words)


def _report(
    plan: Plan, text: Corpus, entries: Sequence[Entry], skipped: Sequence[Skipped], say: Callable[[str], None]
) -> Path:
    from polysema.version import __version__

    configuration = {
        "polysema": __version__,
        "preset": plan.preset.name,
        "corpus": {"words": len(text.tokens), "sentences": len(text), "distinct words": len(text.counts)},
        "options": {variant.row: options_of(variant, plan.preset) for variant in VARIANTS},
        "words of the evaluation sets are trained whatever their count": plan.preset.keep,
        "device": plan.device,
        "bootstraps": plan.preset.bootstraps,
    }
    settings = Settings(
        f"Modelling Lexical Ambiguity with Density Matrices: a reproduction ({plan.preset.name})",
        noise_draws=plan.preset.noise_draws,
        configuration=configuration,
        missing=plan.missing,
    )
    say("writing the report")
    return write_report(build_report(entries, plan.sets, skipped, settings), plan.folder / "report")[0]
