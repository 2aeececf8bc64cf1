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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.density import DensityMatrix
from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.errors import InputError, UnknownChoiceError, UnknownWordError
from polysema.measures import entropy, similarity
from polysema.senses.dictionary_files import LETTERS, POS, Definition, DictionaryFile
from polysema.senses.forms import Forms

LONGEST_ENTRY = 5
"""Words of a multi-word entry at most, when a text is read."""

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

_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Calibration:
    """How similarities become probabilities.

    Attributes:
        sharpness: β of p(s | c).
        prior: a, the power of p_s; 0 leaves frequencies out.
        matrix_sharpness: β of the matrix in context, which is smoother: two uses are compared by it.
        source: the corpus that p_s comes from.
    """

    sharpness: float = 20.0
    prior: float = 0.3
    matrix_sharpness: float = 10.0
    source: str = "semcor"


@dataclass(frozen=True, slots=True)
class DictionarySense:
    """One sense of a word.

    Attributes:
        key: WordNet's sense key.
        synset: offset and part of speech.
        pos: ``noun``, ``verb``, ``adj`` or ``adv``.
        gloss: the definition.
        synonyms: the words of the synset, the lemma included.
        examples: WordNet's.
        field: the lexical field, such as ``animal``; "" for most adjectives and adverbs.
        group: coarse sense within its spelling, from 0.
        frequency: p_s among the senses asked for.
        count: occurrences in the tagged corpus that p_s comes from.
    """

    key: str
    synset: str
    pos: str
    gloss: str
    synonyms: tuple[str, ...]
    examples: tuple[str, ...]
    field: str
    group: int
    frequency: float
    count: int

    @property
    def lemma(self) -> str:
        """The word that the key belongs to."""
        return self.key.partition("%")[0].replace("_", " ")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "key": self.key,
            "synset": self.synset,
            "pos": self.pos,
            "gloss": self.gloss,
            "synonyms": list(self.synonyms),
            "examples": list(self.examples),
            "field": self.field,
            "group": self.group,
            "frequency": self.frequency,
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Reading:
    """A word of a text and how likely each of its senses is there.

    Attributes:
        word: as it is written.
        start, end: its characters in the text.
        senses: most likely first.
        p: the probability of each.
        matrix: the word in this context, ρ_{w|c}.
    """

    word: str
    start: int
    end: int
    senses: tuple[DictionarySense, ...]
    p: tuple[float, ...]
    matrix: DensityMatrix

    @property
    def best(self) -> DictionarySense:
        """The most likely sense."""
        return self.senses[0]

    @property
    def only_sense(self) -> bool:
        """Whether the dictionary knows no other sense: then p says nothing."""
        return len(self.senses) == 1

    @property
    def entropy(self) -> float:
        """The von Neumann entropy of the word in this context, in nats."""
        return float(entropy(self.matrix))

    def groups(self) -> list[tuple[tuple[DictionarySense, ...], float]]:
        """Coarse senses, most likely first: the fine senses of each and the sum of their probabilities."""
        found: dict[tuple[str, int], list[int]] = {}
        for i, sense in enumerate(self.senses):
            found.setdefault((sense.lemma, sense.group), []).append(i)
        pairs = [(tuple(self.senses[i] for i in rows), sum(self.p[i] for i in rows)) for rows in found.values()]
        return sorted(pairs, key=lambda pair: -pair[1])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        senses = [{**sense.to_dict(), "p": p} for sense, p in zip(self.senses, self.p, strict=True)]
        return {"word": self.word, "start": self.start, "end": self.end, "entropy": self.entropy, "senses": senses}

    def __repr__(self) -> str:
        return f"Reading({self.word!r}: {self.best.key}, p {self.p[0]:.2f}, {self.best.gloss!r})"


