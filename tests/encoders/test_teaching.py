from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("transformers")
pytest.importorskip("torch")

from polysema import load
from polysema.cli.senses import teach_command
from polysema.corpus.build import build_corpus
from polysema.encoders import induction, teaching, telling
from polysema.encoders.huggingface import Encoder
from polysema.encoders.taught import taught
from polysema.encoders.teaching import Map, misfits, read_windows, teach, windows_of
from polysema.errors import InputError
from polysema.files.checkpoint import Checkpoint
from polysema.files.progress import silent
from polysema.lexicon.edits import Edit
from polysema.lexicon.parts import Inventory
from tests.encoders.test_huggingface import slow_word_vectors
from tests.encoders.tiny import make_corpus

WORDS = ["bank", "run"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return [make_corpus(folder / "one"), make_corpus(folder / "two", seed=1)]


@pytest.fixture(scope="module")
def encoder(folder):
    return Encoder.load(folder, layers="middle", batch_size=8, device="cpu")


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teaching, "FEWEST", 5)
        patch.setattr(telling, "STEPS", 20)
        patch.setitem(induction.BLOCK, "cpu", 8)
        yield


@pytest.fixture(scope="module")
def lexicon(texts, encoder):
    return taught(texts[0], encoder, dim=5, min_count=5, split=0.1, epochs=1)


@pytest.fixture(scope="module")
def again(lexicon, texts, encoder):
    return teach(lexicon, [*WORDS, "unknown", "hapax"], texts, encoder, occurrences=40, split=0.1)


def test_each_text_gives_as_many_occurrences(texts):
    found = windows_of(["bank", "hapax"], texts, 20, seed=1)
    assert np.bincount(found.owners).tolist() == [40, 2]
    assert {found.words[i] for i in found.tokens[found.centres[:40]]} == {"bank"}
    with pytest.raises(InputError, match="none of the 1 words"):
        windows_of(["nowhere"], texts, 20, seed=1)


def test_a_window_ends_with_the_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(teaching, "REACH", 2)
    corpus = build_corpus([["a", "b", "c", "bank", "d"], ["e", "f"], ["bank", "g", "h", "i"]], tmp_path / "corpus")
    found = windows_of(["bank"], [corpus], 10, seed=1)
    assert [
        [found.words[i] for i in found.tokens[a:b]]
        for a, b in zip(found.bounds[:-1], found.bounds[1:], strict=True)
    ] == [["b", "c", "bank", "d"], ["bank", "g", "h"]]  # fmt: skip


def test_what_is_read_is_what_the_encoder_says(texts, encoder, tmp_path):
    windows = windows_of(["bank"], texts[:1], 10, seed=1)
    found = read_windows(encoder, windows, Checkpoint(tmp_path / "state" / "windows.safetensors", {}), silent)
    every = []
    for number, (low, high) in enumerate(zip(windows.bounds[:-1], windows.bounds[1:], strict=True)):
        exact = slow_word_vectors(encoder, [windows.words[i] for i in windows.tokens[low:high]], encoder.layers)
        every.append(exact)
        np.testing.assert_allclose(found.centres[number], exact[windows.centres[number] - low], atol=0.01)
    vectors, counts = np.concatenate(every), windows.counts
    several = counts > 1
    sums = np.array([vectors[windows.tokens == i].sum(0) for i in range(len(counts))])
    np.testing.assert_allclose(found.sums[several], sums[several], atol=1e-3)
    spread = [np.cov(vectors[windows.tokens == i].T, bias=True) for i in np.flatnonzero(several)]
    np.testing.assert_allclose(found.within(counts), np.mean(spread, axis=0), atol=1e-3)


