"""The senses of a word on a plane, each with the words nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polysema.drawing.style import MARKERS, SERIES, TEXT, new_figure
from polysema.lexicon.lexicon import Lexicon, with_matrices
from polysema.lexicon.results import Sense

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def senses_plane(lexicon: Lexicon, word: str, top: int = 6, min_weight: float = 0.05) -> Figure:
    """The senses of a word and their neighbours, projected on the plane that keeps most of their spread.

    A neighbour stands where its own nearest sense is. The area of a sense's mark is its weight.

    Args:
        top: how many neighbours of each sense to show.
        min_weight: leave out senses that weigh less.
    """
    lexicon = with_matrices(lexicon, "a picture of senses")
    senses = lexicon.senses(word, top, min_weight)
    labels = [near.word for sense in senses for near in sense.neighbours]
    groups = [k for k, sense in enumerate(senses) for _ in sense.neighbours]
    at, near_at, share = on_plane(lexicon, senses)
    figure = new_figure(8.4, 6.4)
    axes = figure.add_subplot()
    for k, sense in enumerate(senses):
        colour, marker = SERIES[k % len(SERIES)], MARKERS[k % len(MARKERS)]
        mine = near_at[[i for i, group in enumerate(groups) if group == k]]
        for x, y in mine:
            axes.plot([at[k, 0], x], [at[k, 1], y], color=colour, linewidth=0.6, alpha=0.5, zorder=1)
        axes.scatter(mine[:, 0], mine[:, 1], s=22, color=colour, marker=marker, zorder=2)
        axes.scatter(
            at[k, 0],
            at[k, 1],
            s=120 + 900 * sense.weight,
            color=colour,
            marker=marker,
            edgecolor="black",
            zorder=3,
            label=f"sense {sense.id}, weight {sense.weight:.2f}",
        )
    axes.set_xlabel(f"first principal axis ({share[0]:.0%} of the spread)", fontsize=TEXT)
    axes.set_ylabel(f"second principal axis ({share[1]:.0%})", fontsize=TEXT)
    axes.tick_params(labelsize=TEXT)
    axes.margins(0.16)
    axes.set_title(f"The senses of “{word}” and the words nearest to them", fontsize=TEXT + 2)
    figure.legend(fontsize=TEXT, markerscale=0.45, loc="outside lower center", ncols=3, frameon=False)
    _label(figure, axes, near_at, labels, at)
    return figure


def on_plane(lexicon: Lexicon, senses: Sequence[Sense]) -> tuple[Array, Array, Array]:
    """Senses (k, 2) and their neighbours, sense by sense, (j, 2) on the plane, and the share that each axis keeps."""
    points = [_nearest_sense(lexicon, near.word, sense.vector) for sense in senses for near in sense.neighbours]
    centres = np.array([sense.vector for sense in senses])
    plane, share = _plane(np.concatenate([centres, np.array(points).reshape(-1, lexicon.n)]))
    return plane[: len(senses)], plane[len(senses) :], share


def _nearest_sense(lexicon: Lexicon, word: str, vector: Array) -> Array:
    _, vectors = lexicon.sense_vectors(word)
    cosines = vectors @ vector
    best = int(np.argmax(np.abs(cosines)))
    return np.asarray(vectors[best] * np.sign(cosines[best]))


def _plane(points: Array) -> tuple[Array, Array]:
    """Points (k, n) on their first two principal axes, (k, 2), and the share of the spread each axis keeps."""
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    u, s = np.pad(u, ((0, 0), (0, 2)))[:, :2], np.pad(s, (0, 2))
    return np.asarray(u * s[:2]), np.asarray(s[:2] ** 2 / max(float((s**2).sum()), 1e-300))


def _label(figure: Figure, axes: Any, points: Array, labels: list[str], marks: Array) -> None:
    """Names beside their points, each at the nearest place where it hides neither another name nor a mark."""
    from matplotlib.patheffects import withStroke

    figure.draw_without_rendering()  # settles where things are
    inch = figure.dpi / 72
    half = 0.65 * TEXT * inch
    frame = axes.bbox
    taken = [
        (x - radius * inch, x + radius * inch, y - radius * inch, y + radius * inch)
        for places, radius in ((marks, 16), (points, 4))
        for x, y in axes.transData.transform(places)
    ]
    for (x, y), point, label in zip(axes.transData.transform(points), points, labels, strict=True):
        width = 0.6 * TEXT * inch * len(label)
        boxes = []
        for step in range(12):
            for rise in (step, -step):
                for left in (x + 5 * inch, x - 5 * inch - width):
                    middle = y + rise * half
                    boxes.append((left, left + width, middle - half, middle + half))
        inside = [box for box in boxes if frame.x0 < box[0] and box[1] < frame.x1] or boxes
        box = next((box for box in inside if not any(_overlap(box, other) for other in taken)), inside[0])
        taken.append(box)
        rise = ((box[2] + box[3]) / 2 - y) / inch
        axes.annotate(
            label,
            point,
            xytext=((box[0] - x) / inch, rise),
            arrowprops={"arrowstyle": "-", "color": "#666666", "linewidth": 0.6} if abs(rise) > TEXT else None,
            textcoords="offset points",
            va="center",
            fontsize=TEXT,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            zorder=4,
        )


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
