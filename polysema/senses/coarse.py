"""Coarse senses: which fine senses of a word people would not tell apart.

Two senses of one spelling and part of speech belong together with probability σ(w·f + b), where f holds

- the cosine of their definitions, and of their definitions with words, field and hypernym, as read by an encoder that
  was not trained to tell senses apart;
- whether they have the same lexical field, whether one is linked to the other, how many relations they share, and how
  far apart they lie in the tree of hypernyms;
- the share of the definitions' words that both have;
- how far their ranks lie apart, the rank of the first of them, and how many senses the spelling has.

The weights are learnt from a second dictionary's sense ids in SemCor: two keys whose majority id is the same belong
together. Senses are merged by complete linkage: a group holds only pairs that all reach the threshold, so that no chain
of pairs joins what does not belong together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.tagged_text import TaggedSentence
from polysema.errors import InputError
from polysema.senses.logistic import logistic_regression
from polysema.senses.wordnet_files import SenseKey, WordNet

Floats = NDArray[np.float64]

FEATURES = ("definitions", "texts", "field", "linked", "distance", "words", "relations", "ranks", "first", "senses")
FAR = 12
"""The distance of two senses that share no hypernym."""

THRESHOLD = 0.55
"""Rather two senses that people would join than one of two that they tell apart."""

LEAST_IDS = 3
"""Occurrences with an id that a key needs for its majority to count."""


@dataclass(frozen=True, slots=True)
class PairModel:
    """A logistic regression on pairs of senses.

    Attributes:
        weights: (features,) w.
        bias: b.
    """

    weights: Floats
    bias: float

    def probabilities(self, features: Floats) -> Floats:
        """σ(w·f + b) of each row."""
        return np.asarray(1 / (1 + np.exp(-(features @ self.weights + self.bias))))


class Pairs:
    """The features of pairs of senses.

    Args:
        definitions, texts: (S, n) unit vectors of every synset's definition and of its whole text, in WordNet's order.
    """

    def __init__(
        self, wordnet: WordNet, definitions: NDArray[np.floating[Any]], texts: NDArray[np.floating[Any]]
    ) -> None:
        self.wordnet, self.definitions, self.texts = wordnet, definitions, texts
        self.rows = {name: row for row, name in enumerate(wordnet.synsets)}
        self.senses = wordnet.senses()
        self._above = lru_cache(maxsize=None)(self._hypernyms)

    def features(self, first: SenseKey, second: SenseKey) -> list[float]:
        """f of two senses: (features,)."""
        a, b = self.wordnet.synsets[first.synset], self.wordnet.synsets[second.synset]
        i, j = self.rows[a.id], self.rows[b.id]
        above, others = self._above(a.id), self._above(b.id)
        words, more = _content(a.gloss), _content(b.gloss)
        links, further = {name for _, name in a.relations}, {name for _, name in b.relations}
        return [
            float(self.definitions[i] @ self.definitions[j]),
            float(self.texts[i] @ self.texts[j]),
            float(a.field == b.field),
            float(b.id in links or a.id in further),
            min((above[name] + others[name] for name in above.keys() & others.keys()), default=FAR) / FAR,
            len(words & more) / max(min(len(words), len(more)), 1),
            min(len(links & further), 5) / 5,
            min(abs(first.number - second.number), 10) / 10,
            min(first.number, second.number, 10) / 10,
            math.log(len(self.senses[first.lemma])) / 4,
        ]

    def _hypernyms(self, synset: str) -> dict[str, int]:
        """Every synset above one, and itself, with its distance."""
        found, rising = {synset: 0}, [synset]
        for name in rising:
            for symbol, above in self.wordnet.synsets[name].relations:
                if symbol in ("@", "@i", "&") and above not in found:
                    found[above] = found[name] + 1
                    rising.append(above)
        return found


def second_ids(sentences: Iterable[TaggedSentence]) -> dict[str, str]:
    """The majority id of a second dictionary for each sense key with at least :data:`LEAST_IDS` occurrences of one."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for target in sentence.targets:
            if target.second and len(target.keys) == 1:
                counts.setdefault(target.keys[0], Counter())[target.second] += 1
    return {key: found.most_common(1)[0][0] for key, found in counts.items() if found.total() >= LEAST_IDS}


