"""The tree of a phrase, every node coloured by how ambiguous it is."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from polysema.composition.compose import Composed, Step
from polysema.composition.trees import Leaf
from polysema.drawing.style import SEQUENTIAL, TEXT, ink_on, new_figure
from polysema.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def entropy_tree(composition: Composed) -> Figure:
    """Words at the bottom, the phrase at the top; the colour and the number are the von Neumann entropy."""
    steps = composition.steps
    entropies = [step.entropy for step in steps if step.entropy is not None]
    if not entropies:
        raise InputError(f"{composition.phrase!r} is composed of vectors, which have no entropy")
    places = _places(steps)
    columns = max(x for x, _ in places.values()) + 1
    rows = max(y for _, y in places.values()) + 1
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
            colour, value = colours(scale(step.entropy)), f"\n{step.entropy:.2f}"
        axes.text(
            x,
            y,
            fill(step.phrase, 20) + value,
            ha="center",
            va="center",
            fontsize=TEXT,
            color=ink_on(colour),
            zorder=2,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "#444444", "linewidth": 0.8},
        )
    axes.set_xlim(-0.7, columns - 0.3)
    axes.set_ylim(-0.5, rows - 0.3)
    axes.set_axis_off()
    axes.set_title(f"“{fill(composition.phrase, 60)}”: entropy at every step ({composition.method})", fontsize=TEXT + 2)
    bar = figure.colorbar(ScalarMappable(scale, colours), ax=axes, shrink=0.8, pad=0.02)
    bar.set_label("von Neumann entropy (nats)", fontsize=TEXT)
    bar.ax.tick_params(labelsize=TEXT)
    return figure


def _places(steps: list[Step]) -> dict[str, tuple[float, float]]:
    """Where each node goes: words side by side at the bottom, a phrase above the middle of its two sides."""
    words = [step.path for step in steps if isinstance(step.tree, Leaf)]
    places: dict[str, tuple[float, float]] = {path: (float(i), 0.0) for i, path in enumerate(words)}
    for step in sorted(steps, key=lambda step: -len(step.path)):
        if step.path not in places:
            (left, low), (right, high) = places[step.path + "l"], places[step.path + "r"]
            places[step.path] = ((left + right) / 2, max(low, high) + 1)
    return places
