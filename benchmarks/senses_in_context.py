"""How well P(sense | sentence) of an encoder's lexicon tells senses apart, where the right answer is known.

    python benchmarks/senses_in_context.py LEXICON CORPUS [--encoder FOLDER] [--homographs 50] [--planted 30]

*Homographs.* A sentence with *bank* and a word of money means one sense, with a word of water the other; the lists are
below. That word, and every other of both lists, is taken out of the sentence before the encoder reads it. Sentences
that LEXICON was made of are left out, where it was made of a part of CORPUS only.

*Planted senses.* Two words of one part of speech are written as a third (*send* and *detect* as *facilitate*), so the
encoder reads the same spelling for both and has nothing but the context to tell them by. A lexicon with LEXICON's
options is made of 40 such sentences of each; 20 others are asked about. This is harder than a homograph: the third word
has a meaning of its own.

Senses have no names. Half of the sentences decide which of the two each sense stands for (the one that it is the first
sense of more often), the other half is scored, then the other way round. ``right`` is the mean over words of the
balanced accuracy: chance, and always naming the more frequent one, is .5. ``both`` is the share of words whose two
senses mostly have different first senses. ``labelled`` is what the same vectors allow: the nearest of the means of the
labelled half.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, table
from numpy.typing import NDArray

from polysema.contexts.sample import Sample
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus
from polysema.encoders.bert2dm import bert2dm
from polysema.encoders.contextual import contextual, senses_to_tell, told_apart
from polysema.evaluation.wordnet import table as wordnet
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon

HOMOGRAPHS = {
    "bank": ("money loan loans account deposit deposits credit savings", "river lake shore canal creek stream"),
    "bass": ("guitar drums vocals guitarist bassist band keyboards", "fish fishing trout perch catfish lake salmon"),
    "bat": ("ball cricket baseball hit batsman batting bowling", "species mammal bats insects cave fruit wings"),
    "bow": ("arrow arrows archery hunting spear archer", "stern ship deck hull torpedo"),
    "cell": ("membrane blood cancer protein dna tissue tumor", "prison prisoner jail prisoners cellmate inmates guard"),
    "chest": ("wounds wound pain shot heart muscles stomach", "treasure wooden drawers gold furniture lock"),
    "club": ("football league season played coach cup", "golf ball iron wooden weapon wood swing"),
    "coach": ("head football team season basketball", "railway passenger train horse horses station bus driver"),
    "court": ("judge supreme appeal ruling justice jury lawyer", "tennis basketball volleyball clay indoor badminton"),
    "crane": ("construction lift lifting cargo ship port hoist", "bird birds species breeding nest wetlands heron"),
    "fan": ("fans football supporters concert band letter", "air cooling engine blades heat electric"),
    "match": ("cricket football wrestling goal championship players", "fire lit cigarette sulfur matches flame"),
    "mouse": ("keyboard computer click button cursor windows user", "rat mice species rodent cat genome gene"),
    "note": ("musical played octave chord pitch melody", "bank dollar currency issued banknote coins"),
    "organ": ("pipe church music piano choir organist choral", "tissue donor body heart liver kidney transplant"),
    "palm": ("tree trees coconut oil leaves date", "hand hands finger fingers wrist left"),
    "park": ("car cars lot street vehicle", "national wildlife forest lake nature trail"),
    "plant": ("species flower leaves genus soil seeds garden", "factory nuclear manufacturing electricity steel"),
    "port": ("harbour harbor ship ships ferry cargo sea coast", "usb software windows playstation console pc xbox"),
    "pupil": ("eye eyes iris retina light dilated", "school teacher studied taught student schools"),
    "ring": ("wedding gold finger diamond engagement jewelry", "wrestling boxing wrestler fight wrestlers opponent"),
    "seal": ("elephant fur sea whale hunting pup mammals", "great emblem wax stamp document letters coat royal"),
    "sentence": ("prison years death judge convicted crime murder", "verb word words noun grammar language clause"),
    "spring": ("summer autumn winter season april", "water hot mineral thermal coil steel"),
    "star": ("sun galaxy constellation magnitude planet telescope", "film movie actor actress hollywood television"),
    "tank": ("battle army regiment armored armoured soldiers", "water fuel gas storage septic fish liquid"),
    "volume": ("sound music loud loudness speaker", "published book edition volumes editor essays"),
    "yard": ("garden back grass house fence", "touchdown pass run kick field goal"),
}  # fmt: skip
Asked = dict[str, list[tuple[str, int]]]
"""By word: sentences, and which of its two senses each means."""


def main() -> None:
    """Ask about every sentence, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lexicon", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--encoder", help="the encoder's folder, where the lexicon's name for it leads nowhere")
    parser.add_argument("--homographs", type=int, default=50, help="sentences of each sense; 0 for none")
    parser.add_argument("--planted", type=int, default=30, help="planted words; 0 for none")
    parser.add_argument("--learn", type=int, default=40, help="sentences of each planted sense in the lexicon")
    parser.add_argument("--ask", type=int, default=20, help="sentences of each planted sense that are asked about")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.encoder:
        os.environ["POLYSEMA_ENCODER"] = arguments.encoder
    lexicon, corpus = load(arguments.lexicon), Corpus(arguments.corpus)
    print(f"{lexicon!r} | {machine('torch', 'transformers')}\n", flush=True)
    if arguments.homographs:
        asked = homographs(lexicon, corpus, arguments.homographs, arguments.seed, min(20, arguments.homographs))
        report(f"{len(asked)} homographs, {sum(map(len, asked.values()))} sentences", lexicon, asked)
    if arguments.planted:
        planted, asked = plant(lexicon, corpus, arguments.planted, arguments.learn, arguments.ask, arguments.seed)
        report(f"{len(asked)} planted words, {sum(map(len, asked.values()))} sentences", planted, asked)


