"""The content of the pages as plain dictionaries, which are the JSON of a page and fill its template.

Every answer comes from the library. A lexicon of density matrices can answer everything, a lexicon of vectors a part;
each page says what is missing (:func:`cannot`). Senses have glosses where the lexicon has a dictionary, else the words
nearest to them. Positions of marks in pictures are in ``pictures``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Any

from polysema import measures
from polysema.composition.compose import Composition
from polysema.composition.methods import method_named
from polysema.composition.occurrences import tokenised
from polysema.composition.phrases import is_text, is_word
from polysema.composition.trees import Leaf, with_paths, words_of
from polysema.corpus.normalisation import STOP_WORDS
from polysema.errors import Failed, InputError, PolysemaError
from polysema.explorer.listing import Facts, listing
from polysema.lexicon.lexicon import AnyLexicon, Lexicon
from polysema.meanings.results import clean
from polysema.senses.answers import Disambiguation, Sense
from polysema.slots.model import PhraseMatrix

COLOURS = 6
"""Colours for senses; one more, grey, is for all others."""

MOST_STEPS = 60
"""Words of a sentence that is read word by word, at most."""


def cannot(lexicon: AnyLexicon) -> str:
    """What a lexicon cannot answer, and why; empty for density matrices."""
    if isinstance(lexicon, Lexicon):
        return ""
    return "This is a lexicon of vectors. A vector is one point: it has no entropy and no senses."


# ------------------------------------------------------------------------------------------------------------ reading


def sentences(lexicon: AnyLexicon, texts: Sequence[str]) -> list[Facts]:
    """The words of each sentence with the sense that is meant, and what to say of words that are not known."""
    found = []
    for text, read in zip(texts, _read(lexicon, texts), strict=True):
        words = [_word(item, colours([_ids(item)])) for item in read]
        found.append({"sentence": text, "words": words, "notes": notes(lexicon, text), "cannot": cannot(lexicon)})
    return found


def steps(lexicon: AnyLexicon, text: str) -> Facts:
    """The same after each word, as it is read from left to right.

    Returns:
        ``heard``, the words and where each ends; ``words`` with more than one sense, each with ``steps``: the
        probabilities of its senses after each word, None before it is read; and ``turned``, where the
        sense of a word changed.
    """
    heard: list[Facts] = [{"text": t.text, "end": t.start + len(t.text)} for t in tokenised(text).tokens]
    if len(heard) > MOST_STEPS:
        raise InputError(f"{len(heard)} words: at most {MOST_STEPS} are read word by word; give one sentence")
    readings = _read(lexicon, [text[: item["end"]] for item in heard])
    words, turned = [], []
    for item in readings[-1] if readings else []:
        if item.only_sense:
            continue
        own, path, best = _word(item, colours([_ids(item)])), [], []  # type: Facts, list[Any], list[tuple[int, int]]
        for number, reading in enumerate(readings):
            same = (other for other in reading if (other.span[0], other.word) == (item.span[0], item.word))
            found = {sense.id: sense.probability for other in same for sense in other.senses}
            path.append([found.get(sense.id, 0.0) for sense in item.senses] if found else None)
            if found:
                best.append((max(range(len(item.senses)), key=path[-1].__getitem__), number))
        words.append({**own, "steps": path})
        for (old, _), (new, number) in pairwise(best):
            if old != new:
                pair = {"number": len(words) - 1, "from": own["senses"][old], "to": own["senses"][new]}
                turned.append({"word": item.form, "at": heard[number]["text"], "step": number + 1, **pair})
    facts: Facts = {"sentence": text, "heard": heard, "words": words, "turned": turned}
    return {**facts, "notes": notes(lexicon, text), "cannot": cannot(lexicon)}


def _read(lexicon: AnyLexicon, texts: Sequence[str]) -> list[Sequence[Disambiguation]]:
    """The words of each text that have senses, from left to right; of a dictionary also those of one sense."""
    if not isinstance(lexicon, Lexicon):
        return [[] for _ in texts]
    return [*lexicon.read([*texts], every=lexicon.dictionary is not None, nlp=False)]


def _ids(item: Disambiguation) -> list[int]:
    return [sense.id for sense in item.senses]


def _word(item: Disambiguation, coloured: dict[int, int]) -> Facts:
    """A word in its context, with a colour for each sense."""
    told = ("word", "form", "span", "fits", "entropy_before", "entropy_after")
    senses = _senses(item.senses, coloured)
    facts = item.to_dict()
    return {**{name: facts[name] for name in told}, "only_sense": len(senses) == 1, "senses": senses}


def _senses(senses: Sequence[Sense], coloured: dict[int, int] | None = None) -> list[Facts]:
    """Senses, each with a colour."""
    coloured = colours([[sense.id for sense in senses]]) if coloured is None else coloured
    return [{**sense.to_dict(), "colour": coloured.get(sense.id, COLOURS)} for sense in senses]


def colours(orders: Sequence[Sequence[int]]) -> dict[int, int]:
    """A colour for each of the first senses of some orders, the same wherever its number allows it."""
    found: dict[int, int] = {}
    for ranked in zip_longest(*orders):
        for number in ranked:
            free = [colour for colour in range(COLOURS) if colour not in found.values()]
            if number is not None and number not in found and free:
                found[number] = number % COLOURS if number % COLOURS in free else free[0]
    return found


def notes(lexicon: AnyLexicon, text: str) -> list[str]:
    """What is wrong with a text, and what to do; empty for an English sentence of known words."""
    words = [token.text for token in tokenised(text).tokens]
    if not words:
        return ["There is no word in this text. Type an English sentence, such as “The bank by the river was steep.”"]
    asked = [word for word in dict.fromkeys(words) if word.lower() not in STOP_WORDS]
    unknown = [word for word in asked if word not in lexicon and word.lower() not in lexicon]
    if 2 * len(unknown) > len(words) or (len(words) > 4 and len(asked) == len(set(words))):
        strange = f"{len(unknown)} of its {len(words)} words are unknown"
        told = strange if len(unknown) > 1 else "it has no word such as “the” or “of”"
        return [f"This does not look like English: {told}. Only English is read here; what follows may mean nothing."]
    if unknown:
        return [f"Not in the lexicon, so left out: {', '.join(unknown[:8])}. Check the spelling, or use another word."]
    return []


def two_sentences(lexicon: AnyLexicon, first: str, second: str) -> Facts:
    """The words that two sentences share: their sense in each, how alike the two uses are, and which words decide.

    A word decides by the probability that the sense meant loses when the sentence is read without it.
    """
    texts = (first, second)
    reads = _read(lexicon, texts)
    named = [{item.word: item for item in reversed(read) if not item.only_sense} for read in reads]
    both = [word for word in dict.fromkeys(item.word for item in reads[0]) if word in named[0] and word in named[1]]
    coloured = {word: colours([_ids(side[word]) for side in named]) for word in both}
    without = [_without(lexicon, text) if both else [] for text in texts]
    uses = []
    for word in both:
        pair = [side[word] for side in named]
        alike = float(measures.similarity(pair[0].meaning, pair[1].meaning))
        told = [
            {**_word(item, coloured[word]), "because": _because(item, less)}
            for item, less in zip(pair, without, strict=True)
        ]
        uses.append({"word": word, "alike": alike, "same": pair[0].sense.id == pair[1].sense.id, "uses": told})
    sides = [
        {"sentence": text, "words": [_word(item, coloured.get(item.word) or colours([_ids(item)])) for item in read]}
        for text, read in zip(texts, reads, strict=True)
    ]
    return {"sides": sides, "uses": uses, "notes": [note for text in texts for note in notes(lexicon, text)]}


def _without(lexicon: AnyLexicon, text: str, most: int = 16) -> list[tuple[str, Sequence[Disambiguation]]]:
    """What a sentence says when it is read without one of its words, for each that can decide."""
    tokens = [token for token in tokenised(text).tokens if token.text.lower() not in STOP_WORDS][:most]
    texts = [text[: token.start] + text[token.start + len(token.text) :] for token in tokens]
    return [*zip((token.text for token in tokens), _read(lexicon, texts), strict=True)]


def _because(item: Disambiguation, without: Sequence[tuple[str, Sequence[Disambiguation]]]) -> list[Facts]:
    """The three words that speak most for the sense that is meant."""
    lost: list[Facts] = []
    for name, read in without:
        left = [sense.probability for other in read if other.word == item.word for sense in other.senses
                if sense.id == item.sense.id]  # fmt: skip
        lost += [{"word": name, "by": item.sense.probability - left[0]}] if left else []
    return sorted((one for one in lost if one["by"] > 0.02), key=lambda one: -one["by"])[:3]


# --------------------------------------------------------------------------------------------------------------- tree


def tree(lexicon: AnyLexicon, text: str, method: str = "", nlp: Any = None) -> Facts:
    """A sentence composed node by node, and its entropy by other methods."""
    method = method or lexicon.default_method
    method_named(method, lexicon.methods)
    facts: Facts = {"sentence": text, "method": method, "no_tree": "", "composition": None, "nodes": [], "methods": []}
    try:
        composed = lexicon.compose(text, method, nlp=nlp)
    except PolysemaError as error:
        return {**facts, "no_tree": str(error), "cannot": cannot(lexicon)}
    facts |= {"composition": composed.to_dict(), "nodes": _nodes(lexicon, composed)}
    return {**facts, "methods": _methods(lexicon, composed), "cannot": cannot(lexicon)}


def _nodes(lexicon: AnyLexicon, composed: Composition) -> list[Facts]:
    """The nodes in the order of composition; each word has its position in the sentence."""
    found: list[Facts] = []
    for path, node in with_paths(composed.tree):
        facts: Facts = {"path": path, "phrase": words_of(node), "entropy": composed.entropy_at(path), "neighbours": []}
        if isinstance(node, Leaf):
            facts["position"] = node.position
        else:
            facts |= {"kind": node.kind, "functor": words_of(node.functor), "argument": words_of(node.argument)}
        found.append(facts)
    phrases = [facts for facts in found if "functor" in facts]
    meanings = [composed.meanings[facts["path"]] for facts in phrases]
    if all(isinstance(one, PhraseMatrix) or one.n == lexicon.n for one in meanings):  # products have another space
        for facts, near in zip(phrases, lexicon.neighbours(meanings, 6), strict=True):
            facts["neighbours"] = [] if isinstance(near, Failed) else [item.to_dict() for item in near]
    return found


def _methods(lexicon: AnyLexicon, composed: Composition) -> list[Facts]:
    """The entropy of the same tree by every method."""
    found = []
    for name, composer in lexicon.methods.items():
        facts: Facts = {"name": name, "formula": composer.formula, "entropy": None, "error": ""}
        try:
            if name == composed.method:
                facts["entropy"] = composed.entropy
            elif name == "contextual":
                facts["error"] = "not computed here: an encoder reads the sentence"
            elif isinstance(lexicon, Lexicon):
                facts["entropy"] = lexicon.compose(composed.tree, name).entropy
        except PolysemaError as error:
            facts["error"] = str(error)
        found.append(facts)
    return found


# --------------------------------------------------------------------------------------------------------------- word


def word(lexicon: AnyLexicon, asked: str, top: int = 12, fine: bool = False) -> Facts:
    """The ambiguity of a word, its senses by name, and similar words; a word of the dictionary alone has no others."""
    held = asked in lexicon
    in_dictionary = isinstance(lexicon, Lexicon) and lexicon.dictionary is not None and asked in lexicon.dictionary
    spelled = lexicon.vocabulary.words[lexicon.vocabulary.index(asked)] if held or not in_dictionary else asked
    (own,) = listing(lexicon).rows([spelled])
    facts: Facts = {"word": spelled, "ambiguity": own, "information_is": _information(lexicon), "fine": fine}
    facts["senses"] = _senses(lexicon.senses(spelled, top, fine=fine)) if isinstance(lexicon, Lexicon) else []
    seen = sum(sense["count"] for sense in facts["senses"])
    facts["senses"] = [{**sense, "interval": _wilson(sense["count"], seen)} for sense in facts["senses"]]
    facts["similar"] = [item.to_dict() for item in lexicon.neighbours(spelled, top)] if held else []
    return {**facts, "like": listing(lexicon).like(spelled) if held else [], "cannot": cannot(lexicon)}


def _wilson(count: int, total: int) -> list[float] | None:
    """Wilson's 95 % interval of a share; None where nothing was counted."""
    if total == 0:
        return None
    z2, share = 1.96**2, count / total
    middle, wide = share + z2 / (2 * total), math.sqrt(share * (1 - share) * z2 / total + (z2 / (2 * total)) ** 2)
    return [max(0.0, (middle - wide) / (1 + z2 / total)), (middle + wide) / (1 + z2 / total)]


