"""Files that are made, or damaged, to cost memory, time or an answer: one line each, early."""

import gzip
import io
import json
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from polysema import Lexicon, VectorLexicon, load
from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.errors import FormatError, InputError
from polysema.lexicon.formats.text import LONGEST, WIDEST
from polysema.meanings.parts import Parts
from polysema.senses.dictionary_files import DictionaryFile
from polysema.slots.stored import read_slots


def refused(path: Path, message: str, most: int = 1 << 28) -> None:
    """Loading is an error of one line, and takes no more than so much memory."""
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=message) as caught:
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert peak < most


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def announcing(shape: tuple[int, ...], dtype: str) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


WORDS = npy(np.array(["a", "b"]))


def test_npz_bombs_are_refused_by_what_they_announce(tmp_path):
    zeros = announcing((2, 9000, 9000), "<f4") + bytes(1 << 20)
    refused(npz(tmp_path / "a.npz", words=WORDS, factors=zeros), "announces 648,000,0.. bytes of numbers, too many")
    refused(npz(tmp_path / "b.npz", words=announcing((10**9,), "<U9"), factors=WORDS), "too many for its size")
    refused(npz(tmp_path / "c.npz", words=announcing((10**12,), "|S0"), factors=WORDS), "too many for its size")
    vectors = npy(np.ones((2, 3)))
    refused(npz(tmp_path / "d.npz", words=WORDS, vectors=vectors, counts=announcing((10**10,), "<i8")), "too many")


def test_arrays_that_are_not_used_are_not_read(tmp_path):
    path = npz(tmp_path / "m.npz", words=WORDS, vectors=npy(np.eye(2)), other=announcing((10**12,), "<f8"))
    assert list(load(path)) == ["a", "b"]


@pytest.mark.parametrize(
    "bad",
    [
        b"", b"\x93NUMPY", b"\x93NUMPY\x09\x09", announcing((2, 2), "<f4"), announcing((-2, 2), "<f4"),
        announcing((2, 2), "nonsense"), announcing((2, 2), "|O"), b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 5000,
        npy(np.ones((2, 3))).replace(b"(2, 3), ", b"(2, 3, } "), announcing((2.5, 2), "<f4"), announcing((2, 2), "<f4").replace(b"shape", b"shave"),
    ],
)  # fmt: skip
def test_damaged_members(bad, tmp_path):
    refused(npz(tmp_path / "m.npz", words=WORDS, vectors=bad), "m.npz: ")


def test_gzip_bombs_and_damage(tmp_path, monkeypatch):
    monkeypatch.setattr("polysema.storage.LEAST_UNPACKED", 1 << 18)
    bomb = tmp_path / "bomb.txt.gz"
    bomb.write_bytes(gzip.compress((b"w" + b" 1" * 2047 + b"\n") * 256))
    refused(bomb, "unpacks to more than 262,144 bytes, too many for its size")
    whole = bytearray(gzip.compress(b"".join(b"w%d %d 2 3\n" % (i, i) for i in range(2000))))
    whole[len(whole) // 2] ^= 0xFF
    damaged = tmp_path / "damaged.txt.gz"
    damaged.write_bytes(whole)
    refused(damaged, "truncated or damaged gzip")


def test_lines_without_end(tmp_path):
    path = tmp_path / "line.txt"
    path.write_bytes(b"word" + b" 1" * (WIDEST + 5) + b"\n")
    refused(path, "line 1: more than 1,048,576 numbers for a word")
    path.write_bytes(b"word " + b"1" * (LONGEST + 5))
    refused(path, f"line 1 has more than {LONGEST:,} bytes")
    path.write_bytes(b"9" * 15 + b" " + b"9" * 7 + b"\nword 1\n")
    refused(path, "announces more than 1,048,576 numbers a word")
    path.write_bytes(b"5 " + b"9" * 5000 + b"\nword 1\n")
    refused(path, "announces|first line|not a word and its numbers|line 1")


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    refused(tmp_path / "pipe", "a pipe or a device, where a file is wanted")
    refused(Path("/dev/zero"), "a pipe or a device, where a file is wanted")
    refused(tmp_path / "circle", "a link that leads nowhere|Too many levels")
    refused(tmp_path / "nowhere", "a link that leads nowhere")


def test_parts_of_a_folder_that_are_no_files(tmp_path, lexicon):
    for name in ("config.json", "vocabulary.txt", "lexicon.safetensors"):
        for number, make in enumerate((os.mkfifo, os.mkdir, lambda path: os.symlink(path, path))):
            folder = tmp_path / f"{name}{number}"
            lexicon.save(folder)
            (folder / name).unlink()
            make(folder / name)
            refused(folder, f"{name}|without config.json")


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("dictionary.safetensors", lambda file: DictionaryFile.load(file.parent)),
        ("encoder.safetensors", lambda file: GlossEncoder.load(file.parent)),
        ("slots.safetensors", read_slots),
    ],
)
def test_a_pipe_in_place_of_a_part_is_refused_in_one_line(tmp_path, name, read):
    os.mkfifo(tmp_path / name)
    with pytest.raises(FormatError, match=rf"^[^\n]*{name}: a pipe or a device, where a file is wanted$"):
        read(tmp_path / name)


