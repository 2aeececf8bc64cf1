"""Scores models on evaluation sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from polysema.composition.compose import Composer
from polysema.composition.methods import METHODS
from polysema.encoders.contextual import CONTEXTUAL
from polysema.engine import Engine, Local
from polysema.errors import InputError, check_choice
from polysema.evaluation.ambiguity import AmbiguityCorrelation, ambiguity_correlation
from polysema.evaluation.datasets import WORD, EvaluationSet, load_all
from polysema.evaluation.models import ENCODER_METHODS, LexiconModel, Model
from polysema.evaluation.results import Evaluation, Result, Row, System, ensemble, with_intervals
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, LexiconOf
from polysema.progress import Report
from polysema.slots.model import SLOTS

Evaluated = AnyLexicon | Model  # what can be evaluated

KNOWN_METHODS = (*METHODS, *ENCODER_METHODS, CONTEXTUAL.name, *(each.name for each in SLOTS))


def evaluate(
    model: Evaluated,
    data: str | Path | Mapping[str, EvaluationSet] | None = None,
    *,
    sets: Iterable[str] | None = None,
    name: str = "model",
    **options: Any,
) -> Evaluation:
    """Score a model on the sets of the paper, or on others.

    Args:
        model: a lexicon or anything else that :class:`~polysema.evaluation.models.Model` describes.
        data: the data directory (see :func:`polysema.evaluation.datasets.directories`), or the sets themselves.
        sets: which, by name; by default all that are there.
        name: what to call the model.
        options: ``methods``, ``unknown_words``, ``bootstraps`` and ``seed``, as :func:`evaluate_models` takes them.
    """
    loaded = data if isinstance(data, Mapping) else load_all(data, sets)
    return evaluate_models([(name, model)], loaded, **{"ambiguity": False, **options})


def evaluate_models(
    models: Sequence[tuple[str, Evaluated]],
    sets: Mapping[str, EvaluationSet],
    *,
    methods: Sequence[str | Composer] | None = None,
    unknown_words: str = "skip",
    bootstraps: int = 0,
    seed: int = 0,
    ambiguity: bool = True,
    missing: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    engine: Engine | None = None,
) -> Evaluation:
    """Score named models on sets: one table, in which seeds of one configuration are one row; see :func:`grouped`.

    Args:
        methods: which composition methods, of those a model has, or methods of your own; by default all it has.
        unknown_words: what to do with words a model lacks: ``skip``, ``inflected`` or ``lemma``.
        bootstraps: how many resamples to take for the intervals; 0 for none.
        seed: of the resamples.
        ambiguity: whether to correlate entropy with WordNet's sense counts.
        missing: sets that are not there, and why, for the record.
        progress: called with a model's name, how many are done, and how many there are.
        engine: scores one model per task; by default this process.
    """
    if seed < 0:
        raise InputError(f"the seed must be at least 0, not {seed}")
    own = {method.name: method for method in methods or () if not isinstance(method, str)}
    names = None if methods is None else [method if isinstance(method, str) else method.name for method in methods]
    for name in names or ():
        check_choice("composition method", name, (*KNOWN_METHODS, *own))
    systems: list[System] = []
    tasks: list[tuple[str, int, Evaluated]] = []
    for group in grouped([name for name, _ in models], [model.metadata for _, model in models]):
        members = [models[index][1] for index in group]
        kinds = {model.kind for model in members}
        name = _common_name([models[index][0] for index in group])
        if len(kinds) > 1:
            raise InputError(f"{name}: models of one name are its seeds, but these are {' and '.join(sorted(kinds))}")
        if any(system.name == name for system in systems):
            name = models[group[0]][0]
        seeds = _seeds([model.metadata for model in members])
        tasks += [(name, number, model) for number, model in zip(seeds, members, strict=True)]
        systems.append(System(name, kinds.pop(), tuple(dict(model.metadata) for model in members), ()))
    results: dict[tuple[str, str, str], list[Result]] = {}
    correlated: dict[str, list[AmbiguityCorrelation]] = {}
    workers = engine or Local()
    scored = workers.map(_scored, workers.put((sets, names, own, unknown_words, ambiguity)), tasks)
    for done, (name, _, _) in enumerate(tasks):
        if progress:
            progress(name, done, len(models))
        found, correlations = next(scored)
        for result in found:
            results.setdefault((name, result.items.name, result.method), []).append(result)
        correlated.setdefault(name, []).extend(correlations)
    systems = [replace(system, ambiguity=tuple(correlated[system.name])) for system in systems]
    rows = [Row(tuple(found), ensemble(found) if len(found) > 1 else None) for found in results.values()]
    if bootstraps:
        flat = [result for row in rows for result in (*row.seeds, *([row.ensemble] if row.ensemble else []))]
        ready = iter(with_intervals(flat, bootstraps, seed))
        rows = [Row(tuple(next(ready) for _ in row.seeds), next(ready) if row.ensemble else None) for row in rows]
    return Evaluation(tuple(systems), tuple(rows), unknown_words, dict(missing or {}))


def _scored(
    shared: Any, task: tuple[str, int, Evaluated], _: Report
) -> tuple[list[Result], list[AmbiguityCorrelation]]:
    """The results of one model, and how far its ambiguity goes with WordNet's."""
    sets, methods, own, unknown_words, ambiguity = shared
    name, seed, model = task
    scored = LexiconModel(model, name, unknown_words, own) if isinstance(model, LexiconOf) else model
    found = []
    for items in sets.values():
        for method in scored.methods(items):
            if methods is None or method == WORD or method in methods:
                scores = scored.scores(items, method)
                found.append(Result(name, seed, items, method, scores.similarity, scores.entropy, scores.covered))
    if not ambiguity or not isinstance(model, Lexicon):
        return found, []
    try:
        return found, [ambiguity_correlation(model)]
    except InputError:  # too few words for a correlation
        return found, []


# ------------------------------------------------------------------------------------------------- which are seeds


def made_with(metadata: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The model and the options that a lexicon was made with, from its metadata; "" and none where it is not known."""
    options = metadata.get("options")
    return str(metadata.get("model") or ""), dict(options) if isinstance(options, Mapping) else {}


def grouped(names: Sequence[str], metadata: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Which models are seeds of one configuration: those of one name, and those trained alike but for the seed."""
    groups: list[list[int]] = []
    keys: dict[str, list[int]] = {}
    for index, (name, facts) in enumerate(zip(names, metadata, strict=True)):
        own = [f"name {name}"]
        model, options = made_with(facts)
        if model:
            options.pop("seed", None)
            own.append(json.dumps([model, options, facts.get("corpus")], sort_keys=True, default=str))
        group = next((keys[key] for key in own if key in keys), None)
        if group is None:
            groups.append(group := [])
        group.append(index)
        keys |= dict.fromkeys(own, group)
    return groups


def _seeds(metadata: Sequence[Mapping[str, Any]]) -> list[int]:
    """The seeds that models were trained with; 1, 2, … where that is not known."""
    found = [made_with(facts)[1].get("seed") for facts in metadata]
    if all(isinstance(seed, int) for seed in found) and len(set(found)) == len(found):
        return [int(seed) for seed in found if seed is not None]
    return list(range(1, len(found) + 1))


def _common_name(names: Sequence[str]) -> str:
    """What names have in common at their beginning, without a number or a sign at its end; else the first of them."""
    if len(set(names)) == 1:
        return names[0]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same).rstrip("0123456789 -_.#=") or names[0]
