"""Are the parts of speech of a lexicon's senses those of WordNet?

    python benchmarks/parts_of_speech.py DICT [LEXICON]

- *Words of one part*: all synsets of the word, and of what it can be an inflected form of, are nouns, or verbs,
  adjectives, adverbs. Is the part of speech of its weightiest sense that one?
- *Sentences*: examples of a synset of a word whose senses have different parts of speech here. Is that of the sense
  which is told by the words around, without a parser, that of the synset? Beside it that of the weightiest sense, and
  the one most synsets of the word have.

PROPN counts as NOUN. DICT is as in words_in_context.py.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import lemminflect
import numpy as np
from measure import options, table
from words_in_context import PARTS, read_uses

import polysema as ps
from polysema.evaluation.ambiguity import table as synset_counts
from polysema.senses.senses import part_of_speech_of, senses_of

ORDER = ("NOUN", "VERB", "ADJ", "ADV")
SURE = 0.8


def plain(part: str | None) -> str | None:
    """Names are nouns."""
    return "NOUN" if part == "PROPN" else part


def possible(word: str) -> set[str]:
    """What WordNet says that a word can be, by itself or as a form of its lemmas."""
    known, lemmas = synset_counts(), lemminflect.getAllLemmas(word)
    return {
        part
        for i, part in enumerate(ORDER)
        if any(lemma in known and known[lemma][i] for lemma in (word, *lemmas.get(part, ())))
    }


def words_of_one_part(lexicon: ps.Lexicon) -> list[list[str]]:
    """A row for each group of words: how many, how many have a part here, how many of these the right one."""
    counts: Counter[tuple[str, str]] = Counter()
    for word in lexicon.vocabulary.words:
        if len(parts := possible(word)) != 1:
            continue
        ids, (true,) = senses_of(lexicon, word).ids, parts
        part, share = part_of_speech_of(lexicon, word, int(ids[0]))
        for group in (true, "several senses" if len(ids) > 1 else "one sense", "all"):
            counts[group, "words"] += 1
            counts[group, "known"] += part is not None
            counts[group, "right"] += plain(part) == true
            counts[group, "sure"] += (share or 0) >= SURE
            counts[group, "sure, right"] += (share or 0) >= SURE and plain(part) == true
    rows = []
    for group in (*ORDER, "one sense", "several senses", "all"):
        words, known, right, sure, both = (
            counts[group, name] for name in ("words", "known", "right", "sure", "sure, right")
        )
        if sure:
            shares = known / words, right / known, sure / known, both / sure
            rows.append([group, f"{words:,}", *(f"{share:.3f}" for share in shares)])
    return rows


def sentences(lexicon: ps.Lexicon, folder: Path) -> list[list[str]]:
    """A row for each way to say what the word is."""
    uses, right, known = read_uses(folder)[0], Counter[str](), synset_counts()
    asked = []
    for use in uses:
        if use.form in lexicon.vocabulary and use.lemma in known:
            ids = senses_of(lexicon, use.form).ids.tolist()
            parts = [plain(part_of_speech_of(lexicon, use.form, sense)[0]) for sense in ids]
            if len({part for part in parts if part}) > 1:
                asked.append((use, parts[0]))
    told = lexicon.disambiguate([(use.form, use.sentence) for use, _ in asked], nlp=False)
    for (use, first), item in zip(asked, told, strict=True):
        true = next(tag for part, tag in PARTS.items() if use.synset.endswith(part))
        right["the sense that is told"] += plain(item.sense.part) == true
        right["the weightiest sense"] += first == true
        right["most synsets"] += ORDER[int(np.argmax(known[use.lemma]))] == true
    return [[name, f"{len(asked):,}", f"{number / len(asked):.3f}"] for name, number in right.items()]


def main() -> None:
    """Ask, count."""
    args = options(__doc__, "dict", "[lexicon]")
    lexicon = ps.load(args.lexicon)
    print(table(["", "words", "known", "right", f"share ≥ {SURE}", "right there"], words_of_one_part(lexicon)))
    print("\n" + table(["by", "sentences", "right"], sentences(lexicon, Path(args.dict))))


if __name__ == "__main__":
    main()
