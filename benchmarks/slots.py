"""Validation of slots without the four disambiguation sets; and, once something is chosen, the errors on them.

    python benchmarks/slots.py validate LEXICON DICT --data DATA      rules × WordNet sentences, with spreads
    python benchmarks/slots.py triples PARSED                         held-out relations against drawn ones
    python benchmarks/slots.py errors LEXICON --data DATA             the 50 items that are ranked worst
    python benchmarks/slots.py entropy LEXICON                        entropy as slots are filled, beside Phaser's
    python benchmarks/slots.py speed PARSED                           seconds from counts to a lexicon
    python benchmarks/slots.py parsing TEXT                           words/s of ``corpus parse`` and of ``nlp.pipe``

DICT is the folder with WordNet 3.0 (see ``wordnet_sentences.py``), DATA that of the evaluation sets: for ``validate``
it says which verbs to leave out. LEXICON is one of ``polysema train --model slots``, PARSED of ``corpus parse``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from wordnet_sentences import read_examples

from polysema.composition.trees import Leaf, parse_brackets
from polysema.evaluation.datasets import load_sets
from polysema.evaluation.models import LexiconModel
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon, with_matrices
from polysema.measures import similarity
from polysema.parsing.sentences import parser
from polysema.slots.model import Filled, Slots, State, filled, phrase_matrix, phrase_plausibility
from polysema.slots.parse import parse_text
from polysema.slots.parsed import Parsed
from polysema.slots.train import SlotOptions, train_slots

SETS = ("ML2008", "GS2011", "GS2012", "KS2013")
NOUNS = ("NN", "NNS", "NNP", "NNPS")
Array = NDArray[np.float64]


class Pair(NamedTuple):
    """A sentence of WordNet with its verb and with another in its place.

    Attributes:
        sentence: its number.
        alike: whether the other is of the same synset.
        has: ``subj``, ``obj`` or ``both``.
        count: how often the rarer of the two verbs was seen.
        alike_by: the similarity of the two phrases.
        own: the plausibility of the sentence as it is.
        other: that of the substitute.
    """

    sentence: int
    alike: bool
    has: str
    count: int
    alike_by: float
    own: float
    other: float


def verbs_of_the_sets(data: str) -> set[str]:
    """All verbs of the four sets."""
    sets, _ = load_sets(SETS, data)
    return {p[s.roles.index("verb")] for s in sets.values() for side in (s.first, s.second) for p in side}


def wordnet_pairs(lexicon: Lexicon, folder: Path, without: set[str], most: int) -> list[Pair]:
    """The sentences whose verb has a noun for a subject or an object, with at most three substitutes of each kind."""
    slots = Slots.of(lexicon)
    examples = read_examples(folder, without, most=8)[:most]
    rng = np.random.default_rng(0)
    found: list[Pair] = []
    for number, doc in enumerate(parser().pipe(example.sentence for example in examples)):
        example = examples[number]
        verb = next((token for token in doc if token.idx == example.span[0]), None)
        if verb is None or not verb.tag_.startswith("VB") or example.verb not in lexicon:
            continue
        below = {token.dep_: token for token in verb.children}
        if below.keys() & {"prt", "neg", "dative", "ccomp"}:
            continue
        nouns = {"subj": below.get("nsubj"), "obj": below.get("dobj") or below.get("nsubjpass")}
        fills = [
            (slot, (Leaf(token.lemma_.lower(), place),))
            for place, (slot, token) in enumerate(nouns.items())
            if token is not None and token.tag_ in NOUNS and token.lemma_.lower() in lexicon
        ]
        if not fills:
            continue
        has = "both" if len(fills) > 1 else fills[0][0]
        own = _state(example.verb, fills)
        matrix, fit = phrase_matrix(slots, own), phrase_plausibility(slots, own)
        for alike, verbs in ((True, example.alike), (False, example.other)):
            for other in rng.permutation(verbs)[:3].tolist():
                if other in lexicon:
                    state = _state(other, fills)
                    near = float(similarity(matrix, phrase_matrix(slots, state)))
                    seen = min(int(lexicon.vocabulary.count(word)) for word in (example.verb, other))
                    found.append(Pair(number, alike, has, seen, near, fit, phrase_plausibility(slots, state)))
    return found


def _state(verb: str, fills: list[tuple[str, tuple[Leaf, ...]]]) -> State:
    return (Filled(Leaf(verb, 2), tuple(fills)),)


RULES: dict[str, Callable[[Array, Array, Array, float], Array]] = {
    "similarity alone": lambda s, own, other, w: s,
    "+ w · substitute": lambda s, own, other, w: s + w * other,
    "+ w · the other side": lambda s, own, other, w: s + w * own,
    "+ w · mean of both": lambda s, own, other, w: s + w * (own + other) / 2,
    "+ w · sum of both": lambda s, own, other, w: s + w * (own + other),
    "+ w · the lower": lambda s, own, other, w: s + w * np.minimum(own, other),
    "+ w · (substitute − other side)": lambda s, own, other, w: s + w * (other - own),
}


def auc(alike: NDArray[np.bool_], scores: Array) -> float:
    """The share of pairs of one alike and one not in which the one alike has the higher score."""
    order = np.searchsorted(np.sort(scores), scores, side="left") + np.searchsorted(
        np.sort(scores), scores, side="right"
    )
    ranks = (order + 1) / 2
    ones = int(alike.sum())
    if not 0 < ones < len(alike):
        return float("nan")
    return float((ranks[alike].sum() - ones * (ones + 1) / 2) / (ones * (len(alike) - ones)))


def within(pairs: list[Pair], scores: Array) -> float:
    """The share of right orders among the substitutes of one sentence."""
    number = np.array([pair.sentence for pair in pairs])
    alike = np.array([pair.alike for pair in pairs])
    found = []
    for one in np.unique(number):
        good, bad = scores[(number == one) & alike], scores[(number == one) & ~alike]
        if len(good) and len(bad):
            found.append(float((good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()))
    return float(np.mean(found)) if found else float("nan")


def validate(lexicon: Lexicon, folder: Path, without: set[str], most: int) -> None:
    """The table of rules."""
    pairs = wordnet_pairs(lexicon, folder, without, most)
    alike = np.array([pair.alike for pair in pairs])
    number = np.array([pair.sentence for pair in pairs])
    has = np.array([pair.has for pair in pairs])
    count = np.array([pair.count for pair in pairs])
    near, own, other = (np.array([getattr(pair, name) for pair in pairs]) for name in ("alike_by", "own", "other"))
    own, other = (np.where(np.isfinite(fit), fit, np.nanmean(fit)) for fit in (own, other))
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
            spread = np.std([auc(alike[i], s[i]) for i in resamples])
            by = [auc(alike[m], s[m]) for m in (has == "subj", has == "obj", has == "both", rare)]
            print(
                f"{name:34} {w:4.2f}  {auc(alike, s):.3f} {spread:.3f}  {within(pairs, s):.3f}  ",
                "  ".join(f"{value:.3f}" for value in by),
            )


def triples(path: Path, seed: int = 1, share: float = 0.02) -> None:
    """Hold some relations of verbs out, learn from the rest, and tell them from relations with a drawn noun."""
    parsed = Parsed.load(path)
    rng = np.random.default_rng(seed)
    kinds = np.isin(parsed.slot, [parsed.slots.index(name) for name in ("subj", "obj")])
    held = kinds & (rng.random(len(parsed)) < share)
    rest = Parsed(
        parsed.words,
        parsed.slots,
        *(getattr(parsed, name)[~held] for name in ("head", "slot", "filler")),
        parsed.count[~held],
        parsed.facts,
    )
    lexicon = train_slots(rest, SlotOptions(seed=seed))
    slots = Slots.of(lexicon)
    right = []
    rows = rng.permutation(np.flatnonzero(held))
    nouns = parsed.filler[rows]
    for row, drawn in zip(rows, rng.permutation(nouns), strict=True):
        verb, slot, noun, other = (
            parsed.words[parsed.head[row]],
            parsed.slots[parsed.slot[row]],
            parsed.words[parsed.filler[row]],
            parsed.words[drawn],
        )
        if all(word in lexicon for word in (verb, noun, other)) and noun != other:
            a, b = (slots.plausibility(verb, slot, word) for word in (noun, other))
            if np.isfinite([a, b]).all():
                right.append(a > b)
        if len(right) == 4000:
            break
    print(
        f"seed {seed}: {np.mean(right):.3f} of {len(right)} held-out relations above one with a drawn noun "
        f"(± {np.std(right) / np.sqrt(len(right)):.3f})"
    )


def errors(lexicon: Lexicon, data: str, most: int = 50) -> None:
    """The items of the sets that are ranked furthest from people's ranks."""
    sets, _ = load_sets(SETS, data)
    model = LexiconModel(lexicon, "slots")
    found = []
    for name, items in sets.items():
        both, alone = (model.scores(items, method).similarity for method in ("slots+plausibility", "slots"))
        known = np.flatnonzero(np.isfinite(both))
        ranks = [np.argsort(np.argsort(values[known])) / len(known) for values in (both, items.gold)]
        for place, error in zip(known, ranks[0] - ranks[1], strict=True):
            rarest = min(
                lexicon.vocabulary.count(p[items.roles.index("verb")])
                for p in (items.first[place], items.second[place])
            )
            found.append(
                (
                    abs(error),
                    error,
                    name,
                    " ".join(items.first[place]),
                    " ".join(items.second[place]),
                    items.gold[place],
                    alone[place],
                    rarest,
                )
            )
    for _, error, name, first, second, gold, near, rarest in sorted(found, reverse=True)[:most]:
        print(f"{error:+.2f} {name} {first} / {second}: people {gold:.1f}, similarity {near:.2f}, rarer verb {rarest}")


