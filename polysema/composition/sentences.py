"""Phrases as English sentences.

The paper made sentences of its phrases by hand: *the* before each noun phrase, the verb in the present tense. Here the
same follows from the tree, in any of some tenses, with the forms of words by ``lemminflect``.
"""

from __future__ import annotations

from typing import Any

from polysema.composition.occurrences import Span
from polysema.composition.trees import Tree, head, leaves, nodes
from polysema.errors import check_choice, needing

TENSES = {
    "present": ("", "", "VBZ", "VBP"),
    "past": ("", "", "VBD", "VBD"),
    "progressive": ("is", "are", "VBG", "VBG"),
    "future": ("will", "will", "VB", "VB"),
}
"""By name: what comes before the verb after a singular and a plural subject, and its form (Penn tag) after each."""


def as_sentence(tree: Tree, tense: str = "present") -> tuple[str, dict[int, Span]]:
    """A phrase as an English sentence, and where each of its words stands in that.

    A verb agrees with its subject, a noun phrase begins with *the*. A phrase without a verb is just that.

    >>> from polysema.composition.trees import from_pattern
    >>> as_sentence(from_pattern("adj subj verb adj obj", ["local", "family", "run", "small", "hotel"]))[0]
    'The local family runs the small hotel.'

    Args:
        tense: a name in ``TENSES``.
    """
    check_choice("tense", tense, TENSES)
    verbs = {head(node.functor).position for node in nodes(tree, "argument")}  # what takes arguments
    adverbs = _adverbs(tree, verbs)
    words: list[tuple[str, int | None]] = []
    opening, subject = True, ""
    for leaf in leaves(tree):
        verb = leaf.position in verbs
        if not verb and leaf.position not in adverbs:
            if opening:
                words.append(("the", None))
            opening = False
            subject = leaf.word
            words.append((leaf.word, leaf.position))
            continue
        before, form = inflected(leaf.word, subject, tense) if verb else ("", leaf.word)
        words += [(before, None)] if before else []
        words.append((form, leaf.position))
        opening = opening or verb
    text, spans = "", {}
    for word, position in words:
        text += " " if text else ""
        if position is not None:
            spans[position] = (len(text), len(text) + len(word))
        text += word
    return text[:1].upper() + text[1:] + ".", spans


def _adverbs(tree: Tree, verbs: set[int]) -> set[int]:
    """The positions of words that modify a verb."""
    of_verbs = [node for node in nodes(tree, "modifier") if head(node.argument).position in verbs]
    return {leaf.position for node in of_verbs for leaf in leaves(node.functor)}


def inflected(verb: str, subject: str, tense: str = "present") -> tuple[str, str]:
    """The verb in a tense, as it agrees with its subject: the auxiliary, if there is one, and the verb's own form.

    >>> inflected("run", "family"), inflected("run", "people"), inflected("win-over", "speaker", "progressive")
    (('', 'runs'), ('', 'run'), ('is', 'winning over'))
    """
    verb, dash, rest = verb.partition("-")
    plural = is_plural(subject)
    forms = _lemminflect().getInflection(verb, tag=TENSES[tense][2 + plural])
    return TENSES[tense][plural], (str(forms[0]) if forms else verb) + (f" {rest}" if dash else "")


def is_plural(noun: str) -> bool:
    """Whether a noun is plural: not its own dictionary form, or the plural of another word.

    >>> is_plural("children"), is_plural("people"), is_plural("glass")
    (True, True, False)
    """
    return noun in ("people", "police", "cattle") or noun not in _lemminflect().getAllLemmas(noun, upos="NOUN").get(
        "NOUN", (noun,)
    )


def _lemminflect() -> Any:
    with needing("forms of words", "encoders"):
        import lemminflect
    return lemminflect
