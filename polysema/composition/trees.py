"""Composition trees: which word acts on which.

A tree is a :class:`Leaf` (a word) or a :class:`Node`: a functor applied to an argument. In *old cars* the adjective is
the functor, in *likes cars* the verb, and in *Bob likes cars* the verb phrase (paper, §3.2). Trees come from

- brackets: ``parse_brackets("(bob (likes (old cars)))")``,
- a pattern: ``from_pattern("adj subj verb adj obj", ["local", "family", "run", "small", "hotel"])``,
- sentences, with the extra ``parse``: see :mod:`polysema.parsing`.

No function recurses: the depth of a tree is limited only by memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple

from polysema.errors import TreeError, check_choice

Kind = Literal["argument", "modifier", "coordination", "negation", "readings"]
"""How a functor takes its argument: a verb takes its object or subject (``argument``); an adjective or adverb modifies,
and the phrase keeps the kind of what it modifies (``modifier``); in *dogs and cats* neither acts, the first takes
the functor's place (``coordination``); *not* negates its argument (``negation``); the sides are readings of the same
words, the first in the functor's place (``readings``)."""

NEGATIONS = frozenset({"not", "never", "no", "n't"})
"""Words that negate what follows them; a mark makes them ordinary words: ``(no~ dogs)``."""

_MARKS: dict[str, Kind] = {"*": "argument", "~": "modifier", "&": "coordination", "|": "readings"}
_MARK_OF = {kind: mark for mark, kind in _MARKS.items()}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A word of the phrase, and its position there, from 0."""

    word: str
    position: int = 0

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """A functor applied to its argument.

    Attributes:
        functor: the side that acts.
        argument: the side that is acted on.
        kind: how; see :data:`Kind`.
        functor_first: whether the functor is to the left of its argument.
        weight: of ``readings``, the probability of the first.
    """

    functor: Tree
    argument: Tree
    kind: Kind
    functor_first: bool = True
    weight: float = 0.5

    def __post_init__(self) -> None:
        if self.kind == "negation" and not (_word(self.functor).lower() in NEGATIONS and self.functor_first):
            raise TreeError(f"a negation begins with one of {', '.join(sorted(NEGATIONS))}, not with {self.functor}")

    @property
    def left(self) -> Tree:
        """The left side."""
        return self.functor if self.functor_first else self.argument

    @property
    def right(self) -> Tree:
        """The right side."""
        return self.argument if self.functor_first else self.functor

    def __str__(self) -> str:
        """The tree in brackets, with a mark where unmarked brackets would mean another tree."""
        return _to_brackets(self)

    def __repr__(self) -> str:
        return f"Node({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and _signature(self) == _signature(other)

    def __hash__(self) -> int:
        return hash(_signature(self))


Tree = Leaf | Node


class LeftOut(NamedTuple):
    """A word of a sentence that is not in its tree, and why."""

    word: str
    why: str


def leaves(tree: Tree) -> list[Leaf]:
    """The words of a tree, left to right."""
    return [node for node in postorder(tree) if isinstance(node, Leaf)]


def words_of(tree: Tree) -> str:
    """The words in the order of the sentence; of several readings, those of the first, which are the words of all."""
    return " ".join(leaf.word for leaf in sorted(leaves(readings(tree)[0][1]), key=lambda leaf: leaf.position))


def nodes(tree: Tree, kind: Kind) -> list[Node]:
    """The nodes of one kind, in postorder."""
    return [node for node in postorder(tree) if isinstance(node, Node) and node.kind == kind]


def head(tree: Tree) -> Leaf:
    """The word a phrase is about: the verb of a sentence, the noun of a noun phrase.

    Of a negation it is the head of what is negated, of a coordination and of several readings that of the first.
    """
    while isinstance(tree, Node):
        tree = tree.argument if tree.kind in ("modifier", "negation") else tree.functor
    return tree


def readings(tree: Tree) -> list[tuple[float, Tree]]:
    """The readings at the root of a tree, with their probabilities; a tree without a choice is its own, with 1."""
    found: list[tuple[float, Tree]] = []
    stack = [(1.0, tree)]
    while stack:
        share, top = stack.pop()
        if isinstance(top, Node) and top.kind == "readings":
            stack += [(share * (1 - top.weight), top.argument), (share * top.weight, top.functor)]
        else:
            found.append((share, top))
    return found


def either(alternatives: Sequence[Tree], weights: Sequence[float] | None = None) -> Tree:
    """One tree of several readings; composed, it is the mixture of them.

    >>> str(either([parse_brackets("(old~ (men & women))"), parse_brackets("((old men) & women)")], [3, 1]))
    '((old~ (men & women)) |0.75 ((old men) & women))'

    Args:
        weights: how probable each is, scaled to sum to one; by default all alike.
    """
    given = [1.0] * len(alternatives) if weights is None else [float(weight) for weight in weights]
    if not alternatives or len(given) != len(alternatives):
        raise TreeError(f"{len(alternatives)} readings with {len(given)} weights: give a weight for each of them")
    if not all(0 < weight < float("inf") for weight in given):
        raise TreeError(f"the weights of readings are positive numbers, not {given}")
    tree, rest = alternatives[-1], given[-1]
    for other, weight in zip(reversed(alternatives[:-1]), reversed(given[:-1]), strict=True):
        rest += weight
        tree = Node(other, tree, "readings", weight=weight / rest)
    return tree


def conjuncts(tree: Tree) -> int:
    """The number of phrases coordinated at the root of a tree: 3 in *dogs, cats and birds*, 1 without coordination."""
    count, stack = 0, [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, Node) and top.kind == "coordination":
            stack += [top.functor, top.argument]
        else:
            count += 1
    return count


def postorder(tree: Tree) -> Iterator[Tree]:
    """Every node in postorder: both of its sides before it, the root last."""
    order: list[Tree] = []
    stack = [tree]
    while stack:
        order.append(stack.pop())
        if isinstance(top := order[-1], Node):
            stack += [top.left, top.right]
    return reversed(order)


def with_paths(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Every node in postorder, the root last, each with its path from the root.

    A path is a string of ``l`` (to the left side) and ``r`` (to the right); the root's is empty.
    """
    stack: list[tuple[str, Tree, bool]] = [("", tree, False)]
    while stack:
        path, top, opened = stack.pop()
        if opened or isinstance(top, Leaf):
            yield path, top
        else:
            stack += [(path, top, True), (path + "r", top.right, False), (path + "l", top.left, False)]


