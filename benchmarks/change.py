"""Change of meaning: planted in SemCor, nothing planted, and SemEval-2020 Task 1 English.

    python benchmarks/change.py DICTIONARY --semcor SEMCOR [--role choose calibrate] [--draws 40]
    python benchmarks/change.py DICTIONARY --semeval LSCD [--most 1000] [--words 37]

DICTIONARY is a folder with ``dictionary.safetensors``. SEMCOR is SemCor 3.0 in its original form, of which the
held-out documents are used. LSCD is a clone of ltgoslo/Definition-generation-for-LSCD, which has the uses and the truth
of the 37 words. Settings are chosen on SemCor, role ``choose`` and ``calibrate``; ``report`` and SemEval are for
reporting. ``--draws`` is how many uses of a period are drawn, ``--most`` how many are compared, at equal distances.

Planted: the uses of a word in two of its senses are divided into two pools; each period draws from one of them, with
mixes of the senses that differ by a known amount, the Jensen–Shannon distance of the mixes that were drawn. ``merged``
does the same with the uses of two words as the senses of one.
"""

from __future__ import annotations

import gzip
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import options, table
from numpy.typing import NDArray

from polysema.encoders.tagged_text import TaggedSentence, read_semcor
from polysema.evaluation.statistics import spearman
from polysema.senses.dictionary import Dictionary
from polysema.senses.making import held_out_documents
from polysema.senses.wordnet_files import SenseKey
from polysema.use.change import MEASURES, WordChange, compare
from polysema.use.tagged import Uses, opened, posterior

POS = {"nn": "noun", "vb": "verb"}
SHIFTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)


def main() -> None:
    """Measure, print."""
    args = options(
        __doc__, "dictionary", semcor=Path, role=["choose", "calibrate"], semeval=Path, most=1000, draws=40, words=int
    )
    dictionary = Dictionary.load(Path(args.dictionary))
    if args.semcor:
        used = held_out_uses(dictionary, args.semcor, args.role)
        report_planted("one word", list(planted(used, args.draws)))
        report_planted("merged", list(merged(used, args.draws)))
        report_null(used)
    if args.semeval:
        report_semeval(dictionary, args.semeval, args.most, args.words)


def held_out_uses(dictionary: Dictionary, semcor: Path, roles: Sequence[str]) -> dict[str, tuple[Uses, NDArray[Any]]]:
    """Words of the held-out documents: their uses, and the right sense key of each."""
    kept = held_out_sentences(dictionary, semcor, roles)
    gold: dict[tuple[str, int, int], str] = {}
    counts: Counter[str] = Counter()
    for i, sentence in enumerate(kept):
        for target in sentence.targets:
            gold[target.lemma, i, target.start] = target.keys[0]
            counts[target.lemma] += 1
    words = [word for word, count in counts.items() if count >= 8 and word in dictionary.file.rows]
    corpus = opened([(s.text, {"document": s.document, "sentence": i}) for i, s in enumerate(kept)], words, dictionary)
    found = {}
    for word in words:
        try:
            uses = corpus.uses(word)
        except ValueError:
            continue
        starts = corpus.columns["start"][uses.place]
        right = np.array([gold.get((word, int(d), int(a)), "") for d, a in zip(uses.document, starts, strict=True)])
        found[word] = uses[right != ""], right[right != ""]
    return found


def held_out_sentences(dictionary: Dictionary, semcor: Path, roles: Sequence[str]) -> list[TaggedSentence]:
    """Tagged sentences of the held-out documents."""
    keys = (SenseKey(dictionary.file.key(row), "", 0, 0) for row in range(len(dictionary.file.synset_of)))
    sentences = list(read_semcor(semcor, keys))
    role = held_out_documents({sentence.document for sentence in sentences})
    return [sentence for sentence in sentences if role.get(sentence.document) in roles]


def planted(used: dict[str, tuple[Uses, NDArray[Any]]], draws: int) -> Iterator[tuple[float, WordChange]]:
    """(planted amount, what was found) for words whose two most frequent senses have six uses each."""
    rng = np.random.default_rng(1)
    for word, (uses, right) in sorted(used.items()):
        (first, second, *_) = [*Counter(right.tolist()).most_common(2), ("", 0), ("", 0)]
        if second[1] >= 6:
            pools = [np.flatnonzero(right == key) for key, _ in (first, second)]
            yield from _drawn(word, uses, pools, draws, rng)


def merged(used: dict[str, tuple[Uses, NDArray[Any]]], draws: int) -> Iterator[tuple[float, WordChange]]:
    """As :func:`planted`, of pairs of words with 16 uses each; every word is used once."""
    rng = np.random.default_rng(2)
    words = [word for word in sorted(used) if len(used[word][0]) >= 16]
    for one, other in zip(words[::2], words[1::2], strict=False):
        a, b = used[one][0], used[other][0]
        rows = np.union1d(a.rows, b.rows)
        vectors = np.concatenate([a.vectors, b.vectors])
        p, _ = posterior(a.corpus.dictionary, rows, vectors)
        parts = [np.concatenate([getattr(x, name) for x in (a, b)]) for name in ("fits", "document", "place")]
        both = Uses(f"{one}+{other}", rows, p, parts[0], vectors, parts[1], parts[2], a.corpus)
        pools = [np.arange(len(a)), len(a) + np.arange(len(b))]
        yield from _drawn(both.word, both, pools, draws, rng)


