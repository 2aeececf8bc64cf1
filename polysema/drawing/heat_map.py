"""A density matrix, entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polysema.density import DensityMatrix
from polysema.drawing.style import DIVERGING, TEXT, new_figure
from polysema.errors import InputError
from polysema.measures import entropy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST = 1000


def heat_map(rho: DensityMatrix, title: str = "") -> Figure:
    """The entries of ρ, zero in the middle of the colours.

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
    axes = figure.add_subplot()
    image = axes.imshow(dense, cmap=DIVERGING, vmin=-limit, vmax=limit, interpolation="nearest")
    axes.set_xlabel("dimension", fontsize=TEXT)
    axes.set_ylabel("dimension", fontsize=TEXT)
    axes.tick_params(labelsize=TEXT)
    axes.set_title(title or f"{rho.name or 'ρ'}: entropy {float(entropy(rho)):.2f}", fontsize=TEXT + 2)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("entry of the density matrix", fontsize=TEXT)
    bar.ax.tick_params(labelsize=TEXT)
    return figure
