import numpy as np
import pytest

from polysema import VectorLexicon
from polysema.errors import FormatError, InputError, UnknownChoiceError

torch = pytest.importorskip("torch")

from polysema.encoders.infersent import InferSent  # noqa: E402
from tests.refusals import refused  # noqa: E402

WORDS = ["<s>", "</s>", "The", "dog", "runs", "moves", "home", "the", "."]
WIDTH, HIDDEN = 5, 4


@pytest.fixture(scope="module")
def weights():
    rng = np.random.default_rng(0)
    found = {}
    for side in ("", "_reverse"):
        found[f"enc_lstm.weight_ih_l0{side}"] = rng.normal(size=(4 * HIDDEN, WIDTH)).astype(np.float32)
        found[f"enc_lstm.weight_hh_l0{side}"] = rng.normal(size=(4 * HIDDEN, HIDDEN)).astype(np.float32)
        for bias in ("ih", "hh"):
            found[f"enc_lstm.bias_{bias}_l0{side}"] = rng.normal(size=4 * HIDDEN).astype(np.float32)
    return found


@pytest.fixture(scope="module")
def vectors():
    return VectorLexicon(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), WIDTH)).astype(np.float32))


def by_hand(weights, x, side):
    """The LSTM's equations: i, f, g, o from one product each."""

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    w, u = weights[f"enc_lstm.weight_ih_l0{side}"], weights[f"enc_lstm.weight_hh_l0{side}"]
    b = weights[f"enc_lstm.bias_ih_l0{side}"] + weights[f"enc_lstm.bias_hh_l0{side}"]
    h = c = np.zeros(HIDDEN)
    states = []
    for row in x:
        i, f, g, o = np.split(w @ row + u @ h + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def test_it_is_the_lstms_equations(weights, vectors):
    texts = ["The dog runs.", "dog", "The dog moves the unknownword home."]
    found = InferSent(weights, vectors, batch_size=2).sentences(texts)
    tokens = [["<s>", "The", "dog", "runs", ".", "</s>"], ["<s>", "dog", "</s>"]]
    tokens.append(["<s>", "The", "dog", "moves", "the", "home", ".", "</s>"])
    for row, words in zip(found, tokens, strict=True):
        x = np.array([vectors.vectors[WORDS.index(word)] for word in words])
        both = np.hstack([by_hand(weights, x, ""), by_hand(weights, x[::-1], "_reverse")[::-1]])
        assert row == pytest.approx(both.max(axis=0), abs=1e-5)


@pytest.mark.parametrize("name", ["infersent1.pkl", "infersent.safetensors"])
def test_weights_from_files(weights, vectors, tmp_path, name):
    path = tmp_path / name
    if name.endswith("pkl"):
        torch.save({key: torch.from_numpy(value) for key, value in weights.items()}, path)
    else:
        from safetensors.numpy import save_file

        save_file(weights, path)
    vectors.save(tmp_path / "vectors.vec")
    found = InferSent.load(path, tmp_path / "vectors.vec")
    assert found.version == 1
    expected = InferSent(weights, vectors).sentences(["The dog runs."])
    assert found.sentences(["The dog runs."]) == pytest.approx(expected, abs=1e-4)


def test_files_that_could_run_code_are_not_opened(tmp_path, vectors):
    import pickle

    class Evil:
        def __reduce__(self):
            return (print, ("code was run",))

    (tmp_path / "infersent1.pkl").write_bytes(pickle.dumps(Evil()))
    refused(FormatError, "nothing else is opened", InferSent.load, tmp_path / "infersent1.pkl", vectors)
    torch.save(Evil(), tmp_path / "infersent2.pkl")
    refused(FormatError, "nothing else is opened", InferSent.load, tmp_path / "infersent2.pkl", vectors)


def test_what_does_not_fit(weights, vectors, tmp_path):
    refused(InputError, "vectors of 5 numbers", InferSent, weights, VectorLexicon(["a"], np.ones((1, 3))))
    with pytest.raises(FormatError, match=r"enc_lstm.bias_ih_l0 is missing"):
        InferSent({k: v for k, v in weights.items() if "bias_ih" not in k}, vectors)
    refused(UnknownChoiceError, "1 or 2", InferSent, weights, vectors, version=3)
    refused(InputError, "has a vector", InferSent(weights, vectors, version=2).sentences, ["nothing"])
    refused(FormatError, "no such file", InferSent.load, tmp_path / "none.pkl", vectors)
