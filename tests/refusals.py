"""Errors of polysema are one line."""

from collections.abc import Callable
from typing import Any

import pytest


def refused(error: type[Exception], message: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Check that a call ends in an error of one line that matches."""
    with pytest.raises(error, match=message) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
