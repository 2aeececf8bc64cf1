"""Phrases as English sentences.

The paper made sentences of its phrases by hand: *the* before each noun phrase, the verb in the present tense. This
module makes them from trees, in several tenses, with the forms of words by ``lemminflect``.
"""

from __future__ import annotations

from polysema.composition.occurrences import Span
from polysema.composition.trees import Tree, head, leaves, nodes
from polysema.errors import check_choice, needing

TENSES = {
    "present": ("", "", "VBZ", "VBP"),
    "past": ("", "", "VBD", "VBD"),
    "progressive": ("is", "are", "VBG", "VBG"),
    "future": ("will", "will", "VB", "VB"),
}
"""By name: the auxiliary after a singular and a plural subject, and the verb's form (Penn tag) after each."""


def as_sentence(tree: Tree, tense: str = "present") -> tuple[str, dict[int, Span]]:
    """A phrase as an English sentence, and the place of each of its words there.

    A verb agrees with its subject, a noun phrase begins with *the*. A phrase without a verb stays a phrase.

    >>> from polysema.composition.trees import from_pattern
    >>> as_sentence(from_pattern("adj subj verb adj obj", ["local", "family", "run", "small", "hotel"]))[0]
    'The local family runs the small hotel.'

    Args:
        tense: a name in ``TENSES``.
    """
    check_choice("tense", tense, TENSES)
    verbs = {head(node.functor).position for node in nodes(tree, "argument")}
    of_verbs = [node for node in nodes(tree, "modifier") if head(node.argument).position in verbs]
    adverbs = {leaf.position for node in of_verbs for leaf in leaves(node.functor)}
    text, subject, opening = "", "", True
    spans: dict[int, Span] = {}
    for leaf in leaves(tree):
        before, form = "", leaf.word
        if leaf.position in verbs:
            before, form = inflected(leaf.word, subject, tense)
            opening = True
        elif leaf.position not in adverbs:
            before = "the" if opening else ""
            subject, opening = leaf.word, False
        text += f"{before} " if before else ""
        spans[leaf.position] = (len(text), len(text) + len(form))
        text += f"{form} "
    return text[:1].upper() + text[1:-1] + ".", spans


def inflected(verb: str, subject: str, tense: str = "present") -> tuple[str, str]:
    """The auxiliary (or an empty string) and the form of a verb in a tense, agreeing with its subject.

    >>> inflected("run", "family"), inflected("run", "people"), inflected("win-over", "speaker", "progressive")
    (('', 'runs'), ('', 'run'), ('is', 'winning over'))
    >>> [inflected("run", noun)[1] for noun in ("children", "child", "glass")]
    ['run', 'runs', 'runs']
    """
    with needing("forms of words", "encoders"):
        import lemminflect
    lemmas = lemminflect.getAllLemmas(subject, upos="NOUN").get("NOUN", (subject,))
    plural = subject in ("people", "police", "cattle") or subject not in lemmas
    verb, dash, rest = verb.partition("-")
    forms = lemminflect.getInflection(verb, tag=TENSES[tense][2 + plural])
    return TENSES[tense][plural], (str(forms[0]) if forms else verb) + (f" {rest}" if dash else "")
