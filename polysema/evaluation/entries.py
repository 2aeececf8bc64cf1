"""The rows of a comparison: one configuration each, with one seed or several."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from polysema.composition.methods import CONTEXTUAL, METHODS
from polysema.errors import InputError, UnknownChoiceError
from polysema.evaluation.ambiguity import AmbiguityCorrelation, ambiguity_correlation
from polysema.evaluation.evaluate import DataSet, Evaluation, as_model, evaluate
from polysema.evaluation.models import EnsembleModel, Model
from polysema.evaluation.published import DISAMBIGUATION, plain, row_of
from polysema.evaluation.sentence_models import METHODS as ENCODER_METHODS
from polysema.lexicon.lexicon import Lexicon


@dataclass(frozen=True)
class Entry:
    """A configuration that was evaluated.

    Attributes:
        name: what to call it.
        seeds: the evaluation of each of its seeds.
        ensemble: the evaluation of all seeds as one model, where there are several.
        ambiguity: how the entropy of each seed's words goes with WordNet's senses; empty for vectors and encoders.
        paper: the paper's row that it belongs beside, or None.
    """

    name: str
    seeds: Sequence[Evaluation]
    ensemble: Evaluation | None = None
    ambiguity: Sequence[AmbiguityCorrelation] = ()
    paper: str | None = None

    @property
    def kind(self) -> str:
        """Matrices, vectors or sentences."""
        return self.seeds[0].kind

    @property
    def best(self) -> Evaluation:
        """The evaluation to test and to plot: the ensemble's, or the only seed's."""
        return self.ensemble or self.seeds[0]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A configuration that was not evaluated, and why."""

    name: str
    reason: str


def configuration(metadata: Mapping[str, Any]) -> str:
    """What seeds of one configuration have in common: how the model was trained, but for the seed; "" if unknown."""
    if not metadata.get("model"):
        return ""
    chosen = {key: value for key, value in metadata.get("options", {}).items() if key != "seed"}
    return json.dumps([metadata["model"], chosen, metadata.get("corpus")], sort_keys=True, default=str)


