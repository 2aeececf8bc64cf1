"""The positions of the marks in pictures, in pixels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polysema.drawing import tree_places
from polysema.explorer.listing import Facts

LEVELS = 9
"""Shades of entropy in the style sheet."""

OTHERS = 6
"""The colour, grey, of senses that are not told one by one."""

_ROW, _LETTER, _WIDE = 34, 8.6, 318  # pixels


def pieces(text: str, words: Sequence[Mapping[str, Any]]) -> list[Facts]:
    """A text in pieces: each word with its number, and what lies between them, whose number is None."""
    found: list[Facts] = []
    at = 0
    for number, (start, end) in [*enumerate(word["span"] for word in words), (None, (len(text), len(text)))]:
        if start >= at:
            between = re.finditer(r"\s+|\S+", text[at:start])
            found += [{"text": run.group(), "start": at + run.start(), "word": None} for run in between]
            found += [{"text": text[start:end], "start": start, "word": number}] if end > start else []
            at = end
    return found


def stack(senses: Iterable[Mapping[str, Any]], shares: Iterable[float]) -> list[Facts]:
    """A bar of 100 with a part for each sense, its place and length."""
    found, at = [], 0.0
    for sense, share in zip(senses, shares, strict=True):
        found.append({"colour": sense["colour"], "x": round(at, 1), "width": round(100 * share, 1)})
        at += 100 * share
    return [*found, {"colour": OTHERS, "x": round(at, 1), "width": round(100 - at, 1)}] if at < 99.5 else found


def tree_picture(nodes: Sequence[Mapping[str, Any]]) -> Facts:
    """A tree that lies on its side: a row for each word, in the order of the sentence, and phrases to the right."""
    most = max([0.05, *(node["entropy"] or 0.0 for node in nodes)])
    leaves = sorted((node for node in nodes if "position" in node), key=lambda node: (node["position"], node["path"]))
    rows = {node["path"]: float(row) for row, node in enumerate(leaves)}
    places = tree_places(rows, [node["path"] for node in nodes])
    left = 34 + _LETTER * min(max(len(node["phrase"]) for node in leaves), 16)
    wide = min(74.0, max(13.0, (_WIDE - left) / max(level for _, level in [*places.values(), (0, 1)])))
    at = {path: (round(left + wide * level, 1), round(_ROW * (row + 0.6), 1)) for path, (row, level) in places.items()}
    marks = []
    for node in nodes:
        x, y = at[node["path"]]
        shade = round(LEVELS * min((node["entropy"] or 0.0) / most, 1.0))
        marks.append({**node, "x": x, "y": y, "shade": shade, "word": node["path"] in rows})
    edges = [{"from": at[path], "to": at[path[:-1]]} for path in sorted(at) if path]
    width = max(x for x, _ in at.values()) + 56
    return {"width": round(width), "height": round(_ROW * (len(rows) + 0.2)), "nodes": marks, "edges": edges,
            "numbers": wide >= 40}  # fmt: skip
