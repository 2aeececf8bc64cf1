import dataclasses
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import polysema as ps
from polysema.errors import CorpusError, InputError
from polysema.kernels.rounds import LONGEST
from polysema.training import cpu
from polysema.training.cpu import CpuBackend
from polysema.training.models import MODELS, train
from polysema.training.run import DivergenceError, Run, new_state
from polysema.training.text import TrainingText, trained_vocabulary
from tests.refusals import refused
from tests.training import slow

FORMS = [
    {"model": "ms-word2dm", "form": "window", "select": "cosine"},
    {"model": "ms-word2dm", "form": "window", "select": "dot"},
    {"model": "ms-word2dm", "form": "pair"},
    {"model": "word2vec"},
    {"model": "word2dm"},
]


def settled(corpus, model="ms-word2dm", **options):
    return MODELS[model].chosen({"min_count": 1, "dim": 5, "epochs": 2, **options}).settled(corpus)


def some_senses(form):
    return {} if form["model"] == "word2vec" else {"senses": 3}


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize(("form", "dim"), [*zip(FORMS, (5, 17, 31, 12, 7), strict=True)])
def test_the_kernels_follow_the_reference(small_corpus, form, dim, optimiser, monkeypatch):
    """Rows of any length, in rounds of several shares."""
    monkeypatch.setattr(cpu, "_TARGETS", 8)
    options = settled(
        small_corpus, **form, **some_senses(form), optimiser=optimiser, dim=dim, init="unit", round=40, batch=3,
        subsample=1e-2, held_out=0.1,
    )  # fmt: skip
    text = TrainingText(small_corpus, trained_vocabulary(small_corpus, options), options)
    state = new_state(options, len(text.vocabulary))
    expected = [array[..., :dim].astype(np.float64) for array in (state.target, state.context)]
    slow.train(text, expected, options.epochs)
    engine = CpuBackend(text, state, 2)
    assert len(engine._regions) > 3
    Run(text, state, engine).run()
    for found, wanted, start in zip((state.target, state.context), expected, _start(options, text, dim), strict=True):
        assert not found[..., dim:].any()
        assert np.abs(wanted - start).max() > 1e-3
        np.testing.assert_allclose(found[..., :dim], wanted, atol=2e-5)


def _start(options, text, dim):
    state = new_state(options, len(text.vocabulary))
    return state.target[..., :dim], state.context[..., :dim]


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
def test_a_seed_gives_the_same_bits_whatever_the_number_of_threads(small_corpus, form, optimiser, monkeypatch):
    monkeypatch.setattr(cpu, "_TARGETS", 4)
    options = {**form, "dim": 5, "min_count": 1, "epochs": 2, "subsample": 1e-2, "optimiser": optimiser}
    first, *others = [train(small_corpus, threads=threads, **options) for threads in (1, 2, 3)]
    for other in others:
        assert np.array_equal(first.array, other.array)
        assert np.array_equal(first.parts.contexts, other.parts.contexts)
    assert not np.array_equal(first.array, train(small_corpus, seed=2, **options).array)


def test_a_killed_run_goes_on_to_the_same_bits(planted_corpus, tmp_path):
    options = {"min_count": 1, "epochs": 60, "subsample": 0, "round": 500}
    code = (
        "import sys; from polysema.training import run; from polysema.training.models import train; run._BLOCK = 0.01\n"
        f"train(sys.argv[1], state=sys.argv[2], checkpoint_minutes=0, **{options!r})"
    )
    state = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", code, str(planted_corpus.path), str(state)])
    deadline = time.time() + 60
    while not (state / "state.safetensors").is_file() and time.time() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() != 0, "the run was over before it could be killed"
    resumed = train(planted_corpus, state=state, **options)
    assert np.array_equal(resumed.array, train(planted_corpus, **options).array)


