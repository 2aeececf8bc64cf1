"""Slots without the four disambiguation sets: WordNet's sentences, and speed.

    python benchmarks/slots.py validate LEXICON DICT --data DATA      rules × WordNet sentences, with spreads
    python benchmarks/slots.py speed PARSED                           seconds from counts to a lexicon
    python benchmarks/slots.py parsing TEXT                           words/s of ``corpus parse`` and of ``nlp.pipe``

DICT is the folder with WordNet 3.0 (see ``wordnet.py``), DATA that of the evaluation sets, whose verbs are left out.
LEXICON is one of ``polysema train --model slots``, or ``default``, the model that ships; PARSED of ``corpus parse``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Container
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from measure import auc, seconds
from numpy.typing import NDArray
from wordnet import read_examples

import polysema as ps
from polysema.evaluation.datasets import load_sets
from polysema.lexicon.lexicon import Lexicon, load, with_matrices
from polysema.parsing.sentences import parser
from polysema.slots.model import PhraseMatrix, phrase_plausibility
from polysema.slots.parsed import ParsedText, parse_text
from polysema.training.job import Job
from polysema.training.slot_vectors import SlotOptions, train

SETS = ("ML2008", "GS2011", "GS2012", "KS2013")
NOUNS = ("NN", "NNS", "NNP", "NNPS")
Array = NDArray[np.float64]
Fills = tuple[tuple[str, str], ...]
"""Slot and noun, for each slot of a verb that has one."""


class Sentence(NamedTuple):
    """A verb of WordNet's examples with the nouns in its slots, and at most three substitutes of each kind."""

    verb: str
    fills: Fills
    substitutes: tuple[tuple[bool, str], ...]


class Pair(NamedTuple):
    """A sentence of WordNet with its verb and with another in its place.

    Attributes:
        sentence: its number.
        alike: whether the other is of the same synset.
        has: ``subj``, ``obj`` or ``both``.
        count: how often the rarer of the two verbs was seen.
        similarity: that of the two phrases.
        own: the plausibility of the sentence as it is.
        other: that of the substitute.
    """

    sentence: int
    alike: bool
    has: str
    count: int
    similarity: float
    own: float
    other: float


def wordnet_sentences(folder: Path, without: set[str], most: int, known: Container[str]) -> list[Sentence]:
    """The sentences whose verb has a noun for a subject or an object."""
    examples = read_examples(folder, without, most=8)[:most]
    rng = np.random.default_rng(0)
    found = []
    for example, doc in zip(examples, parser().pipe(example.sentence for example in examples), strict=True):
        verb = next((token for token in doc if token.idx == example.span[0]), None)
        if verb is None or not verb.tag_.startswith("VB") or example.verb not in known:
            continue
        below = {token.dep_: token for token in verb.children}
        if below.keys() & {"prt", "neg", "dative", "ccomp"}:
            continue
        nouns = {"subj": below.get("nsubj"), "obj": below.get("dobj") or below.get("nsubjpass")}
        fills = tuple(
            (slot, token.lemma_.lower())
            for slot, token in nouns.items()
            if token is not None and token.tag_ in NOUNS and token.lemma_.lower() in known
        )
        if fills:
            others = [
                (alike, other)
                for alike, verbs in ((True, example.alike), (False, example.other))
                for other in rng.permutation(verbs)[:3].tolist()
                if other in known
            ]
            found.append(Sentence(example.verb, fills, tuple(others)))
    return found


def brackets(sentence: Sentence, verb: str) -> ps.Brackets:
    """A verb with its nouns as a tree."""
    nouns = dict(sentence.fills)
    phrase = f"({verb}* {nouns['obj']})" if "obj" in nouns else verb
    return ps.Brackets(f"({nouns['subj']} {phrase}*)" if "subj" in nouns else phrase)


def wordnet_pairs(lexicon: Lexicon, sentences: list[Sentence]) -> list[Pair]:
    """Each sentence with each substitute."""
    found: list[Pair] = []
    count = lexicon.vocabulary.count

    def composed(sentence: Sentence, verb: str) -> tuple[PhraseMatrix, float]:
        phrase = lexicon.compose(brackets(sentence, verb), "slots").meaning
        assert isinstance(phrase, PhraseMatrix)
        return phrase, phrase_plausibility(lexicon.slots, phrase.heads)

    for number, sentence in enumerate(sentences):
        has = "both" if len(sentence.fills) > 1 else sentence.fills[0][0]
        own, plausible = composed(sentence, sentence.verb)
        for alike, verb in sentence.substitutes:
            other, fits = composed(sentence, verb)
            seen = min(int(count(sentence.verb)), int(count(verb)))
            found.append(Pair(number, alike, has, seen, float(ps.similarity(own, other)), plausible, fits))
    return found


