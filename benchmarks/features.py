"""Sentence features in scikit-learn beside a bag of vectors, on two small tasks.

    python benchmarks/features.py [--lexicon LEXICON] [--repeats 4] [--only senses]

Homographs: which of a word's two meanings has a sentence, by the nearest of one labelled sentence a meaning (cosine);
both sentences of a meaning are the labelled one in turn. Polarity: 200 sentences of film reviews (Pang & Lee 2005, as
gensim ships them), logistic regression, C = 0.01, standardised, five-fold cross-validation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measure import homographs, options, table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polysema.integrations.sklearn_features import SentenceFeatures

KINDS = {
    "vectors (bag of vectors)": {"features": "vectors"},
    "senses": {"features": "senses"},
    "matrix, phaser": {"features": "matrix", "method": "phaser"},
    "matrix, add": {"features": "matrix", "method": "add"},
    "entropy": {"features": "entropy"},
    "vectors, senses, entropy": {"features": ["vectors", "senses", "entropy"]},
}


def main() -> None:
    """Both tasks with every kind of features."""
    chosen = options(__doc__, lexicon="default", repeats=4, only=str)
    words = homographs()
    sentences, labels = polarity()
    rows = []
    for name, settings in KINDS.items() if chosen.only is None else [(chosen.only, KINDS[chosen.only])]:
        features = SentenceFeatures(lexicon=chosen.lexicon, **settings)
        right = nearest(words, features.fit_transform([row["sentence"] for row in words]))
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=chosen.repeats, random_state=0)
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
        scores = cross_val_score(model, features.transform(sentences), labels, cv=folds)
        spread = scores.reshape(chosen.repeats, -1).mean(axis=1)
        rows.append([name, f"{right:.3f}", f"{spread.mean():.3f} ± {spread.std():.3f}"])
    print(table(["features", "homographs", "polarity"], rows))


def polarity() -> tuple[list[str], list[str]]:
    """The sentences and their labels, from gensim's own test data."""
    from gensim.test.utils import datapath

    lines = Path(datapath("pang_lee_polarity.cor")).read_text(encoding="latin-1").splitlines()
    pairs = [line.split(" ", 1) for line in lines if line.strip()]
    return [text.strip() for _, text in pairs], [label for label, _ in pairs]


def nearest(rows: list[dict[str, str]], features: np.ndarray) -> float:
    """The share of sentences whose nearest labelled sentence of the same word has the same meaning."""
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    right = []
    for word in dict.fromkeys(row["word"] for row in rows):
        meanings: dict[str, list[int]] = {}
        for i, row in enumerate(rows):
            if row["word"] == word:
                meanings.setdefault(row["meaning"], []).append(i)
        for turn in (0, 1):
            for meaning, places in meanings.items():
                scores = {other: float(unit[places[1 - turn]] @ unit[own[turn]]) for other, own in meanings.items()}
                right.append(max(scores, key=scores.__getitem__) == meaning)
    return float(np.mean(right))


if __name__ == "__main__":
    main()
