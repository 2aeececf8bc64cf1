"""Everything that polysema raises on purpose.

::

    PolysemaError
    ├── InputError                a value handed in is wrong
    │   ├── MatrixError           not a density matrix: shape, NaN, zero trace, negative eigenvalue
    │   ├── UnknownChoiceError    a name that is in no table: method, format, measure …
    │   └── TreeError             brackets or a pattern that cannot be read
    ├── UnknownWordError          the lexicon does not hold the word (also a KeyError)
    ├── FormatError               a file is not what it should be: foreign, truncated, too new
    ├── CorpusError               text that cannot be read: missing, binary, truncated, empty
    ├── OutputError               what cannot be written: a full disk, no permission, another run that writes it
    ├── DataError                 an evaluation set that is missing, not what was published, or cannot be read
    └── MissingExtraError         an optional part is not installed

Each message is one line: what was wrong, with the values, and what to do.
The command line prints it after ``polysema: error:`` and exits with 2.

Calls that take many inputs return one result for each, in the order given; where one failed, a :class:`Failed` stands
in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class PolysemaError(Exception):
    """The family's head: catch this to catch them all.

    An error comes out of a pickle as it went in, whatever its class's ``__init__`` takes: one that is raised in a
    worker of ``multiprocessing`` reaches the caller.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.args, self.__dict__)


class InputError(PolysemaError, ValueError):
    """A value handed in is wrong."""


class MatrixError(InputError):
    """The numbers do not make a density matrix."""


class UnknownWordError(PolysemaError, KeyError):
    """The lexicon does not hold the word."""

    def __init__(self, word: str, known: Iterable[str] = ()) -> None:
        self.word = word
        self.close = closest(word, known)
        hint = f"; did you mean {listed(self.close, 'or')}?" if self.close else ""
        super().__init__(f"{word!r} is not in the lexicon{hint}")

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class UnknownChoiceError(InputError):
    """A name that is in no table."""

    def __init__(self, what: str, name: str, choices: Iterable[str]) -> None:
        self.choices = tuple(choices)
        super().__init__(f"unknown {what} {name!r}: choose {listed(self.choices, 'or')}")


def check_choice(what: str, name: str, choices: Collection[str]) -> None:
    """An unknown name is an error that lists the choices."""
    if not isinstance(name, str) or name not in choices:
        raise UnknownChoiceError(what, name, choices)


def chosen(what: str, name: str, table: Mapping[str, T]) -> T:
    """What a table has under a name; see :func:`check_choice`."""
    check_choice(what, name, table)
    return table[name]


class TreeError(InputError):
    """Brackets or a pattern that cannot be read as a tree."""


class FormatError(PolysemaError):
    """A file is not what it should be."""


class CorpusError(PolysemaError):
    """Text that cannot be read."""


class OutputError(PolysemaError):
    """What cannot be written."""


class DataError(PolysemaError):
    """An evaluation set is missing, is not what was published, or cannot be read."""


def install_command(extra: str) -> str:
    """The command that installs an extra: from the folder or wheel that pip found polysema in, else from the index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    with suppress(PackageNotFoundError, ValueError):  # pip notes what was not from an index (PEP 610)
        source = urlsplit(json.loads(distribution("polysema").read_text("direct_url.json") or "{}").get("url", ""))
        if source.scheme == "file":
            where = url2pathname(source.path)
            return f"pip install '{'.' if Path(where) == Path.cwd() else where}[{extra}]'"
    return f"pip install 'polysema[{extra}]'"


class MissingExtraError(PolysemaError, ImportError):
    """An optional part of polysema is not installed."""

    def __init__(self, what: str, extra: str, command: str = "") -> None:
        self.extra = extra
        self.command = command or install_command(extra)
        super().__init__(f"{what} needs an optional part: {self.command}")


@contextmanager
def needing(what: str, extra: str = "", command: str = "") -> Iterator[None]:
    """Around the import of an optional library: where it is missing, an error says what to install.

    >>> with needing("a picture", "plots"):  # doctest: +ELLIPSIS
    ...     import a_library_that_is_not_installed
    Traceback (most recent call last):
    polysema.errors.MissingExtraError: a picture needs an optional part: pip install '...[plots]'
    """
    try:
        yield
    except ImportError:
        raise MissingExtraError(what, extra, command) from None


@dataclass(frozen=True, slots=True)
class Failed:
    """What a call that takes many inputs gives for one that failed: the ``input``, and the ``error`` that says why."""

    input: Any
    error: PolysemaError

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        return {"input": str(self.input), "error": str(self.error)}

    def __repr__(self) -> str:
        return f"Failed({self.input!r}: {self.error})"


def closest(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known spellings nearest to ``word``, nearest first.

    Only words that share a first letter and are of similar length are compared, so that a look-up in a
    large vocabulary stays quick.
    """
    if not word:
        return []
    near = [other for other in known if abs(len(other) - len(word)) <= 2 and other[:1].lower() == word[0].lower()]
    swapped = [other for other in near if sorted(other) == sorted(word)]  # *bnak* for *bank*
    return [*dict.fromkeys([*swapped, *get_close_matches(word, near, n=most, cutoff=0.7)])][:most]


def _unpickled(kind: type[PolysemaError], args: tuple[Any, ...], attributes: dict[str, Any]) -> PolysemaError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


def listed(names: Iterable[object], conjunction: str) -> str:
    """Names in a sentence: *a, b or c*."""
    found = [str(name) for name in names]
    if len(found) < 2:
        return "".join(found)
    return f"{', '.join(found[:-1])} {conjunction} {found[-1]}"
