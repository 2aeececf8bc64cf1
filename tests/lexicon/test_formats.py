import gzip
import json
import pickle
import shutil
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysema
from polysema import Lexicon, VectorLexicon, Vocabulary, from_gensim
from polysema.errors import FormatError, InputError, MatrixError, PolysemaError, UnknownChoiceError
from polysema.lexicon.formats import FOREIGN, FORMATS, write
from polysema.lexicon.lexicon import load
from tests.processes import python
from tests.refusals import refused

FILES = {
    "folder": "model", "npz": "model.npz", "text": "model.txt", "word2vec": "model.vec",
    "word2vec-binary": "model.bin",
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_matrices_round_trip(name, lexicon: Lexicon, tmp_path):
    path = tmp_path / FILES[name]
    lexicon.save(path)
    again = polysema.load(path)
    assert again.kind == "matrices"
    assert list(again) == list(lexicon)
    for word in lexicon:
        assert np.allclose(again[word].dense(), lexicon[word].dense(), atol=1e-6)
        assert again.entropy(word) == pytest.approx(lexicon.entropy(word), abs=1e-4)
    if name in ("folder", "npz"):
        assert (again.vocabulary.counts == lexicon.vocabulary.counts).all()
        assert np.allclose(np.linalg.norm(again.factors, axis=(1, 2)), 1, atol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_vectors_round_trip_with_their_lengths(name, vectors: Lexicon, tmp_path):
    path = tmp_path / FILES[name]
    vectors.save(path)
    again = load(path)
    assert again.kind == "vectors"
    assert list(again) == list(vectors)
    assert np.array_equal(np.asarray(again.vectors), vectors.vectors)


def test_gensim_tools_work_on_flattened_matrices(lexicon: Lexicon, tmp_path):
    KeyedVectors = pytest.importorskip("gensim.models", reason="gensim is not installed").KeyedVectors
    vectors = lexicon.to_gensim()
    assert vectors.vector_size == 36
    assert vectors.similarity("bank", "river") == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-6)
    assert [w for w, _ in vectors.most_similar("bank", topn=5)] == [w for w, _ in lexicon.neighbours("bank", 5)]
    assert vectors.get_vecattr("bank", "count") == 120
    again = from_gensim(vectors)
    assert again.kind == "matrices"
    assert again.vocabulary.count("bank") == 120
    assert np.allclose(again["bob"].dense(), lexicon["bob"].dense(), atol=1e-6)
    for binary in (True, False):
        path = str(tmp_path / f"kv-{binary}")
        vectors.save_word2vec_format(path, binary=binary)
        assert np.allclose(load(path)["bob"].dense(), lexicon["bob"].dense(), atol=1e-5)
    lexicon.save(tmp_path / "ours.bin")
    theirs = KeyedVectors.load_word2vec_format(str(tmp_path / "ours.bin"), binary=True)
    assert np.allclose(theirs["λόγος"], lexicon["λόγος"].dense().ravel(), atol=1e-6)


def test_the_papers_text_format(tmp_path):
    path = tmp_path / "dms.txt"
    path.write_text("bank 0.5 0.25 0.25 0.5\nriver 1.0 0.0 0.0 0.0\n")
    model = load(path)
    assert model.kind == "matrices"
    assert np.allclose(model["bank"].dense(), [[0.5, 0.25], [0.25, 0.5]])
    assert model.parts.columns == "eigen"


def test_glove_text_and_its_odd_words(tmp_path):
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(b"the 1 2 3\n. . . 4 5 6\n2003 7 8 9\n"))
    model = load(path)
    assert model.kind == "vectors"
    assert list(model) == ["the", ". . .", "2003"]
    assert model[". . ."].dense().tolist() == [4, 5, 6]
    assert model.vocabulary.counts.tolist() == [0, 0, 0]  # not known


def test_square_vectors_are_not_mistaken_for_matrices(tmp_path):
    rng = np.random.default_rng(0)
    model = VectorLexicon(["a", "b"], rng.normal(size=(2, 100)).astype(np.float32))
    model.save(tmp_path / "v.txt")
    assert load(tmp_path / "v.txt").kind == "vectors"
    refused(MatrixError, "v.txt: 'a': its density matrix is not symmetric", load, tmp_path / "v.txt", "matrices")
    (tmp_path / "v.txt").write_text("a " + " ".join(["1"] * 300) + "\n")
    message = "300 is not a square .*17² = 289 and 18² = 324"
    refused(FormatError, message, load, tmp_path / "v.txt", "matrices")


def test_the_folder_is_readable_and_complete(lexicon: Lexicon, tmp_path):
    lexicon.save(tmp_path / "model")
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert config["format"] == "polysema-lexicon"
    assert config["metadata"] == {"model": "random", "options": {"seed": 7}}
    card = (tmp_path / "model/README.md").read_text()
    assert "12 words, density matrices (n = 6, m = 3)" in card
    assert '"seed": 7' in card
    assert load(tmp_path / "model").metadata == lexicon.metadata
    from safetensors.numpy import load_file

    assert load_file(tmp_path / "model/lexicon.safetensors")["factors"].shape == (12, 6, 3)
    Lexicon(Vocabulary([]), np.empty((0, 3, 2), np.float32)).save(tmp_path / "nothing")
    assert len(load(tmp_path / "nothing")) == 0