def test_a_diverging_run_stops_with_advice(planted_corpus):
    with pytest.raises(DivergenceError, match=r"lower the rate \(now 9"):
        train(planted_corpus, min_count=1, epochs=2, rate=9.0, subsample=0, round=4_000)
    with pytest.raises(DivergenceError, match=r"lower the rate \(now 9"):
        train(planted_corpus, "word2dm", optimiser="sgd", init="unit", min_count=1, epochs=1, rate=9.0, subsample=0)


def test_training_goes_on_from_a_lexicon_with_new_words(planted, planted_corpus, tmp_path):
    first = train(planted_corpus, min_count=1, epochs=1, dim=6, senses=2)
    first.save(tmp_path / "first")
    card = (tmp_path / "first" / "README.md").read_text()
    assert '"seed": 1' in card
    start = ps.load(tmp_path / "first")
    assert start.metadata["model"] == "ms-word2dm"
    new = [["newcomer", *sentence[:4]] for sentence in planted.sentences[:500]]
    second = train(new, start=start, min_count=1, epochs=1)
    assert "newcomer" in second
    assert set(first) < set(second)
    assert (second.n, second.m) == (6, 2)
    assert second.vocabulary.count("newcomer") == 500
    assert second.metadata["earlier"][0]["corpus"]["sentences"] == len(planted_corpus)
    unseen = train([["some", "thing", "else"]] * 20, start=start, min_count=1, epochs=0)
    for word in planted.plain[:10]:
        np.testing.assert_allclose(unseen[word].dense(), first[word].dense(), atol=1e-6)


def test_very_many_short_epochs(small_corpus):
    lexicon = train(small_corpus, min_count=1, epochs=1100, dim=2, senses=1, held_out=0.0, rate=1e-4)
    assert lexicon.metadata["curve"][-1]["epoch"] == 1100