def homographs(lexicon: Lexicon, corpus: Corpus, most: int, seed: int, least: int) -> Asked:
    """Sentences of the homographs that hold words of one list only, without these; words with too few are left out."""
    config = lexicon.metadata["options"]
    read = np.zeros(len(corpus), bool)
    if config["words"]:
        read[Sample(corpus, words=config["words"], seed=config["seed"]).sentences] = True
    asked: Asked = {}
    for word, lists in HOMOGRAPHS.items():
        cues = [set(listed.split()) for listed in lists]
        found: list[list[tuple[str, int]]] = [[], []]
        for index in _sentences_with(word, corpus, seed):
            words = corpus.sentence(index)
            held = [bool(listed & set(words)) for listed in cues]
            bare = [other for other in words if not any(other in listed for listed in cues)]
            if read[index] or sum(held) != 1 or bare.count(word) != 1 or len(bare) < 5 or word not in lexicon:
                continue
            sense = held.index(True)
            if len(found[sense]) < most:
                found[sense].append((" ".join(bare), sense))
            elif len(found[1 - sense]) == most:
                break
        if min(map(len, found)) >= least:
            asked[word] = found[0] + found[1]
    return asked


def plant(lexicon: Lexicon, corpus: Corpus, count: int, learn: int, ask: int, seed: int) -> tuple[Lexicon, Asked]:
    """A lexicon of sentences where two words are written as a third, and other sentences of that kind."""
    share, rng = np.asarray(corpus.counts) / len(corpus.tokens), np.random.default_rng(seed)
    known: dict[int, list[str]] = defaultdict(list)
    for index in np.flatnonzero((share > 8e-6) & (share < 2e-4)):
        word = corpus.vocabulary.words[index]
        synsets = wordnet().get(word, (0, 0, 0, 0))
        if len(word) > 3 and not word.endswith("s") and max(synsets) == sum(synsets) > 0:  # of one part of speech
            known[int(np.argmax(synsets))].append(word)
    text, asked = [], {}
    for part, share_of in ((0, 0.5), (1, 0.25), (2, 0.25)):  # nouns, verbs, adjectives
        words = rng.choice(known[part], 3 * max(1, round(share_of * count)), replace=False).tolist()
        for first, second, third in zip(words[::3], words[1::3], words[2::3], strict=True):
            asked[third] = []
            for sense, word in enumerate((first, second)):
                found = list(_rewritten(corpus, word, third, {first, second, third}, learn + ask, seed))
                text += found[:learn]
                asked[third] += [(" ".join(sentence), sense) for sentence in found[learn:]]
    config = lexicon.metadata["options"]
    options = {name: config[name] for name in ("dim", "reduction", "cluster", "seed") if name in config}
    with tempfile.TemporaryDirectory() as folder:
        planted = bert2dm(build_corpus(text, folder + "/corpus"), contextual(lexicon).encoder, **options)
    return planted, asked


def _rewritten(corpus: Corpus, word: str, other: str, all_three: set[str], most: int, seed: int) -> Iterator[list[str]]:
    """Sentences with one of a word, and none of the other two, in which it is written as another."""
    count = 0
    for index in _sentences_with(word, corpus, seed):
        words = corpus.sentence(index)
        if count < most and words.count(word) == 1 and not all_three & (set(words) - {word}):
            count += 1
            yield [other if each == word else each for each in words]


