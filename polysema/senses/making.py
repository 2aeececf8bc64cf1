"""Makes a dictionary: reads the tagged text, trains the encoder, encodes the glosses, counts, calibrates, groups.

SemCor's fully tagged documents are divided once: most train, and three disjoint sets of eight choose (between epochs or
settings), calibrate and report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.distillation import (
    Distillation,
    Distiller,
    FormTable,
    PlainText,
    Teacher,
    TextBatches,
    find_words,
    read_as,
)
from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.gloss_training import (
    GlossTrainer,
    GlossTraining,
    SenseTable,
    TaggedPieces,
)
from polysema.encoders.tagged_text import (
    TaggedSentence,
    read_all_words,
    read_masc,
    read_semcor,
    read_tagged_glosses,
    with_neighbours,
    wordnet_examples,
)
from polysema.encoders.torch_encoder import TorchEncoder, read_minilm
from polysema.encoders.wordpiece import WordPiece
from polysema.errors import InputError
from polysema.senses.calibration import (
    Scored,
    accuracy,
    context_vectors,
    doubt_features,
    fit,
    reliability,
    score,
    without_right_group,
)
from polysema.senses.coarse import (
    Pairs,
    coarse_groups,
    fit_pairs,
    labelled_pairs,
    pair_scores,
    second_ids,
)
from polysema.senses.dictionary import Calibration, Dictionary
from polysema.senses.dictionary_files import DictionaryFile, build_dictionary
from polysema.senses.doubt import COMMON, doubted, fit_doubt
from polysema.senses.forms import Forms
from polysema.senses.wordnet_files import WordNet

ROLES = ("choose", "calibrate", "report")
_EVERY, _HELD_OUT = 8, 24  # every eighth fully tagged document, 24 of them
_FULLY_TAGGED = ("brown1", "brown2")  # in brownv the verbs alone have tags


@dataclass(frozen=True, slots=True)
class TaggedText:
    """Tagged text, divided.

    Attributes:
        train: sentences to train on, of every source.
        held_out: SemCor's sentences by role: ``choose``, ``calibrate`` and ``report``.
        other: tagged text of another kind to calibrate on, too.
    """

    train: list[TaggedSentence]
    held_out: dict[str, list[TaggedSentence]]
    other: list[TaggedSentence] = field(default_factory=list)


def read_tagged_text(
    wordnet: WordNet, semcor: Path, glosses: Path | None = None, masc: Path | None = None, sets: Path | None = None
) -> TaggedText:
    """SemCor, divided, with WordNet's examples and, where their folders are given, tagged glosses and MASC.

    Args:
        sets: the all-words evaluation sets, of which SemEval-2007, the development set, is text of another kind.
    """
    sentences = list(read_semcor(semcor, wordnet.keys))
    roles = held_out_documents({sentence.document for sentence in sentences})
    held_out: dict[str, list[TaggedSentence]] = {role: [] for role in ROLES}
    train: list[TaggedSentence] = []
    for sentence in sentences:
        role = roles.get(sentence.document)
        (train if role is None else held_out[role]).append(sentence)
    train += wordnet_examples(wordnet, lemmas_of(wordnet))
    if glosses is not None:
        train += read_tagged_glosses(glosses, wordnet)
    if masc is not None:
        train += read_masc(masc, wordnet.keys)
    other = [] if sets is None else with_neighbours([*read_all_words(sets, "semeval2007")])
    return TaggedText(train, held_out, other)


def lemmas_of(wordnet: WordNet) -> Forms:
    """Finds the lemmas of WordNet's inflected forms."""
    letters = {spelling: {key.synset[-1] for key in keys} for spelling, keys in wordnet.senses().items()}
    return Forms(lambda word: letters.get(word, ()), wordnet.exceptions)


def held_out_documents(documents: Iterable[str]) -> dict[str, str]:
    """The role of each held-out document of SemCor.

    >>> held_out_documents([f"brown1_br-a{i:02d}" for i in range(30)])
    {'brown1_br-a03': 'choose', 'brown1_br-a11': 'calibrate', 'brown1_br-a19': 'report', 'brown1_br-a27': 'choose'}
    """
    full = sorted(name for name in documents if name.startswith(_FULLY_TAGGED))
    return {name: ROLES[i % 3] for i, name in enumerate(full[3::_EVERY][:_HELD_OUT])}


