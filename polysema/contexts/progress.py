"""How far a run over contexts has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        stage: what it is doing.
        done, total: words of text, or words of the vocabulary when clustering.
        speed: of those a second.
        note: something to tell once, such as how much disk it will take.
    """

    stage: str
    done: int
    total: int
    speed: float = 0.0
    note: str = ""
