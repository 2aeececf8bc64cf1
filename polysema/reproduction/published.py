"""The figures of Meyer & Lewis (2020) as data, read from the paper's tables.

Rows carry the paper's names; ``MS-Word2DM cos 5`` is its *cos, 5 senses*. ``paper_row`` finds the row that a model of
ours belongs beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polysema.evaluation.datasets import EvaluationSet
from polysema.evaluation.evaluate import made_with

Figures = Mapping[str, tuple[float, ...]]

SETS = ("RG", "WS", "MC", "SL", "MEN")
METHODS = ("verb", "mult", "add", "tensor", "phaser")

DATA_SETS: Mapping[str, tuple[str, int, int]] = {
    "ML2008": ("S V", 120, 53),
    "GS2011": ("S V O", 200, 25),
    "GS2012": ("A S V A O", 194, 50),
    "KS2013": ("A S V A O", 194, 43),
}
"""Table 1: the format of each disambiguation set, its pairs and its annotators."""

EXAMPLE = EvaluationSet(
    "family run hotel", "subj verb obj", (("family", "run", "hotel"),), (("family", "operate", "hotel"),), np.zeros(1)
)
"""The example of §5.3: *The family run the hotel*."""

EXAMPLE_ENTROPY = (1.491, 0.144)
"""The entropy of *run* in multi-sense Word2DM, and that of the sentence composed with Phaser."""

WORD_SIMILARITY: Figures = {
    "Word2Vec": (0.818, 0.662, 0.765, 0.404, 0.781),
    "GloVe": (0.826, 0.571, 0.732, 0.399, 0.773),
    "FastText": (0.767, 0.517, 0.682, 0.404, 0.768),
    "Context2DM": (0.228, 0.234, 0.331, 0.094, 0.267),
    "Word2DM": (0.541, 0.473, 0.452, 0.157, 0.54),
    "MS-Word2DM cos 5": (0.768, 0.556, 0.67, 0.29, 0.68),
    "MS-Word2DM cos 10": (0.727, 0.58, 0.659, 0.256, 0.682),
    "MS-Word2DM dot 5": (0.662, 0.578, 0.568, 0.247, 0.663),
    "MS-Word2DM dot 10": (0.679, 0.596, 0.612, 0.281, 0.663),
    "BERT2DM PCA": (0.452, 0.275, 0.388, 0.226, 0.351),
    "BERT2DM SVD": (0.428, 0.317, 0.392, 0.234, 0.327),
    "BERT2DM PCA + cluster": (0.383, 0.219, 0.381, 0.153, 0.251),
    "BERT2DM SVD + cluster": (0.315, 0.205, 0.294, 0.091, 0.207),
}
"""Table 2: Spearman's ρ on the word similarity sets, in the order of ``SETS``."""

