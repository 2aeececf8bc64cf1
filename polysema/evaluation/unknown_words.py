"""What to do with a word that a model does not know: one table of policies.

Every policy first looks the word up as it is written, then lower-cased.
"""

from __future__ import annotations

from collections.abc import Callable

from polysema.errors import chosen, needing
from polysema.vocabulary import Vocabulary

Resolver = Callable[[str, str], int]
"""From a word and its role in the phrase, or "", to its index in the vocabulary; -1 where it is not there."""

_UNIVERSAL = {"verb": "VERB", "noun": "NOUN", "subj": "NOUN", "obj": "NOUN", "adj": "ADJ", "adv": "ADV"}


def _none(word: str, role: str) -> list[str]:
    return []


def _inflections(word: str, role: str) -> list[str]:
    from lemminflect import getAllInflections, getAllInflectionsOOV

    upos = _UNIVERSAL.get(role)
    forms = getAllInflections(word, upos=upos)
    if not forms and upos:
        forms = getAllInflectionsOOV(word, upos=upos)
    return [form for group in forms.values() for form in group]


def _lemmas(word: str, role: str) -> list[str]:
    from lemminflect import getAllLemmas

    found = getAllLemmas(word, upos=_UNIVERSAL.get(role))
    return [lemma for group in found.values() for lemma in group]


POLICIES: dict[str, tuple[str, Callable[[str, str], list[str]]]] = {
    "skip": ("leave the item out, as the paper does", _none),
    "inflected": ("use the word's most frequent inflected form that the model knows", _inflections),
    "lemma": ("use the word's lemma", _lemmas),
}
"""Out-of-vocabulary policies by name: what they do, and the spellings they offer for a word in its role."""


def resolver(vocabulary: Vocabulary, policy: str = "skip") -> Resolver:
    """How words are looked up in a vocabulary under a policy."""
    _, offered = chosen("out-of-vocabulary policy", policy, POLICIES)
    indices = vocabulary.indices

    def resolve(word: str, role: str) -> int:
        for spelling in (word, word.lower()):
            if spelling in indices:
                return indices[spelling]
        with needing(f"the out-of-vocabulary policy {policy!r}", "lemmas"):
            known = [indices[form] for form in offered(word.lower(), role) if form in indices]
        return max(known, key=lambda index: (vocabulary.counts[index], -index), default=-1)

    return resolve
