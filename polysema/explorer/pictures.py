"""Where the marks of a picture stand, in pixels; the templates draw them as SVG."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

LEVELS = 9
"""How many shades entropies are drawn in."""
SERIES = 7
"""How many colours senses are told apart by; the style sheet has them."""

_ROW, _LETTER, _MARGIN = 74, 8.6, 46


def tree(nodes: Sequence[Mapping[str, Any]], done: Collection[str], current: str | None) -> dict[str, Any]:
    """A tree from its leaves up: words in a row, every other node above the middle of its sides.

    Args:
        nodes: ``path``, ``phrase`` and ``entropy`` of each, from the root down.
        done: the paths of the nodes that are composed so far.
        current: the path of the one that was composed last.
    """
    paths = {str(node["path"]) for node in nodes}
    most = max([0.05, *(node["entropy"] or 0.0 for node in nodes)])
    x: dict[str, float] = {}
    level: dict[str, int] = {}
    right = float(_MARGIN)
    for node in sorted(nodes, key=lambda item: item["path"]):  # leaves from left to right
        path = node["path"]
        if path + "l" not in paths:
            width = max(58.0, _LETTER * len(node["phrase"]) + 18)
            x[path], level[path] = right + width / 2, 0
            right += width
    for path in sorted(paths - x.keys(), key=len, reverse=True):
        x[path] = (x[path + "l"] + x[path + "r"]) / 2
        level[path] = 1 + max(level[path + "l"], level[path + "r"])
    height = _ROW * (max(level.values(), default=0) + 1) + 36
    y = {path: height - 62 - _ROW * rise for path, rise in level.items()}
    marks = [
        {
            "path": node["path"],
            "phrase": node["phrase"],
            "entropy": node["entropy"],
            "x": round(x[node["path"]], 1),
            "y": y[node["path"]],
            "shade": round(LEVELS * min((node["entropy"] or 0.0) / most, 1.0)),
            "word": level[node["path"]] == 0,
            "done": level[node["path"]] == 0 or node["path"] in done,
            "current": node["path"] == current,
        }
        for node in nodes
    ]
    edges = [
        {
            "x1": round(x[path[:-1]], 1),
            "y1": y[path[:-1]],
            "x2": round(x[path], 1),
            "y2": y[path],
            "done": path[:-1] in done,
        }
        for path in sorted(paths)
        if path
    ]
    return {"width": round(right + _MARGIN), "height": height, "nodes": marks, "edges": edges}


def plane(facts: Mapping[str, Any], width: int = 640, height: int = 420) -> dict[str, Any]:
    """The senses of a word and their neighbours, with names where they do not hide one another."""
    at: list[list[float]] = facts["plane"]["senses"]
    near: list[list[list[float]]] = facts["plane"]["neighbours"]
    points = [*at, *(point for group in near for point in group)]
    low = [min((point[axis] for point in points), default=0.0) for axis in (0, 1)]
    high = [max((point[axis] for point in points), default=0.0) for axis in (0, 1)]

    def placed(point: Sequence[float]) -> tuple[float, float]:
        shares = [(point[i] - low[i]) / (high[i] - low[i]) if high[i] > low[i] else 0.5 for i in (0, 1)]
        return round(70 + shares[0] * (width - 140), 1), round(height - 36 - shares[1] * (height - 72), 1)

    senses = []
    for k, (point, sense) in enumerate(zip(at, facts["senses"], strict=True)):
        x, y = placed(point)
        senses.append({"x": x, "y": y, "r": round(9 + 16 * sense["weight"] ** 0.5, 1), "number": k + 1, "of": k})
    taken = [(s["x"] - s["r"], s["x"] + s["r"], s["y"] - s["r"], s["y"] + s["r"]) for s in senses]
    taken += [(x - 3, x + 3, y - 3, y + 3) for group in near for x, y in map(placed, group)]
    words, named = [], set()
    for k, (group, sense) in enumerate(zip(near, facts["senses"], strict=True)):
        for point, item in zip(group, sense["neighbours"], strict=True):
            x, y = placed(point)
            box = (
                None if item["word"] in named else _free(x, y, _LETTER * 0.82 * len(item["word"]), width, height, taken)
            )
            if box is not None:
                taken.append(box)
                named.add(item["word"])
            words.append(
                {
                    "word": item["word"],
                    "x": x,
                    "y": y,
                    "of": k,
                    "sx": senses[k]["x"],
                    "sy": senses[k]["y"],
                    "label": None if box is None else {"x": round(box[0], 1), "y": round(box[3] - 4, 1)},
                }
            )
    return {"width": width, "height": height, "senses": senses, "words": words}


Box = tuple[float, float, float, float]


def _free(x: float, y: float, length: float, width: int, height: int, taken: Sequence[Box]) -> Box | None:
    """The nearest free place for a name beside a point: left, right, top, bottom; None where there is none."""
    for step in (0, 8, -8, 16, -16, 24, -24):
        for left in (x + 6, x - 6 - length):
            box = (left, left + length, y + step - 8, y + step + 8)
            inside = box[0] > 0 and box[1] < width and box[2] > 0 and box[3] < height
            if inside and not any(
                box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3] for other in taken
            ):
                return box
    return None
