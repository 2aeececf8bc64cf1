"""Validation of slots without the four disambiguation sets; and, once something is chosen, the errors on them.

    python benchmarks/slots.py validate LEXICON DICT --data DATA      rules × WordNet sentences, with spreads
    python benchmarks/slots.py table PARSED DICT --data DATA          variants × all that validates
    python benchmarks/slots.py seeds PARSED DICT --data DATA          the one chosen, five seeds; and the four sets
    python benchmarks/slots.py errors LEXICON --data DATA             the 50 items that are ranked worst
    python benchmarks/slots.py entropy LEXICON                        entropy as slots are filled, beside Phaser's
    python benchmarks/slots.py speed PARSED                           seconds from counts to a lexicon
    python benchmarks/slots.py parsing TEXT                           words/s of ``corpus parse`` and of ``nlp.pipe``

DICT is the folder with WordNet 3.0 (see ``wordnet_sentences.py``), DATA that of the evaluation sets: for ``validate``
it says which verbs to leave out. LEXICON is one of ``polysema train --model slots``, PARSED of ``corpus parse``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from wordnet_sentences import read_examples

from polysema.composition.trees import parse_brackets
from polysema.evaluation.datasets import load_sets
from polysema.evaluation.models import LexiconModel
from polysema.evaluation.statistics import spearman
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon, with_matrices
from polysema.parsing.sentences import parser
from polysema.slots import train
from polysema.slots.model import PLAUSIBILITY, Slots, condition, filled, phrase_plausibility
from polysema.slots.parse import parse_text
from polysema.slots.parsed import ParsedText
from polysema.slots.train import SPACES, SlotOptions, filler_space, head_space, train_slots

SETS = ("ML2008", "GS2011", "GS2012", "KS2013")
NOUNS = ("NN", "NNS", "NNP", "NNPS")
Array = NDArray[np.float64]


class Pair(NamedTuple):
    """A sentence of WordNet with its verb and with another in its place.

    Attributes:
        sentence: its number.
        alike: whether the other is of the same synset.
        has: ``subj``, ``obj`` or ``both``.
        count: how often the rarer of the two verbs was seen.
        alike_by: the similarity of the two phrases.
        own: the plausibility of the sentence as it is.
        other: that of the substitute.
    """

    sentence: int
    alike: bool
    has: str
    count: int
    alike_by: float
    own: float
    other: float


Fills = tuple[tuple[str, str], ...]
"""What fills which slot of a verb."""


class Sentence(NamedTuple):
    """A verb of WordNet's examples with the nouns in its slots, and at most three substitutes of each kind."""

    verb: str
    fills: Fills
    substitutes: tuple[tuple[bool, str], ...]


def verbs_of_the_sets(data: str) -> set[str]:
    """All verbs of the four sets."""
    sets, _ = load_sets(SETS, data)
    return {p[s.roles.index("verb")] for s in sets.values() for side in (s.first, s.second) for p in side}


def wordnet_examples(folder: Path, without: set[str], most: int, known: Container[str]) -> list[Sentence]:
    """The sentences whose verb has a noun for a subject or an object."""
    examples = read_examples(folder, without, most=8)[:most]
    rng = np.random.default_rng(0)
    found = []
    for example, doc in zip(examples, parser().pipe(example.sentence for example in examples), strict=True):
        verb = next((token for token in doc if token.idx == example.span[0]), None)
        if verb is None or not verb.tag_.startswith("VB") or example.verb not in known:
            continue
        below = {token.dep_: token for token in verb.children}
        if below.keys() & {"prt", "neg", "dative", "ccomp"}:
            continue
        nouns = {"subj": below.get("nsubj"), "obj": below.get("dobj") or below.get("nsubjpass")}
        fills = tuple(
            (slot, token.lemma_.lower())
            for slot, token in nouns.items()
            if token is not None and token.tag_ in NOUNS and token.lemma_.lower() in known
        )
        if fills:
            others = [
                (alike, other)
                for alike, verbs in ((True, example.alike), (False, example.other))
                for other in rng.permutation(verbs)[:3].tolist()
                if other in known
            ]
            found.append(Sentence(example.verb, fills, tuple(others)))
    return found