# ---------------------------------------------------------------------------------------------------------- brackets


def parse_brackets(text: str) -> Tree:
    """The tree of a phrase in brackets.

    ``(a b)`` is a pair; ``(a b c)`` and an unbracketed phrase branch to the right, ``(a (b c))``. Which side acts:

    - a root of more than two words is read as a sentence, subject and verb phrase: the right side acts on the left, and
      in it the verb on its object;
    - everywhere else the left side acts on the right, as an adjective on its noun;
    - marks change that: ``*`` after the side that takes the other as its argument, ``~`` after the side that modifies
      the other. ``(likes* (old cars))`` is a verb with its object and no subject, ``(dogs bark*)`` a subject with its
      verb, ``(dogs (bark loudly~))`` has an adverb;
    - ``&`` between two sides joins them: ``((dogs & cats) sleep*)``;
    - *not*, *never*, *no*, *n't* on the left negate the right side: ``(family (not (runs hotels)))``;
    - ``|`` separates readings of the same words, ``|0.7`` gives the probability of the first:
      ``(old~ (men & women)) | ((old men) & women)``.

    >>> str(parse_brackets("(bob (likes (old cars)))"))
    '(bob (likes (old cars)))'
    >>> head(parse_brackets("(bob (likes (old cars)))")).word
    'likes'
    """
    return _with_functors(_read(text))


@dataclass(slots=True)
class _Raw:
    """Brackets as read: a word or a pair, and the mark after it."""

    word: str = ""
    pair: tuple[_Raw, _Raw] | None = None
    mark: str = ""


_ITEM = re.compile(r"\(|\)[*~]?|\|[\d.]*|[^\s()|]+")


