"""The content of the pages as plain dictionaries, which are the JSON of a page and fill its template.

Every answer comes from the library. A lexicon of density matrices can answer everything, a lexicon of vectors a part;
each page says what is missing (:func:`cannot`). At the end, the positions of the marks in pictures.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from polysema import measures
from polysema.composition.compose import Composition
from polysema.composition.methods import method_named
from polysema.composition.phrases import is_brackets, is_text, is_word
from polysema.composition.trees import Leaf, leaves, with_paths, words_of
from polysema.drawing import Box, on_plane, overlap, tree_places
from polysema.errors import Failed, FormatError, PolysemaError
from polysema.explorer.listing import Facts, listing
from polysema.lexicon.lexicon import AnyLexicon, Lexicon
from polysema.senses.answers import Disambiguation
from polysema.senses.senses import Sense, senses_of

AMBIGUOUS = 0.1
"""Least weight of the second sense of an ambiguous word."""


def cannot(lexicon: AnyLexicon) -> str:
    """What a lexicon cannot answer, and why; empty for density matrices."""
    if isinstance(lexicon, Lexicon):
        return ""
    return "This is a lexicon of vectors. A vector is one point: it has no entropy and no senses."


# ----------------------------------------------------------------------------------------------------------- sentence


def sentence(lexicon: AnyLexicon, text: str, method: str = "", nlp: Any = None) -> Facts:
    """A sentence composed node by node, the senses of its ambiguous words, and the entropy by other methods.

    Args:
        nlp: the spaCy pipeline; by default the one that the library finds.
    """
    method = method or lexicon.default_method
    method_named(method, lexicon.methods)
    facts: Facts = {"sentence": text, "method": method, "no_tree": "", "composition": None, "steps": [], "methods": []}
    composed: Composition | None = None
    try:
        composed = lexicon.compose(text, method, nlp=nlp)
    except PolysemaError as error:
        facts["no_tree"] = str(error)
    else:
        facts |= {"composition": composed.to_dict(), "steps": _steps(lexicon, composed)}
        facts["methods"] = _methods(lexicon, composed)
    read = _read(lexicon, text, composed, method, nlp) if isinstance(lexicon, Lexicon) else []
    return {**facts, "words": [item.to_dict() for item in read], "cannot": cannot(lexicon)}


def _steps(lexicon: AnyLexicon, composed: Composition) -> list[Facts]:
    """The nodes of two parts, in the order of composition."""
    found: list[Facts] = []
    for path, node in with_paths(composed.tree):
        if isinstance(node, Leaf):
            continue
        functor, argument = ("l", "r") if node.functor_first else ("r", "l")
        found.append(
            {
                "path": path,
                "phrase": words_of(node),
                "kind": node.kind,
                "functor": words_of(node.functor),
                "argument": words_of(node.argument),
                "functor_entropy": composed.entropy_at(path + functor),
                "argument_entropy": composed.entropy_at(path + argument),
                "entropy": composed.entropy_at(path),
                "neighbours": [],
            }
        )
    meanings = [composed.meanings[step["path"]] for step in found]
    if all(meaning.n == lexicon.n for meaning in meanings):  # products and slots have another space
        for step, near in zip(found, lexicon.neighbours(meanings, 6), strict=True):
            step["neighbours"] = [] if isinstance(near, Failed) else [item.to_dict() for item in near]
    return found


def _methods(lexicon: AnyLexicon, composed: Composition) -> list[Facts]:
    """The entropy of the same tree by every method."""
    found = []
    for name, composer in lexicon.methods.items():
        facts: Facts = {"name": name, "formula": composer.formula, "entropy": None, "error": ""}
        try:
            if name == composed.method:
                facts["entropy"] = composed.entropy
            elif name == "contextual":
                facts["error"] = "not computed here: an encoder reads the sentence"
            elif isinstance(lexicon, Lexicon):
                facts["entropy"] = lexicon.compose(composed.tree, name).entropy
        except PolysemaError as error:
            facts["error"] = str(error)
        found.append(facts)
    return found


def _read(lexicon: Lexicon, text: str, composed: Composition | None, method: str, nlp: Any) -> list[Disambiguation]:
    """The ambiguous words from left to right, with the probability of each sense."""
    if composed is None or not is_brackets(text):
        return lexicon.read(text, method=method, min_weight=AMBIGUOUS, nlp=False if is_brackets(text) else nlp)
    words = dict.fromkeys(leaf.word for leaf in leaves(composed.tree) if leaf.word in lexicon)
    several = [word for word in words if len(senses_of(lexicon, word, AMBIGUOUS).ids) > 1]
    results = lexicon.disambiguate([(word, composed) for word in several], method=method)
    return [item for item in results if not isinstance(item, Failed)]


# --------------------------------------------------------------------------------------------------------------- word


def word(lexicon: AnyLexicon, asked: str, top: int = 12) -> Facts:
    """The ambiguity of a word, its senses, their places on a plane, and similar words."""
    spelled = lexicon.vocabulary.words[lexicon.vocabulary.index(asked)]
    (own,) = listing(lexicon).rows([spelled])
    facts: Facts = {"word": spelled, "ambiguity": own, "information_is": _information(lexicon)}
    facts |= {"senses": [], "plane": None, "similar": [item.to_dict() for item in lexicon.neighbours(spelled, top)]}
    if isinstance(lexicon, Lexicon):
        senses = lexicon.senses(spelled, top)
        at, near_at, share = on_plane(lexicon, senses)
        rows = np.cumsum([0, *(len(sense.neighbours) for sense in senses)])
        neighbours = [near_at[a:b].tolist() for a, b in pairwise(rows)]
        facts["senses"] = [_sense(sense) for sense in senses]
        facts["plane"] = {"share": share.tolist(), "senses": at.tolist(), "neighbours": neighbours}
    return {**facts, "like": listing(lexicon).like(spelled), "cannot": cannot(lexicon)}


def _sense(sense: Sense) -> Facts:
    return {**sense.to_dict(), "label": sense.label}


def _information(lexicon: AnyLexicon) -> str:
    """The name of the measure of information; empty where the lexicon has none."""
    return (
        lexicon.parts.information.measure
        if isinstance(lexicon, Lexicon) and lexicon.parts.information is not None
        else ""
    )


# ------------------------------------------------------------------------------------------------------------ compare

_SYMMETRIC = ("similarity", "overlap", "fidelity", "trace-distance")

_SMOOTHED = ("k-hyp", "relative-entropy")
"""Measures that are 0 or ∞ for nearly all words of low rank: the second matrix is 0.9 σ + 0.1 · 1/n."""


def compared(lexicon: AnyLexicon, a: str, b: str, nlp: Any = None) -> Facts:
    """Two words, phrases or sentences by every measure that the lexicon has, with their senses side by side."""
    asked: list[Any] = [
        lexicon.compose(query, nlp=nlp) if is_text(query) and query not in lexicon else query for query in (a, b)
    ]
    rows, shared = [], []
    if isinstance(lexicon, Lexicon):
        asked = [lexicon.meaning(query) for query in asked]
        for name, measure in measures.MEASURES.items():
            options: dict[str, Any] = {"smoothing": 0.1} if name in _SMOOTHED else {}
            both = [_finite(measure(*pair, **options)) for pair in (asked, asked[::-1])]
            formula = (measure.__doc__ or "").strip().splitlines()[0] + (" σ smoothed by 0.1." if options else "")
            rows.append(_measured(name, both, formula, name in _SYMMETRIC))
    else:
        value = float(lexicon.similarity(*asked))
        rows.append(_measured("similarity", [value, value], "The cosine of two vectors.", True))
    sides = [_side(lexicon, query, meaning) for query, meaning in zip((a, b), asked, strict=True)]
    if isinstance(lexicon, Lexicon) and all(side["is_word"] for side in sides):
        first, second = (senses_of(lexicon, side["query"]).vectors for side in sides)
        shared = ((first @ second.T) ** 2).tolist()
    return {"a": sides[0], "b": sides[1], "measures": rows, "shared": shared}


def _measured(name: str, both: Sequence[float | None], formula: str, symmetric: bool) -> Facts:
    return {"measure": name, "mutual": symmetric, "a_to_b": both[0], "b_to_a": both[1], "formula": formula}


def _side(lexicon: AnyLexicon, query: str, meaning: Any) -> Facts:
    known = query in lexicon or is_word(query)
    senses = lexicon.senses(query, 6) if known and isinstance(lexicon, Lexicon) else []
    return {
        "query": query,
        "is_word": known,
        "entropy": lexicon.entropy(meaning) if isinstance(lexicon, Lexicon) else None,
        "senses": [_sense(sense) for sense in senses],
        "neighbours": [item.to_dict() for item in lexicon.neighbours(query if known else meaning, 8)],
    }


def in_two(first: AnyLexicon, second: AnyLexicon, asked: str, top: int = 20) -> Facts:
    """A word in two lexicons: its nearest words, and its senses matched.

    The spaces of two lexicons are not comparable. The likeness of two senses is the share of common words among their
    ``top`` nearest ones, |A ∩ B| / |A ∪ B|; the most alike are matched first.
    """
    lexicons = (first, second)
    sides = [lexicon.senses(asked, top) if isinstance(lexicon, Lexicon) else [] for lexicon in lexicons]
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
    entropies = [lexicon.entropy(asked) if isinstance(lexicon, Lexicon) else None for lexicon in lexicons]
    old, new = entropies
    ours, theirs = ([item.word for item in lexicon.neighbours(asked, top)] for lexicon in lexicons)
    return {
        "word": asked,
        "entropies": entropies,
        "difference": None if old is None or new is None else new - old,
        "senses_known": all(sides),
        "matched": matched,
        "went": [_sense(sides[0][i]) for i in sorted(free[0])],
        "appeared": [_sense(sides[1][j]) for j in sorted(free[1])],
        "near": {
            "both": [word for word in ours if word in theirs],
            "first": [word for word in ours if word not in theirs],
            "second": [word for word in theirs if word not in ours],
        },
    }


# ---------------------------------------------------------------------------------------------- evaluation and about


def evaluation_rows(report: Any) -> list[Facts]:
    """The rows of a report of ``polysema evaluate --json``; anything else is an error."""
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list) or not all(isinstance(row, dict) and "spearman" in row for row in results):
        raise FormatError("this report has no results: give the output of `polysema evaluate --json`")
    columns = ("model", "set", "method", "items", "covered", "spearman", "sd", "interval")
    return [{name: row.get(name) for name in columns} for row in results]


def about(name: str, lexicon: AnyLexicon) -> Facts:
    """A lexicon's size, origin and methods."""
    return {
        "lexicon": name,
        "kind": lexicon.kind,
        "words": len(lexicon),
        "n": lexicon.n,
        "m": lexicon.m if isinstance(lexicon, Lexicon) else None,
        "metadata": {key: value for key, value in lexicon.metadata.items() if isinstance(value, str | int | float)},
        "methods": [{"name": key, "formula": composer.formula} for key, composer in lexicon.methods.items()],
        "information_is": _information(lexicon),
        "cannot": cannot(lexicon),
    }


