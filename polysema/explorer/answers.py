"""What the pages say, as plain dictionaries: the JSON of a page, and what its template is filled with.

Every answer is one of the library's own; nothing is computed here a second time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polysema import measures
from polysema.composition.compose import Composition
from polysema.composition.phrases import is_brackets, is_word
from polysema.composition.trees import Leaf, Tree, leaves, with_paths
from polysema.density import DensityMatrix
from polysema.drawing.senses_plane import on_plane
from polysema.errors import Failed, FormatError, InputError, PolysemaError, UnknownChoiceError
from polysema.lexicon.disambiguation import Disambiguation
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.results import Sense

Facts = dict[str, Any]

AMBIGUOUS = 0.1
"""What two senses of an ambiguous word weigh at least."""
PAGE = 50
LARGEST_PAGE = 200
SORTS = ("ambiguity", "information", "entropy", "percentile", "count", "word")


# ----------------------------------------------------------------------------------------------------------- sentence


def sentence(lexicon: Lexicon, text: str, method: str = "") -> Facts:
    """A sentence composed node by node, its ambiguous words before and after, and what other methods come to."""
    method = method or lexicon.default_method
    lexicon.composer(method)
    facts: Facts = {"sentence": text, "method": method, "no_tree": "", "composition": None, "steps": [], "methods": []}
    composed: Composition | None = None
    try:
        composed = lexicon.compose(text, method)
    except PolysemaError as error:
        facts["no_tree"] = str(error)
    if composed is not None:
        facts |= {
            "composition": composed.to_dict(),
            "steps": _steps(lexicon, composed),
            "methods": _methods(lexicon, composed),
        }
    told = _told(lexicon, text, composed, method)
    return {**facts, "words": [item.to_dict() for item in told]}


def _steps(lexicon: Lexicon, composed: Composition) -> list[Facts]:
    """The nodes that compose something, in the order in which they do."""
    found: list[Facts] = []
    for path, node in with_paths(composed.tree):
        if isinstance(node, Leaf):
            continue
        sides = ("l", "r") if node.functor_first else ("r", "l")
        found.append(
            {
                "path": path,
                "phrase": _words(node),
                "kind": node.kind,
                "functor": _words(node.functor),
                "argument": _words(node.argument),
                "functor_entropy": composed.entropy_at(path + sides[0]),
                "argument_entropy": composed.entropy_at(path + sides[1]),
                "entropy": composed.entropy_at(path),
                "neighbours": [],
            }
        )
    meanings = [composed.meanings[step["path"]] for step in found]
    if all(meaning.n == lexicon.n for meaning in meanings):  # words live in another space than products and slots
        for step, near in zip(found, lexicon.neighbours_of(meanings, 6), strict=True):
            step["neighbours"] = [item.to_dict() for item in near]
    return found


def _methods(lexicon: Lexicon, composed: Composition) -> list[Facts]:
    """What every method comes to along the same tree."""
    found = []
    for name, composer in lexicon.methods.items():
        facts: Facts = {"name": name, "formula": composer.formula, "entropy": None, "error": ""}
        try:
            if name == composed.method:
                facts["entropy"] = composed.entropy
            elif name == "contextual":
                facts["error"] = "asked for by itself: an encoder reads the sentence"
            else:
                facts["entropy"] = lexicon.compose(composed.tree, name).entropy
        except PolysemaError as error:
            facts["error"] = str(error)
        found.append(facts)
    return found


def _told(lexicon: Lexicon, text: str, composed: Composition | None, method: str) -> list[Disambiguation]:
    """The ambiguous words, from left to right, with their senses before and here."""
    if composed is None or not is_brackets(text):
        return lexicon.read(text, method=method, min_weight=AMBIGUOUS)
    words = dict.fromkeys(leaf.word for leaf in leaves(composed.tree) if leaf.word in lexicon)
    several = [word for word in words if len(lexicon.sense_ids(word, AMBIGUOUS)) > 1]
    results = lexicon.disambiguate_all([(word, composed) for word in several], method=method)
    return [item for item in results if not isinstance(item, Failed)]


def _words(tree: Tree) -> str:
    return " ".join(leaf.word for leaf in leaves(tree))


# --------------------------------------------------------------------------------------------------------------- word


def word(lexicon: Lexicon, asked: str, top: int = 12) -> Facts:
    """How ambiguous a word is, its senses, where they lie, and the words like it."""
    spelled = lexicon.vocabulary.words[lexicon.vocabulary.index(asked)]
    (ambiguity,) = lexicon.ambiguity([spelled])
    senses = lexicon.senses(spelled, top)
    at, near_at, share = on_plane(lexicon, senses)
    rows = np.cumsum([0, *(len(sense.neighbours) for sense in senses)])
    return {
        "word": spelled,
        "ambiguity": ambiguity.to_dict(),
        "information_is": lexicon.information.measure if lexicon.information is not None else "",
        "like": _like(lexicon, spelled),
        "senses": [_sense(sense) for sense in senses],
        "plane": {
            "share": share.tolist(),
            "senses": at.tolist(),
            "neighbours": [near_at[a:b].tolist() for a, b in pairwise(rows)],
        },
        "similar": [item.to_dict() for item in lexicon.neighbours(spelled, top)],
    }


def _sense(sense: Sense) -> Facts:
    return {**sense.to_dict(), "label": sense.label}


def _like(lexicon: Lexicon, spelled: str, to_each_side: int = 4) -> list[Facts]:
    """Content words of like frequency."""
    ranking = lexicon.ranking
    order = _orders(lexicon)["count"]
    order = order[ranking.content[order]]
    counts = -lexicon.vocabulary.counts[order]  # rising
    own = lexicon.vocabulary.index(spelled)
    place = int(np.searchsorted(counts, -lexicon.vocabulary.counts[own]))
    rows = [row for row in order[max(place - to_each_side, 0) : place + to_each_side + 1].tolist() if row != own]
    return [item.to_dict() for item in lexicon.ambiguity([lexicon.vocabulary.words[row] for row in rows])]


# --------------------------------------------------------------------------------------------------------------- list

_kept: WeakKeyDictionary[Lexicon, dict[str, NDArray[np.int64]]] = WeakKeyDictionary()


def _orders(lexicon: Lexicon) -> dict[str, NDArray[np.int64]]:
    """The rows of the vocabulary in every order that they are listed in, found once: the largest first, or by name."""
    if (found := _kept.get(lexicon)) is None:
        ranking = lexicon.ranking
        values: dict[str, NDArray[Any]] = {
            "entropy": ranking.entropies,
            "percentile": ranking.percentiles,
            "count": lexicon.vocabulary.counts,
        }
        if ranking.information is not None:
            values["information"] = ranking.information
        found = {name: np.argsort(-value, kind="stable") for name, value in values.items()}
        found["ambiguity"] = found.get("information", found["entropy"])
        words = lexicon.vocabulary.words
        found["word"] = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
        _kept[lexicon] = found
    return found


@dataclass(frozen=True, slots=True)
class Filter:
    """Which words are listed, and in which order.

    Attributes:
        sort: one of ``SORTS``.
        reversed: the smallest first, or by name from the last.
        prefix: how words begin.
        min_count, max_count: how often they were seen.
        min_entropy, max_entropy: how mixed they are.
        function_words: whether function words are listed.
        page: from 1.
        size: how many words a page has.
    """

    sort: str = "ambiguity"
    reversed: bool = False
    prefix: str = ""
    min_count: int = 0
    max_count: int | None = None
    min_entropy: float = 0.0
    max_entropy: float | None = None
    function_words: bool = False
    page: int = 1
    size: int = field(default=PAGE)


def listed(lexicon: Lexicon, asked: Filter) -> Facts:
    """A page of the vocabulary."""
    orders, ranking, counts = _orders(lexicon), lexicon.ranking, lexicon.vocabulary.counts
    if asked.sort not in SORTS:
        raise UnknownChoiceError("order", asked.sort, SORTS)
    if asked.sort not in orders:
        raise InputError(f"this lexicon does not know {asked.sort}: run `polysema describe` on it with a corpus")
    kept = (counts >= asked.min_count) & (ranking.entropies >= asked.min_entropy)
    if asked.max_count is not None:
        kept &= counts <= asked.max_count
    if asked.max_entropy is not None:
        kept &= ranking.entropies <= asked.max_entropy
    if not asked.function_words:
        kept &= ranking.content
    if asked.prefix:
        kept &= _starting(lexicon, asked.prefix)
    order = orders[asked.sort]
    if asked.reversed:
        order = order[::-1]
    rows = order[kept[order]]
    size = min(max(asked.size, 1), LARGEST_PAGE)
    pages = max(math.ceil(len(rows) / size), 1)
    page = min(max(asked.page, 1), pages)
    shown = [lexicon.vocabulary.words[row] for row in rows[(page - 1) * size : page * size].tolist()]
    return {
        "total": len(rows),
        "page": page,
        "pages": pages,
        "size": size,
        "sorts": [name for name in SORTS if name in orders],
        "words": [item.to_dict() for item in lexicon.ambiguity(shown)],
    }


def _starting(lexicon: Lexicon, prefix: str) -> NDArray[np.bool_]:
    words, order = lexicon.vocabulary.words, _orders(lexicon)["word"]
    first = bisect_left(order, prefix, key=lambda row: words[row])
    last = bisect_left(order, True, lo=first, key=lambda row: not words[row].startswith(prefix))
    kept = np.zeros(len(words), bool)
    kept[order[first:last]] = True
    return kept


def examples(lexicon: Lexicon, top: int = 16, common: int = 2000) -> list[str]:
    """Ambiguous words among the most frequent."""
    counts = np.sort(lexicon.vocabulary.counts)[::-1]
    least = int(counts[min(common, len(counts)) - 1]) if len(counts) else 0
    return [item.word for item in lexicon.ambiguity(top=top, min_count=least)]


# ------------------------------------------------------------------------------------------------------------ compare

_MUTUAL = ("similarity", "overlap", "fidelity", "trace-distance")
"""Measures that are the same both ways."""


def compared(lexicon: Lexicon, a: str, b: str) -> Facts:
    """Two words, phrases or sentences by every measure, with their senses side by side."""
    rho, sigma = lexicon.meaning(a), lexicon.meaning(b)
    rows = []
    for name, measure in measures.MEASURES.items():
        there, back = _number(measure(rho, sigma)), _number(measure(sigma, rho))
        formula = (measure.__doc__ or "").strip().splitlines()[0]
        rows.append({"measure": name, "mutual": name in _MUTUAL, "a_to_b": there, "b_to_a": back, "formula": formula})
    sides = [_side(lexicon, query, meaning) for query, meaning in ((a, rho), (b, sigma))]
    shared: list[list[float]] = []
    if all(side["is_word"] for side in sides):
        first, second = (lexicon.sense_vectors(side["query"])[1] for side in sides)
        shared = ((first @ second.T) ** 2).tolist()
    return {"a": sides[0], "b": sides[1], "measures": rows, "shared": shared}


def _side(lexicon: Lexicon, query: str, meaning: DensityMatrix) -> Facts:
    known = query in lexicon or is_word(query)
    return {
        "query": query,
        "is_word": known,
        "entropy": float(measures.entropy(meaning)),
        "senses": [_sense(sense) for sense in lexicon.senses(query, 6)] if known else [],
        "neighbours": [item.to_dict() for item in lexicon.neighbours(query if known else meaning, 8)],
    }


def in_two(first: Lexicon, second: Lexicon, asked: str, top: int = 20) -> Facts:
    """One word in two lexicons: senses matched by the words they share, what appeared and what went.

    The spaces of two lexicons have nothing in common, so two senses are alike as far as the words nearest to them are
    the same: |A ∩ B| / |A ∪ B| of their ``top`` nearest. The most alike are matched first.
    """
    sides = [lexicon.senses(asked, top) for lexicon in (first, second)]
    near = [[{item.word for item in sense.neighbours} for sense in side] for side in sides]
    alike = sorted(
        ((len(x & y) / max(len(x | y), 1), i, j) for i, x in enumerate(near[0]) for j, y in enumerate(near[1])),
        key=lambda item: (-item[0], item[1:]),
    )
    matched: list[Facts] = []
    free = [set(range(len(side))) for side in sides]
    for likeness, i, j in alike:
        if likeness > 0 and i in free[0] and j in free[1]:
            matched.append({"first": _sense(sides[0][i]), "second": _sense(sides[1][j]), "alike": likeness})
            free[0].remove(i)
            free[1].remove(j)
    entropies = [first.entropy(asked), second.entropy(asked)]
    return {
        "word": asked,
        "entropies": entropies,
        "difference": entropies[1] - entropies[0],
        "matched": matched,
        "went": [_sense(sides[0][i]) for i in sorted(free[0])],
        "appeared": [_sense(sides[1][j]) for j in sorted(free[1])],
    }


# --------------------------------------------------------------------------------------------------------- evaluation

_COLUMNS = ("model", "set", "method", "items", "covered", "spearman", "sd", "interval")


def evaluation_rows(report: Any) -> list[Facts]:
    """The rows of what ``polysema evaluate --json`` wrote; anything else is an error."""
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list) or not all(isinstance(row, dict) and "spearman" in row for row in results):
        raise FormatError("this report has no results: give what `polysema evaluate --json` wrote")
    return [{name: row.get(name) for name in _COLUMNS} for row in results]


# -------------------------------------------------------------------------------------------------------------- about


def about(name: str, lexicon: Lexicon) -> Facts:
    """What a lexicon is."""
    made: Mapping[str, Any] = lexicon.metadata
    simple = {key: value for key, value in made.items() if isinstance(value, str | int | float | bool)}
    return {
        "lexicon": name,
        "words": len(lexicon),
        "n": lexicon.n,
        "m": lexicon.m,
        "metadata": simple,
        "methods": [{"name": key, "formula": composer.formula} for key, composer in lexicon.methods.items()],
        "information_is": lexicon.information.measure if lexicon.information is not None else "",
    }


def warm(lexicons: Sequence[Lexicon]) -> None:
    """What the first pages would wait for."""
    for lexicon in lexicons:
        usual = lexicon.vocabulary.words[0] if len(lexicon) else ""
        if usual:
            lexicon.neighbours(usual, 1)
            listed(lexicon, Filter(size=1))
            sentence(lexicon, f"{usual} {usual}")


def _number(value: float) -> float | None:
    """As JSON can hold it: None where it is infinite."""
    return float(value) if math.isfinite(value) else None
