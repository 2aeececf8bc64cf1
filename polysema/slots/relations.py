"""From a dependency parse to relations: which word fills which slot of which head.

=====================  ==============================  =========================================================
slot                   head, filler                    dependency (spaCy's English models)
=====================  ==============================  =========================================================
``subj``               verb, noun                      nsubj, the agent of a passive, the noun before *who runs*
``obj``                verb, noun                      dobj, nsubjpass, the noun before *which he ran* and *run by*
``in`` ``with`` …      verb, noun                      the object of a preposition of the verb
``mod``                noun, adjective                 amod
``comp``               noun, noun                      compound
``of``                 noun, noun                      the object of *of*
=====================  ==============================  =========================================================

Passives are turned round. Coordinated nouns all fill the slot; a coordinated or infinitive verb without a subject
takes that of the verb above it. A verb with a particle is a verb of its own (``take_off``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

SPACES = ("noun", "verb", "adjective")  # the spaces that words have vectors in, in their order
NOUN_SLOTS = frozenset({"mod", "comp", "of"})  # slots of nouns; all others are slots of verbs
INVERSE = " of"  # ``obj of`` holds the verbs whose object a noun is

VERBS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
ADJECTIVES = frozenset({"JJ", "JJR", "JJS"})
RELATIVE = frozenset({"WDT", "WP"})

AT_MOST = 6  # the most coordinated nouns of a slot


def filler_space(slot: str) -> str:
    """The part of speech that fills a slot, or that has the slot whose inverse this is (``obj of``)."""
    base = slot.removesuffix(INVERSE)
    return head_space(base) if base != slot else "adjective" if slot == "mod" else "noun"


def head_space(slot: str) -> str:
    """The part of speech that has a slot, or that fills the slot whose inverse this is."""
    base = slot.removesuffix(INVERSE)
    return filler_space(base) if base != slot else "noun" if slot in NOUN_SLOTS else "verb"


class Word(NamedTuple):
    """A word of a parsed text."""

    lemma: str  # its dictionary form in lower case
    tag: str  # its part of speech, by the Penn Treebank
    label: str  # its dependency on its head
    head: int  # the place of its head; its own place for the root of a sentence


class Relation(NamedTuple):
    """A head, one of its slots, and the word that fills it."""

    head: str
    slot: str
    filler: str


def relations(words: Sequence[Word]) -> Iterator[Relation]:
    """The relations of a parsed text, in the order of their heads."""
    below: list[list[int]] = [[] for _ in words]
    for place, word in enumerate(words):
        if word.head != place:
            below[word.head].append(place)
    subjects: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        if word.tag in VERBS and word.label not in ("aux", "auxpass") and word.lemma != "be":
            yield from _of_verb(place, words, below, subjects)
        elif word.tag in NOUNS and _is_word(word.lemma):
            yield from _of_noun(place, words, below)


def _of_verb(
    place: int, words: Sequence[Word], below: list[list[int]], subjects: dict[int, list[int]]
) -> Iterator[Relation]:
    verb, children = words[place], below[place]
    if not verb.lemma.isalpha():
        return
    subject: list[int] = []
    thing: list[int] = []
    others: list[tuple[str, int]] = []
    labels = {words[child].label for child in children}
    relative = ""
    for child in children:
        word = words[child]
        if word.label in ("nsubj", "nsubjpass", "dobj"):
            role = subject if word.label == "nsubj" else thing
            if word.tag in RELATIVE:
                relative = "subj" if role is subject else "obj"
            else:
                role += _coordinated(child, words, below)
        elif word.label in ("agent", "prep"):
            for object_ in below[child]:
                if words[object_].tag in RELATIVE:
                    relative = relative or "preposition"
                elif words[object_].label == "pobj":
                    found = _coordinated(object_, words, below)
                    if word.label == "agent":
                        subject += found
                    else:
                        others += [(word.lemma, item) for item in found]
    above = words[verb.head]
    if verb.label == "relcl" and above.tag in NOUNS:
        if relative == "subj":
            subject.append(verb.head)
        elif relative == "obj" or (not relative and "nsubj" in labels and not labels & {"dobj", "nsubjpass", "ccomp"}):
            thing.append(verb.head)
    elif verb.label == "acl" and above.tag in NOUNS and verb.tag in ("VBN", "VBG"):
        (thing if verb.tag == "VBN" else subject).append(verb.head)
    elif verb.label in ("conj", "xcomp", "advcl") and not labels & {"nsubj", "nsubjpass", "csubj", "auxpass"}:
        subject += subjects.get(verb.head, [])
    subjects[place] = subject
    name = "_".join([verb.lemma, *(words[child].lemma for child in children if words[child].label == "prt")])
    filled = [*(("subj", item) for item in subject), *(("obj", item) for item in thing), *others]
    for slot, item in filled:
        yield Relation(name, slot, words[item].lemma)


def _of_noun(place: int, words: Sequence[Word], below: list[list[int]]) -> Iterator[Relation]:
    lemma = words[place].lemma
    for child in below[place]:
        word = words[child]
        if word.label == "amod" and word.tag in ADJECTIVES and _is_word(word.lemma):
            yield Relation(lemma, "mod", word.lemma)
        elif word.label == "compound" and word.tag in ("NN", "NNS") and _is_word(word.lemma):
            yield Relation(lemma, "comp", word.lemma)
        elif word.label == "prep" and word.lemma == "of":
            for object_ in below[child]:
                if words[object_].label == "pobj" and _is_noun(words[object_]):
                    yield Relation(lemma, "of", words[object_].lemma)


def _coordinated(place: int, words: Sequence[Word], below: list[list[int]]) -> list[int]:
    """A noun and the nouns that are coordinated with it; nothing for a pronoun."""
    found: list[int] = []
    following: int | None = place
    while following is not None and len(found) < AT_MOST:
        if _is_noun(words[following]):
            found.append(following)
        following = next((child for child in below[following] if words[child].label == "conj"), None)
    return found


def _is_noun(word: Word) -> bool:
    return word.tag in NOUNS and _is_word(word.lemma)


def _is_word(lemma: str) -> bool:
    return lemma.replace("-", "").isalpha()
