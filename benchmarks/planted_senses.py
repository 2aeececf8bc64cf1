"""How well senses are told apart where the right answer is known: planted senses.

    python benchmarks/planted_senses.py CORPUS TEXT [--pairs 120] [--sentences 20] [--sharpness 4 6 8 12]

Two words of the corpus are made one (*banana* and *door* become *banana*), for many pairs; a model is trained on that;
and in sentences of TEXT each planted word must be told apart again. Senses have no names: half of the sentences
decide which of the two words each sense stands for, the other half is scored, then the other way round. The probability
of a word is the sum over its senses. Sentences weigh as their words' shares of the corpus. Settings are chosen with one
seed and reported with another, which plants other words.

CORPUS is a folder of ``polysema corpus build``, TEXT the plain text it was made of.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
from measure import machine, table

import polysema
from polysema import Corpus, Lexicon
from polysema.lexicon import disambiguation
from polysema.lexicon.disambiguation import Disambiguation

Occurrence = tuple[str, bool, str]  # the planted word, whether it stands for itself, the sentence


def main() -> None:
    """Plant, train, tell apart, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--pairs", type=int, default=120)
    parser.add_argument("--sentences", type=int, default=20, help="of each word")
    parser.add_argument("--sharpness", type=float, nargs="+", default=[disambiguation.SHARPNESS])
    parser.add_argument("--little", type=float, default=disambiguation.LITTLE, help="κ")
    parser.add_argument("--tree-weight", type=float, default=disambiguation.TREE_WEIGHT, help="τ")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pairs = choose_pairs(Corpus(arguments.corpus), arguments.pairs, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        planted = plant(arguments.corpus, Path(folder) / "planted", pairs)
        lexicon = polysema.train(planted, epochs=arguments.epochs, seed=arguments.seed)
    occurrences = find_sentences(arguments.text, pairs, arguments.sentences)
    print(f"{len(pairs)} planted words, {len(occurrences)} sentences, {lexicon!r}; {machine('spacy')}\n")
    counts = Corpus(arguments.corpus).counts
    index = Corpus(arguments.corpus).vocabulary.index
    shares = {a: float(counts[index(a)] / (counts[index(a)] + counts[index(b)])) for a, b in pairs}
    disambiguation.LITTLE, disambiguation.TREE_WEIGHT = arguments.little, arguments.tree_weight
    rows = []
    for sharpness in arguments.sharpness:
        disambiguation.SHARPNESS = sharpness
        told = answers(lexicon, occurrences)
        for name, of_words in told.items():
            rows.append([f"{sharpness:g}", name, *(f"{x:.3f}" for x in score(of_words, shares))])
    print(table(["β", "by", "right", "right (balanced)", "log loss", "calibration error"], rows))


def choose_pairs(corpus: Corpus, count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of words that are neither rare nor among the most frequent, at random."""
    share = np.asarray(corpus.counts) / len(corpus.tokens)
    words = [corpus.vocabulary.words[i] for i in np.flatnonzero((share > 1.5e-5) & (share < 2e-4))]
    words = [word for word in words if len(word) > 3]
    chosen = np.random.default_rng(seed).choice(words, 2 * count, replace=False).tolist()
    return list(zip(chosen[::2], chosen[1::2], strict=True))


def plant(corpus: Path, folder: Path, pairs: list[tuple[str, str]]) -> Corpus:
    """A copy of a corpus in which the second word of each pair is written as the first."""
    shutil.copytree(corpus, folder)
    source = Corpus(corpus)
    same = np.arange(len(source.counts), dtype=np.int32)
    counts = np.array(source.counts)
    for a, b in pairs:
        i, j = source.vocabulary.index(a), source.vocabulary.index(b)
        same[j] = i
        counts[i], counts[j] = counts[i] + counts[j], 0
    np.save(folder / "tokens.npy", same[np.asarray(source.tokens)].astype("<i4"))
    np.save(folder / "counts.npy", counts.astype("<i8"))
    return Corpus(folder)


def find_sentences(text: Path, pairs: list[tuple[str, str]], count: int) -> list[Occurrence]:
    """Sentences with one of the words, with the first of its pair in its place."""
    planted = {word: (a, word == a) for a, b in pairs for word in (a, b)}
    found: dict[str, list[Occurrence]] = {word: [] for word in planted}
    full = 0
    with open(text, encoding="utf-8") as file:
        for line in file:
            for sentence in re.split(r"(?<=[.!?]) ", line.strip()):
                words = re.findall(r"[a-z]+", sentence.lower()) if 30 < len(sentence) < 220 else []
                mine = [word for word in words if word in planted]
                if len(mine) == 1 and len(found[mine[0]]) < count:
                    a, itself = planted[mine[0]]
                    as_planted = re.sub(rf"\b{mine[0]}\b", a, sentence, flags=re.IGNORECASE)
                    found[mine[0]].append((a, itself, as_planted))
                    full += len(found[mine[0]]) == count
            if full == len(planted):
                break
    return [occurrence for listed in found.values() for occurrence in listed]


Answers = dict[str, list[tuple[bool, list[float]]]]  # of each planted word: whether it is itself, p of its senses


def answers(lexicon: Lexicon, occurrences: list[Occurrence]) -> dict[str, Answers]:
    """The senses' probabilities in every sentence, by each kind of evidence."""
    told = lexicon.disambiguate_all([(word, sentence) for word, _, sentence in occurrences], top=1)
    found: dict[str, Answers] = {"words": {}, "tree": {}, "both": {}}
    for (word, itself, _), item in zip(occurrences, told, strict=True):
        if not isinstance(item, Disambiguation) or item.senses[0].by_composition is None:
            continue
        senses = sorted(item.senses, key=lambda sense: sense.id)
        for name, part in (("words", "by_context"), ("tree", "by_composition"), ("both", "probability")):
            found[name].setdefault(word, []).append((itself, [float(getattr(sense, part)) for sense in senses]))
    return found


def score(words: Answers, shares: dict[str, float]) -> tuple[float, float, float, float]:
    """How often the more probable of the two words is right, as they occur and balanced; log loss; calibration error.

    The expected calibration error is Σ_b w_b |confidence_b − accuracy_b| over twenty bins of the confidence.
    """
    right, balanced, loss, judged = [], [], [], [np.empty((0, 3))]
    for word, listed in words.items():
        y, p = np.array([itself for itself, _ in listed]), np.array([senses for _, senses in listed])
        half = np.arange(len(y)) % 2 == 0
        for known, asked in ((half, ~half), (~half, half)):
            if min(y[known].sum(), (~y[known]).sum(), y[asked].sum(), (~y[asked]).sum()) == 0:
                continue
            itself = p[known][y[known]].mean(axis=0) > p[known][~y[known]].mean(axis=0)  # what each sense stands for
            q = np.clip(p[asked][:, itself].sum(axis=1), 1e-6, 1 - 1e-6)
            truth = y[asked]
            weight = np.where(truth, shares[word] / truth.sum(), (1 - shares[word]) / (~truth).sum())
            correct = (q > 0.5) == truth
            right.append(weight @ correct)
            balanced.append((correct[truth].mean() + correct[~truth].mean()) / 2)
            loss.append(-weight @ np.log(np.where(truth, q, 1 - q)))
            judged.append(np.stack([np.maximum(q, 1 - q), correct, weight], axis=1))
    confidence, correct, weight = np.concatenate(judged).T
    bins = np.minimum((confidence * 20).astype(int), 19)
    gaps = [abs(weight[bins == b] @ (confidence - correct)[bins == b]) for b in np.unique(bins)]
    means = [float(np.mean(values)) if values else float("nan") for values in (right, balanced, loss)]
    return means[0], means[1], means[2], float(sum(gaps) / weight.sum()) if len(weight) else float("nan")


if __name__ == "__main__":
    main()