def warm(lexicons: Sequence[AnyLexicon], nlp: Any) -> None:
    """Compute what the first pages would wait for."""
    for lexicon in lexicons:
        if usual := listing(lexicon).examples(4):
            listing(lexicon).order("word")
            lexicon.neighbours(usual, 1)
            sentence(lexicon, f"The {usual[0]} likes {' and '.join(usual)}.", nlp=nlp)
    for lexicon in lexicons:
        _ = listing(lexicon).parts_of_speech


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# ----------------------------------------------------------------------------------------------------------- pictures

LEVELS = 9
"""Shades of entropy in the style sheet."""

_ROW, _LETTER, _MARGIN = 74, 8.6, 46  # pixels


def tree_picture(nodes: Sequence[Mapping[str, Any]], done: Collection[str], current: str | None) -> Facts:
    """The positions of a tree's nodes and edges in pixels.

    Args:
        nodes: ``path``, ``phrase`` and ``entropy`` of each node.
        done: paths of the nodes that are composed so far.
        current: path of the node that was composed last.
    """
    paths = {str(node["path"]) for node in nodes}
    most = max([0.05, *(node["entropy"] or 0.0 for node in nodes)])
    words: dict[str, float] = {}
    right = float(_MARGIN)
    for node in sorted(nodes, key=lambda item: item["path"]):  # from left to right
        if node["path"] + "l" not in paths:
            width = max(58.0, _LETTER * len(node["phrase"]) + 18)
            words[node["path"]] = right + width / 2
            right += width
    places = tree_places(words, paths)
    height = _ROW * (max(level for _, level in places.values()) + 1) + 36
    at = {path: (round(x, 1), height - 62 - _ROW * level) for path, (x, level) in places.items()}
    marks = [
        {
            **{name: node[name] for name in ("path", "phrase", "entropy")},
            "x": at[node["path"]][0],
            "y": at[node["path"]][1],
            "shade": round(LEVELS * min((node["entropy"] or 0.0) / most, 1.0)),
            "word": node["path"] in words,
            "done": node["path"] in words or node["path"] in done,
            "current": node["path"] == current,
        }
        for node in nodes
    ]
    edges = [
        {
            "x1": at[path[:-1]][0],
            "y1": at[path[:-1]][1],
            "x2": at[path][0],
            "y2": at[path][1],
            "done": path[:-1] in done,
        }
        for path in sorted(paths)
        if path
    ]
    return {"width": round(right + _MARGIN), "height": height, "nodes": marks, "edges": edges}


