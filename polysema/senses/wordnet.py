"""WordNet by the library ``wn`` (extra ``wordnet``): the synsets of a word, and what is below its hypernyms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polysema.errors import DataError, needing

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
