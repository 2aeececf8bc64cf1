"""One contract for all models: what each can do, what it refuses, the types and ranges of its options."""

import dataclasses

import numpy as np
import pytest

import polysema as ps
from polysema.cli import main
from polysema.errors import FormatError, InputError, PolysemaError
from polysema.options import kind_of
from polysema.training import models
from polysema.training.job import Job
from polysema.training.models import DEVICES, MODELS, train
from tests.refusals import refused

FEATURES = {
    "preset": (lambda model: bool(model.presets), {"preset": "paper"}, "has no presets"),
    "start": (
        lambda model: bool(model.inherits),
        {"start": ps.Lexicon(["a"], np.ones((1, 2, 1)))},
        "cannot go on from",
    ),
    "state": (lambda model: model.resumes, {"state": "run"}, "cannot go on after a stop"),
    "on_epoch": (lambda model: model.epochs, {"on_epoch": print}, "does not call on_epoch"),
    "device": (lambda model: "cuda" in model.devices, {"device": "cuda"}, "runs on cpu, not on cuda"),
    "gpu_memory": (lambda model: model.gpu_memory, {"device": "cuda", "gpu_memory": 1}, "GPU memory is for"),
}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("model", MODELS)
def test_what_a_model_cannot_do_is_refused(small_corpus, tmp_path, monkeypatch, model, feature):
    monkeypatch.chdir(tmp_path)
    able, asked, message = FEATURES[feature]
    if able(MODELS[model]):
        MODELS[model].refuse(Job(**asked))
        return
    with pytest.raises(InputError, match=message) as error:
        train(small_corpus, model, **asked)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_every_model_says_what_it_is():
    for name, model in MODELS.items():
        assert name == model.name
        assert set(model.devices) <= set(DEVICES)
        for field in dataclasses.fields(model.options):
            assert field.metadata["help"]
            assert kind_of(model.options, field.name) in (int, float, bool, str, None)
        for preset in model.presets:
            assert model.chosen({}, preset)
    assert not MODELS["fasttext"].resumes