def grouped(names: Sequence[str], metadata: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Which models are seeds of one configuration: those of one name, and those trained alike but for the seed."""
    groups: list[list[int]] = []
    keys: dict[str, list[int]] = {}
    for index, (name, facts) in enumerate(zip(names, metadata, strict=True)):
        key = configuration(facts)
        group = keys.get(f"name {name}") or (keys.get(key) if key else None)
        if group is None:
            group = []
            groups.append(group)
        group.append(index)
        keys[f"name {name}"] = group
        if key:
            keys[key] = group
    return groups


def evaluate_models(
    models: Sequence[tuple[str, Lexicon | Model]],
    sets: Mapping[str, DataSet],
    *,
    methods: Sequence[str] | None = None,
    unknown_words: str = "skip",
    bootstraps: int = 0,
    seed: int = 0,
    senses: str | None = "wordnet-3.0",
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Entry]:
    """Evaluate named models, those of one configuration together; see :func:`grouped`.

    Args:
        methods: which composition methods, of those a model has; by default all.
        senses: where WordNet's sense counts come from; None leaves the analysis of ambiguity out.
        progress: called with a model's name, how many are done, and how many there are.
    """
    known = (*METHODS, *ENCODER_METHODS, CONTEXTUAL.name)
    for method in methods or ():
        if method not in known:
            raise UnknownChoiceError("composition method", method, known)
    entries = []
    done = 0
    for group in grouped([name for name, _ in models], [model.metadata for _, model in models]):
        found, ambiguity = [], []
        for index in group:
            name, model = models[index]
            if progress:
                progress(name, done, len(models))
            found.append(_evaluated(model, name, sets, methods, unknown_words, bootstraps, seed))
            if senses and isinstance(model, Lexicon) and model.kind == "matrices":
                ambiguity += _correlated(model, senses)
            done += 1
        name = _common_name([models[index][0] for index in group])
        ensemble = None
        if len(group) > 1:
            members = [as_model(models[index][1], name, unknown_words) for index in group]
            together = EnsembleModel(members, name, found[0].metadata)
            ensemble = _evaluated(together, name, sets, methods, unknown_words, bootstraps, seed)
        entries.append(Entry(name, found, ensemble, ambiguity, paper_row(found[0].metadata, name)))
    return entries


def _evaluated(
    model: Lexicon | Model,
    name: str,
    sets: Mapping[str, DataSet],
    methods: Sequence[str] | None,
    unknown_words: str,
    bootstraps: int,
    seed: int,
) -> Evaluation:
    scored = as_model(model, name, unknown_words)
    chosen = None if methods is None else [method for method in scored.methods if method in methods]
    return evaluate(scored, sets, methods=chosen, unknown_words=unknown_words, bootstraps=bootstraps, seed=seed)


def _common_name(names: Sequence[str]) -> str:
    """What names have in common at their beginning, without a number or a sign at its end; else the first of them."""
    if len(set(names)) == 1:
        return names[0]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same).rstrip("0123456789 -_.#=") or names[0]


def _correlated(model: Lexicon, senses: str) -> list[AmbiguityCorrelation]:
    """The correlation, where the lexicon has enough words for one."""
    try:
        return [ambiguity_correlation(model, source=senses)]
    except InputError:
        return []


def paper_row(metadata: Mapping[str, Any], name: str) -> str | None:
    """The paper's row for a model: by how it was trained, else by its name."""
    by_name = {plain(row): row for row in DISAMBIGUATION["GS2011"]}
    return row_of(metadata) or by_name.get(plain(name))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: the mean over seeds, or one model.

    Attributes:
        name: of the line.
        entry: what it belongs to.
        evaluations: one, or several to take the mean over.
        first: whether it opens its entry.
    """

    name: str
    entry: Entry
    evaluations: Sequence[Evaluation] = field(default_factory=list)
    first: bool = True

    def word_figure(self, name: str) -> tuple[float, float | None, tuple[float, float] | None]:
        """ρ on a set of word pairs, its spread over seeds, its interval."""
        found = [result.word_similarity[name] for result in self.evaluations]
        return summary([item.spearman for item in found], [item.interval for item in found])

    def phrase_figure(self, name: str, method: str) -> tuple[float, float | None, tuple[float, float] | None] | None:
        """ρ on a set of phrases with a method, its spread, its interval; None where the model lacks the method."""
        found = [result.disambiguation[name].methods.get(method) for result in self.evaluations]
        known = [item for item in found if item is not None]
        return summary([item.spearman for item in known], [item.interval for item in known]) if known else None

    def entropy_figure(self, name: str, method: str) -> tuple[float, float | None] | None:
        """The mean entropy on a set of phrases with a method, and its spread."""
        scores = [result.disambiguation[name].methods.get(method) for result in self.evaluations]
        known = [item.entropy for item in scores if item is not None and item.entropy is not None]
        return summary(known, [None] * len(known))[:2] if known else None


def lines(entries: Sequence[Entry]) -> list[Line]:
    """The lines of a table: one an entry; for several seeds their mean, and their ensemble."""
    found = []
    for entry in entries:
        if len(entry.seeds) == 1:
            found.append(Line(entry.name, entry, entry.seeds))
            continue
        found.append(Line(f"{entry.name}, mean of {len(entry.seeds)} seeds", entry, entry.seeds))
        if entry.ensemble is not None:
            found.append(Line(f"{entry.name}, their ensemble", entry, [entry.ensemble], first=False))
    return found


def summary(
    values: Sequence[float], intervals: Sequence[tuple[float, float] | None]
) -> tuple[float, float | None, tuple[float, float] | None]:
    """The only value with its interval, or the mean of several with their standard deviation."""
    if len(values) == 1:
        return float(values[0]), None, intervals[0]
    return float(np.mean(values)), float(np.std(values, ddof=1)), None
