"""Which layers, carriers and centring make the best contextual matrices, judged on WordNet's example sentences.

    python benchmarks/contextual.py ENCODER CORPUS ITEMS [--wordnet DICT --without DATA] [--device cuda]

ENCODER is a name or folder, CORPUS a folder of ``polysema corpus build`` that the statistics of the layers come from,
ITEMS a file of items; where it is missing it is made from WordNet's DICT, without the verbs of the disambiguation sets
in DATA (of which nothing but these verbs is read); see ``wordnet_sentences.py``.

Each item is a sentence and the same sentence with another verb, alike or not. Whole example sentences are one set; the
other is their subject, verb and object as this package puts phrases into sentences, in every tense. ``AUC`` is the
chance that a pair that is alike, of any verb, has a greater similarity than one that is not: what a correlation over a
whole set is about. ``ranked`` is that chance within one sentence. Δ is the difference in AUC (the mean of both sets)
from the configuration of the first row, ± its standard deviation over bootstraps of sentences.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine
from numpy.typing import NDArray
from scipy.stats import rankdata

from polysema.composition.sentences import TENSES
from polysema.contexts.sample import Sample
from polysema.corpus.corpus import Corpus
from polysema.encoders.huggingface import Encoder

Array = NDArray[np.float32]

CARRIERS = (
    "{}", "It is said that {}", "They say that {}", "We know that {}", "I think that {}",
    "Perhaps {}", "He wrote that {}", "{} Everybody saw it.", "This is what happened: {}",
)  # fmt: skip
FIVE, OTHERS = (0, 1, 2, 3, 4), (0, 5, 6, 7, 8)


def main() -> None:
    """Read the sentences once, compare, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("items", type=Path)
    parser.add_argument("--wordnet", type=Path)
    parser.add_argument("--without", type=Path)
    parser.add_argument("--sentences", type=int, default=600, help="example sentences in the first set")
    parser.add_argument("--statistics", type=int, default=60_000, help="words of text for the statistics of layers")
    parser.add_argument("--bootstraps", type=int, default=200)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    if not arguments.items.exists():
        make_items(arguments.items, arguments.wordnet, arguments.without, arguments.sentences)
    items = json.loads(arguments.items.read_text())
    encoder = Encoder.load(arguments.encoder, device=arguments.device)
    print(encoder, "|", machine("torch", "transformers"), flush=True)
    statistics = Statistics(encoder, Corpus(arguments.corpus), arguments.statistics)
    print(f"{statistics.count:,} words for the statistics of layers", flush=True)
    Comparison(encoder, statistics, items, arguments.bootstraps).run()


def make_items(path: Path, wordnet: Path, data: Path, sentences: int) -> None:
    """Texts in each tense, and items of two sets: (sentence's number, verb, landmark, first text, second text, alike).

    Whole sentences have their own tense only: the same text stands in every place.
    """
    from wordnet_sentences import as_texts, in_its_place, phrases, read_examples

    from polysema.evaluation.datasets import load_sets

    sets = [found for found in load_sets(None, data)[0].values() if not found.is_words]
    verbs = {phrase[each.roles.index("verb")] for each in sets for phrase in (*each.first, *each.second)}
    examples = read_examples(wordnet, verbs)
    rng = np.random.default_rng(1)
    landmarks = [
        [
            (verb, alike)
            for alike, listed in ((1, example.alike), (0, example.other))
            for verb in rng.permutation(listed)[:2]
        ]
        for example in examples
    ]
    texts: dict[Any, int] = {}
    items: dict[str, list[Any]] = {"sentences": [], "phrases": []}
    for number, example in enumerate(examples[:sentences]):
        first = texts.setdefault(((example.sentence, example.span),) * len(TENSES), len(texts))
        for verb, alike in landmarks[number]:
            second = texts.setdefault((in_its_place(example, verb),) * len(TENSES), len(texts))
            items["sentences"].append((number, example.verb, verb, first, second, alike))
    for number, pattern, words in phrases(examples):
        first = texts.setdefault(as_texts(pattern, words), len(texts))
        for verb, alike in landmarks[number]:
            second = texts.setdefault(as_texts(pattern, [words[0], verb, *words[2:]]), len(texts))
            items["phrases"].append((number, words[1], verb, first, second, alike))
    path.write_text(json.dumps({"texts": list(texts), "items": items}))
    print(f"{len(texts)} texts, {', '.join(f'{len(listed)} items of {name}' for name, listed in items.items())}")


