"""One model on every set: the orchestration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from polysema.errors import DataError
from polysema.evaluation.datasets import PhrasePairs, WordPairs, load_sets
from polysema.evaluation.disambiguation import Disambiguation, disambiguation
from polysema.evaluation.models import EnsembleModel, LexiconModel, Model
from polysema.evaluation.records import RECORDS, record_named
from polysema.evaluation.statistics import bootstrap, interval
from polysema.evaluation.word_similarity import WordSimilarity, word_similarity
from polysema.lexicon.ensemble import Ensemble
from polysema.lexicon.lexicon import AnyLexicon, LexiconOf
from polysema.registry import provider

DataSet = WordPairs | PhrasePairs


@dataclass(frozen=True)
class Evaluation:
    """What one model came to.

    Attributes:
        name: of the model.
        kind: matrices, vectors or sentences.
        word_similarity: its result on each set of word pairs, by the set's name.
        disambiguation: its result on each set of phrase pairs.
        policy: what was done with words it lacks.
        metadata: how the model was made.
    """

    name: str
    kind: str
    word_similarity: Mapping[str, WordSimilarity]
    disambiguation: Mapping[str, Disambiguation]
    policy: str = "skip"
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return str(provider("evaluation_html")(self))

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON holds them."""
        words = {
            name: {"spearman": result.spearman, "covered": result.covered, "total": result.total, **_interval(result)}
            for name, result in self.word_similarity.items()
        }
        phrases: dict[str, dict[str, Any]] = {}
        for name, found in self.disambiguation.items():
            phrases[name] = {
                method: {
                    "spearman": score.spearman,
                    "entropy": score.entropy,
                    "scored": score.scored,
                    **_interval(score),
                }
                for method, score in found.methods.items()
            }
            phrases[name] |= {"covered": found.covered, "total": found.total}
        return {
            "model": self.name,
            "kind": self.kind,
            "unknown_words": self.policy,
            "word_similarity": words,
            "disambiguation": phrases,
        }


def _interval(result: Any) -> dict[str, Any]:
    return {} if result.interval is None else {"interval": list(result.interval)}


def evaluate(
    model: AnyLexicon | Ensemble | Model,
    data: str | Path | Mapping[str, DataSet] | None = None,
    *,
    sets: Iterable[str] | None = None,
    methods: Sequence[str] | None = None,
    unknown_words: str = "skip",
    bootstraps: int = 0,
    seed: int = 0,
    name: str = "",
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Score a model on the sets of the paper, or on others.

    Args:
        model: a lexicon or anything else that :class:`~polysema.evaluation.models.Model` describes.
        data: the data directory (see :func:`polysema.evaluation.datasets.directories`), or the sets themselves.
        sets: which, by name; by default all that are there.
        methods: which composition methods; by default all that the model has.
        unknown_words: what to do with words the model lacks: ``skip``, ``inflected`` or ``lemma``.
        bootstraps: how many resamples to take for the intervals; 0 for none.
        seed: of the resamples.
        name: what to call the model.
        progress: called with the name of each set when its turn comes.
    """
    loaded = data if isinstance(data, Mapping) else load_all(data, sets)
    scored = as_model(model, name, unknown_words)
    words: dict[str, WordSimilarity] = {}
    phrases: dict[str, Disambiguation] = {}
    for key, items in loaded.items():
        if progress:
            progress(key)
        if isinstance(items, WordPairs):
            words[key] = word_similarity(scored, items)
            if bootstraps:
                words[key] = _with_interval(words[key], items, bootstraps, seed)
        else:
            phrases[key] = disambiguation(scored, items, methods)
            if bootstraps:
                phrases[key] = _with_intervals(phrases[key], items, bootstraps, seed)
    return Evaluation(scored.name, scored.kind, words, phrases, unknown_words, dict(scored.metadata))


def as_model(model: AnyLexicon | Ensemble | Model, name: str = "", unknown_words: str = "skip") -> Model:
    """What evaluation can score."""
    if isinstance(model, Ensemble):
        members = [LexiconModel(member, name, unknown_words) for member in model.members]
        return EnsembleModel(members, name or "ensemble", model.metadata)
    if isinstance(model, LexiconOf):
        return LexiconModel(model, name or "model", unknown_words)
    return model


def load_all(data: str | Path | None, sets: Iterable[str] | None = None) -> dict[str, DataSet]:
    """The sets asked for, where all of them must be there; by default those of the nine that are."""
    asked = None if sets is None else [record_named(name).name for name in sets]
    found, missing = load_sets(asked, data)
    if missing and (asked is not None or len(missing) == len(RECORDS)):
        name, reason = next(iter(missing.items()))
        more = f" ({len(missing)} sets are missing)" if len(missing) > 1 else ""
        raise DataError(
            f"{name}: {reason}{more}: put the files in a folder and name it with --data or POLYSEMA_DATA, "
            "or download them with `polysema data fetch`"
        )
    return found


def _with_interval(result: WordSimilarity, data: WordPairs, resamples: int, seed: int) -> WordSimilarity:
    known = np.isfinite(result.scores)
    if known.sum() < 3:
        return result
    return replace(result, interval=interval(bootstrap(data.gold[known], result.scores[known], resamples, seed)[0]))


def _with_intervals(result: Disambiguation, data: PhrasePairs, resamples: int, seed: int) -> Disambiguation:
    """The methods that score the same items are resampled together."""
    together: dict[bytes, list[str]] = {}
    for method, score in result.methods.items():
        together.setdefault(np.isfinite(score.scores).tobytes(), []).append(method)
    methods = dict(result.methods)
    for names in together.values():
        known = np.isfinite(methods[names[0]].scores)
        if known.sum() < 3:
            continue
        drawn = bootstrap(data.gold[known], np.stack([methods[m].scores[known] for m in names]), resamples, seed)
        for method, values in zip(names, drawn, strict=True):
            methods[method] = replace(methods[method], interval=interval(values))
    return replace(result, methods=methods)
