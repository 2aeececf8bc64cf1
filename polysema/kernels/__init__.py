"""Compiled inner loops. Imported only where they run: loading Numba takes longer than most commands."""
