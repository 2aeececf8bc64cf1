"""How many senses WordNet gives a word: from the table shipped here, or from the ``wn`` library.

The table holds WordNet 3.0's 83 118 single words with their numbers of synsets by part of speech; its licence lies
beside it. ``tools/wordnet_senses.py`` made it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files

from polysema.errors import chosen
from polysema.senses.wordnet import library_synsets


@cache
def table() -> dict[str, tuple[int, int, int, int]]:
    """The shipped table: a word's number of synsets as noun, verb, adjective and adverb."""
    text = gzip.decompress((files(__package__) / "senses.tsv.gz").read_bytes()).decode()
    found = {}
    for line in text.splitlines():
        word, noun, verb, adjective, adverb = line.split("\t")
        found[word] = (int(noun), int(verb), int(adjective), int(adverb))
    return found


def _shipped(words: Iterable[str]) -> list[int]:
    known = table()
    return [sum(known.get(word.lower(), ())) for word in words]


def _library(words: Iterable[str]) -> list[int]:
    synsets = library_synsets()
    return [len(synsets(word)) for word in words]


SOURCES: dict[str, Callable[[Iterable[str]], list[int]]] = {"wordnet-3.0": _shipped, "wn": _library}
"""Where sense counts come from, by name."""


def sense_counts(words: Iterable[str], source: str = "wordnet-3.0") -> list[int]:
    """The number of synsets of each word over all parts of speech; 0 for words that are no WordNet lemma.

    >>> sense_counts(["run", "bank", "bright", "qwerty"])
    [57, 18, 11, 0]
    """
    return chosen("source of sense counts", source, SOURCES)(words)
