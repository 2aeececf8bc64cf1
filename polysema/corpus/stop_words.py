"""English function words. By default they get no matrix where matrices are made from contexts."""

from __future__ import annotations

from collections.abc import Iterable

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


def is_content(words: Iterable[str], keep: Iterable[str] = ()) -> list[bool]:
    """For each word, whether it is a content word or on the list of words to keep."""
    kept = set(keep)
    return [word in kept or word.lower() not in STOP_WORDS for word in words]
