"""Options of a model as a frozen dataclass: each field says its type, its range and its help.

>>> @dataclass(frozen=True)
... class Soup(Options):
...     salt: float = option(1.0, "grams of salt", least=0)
...     kind: str | None = option(None, "which vegetables", choices=("leek", "onion"))
>>> Soup(salt=2)
Soup(salt=2.0, kind=None)
>>> Soup.given({"salt": True})
Traceback (most recent call last):
polysema.errors.InputError: salt must be a number, not True
>>> Soup.given({"kind": "beet"})
Traceback (most recent call last):
polysema.errors.UnknownChoiceError: unknown kind 'beet': choose leek or onion
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_type_hints

from polysema.errors import InputError, UnknownChoiceError

_KINDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def option(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    choices: Iterable[str] = (),
    by_default: str = "",
) -> Any:
    """A field of :class:`Options`.

    Args:
        default: None if it is decided later.
        help: one line for ``--help`` and the docs. If it is empty or ends with a colon, the choices are appended with
            the help of each.
        least, most: the range, ends included.
        above: the lower end, excluded.
        choices: the names it can have, or a table of names with their help.
        by_default: what None stands for, in words.
    """
    if isinstance(choices, Mapping) and help[-1:] in ("", ":"):
        help = f"{help} ".lstrip() + "; ".join(f"{name}: {what}" for name, what in choices.items())
    facts = {
        "help": help, "least": least, "most": most, "above": above, "choices": tuple(choices), "by_default": by_default,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=facts)


@dataclass(frozen=True)
class Options:
    """A base class of options: types, ranges and choices are checked when an instance is made."""

    model: ClassVar[str] = ""
    """The name of the model that has these options, for messages."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, checked(type(self), field, getattr(self, field.name)))

    @classmethod
    def given(cls, values: Mapping[str, Any]) -> Self:
        """Options by name, as from a command line or a file. An unknown name is an error; None means not set."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownChoiceError(f"option of {cls.model}" if cls.model else "option", name, known)
        return cls(**{name: value for name, value in values.items() if value is not None})

    def as_dict(self) -> dict[str, Any]:
        """All options by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def kind_of(options: type[Options], name: str) -> Any:
    """The type of an option: int, float, bool or str; None for any other, such as a lexicon."""
    hint = get_type_hints(options)[name]
    kinds = [kind for kind in getattr(hint, "__args__", (hint,)) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and kinds[0] in _KINDS else None


def checked(options: type[Options], field: dataclasses.Field[Any], value: Any) -> Any:
    """The value of an option, converted to its type; InputError if its type, range or choice is wrong."""
    facts, name = field.metadata, field.name.replace("_", " ")
    if value is None and field.default is None:
        return None
    kind = kind_of(options, field.name)
    if kind is None:
        return value
    fits = {int: numbers.Integral, float: numbers.Real, bool: bool, str: str}[kind]
    if not isinstance(value, fits) or (kind in (int, float) and isinstance(value, bool)):
        raise InputError(f"{name} must be {_KINDS[kind]}, not {value!r}")
    value = kind(value)
    if facts.get("choices") and value not in facts["choices"]:
        raise UnknownChoiceError(name, value, facts["choices"])
    if kind is float and not math.isfinite(value):
        raise InputError(f"{name} must be a finite number, not {value}")
    for word, right in (("at least", operator.ge), ("at most", operator.le), ("above", operator.gt)):
        limit = facts.get(word.removeprefix("at "))
        if limit is not None and not right(value, limit):
            raise InputError(f"{name} must be {word} {limit}, not {value}: {facts['help']}")
    return value
