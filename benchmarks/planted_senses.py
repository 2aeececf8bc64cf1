"""How well senses are told apart where the right answer is known: planted senses.

    python benchmarks/planted_senses.py CORPUS TEXT [--pairs 60] [--sentences 20] [--sharpness 4 8 12 16]

Two words of the corpus are made one (*banana* and *door* become *banana*), for many pairs; a model is trained on that;
and in sentences of TEXT each planted word must be told apart again. Senses have no names: half of the sentences
decide which of the two words each sense stands for, the other half is scored, then the other way round. Chance is 0.5.

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
from polysema import Corpus, Lexicon, disambiguation
from polysema.lexicon.disambiguation import Disambiguation, disambiguate_all

Occurrence = tuple[str, bool, str]  # the planted word, whether it stands for itself, the sentence


def main() -> None:
    """Plant, train, tell apart, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--sentences", type=int, default=20, help="of each word")
    parser.add_argument("--sharpness", type=float, nargs="+", default=[disambiguation.SHARPNESS])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pairs = choose_pairs(Corpus(arguments.corpus), arguments.pairs, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        planted = plant(arguments.corpus, Path(folder) / "planted", pairs)
        lexicon = polysema.train(planted, epochs=arguments.epochs, seed=arguments.seed)
    occurrences = find_sentences(arguments.text, pairs, arguments.sentences)
    print(f"{len(pairs)} planted words, {len(occurrences)} sentences, {lexicon!r}; {machine('spacy')}\n")
    rows = []
    for sharpness in arguments.sharpness:
        disambiguation.SHARPNESS = sharpness
        rows += scores(lexicon, occurrences, sharpness)
    print(table(["β", "by", "right (balanced)", "log loss", "entropy of the senses"], rows))


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


def scores(lexicon: Lexicon, occurrences: list[Occurrence], sharpness: float) -> list[list[str]]:
    """How often the right word is found, by each kind of evidence."""
    told = disambiguate_all([(word, sentence) for word, _, sentence in occurrences], lexicon, top=1)
    evidence: dict[str, dict[str, list[tuple[bool, list[float]]]]] = {}
    for (word, itself, _), item in zip(occurrences, told, strict=True):
        if not isinstance(item, Disambiguation) or item.senses[0].by_composition is None:
            continue
        senses = sorted(item.senses, key=lambda sense: -sense.weight)
        for name, field in (("words", "by_context"), ("tree", "by_composition"), ("both", "probability")):
            mine = evidence.setdefault(name, {}).setdefault(word, [])
            mine.append((itself, [float(getattr(sense, field)) for sense in senses]))
    return [[f"{sharpness:g}", name, *(f"{x:.3f}" for x in _score(words))] for name, words in evidence.items()]


def _score(words: dict[str, list[tuple[bool, list[float]]]]) -> tuple[float, float, float]:
    right, loss, entropies = [], [], []
    for listed in words.values():
        y = np.array([itself for itself, _ in listed])
        p = np.array([senses for _, senses in listed])
        entropies.append(float(-(p * np.log(np.maximum(p, 1e-12))).sum(axis=1).mean()))
        half = np.arange(len(y)) % 2 == 0
        for known, asked in ((half, ~half), (~half, half)):
            if min(y[known].sum(), (~y[known]).sum(), y[asked].sum(), (~y[asked]).sum()) == 0:
                continue
            weight = np.where(y[known], 1 / y[known].sum(), 1 / (~y[known]).sum())[:, None] * p[known]
            stands_for_itself = (weight[y[known]].sum(axis=0) + 0.05) / (weight.sum(axis=0) + 0.1)
            q = p[asked] @ stands_for_itself
            right.append(((q > 0.5)[y[asked]].mean() + (q <= 0.5)[~y[asked]].mean()) / 2)
            loss.append(-np.log(np.where(y[asked], q, 1 - q)).mean())
    return float(np.mean(right)), float(np.mean(loss)), float(np.mean(entropies))


if __name__ == "__main__":
    main()