@pytest.mark.parametrize("name", sorted({f.name for m in MODELS.values() for f in dataclasses.fields(m.options)}))
def test_wrong_types_and_ranges_are_one_line(name):
    for model in MODELS.values():
        field = next((field for field in dataclasses.fields(model.options) if field.name == name), None)
        kind = kind_of(model.options, name) if field is not None else None
        if kind is None:
            continue
        facts = field.metadata
        wrong = {
            int: [2.5, True, "3"], float: [True, "x", float("nan"), float("inf")], bool: [1, "no"], str: [3, True],
        }[kind]  # fmt: skip
        wrong += [facts["least"] - 1] if facts["least"] is not None else []
        wrong += [facts["most"] + 1] if facts["most"] is not None else []
        wrong += [facts["above"]] if facts["above"] is not None else []
        wrong += ["nothing of the kind"] if facts["choices"] else []
        for value in wrong:
            with pytest.raises(InputError) as error:
                model.chosen({name: value})
            assert name.replace("_", " ") in str(error.value)
            assert str(value) in str(error.value)
            assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("epochs = 2.5", "epochs must be a whole number, not 2.5"),
        ("dim = true", "dim must be a whole number, not True"), ('dim = "5"', "dim must be a whole number, not '5'"),
        ("select = 3", "select must be a text, not 3"), ("threads = 2.5", "threads must be a whole number"),
        ("preset = [1]", "preset must be a text"), ("device = 1", "device must be a text"),
        ("model = [1]", "unknown model"), ("rate = inf", "rate must be a finite number"),
        ("train = 3", "train must be a table"), ("colour = 3", "unknown option"),
    ],
)  # fmt: skip
def test_types_in_a_file_of_options_are_checked(small_corpus, tmp_path, capsys, line, message):
    config = tmp_path / "options.toml"
    config.write_text(line + "\n")
    assert main(["train", str(small_corpus.path), "-o", str(tmp_path / "out"), "--config", str(config)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [item.name for item in tmp_path.iterdir()] == ["options.toml"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dim", "many"], "not a valid integer"),
        (["--config", "absent.toml"], "not a readable TOML file"),
        (["--start", "absent"], "no such file"),
        (["--model", "glove", "--senses", "3"], "option of glove"),
        (["--set", "held_out=0.999999"], "held out must be at most 0.5, not 0.999999"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--seed", str(2**63)], f"at most {2**63 - 1}"),
        (["--threads", "1000"], "threads must be at most 64, not 1000"),
        (["--subsample", "1e-12", "--min-count", "1"], "raise subsample, or 0 to keep all"),
    ],
)
def test_options_that_would_train_nothing_or_hang(small_corpus, tmp_path, capsys, options, message):
    assert main(["train", str(small_corpus.path), "-o", str(tmp_path / "out"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", ["ms-word2dm", "glove", "fasttext"])
def test_the_largest_seed(small_corpus, model):
    if model == "fasttext":
        pytest.importorskip("gensim", reason="FastText is trained by gensim")
    most = next(field for field in dataclasses.fields(MODELS[model].options) if field.name == "seed").metadata["most"]
    extra = {"buckets": 100} if model == "fasttext" else {}
    assert len(train(small_corpus, model, seed=most, min_count=1, epochs=1, dim=3, **extra))


def test_going_on_takes_the_sizes_and_refuses_others(planted_corpus):
    first = train(planted_corpus, min_count=1, epochs=1, dim=6, senses=2)
    plain = ps.Lexicon(["a", "b"], np.eye(2)[:, :, None])
    for start, wrong, message in (
        (first, {"dim": 9}, "has dim 6 and 2 senses"),
        (first, {"senses": 3}, "has dim 6 and 2 senses"),
        (first, {"model": "word2vec"}, "of model 'ms-word2dm'"),
        (plain, {}, "of model None"),
    ):
        with pytest.raises(InputError, match=message) as error:
            train(planted_corpus, start=start, min_count=1, epochs=1, **wrong)
        assert "\n" not in str(error.value)


def stop(_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("model", ["ms-word2dm", "glove", "context2dm"])
def test_a_run_is_told_from_others_by_its_content(planted, tmp_path, model):
    """The same counts, lengths and words, another order of lines: another text."""
    from polysema.corpus.build import build_corpus

    if model == "context2dm":
        pytest.importorskip("sklearn")
    texts = [build_corpus(planted.sentences[::way], tmp_path / f"corpus{way}") for way in (1, -1)]
    options = {"min_count": 1, "dim": 4, "threads": 1} | ({} if model == "context2dm" else {"epochs": 2})
    with pytest.raises(KeyboardInterrupt):
        train(texts[0], model, state=tmp_path / "run", progress=stop, **options)
    if model == "context2dm":
        train(texts[0], model, state=tmp_path / "run", **options)
    with pytest.raises(InputError, match=r"holds another run \(another text\)"):
        train(texts[1], model, state=tmp_path / "run", **options)
    with pytest.raises(InputError, match=r"holds another run .*dim 4 and not 5"):
        train(texts[0], model, state=tmp_path / "run", **{**options, "dim": 5})
    with pytest.raises(InputError, match="holds another run"):
        train(texts[0], model, state=tmp_path / "run", **options, keep=["xaaa", "absent"], max_size=10)


def test_another_start_is_another_run(planted_corpus, tmp_path):
    options = {"min_count": 1, "epochs": 1}
    starts = [train(planted_corpus, dim=4, senses=2, seed=seed, **options) for seed in (1, 2)]
    starts[1].metadata["options"]["seed"] = 1
    with pytest.raises(KeyboardInterrupt):
        train(planted_corpus, start=starts[0], state=tmp_path / "run", progress=stop, **options)
    with pytest.raises(InputError, match=r"another run \(another start\)"):
        train(planted_corpus, start=starts[1], state=tmp_path / "run", **options)
    assert train(planted_corpus, start=starts[0], state=tmp_path / "run", **options)


def test_text_without_a_name_is_kept_and_compared(planted, tmp_path):
    options = {"min_count": 1, "epochs": 1, "dim": 4, "state": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        train(planted.sentences, progress=lambda at: at.stage == "training" and stop(at), **options)
    refused(InputError, "another text", train, planted.sentences[::-1], **options)
    whole = train(planted.sentences, **{**options, "state": None})
    assert np.array_equal(train(planted.sentences, **options).factors, whole.factors)
    assert np.array_equal(train([], **options).factors, whole.factors)  # as standard input, when it is read again


def test_what_can_be_refused_is_refused_before_the_text_is_read(planted, small_corpus, tmp_path, monkeypatch):
    start = train(small_corpus, dim=4, senses=2, min_count=1, epochs=1)
    monkeypatch.setattr(models, "build_corpus", lambda *_, **__: pytest.fail("the text was read"))
    for model, options, message in (
        ("ms-word2dm", {"start": start, "dim": 5}, "has dim 4"),
        ("bert2dm", {}, "name one"),
        ("context2dm", {"vectors": tmp_path / "missing"}, "missing"),
    ):
        refused(PolysemaError, message, train, planted.sentences, model, state=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_refused_run_keeps_text_that_took_long_to_read(planted, tmp_path, monkeypatch):
    text, other = tmp_path / "text.txt", tmp_path / "other.txt"
    text.write_text("".join(" ".join(words) + ".\n" for words in planted.sentences))
    other.write_text("".join(" ".join(words) + ".\n" for words in planted.sentences[:50]))
    options = {"epochs": 1, "dim": 4, "state": tmp_path / "run"}
    with pytest.raises(PolysemaError):
        train(text, min_count=10**6, **options)
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(models, "_WORTH", 0)
    notes = []
    with pytest.raises(PolysemaError):
        train(text, min_count=10**6, progress=lambda at: notes.append(at.note), **options)
    assert any("for the next try" in (note or "") for note in notes)
    kept = (tmp_path / "run" / "corpus" / "tokens.npy").stat().st_mtime_ns
    found = train(text, min_count=1, **options)
    assert (tmp_path / "run" / "corpus" / "tokens.npy").stat().st_mtime_ns == kept
    refused(InputError, "another text", train, other, min_count=1, **options)
    (tmp_path / "run" / "state.safetensors").unlink()  # nothing was learnt from it: another text takes its place
    assert len(train(other, min_count=1, **options)) <= len(found)


def test_a_damaged_state_is_one_line(planted_corpus, tmp_path):
    options = {"min_count": 1, "epochs": 1, "dim": 4, "state": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        train(planted_corpus, progress=stop, **options)
    path = tmp_path / "run" / "state.safetensors"
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    damaged = [whole[:100], b"", whole[: len(whole) // 2], b"\xff" * 64]
    for place in (*rng.integers(0, len(whole), 20), 8, len(whole) - 1):
        damaged.append(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises((FormatError, InputError), match=r"damaged|another run") as error:
            train(planted_corpus, **options)
        assert "\n" not in str(error.value)


def test_a_mistyped_name_leaves_nothing(tmp_path, capsys):
    assert main(["train", str(tmp_path / "typo.txt"), "-o", str(tmp_path / "out")]) == 2
    assert "typo.txt" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
