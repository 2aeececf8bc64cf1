"""Evaluation the slow, dense way: every matrix n×n, one item at a time, SciPy's statistics; no code of the package."""

import collections
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from tests import dense

WORD_FILES = {
    "RG": "EN-RG-65.txt", "WS": "EN-WS-353-ALL.txt", "MC": "EN-MC-30.txt", "SL": "EN-SIMLEX-999.txt",
    "MEN": "EN-MEN-TR-3k.txt",
}  # fmt: skip
PHRASE_FILES = {
    "ML2008": ("ML2008.txt", ["noun", "verb"], ["hilo"], "input"),
    "GS2011": ("GS2011data.txt", ["subject", "verb", "object"], ["hilo"], "input"),
    "GS2012": ("GS2012data.txt", ["adj_subj", "subj", "verb", "adj_obj", "obj"], [], "annotator_score"),
    "KS2013": ("KS2013-CoNLL.txt", ["adj_subj", "subj", "verb", "adj_obj", "obj"], [], "annotator_score"),
}
METHODS = [
    "verb", "mult", "add", "tensor", *(name + who for name in ("phaser", "fuzz") for who in ("", "-noun", "-left")),
]  # fmt: skip
METHODS += ["smooth", "smooth-noun"]


def word_items(folder: Path, name: str):
    for line in (folder / "word-similarity" / WORD_FILES[name]).read_text().splitlines():
        if line.strip():
            a, b, score = line.split()
            yield a.lower(), b.lower(), float(score)


def phrase_items(folder: Path, name: str):
    file, columns, also, rating = PHRASE_FILES[name]
    lines = [line for line in (folder / "disambiguation" / file).read_text().splitlines() if line.strip()]
    heading = lines[0].split()
    gathered = collections.OrderedDict()
    for line in lines[1:]:
        row = dict(zip(heading, line.split(), strict=True))
        first = tuple(row[c].lower() for c in columns)
        second = tuple(row["landmark" if c == "verb" else c].lower() for c in columns)
        gathered.setdefault((first, second, *(row[c] for c in also)), []).append(float(row[rating]))
    for (first, second, *_), scores in gathered.items():
        yield first, second, sum(scores) / len(scores)


def compose(matrices, method: str):
    """The table of composition methods for two, three and five words, written out."""
    if len(matrices) == 2:
        subject, verb, obj = *matrices, None
    elif len(matrices) == 3:
        subject, verb, obj = matrices
    else:
        subject = verb = obj = None
    if method == "verb":
        return matrices[len(matrices) // 2]
    if method == "add":
        return sum(matrices) / len(matrices)
    if method == "mult":
        return dense.unit(np.prod(matrices, axis=0))
    if method == "tensor":
        if len(matrices) == 5:
            subject, verb, obj = matrices[0] * matrices[1], matrices[2], matrices[3] * matrices[4]
        if obj is None:
            return dense.unit(subject * verb)
        return dense.unit(np.kron(subject, obj) * np.kron(verb, verb))
    name, _, who = method.partition("-")
    act = {"phaser": dense.phaser, "fuzz": dense.fuzz, "smooth": dense.smooth_phaser}[name]

    def f(operator, argument):
        return dense.unit(act(operator, argument))

    if len(matrices) == 5:
        subject, verb, obj = f(matrices[0], matrices[1]), matrices[2], f(matrices[3], matrices[4])
    if who == "":
        phrase = verb if obj is None else f(verb, obj)
        return f(phrase, subject)
    if who == "noun":
        phrase = verb if obj is None else f(obj, verb)
        return f(subject, phrase)
    phrase = verb if obj is None else f(verb, obj)
    return f(subject, phrase)


def evaluate_words(folder: Path, name: str, matrix_of) -> tuple[float, int, int]:
    gold, scores, total = [], [], 0
    for a, b, score in word_items(folder, name):
        total += 1
        if a in matrix_of and b in matrix_of:
            gold.append(score)
            scores.append(dense.similarity(matrix_of[a], matrix_of[b]))
    return spearmanr(gold, scores)[0], len(gold), total


def evaluate_phrases(folder: Path, name: str, matrix_of, method: str) -> tuple[float, float, int, int]:
    gold, scores, entropies, total = [], [], [], 0
    for first, second, score in phrase_items(folder, name):
        total += 1
        if all(word in matrix_of for word in (*first, *second)):
            a, b = (compose([matrix_of[word] for word in phrase], method) for phrase in (first, second))
            gold.append(score)
            scores.append(dense.similarity(a, b))
            entropies.append(dense.entropy(a))
    return spearmanr(gold, scores)[0], float(np.mean(entropies)), len(gold), total
