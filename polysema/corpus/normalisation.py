"""What counts as a word, as a sentence and as a content word.

By default as in the paper: words are lower-cased and alphabetic, sentences have at least two of them.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import check_choice

if TYPE_CHECKING:
    from polysema.kernels.tokens import Rules

# fmt: off
NEVER_END = (
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "hon", "gen", "col", "lt", "sgt", "capt", "cpl", "maj", "cmdr", "adm",
    "gov", "sen", "rep", "pres", "sr", "jr", "messrs", "mme", "mlle", "vs", "eg", "ie", "cf", "viz", "al", "ca",
    "approx",
)
"""Abbreviations whose full stop ends no sentence, whatever follows."""

NUMBERED = (
    "no", "nos", "vol", "vols", "fig", "figs", "p", "pp", "ch", "chap", "sec", "art", "eq", "ed", "eds", "nr", "op",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
)
"""Abbreviations whose full stop ends no sentence when a number follows."""
# fmt: on

MAX_SENTENCE = 10_000
"""Longer sentences are cut into pieces of this many words: text without full stops must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """How text becomes words and sentences.

    A *run* is a maximal sequence of word characters: letters with the marks on them, digits and the underscore. It is
    a word when it holds letters only. Case is folded character by character as Unicode defines it; a capital sigma that
    ends a word becomes ς.
    """

    lower: bool = True  # fold case
    digits: bool = False  # runs with digits are words too
    hyphens: bool = False  # a hyphen between two letters is part of the word
    # ``split`` ends a sentence at the end of a line and, within it, where . ! ? or … (and quotes or brackets) are
    # followed by white space and a capital, a number or a letter of a script without case, except after an initial
    # or an abbreviation; ``lines`` treats each line as a sentence.
    sentences: str = "split"
    raw: bool = False  # words are what ASCII white space separates, unchanged; lines are sentences
    min_sentence: int = 2  # shorter sentences are left out

    def __post_init__(self) -> None:
        check_choice("way to find sentences", self.sentences, ("split", "lines"))

    def as_dict(self) -> dict[str, Any]:
        """For a configuration file."""
        return asdict(self)

    def rules(self) -> Rules:
        """The rules as tables for the kernels."""
        return _rules(self)


@lru_cache(maxsize=8)
def _rules(chosen: Normalisation) -> Rules:
    from polysema.kernels import tokens as k

    categories, lower = character_tables()
    kinds = categories[:256].copy()
    kinds[128:] = k.RESET
    same = np.arange(256, dtype=np.uint8)
    folded = lower[:256].astype(np.uint8) if chosen.lower else same
    is_letter = (kinds == k.LOWER) | (kinds == k.UPPER)
    letters = np.where(is_letter, folded, 0).astype(np.uint8)
    if chosen.raw:
        kinds[:] = k.LOWER
        kinds[[9, 11, 12, 13, 32]] = k.SPACE
        kinds[10] = k.NEWLINE
        kinds[0] = k.RESET
        letters = np.where(kinds == k.LOWER, same, 0).astype(np.uint8)
    return k.Rules(
        kinds=kinds,
        letters=letters,
        folded=folded,
        same=same,
        categories=categories,
        lower=lower if chosen.lower else np.arange(len(lower), dtype=np.int32),
        never=_keys(NEVER_END),
        numbered=_keys(NUMBERED),
        digits=chosen.digits,
        hyphens=chosen.hyphens,
        split=chosen.sentences == "split" and not chosen.raw,
        fold=chosen.lower and not chosen.raw,
        swift=not chosen.raw,
    )


def _keys(words: tuple[str, ...]) -> NDArray[np.uint64]:
    return np.sort(np.array([int.from_bytes(word.encode(), "little") for word in words], dtype=np.uint64))


LAST_LETTER = 0x40000
"""No code point from here on is a letter (Unicode's higher planes hold variation selectors and private use)."""


@lru_cache(maxsize=1)
def character_tables() -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The kind of every code point, and its lower case, by this Python's Unicode database."""
    from polysema.kernels import tokens as k

    by_category = {
        "Lu": k.UPPER, "Lt": k.UPPER, "Ll": k.LOWER, "Lm": k.UNCASED, "Lo": k.UNCASED,
        "Mn": k.MARK, "Mc": k.MARK, "Me": k.MARK, "Nd": k.DIGIT, "Nl": k.DIGIT, "No": k.DIGIT,
        "Zs": k.SPACE, "Pi": k.NEUTRAL, "Pf": k.NEUTRAL, "Ps": k.NEUTRAL, "Pe": k.NEUTRAL,
    }  # fmt: skip
    spelled = "".join(map(unicodedata.category, map(chr, range(LAST_LETTER)))).encode()
    pairs = np.frombuffer(spelled, dtype="<u2")  # the two letters of each category as one number
    kinds = np.full(LAST_LETTER, k.RESET, dtype=np.uint8)
    for category, kind in by_category.items():
        kinds[pairs == int.from_bytes(category.encode(), "little")] = kind
    special = {
        "\n\x1c\x1d\x1e\x85\u2028\u2029": k.NEWLINE, "\t\v\f\r\x1f": k.SPACE, "_": k.DIGIT, ".…": k.PERIOD,
        "!?؟।॥‼⁇⁈⁉": k.STRONG, "。！？": k.WIDE, "-‐‑": k.HYPHEN, "\"'": k.NEUTRAL,
    }  # fmt: skip
    for characters, kind in special.items():
        kinds[[ord(character) for character in characters]] = kind
    lower = np.arange(LAST_LETTER, dtype=np.int32)
    for i in np.flatnonzero((kinds == k.UPPER) | (kinds == k.DIGIT)):
        small = chr(i).lower()
        lower[i] = ord(small) if len(small) == 1 else i  # İ, the one exception, is handled by the kernels
    return kinds, lower


def unicode_version() -> str:
    """The versions of Unicode and Python, which decide what a letter is."""
    return f"Unicode {unicodedata.unidata_version}, Python {sys.version_info.major}.{sys.version_info.minor}"


FUNCTION_WORDS = {
    "articles and determiners": "a an the this that these those each every either neither some any no all both such "
    "another other others same own many much several more most enough",
    "pronouns": "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself "
    "she her hers herself it its itself they them their theirs themselves one ones oneself someone somebody something "
    "anyone anybody anything everyone everybody everything nobody nothing none who whom whose which what whoever "
    "whatever whichever",
    "auxiliaries": "am is are was were be been being have has had having do does did doing done will would shall "
    "should can could may might must ought cannot",
    "prepositions": "of in on at by for with without within from to into onto upon about above below under over "
    "between among amongst through throughout during before after since until till against toward towards across "
    "behind beside besides beyond near off out up down along around via per than as",
    "conjunctions": "and or but nor so yet if unless although though because while whereas whether",
    "adverbs": "not only also too very just even then there here when where why how again once ever never always often "
    "still already however therefore thus hence else rather quite almost now",
    "pieces of words": "s t d ll m re ve don didn doesn isn wasn aren weren hasn haven hadn won wouldn couldn shouldn "
    "b c e f g h j k l n o p q r u v w x y z",
}

STOP_WORDS = frozenset(word for words in FUNCTION_WORDS.values() for word in words.split())
"""English function words. By default they get no matrix where matrices are made from contexts."""


def is_content(words: Iterable[str], keep: Iterable[str] = ()) -> list[bool]:
    """For each word, whether it is a content word or on the list of words to keep."""
    kept = set(keep)
    return [word in kept or word.lower() not in STOP_WORDS for word in words]
