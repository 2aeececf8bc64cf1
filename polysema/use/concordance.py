"""A keyword in context, grouped by sense, or ranked by a gloss."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from typing import Any

import numpy as np

from polysema.errors import InputError, check_choice
from polysema.meanings.results import Record, Results
from polysema.senses.dictionary_files import POS
from polysema.use.tagged import Corpus, Uses, opened

SORTS = {
    "both": "the clearest of each sense, then the most doubtful", "clear": "the clearest first",
    "doubtful": "the most doubtful first", "left": "by the words before", "right": "by the words after",
    "date": "by date", "text": "as in the text",
}  # fmt: skip
"""Orders of the lines of a sense."""

UNEXPLAINED = "none of these"
"""The group of uses that no sense explains."""

_FORMULA = "=+-@\t\r"
_NEIGHBOUR = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Line(Record):
    """A use of the word."""

    left: str  # the sentence before the word
    form: str
    right: str
    key: str  # the likeliest sense
    p: float  # its probability
    like: float | None  # ⟨g, c⟩ of the gloss asked for; None without one
    group: str  # where it is listed: a sense key, or :data:`UNEXPLAINED`
    document: str  # where it comes from
    date: str  # "" where it is not known


@dataclass(frozen=True, slots=True)
class Group(Record):
    """The uses of one sense."""

    key: str  # the sense, :data:`UNEXPLAINED`, or with ``like`` what was asked for
    gloss: str  # its definition
    uses: int  # how many there are; ``lines`` may be fewer
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Concordance(Record):
    """The uses of a word, sense by sense, the most frequent first; iterating gives lines."""

    word: str
    groups: tuple[Group, ...]

    def __iter__(self) -> Iterator[Line]:
        return (line for group in self.groups for line in group.lines)

    def __len__(self) -> int:
        return sum(len(group.lines) for group in self.groups)

    def to_frame(self, library: str = "pandas") -> Any:
        """A row a line."""
        return Results(self).to_frame(library)

    def to_csv(self) -> str:
        """A row a line. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(Line.__match_args__)
        for line in self:
            cells = line.to_dict().values()
            writer.writerow([f"'{c}" if isinstance(c, str) and c[:1] in _FORMULA and c else c for c in cells])
        return stream.getvalue()

    def to_html(self) -> str:
        """A page without scripts."""
        head = "<!DOCTYPE html><meta charset='utf-8'><meta name='generator' content='polysema'>"
        return f"{head}<title>{escape(self.word)}</title>{self.tables()}"

    def tables(self) -> str:
        """A table a sense, as HTML."""
        parts = []
        for group in self.groups:
            rows = "".join(
                f"<tr><td style='text-align:right'>{escape(line.left[-70:])}</td><td><b>{escape(line.form)}</b></td>"
                f"<td style='text-align:left'>{escape(line.right[:70])}</td><td>{line.p:.2f}</td>"
                f"<td>{escape(line.date or line.document)}</td></tr>"
                for line in group.lines
            )
            head = f"<b>{escape(group.key)}</b> {escape(group.gloss)} ({group.uses:,})"
            parts.append(f"<p>{head}</p><table style='white-space:nowrap'>{rows}</table>")
        return "".join(parts)


