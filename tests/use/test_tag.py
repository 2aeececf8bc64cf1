from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from polysema.errors import CorpusError, FormatError, InputError
from polysema.senses.dictionary import Calibration, Dictionary
from polysema.senses.dictionary_files import DictionaryFile
from polysema.use import tag as tag_module
from polysema.use.tag import tag
from polysema.use.tagged import Tagged, dictionary_of, digest, opened
from tests.senses import five_words

TEXT = {
    "1830.txt": "The dogs saw ice cream on the bank. He sat on the bank.\nHe sat on the bank. A fast dog ran.\n" * 3,
    "1930.txt": "Nothing here. The bank holds money.",
}


@pytest.fixture(scope="module")
def dictionary() -> Dictionary:
    return five_words.dictionary()


@pytest.fixture
def here(monkeypatch):
    """Blocks are read in this process."""

    class Here:
        def __init__(self, workers, context, begin, shared):
            tag_module._SHARED[:] = []
            begin(*shared)

        def submit(self, work, task):
            from concurrent.futures import Future

            done = Future()
            done.set_result(work(task))
            return done

        def shutdown(self, cancel_futures):
            pass

    monkeypatch.setattr(tag_module, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(signal, "signal", lambda *_: signal.SIG_DFL)


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXT.items():
        (tmp_path / "text").mkdir(exist_ok=True)
        (tmp_path / "text" / name).write_text(text)
    return tmp_path


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.name != "config.json"}


def test_every_content_word_has_its_sense(folder, dictionary, here):
    found = tag(folder / "text", folder / "out", dictionary)
    assert repr(found) == "Tagged(2 documents, 14 sentences, 25 words)"
    records = list(found.records())
    assert records[0]["text"] == "The dogs saw ice cream on the bank."
    assert [word["word"] for word in records[0]["words"]] == ["dogs", "saw", "ice cream", "bank"]
    for record in records:
        whole = TEXT[record["document"]]
        assert whole[record["offset"] :].startswith(record["text"])
        answers = dictionary.read(record["text"], fine=True)
        assert [word["key"] for word in record["words"]] == [answer.senses[0].key for answer in answers]
        np.testing.assert_allclose(
            [word["p"] for word in record["words"]], [answer.senses[0].probability for answer in answers], atol=1e-3
        )
    assert found.counts["bank"] == 10
    again = Tagged.open(folder / "out", dictionary)
    assert list(again.records()) == records
    assert tag(folder / "text", folder / "out", dictionary).counts == found.counts  # it is there already


def test_repeated_sentences_are_read_once(folder, dictionary, here, monkeypatch):
    read = []
    monkeypatch.setattr(
        tag_module, "read_sentences", lambda *a, f=tag_module.read_sentences, **k: read.extend(a[1]) or f(*a, **k)
    )
    tag(folder / "text", folder / "out", dictionary)
    assert len(read) == len(set(read)) == 5


