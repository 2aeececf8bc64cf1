"""A planted language: *run* means *manage* with businesses and *race* with distances."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import numpy as np

from polysema.slots.parsed import ParsedText
from polysema.slots.relations import Relation

T = TypeVar("T")
SUBJECTS = {"owner": ["owner", "family", "firm", "director"], "athlete": ["athlete", "girl", "runner", "team"]}
OBJECTS = {"business": ["hotel", "shop", "school", "farm"], "distance": ["mile", "race", "lap", "marathon"]}
VERBS = {
    "manage": [("owner", "business")], "operate": [("owner", "business")], "sprint": [("athlete", "distance")],
    "finish": [("athlete", "distance")], "run": [("owner", "business"), ("athlete", "distance")],
}  # fmt: skip
ADJECTIVES = {
    "small": OBJECTS["business"],
    "local": OBJECTS["business"],
    "long": OBJECTS["distance"],
    "fast": OBJECTS["distance"],
}


@cache
def planted(seed: int = 0, clauses: int = 4000) -> ParsedText:
    """Counted relations of that many clauses; one word in twenty is out of place."""
    rng = np.random.default_rng(seed)
    every_subject, every_object = (
        [*SUBJECTS["owner"], *SUBJECTS["athlete"]],
        [*OBJECTS["business"], *OBJECTS["distance"]],
    )
    counts: Counter[Relation] = Counter()

    def one(of: Sequence[T]) -> T:
        return of[int(rng.integers(len(of)))]

    for _ in range(clauses):
        verb, adjective = one([*VERBS]), one([*ADJECTIVES])
        who, what = one(VERBS[verb])
        counts[Relation(verb, "subj", one(SUBJECTS[who] if rng.random() > 0.05 else every_subject))] += 1
        counts[Relation(verb, "obj", one(OBJECTS[what] if rng.random() > 0.05 else every_object))] += 1
        counts[Relation(one(ADJECTIVES[adjective]), "mod", adjective)] += 1
    return ParsedText.of(counts, {"tokens": 3 * clauses})
