"""How far the meaning of a word moved between periods, which senses moved, and whether text enough was read to tell.

For the uses u of period t with their vectors c_u and posteriors p(s | c_u):

    R_t = mean |c_u⟩⟨c_u|,     m_t = mean c_u,     q_ts = mean p(s | c_u).

:data:`MEASURES` compare these. Documents are resampled for intervals, and shuffled between the periods for the
distribution that no change would give. R_t splits exactly into senses, R_t = Σ_s q_ts V_ts with V_ts the mean of |c⟩⟨c|
over the uses of s, and so does its change:

    R_2 − R_1 = Σ_s Δq_s V̄_s + Σ_s q̄_s ΔV_s,

weights that moved and meanings that moved; bars are means of both periods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.errors import Failed, InputError, PolysemaError, check_choice
from polysema.meanings.results import Record, Results
from polysema.progress import Progress, Report, silent
from polysema.use.frequencies import resampled, shares, units, with_interval
from polysema.use.tagged import Context, Corpus, Floats, Tagged, Uses, opened
from polysema.use.text import grouped

LEAST = 5
"""Uses that each period must have."""

MOST = 1000
"""Uses of a period that are compared; of more, so many at equal distances."""

SPLIT = 600
"""Uses of both periods that the split is computed on."""

ABSENT, PRESENT = 0.05, 0.1
"""A sense appeared if its share was at most the one and is at least the other, beyond the interval of its change."""


class Period(NamedTuple):
    """What is compared of a period, for B weightings of the N uses of both."""

    weights: Floats  # (B, N), each with the sum 1
    q: Floats  # (B, s)
    mean: Floats  # (B, n), of length 0 without vectors


Overlaps = Floats
"""⟨c_u, c_v⟩² of all uses of both periods: (N, N)."""


def _matrix(old: Period, new: Period, overlaps: Overlaps) -> Floats:
    """‖R_2 − R_1‖, the Hilbert–Schmidt distance; a use's overlap with itself is left out, so that few uses add nothing.

    tr(R_1 R_2) = Σ_uv w_u w_v ⟨c_u, c_v⟩², and tr(R_t²) is the same sum over u ≠ v, over 1 − Σ_u w_u².
    """
    within = []
    for period in (old, new):
        own = (period.weights**2).sum(axis=1)
        total = ((period.weights @ overlaps) * period.weights).sum(axis=1)
        within.append((total - own) / np.maximum(1 - own, 1e-9))
    between = ((old.weights @ overlaps) * new.weights).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(within[0] + within[1] - 2 * between, 0.0)), np.float64)


def _senses(old: Period, new: Period, _: Overlaps) -> Floats:
    """√JSD(q_1, q_2): the Jensen–Shannon distance of the shares, base 2."""
    middle = (old.q + new.q) / 2
    terms = [(q * np.log2(np.maximum(q, 1e-300) / np.maximum(middle, 1e-300))).sum(axis=1) for q in (old.q, new.q)]
    return np.asarray(np.sqrt(np.clip((terms[0] + terms[1]) / 2, 0.0, 1.0)))


def _uses(old: Period, new: Period, _: Overlaps) -> Floats:
    """1 − ⟨m_1, m_2⟩: the mean distance of a use of one period from one of the other."""
    return np.asarray(1 - (old.mean * new.mean).sum(axis=1))


def _centres(old: Period, new: Period, _: Overlaps) -> Floats:
    """1 − cos(m_1, m_2)."""
    norms = np.linalg.norm(old.mean, axis=1) * np.linalg.norm(new.mean, axis=1)
    return np.asarray(np.maximum(1 - (old.mean * new.mean).sum(axis=1) / np.maximum(norms, 1e-12), 0.0))


USES_SHARE = 0.4
"""How much the distance of uses counts in ``both``: the most, in tenths, with which planted change has ρ ≥ .9."""


def _both(old: Period, new: Period, overlaps: Overlaps) -> Floats:
    """‖R_2 − R_1‖^(1 − u) (1 − ⟨m_1, m_2⟩)^u: the mix moved, and its uses are unlike."""
    apart = np.maximum(_uses(old, new, overlaps), 0.0)
    return np.asarray(_matrix(old, new, overlaps) ** (1 - USES_SHARE) * apart**USES_SHARE, np.float64)


Measure = Callable[[Period, Period, Overlaps], Floats]

MEASURES: dict[str, tuple[str, Measure]] = {
    "both": ("matrix and uses together", _both),
    "matrix": ("distance of the two periods' matrices of uses", _matrix),
    "senses": ("Jensen–Shannon distance of the shares of senses", _senses),
    "uses": ("mean distance of a use of one period from one of the other", _uses),
    "centres": ("1 − cosine of the mean vectors", _centres),
}
"""How far two periods are apart: what it is, and its function. All but ``senses`` need vectors."""

DEFAULT = "both"


@dataclass(frozen=True, slots=True)
class SenseChange(Record):
    """A sense over the periods."""

    key: str
    gloss: str
    shares: tuple[float, ...]  # of each period
    lows: tuple[float, ...]  # their intervals (95 %)
    highs: tuple[float, ...]
    change: float  # the last share less the first
    low: float  # its interval
    high: float
    status: str  # ``appeared``, ``vanished``, ``gained``, ``lost``, or "" where the interval holds 0
    examples: tuple[tuple[Context, ...], ...]  # of each period clear uses


@dataclass(frozen=True, slots=True)
class Split(Record):
    """Where a change comes from: Hilbert–Schmidt norms of its two parts, and what shuffled periods give (95 %)."""

    weights: float  # ‖Σ_s Δp_s V̄_s‖, senses used more or less
    meanings: float  # ‖Σ_s p̄_s ΔV_s‖, senses used in other contexts
    product: float  # the inner product of the two parts
    total: float  # ‖R_2 − R_1‖
    weights_null: float
    meanings_null: float


@dataclass(frozen=True, slots=True)
class WordChange(Record):
    """How far a word moved from the first period to the last."""

    word: str
    pos: str | None
    change: float  # by the measure asked for
    low: float  # its interval (95 %), by resampling documents
    high: float
    null: float  # what shuffled periods stay below, 95 of 100
    p: float  # how often shuffled periods are at least as far apart
    measures: dict[str, float]  # the change by every measure
    periods: tuple[str, ...]  # their names
    uses: tuple[int, ...]  # of each period
    documents: tuple[int, ...]
    senses: tuple[SenseChange, ...]  # largest change first
    split: Split | None  # None where it was not asked for

    @property
    def changed(self) -> bool:
        """Whether shuffled periods are rarely as far apart: p ≤ .05."""
        return self.p <= 0.05

    @property
    def new_senses(self) -> bool:
        """Whether a sense appeared or vanished."""
        return any(sense.status in ("appeared", "vanished") for sense in self.senses)

    def to_row(self) -> dict[str, Any]:
        """For a table."""
        names = ("word", "change", "low", "high", "null", "p", "changed", "new_senses")
        moved = next((f"{sense.status} {sense.key}" for sense in self.senses if sense.status), "")
        used = {f"uses {name}": count for name, count in zip(self.periods, self.uses, strict=True)}
        return {**{name: getattr(self, name) for name in names}, **used, **self.measures, "sense": moved}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**Record.to_dict(self), "changed": self.changed, "new_senses": self.new_senses}

    def plot(self) -> Any:
        """The shares of its senses over the periods, as a figure of matplotlib (extra ``plots``)."""
        from polysema.drawing import shares_of_senses

        series = {
            f"{sense.key} {sense.gloss}": list(zip(sense.shares, sense.lows, sense.highs, strict=True))
            for sense in sorted(self.senses, key=lambda sense: -max(sense.shares))
        }
        return shares_of_senses(series, self.periods, self.word)


class Changes(Results[Any]):
    """The changes of words, the largest first; :class:`~polysema.errors.Failed` for a word that cannot be compared."""

    def to_frame(self, library: str = "pandas") -> Any:
        """A row a word that could be compared."""
        return Results(item for item in self if isinstance(item, WordChange)).to_frame(library)

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON: a row a word."""
        return [
            item.to_dict() if isinstance(item, WordChange) else {"word": item.input, "change": None, **item.to_dict()}
            for item in self
        ]

    def plot(self) -> Any:
        """The trajectory of the word that changed most."""
        best = next((item for item in self if isinstance(item, WordChange)), None)
        if best is None:
            raise InputError("no word could be compared, so there is nothing to draw")
        return best.plot()