class Pieces(NamedTuple):
    """What an encoder is trained on, as pieces."""

    reader: WordPiece
    table: SenseTable
    glosses: list[NDArray[np.int32]]
    train: list[TaggedPieces]
    choose: list[TaggedPieces]
    related: list[list[int]]


def pieces_of(wordnet: WordNet, text: TaggedText, reader: WordPiece, options: GlossTraining) -> Pieces:
    """Tagged text and glosses, cut into pieces."""
    table = SenseTable(wordnet)
    return Pieces(
        reader,
        table,
        [reader.read(text).ids for text in wordnet.gloss_texts()],
        training_pieces(table, text.train, reader, options),
        table.encode(text.held_out["choose"], reader)[:400],
        related_rows(wordnet),
    )


def train_encoder(
    pieces: Pieces,
    encoder: TorchEncoder,
    options: GlossTraining,
    out: Path | None = None,
    report: Callable[[str], None] = lambda _: None,
    every: float = 600.0,
) -> GlossTrainer:
    """Train an encoder towards WordNet's glosses.

    Args:
        encoder: changed in place.
        out: where the encoder is written, every so many seconds and at the end.
        report: takes a line of progress.
    """
    trainer = GlossTrainer(encoder, pieces.glosses, pieces.table, pieces.train, options)
    _run(trainer, pieces, out, report, every)
    return trainer


def _run(trainer: GlossTrainer, pieces: Pieces, out: Path | None, report: Callable[[str], None], every: float) -> None:
    if pieces.choose:
        report(f"before training: right on held-out documents {trainer.accuracy(pieces.choose):.3f}")
    for steps in trainer.run(report, every):
        if out is not None:
            trainer.encoder.finished().save(out)
        if pieces.choose:
            report(f"after {steps} steps: right on held-out documents {trainer.accuracy(pieces.choose):.3f}")


