"""From an inflected form to its lemmas, by WordNet's exceptions and the endings of English.

A form's lemmas are looked up first (*ran* → *run*). For a regular form an ending is replaced by each of those that it
may stand for, and what the dictionary holds is kept (*boxes* → *box*, *hotter* → *hot*). The first word of a multi-word
verb and the last of a multi-word noun are inflected (*took off*, *ice creams*).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "n": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
          ("ies", "y"), ("'s", ""), ("’s", ""), ("'", "")),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
          ("ied", "y")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e"), ("ier", "y"), ("iest", "y")),
    "r": (),
}  # fmt: skip
"""(ending, what takes its place) by part of speech; a doubled consonant before *ed*, *ing* … is undone too."""

_DOUBLING = ("ed", "ing", "er", "est")


class Forms:
    """Finds the lemmas of a form.

    Args:
        letters: gives the letters of a lemma's parts of speech (``nvar``); none for a word that is no lemma.
        exceptions: (form, lemma, letter) of irregular forms.

    >>> known = {"run": "nv", "hot": "a", "take off": "v"}
    >>> forms = Forms(lambda word: known.get(word, ""), [("ran", "run", "v"), ("took", "take", "v")])
    >>> forms.lemmas("ran"), forms.lemmas("hotter"), forms.lemmas("running"), forms.lemmas("took off")
    ([('run', 'v')], [('hot', 'a')], [('run', 'v')], [('take off', 'v')])
    """

    def __init__(
        self, letters: Callable[[str], Collection[str]], exceptions: Iterable[tuple[str, str, str]] = ()
    ) -> None:
        self._letters = letters
        self._exceptions: dict[tuple[str, str], list[str]] = {}
        for form, lemma, pos in exceptions:
            self._exceptions.setdefault((form, pos), []).append(lemma)

    def lemmas(self, form: str, pos: str = "nvar") -> list[tuple[str, str]]:
        """(lemma, part of speech) of a form in lower case; the form itself comes first where it is a lemma.

        Args:
            pos: the letters of the parts of speech to look for.
        """
        found: list[tuple[str, str]] = []
        for letter in pos:
            for base in self._bases(form, letter):
                if letter in self._letters(base) and (base, letter) not in found:
                    found.append((base, letter))
        found.sort(key=lambda pair: pair[0] != form)
        return found

    def _bases(self, form: str, letter: str) -> list[str]:
        bases = [form, *self._exceptions.get((form, letter), ())]
        if " " in form:
            first, _, rest = form.partition(" ")
            head, _, last = form.rpartition(" ")
            if letter == "v":
                bases += [f"{base} {rest}" for base in self._bases(first, letter)]
            elif letter == "n":
                bases += [f"{head} {base}" for base in self._bases(last, letter)]
            return bases
        for ending, instead in ENDINGS[letter]:
            if form.endswith(ending) and len(form) > len(ending) + 1:
                stem = form[: -len(ending)]
                bases.append(stem + instead)
                if not instead and ending in _DOUBLING and len(stem) > 2 and stem[-1] == stem[-2]:
                    bases.append(stem[:-1])
        return bases