def change(
    *corpora: Corpus, words: str | Iterable[str] = (), by: str | None = None, pos: str | None = None,
    measure: str = DEFAULT, dictionary: Any = None, least: int = LEAST, resamples: int = 200,
    split: bool | None = None, seed: int = 0, progress: Report = silent,
) -> Changes:  # fmt: skip
    """How far the meaning of words moved from the first corpus to the last.

    Args:
        corpora: two or more, in the order of time: tagged folders or text; or one that ``by`` divides.
        words: by default all that both periods use often enough, of tagged corpora.
        by: divide one corpus by ``year``, ``decade``, ``century`` or another fact of its documents.
        pos: ``noun``, ``verb``, ``adj`` or ``adv``.
        measure: one of :data:`MEASURES`.
        least: uses that each period must have.
        resamples: of documents for intervals, and shuffled periods for the null distribution.
        split: whether to split the change into weights and meanings; by default for at most 20 words.
    """
    check_choice("measure", measure, MEASURES)
    asked = [words] if isinstance(words, str) else list(words)
    if by is None and len(corpora) < 2:
        raise InputError("a change needs two corpora, an old and a new one, or one with dates and --by year")
    if by is not None and len(corpora) != 1:
        raise InputError(f"{len(corpora)} corpora are periods already: leave out --by {by}, or give one corpus")
    opening = [opened(corpus, asked, dictionary, pos) for corpus in corpora]
    names, divide = _periods(opening, corpora, by)
    if not asked:
        for corpus in opening:
            corpus.index()
        counts = [corpus.word_counts for corpus in opening]
        asked = sorted(word for word in counts[0] if all(own[word] >= max(least, 1) for own in counts))
    several, found = len(asked) > 1, Changes()
    options: dict[str, Any] = {"measure": measure, "resamples": resamples, "seed": seed, "least": least}
    options["split"] = len(asked) <= 20 if split is None else split
    for number, word in enumerate(asked):
        try:
            found.append(compare(word, names, divide(word, pos), pos=pos, **options))
        except PolysemaError as error:
            if not several:
                raise
            if words:
                found.append(Failed(word, error))
        progress(Progress("comparing", number + 1, len(asked), "words"))
    found.sort(key=lambda item: -item.change if isinstance(item, WordChange) else 1)
    return found


