"""From word to sentence: how the entropy of words falls, over the 160 sentences of ``homographs.tsv``.

    python benchmarks/entropy.py [LEXICON] [--dictionary DICTIONARY] [--trees METHOD …]

For every word of a sentence that has two senses or more, the entropy of its mixture alone and in the sentence:
``falls`` is the share of words, ``target`` that of the 160 words asked about, ``sentence`` the share of sentences in
which the mean over words falls; ``zero`` is the share of sentences in which a target is below 0.0005. With ``--trees``
the sentences are also composed by these methods: the share of roots below 0.0005, and of inner nodes whose entropy is
above that of both of their sides.
"""

from __future__ import annotations

import numpy as np
from measure import homographs, options, table

import polysema as ps
from polysema.composition.compose import Composition
from polysema.senses.dictionary import Dictionary

ZERO = 0.0005


def main() -> None:
    """Read, compose, count."""
    chosen = options(__doc__, "[lexicon]", dictionary=str, trees=[""])
    lexicon, sentences = ps.load(chosen.lexicon), homographs()
    reader = Dictionary.load(chosen.dictionary) if chosen.dictionary else lexicon
    both, targets, means = [], [], []
    for row in sentences:
        found = [
            (one.word, one.entropy_before, one.entropy_after)
            for one in reader.read(row["sentence"])
            if isinstance(one, ps.Disambiguation) and len(one.senses) > 1
        ]
        both += [(before, after) for _, before, after in found]
        targets += [(before, after) for word, before, after in found if word == row["word"]]
        means.append(np.mean([[before, after] for _, before, after in found], axis=0))
    words, asked, means = np.array(both), np.array(targets), np.array(means)
    columns = ["words", "before", "after", "falls", "targets", "falls", "zero", "sentences", "falls"]
    print(table(columns, [[
        str(len(words)), *(f"{value:.3f}" for value in words.mean(axis=0)), f"{np.mean(words[:, 1] < words[:, 0]):.3f}",
        str(len(asked)), f"{np.mean(asked[:, 1] < asked[:, 0]):.3f}", f"{np.mean(asked[:, 1] < ZERO):.3f}",
        str(len(means)), f"{np.mean(means[:, 1] < means[:, 0]):.3f}",
    ]]))  # fmt: skip
    shown = []
    for method in filter(None, chosen.trees):
        trees = [tree for tree in lexicon.compose([row["sentence"] for row in sentences], method) if tree]
        good = [tree for tree in trees if isinstance(tree, Composition)]
        inner = [(tree, step) for tree in good for step in tree.steps if tree.entropy_at(step.path + "l") is not None]
        above = [
            (step.entropy or 0.0) > max(tree.entropy_at(step.path + side) or 0.0 for side in "lr")
            for tree, step in inner
        ]
        zero = np.mean([(tree.entropy or 0.0) < ZERO for tree in good])
        shown.append([method, str(len(good)), f"{zero:.3f}", str(len(inner)), f"{np.mean(above):.3f}"])
    if shown:
        print(table(["method", "trees", "roots at 0", "inner nodes", "above both sides"], shown))


if __name__ == "__main__":
    main()