def test_half_precision_on_request(lexicon: Lexicon, tmp_path):
    lexicon.save(tmp_path / "half", dtype="float16")
    again = load(tmp_path / "half")
    assert again.factors.dtype == np.float16
    assert again.similarity("bank", "river") == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-3)
    refused(UnknownChoiceError, "float32 or float16", lexicon.save, tmp_path / "other", dtype="int8")


def test_the_model_is_mapped_not_read(tmp_path):
    Lexicon([f"w{i}" for i in range(1000)], np.ones((1000, 17, 5), np.float32)).save(tmp_path / "m")
    factors = load(tmp_path / "m").factors
    assert not factors.flags.owndata
    assert not factors.flags.writeable


def test_nothing_is_overwritten_unless_allowed(lexicon: Lexicon, tmp_path):
    for name in FILES.values():
        path = tmp_path / name
        lexicon.save(path)
        refused(InputError, "exists already", lexicon.save, path)
        lexicon.save(path, overwrite=True)
        assert len(load(path)) == 12
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_failed_write_leaves_nothing_behind(tmp_path, lexicon: Lexicon):
    lexicon.save(tmp_path / "kept")
    bad = Lexicon(["fine", "has space"], np.ones((2, 2, 2)))
    for name in ("model.txt", "model.vec", "model.bin"):
        refused(InputError, "'has space' holds white space", bad.save, tmp_path / name)
    refused(InputError, "line break", Lexicon(["a\nb"], np.ones((1, 2, 2))).save, tmp_path / "model")
    with pytest.raises(MatrixError, match="'b': .* zero trace"):
        Lexicon(["a", "b"], np.stack([np.eye(2), np.zeros((2, 2))])).save(tmp_path / "kept", overwrite=True)
    refused(InputError, "is not a folder", lexicon.save, tmp_path / "no" / "such")
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert len(load(tmp_path / "kept")) == 12


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_bad_npz(tmp_path):
    cases = {
        "wrong shape": ({"words": ["a"], "factors": np.ones((2, 2, 2))}, "1 words and an array of shape"),
        "not three axes": ({"words": ["a"], "factors": np.ones((1, 2))}, "'factors' of shape"),
        "not square": ({"words": ["a"], "matrices": np.ones((1, 2, 3))}, "n×n, not of shape"),
        "nan": ({"words": ["a"], "factors": np.full((1, 2, 2), np.nan)}, "'a': its density matrix is not finite"),
        "zero": ({"words": ["a"], "factors": np.zeros((1, 2, 2))}, "'a': its density matrix has zero trace"),
        "negative": ({"words": ["a"], "matrices": np.diag([1.0, -1.0])[None]}, "'a': .* negative eigenvalue"),
        "twice": ({"words": ["a", "a"], "factors": np.ones((2, 2, 2))}, "'a' stands more than once"),
        "no words": ({"factors": np.ones((1, 2, 2))}, "holds factors: an npz lexicon has 'words'"),
        "no numbers": ({"words": ["a"]}, "one of 'factors', 'matrices' or 'vectors'"),
        "words are numbers": ({"words": [1], "factors": np.ones((1, 2, 2))}, "'words' must be a list of strings"),
        "complex": ({"words": ["a"], "factors": np.ones((1, 2, 2)) * 1j}, "must hold real numbers"),
        "counts": ({"words": ["a"], "factors": np.ones((1, 2, 2)), "counts": [1, 2]}, "give one count a word"),
    }
    for name, (arrays, message) in cases.items():
        refused(FormatError, message, load, npz(tmp_path / f"{name}.npz", **arrays))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty", b"", "the file is empty"),
        ("model.pkl", pickle.dumps(["a"]), "a pickle, which polysema never reads"),
        ("header.vec", b"3 2\na 1 2\nb 3 4\n", "truncated: 3 words announced, 2 found"),
        ("short.txt", b"a 1 2 3\nb 1 2\n", "line 2 has 2 numbers, not 3"),
        ("letters.txt", b"a 1 2 3\nb 1 x 3\n", "near line 2: not a number among '1 x 3'"),
        ("word.txt", b"hello\n", "line 1 is not a word and its numbers"),
        ("nan.txt", b"a 1 nan 3\n", "'a': its vector is not finite"),
        ("twice.txt", b"a 1 2 3\na 1 2 3\n", "'a' stands more than once"),
        ("latin.txt", b"caf\xe9 1 2 3\n", "not UTF-8"),
        ("binary", b"\x00\x01\x02\x03", "a binary file that is no lexicon"),
        ("array.npy", b"\x93NUMPY\x01\x00", "a bare NumPy array has no words"),
        ("cut.bin", b"2 3\na " + struct.pack("<3f", 1, 2, 3) + b"\nb " + struct.pack("<2f", 1, 2), "truncated"),
        ("cut.npz", b"PK\x03\x04rubbish", "not a readable npz"),
        ("cut.txt.gz", gzip.compress(b"a 1 2 3\n" * 100, mtime=0)[:-12], "truncated or damaged gzip"),
    ],
)
def test_bad_files_get_one_clear_line(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["model_lr0.025", "v1.2", "wiki.corpus.17x5", "model.final", "dot.", ".hidden"])
def test_a_name_with_a_dot_is_a_folder(name, tmp_path, lexicon: Lexicon):
    lexicon.save(tmp_path / name)
    assert (tmp_path / name / "config.json").is_file()
    assert list(load(tmp_path / name)) == list(lexicon)


