"""Files of one token a line: where the word, its lemma and its tag stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polysema.errors import CorpusError, check_choice

TOKENS = {
    "form": "the word as it stands",
    "lemma": "its dictionary form",
    "lemma_pos": "its dictionary form and part of speech, as in bank_NN",
}
"""What to take of a token."""

_NAMES = ("form", "lemma", "tag", "other")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are taken, from 0; −1 for none.

    Attributes:
        token: the word or lemma.
        fallback: what stands in for a lemma that is not known.
        tag: the part of speech to add.
        number: the token's number, by which CoNLL-U marks what is no token.
        markup: lines such as ``<s>`` are marks.
        comments: lines that start with # are left out.
    """

    token: int
    fallback: int = -1
    tag: int = -1
    number: int = -1
    markup: bool = False
    comments: bool = False


WHOLE_LINES = Columns(token=-1)
"""A token a line and nothing else; an empty line ends a sentence."""


def recognise_columns(
    name: str, start: bytes, format: str, columns: Sequence[str] | None, token: str
) -> Columns | None:
    """The columns of a file by its first bytes; None for running text.

    Args:
        name: of the source, for messages.
        format: "auto", "text", "vertical" or "conllu".
        columns: the columns' names, where the caller knows them.
        token: what to take, see ``TOKENS``.
    """
    check_choice("token", token, TOKENS)
    lines = start.decode("utf-8", "replace").split("\n")
    if len(lines) > 1:
        lines.pop()  # the last may be cut
    lines = [line.rstrip("\r ") for line in lines[:2000]]
    if format == "auto":
        format = "vertical" if columns else _guess(name, lines)
    if format == "conllu":
        return _conllu(token)
    if format == "vertical":
        return _vertical(name, lines, columns, token)
    if token != "form":
        raise CorpusError(f"{name}: running text has no lemmas to take: use --lemmatise, or a vertical or CoNLL-U file")
    return None


def _guess(name: str, lines: list[str]) -> str:
    rows = [line.split("\t") for line in lines if line and not line.startswith(("#", "<"))]
    if rows and all(len(row) == 10 and re.match(r"\d+([.-]\d+)?$", row[0]) for row in rows):
        return "conllu"
    marks = any(re.match(r"</?(s|p|text|doc|corpus)\b[^\t]*>$", line) for line in lines)
    if marks and rows and sum(len(row) > 1 for row in rows) > 0.9 * len(rows):
        return "vertical"
    return "text"


def _conllu(token: str) -> Columns:
    if token == "form":
        return Columns(token=1, number=0, comments=True)
    return Columns(token=2, fallback=1, tag=3 if token == "lemma_pos" else -1, number=0, comments=True)


def _vertical(name: str, lines: list[str], columns: Sequence[str] | None, token: str) -> Columns:
    names = list(columns) if columns else _guess_columns(lines)
    for column in names:
        check_choice("column", column, _NAMES)
    missing = {"form": ["form"], "lemma": ["lemma"], "lemma_pos": ["lemma", "tag"]}[token]
    for column in missing:
        if column not in names:
            raise CorpusError(
                f"{name}: its columns are {', '.join(names) or 'not clear'}: there is no {column} among them"
            )
    form = names.index("form") if "form" in names else -1
    taken = names.index("form" if token == "form" else "lemma")
    return Columns(taken, form, names.index("tag") if token == "lemma_pos" else -1, markup=True)


def _guess_columns(lines: list[str]) -> list[str]:
    """Form first; of the next two, the one that looks like tags (short, upper case, few different ones) is the tag.

    ukWaC has form, tag, lemma; Wackypedia has form, lemma, tag and then the parse.
    """
    rows = [line.split("\t") for line in lines if "\t" in line and not line.startswith("<")]
    rows = [row for row in rows if len(row) >= 3]
    if not rows:
        return ["form"]
    tagged = [sum(bool(re.match(r"[A-Z$]{1,5}[$\d]?$", row[i])) for row in rows) for i in (1, 2)]
    return ["form", "tag", "lemma"] if tagged[0] >= tagged[1] else ["form", "lemma", "tag"]