def _periods(
    opening: Sequence[Tagged], corpora: Sequence[Corpus], by: str | None
) -> tuple[tuple[str, ...], Callable[[str, str | None], list[Uses | None]]]:
    """The names of the periods, and a function that gives the uses of a word in each; None where there are none."""
    if by is None:
        short = [Path(c).stem if isinstance(c, str | Path) else "" for c in corpora]
        unique = all(short) and len(set(short)) == len(short)
        names = short if unique else [f"period {i + 1}" for i in range(len(corpora))]
        return tuple(names), lambda word, pos: [corpus.found(word, pos) for corpus in opening]
    (corpus,) = opening
    groups = np.array([group or "" for group in grouped(corpus.documents, by)])
    periods = sorted(set(groups.tolist()) - {""}, key=lambda name: (len(name) if name.isdigit() else 0, name))
    if len(periods) < 2:
        raise InputError(f"all documents are of one {by}, {periods[0]}: a change needs two periods")

    def divided(word: str, pos: str | None) -> list[Uses | None]:
        uses = corpus.uses(word, pos)
        own = groups[uses.document]
        return [uses[own == name] if (own == name).any() else None for name in periods]

    return tuple(periods), divided


def compare(
    word: str, names: Sequence[str], found: Sequence[Uses | None], *, pos: str | None = None, measure: str = DEFAULT,
    resamples: int = 200, split: bool = True, seed: int = 0, least: int = LEAST,
) -> WordChange:  # fmt: skip
    """Compare the uses of a word in periods of these names; see :func:`change`."""
    counts = [0 if uses is None else len(uses) for uses in found]
    if min(counts) < least:
        said = ", ".join(f"{count} in {name}" for name, count in zip(names, counts, strict=True))
        raise InputError(f"{word!r} has too few uses to compare ({said}): {least} in each period are needed")
    periods = [uses[_evenly(len(uses), MOST)] for uses in found if uses is not None]
    old, new = periods[0], periods[-1]
    both, count = _joined(old, new), len(old)
    vectors = both.vectors
    usable: dict[str, Measure] = {
        name: row[1] for name, row in MEASURES.items() if vectors is not None or name == "senses"
    }
    if measure not in usable:
        raise InputError(f"the measure {measure} needs vectors: tag the text with them, or choose the measure senses")
    overlaps = np.zeros((0, 0)) if vectors is None else np.square(vectors @ vectors.T)
    rng = np.random.default_rng(seed)

    def periods_of(weights: NDArray[Any]) -> Period:
        share = weights / weights.sum(axis=1, keepdims=True)
        mean = np.zeros((len(share), 0)) if vectors is None else np.asarray(share @ vectors, np.float64)
        return Period(share.astype(np.float32), shares(both, share), mean)

    def apart(function: Measure, first: NDArray[Any], last: NDArray[Any]) -> tuple[Floats, Period, Period]:
        one, other = periods_of(first), periods_of(last)
        return function(one, other, overlaps), one, other

    mine = np.arange(len(both)) < count
    exact = periods_of(mine[None]), periods_of(~mine[None])
    measures = {name: float(function(*exact, overlaps)[0]) for name, function in usable.items()}
    value = measures[measure]
    drawn = [np.zeros((resamples, len(both)), np.float32) for _ in range(2)]
    drawn[0][:, mine], drawn[1][:, ~mine] = (resampled(units(uses), resamples, rng) for uses in (old, new))
    spread, *drawn_periods = apart(usable[measure], *drawn)
    null, *exchanged = apart(usable[measure], *_shuffled(old, new, resamples, rng))
    low, high = np.quantile(spread, [0.025, 0.975])
    p = (1 + int((null >= value - 1e-9).sum())) / (1 + len(null))
    return WordChange(
        word, pos, value, max(2 * value - float(high), 0.0), max(2 * value - float(low), 0.0),
        float(np.quantile(null, 0.95)), p, measures, tuple(names), tuple(counts),
        tuple(len(np.unique(uses.document)) for uses in found if uses is not None),
        _senses_of(periods, drawn_periods, exchanged, seed),
        _split(old, new, rng) if split and old.vectors is not None else None,
    )  # fmt: skip


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most so many numbers below ``count``, at equal distances."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def _joined(old: Uses, new: Uses) -> Uses:
    """The uses of two periods, to be divided anew."""
    vectors = None if old.vectors is None or new.vectors is None else np.concatenate([old.vectors, new.vectors])
    names = ("p", "fits", "document", "place")
    joined = {name: np.concatenate([getattr(old, name), getattr(new, name)]) for name in names}
    return Uses(old.word, old.rows, vectors=vectors, corpus=old.corpus, **joined)


