"""The slow, obvious implementation that the fast one is held against: strings, regular expressions, a Counter."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from polysema.corpus.normalisation import MAX_SENTENCE, NEVER_END, NUMBERED, Normalisation

MARKS = "".join(chr(i) for i in range(0x40000) if unicodedata.category(chr(i))[0] == "M")
NEWLINES = "\n\x1c\x1d\x1e\x85\u2028\u2029"
RUN = re.compile(rf"\w[\w{MARKS}]*")
NUMBERS = "".join(chr(i) for i in range(0x40000) if unicodedata.category(chr(i))[0] == "N")
LETTER = rf"[^\W{NUMBERS}_]"
HYPHENATED = re.compile(rf"\w(?:[\w{MARKS}]|(?:(?<={LETTER})|(?<=[{MARKS}]))[-‐‑](?={LETTER}))*")


@dataclass
class Encoded:
    words: list[str]
    counts: list[int]
    sentences: list[list[int]]


def is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] == "L"


def is_word(run: str, options: Normalisation) -> bool:
    for character in run:
        category = unicodedata.category(character)
        if category[0] in "LM" or (options.hyphens and character in "-‐‑"):
            continue
        if options.digits and category[0] == "N":
            continue
        return False
    return len(folded(run, options).encode()) <= 255


def folded(run: str, options: Normalisation) -> str:
    if not options.lower:
        return run
    small = "".join(character.lower() for character in run)
    if run.endswith("Σ") and len(run) > 1:
        small = small[:-1] + "ς"
    return small


def runs(text: str, options: Normalisation) -> list[tuple[int, int]]:
    pattern = HYPHENATED if options.hyphens else RUN
    return [match.span() for match in pattern.finditer(text)]


def ends_sentence(previous: str, between: str, following: str) -> bool:
    """Whether a sentence ends between two runs."""
    if any(character in NEWLINES for character in between):
        return True
    ended, gap = "", False
    for character in between:
        category = unicodedata.category(character)
        if character in "\t\v\f\r\x1f" or category == "Zs":
            gap = True
        elif character in ".…":
            ended, gap = ended or ".", False
        elif character in "!?؟।॥‼⁇⁈⁉":
            ended, gap = "!", False
        elif character in "。！？":
            ended, gap = "!", True
        elif character in "\"'" or category in ("Pi", "Pf", "Ps", "Pe"):
            pass
        else:
            ended = ""
    if not ended or not gap or unicodedata.category(following[0]) == "Ll":
        return False
    if ended == "." and re.fullmatch("[A-Za-z]+", previous):
        if len(previous) == 1 or previous.lower() in NEVER_END:
            return False
        if previous.lower() in NUMBERED and not is_letter(following[0]):
            return False
    return True


def sentences(text: str, options: Normalisation) -> list[list[str]]:
    if options.raw:
        lines = [re.split("[\t\v\f\r ]+", line) for line in text.split("\n")]
        return [[word for word in line if word and len(word.encode()) <= 255] for line in lines]
    found: list[list[str]] = [[]]
    previous_end, previous = 0, ""
    for start, end in runs(text, options):
        run, between = text[start:end], text[previous_end:start]
        if options.sentences == "split":
            if ends_sentence(previous, between, run):
                found.append([])
        elif any(character in NEWLINES for character in between):
            found.append([])
        if is_word(run, options):
            found[-1].append(folded(run, options))
        previous_end, previous = end, run
    return found


def encode(
    lists: list[list[str]],
    min_count: int = 1,
    max_size: int | None = None,
    keep: tuple[str, ...] = (),
    shortest: int = 2,
) -> Encoded:
    pieces = [s[i : i + MAX_SENTENCE] for s in lists for i in range(0, max(len(s), 1), MAX_SENTENCE)]
    pieces = [piece for piece in pieces if len(piece) >= shortest]
    counts = Counter(word for piece in pieces for word in piece)
    order = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    order = [word for word in order if counts[word] >= min_count or word in keep]
    order = [word for i, word in enumerate(order) if max_size is None or i < max_size or word in keep]
    index = {word: i for i, word in enumerate(order)}
    encoded = [[index[word] for word in piece if word in index] for piece in pieces]
    return Encoded(order, [counts[word] for word in order], [sentence for sentence in encoded if sentence])
