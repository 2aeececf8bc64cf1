"""How well a measure tells how ambiguous words are, beyond how frequent they are.

    python benchmarks/ambiguity.py LEXICON [--min-count 60]

Two questions, asked of two halves of the words, drawn by a seed: one to choose on, one to report.

- ρ given frequency: Spearman's ρ with the number of WordNet synsets, the rank of the count partialled out;
- AUC: how often a homograph stands above a word of one synset that is as frequent (the four nearest in frequency).

LEXICON is a folder that `polysema describe` has written, so that it knows what contexts tell.
"""

from __future__ import annotations

import numpy as np
from measure import auc, machine, options, table
from numpy.typing import NDArray

from polysema import load
from polysema.evaluation.ambiguity import sense_counts
from polysema.evaluation.statistics import partial, ranks
from polysema.lexicon.lexicon import ranking, with_matrices

Array = NDArray[np.float64]

_LISTED = """
bank bark bass bat bolt bow boxer cabinet capital cell charge chest chip club coach column compound conductor court
crane cricket current date deck draft drill duck fair fan figure file fine fire fly frame game gear grade grave ground
iron jam key lap lead left letter lie light line log mass match mercury mine minor mint mole mouse nail note novel nut
organ palm park patient pen perch pipe pitch plane plant plate pole pool port post pound press pupil race racket
record ring rock root row ruler sage saw scale seal season second sentence sewer shed ship sink slip slug sole
solution spring squash stable staff stall star state steer stick stock strike stroke suit table tank tear term tie tip
tire toast toll train trip trunk vessel volume watch wave well wind yard yarn
"""
HOMOGRAPHS = _LISTED.split()


def main() -> None:
    """Print a table: a row a measure."""
    args = options(__doc__, "lexicon", min_count=60, seed=1)
    lexicon = with_matrices(load(args.lexicon), "ambiguity")
    counts = lexicon.vocabulary.counts
    synsets = np.array(sense_counts(lexicon.vocabulary.words))
    measures = {"entropy": ranking(lexicon).entropies}
    if lexicon.parts.information is not None:
        measures[lexicon.parts.information.measure] = np.asarray(lexicon.parts.information.values, np.float64)
    known = (synsets > 0) & (counts >= args.min_count) & np.all([np.isfinite(x) for x in measures.values()], axis=0)
    half = np.random.default_rng(args.seed).integers(2, size=len(lexicon)).astype(bool)
    homographs = np.isin(lexicon.vocabulary.words, HOMOGRAPHS)
    rows = []
    for name, values in measures.items():
        row = [name]
        for part in (known & half, known & ~half):
            chosen = np.flatnonzero(part)
            given = partial(ranks(values[chosen]), ranks(synsets[chosen]), ranks(counts[chosen]))
            row += [f"{given:.3f}", f"{against_alike(values, part & homographs, part & (synsets == 1), counts):.3f}"]
        rows.append(row)
    print(f"{known.sum()} words, {(known & homographs).sum()} homographs, {lexicon!r}; {machine()}\n")
    print(table(["by", "ρ given frequency, chosen on", "AUC", "ρ given frequency, reported", "AUC"], rows))


def against_alike(values: Array, one: NDArray[np.bool_], other: NDArray[np.bool_], counts: NDArray[np.int64]) -> float:
    """How often one stands above another, of those others that are nearest to a one in frequency."""
    yes, no = np.flatnonzero(one), np.flatnonzero(other)
    if not len(yes) or not len(no):
        return float("nan")
    frequency = np.log(counts + 1)
    like = np.unique([no[np.argsort(np.abs(frequency[no] - frequency[i]), kind="stable")[:4]] for i in yes])
    return auc(values[[*yes, *like]], np.arange(len(yes) + len(like)) < len(yes))


if __name__ == "__main__":
    main()
