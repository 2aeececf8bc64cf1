"""Compiled inner loops. Imported only where they run: loading Numba takes longer than most commands."""

from polysema.errors import needing

with needing("reading text and training", "train"):
    import numba as numba
