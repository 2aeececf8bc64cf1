"""Are the probabilities of senses what they say, and when is the answer "none of these"?

    python benchmarks/calibration.py CORPUS [LEXICON] [--plot calibration.png] [--words 600] [--seed 1]

*Two words as one.* Words of one sense are made one in pairs of like frequency; at each occurrence in CORPUS of either
the lexicon is asked which of the two stood there, by p(k | c) with the two words' vectors for senses and their shares
of the occurrences for weights. The lexicon was never trained on such pairs. Accuracy, log loss and the expected
calibration error in 15 bins, beside those of the shares alone; the picture shows the share that is right by how sure
the answer is.

*None of these.* A word with several senses loses one of them, in turn. Occurrences are those that the whole lexicon is
sure about (p ≥ 0.9): those of the sense that is hidden should fit none of the others. ``caught`` is how many do, by
how many occurrences of the senses that stay are turned away (``false alarms``); the threshold is a word's own.

Half of the occurrences of each word set its thresholds, the other half is counted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measure import auc, machine, options, table
from numpy.typing import NDArray

import polysema as ps
from polysema.corpus.corpus import Corpus
from polysema.corpus.normalisation import is_content
from polysema.lexicon.lexicon import with_matrices
from polysema.meanings.context_model import USUAL, cosines, directions, log_evidence, softmax
from polysema.senses.inventory import Occurrences, Seen

Array = NDArray[np.float64]
ALARMS = (0.02, 0.05, 0.1, 0.2)


BINS = 15


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Σ_b |mean confidence − share that is right| · (share of answers), over bins b of equal width (Naeini 2015).

    >>> calibration_error(np.array([0.9, 0.9]), np.array([True, False]))
    0.4
    """
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, confidence - right, BINS)
    return float(np.abs(gaps).sum() / len(right))


