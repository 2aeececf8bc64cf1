"""What all pictures share: figures without global state, and colours that colour-blind readers can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polysema.errors import needing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
"""Okabe & Ito's colours, for things told apart by colour; each also has a marker of its own."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

LINES = ("-", "--", ":", "-.")
"""Strokes, for when there are more lines than colours."""

SEQUENTIAL = "cividis"
"""From little to much: the same to readers with and without colour blindness."""

DIVERGING = "PuOr"
"""From negative over zero to positive."""

TEXT = 10
"""The size of the smallest text, in points."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, laid out so that no label is cut off."""
    with needing("a picture", "plots"):
        import matplotlib.figure  # noqa: F401
    from polysema.drawing.picture import Picture

    return Picture(figsize=(width, height), dpi=120, layout="constrained")


def ink_on(colour: Any) -> str:
    """Black or white, whichever reads better on a colour: by its relative luminance (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if luminance > 0.179 else "white"