def concordance(
    word: str, corpus: Corpus, *, pos: str | None = None, like: str | None = None, sense: str | None = None,
    sort: str = "both", top: int | None = 6, left: str | None = None, right: str | None = None,
    since: str | None = None, until: str | None = None, p: tuple[float, float] = (0.0, 1.0), dictionary: Any = None,
) -> Concordance:  # fmt: skip
    """The uses of a word, grouped by sense.

    Args:
        word: a lemma, in any form, or an entry of several words; all its forms are found.
        corpus: text, or a tagged folder.
        like: a gloss in plain words or a sense key: one group, ranked by ⟨g, c⟩.
        sense: show this sense key alone.
        sort: one of :data:`SORTS`.
        top: lines of each sense; None for all.
        left, right: the word before or after; ``*`` stands for any letters.
        since, until: dates, such as ``1830``; the second counts as a whole: ``1839`` includes its December.
        p: the least and the largest probability of the likeliest sense.
    """
    check_choice("order", sort, SORTS)
    tagged = opened(corpus, [word], dictionary, pos)
    uses = tagged.uses(word, pos)
    file = tagged.dictionary.file
    best = uses.p.argmax(axis=1)
    keys = [file.key(row) for row in uses.rows.tolist()]
    near = None
    if like is not None:
        if uses.vectors is None:
            raise InputError("--like needs vectors: tag the text without --no-vectors")
        near = uses.vectors @ _gloss(uses, word, like, keys, pos)
    lines = []
    for i in range(len(uses)):
        text, start, end = uses.context(i)
        document = tagged.documents[uses.document[i]]
        key, group = keys[best[i]], keys[best[i]] if uses.fits[i] else UNEXPLAINED
        if like is not None:
            group = like
        date = document.facts.get("date", document.facts.get("year", ""))
        share = float(uses.p[i, best[i]])
        line = Line(
            text[:start], text[start:end], text[end:], key, share, None if near is None else float(near[i]), group,
            document.name, date,
        )  # fmt: skip
        if p[0] <= share <= p[1] and _kept(line, left, right, since, until):
            lines.append(line)
    if sense is not None:
        check_choice("sense", sense, [*keys, UNEXPLAINED])
        lines = [line for line in lines if line.group == sense]
    if not lines and sense == UNEXPLAINED:
        raise InputError(f"every use of {word!r} asked for is explained by one of its senses")
    if not lines:
        raise InputError(f"no use of {word!r} is left: ask for fewer conditions")
    glosses = {key: file.text(int(file.synset_of[row])).gloss for key, row in zip(keys, uses.rows, strict=True)}
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.group, []).append(line)
    sort = sort if like is None else "like"
    return Concordance(word, tuple(
        Group(key, glosses.get(key, ""), len(groups[key]), tuple(_sorted(groups[key], sort, top)))
        for key in sorted(groups, key=lambda key: (key == UNEXPLAINED, -len(groups[key])))
    ))  # fmt: skip


def _gloss(uses: Uses, word: str, like: str, keys: list[str], pos: str | None) -> Any:
    """g of a sense key or of a gloss in plain words: (n,)."""
    dictionary = uses.corpus.dictionary
    if "%" in like:
        check_choice("sense", like, keys)
        return dictionary.file.unit_vectors(uses.rows[[keys.index(like)]])[0]
    if not like.strip():
        raise InputError("an empty gloss: describe the sense in plain words")
    if pos is None:  # glosses are read with their part of speech: that of most uses
        parts = dictionary.file.pos[dictionary.file.synset_of[uses.rows[uses.p.argmax(axis=1)]]]
        pos = POS[int(np.bincount(parts).argmax())]
    return dictionary.encoder.glosses([f"{pos}. {word}: {like}"])[0]


def _kept(line: Line, left: str | None, right: str | None, since: str | None, until: str | None) -> bool:
    for pattern, text, at in ((left, line.left, -1), (right, line.right, 0)):
        words = _NEIGHBOUR.findall(text) if pattern is not None else []
        if pattern is not None and not (words and fnmatchcase(words[at].lower(), pattern.lower())):
            return False
    is_late = since is None or line.date >= since
    return is_late and (until is None or "" < line.date[: len(until)] <= until)


def _sorted(lines: list[Line], sort: str, top: int | None) -> list[Line]:
    most = len(lines) if top is None else top
    by: dict[str, Any] = {
        "like": lambda line: -(line.like or 0.0),
        "left": lambda line: [word.lower() for word in _NEIGHBOUR.findall(line.left)[::-1]],
        "right": lambda line: [word.lower() for word in _NEIGHBOUR.findall(line.right)],
        "date": lambda line: (line.date, line.document),
        "text": lambda line: 0,
    }
    found = sorted(lines, key=by.get(sort, lambda line: -line.p))
    if sort == "doubtful":
        found.reverse()
    doubtful = min(most // 2, max(len(found) - most, 0)) if sort == "both" else 0
    return found[: most - doubtful] + found[len(found) - doubtful :]