PHRASES = (
    "(family (run hotel))",
    "(athlete (run race))",
    "(horse (draw carriage))",
    "(old~ hotel)",
    "(child sleep*)",
    "(dog (not (chase cat)))",
)


def entropies(lexicon: Lexicon) -> None:
    """Entropy at every node by slots, and by Phaser with the model that ships."""
    usual = load()
    for text in PHRASES:
        ours = lexicon.compose(parse_brackets(text), "slots")
        phaser = usual.compose(parse_brackets(text), "phaser")
        print(text, f"plausibility {phrase_plausibility(Slots.of(lexicon), filled(ours.tree)[id(ours.tree)]):.2f}")
        for a, b in zip(ours.steps, phaser.steps, strict=True):
            print(f"  {a.branch:28}", *("–" if s.entropy is None else f"{s.entropy:.2f}" for s in (a, b)))


def speed(path: Path) -> None:
    """Seconds of the clock and of the processor from counts to a lexicon."""
    started, work = time.perf_counter(), time.process_time()
    parsed = Parsed.load(path)
    read, lexicon = time.perf_counter() - started, train_slots(parsed)
    clock, work = time.perf_counter() - started, time.process_time() - work
    print(f"{parsed!r}: {clock:.1f} s by the clock ({read:.1f} to read), {work:.1f} s of processors; {lexicon.slots!r}")


