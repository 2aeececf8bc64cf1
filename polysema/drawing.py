"""Figures (the extra ``plots``: matplotlib). Each function returns one: ``figure.savefig("name.png")``.

Figures have no global state, and colour-blind readers can distinguish their colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composition
from polysema.composition.trees import Leaf
from polysema.density import DensityMatrix
from polysema.errors import InputError, needing
from polysema.lexicon.lexicon import Lexicon, with_matrices
from polysema.measures import entropy
from polysema.senses.senses import senses_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
"""Okabe & Ito's colours for categories; each also has its own marker."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

LINES = ("-", "--", ":", "-.")  # line styles, for more lines than colours
SEQUENTIAL = "cividis"  # from low to high; readers with and without colour blindness see the same
DIVERGING = "PuOr"  # from negative over zero to positive
TEXT = 10  # the size of the smallest text, in points


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, laid out so that no label is cut off."""
    with needing("a picture", "plots"):
        from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that a notebook displays without ``%matplotlib`` or pyplot."""

        def _repr_png_(self) -> bytes:
            stream = BytesIO()
            self.savefig(stream, format="png")
            return stream.getvalue()

    return Picture(figsize=(width, height), dpi=120, layout="constrained")


def _axes(figure: Figure, across: str = "", up: str = "") -> Any:
    """Axes with labels."""
    axes = figure.add_subplot()
    axes.set_xlabel(across, fontsize=TEXT)
    axes.set_ylabel(up, fontsize=TEXT)
    axes.tick_params(labelsize=TEXT)
    return axes


def _colour_bar(figure: Figure, axes: Any, mapped: Any, name: str, **more: Any) -> None:
    """The scale of the colours."""
    bar = figure.colorbar(mapped, ax=axes, **more)
    bar.set_label(name, fontsize=TEXT)
    bar.ax.tick_params(labelsize=TEXT)


def look(number: int) -> dict[str, str]:
    """The colour and the marker of the category of that number."""
    return {"color": SERIES[number % len(SERIES)], "marker": MARKERS[number % len(MARKERS)]}