def test_reading_goes_on_after_a_stop(texts, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(teaching, "TOGETHER", 1)
    windows = windows_of(WORDS, texts, 10, seed=1)
    whole = read_windows(encoder, windows, Checkpoint(tmp_path / "a" / "windows.safetensors", {}), silent)

    def stop(at):
        if at.done >= at.total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_windows(encoder, windows, Checkpoint(tmp_path / "b" / "windows.safetensors", {}, 0.0), stop)
    seen = []
    saved = Checkpoint(tmp_path / "b" / "windows.safetensors", {}, 0.0)
    resumed = read_windows(encoder, windows, saved, lambda at: seen.append(at.done))
    assert seen[0] > 8
    for name in ("centres", "sums", "second"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


def test_the_map_between_two_spaces_is_found():
    rng = np.random.default_rng(1)
    way = rng.normal(size=(12, 4))
    means = rng.normal(size=(400, 12)) + 3
    targets = (means - 3) @ way
    found = Map.learnt(means, targets / np.linalg.norm(targets, axis=1, keepdims=True), np.full(400, 50))
    assert found.held_out > 0.98
    there = found(means)
    np.testing.assert_allclose(np.linalg.norm(there, axis=1), 1)
    noise = Map.learnt(means, np.linalg.qr(rng.normal(size=(400, 4)))[0] * 10, np.full(400, 50))
    assert noise.held_out < 0.5


def test_only_the_words_that_were_named_change(lexicon, again):
    assert again.metadata["taught_again"][-1]["words"] == WORDS  # the others are unknown or too rare
    index = again.vocabulary.index
    others = np.setdiff1d(np.arange(len(again)), [index(word) for word in WORDS])
    np.testing.assert_array_equal(again.factors[others], lexicon.factors[others])
    np.testing.assert_array_equal(again.inventory.least[others], lexicon.inventory.least[others])
    np.testing.assert_array_equal(again.contexts, lexicon.contexts)
    np.testing.assert_array_equal(again.information.values, lexicon.information.values)
    for word in WORDS:
        row = index(word)
        assert not np.array_equal(again.factors[row], lexicon.factors[row])
        np.testing.assert_allclose((again.factors[row] ** 2).sum(0), again.inventory.weights[row], atol=1e-6)
        assert again.inventory.weights[row].sum() == pytest.approx(1)
        assert -1 < again.inventory.least[row] < 1


def test_it_is_used_without_the_encoder(again, tmp_path):
    again.save(tmp_path / "saved")
    found = load(tmp_path / "saved").disambiguate("bank", "money in the bank")
    assert sum(sense.probability for sense in found.senses) == pytest.approx(1)


def test_names_of_senses_that_are_gone_are_forgotten(lexicon, texts, encoder):
    edited = lexicon.with_parts(edited={word: Edit(names={0: "mine"}) for word in ("bank", "river")})
    assert set(teach(edited, ["bank"], texts, encoder, occurrences=40).edited) == {"river"}


def test_words_that_fit_least_are_chosen(lexicon, texts):
    least = np.full(len(lexicon), -0.99, np.float32)
    least[[lexicon.vocabulary.index(word) for word in ("bank", "of")]] = 0.99  # a function word, too
    strict = lexicon.with_parts(inventory=Inventory(lexicon.inventory.senses, lexicon.inventory.weights, least))
    assert misfits(strict, texts, 1) == ["bank"]
    assert "bank" not in misfits(strict, texts, 3, among={"run", "river"})


def test_the_command(lexicon, folder, tmp_path, monkeypatch):
    lexicon.save(tmp_path / "mine")
    (tmp_path / "words.txt").write_text("bank\nhapax\n")
    text = tmp_path / "text.txt"
    text.write_text(
        "the family run the river bank of money\nthe bank of the river flowing lend loan walk shore hotel\n" * 40
    )
    arguments = [str(text), "--encoder", str(folder), "--words", str(tmp_path / "words.txt"), "--json"]
    arguments += ["-l", str(tmp_path / "mine"), "-o", str(tmp_path / "out"), "--device", "cpu"]
    result = CliRunner().invoke(teach_command, arguments)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["words"] == ["bank"]
    assert facts["asked"] == 2
    assert not (tmp_path / "out.teaching").exists()
    monkeypatch.setattr(teaching, "FEWEST", 1000)
    refused = CliRunner().invoke(teach_command, [*arguments, "--force"])
    assert isinstance(refused.exception, InputError)
    assert not (tmp_path / "out.teaching").exists()
    assert "bank" in load(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": ["unknown"]}, "knows none of the 1 words"),
        ({"lexicon": "bare"}, "senses and context vectors"),
        ({"few": True}, "give more text or more words"),
    ],
)
def test_what_cannot_be_is_one_line(lexicon, texts, encoder, change, message, monkeypatch):
    if "few" in change:
        monkeypatch.setattr(teaching, "FEWEST", 1000)
    model = lexicon.with_parts(contexts=None) if "lexicon" in change else lexicon
    with pytest.raises(InputError, match=message) as raised:
        teach(model, change.get("words", ["bank"]), texts, encoder, occurrences=5)
    assert "\n" not in str(raised.value)
