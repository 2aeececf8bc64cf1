"""Does a word's matrix in context say more than the same word without context?

    python benchmarks/words_in_context.py DICT [LEXICON] [--flatness 1 1.5 2] [--pull 0 0.1 0.2] [--lemmas 0] [--seed 1]

WordNet's example sentences show words in known synsets. Two tasks:

- *same word*: two examples of one lemma, of the same synset or of two. Without context this is chance.
- *two words*: an example of a lemma and one of another lemma, of the same synset, or of two different ones. The other
  lemma of a negative pair shares a synset with the first where there is one, so that the words alone mislead; half of
  the negatives are drawn at random.

``similarity`` is the trace similarity of the two matrices in context, ``no context`` that of the words' own matrices,
``bag`` the cosine of the two context vectors. AUC over all pairs; accuracy with the threshold that is best on the other
half. Lemmas (only so many with ``--lemmas``) are split in two halves by the seed: one to choose on, one to report.
DICT is the folder with WordNet 3.0's data.noun, data.verb and data.adj (see wordnet.py). A lexicon with a dictionary
reads by it, and only examples of the synsets that gave none to its training are asked.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import lemminflect
import numpy as np
from measure import auc, machine, options, table
from numpy.typing import NDArray
from wordnet import read_synsets

import polysema as ps
from polysema.encoders.tagged_text import held_out_synset

PARTS = {"noun": "NOUN", "verb": "VERB", "adj": "ADJ"}
MOST = 3
"""Pairs of a kind of one lemma, at most."""

Array = NDArray[np.float64]


class Use(NamedTuple):
    """A lemma in an example sentence of one of its synsets."""

    lemma: str
    synset: str
    sentence: str
    form: str


class Pair(NamedTuple):
    """Two uses, and whether they are of one synset."""

    first: Use
    second: Use
    alike: bool


def read_uses(folder: Path) -> tuple[list[Use], dict[str, set[str]]]:
    """Lemmas in example sentences of three words or more, and the synsets of each lemma of one word."""
    uses, synsets = [], defaultdict(set)
    for part, tag in PARTS.items():
        for offset, synset in read_synsets(folder, part).items():
            name = f"{offset:08}{part}"
            for lemma in synset.lemmas:
                synsets[lemma].add(name)
            for sentence in synset.examples:
                words = re.findall(r"[^\W\d_]+", sentence)
                if len(words) < 3:
                    continue
                for lemma in synset.lemmas:
                    form = next((word for word in words if _is_form(word.lower(), lemma, tag)), None)
                    if form is not None:
                        uses.append(Use(lemma, name, sentence, form.lower()))
    return uses, synsets


def _is_form(word: str, lemma: str, tag: str) -> bool:
    if word == lemma:
        return True
    return word[:2] == lemma[:2] and abs(len(word) - len(lemma)) < 5 and lemma in lemminflect.getLemma(word, upos=tag)


def same_word(uses: Sequence[Use], seed: int) -> list[Pair]:
    """As many pairs of one synset as of two, of each lemma."""
    draw, by_lemma, found = random.Random(seed), defaultdict(list), []
    for use in uses:
        by_lemma[use.lemma].append(use)
    for _, own in sorted(by_lemma.items()):
        pairs = [Pair(a, b, a.synset == b.synset) for i, a in enumerate(own) for b in own[i + 1 :]]
        draw.shuffle(pairs)
        kinds = [[pair for pair in pairs if pair.alike is alike] for alike in (True, False)]
        for kind in kinds:
            found += kind[: min(MOST, *map(len, kinds))]
    return found


def two_words(uses: Sequence[Use], synsets: dict[str, set[str]], seed: int) -> list[Pair]:
    """Pairs of lemmas in one synset, and as many in two: every other one with a lemma that shares another synset."""
    draw, by_synset, by_lemma = random.Random(seed), defaultdict(list), defaultdict(list)
    for use in uses:
        by_synset[use.synset].append(use)
        by_lemma[use.lemma].append(use)
    members = defaultdict(set)
    for lemma, own in synsets.items():
        for name in own:
            members[name].add(lemma)
    found = []
    for name in sorted(by_synset):
        own = by_synset[name]
        pairs = [(a, b) for i, a in enumerate(own) for b in own[i + 1 :] if a.lemma != b.lemma]
        for number, (a, b) in enumerate(draw.sample(pairs, min(MOST, len(pairs)))):
            near = {
                lemma for other in synsets[a.lemma] - {name} for lemma in members[other] if name not in synsets[lemma]
            }
            misleading = [use for lemma in sorted(near) for use in by_lemma[lemma]]
            pool = misleading if misleading and number % 2 == 0 else uses
            other = draw.choice(pool)
            if other.synset != name and other.lemma != a.lemma:
                found += [Pair(a, b, True), Pair(a, other, False)]
    return found


class Scores(NamedTuple):
    """What each way says of the pairs that all ways answer."""

    values: dict[str, Array]
    alike: NDArray[np.bool_]
    reported: NDArray[np.bool_]


Told = dict[Use, Any]
"""Uses with the word's disambiguation there; those that the lexicon cannot answer are left out."""


