"""Compiled inner loops. Imported only where they run: loading Numba takes longer than most commands."""

from polysema.errors import MissingExtraError

try:
    import numba as numba
except ImportError:
    raise MissingExtraError("reading text and training", "train") from None
