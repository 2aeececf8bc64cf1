"""Synsets by the library ``wn``, from a small wordnet of its own format."""

import numpy as np
import pytest
from click.testing import CliRunner

from polysema.cli.lexicons import senses
from polysema.errors import DataError, InputError
from polysema.lexicon.lexicon import Lexicon
from polysema.senses.wordnet import SynsetMatcher, library_entries
from tests.refusals import refused

wn = pytest.importorskip("wn")

LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">
<LexicalResource xmlns:dc="http://purl.org/dc/elements/1.1/">
<Lexicon id="mini" label="mini" language="en" email="nobody@example.org" license="none" version="1">
<LexicalEntry id="mini-bank-n"><Lemma writtenForm="bank" partOfSpeech="n"/>
<Sense id="mini-bank-1" synset="mini-1-n"/><Sense id="mini-bank-2" synset="mini-2-n"/></LexicalEntry>
<LexicalEntry id="mini-crane-n"><Lemma writtenForm="crane" partOfSpeech="n"/>
<Sense id="mini-crane-1" synset="mini-3-n"/></LexicalEntry>
<Synset id="mini-1-n" ili="" partOfSpeech="n"><Definition>sloping land beside a river or lake</Definition>
<Example>they pulled the canoe up on the bank of the river</Example></Synset>
<Synset id="mini-2-n" ili="" partOfSpeech="n">
<Definition>an institution that accepts deposits of money and lends it as loans</Definition></Synset>
<Synset id="mini-3-n" ili="" partOfSpeech="n"><Definition>zzz</Definition></Synset>
</Lexicon></LexicalResource>
"""


@pytest.fixture
def empty(tmp_path):
    before = wn.config.data_directory
    wn.config.data_directory = tmp_path / "wn"
    yield
    wn.config.data_directory = before


@pytest.fixture
def mini(empty, tmp_path):
    (tmp_path / "mini.xml").write_text(LMF, encoding="utf-8")
    wn.add(tmp_path / "mini.xml", progress_handler=None)


def test_senses_of_the_model_that_ships_get_their_synsets(mini):
    found = CliRunner().invoke(senses, ["bank", "crane", "--wordnet"])
    assert found.exit_code == 0, found.output
    money, river = found.output.index("mini-2-n"), found.output.index("mini-1-n")
    assert "sloping land beside a river" in found.output[river:]
    assert "accepts deposits of money" in found.output[money:]
    assert "WordNet: no match" in found.output[found.output.index("crane") :]


def test_a_library_without_a_wordnet_says_what_to_do(empty):
    refused(DataError, "python -m wn download", library_entries)


def test_a_lexicon_without_context_vectors_is_refused():
    refused(InputError, "context vectors", SynsetMatcher, Lexicon(["bank"], np.eye(2)[None]))
