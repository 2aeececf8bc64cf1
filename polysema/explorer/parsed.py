"""spaCy's pipeline for a server: one thread at a time, and no sentence twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from threading import Lock
from typing import Any


class Parsed:
    """A pipeline that keeps the last texts as it parsed them; all else is the pipeline's own.

    A page asks for the tree of a sentence and for its words in context: that is one parse.
    """

    def __init__(self, nlp: Any, kept: int = 256) -> None:
        self._nlp, self._lock = nlp, Lock()
        self._kept = lru_cache(kept)(nlp)

    def __call__(self, text: Any) -> Any:
        """The document of a text."""
        with self._lock:
            return self._kept(text) if isinstance(text, str) else self._nlp(text)

    def pipe(self, texts: Iterable[str], **_: Any) -> Iterator[Any]:
        """The document of each text."""
        return map(self, texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nlp, name)
