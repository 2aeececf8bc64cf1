"""Other parses of a sentence, by rule: where a parser must choose and words alone do not tell.

=========================  ==================================  ====================================================
a choice                   the parser's parse                  the other
=========================  ==================================  ====================================================
prepositional phrase       *saw (the man with a telescope)*    *(saw the man) with a telescope*, and the other way
adjective before *and*     *(old men) and women*               *old (men and women)*
=========================  ==================================  ====================================================

Each choice changes one dependency. Parsers give their best parse only, so the odds are rules of thumb: prepositional
phrases are attached rightly four times out of five; how far an adjective reaches is not in a dependency parse at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from polysema.composition.occurrences import Token
from polysema.parsing.rules import WIDE

PHRASE_ODDS = 0.25
"""The odds of the other attachment of a prepositional phrase against the parser's."""

SCOPE_ODDS = 1.0
"""The odds of an adjective on all that is coordinated against one on the first alone."""

MOST = 4
"""How many other readings a sentence has at most."""


def other_readings(tokens: Sequence[Token]) -> list[tuple[float, list[Token]]]:
    """The sentence parsed otherwise, with the odds of each against the parse that is given."""
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
