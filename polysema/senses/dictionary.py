"""A dictionary of density matrices: words as mixtures of the senses that WordNet names.

Sense s of a word has a unit vector g_s, read from its gloss, and a frequency p_s:

    ρ_w = Σ_s p_s |g_s⟩⟨g_s|.

In a sentence the encoder gives the word a unit vector c of the same space, and

    p(s | c) ∝ p_s^a exp(β⟨g_s, c⟩),        ρ_{w|c} = Σ_s p(s | c) |g_s⟩⟨g_s|.

The parts of speech of one spelling are one word with all their senses; ``pos`` and ``lemma`` narrow them. A form finds
the senses of its lemmas, so *saw* has those of the noun, of the verb *saw* and of *see*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

from polysema.composition.occurrences import Span, first_choice
from polysema.composition.trees import shown
from polysema.density import DensityMatrix
from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.errors import FormatError, InputError, UnknownChoiceError, UnknownWordError
from polysema.meanings.context_model import softmax
from polysema.meanings.parts import Parts
from polysema.meanings.results import Results
from polysema.measures import mixture_entropies, similarity
from polysema.senses.answers import Disambiguation, Sense
from polysema.senses.dictionary_files import POS, Definition, DictionaryFile
from polysema.senses.doubt import COMMON, Doubt
from polysema.senses.entries import Entry, Found, Place
from polysema.senses.forms import Forms
from polysema.senses.several_words import Fit, are_one

FUNCTION_WORDS = frozenset((
    "a", "an", "the", "this", "that", "these", "those", "i", "me", "my", "mine", "myself", "we", "us", "our", "ours",
    "ourselves", "you", "your", "yours", "yourself", "yourselves", "he", "him", "his", "himself", "she", "her", "hers",
    "herself", "it", "its", "itself", "they", "them", "their", "theirs", "themselves", "who", "whom", "whose", "which",
    "what", "and", "or", "but", "nor", "so", "yet", "if", "because", "although", "though", "while", "as", "than",
    "whether", "of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "onto", "upon", "about", "against",
    "between", "among", "through", "during", "before", "after", "above", "below", "over", "under", "within", "without",
    "per", "via", "is", "am", "are", "was", "were", "be", "been", "being", "do", "does", "did", "has", "have", "had",
    "having", "will", "would", "shall", "should", "can", "could", "may", "might", "must",
))  # fmt: skip
"""Words that :meth:`Dictionary.read` passes over; :meth:`Dictionary.disambiguate` answers about them when asked."""

FUNCTION_NOUNS = frozenset(("can", "might", "mine", "must", "will"))
"""Function words that are nouns after one of :data:`DETERMINERS`."""

DETERMINERS = frozenset(("a", "an", "the", "my", "your", "his", "her", "its", "our", "their"))
ACRONYMS = frozenset(("IT", "US", "WHO"))
"""Nouns that are function words in small letters."""

_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_CLITIC = re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)$")
_BETWEEN = re.compile(r"\.?\s+|-")  # what may stand between the words of an entry
_MOST_KEPT = 20_000  # entries, so that a word is not looked up again at every call


@dataclass(frozen=True, slots=True)
class Calibration:
    """How similarities become probabilities.

    Attributes:
        sharpness: β of p(s | c).
        prior: a, the power of p_s; 0 leaves frequencies out.
        matrix_sharpness: β by which two uses are compared, which is smoother.
        source: the corpus that p_s comes from.
    """

    sharpness: float = 20.0
    prior: float = 0.3
    matrix_sharpness: float = 10.0
    source: str = "semcor"


class Dictionary:
    """Looks up senses, and finds which one is meant.

    Senses are coarse unless ``fine`` asks for all that the dictionary distinguishes; see
    :class:`~polysema.senses.entries.Entry`. ``pos`` is ``noun``, ``verb``, ``adj`` or ``adv``.

    Args:
        file: the senses and their vectors.
        encoder: reads words in their sentences; needed by everything that takes a text.
    """

    def __init__(self, file: DictionaryFile, encoder: GlossEncoder | None = None) -> None:
        self.file, self._encoder = file, encoder
        if encoder is not None and encoder.dimension != self.dimension:
            raise InputError(f"an encoder of {encoder.dimension} numbers does not fit a dictionary of {self.dimension}")
        self.calibration = Calibration(**file.options.get("calibration", {}))
        self._found: dict[str, Found | None] = {}
        self._opening: dict[str, int] = {}

    @classmethod
    def load(cls, folder: str | Path) -> Dictionary:
        """A dictionary and its encoder from their folder."""
        return cls(DictionaryFile.load(folder), GlossEncoder.load(folder))

    @classmethod
    def of(cls, parts: Parts) -> Dictionary | None:
        """The dictionary of a lexicon; None where it has none."""
        held = parts.dictionary
        return cls.load(held) if isinstance(held, Path) else held  # type: ignore[return-value]

    def save(self, folder: str | Path) -> None:
        """Write ``dictionary.safetensors``, ``encoder.safetensors`` and ``pieces.txt`` into a folder."""
        self.file.save(folder)
        self.encoder.save(folder)

    @property
    def encoder(self) -> GlossEncoder:
        """The encoder; an error where the dictionary was made without."""
        if self._encoder is None:
            raise InputError("this dictionary has no encoder, so it cannot read text: load it from a folder with one")
        return self._encoder

    @cached_property
    def doubt(self) -> Doubt | None:
        """Tells words of which no known sense fits; None where that was not learnt."""
        weights = self.file.options.get("doubt")
        if weights is None:
            return None
        if len(weights) != 6:
            raise FormatError(f"the dictionary's doubt has {len(weights)} numbers instead of 6: build it again")
        return Doubt(tuple(weights), self.file.common_vectors(self.calibration.source, COMMON))

    @property
    def dimension(self) -> int:
        """The dimension of the space that glosses are vectors of."""
        return int(self.file.vectors.shape[1])

    @cached_property
    def forms(self) -> Forms:
        """From inflected forms to lemmas."""
        return Forms(self.file.letters, self.file.exceptions)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """Words that are slurs, disparaging or obscene: never shown unless they are asked about."""
        return self.file.offensive_words(self.calibration.source)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) is not None

    def __len__(self) -> int:
        return len(self.file.spellings)

    def __repr__(self) -> str:
        return f"Dictionary({len(self.file.spellings)} words, {len(self.file.synset_of)} senses)"

    # -------------------------------------------------------------------------------------------------------- look-up

    def find(self, form: str) -> Found | None:
        """The entry of a form, whatever its case; None where it is no form of a word that is here.

        *Dog's* is a form of *dog*; one with hyphens, accents or stops that is not here is looked up without them.
        """
        form = _plain(form)
        if form not in self._found:
            if len(self._found) > _MOST_KEPT:
                self._found.clear()
            self._found[form] = self._looked_up(form)
        return self._found[form]

    def _looked_up(self, form: str) -> Found | None:
        clitic = _CLITIC.search(form)
        if clitic and not self.file.letters(form):
            return self.find(form[: clitic.start()])
        own = [(base, self.file.senses(base, letter)) for base, letter in self.forms.lemmas(form)]
        bases = {base for base, _ in own}
        if not bases:
            other = _without_accents(form.replace("-", " ").replace(". ", " "))
            return None if other == form else self.find(other)
        if form in bases or len(bases) > 1:
            return Found(self._entry(form, own))
        found = self.find(bases.pop())  # its senses keep the numbers that they have there
        assert found is not None
        rows = np.concatenate([rows for _, rows in own])
        kept = np.isin(found.entry.synsets, self.file.synset_of[rows])
        return Found(found.entry, None if kept.all() else kept)

    def _entry(self, word: str, own: Sequence[tuple[str, NDArray[np.int64]]]) -> Entry:
        """The senses of a word by its lemmas and their rows, one a synset."""
        rows = np.concatenate([found for _, found in own])
        bases = [base for base, found in own for _ in found]
        first = np.sort(np.unique(self.file.synset_of[rows], return_index=True)[1])
        p = self.file.frequencies(rows[first], self.calibration.source)
        order = np.argsort(-p, kind="stable")
        chosen = first[order]
        counts = self.file.counts[self.calibration.source][rows[chosen]]
        return Entry(self.file, word, [bases[i] for i in chosen], rows[chosen], p[order], counts, self.hidden)

    def look_up(self, word: str, pos: str | None = None, lemma: str | None = None) -> Found:
        """The entry of a word and the senses of one part of speech, or of one lemma; an error where there are none."""
        if not isinstance(word, str):
            raise InputError(f"a word is text, not {type(word).__name__}")
        if pos is not None and pos not in POS:
            raise UnknownChoiceError("part of speech", pos, POS)
        found = self.find(word)
        if found is None:
            raise UnknownWordError(word, self.file.spellings)
        if pos is None and lemma is None:
            return found
        entry, kept = found.entry, np.ones(len(found.entry), bool) if found.kept is None else found.kept
        if pos is not None:
            kept = kept & (entry.parts == POS.index(pos))
        if lemma is not None:
            kept = kept & np.array([base == _plain(lemma) for base in entry.bases])
        if not kept.any():
            asked = " ".join(filter(None, [pos, f"of the lemma {lemma!r}" if lemma else ""]))
            raise InputError(f"{word!r} has no sense as {asked}: leave it out to see all its senses")
        return Found(entry, kept)

    def senses(
        self, word: str, *, pos: str | None = None, lemma: str | None = None, fine: bool = False
    ) -> Results[Sense]:
        """The senses of a word, the most frequent first.

        Args:
            word: a lemma, an inflected form or a multi-word entry.
            lemma: keep the senses of this lemma: *see* for the form *saw*.
        """
        entry, kept = self.look_up(word, pos, lemma)
        return Results(entry.listed(kept, fine))

    def matrix(self, word: str, *, pos: str | None = None, lemma: str | None = None) -> DensityMatrix:
        """ρ_w: the mixture of a word's senses by their frequencies."""
        entry, kept = self.look_up(word, pos, lemma)
        rows = slice(None) if kept is None else kept
        return DensityMatrix.mixture(entry.frequency[rows], entry.vectors[rows], entry.word)

    def entropy(self, word: str) -> float | None:
        """S(ρ_w) of a word in any form; None where it is not here."""
        found = self.find(word)
        return None if found is None else found.entry.entropy

    def entropies(self, words: Sequence[str]) -> NDArray[np.float64]:
        """S(ρ_w) of many words, (k,); not a number for those that are no lemmas."""
        values = np.full(len(words), np.nan)
        rows: dict[int, list[tuple[int, NDArray[np.int64]]]] = {}
        for i, word in enumerate(words):
            senses = self.file.senses(_plain(word)) if self.file.letters(_plain(word)) else ()
            if len(senses):
                rows.setdefault(len(senses), []).append((i, np.asarray(senses)))
        for count, own in rows.items():
            places, senses = np.array([i for i, _ in own]), np.stack([each for _, each in own])
            weights = self.file.weights(senses, self.calibration.source)
            vectors = self.file.unit_vectors(senses.ravel()).reshape(len(own), count, -1).astype(np.float64)
            p = weights / weights.sum(axis=1, keepdims=True)
            values[places] = mixture_entropies(p, vectors @ vectors.mT)
        return values

    def with_glossary(self, definitions: Sequence[Definition]) -> Dictionary:
        """A dictionary with a user's own senses beside the others, made from their definitions alone.

        An added sense has no counts, so its frequency is that of a first sense never seen.
        """
        tidy = [own._replace(word=" ".join(own.word.split()), gloss=" ".join(own.gloss.split())) for own in definitions]
        empty = [found.word for found in tidy if not (found.word and found.gloss)]
        if empty:
            raise InputError(f"a definition needs a word and a gloss: {empty[0]!r} lacks one")
        words, definitions = [f"{found.pos}. {found.word}: {found.gloss}" for found in tidy], tidy
        return Dictionary(self.file.extended(definitions, self.encoder.glosses(words)), self.encoder)

    # -------------------------------------------------------------------------------------------------------- in text

    def disambiguate(
        self,
        word: str,
        text: str,
        *,
        pos: str | None = None,
        lemma: str | None = None,
        which: int | None = None,
        fine: bool = False,
    ) -> Disambiguation:
        """Which sense of a word a text means.

        Args:
            word: in any form; a form of it must stand in the text.
            which: the occurrence of the word, from 0; by default the first that is spelled like it.
        """
        return self.answers(self.places(word, text, self.look_up(word, pos, lemma), which)[:1], fine)[0]

    def read(self, text: str, *, fine: bool = False) -> Results[Disambiguation]:
        """Every word of a text that the dictionary knows, with its senses; function words are passed over.

        *Ice cream* is one word, and so is *gave up* where it does not mean *gave* and *up*.
        """
        return self.read_all([text], fine=fine)[0]

    def read_all(self, texts: Sequence[str], *, fine: bool = False) -> list[Results[Disambiguation]]:
        """:meth:`read` of many texts at once, which is faster."""
        places = self.entries_of(texts)
        answers = iter(self.answers([place for own in places for place in own], fine))
        return [Results(next(answers) for _ in own) for own in places]

    def in_context(
        self, word: str, texts: Sequence[str], *, pos: str | None = None, lemma: str | None = None
    ) -> list[DensityMatrix]:
        """The word in each of some texts, to be compared: p(s | c) ∝ exp(β′⟨g_s, c⟩), smoother and without p_s."""
        places = [self.places(word, text, self.look_up(word, pos, lemma))[0] for text in texts]
        found = []
        for place, context in zip(places, self.contexts(places), strict=True):
            vectors = place.entry.vectors if place.kept is None else place.entry.vectors[place.kept]
            weights = softmax(self.calibration.matrix_sharpness * (vectors @ context).astype(np.float64))
            found.append(DensityMatrix.mixture(weights, vectors, place.entry.word))
        return found

    def same_use(
        self, word: str, first: str, second: str, *, pos: str | None = None, lemma: str | None = None
    ) -> float:
        """How alike two uses of a word are: the trace similarity of its matrices in two texts, 0 to 1."""
        return float(similarity(*self.in_context(word, [first, second], pos=pos, lemma=lemma)))

    def contexts(self, places: Sequence[Place]) -> NDArray[np.float32]:
        """The vectors of words where they stand, (places, n); a text is read once for those that are not known yet."""
        found = np.empty((len(places), self.encoder.dimension), np.float32)
        rows: dict[str, list[int]] = {}
        for i, place in enumerate(places):
            if place.vector is None:
                rows.setdefault(place.text, []).append(i)
            else:
                found[i] = place.vector
        spans = [[places[i].span for i in own] for own in rows.values()]
        found[[i for own in rows.values() for i in own]] = self.encoder.contexts([*rows], spans)
        return found

    def answers(self, places: Sequence[Place], fine: bool = False) -> list[Disambiguation]:
        """Which sense is meant at each of some places."""
        return [
            self._answer(place, context, fine) for place, context in zip(places, self.contexts(places), strict=True)
        ]

    def _answer(self, place: Place, context: NDArray[np.float32], fine: bool) -> Disambiguation:
        entry, kept, c = place.entry, place.kept, self.calibration
        similarities = (entry.vectors @ context).astype(np.float64)
        logits = c.sharpness * similarities + c.prior * entry.logarithms
        if kept is not None:
            logits[~kept] = -np.inf
            similarities = similarities[kept]
        p = softmax(logits)
        return Disambiguation(
            word=entry.word,
            context=place.text,
            span=place.span,
            occurrence=place.occurrence,
            occurrences=place.occurrences,
            senses=tuple(entry.shown(p.tolist(), kept, fine)),
            meaning=DensityMatrix.mixture(p, entry.vectors, entry.word),
            entropy_before=entry.entropy,
            entropy_after=float(mixture_entropies(p, entry.overlaps)),
            fits=None if self.doubt is None else not self.doubt.of(context, similarities, p),
        )

    def places(self, word: str, text: str, found: Found, which: int | str | None = None) -> list[Place]:
        """Where a word stands in a text: the occurrence of a number, ``all``, or the first that is spelled like it."""
        if not isinstance(text, str):
            raise InputError(f"a text is a string, not {type(text).__name__}")
        spans = self.spans(word, text)
        if not spans:
            raise InputError(f"{word!r} is not in {shown(text)}" if text.strip() else "the text is empty")
        if which is None:
            which = first_choice(text, word, spans)
        if isinstance(which, int) and not 0 <= which < len(spans):
            raise InputError(f"{word!r} stands {len(spans)} times in the context: there is no occurrence {which}")
        chosen = [which] if isinstance(which, int) else range(len(spans))
        return [self.place(found, text, spans[i], i, len(spans)) for i in chosen]

    def place(self, found: Found, text: str, span: Span, occurrence: int = 0, occurrences: int = 1) -> Place:
        """A word at a place, with the senses that its form there can have: of *saw* for *see* those of the verb."""
        entry, kept = found
        own = self.find(text[slice(*span)])
        if own is not None and (own.entry is not entry or own.kept is not None):
            rows = own.entry.synsets if own.kept is None else own.entry.synsets[own.kept]
            shared = np.isin(entry.synsets, rows) if kept is None else np.isin(entry.synsets, rows) & kept
            kept = kept if not shared.any() or shared.all() else shared
        return Place(entry, kept, text, span, occurrence, occurrences)

    def spans(self, word: str, text: str) -> list[Span]:
        """The places of a word's forms in a text, from left to right."""
        plain = _plain(word)
        wanted = {base for base, _ in self.forms.lemmas(plain)} | {plain}
        words = [found.span() for found in _WORD.finditer(text)]
        count = len(_WORD.findall(plain)) or 1
        found = []
        for first in range(len(words) - count + 1):
            span = self._without_clitic(text, (words[first][0], words[first + count - 1][1]))
            form = _plain(text[slice(*span)])
            if form == plain or self._is_form(form, wanted):
                found.append(span)
        return found

    def _is_form(self, form: str, wanted: set[str]) -> bool:
        found = self.find(form)
        return found is not None and not wanted.isdisjoint(found.entry.bases)

    def entries_of(self, texts: Sequence[str], wanted: Callable[[Place], bool] | None = None) -> list[list[Place]]:
        """The words of texts that have an entry, with their vectors; function words are passed over.

        Several words are one where they fit better so than one by one; see :mod:`~polysema.senses.several_words`.

        Args:
            wanted: tells which words' vectors are needed; by default all.
        """
        found = [self.candidates(text) for text in texts]
        read: list[dict[Span, Place]] = []
        for own in found:
            until = 0  # of the words so far that may be part of several
            read.append({})
            for first, options in enumerate(own):
                until = max([until, *(first + count for count, _ in options if count > 1)])
                for _, place in options:
                    if first < until or wanted is None or wanted(place):
                        read[-1][place.span] = place
        vectors = iter(self.encoder.contexts(texts, [[*places] for places in read]))
        results = []
        for own, places in zip(found, read, strict=True):
            known = {span: place._replace(vector=next(vectors)) for span, place in places.items()}
            results.append([*self._chosen([[(n, known.get(at.span, at)) for n, at in options] for options in own])])
        return results

    def candidates(self, text: str) -> list[list[tuple[int, Place]]]:
        """(words, place) of the entries that may begin with each word of a text, the longest first."""
        words = [found.span() for found in _WORD.finditer(text)]
        return [[*self._beginning(text, words, at)] for at in range(len(words))]

    def _beginning(self, text: str, words: Sequence[Span], at: int) -> Iterator[tuple[int, Place]]:
        begin, end = self._without_clitic(text, words[at])
        form = _plain(text[begin:end])
        if form != "the" or (at + 1 < len(words) and text[words[at + 1][0]].isupper()):  # *the Hill*, not *the hill*
            for last in range(min(len(words), at + self._longest(form)) - 1, at, -1):
                if all(_BETWEEN.fullmatch(text, words[i][1], words[i + 1][0]) for i in range(at, last)):
                    span, count = self._without_clitic(text, (begin, words[last][1])), last - at + 1
                    several = _plain(text[slice(*span)])
                    found = self.find(several)
                    if found is not None and not (count == 2 and FUNCTION_WORDS.issuperset(several.split())):
                        yield count, Place(*found, text, span)
        found = self.find(form)
        if found is None and text[end : end + 1] == ".":  # of an abbreviation
            found, end = self.find(f"{form}."), end + 1
        if found is None:
            return
        if form in FUNCTION_WORDS:
            before = text[slice(*words[at - 1])].lower() if at else ""
            is_noun = form in FUNCTION_NOUNS and before in DETERMINERS
            if not (is_noun or (text[begin:end] in ACRONYMS and text != text.upper())):
                return
            found = Found(found.entry, found.entry.parts == POS.index("noun"))
        yield 1, Place(*found, text, (begin, end))

    def _without_clitic(self, text: str, span: Span) -> Span:
        """*dog* of *dog's*; all of *o'clock*, and of entries such as *Alzheimer's*."""
        form = _plain(text[slice(*span)])
        clitic = _CLITIC.search(form)
        return span if clitic is None or self.file.letters(form) else (span[0], span[1] - len(clitic[0]))

    def _chosen(self, options: Sequence[Sequence[tuple[int, Place]]]) -> Iterator[Place]:
        """The entries that are likeliest, from left to right."""
        at = 0
        while at < len(options):
            step = 1
            for count, place in options[at]:
                if count == 1 or self._is_one(place, options[at : at + count]):
                    yield place
                    step = count
                    break
            at += step

    def _is_one(self, place: Place, options: Sequence[Sequence[tuple[int, Place]]]) -> bool:
        """Whether several words are likelier one entry than one by one."""
        forms = [form.group().lower() for form in _WORD.finditer(place.text, *place.span)]
        words = [[own for count, own in found if count == 1] for found in options]
        known = all(own or form in FUNCTION_WORDS for form, own in zip(forms, words, strict=True))
        content = [own[0] for own in words if own]
        form = place.text[slice(*place.span)]
        is_own = place.entry.rows.min() >= len(self.file.tensors["synset_of"])  # a user's
        if is_own or not known or not content or "-" in form or forms[0] == "the":
            return True
        small_name = form == form.lower() and place.entry.is_name
        fits = [_fit(word) for word in content]
        return are_one(_fit(place), fits, len(words), self.calibration.sharpness, small_name=small_name)

    def _longest(self, form: str) -> int:
        """How many words the longest entry has that may begin with a form; 0 where there is none of several words."""
        known = self._opening.get(form)
        if known is None:
            bases = {form, *(base for base, _ in self.forms.lemmas(form, "nv"))}
            known = self._opening[form] = max(map(self.file.longest, bases))
        return known


def _fit(place: Place) -> Fit:
    entry, kept = place.entry, slice(None) if place.kept is None else place.kept
    assert place.vector is not None
    return Fit(float((entry.vectors[kept] @ place.vector).max()), int(entry.counts[kept].sum()))


def _without_accents(word: str) -> str:
    return "".join(letter for letter in normalize("NFD", word) if not combining(letter))


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("_", " ").replace("’", "'").split())
