"""What an upper room does for a lower one: found by name, loaded when it is first asked for.

Imports go one way (``docs/design.md``). Where a lower room needs an upper one, as a composition needs a parser for
plain sentences, the package's ``__init__`` says once which function provides it, and the lower room asks here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see polysema/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PROVIDERS: dict[str, str | Callable[..., Any]] = {}


def provide(service: str, provider: str | Callable[..., Any]) -> None:
    """Say who provides a service: a function, or ``module:function``, which is imported at the first call."""
    _PROVIDERS[service] = provider


def provider(service: str) -> Callable[..., Any]:
    """The function that provides a service."""
    found = _PROVIDERS[service]
    if isinstance(found, str):
        from importlib import import_module

        module, _, name = found.partition(":")
        found = _PROVIDERS[service] = getattr(import_module(module), name)
    return found