def _shuffled(old: Uses, new: Uses, times: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which uses of both fall into the first and the last period when documents are shuffled: (times, N) each."""
    first, last = units(old), units(new)
    unit, count = np.concatenate([first, first.max() + 1 + last]), int(first.max()) + 1
    total = count + int(last.max()) + 1
    chosen = np.zeros((times, total), np.float32)
    for row in chosen:
        row[rng.permutation(total)[:count]] = 1
    return chosen[:, unit], (1 - chosen)[:, unit]


def _senses_of(
    periods: Sequence[Uses], drawn: Sequence[Period], exchanged: Sequence[Period], seed: int
) -> tuple[SenseChange, ...]:
    """Every sense over the periods.

    A sense moved if the interval of its change by resampled documents (``drawn``) is on one side of 0, and the change
    is larger than in 95 of 100 shuffles (``exchanged``).
    """
    file, rows = periods[0].corpus.dictionary.file, periods[0].rows
    share, low, high = (np.array(part) for part in zip(*(with_interval(u, seed=seed) for u in periods), strict=True))
    lows, highs = np.quantile(drawn[1].q - drawn[0].q, [0.025, 0.975], axis=0)
    usual = np.quantile(np.abs(exchanged[1].q - exchanged[0].q), 0.95, axis=0)
    found = []
    for k, row in enumerate(rows.tolist()):
        first, last = float(share[0, k]), float(share[-1, k])
        status = ""
        if abs(last - first) <= usual[k]:
            pass
        elif lows[k] > 0:
            status = "appeared" if first <= ABSENT and last >= PRESENT else "gained"
        elif highs[k] < 0:
            status = "vanished" if last <= ABSENT and first >= PRESENT else "lost"
        shown = share[:, k].max() >= 0.02
        examples = tuple(_examples(uses, k) if shown else () for uses in periods)
        found.append(
            SenseChange(
                file.key(row), file.text(int(file.synset_of[row])).gloss, tuple(share[:, k].tolist()),
                tuple(low[:, k].tolist()), tuple(high[:, k].tolist()), last - first, float(lows[k]), float(highs[k]),
                status, examples,
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda sense: (-abs(sense.change), sense.key)))


def _examples(uses: Uses, sense: int, most: int = 2) -> tuple[Context, ...]:
    """Uses where a sense is clear: likely ones first, of those in short sentences."""
    p = uses.p[:, sense]
    likely = [i for i in np.argsort(-p, kind="stable")[: 6 * most].tolist() if p[i] > 0.5]
    return tuple(
        sorted(dict.fromkeys(uses.context(i) for i in likely), key=lambda found: abs(len(found.text) - 100))[:most]
    )


def _split(old: Uses, new: Uses, rng: np.random.Generator, times: int = 100) -> Split:
    """The two parts of R_2 − R_1; see the top of this module.

    Both are sums Σ_u α_u |c_u⟩⟨c_u|, so that their products are those of α with K, K_uv = ⟨c_u, c_v⟩². A sense with
    less than one use in a period has no vectors there: it is given those of the other.
    """
    old, new = (uses[_evenly(len(uses), SPLIT // 2)] for uses in (old, new))
    both = _joined(old, new)
    assert both.vectors is not None
    kernel = np.square(both.vectors @ both.vectors.T).astype(np.float64)

    def parts(first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        weights, shares_ = [], []
        for mine in (first, ~first):
            p = both.p * mine[:, None]
            mass = p.sum(axis=0)
            p = p * ((mass >= 1) | (mass == mass.max()))
            p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
            p *= mine[:, None]
            shares_.append(p.sum(axis=0) / mine.sum())
            weights.append(p / np.maximum(p.sum(axis=0), 1e-300))
        for a, b in ((0, 1), (1, 0)):
            missing = shares_[a] == 0
            weights[a][:, missing] = weights[b][:, missing]
        moved = (weights[0] + weights[1]) / 2 @ (shares_[1] - shares_[0])
        return moved, (weights[1] - weights[0]) @ ((shares_[0] + shares_[1]) / 2)

    def norm(a: Floats, b: Floats) -> float:
        return float(np.sqrt(max(a @ kernel @ b, 0.0)))

    weights, meanings = parts(np.arange(len(both)) < len(old))
    chosen, _ = _shuffled(old, new, times, rng)
    null = np.array([[norm(part, part) for part in parts(row > 0)] for row in chosen if 0 < row.sum() < len(row)])
    total = weights + meanings
    limits = np.quantile(null, 0.95, axis=0) if len(null) else np.zeros(2)
    return Split(
        norm(weights, weights), norm(meanings, meanings), float(weights @ kernel @ meanings), norm(total, total),
        float(limits[0]), float(limits[1]),
    )  # fmt: skip
