"""What only some operating systems have, taken away."""

from __future__ import annotations

import os

from polysema.files.platform import processors


def test_processors_where_the_system_does_not_say_which(monkeypatch):
    assert processors() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processors() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors() == 1