DISAMBIGUATION: Mapping[str, Figures] = {
    "ML2008": {
        "Word2Vec": (0.215, 0.256, 0.299, 0.231),
        "GloVe": (0.332, 0.098, 0.304, 0.397),
        "FastText": (0.181, 0.281, 0.198, 0.137),
        "BERT": (0.14,),
        "InferSent1": (0.207,),
        "InferSent2": (0.174,),
        "Context2DM": (-0.069, -0.025, -0.058, -0.025, -0.064),
        "Word2DM": (-0.022, 0.057, 0.01, 0.057, -0.007),
        "MS-Word2DM cos 5": (0.235, 0.195, 0.254, 0.195, 0.328),
        "MS-Word2DM cos 10": (0.248, 0.204, 0.21, 0.204, 0.217),
        "MS-Word2DM dot 5": (0.216, 0.145, 0.28, 0.145, 0.311),
        "MS-Word2DM dot 10": (0.157, 0.195, 0.17, 0.195, 0.325),
        "BERT2DM PCA": (-0.055, -0.016, -0.101, -0.016, -0.114),
        "BERT2DM SVD": (0.072, 0.17, 0.075, 0.17, 0.067),
        "BERT2DM PCA + cluster": (0.105, 0.17, 0.062, 0.17, 0.13),
        "BERT2DM SVD + cluster": (0.09, -0.002, 0.057, -0.002, 0.049),
    },
    "GS2011": {
        "Word2Vec": (0.209, 0.203, 0.268, 0.204),
        "GloVe": (0.304, 0.211, 0.252, 0.256),
        "FastText": (0.21, 0.187, 0.154, 0.185),
        "BERT": (0.266,),
        "InferSent1": (0.241,),
        "InferSent2": (0.194,),
        "Context2DM": (0.037, -0.027, 0.012, -0.021, 0.036),
        "Word2DM": (-0.059, 0.001, 0.019, -0.064, -0.039),
        "MS-Word2DM cos 5": (0.187, 0.286, 0.206, 0.289, 0.365),
        "MS-Word2DM cos 10": (0.091, 0.237, 0.161, 0.2, 0.323),
        "MS-Word2DM dot 5": (-0.016, 0.091, -0.002, 0.01, 0.077),
        "MS-Word2DM dot 10": (-0.021, 0.116, 0.025, 0.131, 0.118),
        "BERT2DM PCA": (-0.024, -0.107, -0.001, -0.097, -0.046),
        "BERT2DM SVD": (-0.105, -0.304, -0.078, -0.057, -0.074),
        "BERT2DM PCA + cluster": (-0.056, 0.03, 0.008, 0.007, -0.028),
        "BERT2DM SVD + cluster": (0.045, 0.013, 0.031, 0.037, -0.029),
    },
    "GS2012": {
        "Word2Vec": (0.27, 0.155, 0.334, 0.26),
        "GloVe": (0.413, 0.219, 0.297, 0.231),
        "FastText": (0.302, 0.176, 0.175, 0.264),
        "BERT": (0.471,),
        "InferSent1": (0.37,),
        "InferSent2": (0.372,),
        "Context2DM": (-0.025, 0.015, -0.063, -0.033, 0.005),
        "Word2DM": (-0.047, 0.019, -0.092, 0.043, 0.074),
        "MS-Word2DM cos 5": (0.266, 0.203, 0.27, 0.329, 0.5),
        "MS-Word2DM cos 10": (0.214, 0.208, 0.263, 0.304, 0.397),
        "MS-Word2DM dot 5": (-0.067, 0.068, -0.103, 0.022, 0.126),
        "MS-Word2DM dot 10": (-0.059, 0.082, -0.04, 0.068, 0.126),
        "BERT2DM PCA": (0.025, 0.031, 0.122, 0.056, 0.056),
        "BERT2DM SVD": (-0.071, 0.001, -0.042, -0.037, -0.056),
        "BERT2DM PCA + cluster": (-0.232, -0.073, -0.141, -0.155, -0.232),
        "BERT2DM SVD + cluster": (-0.132, -0.117, -0.154, -0.089, -0.172),
    },
    "KS2013": {
        "Word2Vec": (0.201, 0.222, 0.194, 0.19),
        "GloVe": (0.152, 0.154, 0.127, 0.083),
        "FastText": (0.081, 0.285, 0.073, 0.196),
        "BERT": (0.314,),
        "InferSent1": (0.187,),
        "InferSent2": (0.19,),
        "Context2DM": (-0.017, -0.074, -0.037, -0.064, -0.006),
        "Word2DM": (0.149, -0.118, 0.114, -0.014, 0.081),
        "MS-Word2DM cos 5": (0.135, 0.075, 0.19, 0.147, 0.309),
        "MS-Word2DM cos 10": (0.171, 0.008, 0.207, 0.118, 0.288),
        "MS-Word2DM dot 5": (-0.026, 0.034, 0.039, 0.117, 0.275),
        "MS-Word2DM dot 10": (0.094, 0.016, 0.07, 0.053, 0.345),
        "BERT2DM PCA": (0.084, 0.082, 0.089, 0.081, 0.187),
        "BERT2DM SVD": (0.037, 0.16, 0.054, 0.128, 0.037),
        "BERT2DM PCA + cluster": (0.075, 0.075, 0.073, 0.067, -0.011),
        "BERT2DM SVD + cluster": (0.036, -0.058, 0.02, 0.052, 0.017),
    },
}
"""Tables 3 to 6: Spearman's ρ, in the order of ``METHODS``; vectors have no Phaser, sentence encoders one figure."""

