"""Several trainings at once: seeds, a grid of options, a lexicon for every slice of a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from polysema.checkpoints import WorkingFolder
from polysema.corpus.corpus import is_corpus
from polysema.engine import Engine, engine_named
from polysema.errors import InputError
from polysema.progress import Report, silent
from polysema.training.job import RunOptions
from polysema.training.models import model_named, train

Text = str | Path | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Training:
    """One training of several.

    Attributes:
        name: what sets it apart from the others; also the name of its folder.
        corpus, model: what it learns from, and what.
        options: as :func:`polysema.train` takes them.
    """

    name: str
    corpus: Text
    model: str
    options: Mapping[str, Any]


def grid(corpus: Text | list[Text], options: Mapping[str, Any]) -> list[Training]:
    """Every combination of the options that are given as lists, ``model`` among them, for every corpus.

    >>> [training.name for training in grid("wiki.corpus", {"dim": [17, 30], "seed": [1, 2], "epochs": 2})]
    ['dim=17,seed=1', 'dim=17,seed=2', 'dim=30,seed=1', 'dim=30,seed=2']
    """
    given: dict[str, Any] = {"corpus": corpus if isinstance(corpus, list) else [corpus], **options}
    several = {name: value for name, value in given.items() if isinstance(value, list)}
    if empty := [name for name, value in several.items() if not value]:
        raise InputError(f"the list of {empty[0]} is empty: give one value or more")
    found = []
    for values in product(*several.values()):
        chosen = {**given, **dict(zip(several, values, strict=True))}
        text, model = chosen.pop("corpus"), chosen.pop("model", "ms-word2dm")
        varied = [(name, value) for name, value in zip(several, values, strict=True) if len(several[name]) > 1]
        name = ",".join(f"{key}={Path(str(value)).stem if key == 'corpus' else value}" for key, value in varied)
        found.append(Training(name or "lexicon", text, model, chosen))
    if len({training.name for training in found}) < len(found):
        raise InputError("two trainings would have one name: give each value once")
    return found


def sweep(
    corpus: Text | list[Text],
    folder: str | Path,
    *,
    keep: Iterable[str] = (),
    engine: str | Engine = "local",
    address: str | None = None,
    progress: Report | None = None,
    **options: Any,
) -> dict[str, Path]:
    """Train a lexicon for every combination of the options that are given as lists; see :func:`grid`.

    Lexicons that are in the folder already are kept, and trainings that were stopped go on: the same call finishes what
    is left.

    Args:
        corpus: an encoded corpus, or text (a tuple of files is one text); a list of them is one lexicon for each,
            such as for slices of time. Text is encoded for every training: encode it first.
        folder: where the lexicons go, each in a folder named after what sets it apart.
        engine: who trains: ``local``, one after the other; ``ray``, as many at once as the cluster has processors.

    Returns:
        the folder of every lexicon, by name.
    """
    folder = Path(folder)
    trainings = grid(corpus, options)
    for training in trainings:  # complains now, not when others have been trained
        of_run = {field.name for field in dataclasses.fields(RunOptions)}
        RunOptions.given({name: value for name, value in training.options.items() if name in of_run})
        own = {name: value for name, value in training.options.items() if name not in of_run}
        model_named(training.model).chosen(own, training.options.get("preset"))
    threads = options.get("threads")
    with _made(folder), engine_named(engine, address) as workers:
        given = [training.corpus for training in trainings]
        texts = {str(text) for corpus in given for text in (corpus if isinstance(corpus, tuple) else [corpus])}
        workers.see([folder, *texts, *(Path(text) / "config.json" for text in texts if is_corpus(text))])
        if engine != "local" and threads is None:
            trainings = [Training(t.name, t.corpus, t.model, {**t.options, "threads": 1}) for t in trainings]
        shared = workers.put((folder.resolve(), tuple(keep)))
        done = workers.map(train_one, shared, trainings, cores=threads or 1, progress=progress or silent)
        return {name: folder / name for name in done}


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder that is gone again where nothing came to lie in it."""
    if folder.is_dir():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def train_one(shared: tuple[Path, tuple[str, ...]], training: Training, report: Report) -> str:
    """Train one lexicon and save it, where it is not there yet; returns its name."""
    folder, keep = shared
    where = folder / training.name
    if not where.is_dir():
        resumes = model_named(training.model).resumes
        state = WorkingFolder(folder / f"{training.name}.training") if resumes else None
        corpus = list(training.corpus) if isinstance(training.corpus, tuple) else training.corpus
        path = state.path if state is not None else None
        train(corpus, training.model, keep=keep, state=path, progress=report, **training.options).save(where)
        if state is not None:
            state.remove()
    return training.name