def taught_vectors(trainer: GlossTrainer, related: Sequence[Sequence[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where a trained teacher puts every gloss, and the sense vectors: both (S, n)."""
    glosses = trainer.gloss_table()
    sums, counts = np.zeros(glosses.shape), np.zeros(len(glosses), np.int64)
    for vectors, words in trainer.tagged_vectors():
        single = [k for k, word in enumerate(words) if len(word.right) == 1]
        rows = np.array([words[k].right[0] for k in single], np.int64)
        np.add.at(sums, rows, vectors[single])
        np.add.at(counts, rows, 1)
    means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return glosses, blended(glosses, means, counts, TAUGHT_BLEND, related)


def distil(
    pieces: Pieces,
    trainer: GlossTrainer,
    student: TorchEncoder,
    text: PlainText,
    forms: FormTable,
    options: Distillation,
    out: Path | None = None,
    report: Callable[[str], None] = lambda _: None,
    every: float = 600.0,
) -> NDArray[np.float32]:
    """Let a trained teacher teach a small encoder on untagged text; returns where the teacher puts every gloss.

    Args:
        trainer: of the teacher.
        student: the small encoder, changed in place.
    """
    glosses, senses = taught_vectors(trainer, pieces.related)
    words = find_words(text, forms, pieces.reader)
    report(f"the teacher reads {len(text.ids)} pieces with {len(words.first)} words of several senses")
    taught = Teacher(glosses, senses, read_as(trainer.encoder, TextBatches(trainer.encoder, text, words), report))
    batches = TextBatches(student, text, words)
    distiller = Distiller(student, pieces.glosses, pieces.table, pieces.train, taught, batches, forms, options)
    _run(distiller, pieces, out, report, every)
    return glosses


def training_pieces(
    table: SenseTable, sentences: Sequence[TaggedSentence], reader: WordPiece, options: GlossTraining
) -> list[TaggedPieces]:
    """Training sentences as pieces, weighed by their source."""
    found: list[TaggedPieces] = []
    for source in dict.fromkeys(sentence.source for sentence in sentences):
        if source not in options.source_weights:
            raise InputError(f"no weight for the source {source!r}: choose {', '.join(options.source_weights)}")
        pieces = table.encode([sentence for sentence in sentences if sentence.source == source], reader)
        for sentence in pieces:
            sentence.weight = options.source_weights[source]
        found += pieces
    return found


def encode_glosses(
    wordnet: WordNet, encoder: GlossEncoder, report: Callable[[int, int], None] = lambda done, total: None
) -> NDArray[np.float32]:
    """The gloss vector of every synset: (S, n). In NumPy; about ten minutes on a core.

    Args:
        report: takes the number of glosses done, and of all.
    """
    texts = wordnet.gloss_texts()
    found = np.empty((len(texts), encoder.dimension), np.float32)
    for first in range(0, len(texts), 2000):
        found[first : first + 2000] = encoder.glosses(texts[first : first + 2000])
        report(min(first + 2000, len(texts)), len(texts))
    return found


def occurrence_means(
    wordnet: WordNet, sentences: Sequence[TaggedSentence], encoder: GlossEncoder
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The mean context vector of each synset's tagged occurrences, (S, n), and their number, (S,).

    Occurrences of which several synsets are right do not count.
    """
    of_key = SenseTable(wordnet).of_key
    sums = np.zeros((len(wordnet.synsets), encoder.dimension))
    counts = np.zeros(len(wordnet.synsets), np.int64)
    for first in range(0, len(sentences), 2000):
        group = sentences[first : first + 2000]
        targets = [target for sentence in group for target in sentence.targets]
        single = [k for k, target in enumerate(targets) if len({of_key[key] for key in target.keys}) == 1]
        rows = np.array([of_key[targets[k].keys[0]] for k in single], np.int64)
        np.add.at(sums, rows, context_vectors(encoder, group)[single])
        np.add.at(counts, rows, 1)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32), counts


def blended(
    glosses: NDArray[np.float32],
    means: NDArray[np.float32],
    counts: NDArray[np.int64],
    weight: float,
    related: Sequence[Sequence[int]] | None = None,
) -> NDArray[np.float32]:
    """Sense vectors between a synset's gloss, its occurrences and the synsets it is related to: (S, n), unit.

    b_s ∝ (1 − w_s) g_s + w_s m_s with w_s = weight · N_s / (N_s + 2): a synset that was never seen keeps its gloss.
    v_s ∝ b_s + 1.2 / (N_s + 2) · b̄_s with b̄_s the mean over related synsets: they say more where s was seen less.
    """
    share = (weight * counts / (counts + 2))[:, None].astype(np.float32)
    mixed = unit_rows((1 - share) * glosses + share * means)
    if related is None:
        return mixed
    around = np.zeros_like(mixed)
    owners = np.repeat(np.arange(len(mixed)), [len(rows) for rows in related])
    np.add.at(around, owners, mixed[np.concatenate([np.asarray(rows, np.int64) for rows in related])])
    around /= np.maximum([len(rows) for rows in related], 1)[:, None]
    return unit_rows(mixed + (2 * RELATED / (counts + 2))[:, None] * around)


def unit_rows(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Rows of length 1; rows of zeros stay."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)


def related_rows(wordnet: WordNet) -> list[list[int]]:
    """The rows of the synsets that each synset is related to."""
    rows = {name: row for row, name in enumerate(wordnet.synsets)}
    return [
        [rows[name] for symbol, name in synset.relations if symbol in RELATIONS] for synset in wordnet.synsets.values()
    ]


RELATIONS = frozenset(("@", "@i", "~", "~i", "&", "+", "\\", "<", "*", ">", "$", "^", "="))
"""Hypernyms, hyponyms, similar and derived words, causes, attributes: no antonyms, parts or topics."""

TAUGHT_BLEND = 0.65
"""The weight of occurrences in the sense vectors that a teacher hands on."""

RELATED = 0.6
"""The weight of related synsets for a synset that was never seen."""

BLENDS, PRIORS = (0.35, 0.5, 0.65, 0.8), (0.0, 0.01, 0.02, 0.03)
"""The weights of occurrences, and the a/β, that :func:`choose_blend` tries."""

NEAR_BEST = 0.01
"""Settings whose accuracy is at most this much below the best one's are as good."""


class Blend(NamedTuple):
    """A choice of :func:`choose_blend`."""

    weight: float  # of occurrences
    ratio: float  # a/β
    accuracy: float  # on words of several senses
    rare: float  # the mean accuracy on those whose right sense is not the most frequent, and on those never tagged


def choose_blend(
    wordnet: WordNet, text: TaggedText, encoder: GlossEncoder, glosses: NDArray[np.float32]
) -> tuple[NDArray[np.float32], Blend, list[Blend]]:
    """The sense vectors that do best on the documents to choose on, the choice, and all that was tried.

    Occurrences and frequencies help frequent senses and hide rare ones. Among the settings whose accuracy is about the
    best, the one that is best on rare senses is taken.
    """
    means, counts = occurrence_means(wordnet, text.train, encoder)
    related = related_rows(wordnet)
    tagged, contexts = _counted(text), context_vectors(encoder, text.held_out["choose"])
    tried = []
    for weight in BLENDS:
        file = build_dictionary(wordnet, blended(glosses, means, counts, weight, related), {"semcor": tagged})
        words = score(Dictionary(file, encoder), text.held_out["choose"], known_pos=False, contexts=contexts)
        words = _judged(words)
        rarer = [word for word in words if not word.right[word.frequencies.argmax()]]
        never = [word for word in words if not any(tagged.get(key) for key in word.target.keys)]
        for ratio in PRIORS:
            shares = [accuracy(own, ratio, 1.0) for own in (words, rarer, never)]
            tried.append(Blend(weight, ratio, shares[0], (shares[1] + shares[2]) / 2))
    best = max(found.accuracy for found in tried)
    chosen = max((found for found in tried if found.accuracy >= best - NEAR_BEST), key=lambda found: found.rare)
    return blended(glosses, means, counts, chosen.weight, related), chosen, tried


def fit_sharpness(words: Sequence[Scored], ratio: float) -> Calibration:
    """β of the largest likelihood, with a = ratio · β."""
    flat = [
        replace(word, similarities=word.similarities + ratio * np.log(word.frequencies),
                frequencies=np.ones(len(word.rows)))
        for word in words
    ]  # fmt: skip
    found = fit(flat)
    return replace(found, prior=ratio * found.sharpness)


def _judged(words: Sequence[Scored]) -> list[Scored]:
    """Words of several senses of which one is right."""
    return [word for word in words if len(word.rows) > 1 and word.right.any()]


def _counted(text: TaggedText) -> dict[str, int]:
    """Occurrences of each sense key in the training documents of SemCor."""
    return Counter(key for s in text.train if s.source == "semcor" for target in s.targets for key in target.keys[:1])


def make_dictionary(
    wordnet: WordNet,
    text: TaggedText,
    encoder: GlossEncoder,
    vectors: NDArray[np.float32],
    ratio: float,
    plain: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
) -> tuple[Dictionary, dict[str, Any]]:
    """The dictionary of an encoder, and figures about it.

    Frequencies come from the training documents of SemCor, the coarse groups from its second sense ids, learnt on four
    fifths of the words and scored on the others; β and doubt come from the documents for calibration, and what is
    reported from a third set.

    Args:
        vectors: (S, n) the sense vectors.
        ratio: a/β.
        plain: what to group senses by, see :func:`plain_vectors`; by default nothing is grouped.
    """
    figures: dict[str, Any] = {}
    groups: dict[str, int] = {}
    if plain is not None:
        groups, figures["pairs"] = group_senses(wordnet, text, *plain)
    counts = _counted(text)
    file = build_dictionary(wordnet, vectors, {"semcor": counts}, {}, groups)
    dictionary = Dictionary(file, encoder)
    calibrating = score(dictionary, text.held_out["calibrate"], known_pos=False)
    other = _judged(score(dictionary, text.other, known_pos=False))
    copies = round(len(_judged(calibrating)) / len(other)) if other else 0  # both kinds of text count the same
    fitted = fit_sharpness([*calibrating, *other * copies], ratio)
    figures["calibration"] = options = asdict(fitted)
    background = file.common_vectors(fitted.source, COMMON)
    alone = [word for word in calibrating if len(word.rows) == 1 and word.right.any()]
    calibrating = [word for word in calibrating if len(word.rows) > 1]
    missing = without_right_group(file, calibrating)
    doubt = None
    if missing:
        known, lacking, single = (doubt_features(words, background, fitted) for words in (calibrating, missing, alone))
        doubt = np.array(fit_doubt(known, lacking, single))
        figures["doubt"] = {"weights": doubt.tolist()}
    if text.held_out["report"]:
        reported = score(dictionary, text.held_out["report"], known_pos=False)
        figures["reliability"] = reliability(reported, fitted).to_dict()
        if doubt is not None:
            alone = [word for word in reported if len(word.rows) == 1 and word.right.any()]
            reported = [word for word in reported if len(word.rows) > 1]
            lost = without_right_group(file, reported)
            tagged = {key for sentence in text.train for target in sentence.targets for key in target.keys}
            never = [word for word in lost if not tagged & set(word.target.keys)]
            kinds = {"false_alarms": reported, "of_one_sense": alone, "found": lost, "found_if_never_tagged": never}
            for name, words in kinds.items():
                said = doubted(doubt_features(words, background, fitted), doubt)
                figures["doubt"][name] = {"words": len(words), "share": float(said.mean()) if words else None}
    made = {"calibration": options, **({} if doubt is None else {"doubt": doubt.tolist()})}
    return Dictionary(DictionaryFile(file.tensors, {**file.options, **made}), encoder), figures


def plain_vectors(wordnet: WordNet, minilm: Path, batch: int = 256) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Unit vectors of definitions and of gloss texts, (S, 384) each, by the encoder that training starts from.

    Only of synsets that some word has beside another one of the same part of speech; the others are zero.
    """
    encoder = TorchEncoder(read_minilm(minilm), WordPiece.load(minilm / "vocab.txt"))
    by_pos = Counter((key.lemma, key.synset[-1]) for key in wordnet.keys)
    used = {key.synset for key in wordnet.keys if by_pos[key.lemma, key.synset[-1]] > 1}
    rows = np.array([row for row, name in enumerate(wordnet.synsets) if name in used])
    definitions = [synset.gloss or synset.words[0] for synset in wordnet.synsets.values()]
    found = []
    for texts in (definitions, wordnet.gloss_texts()):
        pieces = {row: encoder.reader.read(texts[row]).ids[: encoder.shape.window] for row in rows.tolist()}
        vectors = np.zeros((len(texts), len(encoder.tensors["embeddings.norm.bias"])), np.float32)
        order = np.array(sorted(pieces, key=lambda row: len(pieces[row])))
        for part in np.array_split(order, len(order) // batch + 1):
            with encoder.torch.no_grad():
                spans = [[(0, len(pieces[row]))] for row in part]
                vectors[part] = encoder.pooled([pieces[row] for row in part], spans).float().cpu().numpy()
        found.append(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))
    return found[0], found[1]


def group_senses(
    wordnet: WordNet, text: TaggedText, definitions: NDArray[np.float32], texts: NDArray[np.float32]
) -> tuple[dict[str, int], dict[str, Any]]:
    """The coarse sense of every key, and how well pairs are told on held-out words."""
    pairs = Pairs(wordnet, definitions, texts)
    ids = second_ids([*text.train, *(s for found in text.held_out.values() for s in found)])
    features, truth, owners = labelled_pairs(pairs, ids)
    words = sorted(set(owners))
    if len(words) < 50:
        return {}, {}
    held = np.isin(owners, words[::5])
    auc, f1 = pair_scores(fit_pairs(features[~held], truth[~held]).probabilities(features[held]), truth[held])
    figures = {"words": len(words), "held_out": int(held.sum()), "auc": auc, "f1": f1}
    return coarse_groups(pairs, fit_pairs(features, truth), ids), figures
