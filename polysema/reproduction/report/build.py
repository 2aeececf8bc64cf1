"""From an evaluation to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from polysema.evaluation.comparison import against_best_baseline, noise_floor
from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.results import Compared, Evaluation, clean
from polysema.evaluation.statistics import human_agreement
from polysema.reproduction import published
from polysema.reproduction.report.lines import Beside, Skipped
from polysema.reproduction.report.sections import (
    PAPER_METHODS,
    SHOWN,
    Settings,
    ambiguity_section,
    configuration_section,
    coverage_section,
    data_sets_section,
    disambiguation_section,
    entropy_section,
    introduction_section,
    noise_section,
    people_section,
    protocol_section,
    tests_section,
    without_times,
    word_similarity_section,
)
from polysema.reproduction.report.tables import Report, Section

__all__ = ["Settings", "Skipped", "build_report"]


def build_report(evaluation: Evaluation, skipped: Sequence[Skipped] = (), settings: Settings | None = None) -> Report:
    """The report of an evaluation.

    With :data:`published.EXAMPLE` among its sets, the report has the paper's example of *run* too.
    """
    chosen = settings or Settings()
    beside = Beside(evaluation, skipped, chosen.complete)
    sets = {name: items for name, items in evaluation.sets.items() if name != published.EXAMPLE.name}
    words = {name: items for name, items in sets.items() if items.is_words}
    phrases = {name: items for name, items in sets.items() if not items.is_words}
    noise = noise_floor(sets, *chosen.noise_size, methods=SHOWN, draws=chosen.noise_draws) if chosen.noise_draws else {}
    compared = {name: against_best_baseline(evaluation, name, PAPER_METHODS, chosen.resamples) for name in phrases}
    sections: list[Section] = []
    if phrases:
        sections.append(data_sets_section(phrases))
    if words:
        sections.append(word_similarity_section(beside, words))
    sections += [
        disambiguation_section(beside, name, items, compared[name], noise.get(name, {}))
        for name, items in phrases.items()
    ]
    if any(compared.values()):
        sections.append(tests_section(compared))
    if phrases:
        sections.append(protocol_section(beside, phrases))
    sections += ambiguity_section(beside)
    if phrases and any(system.kind == "matrices" for system in evaluation.models):
        sections.append(entropy_section(beside, phrases))
    if phrases:
        sections.append(people_section(phrases))
    if noise:
        sections.append(noise_section(noise, chosen))
    sections += [coverage_section(beside, sets), configuration_section(beside, chosen)]
    plots = any(section.plots for section in sections)
    sections.insert(0, introduction_section(beside, chosen, plots))
    return Report(chosen.title, sections, _data(beside, compared, noise, phrases, chosen))


def _data(
    beside: Beside,
    compared: Mapping[str, Sequence[Compared]],
    noise: Mapping[str, Mapping[str, float]],
    phrases: Mapping[str, EvaluationSet],
    settings: Settings,
) -> dict[str, Any]:
    """Everything the report says, for programs."""
    models = beside.evaluation.models
    held = {
        "evaluation": beside.evaluation.to_json(),
        "paper": dict(beside.paper),
        "metadata": {system.name: [without_times(facts) for facts in system.metadata] for system in models},
        "skipped": [asdict(item) for item in beside.skipped],
        "tests": [item.to_json() for found in compared.values() for item in found],
        "people": {n: asdict(human_agreement(data.ratings)) for n, data in phrases.items() if len(data.ratings)},
        "noise_floor": noise,
        "departures": [dict(zip(("what", "paper", "here"), item, strict=True)) for item in settings.departures],
        "configuration": settings.configuration,
    }
    return dict(clean(held))