def _information(lexicon: AnyLexicon) -> str:
    """The name of the measure of information; empty where the lexicon has none."""
    return "" if lexicon.parts.information is None else lexicon.parts.information.measure


# ------------------------------------------------------------------------------------------------------------ compare

_SYMMETRIC = ("similarity", "overlap", "fidelity", "trace-distance")

_SMOOTHED = ("k-hyp", "relative-entropy")
"""Measures that are 0 or ∞ for nearly all words of low rank: the second matrix is 0.9 σ + 0.1 · 1/n."""


def compared(lexicon: AnyLexicon, a: str, b: str, nlp: Any = None) -> Facts:
    """Two words, phrases or sentences by every measure that the lexicon has, with their senses side by side."""
    both = (a, b)
    asked: list[Any] = [lexicon.compose(q, nlp=nlp) if is_text(q) and q not in lexicon else q for q in both]
    rows, shared = [], []
    if isinstance(lexicon, Lexicon):
        asked = [*lexicon.meanings(asked)]
        for name, measure in measures.MEASURES.items():
            options: dict[str, Any] = {"smoothing": 0.1} if name in _SMOOTHED else {}
            there, back = clean([float(measure(*pair, **options)) for pair in (asked, asked[::-1])])
            formula = (measure.__doc__ or "").strip().splitlines()[0] + (" σ smoothed by 0.1." if options else "")
            rows.append(
                {"measure": name, "mutual": name in _SYMMETRIC, "a_to_b": there, "b_to_a": back, "formula": formula}
            )
    else:
        value, formula = float(lexicon.similarity(*asked)), "The cosine of two vectors."
        rows.append({"measure": "similarity", "mutual": True, "a_to_b": value, "b_to_a": value, "formula": formula})
    senses = [_senses_of(lexicon, query) for query in both]
    sides = [_side(lexicon, *each) for each in zip(both, asked, senses, strict=True)]
    first, second = ([sense.vector for sense in own] for own in senses)
    if first and second and len(first[0]) == len(second[0]):
        shared = [[float(v @ w) ** 2 for w in second] for v in first]
    return {"a": sides[0], "b": sides[1], "measures": rows, "shared": shared}


