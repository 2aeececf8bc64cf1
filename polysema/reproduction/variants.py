"""What the paper trained, as a table: each row of its results with the model and the options that make it.

Sizes that the paper leaves to the reader or that a small machine cannot have (how much text, how many dimensions a
baseline's vectors get) come from a preset.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polysema.errors import InputError, chosen


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the paper that is trained."""

    row: str  # its name in the paper's tables
    model: str  # the model's name
    options: Mapping[str, Any] = field(default_factory=dict)  # options of this row of the model
    needs: str = ""  # what it requires: ``encoder`` for BERT2DM


VARIANTS: tuple[Variant, ...] = (
    Variant("Word2Vec", "word2vec"),
    Variant("GloVe", "glove"),
    Variant("FastText", "fasttext"),
    Variant("Context2DM", "context2dm"),
    Variant("Word2DM", "word2dm"),
    Variant("MS-Word2DM cos 5", "ms-word2dm", {"select": "cosine", "senses": 5}),
    Variant("MS-Word2DM cos 10", "ms-word2dm", {"select": "cosine", "senses": 10}),
    Variant("MS-Word2DM dot 5", "ms-word2dm", {"select": "dot", "senses": 5}),
    Variant("MS-Word2DM dot 10", "ms-word2dm", {"select": "dot", "senses": 10}),
    Variant("BERT2DM PCA", "bert2dm", {"reduction": "pca"}, "encoder"),
    Variant("BERT2DM SVD", "bert2dm", {"reduction": "svd"}, "encoder"),
    Variant("BERT2DM PCA + cluster", "bert2dm", {"reduction": "pca", "cluster": True}, "encoder"),
    Variant("BERT2DM SVD + cluster", "bert2dm", {"reduction": "svd", "cluster": True}, "encoder"),
)
"""In the order of the paper's tables."""

RECOMMENDED: tuple[Variant, ...] = tuple(
    Variant(f"{variant.row}, SGD", variant.model, {**variant.options, "preset": None, "init": None, "min_count": 50})
    for variant in VARIANTS
    if variant.model == "ms-word2dm"
)
"""Multi-sense Word2DM with the settings that we recommend: further rows below the paper's."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How large a reproduction is."""

    name: str  # as it is written everywhere
    summary: str  # what to expect
    words: int | None  # how many words of the corpus are read at most; None for all
    seeds: int  # how many seeds of each model of density matrices that has one
    keep: bool  # whether words of the evaluation sets are trained whatever their count
    options: Mapping[str, Mapping[str, Any]]  # of each model, what the preset says of it
    changes: tuple[str, ...] = ()  # options that were changed for one run, as they were written
    recommended: bool = False  # whether the rows of :data:`RECOMMENDED` are trained, too
    bootstraps: int = 1000  # resamples for the intervals
    noise_draws: int = 20  # random lexicons for the noise floor

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The rows that are trained."""
        return VARIANTS + (RECOMMENDED if self.recommended else ())


_TABLES = tomllib.loads((Path(__file__).parent / "presets.toml").read_text(encoding="utf-8"))
PRESETS: dict[str, Preset] = {name: Preset(**{"name": name, "words": None, **facts}) for name, facts in _TABLES.items()}
"""The presets by name."""


def preset_named(name: str) -> Preset:
    """The preset of that name; an unknown one is an error that lists the choices."""
    return chosen("preset", name, PRESETS)


def changed(preset: Preset, changes: Sequence[str]) -> Preset:
    """The preset with other options for this run, each as MODEL.OPTION=VALUE: the report lists them.

    >>> changed(PRESETS["paper"], ["glove.epochs=5"]).options["glove"]
    {'dim': 300, 'min_count': 50, 'epochs': 5}
    """
    from polysema.training.models import MODELS  # compiles kernels: not where a command line is only read

    options = {model: dict(chosen) for model, chosen in preset.options.items()}
    for change in changes:
        (model, dot, rest), value = change.partition("=")[0].partition("."), change.partition("=")[2]
        if model not in MODELS or not dot or not value:
            raise InputError(f"{change!r}: say MODEL.OPTION=VALUE, such as glove.epochs=5")
        try:
            number = json.loads(value)
        except ValueError:
            number = value
        MODELS[model].options.given({rest: number})
        for name in {model, *(name for name in options if name.startswith(f"{model} +"))}:
            options.setdefault(name, {})[rest] = number
    return dataclasses.replace(preset, options=options, changes=(*preset.changes, *changes))


ALL = 1 << 40  # as a number of occurrences: all there are


def options_of(variant: Variant, preset: Preset, all_occurrences: bool = False) -> dict[str, Any]:
    """The options a variant is trained with under a preset."""
    chosen = dict(preset.options.get(variant.model, {}))
    if variant.options.get("cluster"):
        chosen |= preset.options.get(f"{variant.model} + cluster", {})
    if all_occurrences and (variant.model == "context2dm" or variant.options.get("cluster")):
        chosen["occurrences"] = ALL
    return chosen | dict(variant.options)


def departures(
    preset: Preset, tokens: int, encoder: str, given: Sequence[str], all_occurrences: bool
) -> list[tuple[str, str, str]]:
    """Where a run departs from the paper: what, in the paper, in the run."""

    def of(model: str, option: str, default: Any) -> Any:
        return preset.options.get(model, {}).get(option, default)

    read = of("bert2dm", "words", 0)
    found = [
        ("text", "2.8 G words of ukWaC and Wackypedia", f"{tokens / 1e6:,.1f} M words of the corpus given"),
        (
            "Word2Vec, GloVe, FastText",
            "pre-trained, 300 numbers, on the lemmatised corpora (Wijnholds & Sadrzadeh 2019)",
            "trained here on word forms, "
            + ", ".join(f"{of(m, 'dim', '?')} ({m})" for m in ("word2vec", "glove", "fasttext"))
            + (f"; given as files: {', '.join(given)}" if given else ""),
        ),
        ("GloVe's counts", "all of the text", "one draw of subsampling and windows up to 5; a pair counts 1/distance"),
        (
            "words BERT2DM reads",
            "10 M (20 M clustered) of a Wackypedia subcorpus",
            f"{read:,} ({of('bert2dm + cluster', 'words', read):,} clustered; 0: all), whole sentences drawn from the "
            "corpus given",
        ),
        ("encoder", "bert-base-uncased, last layer", encoder or "none"),
    ]
    if not all_occurrences:
        for name, model, usual in (("Context2DM", "context2dm", 200), ("BERT2DM + cluster", "bert2dm", 100)):
            drawn = f"{of(model, 'occurrences', usual)} of a word, drawn"
            found.append((f"{name}: occurrences clustered", "all", drawn))
    if of("ms-word2dm", "preset", None) != "paper":
        there = "Adam 0.001, batches of 16 sentences, 4 epochs, minimum count 50"
        found.append(("Word2DM, MS-Word2DM", there, "this package's recommended settings for a corpus of this size"))
    if of("ms-word2dm", "init", None) != "paper":
        found.append(("start of MS-Word2DM", "uniform in ±0.5/(n·m)", "columns of squared length 1/m on average"))
    if preset.keep:
        found.append(("rare words", "below the minimum count left out", "words of the evaluation sets always trained"))
    if preset.changes:
        found.append(("changed for this run", "", ", ".join(preset.changes)))
    if preset.seeds > 1:
        found.append(("seeds", "one", f"{preset.seeds} of each model of density matrices that is learnt"))
    return found
