"""Which sense of a word is meant: a distribution over its senses, given the words around it.

With p_k the weight of sense k and v_k its unit vector, Bayes' rule takes two kinds of evidence,

    p(k | context) ∝ p_k · exp(β cos(v_k, c)) · t_k

- the *context vector* c = Σ_w keep(w) x_w, the sum of the context vectors of the words around, each weighed by its
  chance to survive subsampling: what the sense was trained to predict. A lexicon without context vectors takes the
  mixture ρ_c of the words around instead, with ⟨v_k|ρ_c|v_k⟩ in place of the exponential;
- *composition*: t_k is the trace that is left when the phrase is composed with sense k in the word's place. Under
  Phaser an operator ρ that acts on the word leaves ⟨v_k|ρ|v_k⟩ of its sense k.

In context, the word is the density matrix Σ_k p(k | context) v_k v_kᵀ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composition, fold
from polysema.composition.methods import CONTEXTUAL, Method, method_named
from polysema.composition.phrases import Phrase, as_tree, is_sentence
from polysema.composition.trees import Leaf, Tree, leaves
from polysema.density import DensityMatrix
from polysema.errors import InputError, MissingExtraError, PolysemaError
from polysema.lexicon.lexicon import COMMON, Lexicon, Neighbour
from polysema.measures import entropy

Array = NDArray[np.float64]
Context = Phrase | Composition
"""What a word stands in: a plain sentence, brackets, a tree, words with a pattern, or a composition."""

SHARPNESS = 12.0
"""β. Chosen on planted senses: pairs of words made one and told apart again (``benchmarks/planted_senses.py``)."""

_RUN_OF_LETTERS = re.compile(r"[^\W\d_]+")


class SenseInContext(NamedTuple):
    """One sense of a word in a context.

    Attributes:
        probability: p(k | context), by all that is known.
        weight: its share of the word without a context.
        by_context: its probability by the context vector alone.
        by_composition: its probability by composition alone; None where there is no tree.
        neighbours: the words nearest to it.
    """

    probability: float
    weight: float
    by_context: float
    by_composition: float | None
    neighbours: list[Neighbour]


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """A word in a context.

    Attributes:
        word: the word.
        context: what it stands in.
        senses: its senses, the most probable first.
        meaning: the word's density matrix in this context.
        entropy_before: the von Neumann entropy of the word without a context.
        entropy_after: that of its meaning here.
        tree: the tree that composition followed; None for a sentence that was not parsed.
    """

    word: str
    context: str
    senses: tuple[SenseInContext, ...]
    meaning: DensityMatrix
    entropy_before: float
    entropy_after: float
    tree: Tree | None

    def _repr_html_(self) -> str:
        from polysema.notebook import disambiguation_html

        return disambiguation_html(self)

    def __str__(self) -> str:
        lines = [f"{self.word}: {self.context}", f"entropy {self.entropy_before:.3f} → {self.entropy_after:.3f}"]
        for sense in self.senses:
            near = " ".join(item.word for item in sense.neighbours)
            lines.append(f"  {sense.probability:.2f}  (before {sense.weight:.2f})  {near}")
        return "\n".join(lines)


def disambiguate(
    word: str,
    context: Context,
    lexicon: Lexicon | None = None,
    *,
    method: str = "phaser",
    pattern: str | None = None,
    top: int = 8,
) -> Disambiguation:
    """Which sense of a word is meant in a context.

    Args:
        word: the word; in a parsed sentence any of its forms is found.
        context: a plain sentence, brackets such as ``(bank (raised rates))``, a tree, or words for a pattern. Without
            the extra ``parse``, a plain sentence tells by its words alone.
        lexicon: the senses to choose from; by default the model that comes with polysema.
        method: how to compose.
        pattern: the roles of the words, such as ``adj subj verb adj obj``.
        top: how many neighbours to name each sense by.
    """
    (result,) = disambiguate_all([(word, context)], lexicon, method=method, pattern=pattern, top=top)
    if isinstance(result, PolysemaError):
        raise result
    return result


def disambiguate_all(
    pairs: Iterable[tuple[str, Context]],
    lexicon: Lexicon | None = None,
    *,
    method: str = "phaser",
    pattern: str | None = None,
    top: int = 8,
) -> list[Disambiguation | PolysemaError]:
    """Many words in their contexts, sentences parsed in batches; where one fails, its error stands in its place."""
    if lexicon is None:
        from polysema.lexicon.formats import load

        lexicon = load()
    if lexicon.kind != "matrices":
        raise InputError("this lexicon holds vectors: senses need density matrices")
    chosen = method_named(method, lexicon.methods)
    pairs = list(pairs)
    evidence = _Evidence(lexicon, chosen)
    results: list[Disambiguation | PolysemaError] = []
    for (word, context), found in zip(pairs, _occurrences(pairs, lexicon, pattern), strict=True):
        try:
            if isinstance(found, PolysemaError):
                raise found
            results.append(evidence.weigh(word, context, found, top))
        except PolysemaError as error:
            results.append(error)
    return results


# ----------------------------------------------------------------------------------------------------------- evidence


class _Occurrence(NamedTuple):
    """A word where it stands: the words around it and, where there is a tree, its leaf."""

    around: list[str]
    tree: Tree | None = None
    leaf: Leaf | None = None


class _Evidence:
    """What a lexicon knows, ready to be asked about many occurrences."""

    def __init__(self, lexicon: Lexicon, method: Method) -> None:
        self.lexicon, self.method = lexicon, method
        options = lexicon.metadata.get("options", {})
        subsample = options.get("subsample") if isinstance(options, dict) else None
        counted = lexicon.vocabulary.counts.any()
        self.keep = lexicon.vocabulary.keep_probabilities(float(subsample or 1e-5) if counted else 0.0)
        contexts = lexicon.arrays.get("contexts")
        fits = contexts is not None and contexts.shape == (len(lexicon), lexicon.n)
        self.contexts = contexts if fits else None
        self.named: dict[tuple[str, int], list[list[Neighbour]]] = {}

    def weigh(self, word: str, context: Context, found: _Occurrence, top: int) -> Disambiguation:
        weights, vectors = self.senses(word)
        if self.method is CONTEXTUAL:
            by_words, by_tree = self.by_encoder(word, context, found) - np.log(weights), None
        else:
            by_words = self.by_context(vectors, found.around)
            by_tree = None if found.leaf is None else self.by_composition(vectors, found)
        prior = np.log(weights)
        total = _softmax(prior + by_words + (0.0 if by_tree is None else by_tree))
        words_alone = _softmax(prior + by_words)
        tree_alone = None if by_tree is None else _softmax(prior + by_tree)
        if (word, top) not in self.named:
            near = self.lexicon.neighbours_of([DensityMatrix(vector[:, None]) for vector in vectors], top + 1, COMMON)
            self.named[word, top] = [[item for item in items if item.word != word][:top] for items in near]
        senses = [
            SenseInContext(
                float(total[k]),
                float(weights[k]),
                float(words_alone[k]),
                None if tree_alone is None else float(tree_alone[k]),
                self.named[word, top][k],
            )
            for k in np.argsort(-total, kind="stable")
        ]
        meaning = DensityMatrix.mixture(total, vectors, word)
        before = self.lexicon.entropy(word)
        return Disambiguation(
            word, _shown(context), tuple(senses), meaning, before, float(entropy(meaning)), found.tree
        )

    def senses(self, word: str) -> tuple[Array, Array]:
        """The weights (k,) of the senses to choose from, falling, and their unit vectors (k, n)."""
        if self.method is not CONTEXTUAL:
            return self.lexicon.sense_vectors(word)
        from polysema.encoders.contextual import senses_to_tell

        return senses_to_tell(self.lexicon, word)

    def by_context(self, vectors: Array, around: Sequence[str]) -> Array:
        """ln of the evidence of the words around for each sense (k,): β cos(v_k, c), or ln ⟨v_k|ρ_c|v_k⟩."""
        indices = [i for i in map(self._index, around) if i is not None]
        if not indices:
            return np.zeros(len(vectors))
        keep = self.keep[indices]
        if self.contexts is not None:
            c = keep @ self.contexts[indices].astype(np.float64)
            length = np.linalg.norm(c)
            return SHARPNESS * (vectors @ c) / length if length > 0 else np.zeros(len(vectors))
        words = DensityMatrix(self.lexicon.factors[indices])
        overlaps = ((vectors @ words.factor) ** 2).sum(axis=-1)  # (words, k)
        return np.asarray(np.log(np.maximum(keep @ overlaps / keep.sum(), 1e-12)))

    def by_encoder(self, word: str, context: Context, found: _Occurrence) -> Array:
        """ln P(sense k | sentence) for each sense (k,), by the word as the encoder sees it in the sentence."""
        from polysema.encoders.contextual import sense_probabilities
        from polysema.encoders.sentences import as_sentence

        sentence = as_sentence(found.tree)[0] if found.tree is not None and not _is_plain(context) else str(context)
        return np.log(np.maximum(sense_probabilities(self.lexicon, word, sentence), 1e-12))

    def by_composition(self, vectors: Array, found: _Occurrence) -> Array:
        """ln of the trace that is left when each sense (k,) stands in the word's place."""
        assert found.tree is not None

        def meaning_of(leaf: Leaf) -> Array:
            if leaf is found.leaf:
                return vectors[:, :, None]
            return self.lexicon[leaf.word].parts[0]

        root = fold(found.tree, meaning_of, self.method)[-1]
        return np.broadcast_to(root.log_trace, len(vectors))

    def _index(self, word: str) -> int | None:
        indices = self.lexicon.vocabulary.indices
        return indices.get(word, indices.get(word.lower()))


