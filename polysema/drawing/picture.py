"""The figure that pictures are drawn on."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """matplotlib's Figure, but one that shows itself in a notebook without a magic: nothing here needs pyplot."""

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()