def _drawn(word: str, uses: Uses, pools: Sequence[NDArray[Any]], draws: int, rng: Any) -> Iterator[tuple[float, Any]]:
    halves = [np.array_split(rng.permutation(pool), 2) for pool in pools]
    for shift in SHIFTS:
        middle = rng.uniform(shift / 2, 1 - shift / 2)
        mixes = [middle - shift / 2, middle + shift / 2]
        periods, shown = [], []
        for period, mix in enumerate(mixes if rng.random() < 0.5 else mixes[::-1]):
            count = int(rng.binomial(draws, mix))
            chosen = [rng.choice(halves[k][period], n) for k, n in enumerate((count, draws - count))]
            own = uses[np.concatenate(chosen)]
            own.document[:] = own.place  # a use that is drawn again is no other document
            periods.append(own)
            shown.append(np.array([count, draws - count]) / draws)
        yield jensen_shannon(*shown), compare(word, ("old", "new"), periods, split=False, resamples=100)


def jensen_shannon(p: NDArray[Any], q: NDArray[Any]) -> float:
    """The Jensen–Shannon distance, base 2."""
    middle = (p + q) / 2
    terms = [(x[x > 0] * np.log2(x[x > 0] / middle[x > 0])).sum() for x in (p, q)]
    return float(np.sqrt(max(sum(terms) / 2, 0)))


def report_planted(name: str, found: Sequence[tuple[float, WordChange]]) -> None:
    """ρ of every measure with the planted amount."""
    amounts = np.array([amount for amount, _ in found])
    rows = []
    for measure in MEASURES:
        values = np.array([item.measures[measure] for _, item in found])
        words = [item.word for _, item in found]
        within = [
            spearman(values[own], amounts[own])
            for own in (np.array([w == word for w in words]) for word in dict.fromkeys(words))
        ]
        rows.append([measure, f"{spearman(values, amounts):.3f}", f"{np.mean(within):.3f}"])
    print(f"\nPlanted, {name}: {len(found)} pairs of periods of {len(set(words))} words")
    print(table(["measure", "ρ", "mean ρ within a word"], rows))
    large = np.array([item.changed for a, item in found if a >= 0.3])
    none = np.array([item.new_senses for a, item in found if a < 0.1])
    print(f"p ≤ .05 where the amount is ≥ .3: {large.mean():.2f}; new senses where it is < .1: {none.mean():.2f}")


def report_null(used: dict[str, tuple[Uses, NDArray[Any]]]) -> None:
    """False alarms: the uses of a word divided at random."""
    rng, alarms, senses = np.random.default_rng(3), [], []
    for word, (uses, _) in sorted(used.items()):
        if len(uses) >= 12:
            for _ in range(4):
                order = rng.permutation(len(uses))
                halves = [uses[half] for half in np.array_split(order, 2)]
                for half in halves:
                    half.document[:] = np.arange(len(half))
                item = compare(word, ("a", "b"), halves, split=False, resamples=100)
                alarms.append(item.changed)
                senses.append(item.new_senses)
    print(f"\nNothing planted: {len(alarms)} divisions")
    print(f"p ≤ .05 in {np.mean(alarms):.3f}, new senses in {np.mean(senses):.3f}")


def report_semeval(dictionary: Dictionary, folder: Path, most: int, words: int | None) -> None:
    """ρ with the graded truth, accuracy on the binary one."""
    truth = folder / "src" / "data" / "english" / "truth"
    graded, binary = (_truth(truth / f"{name}.txt") for name in ("graded", "binary"))
    uses: list[dict[str, list[str]]] = []
    for number in (1, 2):
        path = folder / "generated_definitions" / "english" / "greedy" / f"english-corpus{number}.tsv.gz"
        own: dict[str, list[str]] = defaultdict(list)
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                word, text, *_ = line.split("\t")
                own[word].append(text.partition(" What is the definition of ")[0])
        uses.append(own)
    begin, found = time.perf_counter(), {}
    for target in list(graded)[:words]:
        word, _, tag = target.partition("_")
        corpora = [[(text, {}) for text in _evenly(own[word], most)] for own in uses]
        tagged = [opened(corpus, [word], dictionary) for corpus in corpora]
        found[target] = compare(word, ("1810–1860", "1960–2010"), [t.uses(word, POS[tag]) for t in tagged], split=False)
        print(".", end="", flush=True)
    seconds = time.perf_counter() - begin
    true = np.array([graded[target] for target in found])
    rows = [
        [name, f"{spearman(np.array([item.measures[name] for item in found.values()]), true):.3f}"] for name in MEASURES
    ]
    print(f"\nSemEval-2020 Task 1 English: {len(found)} words, {seconds:.0f} s")
    print(table(["measure", "ρ"], rows))
    right = np.mean([item.new_senses == bool(binary[target]) for target, item in found.items()])
    says = np.mean([item.new_senses for item in found.values()])
    print(f"subtask 1: accuracy {right:.3f}, says changed {says:.2f}, is changed {np.mean(list(binary.values())):.2f}")


def _evenly(texts: Sequence[str], most: int) -> list[str]:
    chosen = range(len(texts)) if len(texts) <= most else np.linspace(0, len(texts) - 1, most).astype(int)
    return [texts[i] for i in chosen]


def _truth(path: Path) -> dict[str, float]:
    return {word: float(value) for word, value in (line.split() for line in path.read_text().splitlines() if line)}


if __name__ == "__main__":
    main()
