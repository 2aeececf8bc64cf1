from __future__ import annotations

import gzip
import json

import pytest

from polysema.errors import CorpusError, InputError
from polysema.use.text import LONGEST_SENTENCE, Document, grouped, read_documents, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ("Mr. J. Smith paid 3.5 to the U.S. Navy.", ["Mr. J. Smith paid 3.5 to the U.S. Navy."]),
        ('"Go!" he said. (No. 5)', ['"Go!" he said.', "(No. 5)"]),
        ("It was I. He left", ["It was I.", "He left"]),
        ("Why? Who! Oh… Well", ["Why?", "Who!", "Oh…", "Well"]),
        ("a line\nanother\n\n\nthird  ", ["a line", "another", "third"]),
        ("e.g. this", ["e.g. this"]),
        ("  ", []),
    ],
)
def test_sentences_end_at_stops_and_lines(text, expected):
    found = list(sentences(text))
    assert [sentence for _, sentence in found] == expected
    assert all(text[first:].startswith(sentence) for first, sentence in found)


def test_wrapped_lines_are_joined_and_long_sentences_cut():
    lines = [f"line {i} goes on without a stop" for i in range(12)]
    assert len(list(sentences("\n".join(lines)))) == 1
    assert len(list(sentences("\n\n".join(lines)))) == 12
    cut = [sentence for _, sentence in sentences("word " * 1000)]
    assert max(map(len, cut)) <= LONGEST_SENTENCE
    assert " ".join(cut).split() == ["word"] * 1000


def test_files_are_documents_dated_by_their_names(tmp_path):
    (tmp_path / "1834-letter.txt").write_text("One.")
    with gzip.open(tmp_path / "1901.txt.gz", "wt") as file:
        file.write("Two.")
    (tmp_path / "README").write_text("About.")
    found = [document for document, _ in read_documents(tmp_path)]
    assert [document.group("decade") for document in found] == ["1830", "1900", None]
    assert grouped(found, "year") == ["1834", "1901", None]
    with pytest.raises(InputError, match=r"3 of 3 documents have no genre \(1834-letter.txt\)"):
        grouped(found, "genre")


def test_lines_of_json_are_documents_with_facts(tmp_path):
    file = tmp_path / "news.jsonl"
    lines = [{"text": "A b.", "date": "1999-05-01", "author": "X", "n": 3}, {"text": "C d.", "year": 2001, "tags": []}]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    found = list(read_documents(file))
    assert [text for _, text in found] == ["A b.", "C d."]
    assert found[0][0] == Document("news.jsonl:1", {"date": "1999-05-01", "author": "X", "n": "3"})
    assert [document.group("century") for document, _ in found] == ["1900", "2000"]
    for line, message in (("{", "line 2 is not JSON"), ('{"x": 1}', "line 2 has no text")):
        file.write_text(f'{{"text": ""}}\n{line}\n')
        with pytest.raises(CorpusError, match=message):
            list(read_documents(file))
