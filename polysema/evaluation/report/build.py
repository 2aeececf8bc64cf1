"""From evaluations to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from polysema.evaluation.comparison import Compared, compare
from polysema.evaluation.datasets import PhrasePairs, WordPairs
from polysema.evaluation.entries import Entry, Skipped
from polysema.evaluation.evaluate import DataSet
from polysema.evaluation.noise import noise_floor
from polysema.evaluation.report.sections import (
    COMPARED,
    SHOWN,
    Settings,
    ambiguity_section,
    clean,
    configuration_section,
    coverage_section,
    disambiguation_section,
    entropy_section,
    introduction_section,
    noise_section,
    people_section,
    protocol_section,
    tests_section,
    word_similarity_section,
)
from polysema.evaluation.report.tables import Report
from polysema.evaluation.statistics import human_agreement

__all__ = ["Settings", "build_report"]


def build_report(
    entries: Sequence[Entry],
    sets: Mapping[str, DataSet],
    skipped: Sequence[Skipped] = (),
    settings: Settings | None = None,
) -> Report:
    """The report of some evaluated models."""
    chosen = settings or Settings()
    words = {name: data for name, data in sets.items() if isinstance(data, WordPairs)}
    phrases = {name: data for name, data in sets.items() if isinstance(data, PhrasePairs)}
    noise = noise_floor(sets, *chosen.noise_size, methods=SHOWN, draws=chosen.noise_draws) if chosen.noise_draws else {}
    compared = {name: compare(entries, name, data, COMPARED, chosen.resamples) for name, data in phrases.items()}
    sections = [introduction_section(entries, skipped, chosen)]
    if words:
        sections.append(word_similarity_section(entries, words))
    sections += [
        disambiguation_section(entries, name, data, compared[name], noise.get(name, {}))
        for name, data in phrases.items()
    ]
    if any(compared.values()):
        sections.append(tests_section(compared))
    if phrases:
        sections.append(protocol_section(entries, phrases))
    sections += ambiguity_section(entries)
    if phrases and any(entry.kind == "matrices" for entry in entries):
        sections.append(entropy_section(entries, phrases))
    if phrases:
        sections.append(people_section(phrases))
    if noise:
        sections.append(noise_section(noise, chosen))
    sections.append(coverage_section(entries, sets))
    sections.append(configuration_section(entries, chosen))
    return Report(chosen.title, sections, _data(entries, skipped, compared, noise, phrases, chosen))


def _data(
    entries: Sequence[Entry],
    skipped: Sequence[Skipped],
    compared: Mapping[str, Sequence[Compared]],
    noise: Mapping[str, Mapping[str, float]],
    phrases: Mapping[str, PhrasePairs],
    settings: Settings,
) -> dict[str, Any]:
    """Everything the report says, for programs."""
    models = {}
    for entry in entries:
        models[entry.name] = {
            "kind": entry.kind,
            "paper": entry.paper,
            "seeds": [seed.to_json() for seed in entry.seeds],
            "ensemble": entry.ensemble.to_json() if entry.ensemble else None,
            "ambiguity": [item.to_json() for item in entry.ambiguity],
            "metadata": [dict(seed.metadata) for seed in entry.seeds],
        }
    tests = [
        {"set": name, "model": item.model, "baseline": item.baseline, "verdict": item.verdict}
        | {"better": asdict(item.better), "worse": asdict(item.worse)}
        for name, found in compared.items()
        for item in found
    ]
    people = {n: asdict(human_agreement(data.ratings)) for n, data in phrases.items() if len(data.ratings)}
    held = {
        "models": models,
        "skipped": [asdict(item) for item in skipped],
        "tests": tests,
        "people": people,
        "noise_floor": noise,
        "missing": dict(settings.missing),
        "configuration": settings.configuration,
    }
    return dict(clean(held))