def _senses_of(lexicon: AnyLexicon, query: str) -> list[Sense]:
    return [*lexicon.senses(query, 6)] if isinstance(lexicon, Lexicon) and (query in lexicon or is_word(query)) else []


def _side(lexicon: AnyLexicon, query: str, meaning: Any, senses: Sequence[Sense]) -> Facts:
    known = query in lexicon or is_word(query)
    return {
        "query": query,
        "is_word": known,
        "entropy": lexicon.entropy(query if known else meaning) if isinstance(lexicon, Lexicon) else None,
        "senses": _senses(senses),
        "neighbours": [item.to_dict() for item in lexicon.neighbours(query if known else meaning, 8)],
    }


def in_two(first: AnyLexicon, second: AnyLexicon, asked: str, top: int = 20) -> Facts:
    """A word in two lexicons: its entropy, senses and nearest words in each; their spaces cannot be compared."""
    both = (first, second)
    old, new = ([item.word for item in lexicon.neighbours(asked, top)] for lexicon in both)
    near = {
        "both": [word for word in old if word in new],
        "first": [word for word in old if word not in new],
        "second": [word for word in new if word not in old],
    }
    entropies = [lexicon.entropy(asked) if isinstance(lexicon, Lexicon) else None for lexicon in both]
    senses = [_senses(_senses_of(lexicon, asked)) for lexicon in both]
    return {"word": asked, "entropies": entropies, "senses": senses, "near": near}


# -------------------------------------------------------------------------------------------------------------- about


def about(name: str, lexicon: AnyLexicon) -> Facts:
    """A lexicon's size, origin and methods."""
    return {
        "lexicon": name,
        "kind": lexicon.kind,
        "words": len(lexicon),
        "n": lexicon.n,
        "m": lexicon.m if isinstance(lexicon, Lexicon) else None,
        "metadata": {key: value for key, value in lexicon.metadata.items() if isinstance(value, str | int | float)},
        "methods": [{"name": key, "formula": composer.formula} for key, composer in lexicon.methods.items()],
        "information_is": _information(lexicon),
        "cannot": cannot(lexicon),
    }
