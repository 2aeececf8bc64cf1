"""The WordNet synset of a sense: the one whose gloss, lemmas and examples are a context that calls for the sense.

The words of a synset make a context vector c as the words of a sentence do. A sense takes the synset with the largest
cos(u_k, c), where the words that tell the sense from others add what they have in common with the synset's:

    score = cos(u_k, c) + ½ · (share of the sense's telling words that stand in the synset's text).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.errors import DataError, InputError, needing
from polysema.meanings.context_model import USUAL, context_vectors, cosines, directions, evidence_weights
from polysema.meanings.descriptions import SenseDescription, Synset
from polysema.meanings.meanings import Matrices
from polysema.senses.senses import Sense

LEAST_SCORE = 0.2  # below this, no synset matches


class Entry(NamedTuple):
    """A synset: its name, its gloss, and all words that it is written with."""

    id: str
    gloss: str
    words: frozenset[str]


class SynsetMatcher:
    """Finds the synsets of a lexicon's senses.

    Args:
        entries: the synsets of a word; by default those of the library ``wn``.
    """

    def __init__(self, lexicon: Matrices, entries: Callable[[str], list[Entry]] | None = None) -> None:
        contexts = lexicon.parts.contexts
        if contexts is None or contexts.ndim != 2:
            raise InputError("synsets are matched by context vectors, which this lexicon lacks: train ms-word2dm")
        self.lexicon, self.contexts, self.formula = lexicon, contexts, lexicon.parts.context_model or USUAL
        self.keep = evidence_weights(lexicon.vocabulary, self.formula, lexicon.metadata)
        self.entries = entries or library_entries()

    def matched(
        self, word: str, descriptions: list[SenseDescription], vectors: NDArray[np.float64]
    ) -> list[SenseDescription]:
        """The descriptions of a word's senses, unit vectors (k, n), with the synsets that match."""
        entries = self.entries(word)
        if not entries:
            return descriptions
        u = directions(np.ones(len(vectors)), vectors, self.formula) if len(vectors) > 1 else vectors
        scores = np.stack([cosines(u, self._context(entry, word)) for entry in entries], axis=1)  # (k, entries)
        for k, own in enumerate(descriptions):
            telling = set(own.words)
            shared = [len(telling & entry.words) / max(len(telling), 1) for entry in entries]
            scores[k] += 0.5 * np.asarray(shared)
        best = scores.argmax(axis=1)
        matching = [Synset(entries[i].id, entries[i].gloss, float(own[i])) for own, i in zip(scores, best, strict=True)]
        return [
            replace(own, synset=synset) if synset.score >= LEAST_SCORE else own
            for own, synset in zip(descriptions, matching, strict=True)
        ]

    def _context(self, entry: Entry, word: str) -> NDArray[np.float64]:
        indices = self.lexicon.vocabulary.indices
        rows = [indices.get(other) for other in sorted(entry.words) if other != word]
        everywhere = replace(self.formula, distance_weights=None)
        return np.asarray(context_vectors([rows], [0], everywhere, self.keep, self.contexts)[0][0])


def with_synsets(lexicon: Matrices, word: str, senses: Sequence[Sense]) -> list[Sense]:
    """The senses of a word with the synset of each, where one matches.

    A sense that was not described from a corpus is known by the words nearest to it.
    """
    descriptions = [
        sense.description or SenseDescription(words=tuple(near.word for near in sense.neighbours)) for sense in senses
    ]
    found = SynsetMatcher(lexicon).matched(word, descriptions, np.array([sense.vector for sense in senses]))
    return [replace(sense, description=own) for sense, own in zip(senses, found, strict=True)]


LEVELS, BELOW = 3, 200  # how far up hypernyms are followed, and how many synsets below one are looked at


def below_hypernyms() -> Callable[[str], list[list[str]]]:
    """What the installed ``wn`` has below each hypernym of a word: from its synsets up, the nearest hypernym first."""
    synsets = library_synsets()

    def below(word: str) -> list[list[str]]:
        found: list[list[str]] = []
        over = list(synsets(word))
        for _ in range(LEVELS):
            over = list(dict.fromkeys(up for synset in over for up in synset.hypernyms()))
            under = [down for up in over for down in up.hyponyms()][:BELOW]
            names = [str(name).lower() for synset in under for name in synset.lemmas()]
            found.append([name for name in names if name != word])
        return found

    return below


def library_synsets() -> Callable[[str], Sequence[Any]]:
    """The synsets of a word in the wordnet that the library ``wn`` has downloaded."""
    with needing("synsets", "wordnet"):
        import wn
    try:
        wordnet = wn.Wordnet(lang="en", lemmatizer=None)
    except wn.Error as error:
        raise DataError(
            f"the wn library has no English wordnet ({error}): run `python -m wn download omw-en:1.4`"
        ) from None
    return lambda word: wordnet.synsets(word)


def library_entries() -> Callable[[str], list[Entry]]:
    """The synsets of the installed ``wn`` as entries."""
    synsets = library_synsets()

    def entry(synset: Any) -> Entry:
        gloss = synset.definition() or ""
        text = " ".join([gloss, *map(str, synset.lemmas()), *map(str, synset.examples())]).replace("_", " ").lower()
        return Entry(str(synset.id), gloss, frozenset(re.findall(r"[^\W\d_]+", text)))

    return lambda word: [entry(synset) for synset in synsets(word)]
