"""What the library ``wn`` knows, from a small wordnet of its own format."""

import pytest

from polysema.errors import DataError
from polysema.senses.wordnet import below_hypernyms, library_synsets
from tests.refusals import refused

wn = pytest.importorskip("wn")

LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">
<LexicalResource xmlns:dc="http://purl.org/dc/elements/1.1/">
<Lexicon id="mini" label="mini" language="en" email="nobody@example.org" license="none" version="1">
<LexicalEntry id="mini-apple-n"><Lemma writtenForm="apple" partOfSpeech="n"/>
<Sense id="mini-apple-1" synset="mini-1-n"/></LexicalEntry>
<LexicalEntry id="mini-pear-n"><Lemma writtenForm="Pear" partOfSpeech="n"/>
<Sense id="mini-pear-1" synset="mini-2-n"/></LexicalEntry>
<LexicalEntry id="mini-fruit-n"><Lemma writtenForm="fruit" partOfSpeech="n"/>
<Sense id="mini-fruit-1" synset="mini-3-n"/></LexicalEntry>
<Synset id="mini-1-n" ili="" partOfSpeech="n"><SynsetRelation target="mini-3-n" relType="hypernym"/></Synset>
<Synset id="mini-2-n" ili="" partOfSpeech="n"><SynsetRelation target="mini-3-n" relType="hypernym"/></Synset>
<Synset id="mini-3-n" ili="" partOfSpeech="n"><SynsetRelation target="mini-1-n" relType="hyponym"/>
<SynsetRelation target="mini-2-n" relType="hyponym"/></Synset>
</Lexicon></LexicalResource>
"""


@pytest.fixture
def empty(tmp_path):
    before = wn.config.data_directory
    wn.config.data_directory = tmp_path / "wn"
    yield
    wn.config.data_directory = before


def test_what_is_below_the_hypernyms_of_a_word(empty, tmp_path):
    (tmp_path / "mini.xml").write_text(LMF, encoding="utf-8")
    wn.add(tmp_path / "mini.xml", progress_handler=None)
    assert below_hypernyms()("apple") == [["pear"], [], []]


def test_a_library_without_a_wordnet_says_what_to_do(empty):
    refused(DataError, "python -m wn download", library_synsets)