def _read(text: str) -> _Raw:
    """Nested pairs from text; longer lists branch to the right."""
    open_lists: list[list[_Raw]] = [[]]
    opened_at: list[int] = []
    for match in _ITEM.finditer(text):
        item, position, items = match.group(), match.start(), open_lists[-1]
        if item == "(":
            open_lists.append([])
            opened_at.append(position)
        elif item[0] == "|":
            if not items or items[-1].mark:
                raise TreeError(f"a '|' without a reading before it in {shown(text)} at character {position + 1}")
            items[-1].mark = item
        elif item[0] == ")":
            if not opened_at:
                what = f"')' at character {position + 1} closes nothing"
                raise TreeError(f"unbalanced brackets in {shown(text)}: {what}")
            start = opened_at.pop()
            if not items:
                raise TreeError(f"empty brackets in {shown(text)} at character {start + 1}")
            inner = _branch_right(open_lists.pop(), text, start)
            open_lists[-1].append(_Raw(inner.word, inner.pair, item[1:]) if item[1:] else inner)
        else:
            word, mark = (item[:-1], item[-1]) if item[-1] in "*~" else (item, "")
            if word == "&":
                if mark or not items or items[-1].mark:
                    raise TreeError(f"an '&' without a side before it in {shown(text)} at character {match.end()}")
                items[-1].mark = "&"
                continue
            if not word or word[-1] in "*~":
                raise TreeError(f"a {mark!r} that marks no word in {shown(text)} at character {match.end()}")
            items.append(_Raw(word, mark=mark))
    if opened_at:
        raise TreeError(f"unbalanced brackets in {shown(text)}: '(' at character {opened_at[-1] + 1} is never closed")
    if not open_lists[0]:
        raise TreeError("an empty phrase: write words, or brackets such as (bob (likes (old cars)))")
    return _branch_right(open_lists[0], text, 0)


def _branch_right(items: list[_Raw], text: str, start: int) -> _Raw:
    if items[-1].mark[:1] in ("&", "|"):
        mark = items[-1].mark[0]
        raise TreeError(f"an {mark!r} without a side after it in {shown(text)} from character {start + 1}")
    several = all(item.mark[:1] == "|" for item in items[:-1]) and not items[-1].mark
    if len(items) > 2 and several:
        for left, item in enumerate(items[:-1]):
            item.mark = item.mark if len(item.mark) > 1 else f"|{1 / (len(items) - left)}"
    elif len(items) > 2 and any(item.mark for item in items):
        raise TreeError(f"a mark needs a pair: bracket two by two in {shown(text)} from character {start + 1}")
    if len(items) == 2 and all(item.mark for item in items):
        raise TreeError(f"both sides are marked in {shown(text)} from character {start + 1}: only one of them acts")
    tree = items[-1]
    for item in reversed(items[:-1]):
        tree = _Raw(pair=(item, tree))
    return tree


def _word(side: Tree | _Raw) -> str:
    """The word of a side that is one, else empty."""
    return "" if isinstance(side, Node) else side.word


def _unmarked(left: Tree | _Raw, right: Tree | _Raw, is_root: bool, on_spine: bool) -> tuple[bool, Kind]:
    """Whether the left side of a pair without marks acts, and how.

    The spine runs from the root of a sentence through its verb phrases to the verb.
    """
    if _word(left).lower() in NEGATIONS:
        return True, "negation"
    if is_root:
        return (True, "modifier") if _word(left) and _word(right) else (False, "argument")
    return True, "argument" if on_spine else "modifier"


def _below(functor_first: bool, kind: Kind, is_root: bool, on_spine: bool) -> tuple[bool, bool, bool]:
    """Whether both sides of a pair are roots, and whether the left and the right side are on the spine."""
    if kind == "argument":  # the verb's side is on the spine
        return False, functor_first, not functor_first
    if kind == "modifier":
        return False, on_spine and not functor_first, on_spine and functor_first
    return is_root and kind != "coordination", on_spine, on_spine


def _with_functors(raw: _Raw) -> Tree:
    """Decide for every pair which side acts, and number the words from the left; readings share their numbers."""
    results: list[Tree] = []
    stack: list[tuple[_Raw, bool, bool, bool] | int] = [(raw, True, False, False)]  # what, root, on the spine, done
    position = 0
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            position = item
            continue
        top, is_root, on_spine, done = item
        if top.pair is None:
            results.append(Leaf(top.word, position))
            position += 1
            continue
        left, right = top.pair
        functor_first, kind = _unmarked(left, right, is_root, on_spine)
        weight = 0.5
        if left.mark or right.mark:
            functor_first = bool(left.mark)
            kind = _MARKS[(left.mark or right.mark)[0]]
            weight = _weight(left.mark)
        if done:
            second, first = results.pop(), results.pop()
            functor, argument = (first, second) if functor_first else (second, first)
            results.append(Node(functor, argument, kind, functor_first, weight))
        else:
            root, left_spine, right_spine = _below(functor_first, kind, is_root, on_spine)
            stack.append((top, is_root, on_spine, True))
            stack.append((right, root, right_spine, False))
            if kind == "readings":
                stack.append(position)
            stack.append((left, root, left_spine, False))
    return results[0]


