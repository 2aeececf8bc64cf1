"""The results of an evaluation: one table, and what is computed from it.

A result is one model, with one seed, on one set, with one method. Means over seeds, ensembles and intervals are
functions of results: nothing is composed again for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import InputError
from polysema.evaluation.ambiguity import AmbiguityCorrelation
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.statistics import Comparison, bootstrap, interval, spearman
from polysema.meanings.results import clean

Array = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Result:
    """One model on one set with one method."""

    model: str  # its name
    seed: int | None  # which of the model's seeds; None for the ensemble of all of them
    items: EvaluationSet  # the set
    method: str  # the composition method; ``word`` for pairs of words
    # the similarity of every item, (k,); NaN where the model lacks a word or the composition is zero
    scores: Array = field(repr=False)
    # the von Neumann entropy of every first phrase, (k,), NaN likewise; None where there is no matrix
    entropies: Array | None = field(repr=False)
    covered: NDArray[np.bool_] = field(repr=False)  # whether the model knows all words of each item, (k,)
    interval: Interval | None = None  # the 95 % interval of ρ, where it was asked for

    @cached_property
    def spearman(self) -> float:
        """Spearman's ρ with the gold judgements, over the items that have a score."""
        return spearman(self.items.gold, self.scores)

    @cached_property
    def entropy(self) -> float | None:
        """The mean entropy of the first phrases, those with the ambiguous verb."""
        if self.entropies is None:
            return None
        known = self.entropies[np.isfinite(self.entropies)]
        return float(known.mean()) if len(known) else math.nan

    @cached_property
    def scored(self) -> int:
        """How many items have a score: fewer than are covered where the composition is zero."""
        return int(np.isfinite(self.scores).sum())

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON holds them."""
        figures = {"spearman": self.spearman, "interval": self.interval, "entropy": self.entropy}
        return {"seed": self.seed, **clean(figures), "covered": int(self.covered.sum()), "scored": self.scored}


def ensemble(results: Sequence[Result]) -> Result:
    """Seeds as one model: the similarity and the entropy of an item are the means of theirs.

    An item that one of them lacks has none.
    """
    first = results[0]
    entropies = [result.entropies for result in results if result.entropies is not None]
    return replace(
        first,
        seed=None,
        scores=np.asarray(np.mean([result.scores for result in results], axis=0)),
        entropies=np.asarray(np.mean(entropies, axis=0)) if entropies else None,
        covered=np.asarray(np.all([result.covered for result in results], axis=0)),
        interval=None,
    )


def with_intervals(results: Iterable[Result], resamples: int, seed: int = 0) -> list[Result]:
    """Results with the 95 % interval of their ρ: clusters of items are resampled, see :mod:`.statistics`.

    Results that score the same items of a set are resampled together.
    """
    found = list(results)
    together: dict[tuple[int, bytes], list[int]] = {}
    for index, result in enumerate(found):
        together.setdefault((id(result.items), np.isfinite(result.scores).tobytes()), []).append(index)
    for indices in together.values():
        items, known = found[indices[0]].items, np.isfinite(found[indices[0]].scores)
        if known.sum() < 3:
            continue
        clusters = [cluster for cluster, is_known in zip(items.clusters, known, strict=True) if is_known]
        scores = np.stack([found[index].scores[known] for index in indices])
        drawn = bootstrap(items.gold[known], scores, resamples, seed, clusters)
        for index, values in zip(indices, drawn, strict=True):
            bounds = interval(found[index].spearman, values, len(set(clusters)))
            found[index] = replace(found[index], interval=bounds)
    return found


@dataclass(frozen=True)
class Row:
    """A row of the table: one model on one set with one method, by all of its seeds."""

    seeds: tuple[Result, ...]  # the result of each seed
    ensemble: Result | None = None  # all seeds as one model, where there are several

    @property
    def model(self) -> str:
        """The model's name."""
        return self.seeds[0].model

    @property
    def items(self) -> EvaluationSet:
        """The set."""
        return self.seeds[0].items

    @property
    def method(self) -> str:
        """The composition method."""
        return self.seeds[0].method

    @property
    def best(self) -> Result:
        """The result to test and to plot: the ensemble's, or the only seed's."""
        return self.ensemble or self.seeds[0]

    @property
    def spearman(self) -> float:
        """ρ, the mean over seeds."""
        return float(np.mean([result.spearman for result in self.seeds]))

    @property
    def sd(self) -> float | None:
        """The standard deviation of ρ over seeds; None for one seed."""
        return spread([result.spearman for result in self.seeds])

    @property
    def interval(self) -> Interval | None:
        """The interval of the only seed; None for several, whose spread and ensemble say more."""
        return self.seeds[0].interval if len(self.seeds) == 1 else None

    @property
    def entropy(self) -> float | None:
        """The mean entropy, over seeds too."""
        known = [result.entropy for result in self.seeds if result.entropy is not None]
        return float(np.mean(known)) if known else None

    @property
    def entropy_sd(self) -> float | None:
        """The standard deviation of the mean entropy over seeds."""
        return spread([result.entropy for result in self.seeds if result.entropy is not None])

    def to_json(self) -> dict[str, Any]:
        """The row as JSON holds it: the mean over seeds, each seed, and their ensemble."""
        return {
            "model": self.model,
            "set": self.items.name,
            "method": self.method,
            "items": len(self.items),
            "covered": int(self.best.covered.sum()),
            "scored": self.best.scored,
            **clean({name: getattr(self, name) for name in ("spearman", "sd", "interval", "entropy")}),
            "seeds": [result.to_json() for result in self.seeds],
            "ensemble": None if self.ensemble is None else self.ensemble.to_json(),
        }


