"""How far long work has come: one event for every trainer and every pass over text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        stage: what it is doing: ``training``, ``encoding``, ``clustering`` …
        done, total: units of work; ``total`` is None where it is not known.
        unit: what is counted.
        speed: units a second, of the last moments where the work reports them.
        seconds, left: seconds spent and to go; None where they are not known.
        epoch, epochs: which of how many, from 1; 0 where there are none.
        loss: of a sample of the last training steps.
        loss_name: what that is of. By negative sampling it is −ln σ of the true words alone, ln 2 where nothing is
            known; not to be compared with the held-out loss, which adds that of the noise words.
        held_out: the held-out loss after the last whole epoch.
        rate: the learning rate.
        words, sentences: of text, how many were met so far.
        note: something to tell once, such as how much disk the run takes.
        detail: who does what, where several workers do it.
    """

    stage: str
    done: int
    total: int | None = None
    unit: str = "words"
    speed: float = 0.0
    seconds: float | None = None
    left: float | None = None
    epoch: int = 0
    epochs: int = 0
    loss: float | None = None
    held_out: float | None = None
    rate: float | None = None
    words: int = 0
    sentences: int = 0
    note: str = ""
    detail: str = ""
    loss_name: str = "loss"


Report = Callable[[Progress], None]
"""What a caller hands in to be told."""


def silent(_: Progress) -> None:
    """Tell nobody."""