def blocks(slots: Slots, verb: str, fills: Fills) -> dict[str, Array]:
    """The conditioned slots of a verb, each of Hilbert–Schmidt norm 1."""
    found = {}
    for slot, noun in fills:
        weights, vectors = slots.mixture(verb, slot)
        if len(weights):
            x = slots.vector(noun, filler_space(slot))
            q, _ = condition(weights, vectors, x, slots.sharpness) if x.any() else (weights, 0.0)
            rho = (vectors.T * q) @ vectors
            found[slot] = rho / np.linalg.norm(rho)
    return found


def near(slots: Slots, first: tuple[str, dict[str, Array]], second: tuple[str, dict[str, Array]]) -> float:
    """The trace similarity of two phrases: that of their ``phrase_matrix``, without the matrices."""
    (verb, a), (other, b) = first, second
    head = float(slots.vector(verb, "verb") @ slots.vector(other, "verb")) ** 2
    of_slots = sum(float((a[slot] * b[slot]).sum()) for slot in a.keys() & b.keys())
    parts = max(len(a), 1) * max(len(b), 1)
    return (head + of_slots / parts**0.5) / ((1 + bool(a)) * (1 + bool(b))) ** 0.5


def fit(slots: Slots, verb: str, fills: Fills) -> float:
    """The plausibility of a verb with its nouns."""
    known = [value for slot, noun in fills if np.isfinite(value := slots.plausibility(verb, slot, noun))]
    return float(np.mean(known)) if known else float("nan")


def wordnet_pairs(slots: Slots, sentences: list[Sentence]) -> list[Pair]:
    """Each sentence with each substitute."""
    found: list[Pair] = []
    count = slots.lexicon.vocabulary.count
    for number, (verb, fills, others) in enumerate(sentences):
        has = "both" if len(fills) > 1 else fills[0][0]
        own, plausible = blocks(slots, verb, fills), fit(slots, verb, fills)
        for alike, other in others:
            close = near(slots, (verb, own), (other, blocks(slots, other, fills)))
            seen = min(int(count(word)) for word in (verb, other))
            found.append(Pair(number, alike, has, seen, close, plausible, fit(slots, other, fills)))
    return found


RULES: dict[str, Callable[[Array, Array, Array, float], Array]] = {
    "similarity alone": lambda s, own, other, w: s,
    "+ w · substitute": lambda s, own, other, w: s + w * other,
    "+ w · the other side": lambda s, own, other, w: s + w * own,
    "+ w · mean of both": lambda s, own, other, w: s + w * (own + other) / 2,
    "+ w · sum of both": lambda s, own, other, w: s + w * (own + other),
    "+ w · the lower": lambda s, own, other, w: s + w * np.minimum(own, other),
    "+ w · (substitute − other side)": lambda s, own, other, w: s + w * (other - own),
}


def auc(alike: NDArray[np.bool_], scores: Array) -> float:
    """The share of pairs of one alike and one not in which the one alike has the higher score."""
    order = np.searchsorted(np.sort(scores), scores, side="left") + np.searchsorted(
        np.sort(scores), scores, side="right"
    )
    ranks = (order + 1) / 2
    ones = int(alike.sum())
    if not 0 < ones < len(alike):
        return float("nan")
    return float((ranks[alike].sum() - ones * (ones + 1) / 2) / (ones * (len(alike) - ones)))


