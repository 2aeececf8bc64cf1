"""A signal at some moment of a training on a GPU: ``signals`` with these jobs alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.campaign import signals
from tests.campaign.signals import attempt
from tests.campaign.world import Sandbox

__all__ = ["attempt", "draw"]


def _trainings(sandbox: Sandbox) -> list[str]:
    return [name for name, job in signals.JOBS.items() if job.needs == "gpu"]


def draw(rng: np.random.Generator, sandbox: Sandbox) -> dict[str, Any]:
    return signals.draw(rng, sandbox, _trainings)