def _sentences_with(word: str, corpus: Corpus, seed: int) -> list[int]:
    """The sentences of 6 to 30 words that hold a word, in an order drawn by the seed."""
    if word not in corpus.vocabulary:
        return []
    places = np.flatnonzero(np.asarray(corpus.tokens) == corpus.vocabulary.index(word))
    bounds = np.asarray(corpus.sentences)
    found = np.unique(np.searchsorted(bounds, places, side="right") - 1)
    length = np.diff(bounds)[found]
    found = found[(length >= 6) & (length <= 30)]
    np.random.default_rng(seed).shuffle(found)
    return [int(index) for index in found]


def report(title: str, lexicon: Lexicon, asked: Asked) -> None:
    """Score every rule and print it."""
    encoder = contextual(lexicon).encoder
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    by_word = {}
    for word, sentences in asked.items():
        if word not in lexicon:
            continue
        labels = np.array([sense for _, sense in sentences])
        vectors = encoder.words([text for text, _ in sentences], [word] * len(sentences))
        x = np.asarray(lexicon.encoder.projected(vectors), np.float64)
        for name, p in rules(lexicon, word, x).items():
            scores[name].append(score(p, labels))
        scores["labelled"].append((nearest_mean(x, labels), 1.0))
        by_word[word] = scores["clusters" if "clusters" in scores else "eigenvectors"][-1][0]
    rows = []
    for name, listed in scores.items():
        right, both = np.array(listed).T
        error = right.std() / np.sqrt(len(right))
        rows.append([name, f"{right.mean():.3f} ± {error:.3f}", "–" if name == "labelled" else f"{both.mean():.2f}"])
    print(title + "\n")
    print(table(["senses and rule", "right", "both"], rows))
    print("\nby word:", ", ".join(f"{word} {right:.2f}" for word, right in by_word.items()), "\n", flush=True)


def rules(lexicon: Lexicon, word: str, x: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """P(sense | sentence) of reduced vectors (k, n), by rule; the first is what the package does."""
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    weights, senses = senses_to_tell(lexicon, word)
    found: dict[str, NDArray[Any]] = {}
    if lexicon.columns == "senses" or lexicon.clusters is not None:
        found["clusters"] = told_apart(weights, senses, u)
        found["clusters, times their weights"] = _shares(found["clusters"] * weights)
        found["clusters, the greatest cosine"] = _shares(np.exp(20 * u @ senses.T))
        a, s, b = np.linalg.svd(senses.T * np.sqrt(weights), full_matrices=False)
        rank = int((s > 1e-6 * s[0]).sum())
        found["clusters, measured"] = _shares((u @ (a[:, :rank] @ b[:rank])) ** 2)
    if lexicon.clusters is not None:
        row = lexicon.vocabulary.index(word)
        own = slice(*lexicon.clusters.starts[row : row + 2])
        away = ((x[:, None] - lexicon.clusters.vectors[own]) ** 2).sum(-1)
        found["clusters, the nearest centroid"] = (away == away.min(axis=1, keepdims=True)).astype(float)
    if lexicon.columns != "senses":
        weights, senses = lexicon.sense_vectors(word)
        found["eigenvectors"] = _shares((u @ senses.T) ** 2)
        found["eigenvectors, weights divided out"] = _shares((u @ senses.T) ** 2 / weights)
    return found


def score(p: NDArray[Any], labels: NDArray[Any]) -> tuple[float, float]:
    """The balanced accuracy of the first sense, and whether the labels mostly have different ones."""
    first = p.argmax(axis=1)
    right = []
    for known, asked in _halves(labels):
        share = [np.bincount(first[known & (labels == y)], minlength=p.shape[1]) for y in (0, 1)]
        lean = share[1] / share[1].sum() - share[0] / share[0].sum()
        hit = np.where(lean[first] == 0, 0.5, (lean[first] > 0) == (labels == 1))
        right.append(np.mean([hit[asked & (labels == y)].mean() for y in (0, 1)]))
    usual = [np.bincount(first[labels == y]).argmax() for y in (0, 1)]
    return float(np.mean(right)), float(usual[0] != usual[1])


def nearest_mean(x: NDArray[Any], labels: NDArray[Any]) -> float:
    """The balanced accuracy of the nearer of the means of the labelled half."""
    right = []
    for known, asked in _halves(labels):
        away = [((x - x[known & (labels == y)].mean(axis=0)) ** 2).sum(axis=1) for y in (0, 1)]
        hit = (away[1] < away[0]) == (labels == 1)
        right.append(np.mean([hit[asked & (labels == y)].mean() for y in (0, 1)]))
    return float(np.mean(right))


def _halves(labels: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Every other sentence of each label, and the others; then the other way round."""
    half = np.zeros(len(labels), bool)
    for y in (0, 1):
        half[np.flatnonzero(labels == y)[::2]] = True
    yield half, ~half
    yield ~half, half


def _shares(scores: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main()