def within(pairs: list[Pair], scores: Array) -> float:
    """The share of right orders among the substitutes of one sentence."""
    number = np.array([pair.sentence for pair in pairs])
    alike = np.array([pair.alike for pair in pairs])
    found = []
    for one in np.unique(number):
        good, bad = scores[(number == one) & alike], scores[(number == one) & ~alike]
        if len(good) and len(bad):
            found.append(float((good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()))
    return float(np.mean(found)) if found else float("nan")


def columns(pairs: list[Pair]) -> tuple[Array, ...]:
    """Similarities, plausibilities of the sentences, those of the substitutes; what is not known is the mean."""
    near, own, other = (np.array([getattr(pair, name) for pair in pairs]) for name in ("alike_by", "own", "other"))
    own, other = (np.where(np.isfinite(fits), fits, np.nanmean(fits)) for fits in (own, other))
    return near, own, other


def validate(lexicon: Lexicon, folder: Path, without: set[str], most: int) -> None:
    """The table of rules."""
    pairs = wordnet_pairs(Slots.of(lexicon), wordnet_examples(folder, without, most, lexicon))
    alike = np.array([pair.alike for pair in pairs])
    number = np.array([pair.sentence for pair in pairs])
    has = np.array([pair.has for pair in pairs])
    count = np.array([pair.count for pair in pairs])
    near, own, other = columns(pairs)
    rare = count < np.quantile(count, 0.25)
    print(
        f"{len(pairs)} pairs of {len(np.unique(number))} sentences; rare: a verb seen fewer than "
        f"{int(np.quantile(count, 0.25))} times"
    )
    rng = np.random.default_rng(1)
    groups = {one: np.flatnonzero(number == one) for one in np.unique(number)}
    resamples = [np.concatenate([groups[i] for i in rng.choice([*groups], len(groups))]) for _ in range(100)]
    print(f"{'rule':34} {'w':>4}  AUC   ±      within  subj  obj   both  rare")
    for name, rule in RULES.items():
        for w in (0.0,) if name == "similarity alone" else (0.1, 0.2, 0.3, 0.5):
            s = rule(near, own, other, w)
            spread = np.std([auc(alike[i], s[i]) for i in resamples])
            by = [auc(alike[m], s[m]) for m in (has == "subj", has == "obj", has == "both", rare)]
            print(
                f"{name:34} {w:4.2f}  {auc(alike, s):.3f} {spread:.3f}  {within(pairs, s):.3f}  ",
                "  ".join(f"{value:.3f}" for value in by),
            )


# ------------------------------------------------------------------------------------------------------------ variants

PLANTED = 80
"""Pairs of verbs that are merged."""


class HeldOut(NamedTuple):
    """Text with relations held out and verbs planted: in what is left, *a+b* has the relations of *a* and of *b*.

    Attributes:
        parsed: the text that is left.
        relations: (verb, slot, noun) that were held out, in an order that is drawn.
        planted: the pairs of verbs.
    """

    parsed: ParsedText
    relations: list[tuple[str, str, str]]
    planted: list[tuple[str, str]]


def hold_out(parsed: ParsedText, without: set[str], seed: int, share: float = 0.02) -> HeldOut:
    """Hold out a share of the distinct relations of verbs with subjects and objects, and plant verbs."""
    rng = np.random.default_rng(seed)
    words, size = parsed.words, len(parsed.words)
    held = np.isin(parsed.slot, [parsed.slots.index(name) for name in ("subj", "obj")])
    held &= rng.random(len(parsed)) < share
    of_verbs = np.array([head_space(slot) == "verb" for slot in parsed.slots])[parsed.slot]
    uses = np.bincount(parsed.head[of_verbs], parsed.count[of_verbs], size)
    usual = [row for row in np.flatnonzero((uses > 1000) & (uses < 50_000)) if words[row].isalpha()]
    chosen = rng.choice([row for row in usual if words[row] not in without], 2 * PLANTED, replace=False)
    pairs = chosen[np.argsort(uses[chosen])].reshape(-1, 2)  # of like frequency
    new_head = np.full(size, -1, np.int64)
    new_head[pairs] = size + np.arange(PLANTED)[:, None]
    added = ~held & of_verbs & (new_head[parsed.head] >= 0)
    key = (new_head[parsed.head[added]] * len(parsed.slots) + parsed.slot[added]) * size + parsed.filler[added]
    key, where = np.unique(key, return_inverse=True)
    head, rest = np.divmod(key, len(parsed.slots) * size)
    slot, filler = np.divmod(rest, size)
    count = np.bincount(where.ravel(), parsed.count[added]).astype(np.int64)
    planted = [(words[a], words[b]) for a, b in pairs]
    left = ParsedText(
        (*words, *("+".join(pair) for pair in planted)), parsed.slots,
        np.append(parsed.head[~held], head).astype(np.int32), np.append(parsed.slot[~held], slot).astype(np.int16),
        np.append(parsed.filler[~held], filler).astype(np.int32), np.append(parsed.count[~held], count), parsed.facts,
    )  # fmt: skip
    relations = [
        (words[parsed.head[row]], parsed.slots[parsed.slot[row]], words[parsed.filler[row]])
        for row in rng.permutation(np.flatnonzero(held))
    ]
    return HeldOut(left, relations, planted)


def triples(slots: Slots, held: HeldOut, most: int = 4000) -> float:
    """How often a held-out relation is more plausible than the same with the noun of the next one."""
    right: list[bool] = []
    for (verb, slot, noun), (_, _, other) in pairwise(held.relations):
        if all(word in slots.lexicon for word in (verb, noun, other)) and noun != other:
            own, drawn = (slots.plausibility(verb, slot, word) for word in (noun, other))
            if np.isfinite([own, drawn]).all():
                right.append(own > drawn)
        if len(right) == most:
            break
    return float(np.mean(right))


def planted(slots: Slots, held: HeldOut, most: int = 4) -> tuple[float, float]:
    """How often a planted verb, with an argument of one of its two verbs, is nearer to the neighbour of that one.

    By similarity, and with the plausibility of the neighbour.
    """
    arguments: dict[str, list[tuple[str, str]]] = {}
    for verb, slot, noun in held.relations:
        if noun in slots.lexicon:
            arguments.setdefault(verb, []).append((slot, noun))
    right: list[tuple[bool, bool]] = []
    for pair in held.planted:
        near_to = [next(word for word, _ in neighbours(slots, verb, 2) if word not in pair) for verb in pair]
        for verb, one, other in ((pair[0], *near_to), (pair[1], *near_to[::-1])):
            for fills in [(item,) for item in arguments.get(verb, [])[:most]]:
                both = "+".join(pair), blocks(slots, "+".join(pair), fills)
                a, b = (near(slots, both, (word, blocks(slots, word, fills))) for word in (one, other))
                c, d = (PLAUSIBILITY * np.nan_to_num(fit(slots, word, fills), nan=-6.0) for word in (one, other))
                right.append((a > b, a + c > b + d))
    alone, plausible = np.mean(right, axis=0)
    return float(alone), float(plausible)


def verb_similarity(slots: Slots, data: str) -> list[float]:
    """Spearman's ρ on the pairs of SimLex and of MEN whose words are mostly verbs."""
    found = []
    for items in load_sets(("SL", "MEN"), data)[0].values():
        rows = [
            (gold, slots.vector(a, "verb") @ slots.vector(b, "verb"))
            for (a,), (b,), gold in zip(items.first, items.second, items.gold, strict=True)
            if all(word in slots.lexicon and slots.shares(word)[SPACES.index("verb")] > 0.5 for word in (a, b))
        ]
        found.append(spearman(*np.array(rows).T))
    return found


@dataclass(frozen=True)
class BackedOff(Slots):
    """Slots with the ten most similar words' fillers mixed in: as much as κ uses of the word itself would weigh."""

    kappa: float = 50.0

    def mixture(self, word: str, slot: str) -> tuple[Array, Array]:
        """The weights and the vectors, those of the neighbours after the word's own."""
        weights, vectors = super().mixture(word, slot)
        if slot not in ("subj", "obj"):
            return weights, vectors
        own = self.lexicon.vocabulary.count(word) / (self.lexicon.vocabulary.count(word) + self.kappa)
        others = [
            (super(BackedOff, self).mixture(other, slot), max(near, 0.0) ** 4)
            for other, near in neighbours(self, word, 10)
        ]
        others = [(item, share) for item, share in others if len(item[0])]
        total = sum(share for _, share in others)
        if not total:
            return weights, vectors
        own = own if len(weights) else 0.0
        mixed = [own * weights, *((1 - own) * share / total * item[0] for item, share in others)]
        return np.concatenate(mixed), np.concatenate([vectors, *(item[1] for item, _ in others)])


@cache
def _verbs(lexicon: Lexicon) -> tuple[list[str], Array]:
    """The words without a particle that have a vector as verbs, and these vectors."""
    slots = Slots.of(lexicon)
    vectors = slots.vectors(np.arange(len(lexicon)), "verb")
    rows = [row for row, word in enumerate(lexicon.vocabulary.words) if word.isalpha() and vectors[row].any()]
    return [lexicon.vocabulary.words[row] for row in rows], vectors[rows]


def neighbours(slots: Slots, verb: str, most: int) -> list[tuple[str, float]]:
    """The verbs most like one, with their cosines."""
    words, vectors = _verbs(slots.lexicon)
    cosines = vectors @ slots.vector(verb, "verb")
    order = np.argsort(-cosines, kind="stable")[: most + 1]
    return [(words[row], float(cosines[row])) for row in order if words[row] != verb][:most]


@dataclass(frozen=True)
class Clustered(Slots):
    """Slots with their fillers clustered."""

    clusters: int = 20

    def mixture(self, word: str, slot: str) -> tuple[Array, Array]:
        """The weights and the unit vectors of the clusters: five rounds of spherical k-means."""
        weights, vectors = super().mixture(word, slot)
        if len(weights) <= self.clusters:
            return weights, vectors
        centres = vectors[: self.clusters]  # the weightiest come first
        for _ in range(5):
            belongs = np.eye(self.clusters)[np.argmax(vectors @ centres.T, axis=1)] * weights[:, None]
            centres = belongs.T @ vectors
            centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
        total = belongs.sum(axis=0)
        return total[total > 0], centres[total > 0]


def fewer(slots: Slots, most: int) -> Slots:
    """With at most so many fillers a slot."""
    old = slots.fillers
    rank = np.arange(len(old.weights)) - np.repeat(old.starts[:-1], np.diff(old.starts))
    kept = rank < most
    starts = np.append(0, np.cumsum(np.minimum(np.diff(old.starts), most)))
    weights = old.weights[kept] / np.repeat(np.add.reduceat(old.weights[kept], starts[:-1]), np.diff(starts))
    return replace(slots, fillers=replace(old, starts=starts, fillers=old.fillers[kept], weights=weights))


def weighed(slots: Slots, parsed: ParsedText, weight: Callable[[Array, Array], Array]) -> Slots:
    """With other weights of the fillers, of the counts and of the weights as they are (PPMI · ln(1 + count))."""
    vocabulary = slots.lexicon.vocabulary
    row = np.array([vocabulary.index(word) if word in vocabulary else -1 for word in parsed.words])
    known = np.stack([slots.vectors(np.maximum(row, 0), space).any(axis=1) & (row >= 0) for space in SPACES])
    usual = train._weights
    with patch.object(train, "_weights", lambda owner, other, n: weight(usual(owner, other, n) / np.log1p(n), n)):
        return replace(slots, fillers=train._fillers(parsed, row, known, 300))


def variants(parsed: ParsedText, options: SlotOptions) -> Iterator[tuple[str, Slots]]:
    """The variants of the table; the first is what ``train`` makes."""
    slots = Slots.of(train_slots(parsed, options))
    yield "chosen", slots
    for sharpness in (0.0, 4.0, 12.0, 16.0):
        yield f"τ = {sharpness:g}", replace(slots, sharpness=sharpness)
    for most in (30, 100):
        yield f"{most} fillers", fewer(slots, most)
    for kappa in (50.0, 500.0):
        yield f"backed off, κ = {kappa:g}", BackedOff(slots.lexicon, slots.fillers, kappa=kappa)
    for clusters in (10, 20, 50):
        yield f"{clusters} clusters", Clustered(slots.lexicon, slots.fillers, clusters=clusters)
    yield "PPMI", weighed(slots, parsed, lambda ppmi, n: ppmi)
    yield "ln(1 + count)", weighed(slots, parsed, lambda ppmi, n: np.log1p(n))
    yield "PPMI · count", weighed(slots, parsed, lambda ppmi, n: ppmi * n)


def of_sentences(slots: Slots, sentences: list[Sentence]) -> dict[str, float]:
    """WordNet's sentences: AUC by similarity, and with plausibility; right orders within a sentence; rare verbs."""
    pairs = wordnet_pairs(slots, sentences)
    alike, count = (np.array([getattr(pair, name) for pair in pairs]) for name in ("alike", "count"))
    similar, _, other = columns(pairs)
    both = similar + PLAUSIBILITY * other
    has = {name: np.array([pair.has == name for pair in pairs]) for name in ("subj", "obj", "both")}
    has["rare"] = count < np.quantile(count, 0.25)
    return {
        "WN, sim": auc(alike, similar),
        "WN": auc(alike, both),
        "within": within(pairs, both),
        **{name: auc(alike[rows], both[rows]) for name, rows in has.items()},
    }


def of_words(slots: Slots, data: str) -> dict[str, float]:
    """SimLex's and MEN's verbs."""
    return dict(zip(("SimLex", "MEN"), verb_similarity(slots, data), strict=True))


def of_held_out(slots: Slots, held: HeldOut) -> dict[str, float]:
    """Held-out triples and planted verbs."""
    alone, plausible = planted(slots, held)
    return {"triples": triples(slots, held), "planted, sim": alone, "planted": plausible}


def table(path: Path, folder: Path, data: str, most: int, seed: int) -> None:
    """Variants × measures, from text with relations held out and verbs planted."""
    without = verbs_of_the_sets(data)
    held = hold_out(ParsedText.load(path), without, seed)
    sentences: list[Sentence] = []
    for name, slots in variants(held.parsed, SlotOptions(seed=seed)):
        sentences = sentences or wordnet_examples(folder, without, most, slots.lexicon)
        found = {**of_sentences(slots, sentences), **of_held_out(slots, held), **of_words(slots, data)}
        if name == "chosen":
            print(" | ".join(["variant", *found]))
        print(" | ".join([name, *(f"{value:.3f}" for value in found.values())]), flush=True)


def seeds(path: Path, folder: Path, data: str, most: int, number: int) -> None:
    """What ``train`` makes with several seeds, on all that validates from a lexicon, and on the four sets."""
    without, parsed = verbs_of_the_sets(data), ParsedText.load(path)
    sets, _ = load_sets(SETS, data)
    sentences: list[Sentence] = []
    rows: list[dict[str, float]] = []
    for seed in range(1, number + 1):
        slots = Slots.of(train_slots(parsed, SlotOptions(seed=seed)))
        sentences = sentences or wordnet_examples(folder, without, most, slots.lexicon)
        model = LexiconModel(slots.lexicon, "slots")
        rows.append({**of_sentences(slots, sentences), **of_words(slots, data)})
        for name, items in sets.items():
            scores = model.scores(items, "slots+plausibility").similarity
            known = np.isfinite(scores)
            rows[-1][name] = spearman(scores[known], items.gold[known])
        print(f"seed {seed}:", ", ".join(f"{name} {value:.3f}" for name, value in rows[-1].items()), flush=True)
    for name in rows[0]:
        values = [row[name] for row in rows]
        print(f"{name:10} {np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}")


def errors(lexicon: Lexicon, data: str, most: int = 50) -> None:
    """The items of the sets that are ranked furthest from people's ranks."""
    sets, _ = load_sets(SETS, data)
    model = LexiconModel(lexicon, "slots")
    found = []
    for name, items in sets.items():
        both, alone = (model.scores(items, method).similarity for method in ("slots+plausibility", "slots"))
        known = np.flatnonzero(np.isfinite(both))
        ranks = [np.argsort(np.argsort(values[known])) / len(known) for values in (both, items.gold)]
        for place, error in zip(known, ranks[0] - ranks[1], strict=True):
            rarest = min(
                lexicon.vocabulary.count(p[items.roles.index("verb")])
                for p in (items.first[place], items.second[place])
            )
            found.append(
                (
                    abs(error),
                    error,
                    name,
                    " ".join(items.first[place]),
                    " ".join(items.second[place]),
                    items.gold[place],
                    alone[place],
                    rarest,
                )
            )
    for _, error, name, first, second, gold, near, rarest in sorted(found, reverse=True)[:most]:
        print(f"{error:+.2f} {name} {first} / {second}: people {gold:.1f}, similarity {near:.2f}, rarer verb {rarest}")


PHRASES = (
    "(family (run hotel))",
    "(athlete (run race))",
    "(horse (draw carriage))",
    "(old~ hotel)",
    "(child sleep*)",
    "(dog (not (chase cat)))",
)


def entropies(lexicon: Lexicon) -> None:
    """Entropy at every node by slots, and by Phaser with the model that ships."""
    usual = load()
    for text in PHRASES:
        ours = lexicon.compose(parse_brackets(text), "slots")
        phaser = usual.compose(parse_brackets(text), "phaser")
        print(text, f"plausibility {phrase_plausibility(Slots.of(lexicon), filled(ours.tree)[id(ours.tree)]):.2f}")
        for a, b in zip(ours.steps, phaser.steps, strict=True):
            print(f"  {a.branch:28}", *("–" if s.entropy is None else f"{s.entropy:.2f}" for s in (a, b)))


def speed(path: Path) -> None:
    """Seconds of the clock and of the processor from counts to a lexicon."""
    started, work = time.perf_counter(), time.process_time()
    parsed = ParsedText.load(path)
    read, lexicon = time.perf_counter() - started, train_slots(parsed)
    clock, work = time.perf_counter() - started, time.process_time() - work
    print(f"{parsed!r}: {clock:.1f} s by the clock ({read:.1f} to read), {work:.1f} s of processors; {lexicon.slots!r}")


def parsing(path: Path, repeats: int) -> None:
    """Words a second of ``corpus parse`` and of plain ``nlp.pipe``, two processes each, in turns.

    Both have the tagger and the parser; ``nlp.pipe`` finds lemmas too, by its own lemmatiser. The start of the
    processes, timed with the first twenty lines, is taken off.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    pipe = parser()

    def ours(texts: list[str]) -> None:
        with TemporaryDirectory() as folder:
            text = Path(folder) / "text.txt"
            text.write_text("\n".join(texts), encoding="utf-8")
            parse_text(text, Path(folder) / "text.parsed", workers=2)

    def plain(texts: list[str]) -> None:
        for _ in pipe.pipe(texts, batch_size=128, n_process=2):
            pass

    def clocks() -> Array:
        used = os.times()
        return np.array([used.elapsed, used.user + used.system + used.children_user + used.children_system])

    words = sum(len(line.split()) for line in lines[20:])
    for number in range(repeats):
        for name, run in (("corpus parse", ours), ("nlp.pipe", plain)):
            at = [clocks()]
            for texts in (lines[:20], lines):
                run(texts)
                at.append(clocks())
            start, whole = np.diff(at, axis=0)
            by_clock, of_processor = words / (whole - start)
            print(
                f"{number + 1} {name:14} {by_clock:8,.0f} words/s, {of_processor:8,.0f} a processor second;"
                f" start {start[0]:.1f} s, {start[1]:.1f} of processors",
                flush=True,
            )


def main() -> None:
    """One of the commands above."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = ["validate", "table", "seeds", "errors", "entropy", "speed", "parsing"]
    arguments.add_argument("what", choices=commands)
    arguments.add_argument("path")
    arguments.add_argument("dict", nargs="?", type=Path)
    arguments.add_argument("--data", default="data")
    arguments.add_argument("--sentences", type=int, default=100_000, help="at most so many of WordNet's")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--repeats", type=int, default=3)
    args = arguments.parse_args()
    path = Path(args.path)
    if args.what == "table":
        return table(path, args.dict, args.data, args.sentences, args.seed)
    if args.what == "seeds":
        return seeds(path, args.dict, args.data, args.sentences, args.seeds)
    if args.what == "speed":
        return speed(path)
    if args.what == "parsing":
        return parsing(path, args.repeats)
    lexicon = with_matrices(load(args.path), "slots")
    if args.what == "validate":
        return validate(lexicon, args.dict, verbs_of_the_sets(args.data), args.sentences)
    return errors(lexicon, args.data) if args.what == "errors" else entropies(lexicon)


if __name__ == "__main__":
    main()