@dataclass(frozen=True)
class System:
    """A model of the table: a configuration with one seed or several."""

    name: str  # what it is called
    kind: str  # matrices, vectors or sentences
    metadata: tuple[Mapping[str, Any], ...] = ({},)  # how each seed was made
    # how the entropy of each seed's words goes with WordNet's senses; empty where it was not asked for
    ambiguity: tuple[AmbiguityCorrelation, ...] = ()


@dataclass(frozen=True)
class Compared:
    """Two results that were compared; ``test`` says how the first differs from the second."""

    first: Result
    second: Result
    test: Comparison

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON holds them."""
        names = [{"model": result.model, "method": result.method} for result in (self.first, self.second)]
        return {"set": self.first.items.name, "first": names[0], "second": names[1], **self.test.to_json()}


@dataclass(frozen=True)
class Evaluation:
    """The table: models, sets and methods.

    >>> from polysema import Lexicon, evaluate
    >>> lexicon = Lexicon(["dog", "cat", "run", "move"], np.eye(4)[:, :, None] + 0.1)
    >>> pairs = EvaluationSet.of_words("own", [("dog", "cat"), ("dog", "run"), ("run", "move")], np.array([3.0, 1, 2]))
    >>> found = evaluate(lexicon, {"own": pairs})
    >>> found["own"].best.scored
    3
    """

    models: tuple[System, ...]  # the models
    rows: tuple[Row, ...]  # one for each model, set and method
    unknown_words: str = "skip"  # what was done with words a model lacks
    missing: Mapping[str, str] = field(default_factory=dict)  # sets that were not there, and why
    comparisons: tuple[Compared, ...] = ()  # the tests of models against each other, where they were asked for

    def __getitem__(self, key: str | tuple[str, ...]) -> Row:
        """A row by set, by set and method, or by model, set and method; what is left out must not matter."""
        asked = (key,) if isinstance(key, str) else tuple(key)
        model, name, method = asked if len(asked) == 3 else (None, *asked, *([None] * (2 - len(asked))))
        found = [
            row
            for row in self.rows
            if row.items.name == name and method in (None, row.method) and model in (None, row.model)
        ]
        if len(found) != 1:
            raise InputError(
                f"{' '.join(map(str, asked))}: {len(found)} rows: ask by [set], [set, method] or [model, set, method]; "
                f"sets: {', '.join(self.sets) or 'none'}"
            )
        return found[0]

    def __repr__(self) -> str:
        return f"Evaluation({len(self.models)} models, {len(self.sets)} sets, {len(self.rows)} rows)"

    @cached_property
    def sets(self) -> dict[str, EvaluationSet]:
        """The sets by name."""
        return {row.items.name: row.items for row in self.rows}

    def of(self, model: str = "", name: str = "") -> dict[tuple[str, str, str], Row]:
        """The rows of a model, of a set, or of both, by model, set and method."""
        return {
            (row.model, row.items.name, row.method): row
            for row in self.rows
            if model in ("", row.model) and name in ("", row.items.name)
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat dictionary for every seed and ensemble, such as ``pandas.DataFrame`` takes."""
        found = []
        for row in self.rows:
            for result in (*row.seeds, *([row.ensemble] if row.ensemble else [])):
                flat = result.to_json()
                low, high = flat.pop("interval") or (None, None)
                seed = "ensemble" if result.seed is None else result.seed
                found.append(
                    {"model": row.model, "set": row.items.name, "method": row.method, "items": len(row.items)}
                    | flat
                    | {"seed": seed, "low": low, "high": high}
                )
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON holds it; ``polysema evaluate --json`` prints this."""
        models = [
            {
                "name": system.name,
                "kind": system.kind,
                "seeds": len(system.metadata),
                "ambiguity": [clean(item.to_json()) for item in system.ambiguity],
            }
            for system in self.models
        ]
        return {
            "unknown_words": self.unknown_words,
            "models": models,
            "results": [row.to_json() for row in self.rows],
            "comparisons": [clean(item.to_json()) for item in self.comparisons],
            "missing": dict(self.missing),
        }


def spread(values: Sequence[float]) -> float | None:
    """The standard deviation of several values; None for one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