RULES: dict[str, Callable[[Array, Array, Array, float], Array]] = {
    "similarity alone": lambda s, own, other, w: s,
    "+ w · substitute": lambda s, own, other, w: s + w * other,
    "+ w · the other side": lambda s, own, other, w: s + w * own,
    "+ w · mean of both": lambda s, own, other, w: s + w * (own + other) / 2,
    "+ w · the lower": lambda s, own, other, w: s + w * np.minimum(own, other),
    "+ w · (substitute − other side)": lambda s, own, other, w: s + w * (other - own),
    "− w · |difference|": lambda s, own, other, w: s - w * np.abs(other - own),
    "− w · difference²": lambda s, own, other, w: s - w * (other - own) ** 2,
}


def within(number: Array, alike: NDArray[np.bool_], scores: Array) -> float:
    """The mean AUC among the substitutes of one sentence."""
    found = [auc(scores[number == one], alike[number == one]) for one in np.unique(number)]
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")


def validate(lexicon: Lexicon, folder: Path, data: str, most: int) -> None:
    """The table of rules; what is not known of a plausibility is the mean."""
    sets, _ = load_sets(SETS, data)
    without = {p[s.roles.index("verb")] for s in sets.values() for side in (s.first, s.second) for p in side}
    pairs = wordnet_pairs(lexicon, wordnet_sentences(folder, without, most, lexicon))
    number, alike, has, count, near, own, other = (np.array(column) for column in zip(*pairs, strict=True))
    own, other = (np.where(np.isfinite(values), values, np.nanmean(values)) for values in (own, other))
    rare = count < np.quantile(count, 0.25)
    print(
        f"{len(pairs)} pairs of {len(np.unique(number))} sentences; rare: a verb seen fewer than "
        f"{int(np.quantile(count, 0.25))} times"
    )
    rng = np.random.default_rng(1)
    groups = {one: np.flatnonzero(number == one) for one in np.unique(number)}
    resamples = [np.concatenate([groups[i] for i in rng.choice([*groups], len(groups))]) for _ in range(100)]
    print(f"{'rule':34} {'w':>4}  AUC   ±      within  subj  obj   both  rare")
    for name, rule in RULES.items():
        for w in (0.0,) if name == "similarity alone" else (0.1, 0.2, 0.3, 0.5):
            s = rule(near, own, other, w)
            spread = np.std([auc(s[i], alike[i]) for i in resamples])
            by = [auc(s[m], alike[m]) for m in (has == "subj", has == "obj", has == "both", rare)]
            print(
                f"{name:34} {w:4.2f}  {auc(s, alike):.3f} {spread:.3f}  {within(number, alike, s):.3f}  ",
                "  ".join(f"{value:.3f}" for value in by),
            )


def speed(path: Path) -> None:
    """Seconds of the clock and of the processor from counts to a lexicon."""
    lexicons = []
    clock, processor = seconds(lambda: lexicons.append(train(Job(parsed=lambda: ParsedText.load(path)), SlotOptions())))
    print(f"{lexicons[0].parts.slots!r}: {clock:.1f} s by the clock, {processor:.1f} s of processors")


def parsing(path: Path, repeats: int) -> None:
    """Words a second of ``corpus parse`` and of plain ``nlp.pipe``, two processes each, in turns.

    Both have the tagger and the parser; ``nlp.pipe`` finds lemmas too, by its own lemmatiser. The start of the
    processes, timed with the first twenty lines, is taken off.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    pipe = parser()

    def ours(texts: list[str]) -> None:
        with TemporaryDirectory() as folder:
            text = Path(folder) / "text.txt"
            text.write_text("\n".join(texts), encoding="utf-8")
            parse_text(text, Path(folder) / "text.parsed", workers=2)

    def plain(texts: list[str]) -> None:
        for _ in pipe.pipe(texts, batch_size=128, n_process=2):
            pass

    words = sum(len(line.split()) for line in lines[20:])
    for number in range(repeats):
        for name, run in (("corpus parse", ours), ("nlp.pipe", plain)):
            start, whole = (np.array(seconds(run, texts)) for texts in (lines[:20], lines))
            by_clock, of_processor = words / (whole - start)
            print(
                f"{number + 1} {name:14} {by_clock:8,.0f} words/s, {of_processor:8,.0f} a processor second;"
                f" start {start[0]:.1f} s, {start[1]:.1f} of processors",
                flush=True,
            )


def main() -> None:
    """Run one of the commands above."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["validate", "speed", "parsing"])
    arguments.add_argument("path", type=Path)
    arguments.add_argument("dict", nargs="?", type=Path)
    arguments.add_argument("--data", default="data")
    arguments.add_argument("--sentences", type=int, default=100_000, help="at most so many of WordNet's")
    arguments.add_argument("--repeats", type=int, default=3)
    args = arguments.parse_args()
    if args.what == "speed":
        speed(args.path)
    elif args.what == "parsing":
        parsing(args.path, args.repeats)
    else:
        validate(with_matrices(load(str(args.path)), "slots"), args.dict, args.data, args.sentences)


if __name__ == "__main__":
    main()