def told(lexicon: ps.Lexicon, uses: Sequence[Use]) -> Told:
    """Each use in its sentence, without a parser."""
    found = lexicon.disambiguate([(use.form, use.sentence) for use in uses], nlp=False, top=1)
    return {use: answer for use, answer in zip(uses, found, strict=True) if not isinstance(answer, ps.Failed)}


def scored(lexicon: ps.Lexicon, pairs: Sequence[Pair], ways: dict[str, Told], seed: int) -> Scores:
    """Every pair by every way, the words' lemmas split in halves."""
    plain = next(iter(ways.values()))
    draw, side = random.Random(seed), {}
    reported = [side.setdefault(pair.first.lemma, draw.random() < 0.5) for pair in pairs]
    known = {use for use, answer in plain.items() if answer.word in lexicon}
    keep = [i for i, pair in enumerate(pairs) if pair.first in known and pair.second in known]
    both = [(pairs[i].first, pairs[i].second) for i in keep]
    values = {
        "no context": [lexicon.similarity(plain[a].word, plain[b].word) for a, b in both],
        "bag": [_cosine(_bag(lexicon, plain[a]), _bag(lexicon, plain[b])) for a, b in both],
    }
    for name, answers in ways.items():
        values[name] = [float(ps.similarity(answers[a].meaning, answers[b].meaning)) for a, b in both]
    alike = np.array([pair.alike for pair in pairs], bool)
    return Scores({name: np.array(v) for name, v in values.items()}, alike[keep], np.array(reported, bool)[keep])


def _bag(lexicon: ps.Lexicon, found: Any) -> Array:
    words = re.findall(r"[^\W\d_]+", found.context.lower())
    rows = [lexicon.vocabulary.find(word) for word in words if word != found.form.lower()]
    rows = [row for row in rows if row >= 0]
    return np.asarray(lexicon.parts.contexts)[rows].astype(np.float64).sum(axis=0) if rows else np.zeros(lexicon.n)


def _cosine(a: Array, b: Array) -> float:
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / length) if length > 0 else 0.0


def accuracy(values: Array, alike: NDArray[np.bool_], chosen_on: NDArray[np.bool_]) -> float:
    """How many of the other half are right by the threshold that is best on one half."""
    v, y = values[chosen_on], alike[chosen_on]
    order = np.argsort(v)
    hits = np.concatenate([[0], np.cumsum(np.where(y[order], -1, 1))]) + y.sum()
    best = int(hits.argmax())
    threshold = -np.inf if best == 0 else v[order][best - 1]
    right = ((values > threshold) == alike)[~chosen_on]
    return float(right.mean()) if len(right) else float("nan")


def main() -> None:
    """Print a table for each task: a row a way."""
    chosen = options(__doc__, "dict", "[lexicon]", flatness=[1.0], pull=[0.0], lemmas=0, seed=1)
    lexicon = ps.load(chosen.lexicon)
    uses, synsets = read_uses(Path(chosen.dict))
    if chosen.lemmas:
        kept = set(random.Random(chosen.seed).sample(sorted({use.lemma for use in uses}), chosen.lemmas))
        uses = [use for use in uses if use.lemma in kept]
    if lexicon.dictionary is not None:
        uses = [use for use in uses if held_out_synset(f"{use.synset[:8]}-{use.synset[8]}")]
    tasks = {"same word": same_word(uses, chosen.seed), "two words": two_words(uses, synsets, chosen.seed)}
    asked = sorted({use for pairs in tasks.values() for pair in pairs for use in pair[:2]})
    model = lexicon.parts.context_model
    ways = (
        {"in context": told(lexicon, asked)}
        if lexicon.dictionary or model is None
        else {
            f"flatness {f:g}, pull {b:g}": told(
                lexicon.with_parts(context_model=replace(model, flatness=f, pull=b)), asked
            )
            for f in chosen.flatness
            for b in chosen.pull
        }
    )
    print(machine())
    for name, pairs in tasks.items():
        scores = scored(lexicon, pairs, ways, chosen.seed)
        sizes = f"{(~scores.reported).sum()} pairs to choose on, {scores.reported.sum()} reported"
        print(f"\n{name}: {sizes}, {scores.alike.mean():.2f} of them alike\n")
        rows = []
        for way, values in scores.values.items():
            halves = [auc(values[side], scores.alike[side]) for side in (~scores.reported, scores.reported)]
            rows.append([way, *(f"{x:.3f}" for x in (*halves, accuracy(values, scores.alike, ~scores.reported)))])
        print(table(["by", "AUC, chosen on", "AUC, reported", "accuracy, reported"], rows))


if __name__ == "__main__":
    main()