def plane_picture(facts: Mapping[str, Any], width: int = 640, height: int = 420) -> Facts:
    """The positions in pixels of a word's senses and their neighbours, with labels where they do not overlap."""
    at: list[list[float]] = facts["plane"]["senses"]
    near: list[list[list[float]]] = facts["plane"]["neighbours"]
    points = np.array([*at, *(point for group in near for point in group)])
    low, spread = points.min(axis=0), np.ptp(points, axis=0)

    def placed(point: Sequence[float]) -> tuple[float, float]:
        across, up = np.where(spread > 0, (np.array(point) - low) / np.where(spread > 0, spread, 1), 0.5).tolist()
        return round(70 + across * (width - 140), 1), round(height - 36 - up * (height - 72), 1)

    senses = []
    for k, (point, sense) in enumerate(zip(at, facts["senses"], strict=True)):
        x, y = placed(point)
        senses.append({"x": x, "y": y, "r": round(9 + 16 * sense["weight"] ** 0.5, 1), "number": k + 1, "of": k})
    taken: list[Box] = [(s["x"] - s["r"], s["x"] + s["r"], s["y"] - s["r"], s["y"] + s["r"]) for s in senses]
    taken += [(x - 3, x + 3, y - 3, y + 3) for group in near for x, y in map(placed, group)]
    words, named = [], set()
    for k, (group, sense) in enumerate(zip(near, facts["senses"], strict=True)):
        for point, item in zip(group, sense["neighbours"], strict=True):
            (x, y), name, label = placed(point), item["word"], None
            box = None if name in named else _free(x, y, _LETTER * 0.82 * len(name), width, height, taken)
            if box is not None:
                taken.append(box)
                named.add(name)
                label = {"x": round(box[0], 1), "y": round(box[3] - 4, 1)}
            line = {"sx": senses[k]["x"], "sy": senses[k]["y"]}
            words.append({"word": name, "x": x, "y": y, "of": k, **line, "label": label})
    return {"width": width, "height": height, "senses": senses, "words": words}


def _free(x: float, y: float, length: float, width: int, height: int, taken: Sequence[Box]) -> Box | None:
    """The nearest free box for a label beside a point; None where there is none."""
    for step in (0, 8, -8, 16, -16, 24, -24):
        for left in (x + 6, x - 6 - length):
            box = (left, left + length, y + step - 8, y + step + 8)
            inside = box[0] > 0 and box[1] < width and box[2] > 0 and box[3] < height
            if inside and not any(overlap(box, other) for other in taken):
                return box
    return None
