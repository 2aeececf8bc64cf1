"""Words that a lexicon does not know, placed in its space by the text they stand in: without an encoder.

A word w that stands in the text has the features

    φ_w = ( Σ_i r_i d_i^(−1/2) μ_i / Σ_i r_i d_i^(−1/2) ,  mean of μ before ,  mean of μ after ,  letters )

with μ the mean direction Σ_k p_k v_k of a known word near w, d its distance, up to 10, r = a / (a + frequency) its
rarity, a = 10⁻⁴, and *letters* the n-grams of ``<w>``, 3 to 6 letters long, hashed to 4096 numbers. Ridge regression
on the words that the lexicon knows gives W with μ_w ≈ W φ_w. A new word is one sense in the direction W φ_w; its
context vector is found in the same way. Every tenth known word is left out of the regression: it says how well words
are placed.

A small text has too few known words to learn W from. The model that ships brings a W₀ that was learnt on its own text
(``placing.safetensors``), from as few occurrences of each word as a small text has. Texts differ, so a second
regression W₁, on the known words of the text, learns what W₀ leaves: μ_w ≈ (W₀ + W₁) φ_w. Both draw words to the mean;
they are put as far from it as known words are that were left out.

Known words stay where they are; the weights of their senses move towards their shares of the text,

    p_k′ = (N p_k + Σ_c p(k|c)) / (N + number of contexts c) ,      N = 100 .

From which cosine on no sense fits is taken from the text, too (:mod:`~polysema.senses.inventory`).
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.build import encoded
from polysema.corpus.corpus import Corpus
from polysema.errors import FormatError, InputError, check_choice
from polysema.kernels.contexts import weighted_context_sums
from polysema.lexicon.formats.folder import PLACING
from polysema.meanings.context_model import RARE, USUAL, cosines, directions, directions_of_words, log_evidence, softmax
from polysema.meanings.meanings import Matrices
from polysema.meanings.neighbours import blocks
from polysema.meanings.parts import Information, Inventory, Speech
from polysema.progress import Progress, Report, silent
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import POS, Definition
from polysema.senses.inventory import Occurrences, draw_positions, least_cosines
from polysema.storage import atomic_file, read_text
from polysema.vocabulary import Vocabulary

L = TypeVar("L", bound=Matrices)
Array = NDArray[np.float64]
Ids = NDArray[np.int64]

LETTERS = 4096
LETTERS_PENALTY, CONTEXT_PENALTY = 4.0, 0.003
"""Of the ridge: for the letters, and for the words around, a word that is regressed on."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """W: from what stands around a word and its letters to where it is."""

    shift: Array  # (d,), of the features of the words around, which are standardised
    scale: Array
    by_context: Array  # (d, t)
    by_letters: Array  # (4096, t)
    mean: Array  # (t,), where words are on average

    @classmethod
    def fitted(cls, words: list[str], seen: Ids, around: Array, target: Array, fitted: NDArray[np.bool_]) -> Ridge:
        """The minimum of Σ_w ‖t_w − t̄ − W φ_w‖² + penalties.

        Words that do not stand in the text are regressed on by their letters alone.

        Args:
            words: all V words of the lexicon.
            seen: (k,), the rows of those that stand in the text.
            around: (k, d), what stands around these.
            target: (V, t).
            fitted: (V,), the words to take.
        """
        own = fitted[seen]
        shift, scale = around[own].mean(axis=0), around[own].std(axis=0) + 1e-9
        z = np.zeros((len(words), around.shape[1]), np.float32)
        z[seen] = (around - shift) / scale
        z[~fitted] = 0.0
        chosen = np.flatnonzero(fitted)
        mean = target[chosen].mean(axis=0)
        y = target - mean
        d = z.shape[1]
        gram, right = np.zeros((d + LETTERS, d + LETTERS)), np.zeros((d + LETTERS, y.shape[1]))
        gram[:d, :d], right[:d] = z.T @ z, z.T @ y
        for part in blocks(len(chosen), 2048):
            rows = chosen[part]
            owner, grams, share = hashed_letters([words[i] for i in rows])
            dense = np.zeros((len(rows), LETTERS), np.float32)
            np.add.at(dense, (owner, grams), share)
            gram[d:, :d] += dense.T @ z[rows]
            right[d:] += dense.T @ y[rows].astype(np.float32)
            _add_pairs(gram[d:, d:], owner, grams, share)
        gram[:d, d:] = gram[d:, :d].T
        penalty = np.concatenate([np.full(d, CONTEXT_PENALTY * own.sum()), np.full(LETTERS, LETTERS_PENALTY)])
        gram[np.diag_indices(len(gram))] += penalty
        solved: Array = np.asarray(np.linalg.solve(gram, right))
        return cls(shift, scale, solved[:d], solved[d:], mean)

    def save(self, lexicon: Matrices, folder: Path) -> None:
        """Write it into the folder of the lexicon that it is of, in half precision."""
        from safetensors.numpy import save

        arrays = {name: np.asarray(getattr(self, name)) for name in _ARRAYS}
        halves = {name: array.astype(np.float16 if array.ndim == 2 else np.float32) for name, array in arrays.items()}
        with atomic_file(folder / PLACING, overwrite=True, owner=lambda _: None) as file:
            file.write(save(halves, {"lexicon": _fingerprint(lexicon)}))

    @classmethod
    def beside(cls, lexicon: Matrices) -> Ridge | None:
        """That of a lexicon that was read from a folder; None where there is none, or it is of other meanings."""
        from safetensors import SafetensorError, safe_open

        path = lexicon.parts.placing
        if path is None:
            return None
        try:
            with safe_open(path, "numpy") as file:
                known = (lexicon.metadata.get("placing"), _fingerprint(lexicon))
                if (file.metadata() or {})["lexicon"] not in known:
                    return None
                arrays = [file.get_tensor(name).astype(np.float64) for name in _ARRAYS]
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{path}: damaged: {' '.join(str(error).split())}") from None
        d, t = 3 * (lexicon.n + 1), 2 * lexicon.n
        shapes = [(d,), (d,), (d, t), (LETTERS, t), (t,)]
        if [array.shape for array in arrays] != shapes or not all(np.isfinite(array).all() for array in arrays):
            raise FormatError(f"{path}: damaged: not a regression for a lexicon of dimension {lexicon.n}")
        return cls(*arrays)

    def predicted(self, words: list[str], around: Array) -> Array:
        """Where words are, (k, t)."""
        found = (around - self.shift) / self.scale @ self.by_context + self.mean
        for part in blocks(len(words), 2048):
            owner, grams, share = hashed_letters(words[part])
            found[part] += np.add.reduceat(
                share[:, None] * self.by_letters[grams], np.flatnonzero(np.diff(owner, prepend=-1)), axis=0
            )
        return found


_ARRAYS = ("shift", "scale", "by_context", "by_letters", "mean")


def _fingerprint(lexicon: Matrices) -> str:
    """Of the meanings that a regression was learnt for."""
    return sha256(np.ascontiguousarray(lexicon.array).data).hexdigest()


def hashed_letters(words: list[str]) -> tuple[Ids, Ids, NDArray[np.float32]]:
    """The n-grams of words: whose each is, its hash, and 1 / √(how many the word has).

    >>> hashed_letters(["ox"])[0].tolist()
    [0, 0, 0]
    """
    owner, grams, share = [], [], []
    for i, word in enumerate(words):
        marked = f"<{word}>"
        found = {marked[at : at + size] for size in range(3, 7) for at in range(len(marked) - size + 1)} or {marked}
        owner += [i] * len(found)
        grams += sorted(crc32(gram.encode()) % LETTERS for gram in found)
        share += [len(found) ** -0.5] * len(found)
    return np.array(owner, np.int64), np.array(grams, np.int64), np.array(share, np.float32)


def _add_pairs(gram: Array, owner: Ids, grams: Ids, share: NDArray[np.float32]) -> None:
    """Add Σ_w g_w g_wᵀ of sparse rows: every pair of n-grams of a word."""
    counts = np.bincount(owner)
    first = np.repeat(np.arange(len(owner)), counts[owner])
    start = (np.cumsum(counts) - counts)[owner]
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts[owner]) - counts[owner], counts[owner])
    second = np.repeat(start, counts[owner]) + within
    flat = np.bincount(grams[first] * LETTERS + grams[second], share[first] * share[second], LETTERS * LETTERS)
    gram += flat.reshape(LETTERS, LETTERS)


REACH = 10

HELD_OUT = 10  # one known word in ten is held out of the regression
FEWEST = 500  # with fewer known words in the text no regression can be learnt from it
PRIOR = 100.0  # N: how many occurrences the weights of a known word's senses stand for


def adapt(
    lexicon: L,
    text: Corpus | str | Path | Iterable[Any] | None = None,
    *,
    glossary: str | Path | Sequence[Definition] | None = None,
    min_count: int = 5,
    occurrences: int = 50,
    max_size: int | None = None,
    weights: bool = True,
    seed: int = 1,
    placing: Ridge | None = None,
    progress: Report = silent,
) -> L:
    """The lexicon with the words of a text that it did not know, its known words adapted to that text.

    A text needs a lexicon with context vectors, a glossary one with a dictionary; the model that ships has both. Give a
    text, a glossary or both.

    Args:
        text: an encoded corpus or its folder; or text, as :func:`polysema.build_corpus` takes it.
        glossary: your own senses, from their definitions alone: a CSV file of words, glosses and, where they are not
            ``noun``, parts of speech; or a list of :class:`~polysema.senses.dictionary_files.Definition`.
        min_count: new words that stand in it less often are not placed.
        occurrences: how many of a word's occurrences are looked at, at most, drawn by the seed.
        max_size: at most this many new words, the most frequent.
        weights: whether the weights of known words' senses move towards their shares of the text.
        placing: the regression by which new words are placed, of :func:`learn_placing`; by default that in the folder
            of the lexicon, as the model that ships has it, else one that is learnt from the text.
        progress: receives how far the work has come.

    Returns:
        a lexicon whose metadata say under ``adapted`` how many words were placed, and how near words that were left out
        of the regression came to where they are: the mean similarity, and the median of their rank among all words.
    """
    if glossary is not None:
        lexicon = _defined(lexicon, glossary)
    if text is None:
        if glossary is None:
            raise InputError("nothing to adapt to: give a text, a glossary or both")
        return lexicon
    if lexicon.parts.columns != "senses" or lexicon.parts.contexts is None or lexicon.parts.contexts.ndim != 2:
        raise InputError("words are placed in lexicons with senses and context vectors, such as the model that ships")
    if min(min_count, occurrences) < 1:
        raise InputError(f"min_count and occurrences are 1 or more, not {min_count} and {occurrences}")
    named = text.path if isinstance(text, Corpus) else text
    with TemporaryDirectory(prefix="polysema-") as temporary:
        corpus = encoded(text, Path(temporary) / "corpus")
        words, counts = corpus.vocabulary.words, np.asarray(corpus.counts)
        rows: Ids = np.array([lexicon.vocabulary.find(word) for word in words], np.int64)
        letters = np.array([word.isalpha() for word in words], bool)
        new = np.flatnonzero((rows < 0) & letters & (counts >= min_count))
        new = new[np.argsort(-counts[new], kind="stable")][:max_size]
        known = np.flatnonzero((rows >= 0) & (counts >= min_count))
        ridge = placing or Ridge.beside(lexicon)
        if ridge is None and len(known) < FEWEST:
            raise InputError(
                f"{len(known)} words that the lexicon knows stand in the text {min_count} times: {FEWEST} are needed "
                "to place others by them; give more text"
            )
        ids = np.concatenate([known, new])
        if not len(ids):
            raise InputError(f"no word stands in the text {min_count} times: give more text, or a lower min count")
        around = _features(lexicon, corpus, rows, ids, occurrences, seed, progress)
        target = _targets(lexicon)
        progress(Progress("placing", 0, len(new)))
        if ridge is None:
            tried = np.arange(0, len(known), HELD_OUT)
            fitted = np.ones(len(lexicon), bool)
            fitted[rows[known[tried]]] = False
            ridge = Ridge.fitted(lexicon.vocabulary.words, rows[known], around[: len(known)], target, fitted)
            placed = ridge.predicted([words[i] for i in ids], around)
        else:
            own = np.array([not _is_left_out(words[i]) for i in known], bool)
            tried = np.flatnonzero(~own)
            placed = ridge.predicted([words[i] for i in ids], around)
            if own.sum() >= FEWEST:
                left = target[rows[known]] - placed[: len(known)]
                rest = Ridge.fitted([words[i] for i in known], np.arange(len(known)), around[: len(known)], left, own)
                placed += rest.predicted([words[i] for i in ids], around)
                for half in (slice(lexicon.n), slice(lexicon.n, None)):
                    placed[:, half] = _as_far(placed[:, half], target[rows[known], half], tried)
        left_out = rows[known[tried]]
        result = _extended(lexicon, [words[i] for i in new], counts[new], placed[len(known) :])
        if weights:
            result = _reweighed(result, corpus, occurrences, seed, progress)
        if (kept := result.parts.inventory) is not None:
            least = least_cosines(result, corpus, most=occurrences, seed=seed, progress=progress)
            least = np.where(least > -1, least, kept.least).astype(np.float32)
            result = result.with_parts(inventory=Inventory(kept.senses, kept.weights, least))
        facts = {
            "text": Path(named).name if isinstance(named, str | Path) else "",
            "tokens": len(corpus.tokens),
            "words": len(new),
            "min_count": min_count,
            "occurrences": occurrences,
            **_held_out(lexicon, target[:, : lexicon.n], placed[tried, : lexicon.n], left_out),
        }
        before = lexicon.metadata.get("adapted", [])
        return result.with_parts(metadata={**lexicon.metadata, "adapted": [*before, facts]})


def _defined(lexicon: L, glossary: str | Path | Sequence[Definition]) -> L:
    """The lexicon with the senses of a glossary in its dictionary."""
    dictionary = Dictionary.of(lexicon.parts)
    if dictionary is None:
        raise InputError("a glossary adds to a dictionary, and this lexicon has none: take the model that ships")
    definitions = read_glossary(Path(glossary)) if isinstance(glossary, str | Path) else list(glossary)
    return lexicon.with_parts(dictionary=dictionary.with_glossary(definitions))


def read_glossary(path: Path) -> list[Definition]:
    """The definitions in a CSV file: ``word``, ``gloss`` and, where it is not ``noun``, ``pos``.

    A first line with these names is optional.
    """
    found = []
    for number, row in enumerate(csv.reader(read_text(path).splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and cells == ["word", "gloss", "pos"][: len(cells)]):
            continue
        if not 2 <= len(cells) <= 3 or not all(cells[:2]):
            raise FormatError(f"{path}, line {number}: give a word, its gloss and, if you like, its part of speech")
        pos = "".join(cells[2:]).lower() or "noun"
        check_choice("part of speech", pos, POS)
        found.append(Definition(cells[0], cells[1], pos))
    if not found:
        raise FormatError(f"{path}: no definitions: give a word and its gloss a line, with a comma between")
    return found


def _as_far(placed: Array, true: Array, tried: Ids) -> Array:
    """Words moved as far from the mean as words really are: m + s (μ − m), s = ‖t − m‖ / ‖μ − m‖ over words left out.

    Ridge regression draws everything to the mean m; words would all be like each other.

    Args:
        placed: (k, n), the known words first; ``true`` is where these are, ``tried`` which were left out.
    """
    mean = true.mean(axis=0)
    drawn = float(np.linalg.norm(placed[tried] - mean))
    return placed if drawn == 0 else mean + float(np.linalg.norm(true[tried] - mean)) / drawn * (placed - mean)


def learn_placing(
    lexicon: Matrices, text: Corpus | str | Path | Iterable[Any], *, seed: int = 1, progress: Report = silent
) -> Ridge:
    """The regression of a lexicon, learnt on much text, for :func:`adapt` on little.

    Words are looked at as a small text shows them: in 5 to 50 occurrences each. Words that were placed themselves are
    left out, and every tenth of the others, by the hash of its letters.
    """
    placed = sum(facts["words"] for facts in lexicon.metadata.get("adapted", []))
    with TemporaryDirectory(prefix="polysema-") as temporary:
        corpus = encoded(text, Path(temporary) / "corpus")
        counts = np.asarray(corpus.counts)
        rows: Ids = np.array([lexicon.vocabulary.find(word) for word in corpus.vocabulary.words], np.int64)
        seen = np.flatnonzero((rows >= 0) & (rows < len(lexicon) - placed) & (counts >= FEW[0]))
        few = np.exp(np.random.default_rng(seed).uniform(log(FEW[0]), log(FEW[1]), len(seen))).astype(np.int64)
        around = _features(lexicon, corpus, rows, seen, few, seed, progress)
    fitted = np.array([not _is_left_out(word) for word in lexicon.vocabulary.words], bool)
    fitted[len(lexicon) - placed :] = False
    return Ridge.fitted(lexicon.vocabulary.words, rows[seen], around, _targets(lexicon), fitted)


FEW = (5, 50)  # from how many occurrences to how many a word is looked at


def _is_left_out(word: str) -> bool:
    return crc32(word.encode()) % HELD_OUT == 0


def _targets(lexicon: Matrices) -> Array:
    """What is regressed on: the mean direction and the context vector of every word, (V, 2n)."""
    return np.concatenate([_means(lexicon), np.asarray(lexicon.parts.contexts, np.float64)], axis=1)


def _means(lexicon: Matrices) -> Array:
    """The mean directions μ of all words, unit vectors (V, n)."""
    return np.concatenate([directions_of_words(lexicon.array[part]) for part in blocks(len(lexicon))])


def _features(
    lexicon: Matrices, corpus: Corpus, rows: Ids, ids: Ids, occurrences: int | Ids, seed: int, progress: Report
) -> Array:
    """What stands around some words of a corpus, (k, 3 (n + 1)): means, and how much each is a mean of.

    Args:
        rows: (types,), the row of each word of the corpus in the lexicon; negative for those that it lacks.
        ids: (k,), the words, by their ids in the corpus.
        occurrences: how many of each are looked at, at most.
    """
    begun, means, counts = time.perf_counter(), _means(lexicon), lexicon.vocabulary.counts
    rare = RARE / (RARE + counts / max(int(counts.sum()), 1))
    near, one = np.arange(1, REACH + 1) ** -0.5, np.ones(len(means))
    taken = np.minimum(np.asarray(corpus.counts)[ids], occurrences)
    starts = np.concatenate([[0], np.cumsum(taken)]).astype(np.int64)
    chosen = np.full(len(rows), -1, np.int64)
    chosen[ids] = np.arange(len(ids))
    progress(Progress("drawing occurrences", 0))
    tokens, positions = np.asarray(corpus.tokens), draw_positions(corpus, chosen, starts, seed)
    found = []
    for number, (scale, by_distance) in enumerate(
        ((rare, np.concatenate([near[::-1], near])), (one, np.array([1.0, 0.0])), (one, np.array([0.0, 1.0])))
    ):
        vectors = np.column_stack([scale[:, None] * means, scale]).astype(np.float32)
        weights, sums = by_distance.astype(np.float32), np.empty((len(ids), vectors.shape[1]))
        for part in blocks(len(ids), 2048):
            at = positions[starts[part.start] : starts[part.stop]]
            sentence = np.searchsorted(corpus.sentences, at, side="right") - 1
            firsts, lasts = np.asarray(corpus.sentences[sentence]), np.asarray(corpus.sentences[sentence + 1])
            each = np.empty((len(at), vectors.shape[1]), np.float32)
            weighted_context_sums(tokens, firsts, lasts, at, rows, vectors, weights, each)
            sums[part] = np.add.reduceat(each, starts[part] - starts[part.start], axis=0)
            done = number * len(ids) + part.stop
            speed = done / max(time.perf_counter() - begun, 1e-9)
            progress(Progress("reading contexts", done, 3 * len(ids), "words", speed))
        amount = sums[:, -1:]
        found += [sums[:, :-1] / np.where(amount > 0, amount, 1.0), amount / taken[:, None]]
    return np.concatenate(found, axis=1)


def _extended(lexicon: L, words: list[str], counts: Ids, placed: Array) -> L:
    """The lexicon with new words, one sense each, behind its own."""
    size, n, m, parts = len(words), lexicon.n, lexicon.m, lexicon.parts
    factors = np.zeros((size, n, m), lexicon.array.dtype)
    factors[:, :, 0] = placed[:, :n] / np.linalg.norm(placed[:, :n], axis=1, keepdims=True)
    first = np.tile(np.arange(m) == 0, (size, 1))
    grown: dict[str, Any] = {"contexts": _with(parts.contexts, placed[:, n:])}
    if parts.norms is not None:
        grown["norms"] = _with(parts.norms, np.full(size, np.median(parts.norms)))
    if (known := parts.information) is not None:
        grown["information"] = Information(_with(known.values, np.full(size, np.nan)), known.measure)
    if (own := parts.inventory) is not None:
        arrays = (own.senses, np.where(first, 0, -1)), (own.weights, first), (own.least, np.full(size, -1.0))
        grown["inventory"] = Inventory(*(_with(old, new) for old, new in arrays))
    if parts.speech is not None:
        unknown = np.zeros((size, m))
        grown["speech"] = Speech(_with(parts.speech.tags, unknown), _with(parts.speech.shares, unknown))
    return lexicon.with_parts(
        words=Vocabulary([*lexicon.vocabulary.words, *words], np.concatenate([lexicon.vocabulary.counts, counts])),
        array=np.concatenate([lexicon.array, factors]),
        placing=None,
        **grown,
    )


def _with(old: Any, new: NDArray[Any]) -> NDArray[Any]:
    """The rows of a part with those of new words behind, of its own type."""
    return np.concatenate([old, new.astype(old.dtype)])


def _reweighed(lexicon: L, corpus: Corpus, occurrences: int, seed: int, progress: Report) -> L:
    """The lexicon with the weights of senses moved towards their shares of the text."""
    formula = lexicon.parts.context_model or USUAL
    b = lexicon.array
    several = np.flatnonzero((b != 0).any(axis=1).sum(axis=1) > 1)
    seen = Occurrences(lexicon, corpus, most=max(occurrences, 2), words=several, seed=seed)
    factors, inventory = np.array(b), lexicon.parts.inventory
    shares = None if inventory is None else np.array(inventory.weights)
    for done, row in enumerate(several.tolist(), 1):
        if done % 1024 == 0:
            progress(Progress("adapting", done, len(several), "words"))
        (own,) = seen.of(row, row + 1)
        if not len(own.positions):
            continue
        factor = b[row].astype(np.float64)
        p = (factor * factor).sum(axis=0)
        live = np.flatnonzero(p > 0)
        prior, vectors = p[live] / p.sum(), (factor[:, live] / np.sqrt(p[live])).T
        evidence = log_evidence(cosines(directions(prior, vectors, formula), own.contexts), own.amounts, formula)
        chosen = softmax(np.log(prior) + evidence).sum(axis=0)
        after = (PRIOR * prior + chosen) / (PRIOR + len(own.positions))
        factors[row][:, live] = np.sqrt(after) * vectors.T
        if shares is not None and inventory is not None and np.array_equal(inventory.senses[row, live], live):
            shares[row, live] = after
    if inventory is not None and shares is not None:
        inventory = Inventory(inventory.senses, shares, inventory.least)
    return lexicon.with_parts(array=factors, inventory=inventory)


def _held_out(lexicon: Matrices, means: Array, placed: Array, rows: Ids) -> dict[str, Any]:
    """How near words that were left out come to their matrices, and how many words are nearer to where they come."""
    if not len(rows):
        return {"held_out": 0}
    unit = placed / np.linalg.norm(placed, axis=1, keepdims=True)
    b = lexicon.array[rows].astype(np.float64)
    overlap = ((b.mT @ unit[:, :, None]) ** 2).sum(axis=(1, 2))
    similarity = overlap / np.linalg.norm(b.mT @ b, axis=(1, 2))
    nearer = np.empty(len(rows))
    for part in blocks(len(rows), 512):
        scores = unit[part] @ means.T
        nearer[part] = (scores > (unit[part] * means[rows[part]]).sum(axis=1, keepdims=True)).sum(axis=1)
    return {
        "held_out": len(rows),
        "similarity": round(float(similarity.mean()), 3),
        "median_rank": int(np.median(nearer)) + 1,
        "among_ten_nearest": round(float((nearer < 10).mean()), 3),
    }
