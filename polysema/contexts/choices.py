"""Choices that models made of occurrences share, with what each means."""

from __future__ import annotations

WEIGHTS = {"even": "every cluster counts the same, as in the paper", "size": "by the number of its occurrences"}

STORES = {
    "auto": "disk if the vectors fit and writing and reading them takes less time than encoding them again",
    "disk": "keep the vectors on disk between the two passes",
    "again": "keep nothing: run the encoder twice",
}