AMBIGUITY: Figures = {
    "Context2DM": (-0.081, -0.043),
    "Word2DM": (0.053, 0.112),
    "MS-Word2DM": (0.296, 0.295),
    "BERT2DM SVD": (0.367, 0.418),
    "BERT2DM PCA": (0.405, 0.463),
}
"""Table 7: Pearson's r and Spearman's ρ of entropy and number of WordNet synsets."""

ENTROPY: Mapping[str, Figures] = {
    "ML2008": {
        "Context2DM": (0.344, 0.354, 0.429, 0.354, 0.007),
        "Word2DM": (0.103, 0.257, 0.707, 0.257, 0.019),
        "MS-Word2DM": (0.953, 1.751, 1.537, 1.751, 0.468),
        "BERT2DM SVD": (0.667, 0.132, 0.938, 0.132, 0.06),
    },
    "GS2011": {
        "Context2DM": (0.174, 0.187, 0.359, 0.402, 0.0),
        "Word2DM": (0.245, 0.522, 1.096, 0.797, 0.038),
        "MS-Word2DM": (1.444, 1.821, 1.906, 4.012, 0.224),
        "BERT2DM SVD": (0.763, 0.008, 0.961, 0.174, 0.003),
    },
    "GS2012": {
        "Context2DM": (0.167, 0.137, 0.417, 0.387, 0.0),
        "Word2DM": (0.14, 0.623, 1.445, 0.908, 0.005),
        "MS-Word2DM": (1.34, 1.181, 2.043, 3.534, 0.029),
        "BERT2DM SVD": (0.659, 0.0, 1.08, 0.014, 0.0),
    },
    "KS2013": {
        "Context2DM": (0.233, 0.183, 0.524, 0.537, 0.0),
        "Word2DM": (0.161, 0.604, 1.405, 0.889, 0.01),
        "MS-Word2DM": (1.224, 1.453, 2.032, 3.704, 0.033),
        "BERT2DM SVD": (0.689, 0.0, 1.124, 0.026, 0.0),
    },
}
"""Tables 8 to 11: mean entropy of the verbs and of the composed phrases, in the order of ``METHODS``."""

ENCODERS = ("BERT", "InferSent1", "InferSent2")


ROWS = tuple(DISAMBIGUATION["GS2011"])
"""All systems of the paper, in the order of its tables."""


def paper_row(metadata: Mapping[str, Any], name: str, kind: str = "") -> str | None:
    """The paper's row for a model: by how it was trained, else by its name, else, for a sentence encoder, BERT's."""
    by_name = {plain(row): row for row in ROWS}
    found = row_of(metadata) or by_name.get(plain(name))
    return found or ("BERT" if kind == "sentences" and "encoder" in metadata else None)


def row_of(metadata: Mapping[str, Any]) -> str | None:
    """The paper's row for a model trained here, by how it was trained; None where the paper has none."""
    model, config = made_with(metadata)
    name = plain(model)
    if name == "msword2dm":
        row = f"MS-Word2DM {str(config.get('select', 'cosine'))[:3]} {config.get('senses')}"
    elif name == "bert2dm":
        cluster = " + cluster" if config.get("cluster") else ""
        row = f"BERT2DM {str(config.get('reduction', 'pca')).upper()}{cluster}"
    else:
        row = next((row for row in WORD_SIMILARITY if plain(row) == name), "")
    return row if row in WORD_SIMILARITY else None


def figure(table: Figures, row: str | None, columns: tuple[str, ...], column: str) -> float | None:
    """A figure of one of the tables; None where the paper has none."""
    if row is None or row not in table or column not in columns:
        return None
    place = columns.index(column)
    return table[row][place] if place < len(table[row]) else None


def disambiguation_figure(name: str, row: str | None, method: str) -> float | None:
    """ρ on a disambiguation set; sentence encoders have one figure, by the vector that the paper took."""
    table = DISAMBIGUATION.get(name, {})
    if row in ENCODERS:
        return table[row][0] if row in table and method == ("cls" if row == "BERT" else "own") else None
    return figure(table, row, METHODS, method)


def plain(name: object) -> str:
    """A name without case, spaces and signs."""
    return "".join(c for c in str(name).lower() if c.isalnum())
