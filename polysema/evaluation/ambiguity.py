"""Does a word's entropy tell how ambiguous it is? (paper, §5.3)

The von Neumann entropy of a word's density matrix is held against the number of WordNet synsets it belongs to.
Frequent words have more synsets and, in most models, more entropy, so the correlation is given with frequency
partialled out too.

Sense counts come from a table of WordNet 3.0's 83,118 single words with their numbers of synsets by part of speech, as
its ``index.*`` files state them; its licence lies beside it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema import measures
from polysema.density import DensityMatrix
from polysema.errors import InputError
from polysema.evaluation.statistics import partial, pearson, ranks
from polysema.lexicon.lexicon import Lexicon
from polysema.meanings.neighbours import blocks


@dataclass(frozen=True, slots=True)
class Bin:
    """The words with a number of synsets."""

    synsets: float  # the number; in the last bin, the mean of the numbers
    words: int  # how many words there are
    entropy: float  # their mean entropy
    error: float  # the standard error of that mean


@dataclass(frozen=True, slots=True)
class AmbiguityCorrelation:
    """How entropy goes with the number of synsets."""

    pearson: float  # Pearson's r
    spearman: float  # Spearman's ρ
    # r with the logarithm of the word's count partialled out; None where counts are unknown
    pearson_given_frequency: float | None
    # ρ with the rank of the word's count partialled out; None where counts are unknown
    spearman_given_frequency: float | None
    words: int  # how many words of the lexicon WordNet knows
    bins: tuple[Bin, ...]  # mean entropy by number of synsets, as in the paper's figure 1

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON holds them."""
        return asdict(self)


_SMALLEST = 10  # numbers of synsets that fewer words have, at the upper end, share a bin


def ambiguity_correlation(lexicon: Lexicon) -> AmbiguityCorrelation:
    """Correlate the entropy of words with their numbers of WordNet synsets."""
    if lexicon.kind != "matrices":
        raise InputError("this lexicon holds vectors: entropy needs density matrices")
    counts = lexicon.vocabulary.counts
    synsets = np.array(sense_counts(lexicon.vocabulary.words))
    rows = np.flatnonzero(synsets > 0)
    entropies = _entropies(lexicon, rows)
    known = np.isfinite(entropies)
    rows, entropy = rows[known], entropies[known]
    if len(rows) < 3:
        raise InputError(f"WordNet knows {len(rows)} words of this lexicon: a correlation needs at least three")
    senses, seen = synsets[rows].astype(np.float64), counts[rows]
    by_rank = ranks(entropy), ranks(senses)
    counted = bool((seen > 0).all())
    return AmbiguityCorrelation(
        pearson(entropy, senses),
        pearson(*by_rank),
        partial(entropy, senses, np.log(seen)) if counted else None,
        partial(*by_rank, ranks(seen.astype(np.float64))) if counted else None,
        len(rows),
        _bins(senses, entropy),
    )


def _entropies(lexicon: Lexicon, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The entropy of some words; NaN where a word's numbers make no density matrix."""
    found = np.full(len(rows), np.nan)
    for part in blocks(len(rows), 8192):
        factors = np.asarray(lexicon.factors[rows[part]], dtype=np.float64)
        usable = np.isfinite(factors).all(axis=(1, 2)) & factors.any(axis=(1, 2))
        if usable.any():
            found[part.start + np.flatnonzero(usable)] = measures.entropy(DensityMatrix(factors[usable]))
    return found


def _bins(senses: NDArray[np.float64], entropy: NDArray[np.float64]) -> tuple[Bin, ...]:
    """One bin a number of synsets, up to the first that too few words have; the rest in one."""
    numbers, sizes = np.unique(senses, return_counts=True)
    few = np.flatnonzero(sizes < _SMALLEST)
    last = numbers[few[0]] if len(few) else np.inf
    bins = []
    for members in [*(senses == number for number in numbers if number < last), senses >= last]:
        if members.any():
            values = entropy[members]
            error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            bins.append(Bin(float(senses[members].mean()), len(values), float(values.mean()), error))
    return tuple(bins)


# -------------------------------------------------------------------------------------------------------- sense counts


@cache
def table() -> dict[str, tuple[int, int, int, int]]:
    """The shipped table: a word's number of synsets as noun, verb, adjective and adverb."""
    text = gzip.decompress((files(__package__) / "wordnet" / "senses.tsv.gz").read_bytes()).decode()
    found = {}
    for line in text.splitlines():
        word, noun, verb, adjective, adverb = line.split("\t")
        found[word] = (int(noun), int(verb), int(adjective), int(adverb))
    return found


def sense_counts(words: Iterable[str]) -> list[int]:
    """The number of synsets of each word over all parts of speech; 0 for words that are no WordNet lemma.

    >>> sense_counts(["run", "bank", "bright", "qwerty"])
    [57, 18, 11, 0]
    """
    known = table()
    return [sum(known.get(word.lower(), ())) for word in words]