def _weight(mark: str) -> float:
    with suppress(ValueError):
        if 0 < (weight := float(mark[1:] or 0.5)) < 1:
            return weight
    raise TreeError(f"{mark!r} gives no probability between 0 and 1 to the reading before it")


def _to_brackets(tree: Tree) -> str:
    """Brackets that :func:`parse_brackets` reads back as the same tree, with as few marks as that takes."""
    pieces: list[str] = []
    stack: list[tuple[Tree | str, bool, bool]] = [(tree, True, False)]  # what, root, on the spine
    while stack:
        top, is_root, on_spine = stack.pop()
        if not isinstance(top, Node):
            pieces.append(str(top))
        else:
            unmarked = _unmarked(top.left, top.right, is_root, on_spine)
            mark = "" if (top.functor_first, top.kind) == unmarked else _mark(top)
            root, left_spine, right_spine = _below(top.functor_first, top.kind, is_root, on_spine)
            stack += [
                (")" if top.functor_first else f"{mark})", False, False),
                (top.right, root, right_spine),
                (f"{mark} " if top.functor_first else " ", False, False),
                (top.left, root, left_spine),
                ("(", False, False),
            ]
    return "".join(pieces)


def _mark(node: Node) -> str:
    if node.kind == "readings":
        return " |" if node.weight == 0.5 else f" |{node.weight!r}"
    return " &" if node.kind == "coordination" else _MARK_OF[node.kind]


def _signature(tree: Tree) -> tuple[object, ...]:
    """What equal trees share: the words and, for every node, which side acts, how, and with what probability."""
    return tuple(
        item.word if isinstance(item, Leaf) else (item.kind, item.functor_first, item.weight)
        for item in postorder(tree)
    )


def shown(text: str) -> str:
    """A text for a message: only its beginning if it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


# ---------------------------------------------------------------------------------------------------------- patterns

ROLES = {
    "adj": "an adjective: modifies the noun after it",
    "adv": "an adverb: modifies the verb",
    "noun": "a noun: the subject before a verb, the object after one",
    "subj": "the subject: a noun before the verb",
    "verb": "the verb: takes its object, then its subject",
    "obj": "the object: a noun after the verb",
}
"""The roles a pattern is made of."""

_NOUNS = ("noun", "subj", "obj")


def from_pattern(pattern: str, words: Sequence[str]) -> Tree:
    """The tree of a phrase whose words have the roles of a pattern.

    Each adjective acts on its noun, the verb (with its adverbs) on the object, and the verb phrase on the subject.

    >>> str(from_pattern("adj subj verb adj obj", ["local", "family", "run", "small", "hotel"]))
    '((local family) (run (small hotel)))'
    """
    roles = pattern.split()
    for role in roles:
        check_choice("role", role, ROLES)
    if len(roles) != len(words):
        raise TreeError(f"the pattern {pattern!r} has {len(roles)} roles for {len(words)} words: {' '.join(words)!r}")
    if not roles:
        raise TreeError("an empty pattern: write roles such as 'adj subj verb adj obj'")
    if roles.count("verb") > 1:
        raise TreeError(f"the pattern {pattern!r} has {roles.count('verb')} verbs: use brackets for more than one")
    if "verb" not in roles:
        return _noun_phrase(pattern, roles, words, 0, len(roles))
    at = roles.index("verb")
    first, last = at, at + 1
    while first and roles[first - 1] == "adv":
        first -= 1
    while last < len(roles) and roles[last] == "adv":
        last += 1
    verb: Tree = Leaf(words[at], at)
    for place in (*range(at - 1, first - 1, -1), *range(at + 1, last)):
        verb = Node(Leaf(words[place], place), verb, "modifier", functor_first=place < at)
    if last < len(roles):
        verb = Node(verb, _noun_phrase(pattern, roles, words, last, len(roles)), "argument")
    if first:
        verb = Node(verb, _noun_phrase(pattern, roles, words, 0, first), "argument", functor_first=False)
    return verb


def _noun_phrase(pattern: str, roles: Sequence[str], words: Sequence[str], start: int, end: int) -> Tree:
    if roles[end - 1] not in _NOUNS or any(role != "adj" for role in roles[start : end - 1]):
        raise TreeError(
            f"the pattern {pattern!r} is not adjectives and a noun at {' '.join(roles[start:end])!r}: "
            "write (adj …) noun, with a verb between two of them"
        )
    tree: Tree = Leaf(words[end - 1], end - 1)
    for place in range(end - 2, start - 1, -1):
        tree = Node(Leaf(words[place], place), tree, "modifier")
    return tree