def _softmax(logits: Array) -> Array:
    shifted = np.exp(logits - logits.max())
    return np.asarray(shifted / shifted.sum())


# -------------------------------------------------------------------------------------------- where the word stands


def _occurrences(
    pairs: Sequence[tuple[str, Context]], lexicon: Lexicon, pattern: str | None
) -> list[_Occurrence | PolysemaError]:
    plain = [i for i, (_, context) in enumerate(pairs) if pattern is None and _is_plain(context)]
    found: dict[int, _Occurrence | PolysemaError] = {}
    if plain:
        sentences = _in_sentences([(pairs[i][0], str(pairs[i][1])) for i in plain], lexicon)
        found = dict(zip(plain, sentences, strict=True))
    for i, (word, context) in enumerate(pairs):
        if i not in found:
            try:
                tree = context.tree if isinstance(context, Composition) else as_tree(context, pattern)
                found[i] = _in_tree(word, tree)
            except PolysemaError as error:
                found[i] = error
    return [found[i] for i in range(len(pairs))]


def _is_plain(context: Context) -> bool:
    return not isinstance(context, Composition) and is_sentence(context)


def _in_tree(word: str, tree: Tree) -> _Occurrence:
    """The first leaf that is the word."""
    words = leaves(tree)
    for same in (str, str.lower):
        for i, leaf in enumerate(words):
            if same(leaf.word) == same(word):
                return _Occurrence([other.word for j, other in enumerate(words) if j != i], tree, leaf)
    raise _absent(word, str(tree))


