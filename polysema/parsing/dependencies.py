"""A parsed sentence as a composition tree, by the table in ``rules.py``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from polysema.composition.occurrences import Token
from polysema.composition.trees import NEGATIONS, Leaf, LeftOut, Node, Tree, head
from polysema.parsing.rules import AFTER_OBJECTS, CLAUSE, COPULA, FUNCTION_WORDS, IN_TURN, RULES, SUBJECTS, Rule

Spelling = Callable[[Token], str | None]  # the lexicon's spelling of a word; None if it does not hold it


def composition_tree(tokens: Sequence[Token], spelling: Spelling) -> tuple[Tree | None, list[LeftOut]]:
    """The tree of a sentence, None if no word is left, and the words that are not in it.

    Several roots, that is several sentences, are mixed.
    """
    sentence = _Sentence(_in_turn(_handed_up(_negations(tokens))), spelling)
    tree = reduce(_mixed, [sentence.phrases[i] for i, token in enumerate(tokens) if token.head == i], None)
    left_out = [i for i in sorted(sentence.reasons) if tokens[i].pos not in ("PUNCT", "SPACE")]
    return tree, [LeftOut(tokens[i].text, sentence.reasons[i]) for i in left_out]


class _Dependent(NamedTuple):
    step: int
    distance: int
    place: int
    rule: Rule


class _Sentence:
    """The phrase of every word, built from the leaves of the dependency tree upwards, without recursion.

    Attributes:
        leaves: each word's leaf; None if it falls away.
        phrases: each word with all its dependents; None if nothing is left.
        reasons: why words are left out.
    """

    def __init__(self, tokens: Sequence[Token], spelling: Spelling) -> None:
        self.tokens = tokens
        self.children: list[list[int]] = [[] for _ in tokens]
        for i, token in enumerate(tokens):
            if token.head != i:
                self.children[token.head].append(i)
        self.reasons: dict[int, str] = {}
        self.leaves: list[Leaf | None] = [None] * len(tokens)
        self.phrases: list[Tree | None] = [None] * len(tokens)
        order = [i for i, token in enumerate(tokens) if token.head == i]
        for i in order:  # every word before its dependents
            order += self.children[i]
            self.leaves[i] = self._leaf(i, spelling)
        for i in reversed(order):
            self.phrases[i] = self._phrase(i)

    def _leaf(self, i: int, spelling: Spelling) -> Leaf | None:
        token = self.tokens[i]
        rule = _rule(token)
        if token.head != i and rule.part == "negation":
            return Leaf(_straight(token.text) if _straight(token.text) in NEGATIONS else "not", i)
        if token.head != i and rule.part == "falls away":
            self.reasons[i] = rule.what
        elif _is_function_word(token):
            self.reasons[i] = FUNCTION_WORDS.get(token.pos, "copula")
        else:
            word = spelling(token)
            if word is not None:
                return Leaf(word, i)
            self.reasons[i] = "not in the lexicon"
        return None

    def _phrase(self, i: int) -> Tree | None:
        """The word with all its dependents, joined step by step."""
        dependents = self._dependents(i)
        tree: Tree | None = self.leaves[i]
        partner = self._partner(i)
        if partner is not None:
            tree = self._joined(tree, i, [d for d in dependents if d.step == 1 and tree])
            dependents = [d for d in dependents if d.step > 1 or not self.leaves[i]]
        while partner is not None:
            theirs = self._dependents(partner)
            tree = _mixed(tree, self._joined(self.leaves[partner], partner, [d for d in theirs if d.step == 1]))
            dependents = [d for d in dependents if d.place != partner] + [d for d in theirs if d.step > 1]
            partner = self._partner(partner)
        if self.leaves[i] is None:  # *exactly* in parallel: the adverb acts on what the preposition leaves
            dependents = [d._replace(step=AFTER_OBJECTS) if d.step == 1 else d for d in dependents]
        return self._joined(tree, i, _inside_out(i, self.leaves[i] is not None, dependents))

    def _dependents(self, i: int) -> list[_Dependent]:
        """The dependents of a word that do not fall away, in the order in which they join."""
        found = []
        for j in self.children[i]:
            rule = _rule(self.tokens[j])
            if rule.part != "falls away":
                step = CLAUSE if rule.part == "coordination" and self._has(j, SUBJECTS) else rule.step
                found.append(_Dependent(step, abs(i - j), j, rule))
        return sorted(found)

    def _joined(self, tree: Tree | None, i: int, dependents: Sequence[_Dependent]) -> Tree | None:
        unknown = self.leaves[i] is None and not _is_function_word(self.tokens[i])
        for _, _, j, rule in dependents:
            other = self.phrases[j]
            if rule.part == "negation":
                if tree is None or unknown or other is None:
                    self.reasons[j] = "negation of a word that is not in the lexicon"
                else:
                    tree = Node(self.leaves[j] or other, tree, "negation")
            elif tree is None or other is None or unknown or rule.part == "coordination":
                # the dependents of an unknown word are mixed: the side that acts is not known
                tree = _mixed(other, tree) if j < i else _mixed(tree, other)
            elif rule.part == "modifier":
                place = i if self.leaves[i] else head(tree).position
                tree = Node(other, tree, "modifier", functor_first=j < place)
            else:
                tree = Node(tree, other, "argument", functor_first=rule.part == "object")
        return tree

    def _partner(self, i: int) -> int | None:
        """The verb that follows and shares the dependents after it: *owns and runs the hotel*."""
        for j in self.children[i]:
            between = self.tokens[i + 1 : j]
            if (
                self.tokens[j].label == "conj"
                and self.tokens[i].pos == self.tokens[j].pos == "VERB"
                and all(token.label in ("cc", "punct") for token in between)
                and not self._has(j, SUBJECTS)
            ):
                return j
        return None

    def _has(self, i: int, labels: Sequence[str]) -> bool:
        return any(self.tokens[j].label in labels for j in self.children[i])


def _inside_out(i: int, known: bool, dependents: Sequence[_Dependent]) -> list[_Dependent]:
    """Dependents by their steps, but on either side the nearest first: a phrase is then a run of words.

    A word that falls away is where its first dependent is; a negation is before the word, wherever it stands.
    """
    at = i if known or not dependents else min(dependents).place
    before = [d for d in dependents if d.place < at or d.rule.part == "negation"]
    left = deque(sorted(before, key=lambda d: (d.rule.part != "negation", -d.place)))
    right = deque(sorted((d for d in dependents if d not in before), key=lambda d: d.place))
    found = []
    while left and right:
        found.append((left if left[0] < right[0] else right).popleft())
    return [*found, *left, *right]


def _is_function_word(token: Token) -> bool:
    """Whether it falls away in every position."""
    return token.pos in FUNCTION_WORDS or token.lemma == COPULA


def _rule(token: Token) -> Rule:
    return RULES.get(token.label, RULES["dep"])


def _mixed(a: Tree | None, b: Tree | None) -> Tree | None:
    if a is None or b is None:
        return b if a is None else a
    return Node(a, b, "coordination")


def _handed_up(tokens: Sequence[Token]) -> list[Token]:
    """Attach the dependents of a word that falls away to its head: the subject of an auxiliary to its verb."""
    result = list(tokens)
    for i in range(len(tokens)):
        while (over := result[result[i].head]).head != result[i].head and _rule(over).part == "falls away":
            passive = over.label == "auxpass" and result[i].label == "nsubj"
            result[i] = result[i]._replace(head=over.head, label="nsubjpass" if passive else result[i].label)
    return result


def _negations(tokens: Sequence[Token]) -> list[Token]:
    """Make *no* a negation of the verb that its noun belongs to: *ran no hotel* is *did not run a hotel*."""
    result = list(tokens)
    for i, token in enumerate(tokens):
        if token.label == "det" and token.text.lower() == "no":
            over = token.head
            while tokens[over].label in _OF_A_VERB and tokens[over].head != over:
                over = tokens[over].head
            head = over if tokens[over].pos in ("VERB", "AUX") else token.head
            result[i] = token._replace(label="neg", head=head)
        elif _straight(token.text) == "n't" and token.head != i:
            result[i] = token._replace(label="neg")
    return result


def _straight(word: str) -> str:
    return word.lower().replace("’", "'")


_OF_A_VERB = (*SUBJECTS, "dobj", "attr", "pobj", "prep", "dative", "agent", "conj")


def _in_turn(tokens: Sequence[Token]) -> list[Token]:
    """Attach each of the adjectives and adverbs joined by *and* to what they modify."""
    result = list(tokens)
    conjuncts: dict[int, list[int]] = {}
    either = set()  # words with an *or*
    for i, token in enumerate(tokens):
        if token.label == "conj":
            conjuncts.setdefault(token.head, []).append(i)
        elif token.label == "cc" and token.text.lower() in ("or", "nor"):
            either.add(token.head)
    for i, token in enumerate(tokens):
        if token.label in IN_TURN and i in conjuncts:
            chain = [i]
            for j in chain:
                chain += conjuncts.get(j, [])
            if not either.intersection(chain):
                for j in chain[1:]:
                    result[j] = result[j]._replace(label=token.label, head=token.head)
    return result
