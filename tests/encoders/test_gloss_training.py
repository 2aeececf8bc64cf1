from __future__ import annotations

import numpy as np
import pytest

from polysema.encoders.gloss_training import (
    GlossTrainer,
    GlossTraining,
    SenseTable,
    TaggedPieces,
    TaggedWord,
    cropped,
    joined,
)
from polysema.encoders.tagged_text import TaggedSentence, Target
from polysema.encoders.torch_encoder import TorchEncoder, read_minilm
from polysema.errors import FormatError, InputError
from tests.senses.five_words import random_encoder, wordnet

torch = pytest.importorskip("torch", reason="the extra encoders is not installed")

SENTENCES = [
    ("he sat on the bank of the river", "bank", "bank%1:17:01::"),
    ("water ran on the sloping bank", "bank", "bank%1:17:01::"),
    ("money sat on the bank", "bank", "bank%1:14:00::"),
    ("the bank ran money", "bank", "bank%1:14:00::"),
    ("he saw the dog", "see", "see%2:39:00::"),
    ("the tool , a saw", "saw", "saw%1:06:00::"),
    ("he saw wood", "saw", "saw%2:35:00::"),
    ("a fast dog", "fast", "fast%3:00:01::"),
    ("he ran fast", "fast", "fast%4:02:00::"),
]


def tagged() -> list[TaggedSentence]:
    found = []
    for text, lemma, key in SENTENCES:
        form = "saw" if lemma == "see" else lemma
        start = text.index(form)
        found.append(TaggedSentence(text, (Target(start, start + len(form), lemma, (key,)),), "test", "d1"))
    return found


def encoder(**options: object) -> TorchEncoder:
    made = random_encoder()
    tensors = {**made._tensors, "embeddings.word": made._embeddings[0] * made._embeddings[1][:, None]}
    return TorchEncoder(tensors, made.reader, made.shape, half=False, **options)


def trainer(**options: object) -> GlossTrainer:
    made, table = encoder(), SenseTable(wordnet())
    glosses = [made.reader.read(text).ids for text in wordnet().gloss_texts()]
    settings = {"steps": 60, "rate": 3e-3, "dimension": 8, "prefixes": 0.2, "sentences": 8, **options}
    return GlossTrainer(made, glosses, table, table.encode(tagged(), made.reader), GlossTraining(**settings))


def test_training_brings_words_near_their_glosses() -> None:
    run = trainer()
    steps = list(run.run())
    assert steps == [60]
    assert run.accuracy(run.sentences) == 1.0


def test_the_encoder_goes_on_reading_glosses_into_the_same_space() -> None:
    run = trainer(read_again=10, kept_weight=1.0)
    list(run.run())
    run.encoder.new_step()
    with torch.no_grad():
        read, kept = run.encoder.glosses([run.glosses[i] for i in run._used]), run._gloss_vectors(run._used)
    assert float((read * kept).sum(1).min()) > 0.9


def test_the_loss_is_the_mean_over_all_senses_and_over_those_of_the_right_part_of_speech() -> None:
    run = trainer(scale=1.0)
    fast = [s for s in run.sentences if len({run.pos[r] for r in run._senses[s.words[0].spelling]}) > 1][:1]
    choices = run.choices(fast)
    g = np.random.default_rng(1).normal(size=(len(run.glosses), 8)).astype(np.float32)
    c = np.ones((1, 8), np.float32)
    loss, _ = run.loss(torch.from_numpy(c), torch.from_numpy(g), choices)

    def nll(among: np.ndarray) -> float:
        logits = np.where(among[0], g[choices.senses[0]] @ c[0], -np.inf)
        p = np.exp(logits - logits.max())
        return -float(np.log(p[choices.right[0]].sum() / p.sum()))

    same = choices.same_pos if choices.same_pos.sum() > 1 else None
    expected = 0.5 * nll(choices.valid) + (0.5 * nll(same) if same is not None else 0.0)
    assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_the_trained_encoder_reads_the_same_in_numpy() -> None:
    run = trainer(steps=3)
    list(run.run())
    finished = run.encoder.finished()
    texts = [text for text, _, _ in SENTENCES]
    spans = [[(target.start, target.end) for target in sentence.targets] for sentence in tagged()]
    pieces = [run.encoder.reader.read(text) for text in texts]
    words = [
        TaggedPieces(
            cut.ids,
            [TaggedWord(int(np.searchsorted(cut.ends, a, "right")), int(np.searchsorted(cut.starts, z)), 0, ())
             for a, z in found],
        )
        for cut, found in zip(pieces, spans, strict=True)
    ]  # fmt: skip
    with torch.no_grad():
        expected = run.contexts(words).numpy()
    assert (finished.contexts(texts, spans) * expected).sum(axis=1).min() > 0.999


def test_frozen_layers_and_embeddings_stay() -> None:
    run = trainer(steps=4)
    run.encoder.frozen_layers = 1
    names = run.encoder.trained()
    assert "embeddings.word" not in names
    assert "layer.0.up.weight" not in names
    assert "layer.1.up.weight" in names


def test_a_long_sentence_is_cropped_around_its_word() -> None:
    words = [TaggedWord(i, i + 1, 0, (0,)) for i in (0, 30, 59)]
    sentence = TaggedPieces(np.arange(60, dtype=np.int32), words)
    found = cropped(sentence, 20, words[1])
    assert len(found.ids) == 20
    assert [found.ids[word.start] for word in found.words] == [30]
    prefix = cropped(sentence, 40, words[1], stop=33)
    assert (len(prefix.ids), len(prefix.words)) == (33, 2)
    assert cropped(sentence, 60, words[0]) is sentence
    both = joined(found, sentence)
    assert (len(both.ids), [both.ids[word.start] for word in both.words]) == (80, [30, 0, 30, 59])


def test_what_cannot_be_trained(tmp_path) -> None:
    with pytest.raises(InputError, match="trains nothing"):
        GlossTraining(steps=0)
    with pytest.raises(InputError, match="no sentence has a tagged word"):
        GlossTrainer(encoder(), [], SenseTable(wordnet()), [], GlossTraining())
    with pytest.raises(FormatError, match=r"holds no model\.safetensors"):
        read_minilm(tmp_path)