def _in_sentences(pairs: Sequence[tuple[str, str]], lexicon: Lexicon) -> list[_Occurrence | PolysemaError]:
    """Where words stand in plain sentences: in their trees, or without a parser among their words."""
    from polysema.parsing.sentences import Parse, parse_sentences

    try:
        parses = parse_sentences([sentence for _, sentence in pairs], lexicon)
    except MissingExtraError:
        parses = [InputError("no parser")] * len(pairs)
    results: list[_Occurrence | PolysemaError] = []
    for (word, sentence), parse in zip(pairs, parses, strict=True):
        if isinstance(parse, Parse):
            words, lemmas = [t.text for t in parse.tokens], [t.lemma for t in parse.tokens]
        else:
            words = lemmas = _RUN_OF_LETTERS.findall(sentence)
        place = _place(word, words, lemmas)
        if place is None:
            results.append(_absent(word, sentence))
            continue
        around = words[:place] + words[place + 1 :]
        tree = parse.tree if isinstance(parse, Parse) else None
        leaf = next((leaf for leaf in leaves(tree) if leaf.position == place), None) if tree is not None else None
        results.append(_Occurrence(around, tree, leaf))
    return results


def _place(word: str, words: Sequence[str], lemmas: Sequence[str]) -> int | None:
    """The first place of a word: as it stands, in another case, or in another form, by its lemma or its ending."""
    lower = [w.lower() for w in words]
    for spelled, wanted in ((words, word), (lower, word.lower()), (lemmas, word.lower())):
        if wanted in spelled:
            return list(spelled).index(wanted)
    forms = {word.lower() + ending for ending in ("s", "es", "d", "ed", "ing")}
    return next((i for i, spelled in enumerate(lower) if spelled in forms), None)


def _absent(word: str, context: str) -> InputError:
    return InputError(f"{word!r} does not stand in {context if len(context) <= 60 else context[:57] + '...'!r}")


def _shown(context: Context) -> str:
    if isinstance(context, str):
        return context
    if isinstance(context, Composition):
        return context.phrase
    return str(context) if isinstance(context, Tree) else " ".join(context)