def parsing(path: Path, repeats: int = 3) -> None:
    """Words a second of ``corpus parse`` and of plain ``nlp.pipe``, two processes each, in turns.

    Both have the tagger and the parser; ``nlp.pipe`` finds lemmas too, by its own lemmatiser. The start of the
    processes counts.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    words = sum(len(line.split()) for line in lines)
    pipe = parser()
    rates: dict[str, list[float]] = {"corpus parse": [], "nlp.pipe": []}
    for _ in range(repeats):
        with TemporaryDirectory() as folder:
            started = time.perf_counter()
            parse_text(path, Path(folder) / "text.parsed", workers=2)
            rates["corpus parse"].append(words / (time.perf_counter() - started))
        started = time.perf_counter()
        for _ in pipe.pipe(lines, batch_size=128, n_process=2):
            pass
        rates["nlp.pipe"].append(words / (time.perf_counter() - started))
    for name, found in rates.items():
        print(f"{name:14} {np.median(found):8,.0f} words/s ({min(found):,.0f} – {max(found):,.0f})")
    ratio = [a / b for a, b in zip(*rates.values(), strict=True)]
    print(f"ratio {np.median(ratio):.2f} ({min(ratio):.2f} – {max(ratio):.2f})")


def main() -> None:
    """One of the commands above."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["validate", "triples", "errors", "entropy", "speed", "parsing"])
    arguments.add_argument("path")
    arguments.add_argument("dict", nargs="?", type=Path)
    arguments.add_argument("--data", default="data")
    arguments.add_argument("--sentences", type=int, default=100_000, help="at most so many of WordNet's")
    arguments.add_argument("--seed", type=int, default=1)
    args = arguments.parse_args()
    if args.what == "triples":
        return triples(Path(args.path), args.seed)
    if args.what == "speed":
        return speed(Path(args.path))
    if args.what == "parsing":
        return parsing(Path(args.path))
    lexicon = with_matrices(load(args.path), "slots")
    if args.what == "validate":
        return validate(lexicon, args.dict, verbs_of_the_sets(args.data), args.sentences)
    return errors(lexicon, args.data) if args.what == "errors" else entropies(lexicon)


if __name__ == "__main__":
    main()