def main() -> None:
    """Print two tables, and draw one picture."""
    chosen = options(__doc__, "corpus", "[lexicon]", plot=Path, words=600, occurrences=100, seed=1)
    lexicon = with_matrices(ps.load(chosen.lexicon), "calibration")
    corpus = Corpus(chosen.corpus)
    rng = np.random.default_rng(chosen.seed)
    counts = (lexicon.factors != 0).any(axis=1).sum(axis=1)
    content = np.array(is_content(lexicon.vocabulary.words), bool) & (lexicon.vocabulary.counts >= 200)
    content &= np.array([word in corpus.vocabulary for word in lexicon.vocabulary.words])
    one, several = (np.flatnonzero(content & wanted) for wanted in (counts == 1, counts > 1))
    first = np.sort(rng.choice(one[:-20], chosen.words, replace=False))
    place = np.searchsorted(one, first)
    second = one[place + rng.integers(1, 20, len(first))]
    many = np.sort(rng.choice(several, chosen.words, replace=False))
    drawn = np.unique(np.concatenate([first, second, many]))
    seen = Occurrences(lexicon, corpus, most=chosen.occurrences, words=drawn, seed=chosen.seed)
    own = {int(row): seen.of(int(row), int(row) + 1)[0] for row in drawn}
    told, prior, right = two_as_one(
        lexicon, [(own[a], own[b], a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    )
    truth = np.arange(len(right)), right
    print(f"{lexicon!r}, {len(right):,} occurrences of {len(first)} pairs of words; {machine()}\n")
    rows = []
    for name, p in (("contexts", told), ("shares alone", prior)):
        hit = p.argmax(axis=1) == right
        figures = hit.mean(), -np.log(np.maximum(p[truth], 1e-300)).mean(), calibration_error(p.max(axis=1), hit)
        rows.append([name, *(f"{x:.3f}" for x in figures)])
    print(table(["by", "accuracy", "log loss", "calibration error"], rows), "\n")
    caught, alarms, area = none_of_these(lexicon, {row: own[row] for row in many.tolist()})
    print(f"none of these: {len(many)} words, AUC {area:.3f}\n")
    listed = zip(ALARMS, alarms, caught, strict=True)
    print(table(["false alarms asked", "false alarms", "caught"], [[f"{x:.3f}" for x in row] for row in listed]))
    if chosen.plot is not None:
        draw(told, right, chosen.plot)


def sense_vectors(lexicon: ps.Lexicon, row: int) -> tuple[Array, Array]:
    """The weights (k,) and unit vectors (k, n) of a word's senses."""
    b = lexicon.factors[row].astype(np.float64).T
    p = (b * b).sum(axis=1)
    return p[p > 0] / p.sum(), b[p > 0] / np.sqrt(p[p > 0])[:, None]


def two_as_one(lexicon: ps.Lexicon, pairs: list[tuple[Seen, Seen, int, int]]) -> tuple[Array, Array, NDArray[np.int64]]:
    """p(k | c) and p_k, (occurrences, 2), and which of the two words stood there."""
    formula = lexicon.parts.context_model or USUAL
    told, prior, right = [], [], []
    for first, second, a, b in pairs:
        vectors = np.concatenate([sense_vectors(lexicon, a)[1], sense_vectors(lexicon, b)[1]])
        sizes = np.array([len(first.positions), len(second.positions)], np.float64)
        contexts, amounts = (
            np.concatenate([first.contexts, second.contexts]),
            np.concatenate([first.amounts, second.amounts]),
        )
        shares = sizes / sizes.sum()
        evidence = log_evidence(cosines(directions(shares, vectors, formula), contexts), amounts, formula)
        told.append(softmax(np.log(shares) + evidence))
        prior.append(np.tile(shares, (len(contexts), 1)))
        right.append(np.repeat([0, 1], sizes.astype(int)))
    return np.concatenate(told), np.concatenate(prior), np.concatenate(right)


def none_of_these(lexicon: ps.Lexicon, own: dict[int, Seen]) -> tuple[list[float], list[float], float]:
    """The shares that are caught and turned away at each threshold, and the area under that curve."""
    formula = lexicon.parts.context_model or USUAL
    hidden, kept = [], []  # how far an occurrence stands in its word's own distribution
    for row, seen in own.items():
        weights, vectors = sense_vectors(lexicon, row)
        evidence = log_evidence(cosines(directions(weights, vectors, formula), seen.contexts), seen.amounts, formula)
        p = softmax(np.log(weights) + evidence)
        near = cosines(vectors, seen.contexts)
        half = np.arange(len(p)) % 2 == 0
        usual = np.sort(near.max(axis=1)[half])
        for k in range(len(weights)):
            rest = np.delete(near, k, axis=1).max(axis=1)
            stands = np.searchsorted(usual, rest) / max(len(usual), 1)
            sure = (p.max(axis=1) >= 0.9) & ~half
            hidden.append(stands[sure & (p.argmax(axis=1) == k)])
            kept.append(stands[sure & (p.argmax(axis=1) != k)])
    gone, stay = np.concatenate(hidden), np.concatenate(kept)
    area = auc(-np.concatenate([gone, stay]), np.arange(len(gone) + len(stay)) < len(gone))
    return [float((gone < a).mean()) for a in ALARMS], [float((stay < a).mean()) for a in ALARMS], area


def draw(told: Array, right: NDArray[np.int64], path: Path) -> None:
    """The share that is right by how sure the answer is, and how many answers are so sure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sure, hit = told.max(axis=1), told.argmax(axis=1) == right
    bins = np.minimum(((sure - 0.5) * 20).astype(int), 9)
    used = [b for b in range(10) if (bins == b).sum() >= 30]
    x, y = ([float(values[bins == b].mean()) for b in used] for values in (sure, hit))
    figure, (top, below) = pyplot.subplots(2, 1, figsize=(5, 6), height_ratios=[3, 1], sharex=True)
    top.plot([0.5, 1], [0.5, 1], color="0.6", linestyle=":", label="as sure as it is right")
    top.plot(x, y, marker="o", color="#0b6e99", label="the model that ships")
    top.set_ylabel("share that is right")
    top.legend(frameon=False)
    below.bar(
        np.array([0.525 + 0.05 * b for b in range(10)]),
        np.bincount(bins, minlength=10) / len(bins),
        width=0.045,
        color="#0b6e99",
    )
    below.set(xlabel="probability of the answer", ylabel="share of answers", xlim=(0.5, 1.0))
    figure.suptitle(f"Two words as one: {len(sure):,} occurrences")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