def labelled_pairs(
    pairs: Pairs, ids: Mapping[str, str], spellings: Iterable[str] | None = None
) -> tuple[Floats, NDArray[np.bool_], list[str]]:
    """Features, truth and spelling of every pair of senses whose ids are known.

    Args:
        spellings: keep these words; by default all.
    """
    wanted = None if spellings is None else set(spellings)
    rows: list[list[float]] = []
    truth: list[bool] = []
    owners: list[str] = []
    for spelling, keys in pairs.senses.items():
        if wanted is not None and spelling not in wanted:
            continue
        for first, second in combinations([key for key in keys if key.key in ids], 2):
            if first.synset[-1] == second.synset[-1] and first.synset != second.synset:
                rows.append(pairs.features(first, second))
                truth.append(ids[first.key] == ids[second.key])
                owners.append(spelling)
    return np.array(rows, np.float64).reshape(len(rows), len(FEATURES)), np.array(truth, bool), owners


def fit_pairs(features: Floats, truth: NDArray[np.bool_], ridge: float = 1.0) -> PairModel:
    """The regression of truth on features."""
    if not truth.any() or truth.all():
        raise InputError(f"{len(truth)} pairs, {int(truth.sum())} of one sense: give pairs of both kinds")
    theta = logistic_regression(features, truth, ridge=ridge)
    return PairModel(theta[:-1], float(theta[-1]))


def pair_scores(p: Floats, truth: NDArray[np.bool_], threshold: float = 0.5) -> tuple[float, float]:
    """AUC and F1 of pairs."""
    ranks = np.empty(len(p))
    order = np.argsort(p, kind="stable")
    _, inverse, counts = np.unique(p[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks[order] = ((ends - counts + 1 + ends) / 2)[inverse]
    positive, negative = int(truth.sum()), int((~truth).sum())
    auc = (ranks[truth].sum() - positive * (positive + 1) / 2) / max(positive * negative, 1)
    said = p >= threshold
    f1 = 2 * int((said & truth).sum()) / max(int(said.sum()) + positive, 1)
    return float(auc), f1


def complete_linkage(p: Floats, threshold: float) -> list[int]:
    """Groups of items from the probabilities of their pairs, (s, s): the group of each item, from 0.

    The two groups whose least likely pair is most likely are merged, while that pair reaches the threshold.

    >>> p = np.array([[1, 0.9, 0.2], [0.9, 1, 0.8], [0.2, 0.8, 1]])
    >>> complete_linkage(p, 0.5)
    [0, 0, 1]
    """
    groups = [[item] for item in range(len(p))]
    while len(groups) > 1:
        least = [(min(p[i, j] for i in a for j in b), x, y) for (x, a), (y, b) in combinations(enumerate(groups), 2)]
        best, x, y = max(least, key=lambda found: found[0])
        if best < threshold:
            break
        groups[x] += groups.pop(y)
    found = [0] * len(p)
    for number, group in enumerate(sorted(groups, key=min)):
        for item in group:
            found[item] = number
    return found


def coarse_groups(
    pairs: Pairs, model: PairModel, ids: Mapping[str, str] | None = None, threshold: float = THRESHOLD
) -> dict[str, int]:
    """The group of every sense key within its spelling, from 0; parts of speech are never merged.

    Args:
        ids: a second dictionary's ids: where both senses of a pair have one, these decide.
        threshold: pairs of at least this probability may share a group.
    """
    found: dict[str, int] = {}
    for keys in pairs.senses.values():
        first = 0
        for letter in "nvar":
            same = [key for key in keys if key.synset[-1] == letter]
            if same:
                numbers = complete_linkage(_probabilities(pairs, model, same, ids or {}), threshold)
                found.update({key.key: first + number for key, number in zip(same, numbers, strict=True)})
                first += max(numbers) + 1
    return found


def _probabilities(pairs: Pairs, model: PairModel, keys: Sequence[SenseKey], ids: Mapping[str, str]) -> Floats:
    """How likely each two of some senses belong together, (s, s)."""
    table = np.ones((len(keys), len(keys)))
    places = list(combinations(range(len(keys)), 2))
    if places:
        p = model.probabilities(np.array([pairs.features(keys[i], keys[j]) for i, j in places]))
        for (i, j), value in zip(places, p.tolist(), strict=True):
            one, other = ids.get(keys[i].key), ids.get(keys[j].key)
            known = one is not None and other is not None
            table[i, j] = table[j, i] = float(one == other) if known else value
    return table


def _content(gloss: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", gloss.lower()) if len(word) > 3}