def test_blocks_resume_to_the_same_bytes(folder, dictionary, here, monkeypatch):
    monkeypatch.setattr(tag_module, "BLOCK", 2)
    whole = contents(tag(folder / "text", folder / "whole", dictionary).path)
    left = [2]

    def stops(shared, task, _=None, f=tag_module.read_block):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return f(shared, task)

    with monkeypatch.context() as patch:
        patch.setattr(tag_module, "read_block", stops)
        with pytest.raises(KeyboardInterrupt):
            tag(folder / "text", folder / "out", dictionary, workers=1)
    assert not (folder / "out").exists()
    assert (folder / "out.tagging").is_dir()
    assert contents(tag(folder / "text", folder / "out", dictionary).path) == whole
    assert not (folder / "out.tagging").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_and_a_killed_run_give_the_same_bytes(folder, workers, tmp_path):
    """In processes of their own; with two workers the first run is killed."""
    made = five_words.dictionary()
    made.save(tmp_path / "five")
    code = (
        "import polysema.use.tag as t; t.BLOCK = 2; from polysema.senses.dictionary import Dictionary\n"
        f"if __name__ == '__main__': t.tag('text', 'out', Dictionary.load('five'), workers={workers})"
    )
    (tmp_path / "run.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = [sys.executable, "run.py"]
    if workers == 2:
        first = subprocess.Popen(run, cwd=tmp_path, env=environment)
        end = time.monotonic() + 60
        while time.monotonic() < end and not list(tmp_path.glob("out.tagging/block-*")) and first.poll() is None:
            time.sleep(0.05)
        first.kill()
        first.wait()
    subprocess.run(run, cwd=tmp_path, env=environment, check=True, timeout=120)
    found = contents(tmp_path / "out")
    assert sorted(found)[:3] == ["byte.npy", "document.npy", "documents.jsonl"]
    known = Dictionary.load(tmp_path / "five")
    assert len(Tagged.open(tmp_path / "out", known)) == 25


def test_other_forms(folder, dictionary, here):
    found = tag(folder / "text", folder / "out.jsonl", dictionary)
    assert [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()] == list(found.records())
    assert sorted(item.name for item in folder.iterdir()) == ["out.jsonl", "text"]
    tag(folder / "text", folder / "out", dictionary, vectors=False)
    tag(folder / "out", folder / "out.conllu", dictionary)
    rows = [line.split("\t") for line in (folder / "out.conllu").read_text().splitlines() if line[:1].isdigit()]
    assert all(len(row) == 10 for row in rows)
    assert rows[3][:4] == ["4", "ice", "ice_cream", "NOUN"]
    assert rows[3][9].endswith("SenseTokens=2")
    (folder / "mine.jsonl").write_text("my own")
    with pytest.raises(InputError, match="not a tagged text that polysema wrote"):
        tag(folder / "out", folder / "mine.jsonl", dictionary, overwrite=True)
    with pytest.raises(InputError, match="is tagged already"):
        tag(folder / "out", folder / "again", dictionary)


def test_text_read_for_a_word_agrees_with_a_tagged_folder(folder, dictionary, here):
    whole = tag(folder / "text", folder / "out", dictionary).uses("bank")
    part = opened(folder / "text", ["bank"], dictionary).uses("banks")
    assert [whole.context(i) for i in range(len(whole))] == [part.context(i) for i in range(len(part))]
    np.testing.assert_allclose(whole.p, part.p, atol=0.02)
    without = tag(folder / "text", folder / "small", dictionary, vectors=False).uses("bank")
    assert without.vectors is None
    np.testing.assert_allclose(whole.p, without.p, atol=0.02)
    verbs = opened(folder / "text", ["bank"], dictionary).uses("bank", "verb")
    assert 0 < len(verbs) < len(whole)


def test_what_is_wrong_with_a_folder(folder, dictionary, here):
    tag(folder / "text", folder / "out", dictionary)
    other = Dictionary(dictionary.file, dictionary.encoder)
    other.calibration = Calibration(sharpness=3.0)
    with pytest.raises(FormatError, match="out was tagged with the dictionary .* tag the text again"):
        Tagged.open(folder / "out", other)
    data = (folder / "out" / "p.npy").read_bytes()
    (folder / "out" / "p.npy").write_bytes(data[:-8])
    with pytest.raises(FormatError, match="p.npy: damaged"):
        Tagged.open(folder / "out", dictionary)
    (folder / "out" / "p.npy").write_bytes(data)
    (folder / "out" / "text.txt").write_text("x")
    with pytest.raises(FormatError, match="its files do not fit each other"):
        opened(folder / "out", ["bank"], dictionary)
    (folder / "empty").mkdir()
    (folder / "empty" / "a.txt").write_text("\n")
    with pytest.raises(CorpusError, match="the text holds no sentence"):
        tag(folder / "empty", folder / "none", dictionary)
    with pytest.raises(InputError, match="tag the text first"):
        opened(folder / "text", [], dictionary)
    with pytest.raises(InputError, match="has no dictionary"):
        dictionary_of(object())


@pytest.mark.parametrize(
    ("name", "damage", "error"),
    [
        ("first.npy", lambda data: bytes(100) + data[100:], "first.npy: damaged"),  # of the header
        ("first.npy", lambda data: data[:136] + data[144:152] + data[136:144] + data[152:], "do not fit each other"),
        ("sense.npy", lambda data: data[:128] + b"\xff\xff\xff\x7f" + data[132:], "do not fit each other"),
        ("document.npy", lambda data: data[:-4] + b"\xff\xff\xff\xff", "do not fit each other"),
        ("p.npy", lambda data: data[:128] + bytes(len(data) - 128), "do not fit each other"),
        ("config.json", lambda data: data.replace(b'"words": ', b'"words": -'), "damaged: -[0-9]+ words"),
        ("documents.jsonl", lambda data: b"[" * 100_000, "documents.jsonl: damaged"),
        ("documents.jsonl", lambda data: data.replace(b'"1830"', b"1830"), "a fact that is no text"),
        ("text.txt", lambda data: b"\xff" + data[1:], "text.txt: damaged"),
    ],
)
def test_damaged_numbers_and_text_are_refused(folder, dictionary, here, name, damage, error):
    tag(folder / "text", folder / "out", dictionary)
    whole = (folder / "out" / name).read_bytes()
    assert damage(whole) != whole
    (folder / "out" / name).write_bytes(damage(whole))
    with pytest.raises(FormatError, match=error):
        list(Tagged.open(folder / "out", dictionary).records())


def test_counts_of_other_text_make_no_other_dictionary(dictionary):
    file = dictionary.file
    counted = DictionaryFile({**file.tensors, "count.wikipedia": np.ones(len(file.synset_of), np.uint16)}, file.options)
    assert digest(Dictionary(counted, dictionary.encoder)) == digest(dictionary)
    source = f"count.{dictionary.calibration.source}"
    other = DictionaryFile({**file.tensors, source: np.full(len(file.synset_of), 7, np.uint16)}, file.options)
    assert digest(Dictionary(other, dictionary.encoder)) != digest(dictionary)
