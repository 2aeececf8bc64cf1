"""The tests of reading are tests of the kernels, however small the text; ``test_plain.py`` holds the other way to them."""

from __future__ import annotations

import pytest

from polysema.corpus import tokenising as plain


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    monkeypatch.setattr(plain, "SMALL", -1)