class Statistics:
    """The mean and the covariance of each layer's vectors over the content words of some text."""

    def __init__(self, encoder: Encoder, corpus: Corpus, words: int) -> None:
        sample = Sample(corpus, words=words, seed=5)
        part = sample.part(sample.sentences)
        layers, d = encoder.depth + 1, encoder.width
        total, second, self.count = np.zeros((layers, d)), np.zeros((layers, d, d)), 0
        table = encoder.piece_table(sample.words_read)
        for _, vectors in encoder.encode(part.tokens, part.bounds, table, part.rows >= 0, range(layers), True):
            rows = vectors.double().transpose(0, 1)  # (layers, words, d)
            total += rows.sum(1).cpu().numpy()
            second += (rows.transpose(1, 2) @ rows).cpu().numpy()
            self.count += len(vectors)
        self.mean = total / self.count
        self.covariance = second / self.count - self.mean[:, :, None] * self.mean[:, None, :]
        self._axes: dict[int, Any] = {}

    def axes(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The eigenvalues of a layer's covariance, falling, and its eigenvectors (d, d)."""
        if layer not in self._axes:
            values, vectors = np.linalg.eigh(self.covariance[layer])
            self._axes[layer] = np.maximum(values[::-1], 0), vectors[:, ::-1]
        return self._axes[layer]

    def centred(self, x: NDArray[Any], layer: int, how: str) -> NDArray[Any]:
        """Vectors (k, d) of a layer, as a name says: none, mean, standard, without-K (axes), white-P (power)."""
        if how == "none":
            return x
        x = x - self.mean[layer]
        if how == "standard":
            variance = self.covariance[layer].diagonal()
            return x / np.sqrt(np.maximum(variance, 1e-2 * np.median(variance)))
        name, _, number = how.partition("-")
        if name == "without":
            top = self.axes(layer)[1][:, : int(number)]
            return x - (x @ top) @ top.T
        if name == "white":
            values, vectors = self.axes(layer)
            return (x @ vectors) * (values + 1e-3 * values.mean()) ** (-float(number) / 2)
        return x


class Comparison:
    """The texts as the encoder reads them, and the configurations to compare."""

    def __init__(self, encoder: Encoder, statistics: Statistics, items: dict[str, Any], bootstraps: int) -> None:
        self.statistics, self.depth, self.bootstraps = statistics, encoder.depth, bootstraps
        self.sets = {
            name: _Set(np.array([[i[0], *i[3:]] for i in listed]), bootstraps)
            for name, listed in items["items"].items()
        }
        distinct = list({(text, tuple(span)): 0 for tenses in items["texts"] for text, span in tenses})
        place = {pair: index for index, pair in enumerate(distinct)}
        # (texts, tenses): where each text in each tense stands among the distinct ones
        self.place = np.array([[place[text, tuple(span)] for text, span in tenses] for tenses in items["texts"]])
        self.words: list[Any] = []  # by carrier: (distinct texts, layers, d) of the verb, and of the mean of the rest
        self.rest: list[Any] = []
        for carrier in CARRIERS:
            word, rest = read(encoder, distinct, carrier)
            self.words.append(word)
            self.rest.append(rest)
        self._units: dict[Any, Array] = {}

    def factors(
        self, layers: Iterable[int], carriers: Iterable[int], tenses: Iterable[str], how: str, rest: float
    ) -> Array:
        """The unit vectors of each text, (texts, layers · carriers · tenses, d)."""
        columns = []
        for carrier, layer in product(carriers, layers):
            u = self._unit(self.words, carrier, layer, how)
            if rest:
                u = _unit((1 - rest) * u + rest * self._unit(self.rest, carrier, layer, how))
            columns += [u[self.place[:, list(TENSES).index(tense)]] for tense in tenses]
        return np.stack(columns, 1)

    def _unit(self, states: list[Any], carrier: int, layer: int, how: str) -> Array:
        key = (id(states), carrier, layer, how)
        if key not in self._units:
            x = states[carrier][:, layer].astype(np.float64)
            self._units[key] = _unit(self.statistics.centred(x, layer, how)).astype(np.float32)
        return self._units[key]

    def run(self) -> None:
        """All comparisons, one aspect at a time from today's configuration, then together."""
        last = self.depth
        usual = range(max(1, last // 4), last)
        print(f"{'':44s} AUC: sentences phrases  mean | ranked: s. p.     mean |  Δ AUC")
        first = self.row(f"layers {usual[0]}-{usual[-1]}, mean, the sentence alone", usual)
        for layer in range(last + 1):
            self.row(f"layer {layer}", [layer], first=first)
        for low, high in ((1, last), (last // 3, last), (last // 2, last - 1), (last // 2, last), (1, last // 2)):
            self.row(f"layers {low}-{high}", range(low, high + 1), first=first)
        hows = ("none", "standard", "without-1", "without-3", "without-10", "white-0.5", "white-1")
        for how in hows:
            self.row(how, usual, how=how, first=first)
        for similarity in ("overlap", "fidelity", "cosine of means"):
            self.row(similarity, usual, similarity=similarity, first=first)
        for rest in (0.1, 0.2, 0.3, 0.5, 1.0):
            self.row(f"{rest:g} of the rest of the sentence", usual, rest=rest, first=first)
        for name, carriers in (("five carriers", FIVE), ("other five carriers", OTHERS), ("all nine", range(9))):
            self.row(name, usual, carriers, first=first)
        for tenses in (["past"], ["progressive"], ["future"], ["present", "past", "progressive"], list(TENSES)):
            self.row(", ".join(tenses), usual, tenses=tenses, first=first)
        wide = range(last // 3, last + 1)
        for layers, rest in product((usual, wide), (0.0, 0.2)):
            title = f"standard, {layers[0]}-{layers[-1]}, {rest:g} of the rest"
            self.row(title, layers, how="standard", rest=rest, first=first)
            self.row(f"{title}, five carriers", layers, FIVE, "standard", rest, first=first)
            self.row(f"{title}, all tenses", layers, how="standard", rest=rest, tenses=TENSES, first=first)

    def row(
        self,
        name: str,
        layers: Iterable[int],
        carriers: Iterable[int] = (0,),
        how: str = "mean",
        rest: float = 0.0,
        similarity: str = "similarity",
        tenses: Iterable[str] = ("present",),
        first: list[Any] | None = None,
    ) -> list[Any]:
        """Print one configuration; returns its similarities by set."""
        u = self.factors(layers, carriers, tenses, how, rest)
        found = [_similarity(u, each.first, each.second, similarity) for each in self.sets.values()]
        sets = list(self.sets.values())
        aucs = [each.auc(scores) for each, scores in zip(sets, found, strict=True)]
        ranked = [each.ranked(scores) for each, scores in zip(sets, found, strict=True)]
        line = f"{name:44s} " + "   ".join(f"{x:.3f}" for x in (*aucs, np.mean(aucs)))
        line += "     | " + "  ".join(f"{x:.3f}" for x in (*ranked, np.mean(ranked)))
        if first is not None:
            differences = [
                np.mean([
                    each.auc(mine, each.resample(b)) - each.auc(theirs, each.resample(b))
                    for each, mine, theirs in zip(sets, found, first, strict=True)
                ])
                for b in range(self.bootstraps)
            ]  # fmt: skip
            line += f" | {np.mean(differences):+.4f} ± {np.std(differences):.4f}"
        print(line, flush=True)
        return found


class _Set:
    """The items of one set: (k, 4) of group, first text, second text, alike."""

    def __init__(self, items: NDArray[np.int64], bootstraps: int) -> None:
        self.group, self.first, self.second, self.alike = items.T
        groups = [np.flatnonzero(self.group == g) for g in np.unique(self.group)]
        self.groups = [(rows[self.alike[rows] == 1], rows[self.alike[rows] == 0]) for rows in groups]
        rng = np.random.default_rng(0)
        self.samples = [
            np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))]) for _ in range(bootstraps)
        ]

    def resample(self, b: int) -> NDArray[np.int64]:
        return np.asarray(self.samples[b])

    def auc(self, scores: NDArray[Any], rows: NDArray[np.int64] | None = None) -> float:
        y, s = (self.alike, scores) if rows is None else (self.alike[rows], scores[rows])
        right = int(y.sum())
        return float((rankdata(s)[y == 1].sum() - right * (right + 1) / 2) / (right * (len(y) - right)))

    def ranked(self, scores: NDArray[Any]) -> float:
        parts = [(scores[a][:, None] > scores[b]).mean() for a, b in self.groups if len(a) and len(b)]
        return float(np.mean(parts))


def read(encoder: Encoder, texts: list[Any], carrier: str) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """The states (k, layers, d) of each text's word, and the mean of those of the rest of its sentence."""
    import torch

    before = carrier.index("{}")
    inner = [text if before == 0 else text[:1].lower() + text[1:] for text, _ in texts]
    pieces = encoder._tokenised([carrier.format(text) for text in inner])
    own, rest = [], []
    for item, (text, (start, end)) in zip(pieces, texts, strict=True):
        spans = [(a - before, b - before) for a, b in item.offsets]
        mine = [i for i, (a, b) in enumerate(spans) if a < end and b > start]
        own.append(mine)
        rest.append([i for i, (a, b) in enumerate(spans) if a >= 0 and b <= len(text) and i not in mine])
    shape = (len(texts), encoder.depth + 1, encoder.width)
    words, others = np.empty(shape, np.float16), np.empty(shape, np.float16)
    shift = len(encoder.before)
    for where, states, _ in encoder._read([item.ids for item in pieces], tuple(range(encoder.depth + 1))):
        every = torch.stack(states, 1)
        for row, index in enumerate(where):
            words[index] = every[row][:, [i + shift for i in own[index]]].mean(1).cpu().numpy()
            others[index] = every[row][:, [i + shift for i in rest[index]]].mean(1).cpu().numpy()
    return words, others


def _similarity(u: Array, first: Any, second: Any, kind: str) -> NDArray[Any]:
    """Of the mixtures of unit vectors (texts, m, d): the cosine of matrices, tr ρσ, √fidelity, or that of means."""
    if kind == "cosine of means":
        mean = _unit(u.mean(1))
        return np.asarray((mean[first] * mean[second]).sum(-1))

    def over(a: Any, b: Any, of: Any) -> NDArray[Any]:
        return np.concatenate([of(u[a[i : i + 128]] @ u[b[i : i + 128]].mT) for i in range(0, len(a), 128)])

    if kind == "fidelity":
        return over(first, second, lambda g: np.linalg.svd(g, compute_uv=False).sum(-1) / u.shape[1])
    overlap = over(first, second, lambda g: (g**2).mean((1, 2)))
    if kind == "overlap":
        return overlap
    every = np.arange(len(u))
    purity = over(every, every, lambda g: (g**2).mean((1, 2)))
    return np.asarray(overlap / np.sqrt(purity[first] * purity[second]))


def _unit(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


if __name__ == "__main__":
    main()
