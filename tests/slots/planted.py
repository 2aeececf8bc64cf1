"""A planted language: *run* means *manage* with businesses and *race* with distances."""

from collections import Counter

import numpy as np

from polysema.slots.parsed import Parsed
from polysema.slots.relations import Relation

SUBJECTS = {"owner": ["owner", "family", "firm", "director"], "athlete": ["athlete", "girl", "runner", "team"]}
OBJECTS = {"business": ["hotel", "shop", "school", "farm"], "distance": ["mile", "race", "lap", "marathon"]}
VERBS = {
    "manage": [("owner", "business")],
    "operate": [("owner", "business")],
    "sprint": [("athlete", "distance")],
    "finish": [("athlete", "distance")],
    "run": [("owner", "business"), ("athlete", "distance")],
}
ADJECTIVES = {
    "small": OBJECTS["business"],
    "local": OBJECTS["business"],
    "long": OBJECTS["distance"],
    "fast": OBJECTS["distance"],
}


def planted(seed: int = 0, clauses: int = 4000) -> Parsed:
    """Counted relations of that many clauses; one word in twenty is out of place."""
    rng = np.random.default_rng(seed)
    every_subject, every_object = (
        [*SUBJECTS["owner"], *SUBJECTS["athlete"]],
        [*OBJECTS["business"], *OBJECTS["distance"]],
    )
    counts: Counter[Relation] = Counter()
    for _ in range(clauses):
        verb = str(rng.choice(list(VERBS)))
        who, what = VERBS[verb][rng.integers(len(VERBS[verb]))]
        subject = rng.choice(SUBJECTS[who] if rng.random() > 0.05 else every_subject)
        thing = rng.choice(OBJECTS[what] if rng.random() > 0.05 else every_object)
        adjective = str(rng.choice(list(ADJECTIVES)))
        counts[Relation(verb, "subj", str(subject))] += 1
        counts[Relation(verb, "obj", str(thing))] += 1
        counts[Relation(str(rng.choice(ADJECTIVES[adjective])), "mod", adjective)] += 1
    return Parsed.of(counts, {"tokens": 3 * clauses})
