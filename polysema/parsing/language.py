"""Whether a text is English, by its function words and by how many of its words are known."""

from __future__ import annotations

from collections.abc import Container, Sequence

from polysema.composition.occurrences import Token
from polysema.corpus.normalisation import STOP_WORDS

FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "French": "le la les un une des du de et est sur dans que qui pour pas ne au aux avec il elle ils je nous vous",
        "German": "der die das den dem des ein eine einen und ist nicht auf mit von zu im in für sich er sie es war",
        "Spanish": "el la los las un una de del y es en que por con para no se su al lo más pero sus está yo",
        "Italian": "il lo la i gli le un una di del della e è che in per con non si da al sono era nel alla",
        "Portuguese": "o a os as um uma de do da dos e é que em no na por com para não se mais ao foi ele ela",
        "Dutch": "de het een en van is dat niet op in met voor zijn te aan er die was hij zij naar door bij",
        "Polish": "i w na z do nie się to jest że o jak po za od przez dla być ale są był",
        "Swedish": "och en ett det som på är av för med den till inte om har de i var jag han hon sig från",
    }.items()
}
"""The most frequent function words of some languages."""

KNOWN = 1 / 3
"""A text of at least :data:`FEWEST` words of which a smaller share is known is not taken for English."""

FEWEST = 4


def not_english(tokens: Sequence[Token], known: Container[str] | None) -> str:
    """Why a parsed text is not taken for English, with the number of known words; empty where it may be.

    Another language is named where at least two words of the text are function words of that language and not of
    English, and more than the English ones.
    """
    tokens = [token for token in tokens if token.text.isalpha()]
    words = [token.text.lower() for token in tokens]
    found = [
        word
        for word, token in zip(words, tokens, strict=True)
        if word in STOP_WORDS or known is None or any(form in known for form in (word, token.text, token.lemma))
    ]
    share = f"{len(found)} of its {len(words)} words are known"
    counts = {
        language: len({word for word in words if word in listed and word not in STOP_WORDS})
        for language, listed in FUNCTION_WORDS.items()
    }
    language = max(counts, key=counts.__getitem__)
    english = {word for word in words if word in STOP_WORDS and word not in FUNCTION_WORDS[language]}
    if counts[language] >= 2 and counts[language] > len(english):
        return f"it looks {language}, and only English is parsed ({share})"
    if len(words) >= FEWEST and len(found) < KNOWN * len(words):
        return f"it does not look English: {share}"
    return ""