@pytest.mark.parametrize("suffix", sorted(FOREIGN))
def test_names_of_other_kinds_of_files_are_refused(suffix, tmp_path, lexicon: Lexicon):
    with pytest.raises(
        InputError, match=f"no format ends in '{suffix}': use .npz, .txt, .vec, .w2v, .bin, or no suffix"
    ):
        lexicon.save(tmp_path / f"model{suffix.upper()}")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import numpy as np; from polysema import Lexicon; from polysema.errors import OutputError\n"
        "model = Lexicon([f'w{i}' for i in range(3000)], np.random.default_rng(1).normal(size=(3000, 6, 3)))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        f"for name in {[*FILES.values()]}:\n"
        "    try: model.save(name)\n"
        "    except OutputError as error: print(error)\n"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name, line in zip(FILES.values(), done.stdout.splitlines(), strict=True):
        assert f"{name}: cannot be written: " in line
    assert list(tmp_path.iterdir()) == []


def test_missing_and_unwritable(tmp_path, lexicon: Lexicon):
    refused(FormatError, "no such file or folder", load, tmp_path / "nowhere")
    refused(FormatError, "a folder without config.json", load, tmp_path)
    refused(UnknownChoiceError, "unknown format 'onnx'", write, lexicon, tmp_path / "x", format="onnx")
    refused(UnknownChoiceError, "unknown kind 'tensors'", load, tmp_path, "tensors")


def damaged(folder, tmp_path, change):
    copy = tmp_path / "copy"
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(folder, copy)
    change(copy)
    return copy


def test_damaged_folders(lexicon: Lexicon, tmp_path):
    whole = tmp_path / "whole"
    lexicon.save(whole)
    tensors = (whole / "lexicon.safetensors").read_bytes()
    config = json.loads((whole / "config.json").read_text())
    cases = [
        (lambda p: (p / "config.json").unlink(), "without config.json"),
        (lambda p: (p / "config.json").write_text("{"), "not JSON"),
        (lambda p: (p / "config.json").write_text("[]"), "the format is None"),
        (lambda p: (p / "config.json").write_text('{"format": "other"}'), "the format is 'other'"),
        (lambda p: (p / "config.json").write_text(json.dumps({**config, "version": 99})), "version 99.* upgrade"),
        (lambda p: (p / "config.json").write_text(json.dumps({**config, "columns": "rows"})), "'senses' or 'eigen'"),
        (lambda p: (p / "vocabulary.txt").unlink(), "cannot be read"),
        (lambda p: (p / "vocabulary.txt").write_text("one\n"), "vocabulary.txt has 1"),
        (lambda p: (p / "vocabulary.txt").write_bytes(b"\xff\n" * 12), "not UTF-8"),
        (lambda p: (p / "lexicon.safetensors").write_bytes(tensors[:-100]), "damaged"),
        (lambda p: (p / "lexicon.safetensors").write_bytes(tensors[:5]), "damaged"),
        (lambda p: (p / "lexicon.safetensors").write_bytes(b""), "damaged"),
        (lambda p: (p / "lexicon.safetensors").write_bytes(b"\xff" * 100), "damaged, or no safetensors"),
        (lambda p: (p / "lexicon.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}"), "no 'factors'"),
    ]
    for change, message in cases:
        refused(FormatError, message, load, damaged(whole, tmp_path, change))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60)
@given(data=st.data())
def test_fuzzed_files_load_or_say_why(name, data, lexicon: Lexicon, tmp_path_factory):
    """Flip, cut or insert bytes anywhere: a lexicon or one line, never another exception."""
    folder = tmp_path_factory.mktemp("fuzz")
    path = folder / FILES[name]
    lexicon.save(path)
    target = path
    if name == "folder":
        target = path / data.draw(st.sampled_from(["config.json", "vocabulary.txt", "lexicon.safetensors"]))
    content = bytearray(target.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        change = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if change == "flip" and content:
            content[at] = data.draw(st.integers(0, 255))
        elif change == "cut":
            del content[at:]
        else:
            content[at:at] = data.draw(st.binary(max_size=9))
    target.write_bytes(bytes(content))
    try:
        model = load(path)
        for word in list(model)[:3]:
            model[word]
    except PolysemaError as error:
        assert "\n" not in str(error)