@pytest.mark.parametrize("model", ["ms-word2dm", "word2vec"])
def test_a_list_that_repeats_itself_does_not_run_away(model):
    """A sentence that names two words some hundred times: all their steps go the same way, in one round."""
    rng = np.random.default_rng(1)
    names = [f"w{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    plain = [[names[i] for i in 10 * rng.integers(10) + rng.integers(0, 10, 12)] for _ in range(3000)]
    listed = [word for i in rng.integers(0, 100, 400) for word in ("mazraeh", "ye", names[i])]
    lexicon = train([*plain, listed], model, min_count=1, subsample=0, epochs=4, held_out=0.0)
    contexts = np.linalg.norm(lexicon.parts.contexts, axis=1)
    targets = lexicon.parts.norms if model == "ms-word2dm" else np.linalg.norm(lexicon.array, axis=1)
    assert contexts.max() <= 1.0001 * LONGEST
    assert targets.max() <= 1.0001 * LONGEST * np.sqrt(5 if model == "ms-word2dm" else 1)
    same = np.mean([lexicon.similarity(a, b) for a in names[:10] for b in names[:10] if a != b])
    other = np.mean([lexicon.similarity(a, b) for a in names[:10] for b in names[10:20]])
    assert same > other + 0.4


class OfSize:
    """A corpus of so many tokens and sentences."""

    def __init__(self, tokens, sentences):
        self.tokens, self.sentences = range(tokens), sentences

    def __len__(self):
        return self.sentences


def test_a_start_is_drawn_in_pieces_as_in_one():
    options = MODELS["word2vec"].chosen({"dim": 3}).settled(OfSize(10**6, 10**5))
    state = new_state(options, 10_000)
    drawn = np.random.default_rng([options.seed, 0]).uniform(-0.5 / 3, 0.5 / 3, (2, 10_000, 1, 3))
    np.testing.assert_array_equal(state.target[..., :3], drawn[0].astype(np.float32))
    np.testing.assert_array_equal(state.context[..., :3], drawn[1].astype(np.float32))


def test_callbacks(planted_corpus):
    seen, epochs = [], []
    train(
        planted_corpus, min_count=1, epochs=3, progress=seen.append, on_epoch=lambda run: epochs.append(run.state.epoch)
    )
    assert epochs == [1, 2, 3]
    assert seen[-1].done == seen[-1].total == 3 * len(planted_corpus.tokens)
    assert seen[-1].held_out > 0


def test_the_held_out_loss_is_that_of_the_reference(small_corpus):
    from tests.training import reference

    for form in FORMS:
        options = settled(small_corpus, **form, **some_senses(form), init="unit", held_out=0.3, subsample=0)
        text = TrainingText(small_corpus, trained_vocabulary(small_corpus, options), options)
        state = new_state(options, len(text.vocabulary))
        run = Run(text, state, CpuBackend(text, state, 1))
        held = run.held_out
        ends = [*held.starts[1:], len(held.contexts)]
        target, context = (array[..., :5].astype(np.float64) for array in (state.target, state.context))
        total = 0.0
        for t, start, end, noise in zip(held.targets, held.starts, ends, held.noise, strict=True):
            words = held.contexts[start:end]
            if options.model == "word2dm":
                b = context.transpose(0, 2, 1)
                total += reference.word2dm(target[t].T, b[words], b[noise][None]).objective
            else:
                select = "cosine" if options.cosine else "dot"
                total += reference.ms_word2dm(target[t], context[words, 0], context[noise, 0], select).objective
        assert len(held) > 20
        assert run.loss() == pytest.approx(-total / len(held), abs=1e-6)


def test_held_out_sentences_are_never_trained_on(small_corpus):
    options = settled(small_corpus, held_out=0.3, subsample=0)
    text = TrainingText(small_corpus, trained_vocabulary(small_corpus, options), options)
    held = text.held_out()
    assert 0 < len(held) < len(small_corpus)
    trained = list(slow.samples(text, options, 0, len(small_corpus), np.uint64(1)))
    assert len(trained) == len(small_corpus.tokens) - sum(len(small_corpus.sentence(s)) for s in held)


def test_keep_words_are_trained_whatever_their_count(planted_corpus):
    words = planted_corpus.vocabulary.words
    lexicon = train(planted_corpus, max_size=10, keep=[words[-1], "absent"], epochs=1, min_count=1)
    assert list(lexicon) == [*words[:10], words[-1]]


def test_bad_options_are_one_line(planted_corpus):
    for options, message in [
        ({"model": "word2dmm"}, "unknown model"),
        ({"colour": 3}, "unknown option of ms-word2dm 'colour'"),
        ({"preset": "papper"}, "choose paper"),
        ({"model": "word2vec", "senses": 3}, "unknown option of word2vec 'senses'"),
    ]:
        refused(InputError, message, train, planted_corpus, **options)
    refused(CorpusError, "lower the min count", train, [["just", "one", "sentence"]])
    few = {"min_count": 1, "held_out": 0.5, "subsample": 0}
    refused(CorpusError, "all 1 sentences are held out: lower held out", train, [["a", "b", "c", "d"] * 5], **few)


def test_the_paper_preset():
    options = MODELS["word2dm"].chosen({"seed": 7}, "paper").settled(OfSize(10**9, 10**8))
    assert dataclasses.asdict(options) | {"min_count": 50, "optimiser": "adam", "init": "paper"} == dataclasses.asdict(
        options
    )
    assert (options.dim, options.senses, options.epochs, options.subsample, options.seed) == (17, 17, 4, 1e-5, 7)


@pytest.mark.parametrize("model", ["glove", "fasttext"])
def test_vector_baselines_learn_topics(planted, planted_corpus, model):
    if model == "fasttext":
        pytest.importorskip("gensim", reason="FastText is trained by gensim")
    extra = {"buckets": 1000} if model == "fasttext" else {"dim": 17}
    lexicon = train(planted_corpus, model, min_count=1, subsample=0, epochs=5, **extra)
    assert lexicon.kind == "vectors"
    topic = {}
    for sentence in planted.sentences:
        for word in sentence:
            topic.setdefault(word, sentence)
    a, b = planted.plain[0], planted.plain[-1]
    same = lexicon.similarities([a], [w for w in topic[a] if w in planted.plain]).mean()
    other = lexicon.similarities([a], [w for w in topic[b] if w in planted.plain]).mean()
    assert same > other + 0.3
