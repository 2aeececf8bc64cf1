"""What the pages say, as plain dictionaries: the JSON of a page, and what its template is filled with.

Every answer is one of the library's own; nothing is computed here a second time. A lexicon of density matrices can say
all of it, vectors a part, and each page says what it cannot (:func:`cannot`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from polysema import measures
from polysema.composition.compose import Composition
from polysema.composition.phrases import is_brackets, is_text, is_word
from polysema.composition.trees import Leaf, leaves, with_paths, words_of
from polysema.drawing import on_plane
from polysema.errors import Failed, FormatError, PolysemaError
from polysema.explorer.listing import Facts, Model, listing
from polysema.lexicon.disambiguation import Disambiguation
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.results import Sense

AMBIGUOUS = 0.1
"""What two senses of an ambiguous word weigh at least."""


def cannot(model: Model) -> str:
    """What a model cannot tell, and why; empty for a lexicon of density matrices."""
    if isinstance(model, Lexicon):
        return ""
    return "This is a lexicon of vectors. A vector is one point: it has no entropy and no senses."


# ----------------------------------------------------------------------------------------------------------- sentence


def sentence(model: Model, text: str, method: str = "", nlp: Any = None) -> Facts:
    """A sentence composed node by node, its ambiguous words before and after, and what other methods come to.

    Args:
        nlp: the pipeline that parses it; by default the one that the library finds.
    """
    method = method or model.default_method
    model.composer(method)
    facts: Facts = {"sentence": text, "method": method, "no_tree": "", "composition": None, "steps": [], "methods": []}
    composed: Composition | None = None
    try:
        composed = model.compose(text, method, nlp=nlp)
    except PolysemaError as error:
        facts["no_tree"] = str(error)
    if composed is not None:
        facts |= {
            "composition": composed.to_dict(),
            "steps": _steps(model, composed),
            "methods": _methods(model, composed),
        }
    told = _told(model, text, composed, method, nlp) if isinstance(model, Lexicon) else []
    return {**facts, "words": [item.to_dict() for item in told], "cannot": cannot(model)}


def _steps(model: Model, composed: Composition) -> list[Facts]:
    """The nodes that compose something, in the order in which they do."""
    found: list[Facts] = []
    for path, node in with_paths(composed.tree):
        if isinstance(node, Leaf):
            continue
        sides = ("l", "r") if node.functor_first else ("r", "l")
        found.append(
            {
                "path": path,
                "phrase": words_of(node),
                "kind": node.kind,
                "functor": words_of(node.functor),
                "argument": words_of(node.argument),
                "functor_entropy": composed.entropy_at(path + sides[0]),
                "argument_entropy": composed.entropy_at(path + sides[1]),
                "entropy": composed.entropy_at(path),
                "neighbours": [],
            }
        )
    asked = [composed.meanings[step["path"]] for step in found]
    if any(meaning.n != model.n for meaning in asked):  # products and slots live in another space
        return found
    for step, near in zip(found, model.neighbours_of(asked, 6), strict=True):
        step["neighbours"] = [item.to_dict() for item in near]
    return found


def _methods(model: Model, composed: Composition) -> list[Facts]:
    """What every method comes to along the same tree."""
    found = []
    for name, composer in model.methods.items():
        facts: Facts = {"name": name, "formula": composer.formula, "entropy": None, "error": ""}
        try:
            if name == composed.method:
                facts["entropy"] = composed.entropy
            elif name == "contextual":
                facts["error"] = "asked for by itself: an encoder reads the sentence"
            elif model.kind == "matrices":
                facts["entropy"] = model.compose(composed.tree, name).entropy
        except PolysemaError as error:
            facts["error"] = str(error)
        found.append(facts)
    return found


def _told(lexicon: Lexicon, text: str, composed: Composition | None, method: str, nlp: Any) -> list[Disambiguation]:
    """The ambiguous words, from left to right, with their senses before and here."""
    if composed is None or not is_brackets(text):
        return lexicon.read(text, method=method, min_weight=AMBIGUOUS, nlp=False if is_brackets(text) else nlp)
    words = dict.fromkeys(leaf.word for leaf in leaves(composed.tree) if leaf.word in lexicon)
    several = [word for word in words if len(lexicon.sense_ids(word, AMBIGUOUS)) > 1]
    results = lexicon.disambiguate_all([(word, composed) for word in several], method=method)
    return [item for item in results if not isinstance(item, Failed)]


# --------------------------------------------------------------------------------------------------------------- word


def word(model: Model, asked: str, top: int = 12) -> Facts:
    """How ambiguous a word is, its senses, where they lie, and the words like it."""
    spelled = model.vocabulary.words[model.vocabulary.index(asked)]
    (own,) = listing(model).rows([spelled])
    facts: Facts = {
        "word": spelled,
        "ambiguity": own,
        "information_is": _information(model),
        "senses": [],
        "plane": None,
    }
    if isinstance(model, Lexicon):
        senses = model.senses(spelled, top)
        at, near_at, share = on_plane(model, senses)
        rows = np.cumsum([0, *(len(sense.neighbours) for sense in senses)])
        neighbours = [near_at[a:b].tolist() for a, b in pairwise(rows)]
        facts["senses"] = [_sense(sense) for sense in senses]
        facts["plane"] = {"share": share.tolist(), "senses": at.tolist(), "neighbours": neighbours}
    similar = [item.to_dict() for item in model.neighbours(spelled, top)]
    return {**facts, "similar": similar, "like": listing(model).like(spelled), "cannot": cannot(model)}


def _sense(sense: Sense) -> Facts:
    return {**sense.to_dict(), "label": sense.label}


def _information(model: Model) -> str:
    return model.information.measure if isinstance(model, Lexicon) and model.information is not None else ""


# ------------------------------------------------------------------------------------------------------------ compare

_MUTUAL = ("similarity", "overlap", "fidelity", "trace-distance")
"""Measures that are the same both ways."""

_SMOOTHED = ("k-hyp", "relative-entropy")
"""Those that are 0 or ∞ for nearly all words of low rank, so that the second is taken as 0.9 σ + 0.1 · 1/n."""


def compared(model: Model, a: str, b: str, nlp: Any = None) -> Facts:
    """Two words, phrases or sentences by every measure that the model has, with their senses side by side."""
    asked: list[Any] = [
        model.compose(query, nlp=nlp) if is_text(query) and query not in model else query for query in (a, b)
    ]
    rows, shared = [], []
    if isinstance(model, Lexicon):
        asked = [model.meaning(query) for query in asked]
        for name, measure in measures.MEASURES.items():
            how: dict[str, Any] = {"smoothing": 0.1} if name in _SMOOTHED else {}
            there, back = _finite(measure(*asked, **how)), _finite(measure(*asked[::-1], **how))
            formula = (measure.__doc__ or "").strip().splitlines()[0] + (" σ smoothed by 0.1." if how else "")
            rows.append(
                {"measure": name, "mutual": name in _MUTUAL, "a_to_b": there, "b_to_a": back, "formula": formula}
            )
    else:
        both = float(model.similarity(*asked))
        formula = "The cosine of two vectors."
        rows.append({"measure": "similarity", "mutual": True, "a_to_b": both, "b_to_a": both, "formula": formula})
    sides = [_side(model, query, meant) for query, meant in zip((a, b), asked, strict=True)]
    if isinstance(model, Lexicon) and all(side["is_word"] for side in sides):
        first, second = (model.sense_vectors(side["query"])[1] for side in sides)
        shared = ((first @ second.T) ** 2).tolist()
    return {"a": sides[0], "b": sides[1], "measures": rows, "shared": shared}


def _side(model: Model, query: str, meant: Any) -> Facts:
    known = query in model or is_word(query)
    return {
        "query": query,
        "is_word": known,
        "entropy": None if model.kind == "vectors" else model.entropy(meant),
        "senses": [_sense(sense) for sense in model.senses(query, 6)] if known and isinstance(model, Lexicon) else [],
        "neighbours": [item.to_dict() for item in model.neighbours(query if known else meant, 8)],
    }


def in_two(first: Model, second: Model, asked: str, top: int = 20) -> Facts:
    """One word in two lexicons: its nearest words, and its senses matched: what appeared and what went.

    The spaces of two lexicons have nothing in common, so two senses are alike as far as the words nearest to them are
    the same: |A ∩ B| / |A ∪ B| of their ``top`` nearest. The most alike are matched first.
    """
    models = (first, second)
    sides = [model.senses(asked, top) if isinstance(model, Lexicon) else [] for model in models]
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
    entropies = [None if model.kind == "vectors" else model.entropy(asked) for model in models]
    old, new = entropies
    nearest = [[item.word for item in model.neighbours(asked, top)] for model in models]
    return {
        "word": asked,
        "entropies": entropies,
        "difference": None if old is None or new is None else new - old,
        "senses_known": all(sides),
        "matched": matched,
        "went": [_sense(sides[0][i]) for i in sorted(free[0])],
        "appeared": [_sense(sides[1][j]) for j in sorted(free[1])],
        "near": {
            "both": [word for word in nearest[0] if word in nearest[1]],
            "first": [word for word in nearest[0] if word not in nearest[1]],
            "second": [word for word in nearest[1] if word not in nearest[0]],
        },
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


def about(name: str, model: Model) -> Facts:
    """What a lexicon is."""
    simple = {key: value for key, value in model.metadata.items() if isinstance(value, str | int | float | bool)}
    return {
        "lexicon": name,
        "kind": model.kind,
        "words": len(model),
        "n": model.n,
        "m": model.m if isinstance(model, Lexicon) else None,
        "metadata": simple,
        "methods": [{"name": key, "formula": composer.formula} for key, composer in model.methods.items()],
        "information_is": _information(model),
        "cannot": cannot(model),
    }


def warm(models: Sequence[Model], nlp: Any) -> None:
    """What the first pages would wait for."""
    for model in models:
        if usual := listing(model).examples(4):
            listing(model).order("word")
            model.neighbours_of(usual, 1)
            sentence(model, f"The {usual[0]} likes {' and '.join(usual)}.", nlp=nlp)
    for model in models:
        _ = listing(model).parts_of_speech


def _finite(value: float) -> float | None:
    """As JSON can hold it: None where it is infinite."""
    return float(value) if math.isfinite(value) else None
