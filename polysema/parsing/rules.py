"""The table from dependency labels to parts of a composition tree.

Labels are those of spaCy's English models. A word's dependents join it step by step, and on either side of it the
nearest first: adjectives and adverbs act on the word, the verb on its objects, phrases and clauses on the verb phrase
or the noun, and last the verb phrase on its subject (paper, §3.2, and beyond).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from polysema.composition.occurrences import Token

Part = Literal["modifier", "object", "subject", "coordination", "negation", "falls away"]
"""The part a dependent plays: it acts on its head (``modifier``), its head acts on it (``object``, on the right, and
``subject``, on the left), it is mixed with its head (``coordination``), it negates what its head has become
(``negation``), or it is left out (``falls away``)."""


class Rule(NamedTuple):
    """The rule for a dependent."""

    part: Part
    step: int  # when it joins its head, from 1
    what: str  # what it is, in words; the reason given if it falls away
    example: str = ""


AFTER_OBJECTS = 4  # the step at which an adverb joins when its own head is left out
CLAUSE = 9  # the step at which whole clauses are joined: conjuncts that have a subject of their own

RULES: dict[str, Rule] = {
    # words on words
    "amod": Rule("modifier", 1, "adjective", "a *small* hotel"),
    "compound": Rule("modifier", 1, "noun on noun, first name on name", "the *river* bank; *Barack* Obama"),
    "nmod": Rule("modifier", 1, "noun on noun", "a *San Francisco* hotel"),
    "nummod": Rule("modifier", 1, "number", "*three* rooms"),
    "poss": Rule("modifier", 1, "possessor", "the *family*'s hotel"),
    "advmod": Rule("modifier", 1, "adverb", "runs *slowly*; a *very* old man"),
    # what a verb, a copula or a preposition takes
    "dobj": Rule("object", 2, "object", "runs a *hotel*"),
    "nsubjpass": Rule("object", 2, "subject of a passive", "the *hotel* is run"),
    "csubjpass": Rule("object", 2, "clause as the subject of a passive", "*that he ran* was denied"),
    "acomp": Rule("object", 2, "adjective after a verb", "is *cheap*; seems *cheap*"),
    "attr": Rule("object", 2, "noun after a copula", "is a *doctor*"),
    "oprd": Rule("object", 2, "predicate of the object", "elected him *president*"),
    "xcomp": Rule("object", 2, "open clause", "wants *to run* a hotel"),
    "ccomp": Rule("object", 2, "clause", "said that the hotel *closed*"),
    "pobj": Rule("object", 2, "object of a preposition", "in the *city*"),
    "pcomp": Rule("object", 2, "clause after a preposition", "by *running* hotels"),
    "dative": Rule("object", 3, "indirect object", "gave the *boy* a book; gave a book *to* the boy"),
    # phrases and clauses on what they belong to
    "prep": Rule("modifier", 4, "prepositional phrase", "the hotel *in* the city"),
    "prt": Rule("modifier", 4, "particle: a function word, falls away", "gave *up*"),
    "npadvmod": Rule("modifier", 4, "noun as an adverb", "sold it last *week*"),
    "relcl": Rule("modifier", 4, "relative clause", "the family that *runs* the hotel"),
    "acl": Rule("modifier", 4, "clause on a noun", "the hotel *run* by the family"),
    "advcl": Rule("modifier", 4, "adverbial clause", "smiles when he *sleeps*"),
    "appos": Rule("modifier", 4, "apposition", "Bob, the *owner*"),
    # side by side
    "neg": Rule("negation", 5, "negation: of verb and objects; *no* on a noun is the verb's", "does *not* run"),
    "conj": Rule("coordination", 6, "conjunct", "dogs and *cats*; a clause joins at step 9"),
    "amod-wide": Rule("modifier", 7, "adjective on all conjuncts, in a reading of its own", "*old* (men and women)"),
    "parataxis": Rule("coordination", CLAUSE, "clause alongside", "the hotel, I *think*, closed"),
    # subjects
    "nsubj": Rule("subject", 8, "subject", "the *family* runs"),
    "csubj": Rule("subject", 8, "clause as subject", "*running* a hotel is hard"),
    "agent": Rule("subject", 8, "agent of a passive", "is run *by* the family"),
    # what falls away
    "aux": Rule("falls away", 0, "auxiliary", "*has* run; *must* run; *to* run"),
    "auxpass": Rule("falls away", 0, "auxiliary", "*is* run"),
    "det": Rule("falls away", 0, "determiner", "*the* hotel"),
    "predet": Rule("falls away", 0, "determiner", "*all* the hotels"),
    "quantmod": Rule("falls away", 0, "quantifier", "*about* twenty"),
    "case": Rule("falls away", 0, "case mark", "the family*'s* hotel"),
    "cc": Rule("falls away", 0, "conjunction", "dogs *and* cats"),
    "preconj": Rule("falls away", 0, "conjunction", "*both* dogs and cats"),
    "mark": Rule("falls away", 0, "conjunction", "*because* it rains"),
    "expl": Rule("falls away", 0, "expletive", "*there* is a hotel"),
    "intj": Rule("falls away", 0, "interjection", "*oh*, it closed"),
    "punct": Rule("falls away", 0, "punctuation", "closed*.*"),
    "meta": Rule("falls away", 0, "markup"),
    # anything else
    "dep": Rule("coordination", CLAUSE, "a relation without a name"),
}
"""Dependency label → rule. A label that is not here is taken as ``dep``."""

WIDE = "amod-wide"
"""The label, polysema's own, of an adjective that reaches over a coordination; see :func:`other_readings`."""

SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")  # labels of the subjects of a clause

FUNCTION_WORDS: dict[str, str] = {
    "ADP": "preposition or particle",
    "AUX": "auxiliary",
    "CCONJ": "conjunction",
    "DET": "determiner",
    "INTJ": "interjection",
    "PART": "particle",
    "PRON": "pronoun",
    "PUNCT": "punctuation",
    "SCONJ": "conjunction",
    "SPACE": "white space",
    "SYM": "symbol",
}
"""Part of speech → its name. Such a word falls away in every position, and what it governs takes its place: *in the
city* becomes *city*, *is cheap* becomes *cheap*. The matrices of function words say little about a sentence: acting on
*city*, *in* gives a phrase nearest to *in*."""

COPULA = "be"  # the lemma that falls away although it may be tagged as a verb

IN_TURN = ("amod", "advmod")
"""Modifiers that, joined by *and*, each act in turn: a *small and cheap* hotel is both. Joined by *or* they mix."""


PHRASE_ODDS = 0.25  # the odds of the other attachment of a prepositional phrase against the parser's
SCOPE_ODDS = 1.0  # the odds of an adjective on all that is coordinated against one on the first alone
MOST = 4  # how many other readings a sentence has at most


def other_readings(tokens: Sequence[Token]) -> list[tuple[float, list[Token]]]:
    """The sentence parsed otherwise, with the odds of each against the parse that is given.

    =========================  ==================================  ====================================================
    a choice                   the parser's parse                  the other
    =========================  ==================================  ====================================================
    prepositional phrase       *saw (the man with a telescope)*    *(saw the man) with a telescope*, and the other way
    adjective before *and*     *(old men) and women*               *old (men and women)*
    =========================  ==================================  ====================================================

    Each choice changes one dependency. Parsers give their best parse only, so the odds are rules of thumb: four times
    out of five prepositional phrases are attached rightly; how far an adjective reaches is not in a parse at all.
    """
    found: list[tuple[float, list[Token]]] = []
    for i, token in enumerate(tokens):
        changed: Token | None = None
        odds = PHRASE_ODDS
        if token.label == "prep" and token.lemma != "of":
            changed = _attached_elsewhere(i, tokens)
        elif token.label == "amod" and i < token.head and _is_coordinated(token.head, tokens):
            changed, odds = token._replace(label=WIDE), SCOPE_ODDS
        if changed is not None:
            found.append((odds, [*tokens[:i], changed, *tokens[i + 1 :]]))
    return found[:MOST]


def _attached_elsewhere(i: int, tokens: Sequence[Token]) -> Token | None:
    """A preposition on the verb instead of its object, or on the object instead of the verb."""
    token = tokens[i]
    over = tokens[token.head]
    if over.label == "dobj" and token.head < i:
        return token._replace(head=over.head)
    objects = [j for j, other in enumerate(tokens) if other.label == "dobj" and other.head == token.head and j < i]
    return token._replace(head=objects[-1]) if objects and over.pos == "VERB" else None


def _is_coordinated(place: int, tokens: Sequence[Token]) -> bool:
    """Whether a noun is joined to another that has neither an adjective nor an article of its own."""
    return any(
        other.label == "conj"
        and other.head == place
        and other.pos in ("NOUN", "PROPN")
        and not any(below.head == j and below.label in ("amod", "det", "poss", "nummod") for below in tokens)
        for j, other in enumerate(tokens)
    )