class Dictionary:
    """Looks up senses, and finds which one is meant.

    Args:
        file: the senses and their vectors.
        encoder: reads words in their sentences; needed by everything that takes a text.
    """

    def __init__(self, file: DictionaryFile, encoder: GlossEncoder | None = None) -> None:
        self.file, self._encoder = file, encoder
        if encoder is not None and encoder.dimension != file.vectors.shape[1]:
            raise InputError(
                f"an encoder of {encoder.dimension} numbers does not fit a dictionary of {file.vectors.shape[1]}"
            )
        self.calibration = Calibration(**file.options.get("calibration", {}))

    @classmethod
    def load(cls, folder: str | Path) -> Dictionary:
        """A dictionary and its encoder from their folder."""
        return cls(DictionaryFile.load(folder), GlossEncoder.load(folder))

    @property
    def encoder(self) -> GlossEncoder:
        """The encoder; an error where the dictionary was made without."""
        if self._encoder is None:
            raise InputError("this dictionary has no encoder, so it cannot read text: load it from a folder with one")
        return self._encoder

    @cached_property
    def forms(self) -> Forms:
        """From inflected forms to lemmas."""
        return Forms(self.file.letters, self.file.exceptions)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and bool(self.forms.lemmas(_plain(word)))

    def __len__(self) -> int:
        return len(self.file.spellings)

    def __repr__(self) -> str:
        return f"Dictionary({len(self.file.spellings)} words, {len(self.file.synset_of)} senses)"

    def senses(self, word: str, pos: str | None = None, lemma: str | None = None) -> list[DictionarySense]:
        """The senses of a word, most frequent first.

        Args:
            word: a lemma, an inflected form or a multi-word entry.
            pos: ``noun``, ``verb``, ``adj`` or ``adv``; by default all.
            lemma: keep the senses of this lemma: *see* for the form *saw*.
        """
        rows = self._rows(word, pos, lemma)
        p = self.file.frequencies(rows, self.calibration.source)
        return [self._sense(int(rows[i]), float(p[i])) for i in np.argsort(-p, kind="stable")]

    def matrix(self, word: str, pos: str | None = None, lemma: str | None = None) -> DensityMatrix:
        """ρ_w: the mixture of a word's senses by their frequencies."""
        rows = self._rows(word, pos, lemma)
        return self._mixture(self.file.frequencies(rows, self.calibration.source), rows, word)

    def disambiguate(
        self, word: str, text: str, pos: str | None = None, lemma: str | None = None, start: int | None = None
    ) -> Reading:
        """Which sense of a word a text means.

        Args:
            word: in any form; a form of it must stand in the text.
            start: its first character in the text; by default the first place where it stands.
        """
        begin, end = self._find(word, text, start)
        rows = self._shared(self._rows(word, pos, lemma), self._rows(text[begin:end]))
        return self._readings([(begin, end, rows)], text)[0]

    def in_context(self, word: str, text: str, pos: str | None = None, lemma: str | None = None) -> DensityMatrix:
        """ρ_{w|c}: the word in a text."""
        return self.disambiguate(word, text, pos, lemma).matrix

    def same_use(self, word: str, first: str, second: str, pos: str | None = None) -> float:
        """How alike two uses of a word are: the trace similarity of its matrices in two texts, 0 to 1."""
        return float(similarity(self.in_context(word, first, pos), self.in_context(word, second, pos)))

    def with_glossary(self, definitions: Sequence[Definition]) -> Dictionary:
        """A dictionary with a user's own senses beside the others, made from their definitions alone.

        An added sense has no counts, so its frequency is that of a first sense never seen.
        """
        words = [f"{found.pos}. {found.word}: {found.gloss}" for found in definitions]
        empty = [found.word for found in definitions if not (found.word.strip() and found.gloss.strip())]
        if empty:
            raise InputError(f"a definition needs a word and a gloss: {empty[0]!r} lacks one")
        return Dictionary(self.file.extended(definitions, self.encoder.glosses(words)), self.encoder)

    def steps(self, text: str) -> list[list[Reading]]:
        """:meth:`read` after each word of a text, as it is read from left to right."""
        ends = [found.end() for found in _WORD.finditer(text)]
        return self.read_all([text[:end] for end in ends])

    def read(self, text: str) -> list[Reading]:
        """Every word of a text that the dictionary knows, with its senses; function words are passed over.

        The longest entry is taken: *ice cream* is one word.
        """
        return self.read_all([text])[0]

    def read_all(self, texts: Sequence[str]) -> list[list[Reading]]:
        """:meth:`read` of many texts at once, which is faster."""
        found = [self._entries(text) for text in texts]
        vectors = self.encoder.contexts(texts, [[(a, z) for a, z, _ in entries] for entries in found])
        edges = np.cumsum([0, *(len(entries) for entries in found)])
        return [
            [self._reading(text, *entry, vectors[edges[i] + k]) for k, entry in enumerate(entries)]
            for i, (text, entries) in enumerate(zip(texts, found, strict=True))
        ]

    def probabilities(
        self, rows: NDArray[np.int64], context: NDArray[np.float32], sharpness: float | None = None
    ) -> NDArray[np.float64]:
        """p(s | c) of sense rows, from a context vector (n,)."""
        c = self.calibration
        beta = c.sharpness if sharpness is None else sharpness
        logits = beta * (self.file.unit_vectors(rows) @ context).astype(np.float64)
        if c.prior:
            logits += c.prior * np.log(self.file.frequencies(rows, c.source))
        return softmax(logits)

    def _readings(self, entries: Sequence[tuple[int, int, NDArray[np.int64]]], text: str) -> list[Reading]:
        vectors = self.encoder.contexts([text], [[(a, z) for a, z, _ in entries]])
        return [self._reading(text, *entry, vector) for entry, vector in zip(entries, vectors, strict=True)]

    def _reading(
        self, text: str, start: int, end: int, rows: NDArray[np.int64], context: NDArray[np.float32]
    ) -> Reading:
        p = self.probabilities(rows, context)
        frequency = self.file.frequencies(rows, self.calibration.source)
        order = np.argsort(-p, kind="stable")
        senses = tuple(self._sense(int(rows[i]), float(frequency[i])) for i in order)
        weights = softmax(self.calibration.matrix_sharpness * (self.file.unit_vectors(rows) @ context).astype(float))
        matrix = self._mixture(weights, rows, text[start:end])
        return Reading(text[start:end], start, end, senses, tuple(p[order].tolist()), matrix)

    def _mixture(self, weights: NDArray[np.float64], rows: NDArray[np.int64], name: str) -> DensityMatrix:
        return DensityMatrix.mixture(weights, self.file.unit_vectors(rows), name)

    def _sense(self, row: int, frequency: float) -> DictionarySense:
        file = self.file
        synset = int(file.synset_of[row])
        text, (name, field) = file.text(synset), file.synset(synset)
        count = int(file.counts[self.calibration.source][row])
        return DictionarySense(
            file.key(row), name, POS[file.pos[synset]], text.gloss, text.words, text.examples, field,
            int(file.group[row]), frequency, count,
        )  # fmt: skip

    def _rows(self, word: str, pos: str | None = None, lemma: str | None = None) -> NDArray[np.int64]:
        """The sense rows of a word; an error where there are none."""
        if not isinstance(word, str):
            raise InputError(f"a word is text, not {type(word).__name__}")
        if pos is not None and pos not in POS:
            raise UnknownChoiceError("part of speech", pos, POS)
        letters = LETTERS if pos is None else LETTERS[POS.index(pos)]
        found = self.forms.lemmas(_plain(word), letters)
        if lemma is not None:
            found = [pair for pair in found if pair[0] == _plain(lemma)]
        if not found:
            if word in self:
                asked = " ".join(filter(None, [pos, f"of the lemma {lemma!r}" if lemma else ""]))
                raise InputError(f"{word!r} has no sense as {asked}: leave it out to see all its senses")
            raise UnknownWordError(word, self.file.spellings)
        return self._distinct(np.concatenate([self.file.senses(base, letter) for base, letter in found]))

    def _distinct(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """One row a synset, the first."""
        _, first = np.unique(self.file.synset_of[rows], return_index=True)
        return rows[np.sort(first)]

    def _shared(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows whose synsets both have, or the first ones where they share none."""
        shared = rows[np.isin(self.file.synset_of[rows], self.file.synset_of[others])]
        return shared if len(shared) else rows

    def _find(self, word: str, text: str, start: int | None) -> tuple[int, int]:
        """Where a form of a word stands in a text."""
        wanted = {lemma for lemma, _ in self.forms.lemmas(_plain(word))} or {_plain(word)}
        count = _plain(word).count(" ") + 1
        words = [(found.start(), found.end()) for found in _WORD.finditer(text)]
        for first in range(len(words) - count + 1):
            begin, end = words[first][0], words[first + count - 1][1]
            if start is not None and begin != start:
                continue
            form = _plain(text[begin:end])
            if form == _plain(word) or wanted & {lemma for lemma, _ in self.forms.lemmas(form)}:
                return begin, end
        where = "" if start is None else f" at character {start}"
        raise InputError(f"{word!r} does not stand in the text{where}: {text[:60]!r}")

    def _entries(self, text: str) -> list[tuple[int, int, NDArray[np.int64]]]:
        """(first character, end, sense rows) of the known words of a text."""
        words = [(found.start(), found.end()) for found in _WORD.finditer(text)]
        found: list[tuple[int, int, NDArray[np.int64]]] = []
        at = 0
        while at < len(words):
            for count in range(min(LONGEST_ENTRY, len(words) - at), 0, -1):
                begin, end = words[at][0], words[at + count - 1][1]
                form = _plain(text[begin:end])
                if count > 1 and form.count(" ") != count - 1:
                    continue  # a mark stands between
                if count == 1 and form in FUNCTION_WORDS:
                    continue
                lemmas = self.forms.lemmas(form)
                if lemmas:
                    rows = np.concatenate([self.file.senses(base, letter) for base, letter in lemmas])
                    found.append((begin, end, self._distinct(rows)))
                    at += count
                    break
            else:
                at += 1
        return found


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(x) / Σ exp(x), over one axis."""
    p = np.exp(logits - logits.max())
    return np.asarray(p / p.sum(), np.float64)


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("_", " ").replace("’", "'").split())