def test_damaged_safetensors_headers(tmp_path, lexicon):
    lexicon.save(tmp_path / "m")
    file = tmp_path / "m" / "lexicon.safetensors"
    whole = file.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    for key, value in [
        ("shape", [12, 6, 2.5]), ("shape", [10**30]), ("shape", [-12, -6, 3]), ("shape", "12"), ("shape", None),
        ("data_offsets", [0.5, 864.5]), ("data_offsets", [0]), ("data_offsets", [-4, 860]), ("dtype", "BF16"),
        ("dtype", 3), ("data_offsets", [10**9, 10**9 + 864]), ("shape", [True, 216, 1]),
    ]:  # fmt: skip
        changed = {**header, "factors": {**header["factors"], key: value}}
        text = json.dumps(changed).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + length :])
        refused(tmp_path / "m", "lexicon.safetensors: (damaged|truncated)")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_context_vectors_that_are_no_numbers_are_refused(dtype, tmp_path):
    for number, bad in enumerate((np.nan, np.inf, -np.inf)):
        contexts = np.array([[1, -1], [0, 65504], [6e-8, -65504]], dtype)
        Lexicon(["a", "b", "c"], np.ones((3, 2, 2)), parts=Parts(contexts=contexts)).save(tmp_path / f"good{number}")
        assert len(load(tmp_path / f"good{number}")) == 3
        contexts[2, 1] = bad
        Lexicon(["a", "b", "c"], np.ones((3, 2, 2)), parts=Parts(contexts=contexts)).save(tmp_path / f"bad{number}")
        refused(tmp_path / f"bad{number}", "its context vectors hold numbers that are not finite")


@pytest.mark.parametrize("name", ["m", "m.npz"])
@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e6])
def test_half_precision_that_cannot_hold_a_vector_is_refused(name, scale, tmp_path):
    vectors = np.random.default_rng(1).normal(size=(3, 5))
    vectors[1] *= scale
    model = VectorLexicon(["a", "b", "c"], vectors)
    with pytest.raises(InputError, match="'b': numbers up to .* do not fit float16: use float32"):
        model.save(tmp_path / name, dtype="float16")
    assert not list(tmp_path.iterdir())
    VectorLexicon(["a", "b"], np.array([[0.0, 0.0], [1.0, 2.0]])).save(tmp_path / "zero", dtype="float16")
    assert load(tmp_path / "zero").vectors.dtype == np.float16
    model.save(tmp_path / name)
    np.testing.assert_allclose(load(tmp_path / name).vectors, vectors, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_matrices_of_any_scale_fit_half_precision(scale, tmp_path):
    """Factors are written at unit trace: their scale is no part of their meaning."""
    factors = np.random.default_rng(2).normal(size=(4, 5, 3))
    exact = Lexicon(["a", "b", "c", "d"], factors)
    for name in ("m", "m.npz"):
        Lexicon(["a", "b", "c", "d"], factors * scale).save(tmp_path / name, dtype="float16")
        again = load(tmp_path / name)
        assert again.similarity("a", "b") == pytest.approx(exact.similarity("a", "b"), abs=2e-3)


@pytest.mark.parametrize(
    "counts", [np.zeros(2, complex), np.array([1.5, 2]), np.array([np.nan, 1]), np.array([-1, 2]), np.zeros(2, "S1")]
)
def test_counts_that_are_none(tmp_path, counts):
    np.savez(tmp_path / "it.npz", words=np.array(["a", "b"]), vectors=np.ones((2, 3), np.float32), counts=counts)
    refused(tmp_path / "it.npz", "whole numbers")


def test_one_long_word_does_not_make_an_npz_large(tmp_path):
    words = ["x" * 1000, "é", *(f"word{i}" for i in range(2000))]
    VectorLexicon(words, np.ones((len(words), 2), np.float32)).save(tmp_path / "wide.npz")
    assert (tmp_path / "wide.npz").stat().st_size < 100_000
    assert load(tmp_path / "wide.npz").vocabulary.words == words