def ink_on(colour: Any) -> str:
    """Black or white, whichever has more contrast on a colour, by its relative luminance (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if luminance > 0.179 else "white"


LARGEST = 1000


def heat_map(rho: DensityMatrix, title: str = "") -> Figure:
    """The entries of ρ as colours, symmetric around zero.

    Args:
        title: by default the matrix's name and its entropy.
    """
    if rho.shape:
        raise InputError(f"a heat map shows one density matrix, not a stack of {rho.shape}: choose one by its index")
    if rho.n > LARGEST:
        raise InputError(f"a matrix of {rho.n}×{rho.n} is too large for a heat map: at most {LARGEST}×{LARGEST}")
    dense = rho.dense()
    limit = float(np.abs(dense).max())
    figure = new_figure(6.2, 5.2)
    axes = _axes(figure, "dimension", "dimension")
    image = axes.imshow(dense, cmap=DIVERGING, vmin=-limit, vmax=limit, interpolation="nearest")
    axes.set_title(title or f"{rho.name or 'ρ'}: entropy {float(entropy(rho)):.2f}", fontsize=TEXT + 2)
    _colour_bar(figure, axes, image, "entry of the density matrix")
    return figure


MOST_ACROSS = 12
"""A phrase of more words is drawn from left to right, a line a word, so that long sentences can be read."""


def entropy_tree(composition: Composition) -> Figure:
    """The tree of a phrase, words in the order of the sentence; colour and number are the entropy of each node.

    Words are at the bottom. Of a sentence of more than 12 words they are on the right, and phrases show numbers alone.
    """
    steps = composition.steps
    entropies = [step.entropy for step in steps if step.entropy is not None]
    if not entropies:
        raise InputError(f"{composition.phrase!r} is composed of vectors, which have no entropy")
    words = sorted((step.tree.position, step.path) for step in steps if isinstance(step.tree, Leaf))
    places = tree_places({path: float(i) for i, (_, path) in enumerate(words)}, [step.path for step in steps])
    columns, rows = (max(place[axis] for place in places.values()) + 1 for axis in (0, 1))
    down = len(words) > MOST_ACROSS
    if down:
        places = {path: (-y * columns / rows, columns - x) for path, (x, y) in places.items()}  # type: ignore[misc]
        figure = new_figure(max(6.0, 0.55 * rows + 3.5), 0.32 * columns + 1.2)
    else:
        figure = new_figure(max(5.0, 1.25 * columns + 1.8), max(3.0, 0.95 * rows + 1.2))
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = colormaps[SEQUENTIAL]
    scale = Normalize(0.0, max(entropies) or 1.0)
    axes = figure.add_subplot()
    for step in steps:
        x, y = places[step.path]
        if step.path:
            above = places[step.path[:-1]]
            axes.plot([above[0], x], [above[1], y], color="#888888", linewidth=1.2, zorder=1)
        colour, value = (1.0, 1.0, 1.0, 1.0), ""  # *not* has no meaning of its own
        if step.entropy is not None:
            colour, value = colours(scale(step.entropy)), f"{step.entropy:.2f}"
        is_word = isinstance(step.tree, Leaf)
        label = f"{step.phrase} {value}" if down and is_word else value if down else f"{fill(step.phrase, 20)}\n{value}"
        box = {"boxstyle": "round,pad=0.2" if down else "round,pad=0.35", "facecolor": colour, "edgecolor": "#444444",
               "linewidth": 0.8}  # fmt: skip
        axes.text(
            x, y, label.strip(), ha="left" if down and is_word else "center", va="center", fontsize=TEXT,
            color=ink_on(colour), zorder=2, bbox=box,
        )  # fmt: skip
    if down:
        axes.set_xlim(-columns, columns * 2.4 / rows)
        axes.set_ylim(0, columns + 1)
    else:
        axes.set_xlim(-0.7, columns - 0.3)
        axes.set_ylim(-0.5, rows - 0.3)
    axes.set_axis_off()
    axes.set_title(f"“{fill(composition.phrase, 60)}”: entropy at every step ({composition.method})", fontsize=TEXT + 2)
    mapped = ScalarMappable(scale, colours)
    _colour_bar(figure, axes, mapped, "von Neumann entropy (nats)", shrink=0.8, pad=0.02)
    return figure


def tree_places(words: Mapping[str, float], paths: Iterable[str]) -> dict[str, tuple[float, int]]:
    """The position and level of every node of a tree, by its path: a phrase stands above the middle of its two sides.

    Args:
        words: the position of each leaf.
        paths: of all nodes.
    """
    places = {path: (x, 0) for path, x in words.items()}
    for path in sorted(set(paths) - places.keys(), key=len, reverse=True):
        (left, low), (right, high) = places[path + "l"], places[path + "r"]
        places[path] = ((left + right) / 2, max(low, high) + 1)
    return places


Array = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, right, and the two ends of the upright side


MOST_SENSES = 20


def senses_plane(lexicon: Lexicon, word: str, top: int = 6, min_weight: float = 0.05) -> Figure:
    """The senses of a word and their neighbours, projected on their first two principal axes.

    Senses of a dictionary have no neighbours: their glosses are drawn, and named below. A neighbour is drawn at its
    own sense that is nearest. The area of a sense's marker is its weight.

    Args:
        top: how many neighbours of each sense to show.
        min_weight: leave out senses that weigh less. At most 20 are drawn.
    """
    lexicon = with_matrices(lexicon, "a picture of senses")
    senses = lexicon.senses(word, top, min_weight)[:MOST_SENSES]
    labels = [near.word for sense in senses for near in sense.neighbours]
    groups = [k for k, sense in enumerate(senses) for _ in sense.neighbours]
    points = []  # each neighbour at its own sense that is nearest
    for sense in senses:
        for near in sense.neighbours:
            vectors = senses_of(lexicon, near.word).vectors
            cosines = vectors @ sense.vector
            best = int(np.argmax(np.abs(cosines)))
            points.append(vectors[best] * np.sign(cosines[best]))
    plane, share = _plane(np.array([*(sense.vector for sense in senses), *points]))
    at, near_at = plane[: len(senses)], plane[len(senses) :]
    figure = new_figure(8.4, 6.4)
    across, up = f"first principal axis ({share[0]:.0%} of the spread)", f"second principal axis ({share[1]:.0%})"
    axes = _axes(figure, across, up)
    for k, sense in enumerate(senses):
        mine = near_at[[i for i, group in enumerate(groups) if group == k]]
        for x, y in mine:
            axes.plot([at[k, 0], x], [at[k, 1], y], color=look(k)["color"], linewidth=0.6, alpha=0.5, zorder=1)
        axes.scatter(mine[:, 0], mine[:, 1], s=22, zorder=2, **look(k))
        gloss = f", {sense.label}" if sense.key else ""
        label = fill(f"sense {sense.id}, weight {sense.weight:.2f}{gloss}", 96, subsequent_indent="    ")
        axes.scatter(*at[k], s=120 + 900 * sense.weight, edgecolor="black", zorder=3, label=label, **look(k))
    axes.margins(0.16)
    axes.set_title(f"The senses of “{word}”{' and the words nearest to them' * bool(labels)}", fontsize=TEXT + 2)
    columns = 1 if any(sense.key for sense in senses) else 3
    figure.legend(fontsize=TEXT, markerscale=0.45, loc="outside lower center", ncols=columns, frameon=False)
    _label(figure, axes, near_at, labels, at)
    return figure


def _plane(points: Array) -> tuple[Array, Array]:
    """Points (k, n) on their first two principal axes, (k, 2), and the share of the spread each axis keeps."""
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    u, s = np.pad(u, ((0, 0), (0, 2)))[:, :2], np.pad(s, (0, 2))
    return np.asarray(u * s[:2]), np.asarray(s[:2] ** 2 / max(float((s**2).sum()), 1e-300))


def _label(figure: Figure, axes: Any, points: Array, labels: list[str], marks: Array) -> None:
    """Put labels beside their points, each at the nearest place where it covers no other label and no marker."""
    from matplotlib.patheffects import withStroke

    figure.draw_without_rendering()  # computes the layout
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
        box = next((box for box in inside if not any(overlap(box, other) for other in taken)), inside[0])
        taken.append(box)
        rise = ((box[2] + box[3]) / 2 - y) / inch
        line = {"arrowstyle": "-", "color": "#666666", "linewidth": 0.6} if abs(rise) > TEXT else None
        axes.annotate(
            label, point, xytext=((box[0] - x) / inch, rise), arrowprops=line, textcoords="offset points", va="center",
            fontsize=TEXT, path_effects=[withStroke(linewidth=2.5, foreground="white")], zorder=4,
        )  # fmt: skip


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes overlap."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


Interval = tuple[float, float]
Dot = tuple[str, float, Interval | None, float | None]
"""The name of a measure, its value, its interval, and the published value."""
Point = tuple[float, float, float]  # x, y and the error of y


def dot_chart(rows: Mapping[str, Sequence[Dot]], uprights: Mapping[str, float], band: float, title: str) -> Figure:
    """One row per model with a filled marker for each value and a hollow one for the published value.

    Args:
        rows: the values of each model.
        uprights: named values, drawn as vertical lines.
        band: the range ± this is shaded; 0 for none.
        title: of the horizontal axis.
    """
    kinds = list(dict.fromkeys(name for dots in rows.values() for name, *_ in dots))
    height = [max(1, len(dots)) for dots in rows.values()]
    figure = new_figure(7.6, 1.4 + 0.3 * (len(kinds) // 4 + 1) + 0.15 * sum(height) + 0.12 * len(rows))
    axes = _axes(figure, title)
    y, places = 0.0, []
    for number, dots in enumerate(rows.values()):
        top = y
        for name, value, interval, published in dots:
            style = look(kinds.index(name))
            if interval is not None:
                axes.plot(interval, (y, y), color=style["color"], linewidth=1, alpha=0.6)
            axes.plot([value], [y], markersize=5, linestyle="", **style)
            if published is not None:
                axes.plot([published], [y], markersize=6, fillstyle="none", linestyle="", **style)
            y += 1
        y = max(y, top + 1)
        places.append((top + y - 1) / 2)
        y += 0.8
        if number:
            axes.axhline(top - 0.9, color="#cccccc", linewidth=0.6)
    for name, at in uprights.items():
        axes.axvline(at, color="#555555", linestyle="--", linewidth=1)
        axes.annotate(name, (at, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=TEXT - 1)
    if band:
        axes.axvspan(-band, band, color="#000000", alpha=0.07, linewidth=0)
    axes.axvline(0, color="#999999", linewidth=0.8)
    axes.set_yticks(places, list(rows), fontsize=TEXT)
    axes.set_ylim(y - 0.6, -0.9)
    for number, name in enumerate(kinds):
        axes.plot([], [], linestyle="", label=name, **look(number))
    figure.legend(fontsize=TEXT, loc="outside lower center", ncols=4, frameon=False)
    return figure


def line_chart(series: Mapping[str, Sequence[Point]], across: str, up: str) -> Figure:
    """Lines with error bars; each has its own colour, marker and line style, so that dozens can be distinguished."""
    figure = new_figure(7.6, 4.6 + 0.22 * (len(series) // 3 + 1))
    axes = _axes(figure, across, up)
    for number, (name, points) in enumerate(series.items()):
        x, y, error = zip(*points, strict=True) if points else ((), (), ())
        turn = number // len(SERIES)
        axes.errorbar(
            x, y, error if any(error) else None, label=name, color=look(number)["color"],
            marker=look(number + turn)["marker"], linestyle=LINES[turn % len(LINES)], markersize=5, linewidth=1.2,
            elinewidth=0.8,
        )  # fmt: skip
    axes.grid(alpha=0.25)
    figure.legend(fontsize=TEXT, loc="outside lower center", ncols=3, frameon=False)
    return figure


MOST_LINES = 7
"""Senses that are drawn; of more, those whose share is largest somewhere."""


def shares_of_senses(series: Mapping[str, Sequence[Point]], periods: Sequence[str], title: str) -> Figure:
    """The share of each sense of a word over periods, with intervals.

    Args:
        series: for each sense (share, low, high) of every period.
        periods: their names; numbers, such as years, are drawn to scale.
    """
    figure = new_figure(7.6, 4.6)
    axes = _axes(figure, "", "share of the uses")
    to_scale = len(periods) > 1 and all(name.isdigit() for name in periods)
    x = [float(name) if to_scale else i for i, name in enumerate(periods)]
    step = 0.006 * ((max(x) - min(x)) or 1.0)
    ranked = sorted(series, key=lambda name: -max(share for share, _, _ in series[name]))[:MOST_LINES]
    for number, name in enumerate(ranked):
        share, low, high = (np.array(part) for part in zip(*series[name], strict=True))
        places = [at + (number - len(ranked) / 2) * step for at in x]
        axes.errorbar(
            places, share, [np.maximum(share - low, 0), np.maximum(high - share, 0)], label=shorten(name, 60),
            markersize=5, linewidth=1.4, elinewidth=0.8, **look(number),
        )  # fmt: skip
    axes.set_xticks(x, periods, fontsize=TEXT)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25)
    axes.set_title(f"The senses of “{title}”", fontsize=TEXT + 2)
    figure.legend(fontsize=TEXT - 1, loc="outside lower center", ncols=1, frameon=False)
    return figure
