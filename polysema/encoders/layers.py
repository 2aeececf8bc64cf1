"""Layers of an encoder by name."""

from __future__ import annotations

from polysema.errors import InputError


def layers_named(name: str | int, depth: int) -> tuple[int, ...]:
    """The layers that a name stands for; their mean is taken where they are several.

    Layer 0 is what goes into the first layer, layer ``depth`` what comes out of the last. ``last`` is that, ``6`` one,
    ``3-11`` and ``1,2,6`` several, ``all`` every one from 1; a negative number counts from the end. ``middle`` is 5-8
    of twelve, where word senses are clearest, and as far up in others.

    >>> layers_named("last", 12), layers_named("3-5,9", 12), layers_named(-2, 12)
    ((12,), (3, 4, 5, 9), (11,))
    >>> layers_named("middle", 12), layers_named("middle", 6)
    ((5, 6, 7, 8), (2, 3, 4))
    """
    if name == "last":
        return (depth,)
    if name == "middle":
        return tuple(range(max(1, 5 * depth // 12), max(1, 2 * depth // 3) + 1))
    if name == "all":
        return tuple(range(1, depth + 1))
    found: list[int] = []
    for part in str(name).split(","):
        first, dash, last = part.strip().partition("-") if not part.strip().startswith("-") else (part, "", "")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise InputError(f"layers {name!r}: write last, middle, all, a number, 3-11 or 1,2,6") from None
        low, high = (index + depth + 1 if index < 0 else index for index in (low, high))
        if not 0 <= low <= high <= depth:
            raise InputError(f"layers {name!r}: this encoder has layers 0 to {depth}")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))
